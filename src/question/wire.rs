//! Queries and replies as octets. hickory's types end here.

use gslb_core::name::DomainName;
use gslb_core::reply::{Record, RecordData, Response};
use gslb_core::ttl::Ttl;
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query as WireQuery, ResponseCode};
use hickory_proto::rr::{self, DNSClass, Name, RData, RecordType};

use super::transport::{Heard, Query, QueryType};

/// The largest UDP payload that passes every path without fragments (DNS flag day 2020).
const EDNS_PAYLOAD: u16 = 1232;

/// A query as sent, to compare replies with.
pub(super) struct Sent {
    id: u16,
    question: WireQuery,
    pub(super) octets: Vec<u8>,
}

/// What became of some octets that arrived.
pub(super) enum Arrival {
    /// The reply to our query.
    Reply(Heard),
    /// Well formed, but not about our query: someone guesses, or a late reply.
    Stranger,
    /// No DNS message, or one that cannot be understood.
    Garbage,
}

/// Builds the octets with a random id and, if wanted, random case.
pub(super) fn encode(query: &Query) -> Option<Sent> {
    let mut name = Name::from_ascii(format!("{}.", query.question.name)).ok()?;
    if query.mixed_case {
        name.randomize_label_case();
    }
    let query_type = match query.question.query_type {
        QueryType::A => RecordType::A,
        QueryType::Ns => RecordType::NS,
    };
    let question = WireQuery::query(name, query_type);
    let mut message = Message::query();
    message.metadata.recursion_desired = query.recursion;
    message.add_query(question.clone());
    if query.edns {
        let mut edns = Edns::new();
        edns.set_max_payload(EDNS_PAYLOAD).set_version(0);
        message.set_edns(edns);
    }
    Some(Sent { id: message.metadata.id, question, octets: message.to_vec().ok()? })
}

impl Sent {
    /// Compares octets that arrived with the query.
    pub(super) fn match_reply(&self, octets: &[u8]) -> Arrival {
        let id = octets.first_chunk::<2>().map(|id| u16::from_be_bytes(*id));
        if id.is_some_and(|id| id != self.id) {
            return Arrival::Stranger;
        }
        let Ok(message) = Message::from_vec(octets) else {
            return Arrival::Garbage;
        };
        let head = message.metadata;
        if head.message_type != MessageType::Response || head.op_code != OpCode::Query {
            return Arrival::Stranger;
        }
        let case_kept = match message.queries.as_slice() {
            // A server that cannot read the question may leave it out (RFC 1035 §4.1.1, RFC 6891 §7).
            [] if !matches!(head.response_code, ResponseCode::NoError | ResponseCode::NXDomain) => true,
            [question] if *question == self.question => question.name().eq_case(self.question.name()),
            _ => return Arrival::Stranger,
        };
        match response(&message) {
            Some(response) => Arrival::Reply(Heard { response, case_kept }),
            None => Arrival::Garbage,
        }
    }
}

/// The message as plain values; nothing if a record that counts cannot be understood.
fn response(message: &Message) -> Option<Response> {
    let answers = message.answers.iter().filter(|record| record.dns_class == DNSClass::IN);
    let authorities = message.authorities.iter().filter(|record| record.dns_class == DNSClass::IN);
    Some(Response {
        rcode: message.metadata.response_code.into(),
        authoritative: message.metadata.authoritative,
        truncated: message.metadata.truncation,
        answers: answers.map(record).collect::<Option<_>>()?,
        authorities: authorities.map(record).collect::<Option<_>>()?,
        // Only a help: what cannot be understood there is left out.
        additionals: message.additionals.iter().filter_map(record).collect(),
    })
}

fn record(record: &rr::Record) -> Option<Record> {
    let data = match &record.data {
        RData::A(address) => RecordData::A(address.0),
        RData::CNAME(target) => RecordData::Cname(domain_name(&target.0)?),
        RData::NS(target) => RecordData::Ns(domain_name(&target.0)?),
        RData::SOA(_) => RecordData::Soa,
        _ => RecordData::Other,
    };
    // RFC 2181 §8: a TTL with the highest bit set reads as zero.
    let ttl = Ttl::from_secs(i64::from(record.ttl)).or_else(|_| Ttl::from_secs(0)).ok()?;
    Some(Record { owner_name: domain_name(&record.name)?, ttl, data })
}

fn domain_name(name: &Name) -> Option<DomainName> {
    DomainName::parse(&name.to_ascii()).ok()
}
