//! One question, one answer: looks up what was published and never waits.
//!
//! Pure: the time and the random source are parameters.

use std::borrow::Cow;

use gslb_core::published::EmptyAnswer;
use gslb_core::zone::LOCAL_TARGETS_PREFIX;
use hickory_proto::op::{LowerQuery, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, Record, RecordType};
use rand::Rng;

use super::key::QueryKey;
use super::snapshot::{Host, Node, ServedSet, ServedZone, Snapshot, Source};

/// What was asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    /// The kind of request.
    pub op_code: OpCode,
    /// The one question, or nothing if there was none or more than one.
    pub query: Option<&'q LowerQuery>,
    /// The version of the client's EDNS, or nothing if it sent none.
    pub edns_version: Option<u8>,
}

/// What is answered, before anyone asks whether it fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<'s> {
    /// The verdict.
    pub rcode: ResponseCode,
    /// Whether this server is the authority for the name.
    pub aa: bool,
    /// The ANSWER section, in order.
    pub answers: Vec<Cow<'s, Record>>,
    /// The AUTHORITY section: the SOA of a negative answer, else nothing. NS records never stand there, and
    /// nothing ever stands in ADDITIONAL: the names of the servers lie in the parent zone (design §2.4).
    pub authority: Option<Record>,
    /// Why, for people who read the answer (RFC 8914).
    pub ede: Option<Ede>,
    /// Whether a part of the answer is better than none, when it does not fit.
    pub divisible: bool,
}

/// Extended DNS errors that this server sends (RFC 8914 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ede {
    /// The watches have not synced yet.
    NotReady,
    /// A question for a zone that is not served here.
    NotAuthoritative,
    /// The state of some site is not known.
    NetworkError,
}

impl Ede {
    /// The code of RFC 8914.
    pub fn code(self) -> u16 {
        match self {
            Self::NotReady => 14,
            Self::NotAuthoritative => 20,
            Self::NetworkError => 23,
        }
    }
}

impl Plan<'_> {
    fn error(rcode: ResponseCode) -> Self {
        Self { rcode, aa: false, answers: vec![], authority: None, ede: None, divisible: false }
    }

    fn because(self, ede: Ede) -> Self {
        Self { ede: Some(ede), ..self }
    }
}

/// The serial of every zone: the current hour as Unix time, as k8gb answers it (contract §8.4). It is equal on all
/// servers of a zone without any word between them.
pub fn serial_at(unix_seconds: i64) -> u32 {
    u32::try_from(unix_seconds - unix_seconds.rem_euclid(3600)).unwrap_or_default()
}

/// Decides what a question gets.
pub fn decide<'s>(
    snapshot: &'s Snapshot,
    question: &Question<'_>,
    serial: u32,
    rng: &mut impl Rng,
) -> Plan<'s> {
    if question.edns_version.is_some_and(|version| version > 0) {
        // RFC 6891 §6.1.3.
        return Plan::error(ResponseCode::BADVERS);
    }
    match question.op_code {
        OpCode::Query => {}
        // A wake-up from a peer (design §2.3) will be taken here.
        OpCode::Notify => return Plan::error(ResponseCode::NotImp),
        OpCode::Status | OpCode::Update | OpCode::Unknown(_) => {
            return Plan::error(ResponseCode::NotImp);
        }
    }
    let Some(query) = question.query else {
        return Plan::error(ResponseCode::FormErr);
    };
    if query.query_class() != DNSClass::IN {
        return Plan::error(ResponseCode::Refused);
    }
    let rtype = query.query_type();
    if matches!(rtype, RecordType::AXFR | RecordType::IXFR) {
        return Plan::error(ResponseCode::Refused);
    }
    if snapshot.source() == Source::Nothing {
        return Plan::error(ResponseCode::ServFail).because(Ede::NotReady);
    }
    answer(snapshot, QueryKey::new(query.name()).as_slice(), rtype, serial, rng)
}

fn answer<'s>(
    snapshot: &'s Snapshot,
    key: &[u8],
    rtype: RecordType,
    serial: u32,
    rng: &mut impl Rng,
) -> Plan<'s> {
    // RFC 4035 §3.1.4.1: DS belongs to the parent's side of a zone cut, if that is served here too.
    let parent_side = (rtype == RecordType::DS).then(|| snapshot.zone_of(key, true)).flatten();
    let Some((apex, zone)) = parent_side.or_else(|| snapshot.zone_of(key, false)) else {
        return Plan::error(ResponseCode::Refused).because(Ede::NotAuthoritative);
    };
    if key == apex {
        return apex_answer(zone, rtype, serial);
    }
    match snapshot.node(key) {
        Some(Node::Host(host)) => host_answer(zone, host, key, rtype, serial, rng),
        Some(Node::NonTerminal) => negative(zone, ResponseCode::NoError, serial, zone.negative_ttl),
        // The apex of a zone inside this one exists, although its records are not on this side.
        None if snapshot.is_apex(key) => negative(zone, ResponseCode::NoError, serial, zone.negative_ttl),
        None => negative(zone, ResponseCode::NXDomain, serial, zone.negative_ttl),
    }
}

fn apex_answer(zone: &ServedZone, rtype: RecordType, serial: u32) -> Plan<'_> {
    match rtype {
        // RFC 8482 §4.1: one RRset is enough for ANY.
        RecordType::SOA | RecordType::ANY => {
            positive(vec![Cow::Owned(zone.soa(serial, zone.negative_ttl))], false)
        }
        // Without a single name server name the zone's data is incomplete: not "there is none".
        RecordType::NS if zone.ns.is_empty() => Plan::error(ResponseCode::ServFail),
        RecordType::NS => positive(zone.ns.iter().map(Cow::Borrowed).collect(), false),
        _ => negative(zone, ResponseCode::NoError, serial, zone.negative_ttl),
    }
}

/// A name of a Gslb, which is never NXDOMAIN (design §2.2).
///
/// That includes `localtargets-<host>` of a host that is unhealthy here. Contract §4.5(2) asks only that its A
/// record exists exactly while the host is healthy, and peers read NXDOMAIN and NODATA alike. NODATA is the
/// better of the two: it says that this cluster knows the host and has no healthy target, where NXDOMAIN would
/// also be said of a host that nobody deployed here, and it is what the host's own name answers.
fn host_answer<'s>(
    zone: &ServedZone,
    host: &'s Host,
    key: &[u8],
    rtype: RecordType,
    serial: u32,
    rng: &mut impl Rng,
) -> Plan<'s> {
    let set = match rtype {
        RecordType::ANY => host.any_set(),
        _ => host.set(rtype),
    };
    match (set, host.empty()) {
        (Some(set), _) => positive(arranged(set, rng), announces(key)),
        (None, Some(EmptyAnswer::ServFail)) => Plan::error(ResponseCode::ServFail).because(Ede::NetworkError),
        (None, Some(EmptyAnswer::NoData) | None) => {
            negative(zone, ResponseCode::NoError, serial, host.negative_ttl().min(zone.negative_ttl))
        }
    }
}

fn arranged<'s>(set: &'s ServedSet, rng: &mut impl Rng) -> Vec<Cow<'s, Record>> {
    set.order.arrange(&set.records, rng).into_iter().map(Cow::Borrowed).collect()
}

/// k8gb asks for `localtargets-` names over UDP only and reads an empty answer as "dead", whatever TC says
/// (contract §4.4): some of the addresses are better than none.
fn announces(key: &[u8]) -> bool {
    key.get(1..).is_some_and(|first_label| first_label.starts_with(LOCAL_TARGETS_PREFIX.as_bytes()))
}

fn positive(answers: Vec<Cow<'_, Record>>, divisible: bool) -> Plan<'_> {
    Plan { aa: true, answers, divisible, ..Plan::error(ResponseCode::NoError) }
}

fn negative<'s>(zone: &ServedZone, rcode: ResponseCode, serial: u32, ttl: u32) -> Plan<'s> {
    Plan { aa: true, authority: Some(zone.soa(serial, ttl)), ..Plan::error(rcode) }
}

#[cfg(test)]
mod tests;
