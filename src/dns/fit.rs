//! How much of an answer one message holds, decided before it is encoded, so that OPT is never lost
//! (RFC 6891 §7).

use std::borrow::Cow;
use std::iter;

use hickory_proto::op::{Edns, MessageType, Metadata, OpCode};
use hickory_proto::rr::{RData, Record};
use hickory_proto::serialize::binary::BinEncoder;
use hickory_server::zone_handler::{MessageResponseBuilder, Queries};

use super::decide::Plan;

/// The largest answer over UDP: what passes everywhere without fragments (DNS flag day 2020).
pub const UDP_LIMIT: u16 = 1232;
/// What a client without EDNS can take (RFC 1035 §4.2.1).
pub const PLAIN_LIMIT: u16 = 512;

/// Octets of a message header, and of a question or record beside their names and data (RFC 1035 §4).
const HEADER: usize = 12;
const QUESTION: usize = 5;
const RECORD: usize = 11;

/// The part of a [`Plan`] that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// How many of the answers.
    pub answers: usize,
    /// Whether the AUTHORITY section is sent.
    pub authority: bool,
    /// The TC bit: ask again over TCP.
    pub truncated: bool,
}

/// The size that an answer over UDP must keep.
pub fn udp_limit(client: Option<&Edns>) -> u16 {
    client.map_or(PLAIN_LIMIT, |edns| edns.max_payload().clamp(PLAIN_LIMIT, UDP_LIMIT))
}

/// Decides what is sent within `limit` octets: everything; else whole addresses as many as fit, where the plan
/// allows it; else nothing, as other servers do, because a part of a set is no answer.
pub fn fit(queries: &Queries, plan: &Plan<'_>, edns: Option<&Edns>, limit: u16) -> Fit {
    let whole = Fit { answers: plan.answers.len(), authority: true, truncated: false };
    let opt = edns.map_or(0, opt_length);
    if upper_bound(queries, plan) + opt <= usize::from(limit) {
        return whole;
    }
    let room = limit.saturating_sub(u16::try_from(opt).unwrap_or(u16::MAX));
    match answers_within(queries, plan, room) {
        None => whole,
        Some(answers) if plan.divisible => Fit { answers, authority: false, truncated: true },
        Some(_) => Fit { answers: 0, authority: false, truncated: true },
    }
}

/// The size if no name is compressed.
fn upper_bound(queries: &Queries, plan: &Plan<'_>) -> usize {
    let questions: usize = queries.queries().iter().map(|query| query.name().len() + QUESTION).sum();
    let records = plan.answers.iter().map(Cow::as_ref).chain(&plan.authority);
    HEADER
        + questions
        + records.map(|record| record.name.len() + RECORD + data_length(&record.data)).sum::<usize>()
}

fn data_length(data: &RData) -> usize {
    match data {
        RData::A(_) => 4,
        RData::AAAA(_) => 16,
        RData::NS(target) => target.len() + 1,
        RData::SOA(soa) => soa.mname.len() + soa.rname.len() + 22,
        RData::TXT(text) => text.txt_data.iter().map(|string| string.len() + 1).sum(),
        // No other type is served; too large a guess only costs the exact count below.
        _ => usize::from(u16::MAX),
    }
}

fn opt_length(edns: &Edns) -> usize {
    let options = edns.options().as_ref().iter().map(|(_, option)| usize::from(option.len()) + 4);
    RECORD + options.sum::<usize>()
}

/// How many answers fit into `room` octets, or nothing if the whole plan fits.
///
/// Encodes once, without OPT, by the codec that encodes the answer: what it takes here it takes there.
fn answers_within(queries: &Queries, plan: &Plan<'_>, room: u16) -> Option<usize> {
    let mut buffer = Vec::with_capacity(usize::from(room));
    let mut encoder = BinEncoder::new(&mut buffer);
    encoder.set_max_size(room);
    let metadata = Metadata::new(0, MessageType::Response, OpCode::Query);
    let none = || iter::empty::<&Record>();
    let answers = plan.answers.iter().map(Cow::as_ref);
    let response =
        MessageResponseBuilder::new(queries, None).build(metadata, answers, &plan.authority, none(), none());
    let Ok(sent) = response.destructive_emit(&mut encoder) else {
        return Some(0);
    };
    let counts = sent.counts();
    let complete = usize::from(counts.answers) == plan.answers.len()
        && usize::from(counts.authorities) == usize::from(plan.authority.is_some());
    (!complete).then_some(usize::from(counts.answers))
}

#[cfg(test)]
mod tests;
