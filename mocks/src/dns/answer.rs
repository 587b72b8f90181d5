//! One question, one answer: authoritative data, a referral, or a refusal.

use super::name::is_below;
use super::{Served, Source};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

/// CNAMEs followed inside one zone before an answer ends.
const MAX_CHAIN: usize = 8;
/// The largest answer over UDP, whatever the client offers (DNS flag day 2020).
const MAX_UDP: u16 = 1232;

/// How a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Udp,
    Tcp,
}

/// The answer to a message; `None` when it deserves none.
pub(super) fn reply(source: &dyn Source, message: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let request = match Message::from_vec(message) {
        Ok(request) => request,
        Err(_) => return format_error(message),
    };
    if request.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut response = Message::response(request.metadata.id, request.metadata.op_code);
    response.metadata.recursion_desired = request.metadata.recursion_desired;
    response.add_queries(request.queries.iter().cloned());
    if let Some(edns) = &request.edns {
        let mut own = Edns::new();
        own.set_max_payload(MAX_UDP);
        own.set_dnssec_ok(edns.flags().dnssec_ok);
        response.set_edns(own);
    }
    response.metadata.response_code = match (&request.edns, request.metadata.op_code, &request.queries[..]) {
        (Some(edns), _, _) if edns.version() > 0 => ResponseCode::BADVERS,
        (_, OpCode::Query, [question]) if question.query_class() == DNSClass::IN => {
            source.resolve(question.name(), question.query_type(), &mut response)
        }
        (_, OpCode::Query, [_]) => ResponseCode::Refused,
        (_, OpCode::Query, _) => ResponseCode::FormErr,
        _ => ResponseCode::NotImp,
    };
    let limit = match (transport, &request.edns) {
        (Transport::Tcp, _) => usize::from(u16::MAX),
        (Transport::Udp, Some(edns)) => usize::from(edns.max_payload().clamp(512, MAX_UDP)),
        (Transport::Udp, None) => 512,
    };
    let encoded = response.to_vec().ok()?;
    if encoded.len() <= limit { Some(encoded) } else { response.truncate().to_vec().ok() }
}

/// A header without a readable question is a format error; less than a header is nothing.
fn format_error(message: &[u8]) -> Option<Vec<u8>> {
    let id = u16::from_be_bytes([*message.first()?, *message.get(1)?]);
    let is_query = message.len() >= 12 && message.get(2)? & 0x80 == 0;
    let error = Message::error_msg(id, OpCode::Query, ResponseCode::FormErr);
    is_query.then(|| error.to_vec().ok()).flatten()
}

/// Fills in the answer for one name and type.
pub(crate) fn resolve<S: Served>(
    served: &S,
    name: &Name,
    rtype: RecordType,
    response: &mut Message,
) -> ResponseCode {
    let mut owner = stored_form(name);
    let Some(apex) = served.apex(&owner) else { return ResponseCode::Refused };
    response.metadata.authoritative = true;
    for step in 0..MAX_CHAIN {
        let is_first = step == 0;
        let cut = served.cut(&owner, apex);
        // RFC 4035 §3.1.4.1: only the DS of a cut is the parent's to answer.
        let cut = cut.filter(|cut| !(rtype == RecordType::DS && served.name(*cut) == owner));
        if let Some(cut) = cut {
            refer(served, cut, apex, is_first, response);
            return ResponseCode::NoError;
        }
        let found = match lookup(served, &owner, apex) {
            Some(found) => found,
            None => {
                response.add_authority(served.soa(apex));
                return ResponseCode::NXDomain;
            }
        };
        let wanted: Vec<Record> = found
            .iter()
            .filter(|record| rtype == RecordType::ANY || record.record_type() == rtype)
            .cloned()
            .collect();
        if !wanted.is_empty() {
            response.add_answers(wanted);
            return ResponseCode::NoError;
        }
        let alias = found.iter().find_map(|record| match &record.data {
            RData::CNAME(target) => Some((record.clone(), stored_form(&target.0))),
            _ => None,
        });
        let Some((record, target)) = alias else {
            response.add_authority(served.soa(apex));
            return ResponseCode::NoError;
        };
        response.add_answer(record);
        if served.apex(&target).is_none_or(|zone| served.name(zone) != served.name(apex)) {
            return ResponseCode::NoError;
        }
        owner = target;
    }
    ResponseCode::NoError
}

/// RFC 1034 §4.3.2 step 3b: NS in the authority section, glue in the additional section, no AA.
fn refer<S: Served>(served: &S, cut: S::Zone, apex: S::Zone, is_first: bool, response: &mut Message) {
    if is_first {
        response.metadata.authoritative = false;
    }
    response.add_authorities(served.ns_records(cut, apex));
    response.add_additionals(served.glue(cut, apex));
}

/// The records at a name, by a wildcard if need be; `None` when the name does not exist.
fn lookup<S: Served>(served: &S, owner: &str, apex: S::Zone) -> Option<Vec<Record>> {
    if served.exists(owner, apex) {
        return Some(served.records_at(owner, apex));
    }
    // RFC 4592 §3.3.1: only the wildcard at the closest encloser counts.
    let mut encloser = owner;
    while let Some((_, above)) = encloser.split_once('.') {
        encloser = above;
        if served.exists(encloser, apex) {
            break;
        }
    }
    let wildcard = format!("*.{encloser}");
    if !is_below(&wildcard, served.name(apex)) || !served.exists(&wildcard, apex) {
        return None;
    }
    let name = Name::from_ascii(format!("{owner}.")).ok()?;
    let mut records = served.records_at(&wildcard, apex);
    for record in &mut records {
        record.name = name.clone();
    }
    Some(records)
}

/// A name in stored form: lower-case, without the final dot.
fn stored_form(name: &Name) -> String {
    name.to_lowercase().to_ascii().trim_end_matches('.').to_owned()
}
