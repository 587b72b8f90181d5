use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder, BinEncodable};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::super::builders::*;
use super::super::decide::{Question, decide};
use super::super::input::SetData;
use super::*;

/// What a client sees of one answer.
#[derive(Debug, PartialEq)]
struct Seen {
    size: usize,
    answers: usize,
    soa: bool,
    tc: bool,
    opt: bool,
}

fn queries(name: &str, rtype: RecordType) -> Queries {
    let bytes = Query::query(Name::from_ascii(name).unwrap(), rtype).to_bytes().unwrap();
    Queries::read(&mut BinDecoder::new(&bytes), 1).unwrap()
}

fn respond(name: &str, rtype: RecordType, records: u32, edns: Option<Edns>, limit: u16) -> Seen {
    let host = match rtype {
        RecordType::TXT => set(name, SetData::Txt(addresses(records).map(|ip| ip.to_string()).collect())),
        _ => a(name, addresses(records)),
    };
    let served = snapshot([zone("cloud.example.com", &["ns.example.net"], 30)], [host]);
    let queries = queries(name, rtype);
    let asked = Question { op_code: OpCode::Query, query: queries.queries().first(), edns_version: None };
    let plan = decide(&served, &asked, 0, &mut StdRng::seed_from_u64(7));
    assert_eq!(plan.rcode, ResponseCode::NoError);
    let fit = fit(&queries, &plan, edns.as_ref(), limit);

    let mut buffer = Vec::new();
    let mut encoder = BinEncoder::new(&mut buffer);
    encoder.set_max_size(limit);
    let mut metadata = Metadata::new(1, MessageType::Response, OpCode::Query);
    metadata.truncation = fit.truncated;
    let none = || iter::empty::<&Record>();
    let answers = plan.answers.iter().take(fit.answers).map(Cow::as_ref);
    let authority = plan.authority.as_ref().filter(|_| fit.authority);
    MessageResponseBuilder::new(&queries, edns.as_ref())
        .build(metadata, answers, authority, none(), none())
        .destructive_emit(&mut encoder)
        .unwrap();
    let message = Message::read(&mut BinDecoder::new(&buffer)).unwrap();
    Seen {
        size: buffer.len(),
        answers: message.answers.len(),
        soa: !message.authorities.is_empty(),
        tc: message.metadata.truncation,
        opt: message.edns.is_some(),
    }
}

fn edns(option: usize) -> Edns {
    let mut edns = Edns::new();
    if option > 0 {
        let option = hickory_proto::rr::rdata::opt::EdnsOption::Unknown(15, vec![0; option]);
        edns.options_mut().insert(option);
    }
    edns
}

#[test]
fn a_set_that_does_not_fit_is_left_out_whole() {
    let seen = respond("app.cloud.example.com.", RecordType::A, 60, None, PLAIN_LIMIT);
    assert_eq!((seen.answers, seen.tc, seen.opt), (0, true, false));
    let seen = respond("app.cloud.example.com.", RecordType::A, 60, Some(edns(0)), UDP_LIMIT);
    assert_eq!((seen.answers, seen.tc, seen.opt), (60, false, true));
    let seen = respond("app.cloud.example.com.", RecordType::A, 90, Some(edns(0)), u16::MAX);
    assert_eq!((seen.answers, seen.tc, seen.opt), (90, false, true));
}

#[test]
fn as_many_whole_localtargets_as_fit_are_sent() {
    let seen = respond("localtargets-app.cloud.example.com.", RecordType::A, 60, None, PLAIN_LIMIT);
    assert!(seen.tc && (25..=28).contains(&seen.answers), "{seen:?}");
    // The codec writes a name in full before it replaces it by a pointer, and needs room for that.
    assert!(seen.size + 16 + 34 > usize::from(PLAIN_LIMIT), "one more would have fitted: {seen:?}");
}

#[test]
fn the_limit_over_udp_is_the_clients_within_ours() {
    let client = |size| Some(edns(0)).map(|mut edns| edns.set_max_payload(size).clone());
    assert_eq!(udp_limit(None), 512);
    assert_eq!(udp_limit(client(100).as_ref()), 512);
    assert_eq!(udp_limit(client(1000).as_ref()), 1000);
    assert_eq!(udp_limit(client(65535).as_ref()), 1232);
}

proptest! {
    #[test]
    fn no_answer_exceeds_its_limit_and_opt_is_never_lost(
        records in 1u32..120,
        limit in PLAIN_LIMIT..=UDP_LIMIT,
        option in proptest::option::of(0usize..60),
        label in "[a-z]{1,50}",
        announce: bool,
        txt: bool,
    ) {
        let prefix = if announce { "localtargets-" } else { "" };
        let name = format!("{prefix}{label}.cloud.example.com.");
        let rtype = if txt { RecordType::TXT } else { RecordType::A };
        let total = if txt { 1 } else { usize::try_from(records).unwrap() };
        let seen = respond(&name, rtype, records, option.map(edns), limit);
        prop_assert!(seen.size <= usize::from(limit), "{seen:?}");
        prop_assert_eq!(seen.opt, option.is_some());
        prop_assert_eq!(seen.tc, seen.answers < total);
        if seen.tc && !announce {
            prop_assert_eq!(seen.answers, 0);
        }
    }

    #[test]
    fn a_negative_answer_keeps_its_soa(option in proptest::option::of(0usize..60), label in "[a-z]{1,50}") {
        let name = format!("{label}.cloud.example.com.");
        let host = a(&name, addresses(1));
        let served = snapshot([zone("cloud.example.com", &["ns.example.net"], 30)], [host]);
        prop_assert_eq!(served.host_count(), 1);
        let queries = queries(&name, RecordType::MX);
        let asked = Question { op_code: OpCode::Query, query: queries.queries().first(), edns_version: None };
        let plan = decide(&served, &asked, 0, &mut StdRng::seed_from_u64(7));
        let edns = option.map(edns);
        let whole = Fit { answers: 0, authority: true, truncated: false };
        prop_assert_eq!(fit(&queries, &plan, edns.as_ref(), PLAIN_LIMIT), whole);
    }
}
