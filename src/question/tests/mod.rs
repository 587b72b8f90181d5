//! Real sockets on loopback (`sockets`), and the client's policy with a transport of values in paused time.

mod fake;
mod lookups;
mod policy;
mod server;
mod sockets;

use std::collections::BTreeSet;

use gslb_core::name::DomainName;
use gslb_core::reply::{Record, RecordData, Reply, Response};
use gslb_core::ttl::Ttl;

use super::*;

const HOST: &str = "localtargets-app.cloud.example.com";

fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}
fn about(text: &str) -> Question {
    Question::addresses(name(text))
}
fn record(owner: &str, data: RecordData) -> Record {
    Record { owner_name: name(owner), ttl: Ttl::from_secs(30).unwrap(), data }
}
fn a(owner: &str, address: &str) -> Record {
    record(owner, RecordData::A(address.parse().unwrap()))
}
fn cname(owner: &str, target: &str) -> Record {
    record(owner, RecordData::Cname(name(target)))
}
fn ns(owner: &str, target: &str) -> Record {
    record(owner, RecordData::Ns(name(target)))
}
fn answer(answers: impl IntoIterator<Item = Record>) -> Response {
    Response { answers: answers.into_iter().collect(), ..Response::default() }
}
fn rcode(rcode: u16) -> Response {
    Response { rcode, ..Response::default() }
}
fn addresses(list: &[&str]) -> BTreeSet<std::net::Ipv4Addr> {
    list.iter().map(|text| text.parse().unwrap()).collect()
}
fn positive(list: &[&str]) -> Reply {
    Reply::Positive { addresses: addresses(list), authoritative: false, partial: false, alias: None }
}
