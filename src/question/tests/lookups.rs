//! Names through resolvers, aliases of peers, delegations at parents.

use std::net::SocketAddr;

use gslb_core::reply::{NoWord, RecordData, Reply, Response};
use gslb_core::ttl::Ttl;

use super::fake::{Act, Fake};
use super::*;

const LB: &str = "lb-1.example.com";

fn at(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 53))
}
fn found(list: &[&str], ttl: i64) -> Resolved {
    Resolved::Found { addresses: addresses(list), ttl: Ttl::from_secs(ttl).unwrap() }
}
/// A name and how a server answers for it.
type Known = (&'static str, fn() -> Response);

/// Servers that know these responses by name; everything else does not exist.
fn knowing(known: &'static [Known]) -> Fake {
    Fake::new(|_, query| {
        let response = known.iter().find(|(name, _)| *name == query.question.name.as_str());
        Act::Answer(response.map_or_else(|| rcode(3), |(_, response)| response()))
    })
}

/// Conformance 34; F-38.
#[tokio::test(start_paused = true)]
async fn only_a_final_answer_ends_the_search() {
    let fake = Fake::new(|server, _| match server {
        first if first == at(1) => Act::Silence,
        second if second == at(2) => Act::Answer(rcode(2)),
        third if third == at(3) => Act::Answer(rcode(5)),
        fourth if fourth == at(4) => Act::Fail(NoWord::Network("connection refused".into())),
        _ => Act::Answer(answer([a(LB, "192.0.2.10"), a(LB, "192.0.2.11")])),
    });
    let resolvers = [at(1), at(2), at(3), at(4), at(5), at(6)];
    let resolved = fake.client(&resolvers).resolve(&name(LB)).await;
    assert_eq!(resolved, found(&["192.0.2.10", "192.0.2.11"], 30));
    let asked = fake.asked();
    assert!(asked.iter().all(|(_, _, query)| query.recursion));
    assert!(asked.iter().all(|(server, _, _)| *server != at(6)));
}

/// Conformance 34; F-38.
#[tokio::test(start_paused = true)]
async fn nxdomain_and_nodata_are_final() {
    for (code, name_exists) in [(3, false), (0, true)] {
        let fake = Fake::new(move |_, _| Act::Answer(rcode(code)));
        let resolved = fake.client(&[at(1), at(2)]).resolve(&name(LB)).await;
        assert_eq!((resolved, fake.asked().len()), (Resolved::Absent { name_exists }, 1));
    }
}

/// Conformance 34.
#[tokio::test(start_paused = true)]
async fn without_a_final_answer_the_last_reason_is_told() {
    let fake = Fake::new(|server, _| if server == at(1) { Act::Silence } else { Act::Answer(rcode(5)) });
    let resolved = fake.client(&[at(1), at(2)]).resolve(&name(LB)).await;
    assert_eq!(resolved, Resolved::NoWord(NoWord::Refused));
    assert_eq!(fake.client(&[]).resolve(&name(LB)).await, Resolved::NoWord(NoWord::Timeout));
}

/// Conformance 34.
#[tokio::test(start_paused = true)]
async fn a_chain_is_followed_step_by_step_with_its_smallest_ttl() {
    let fake = knowing(&[
        (LB, || answer([cname(LB, "lb-2.example.com")])),
        ("lb-2.example.com", || {
            let mut short = cname("lb-2.example.com", "lb-3.example.com");
            short.ttl = Ttl::from_secs(7).unwrap();
            answer([short])
        }),
        ("lb-3.example.com", || answer([a("lb-3.example.com", "192.0.2.10")])),
    ]);
    assert_eq!(fake.client(&[at(1)]).resolve(&name(LB)).await, found(&["192.0.2.10"], 7));
    assert_eq!(fake.names(), [LB, "lb-2.example.com", "lb-3.example.com"]);
}

#[tokio::test(start_paused = true)]
async fn a_loop_over_several_replies_is_no_word() {
    let fake = knowing(&[
        (LB, || answer([cname(LB, "lb-2.example.com")])),
        ("lb-2.example.com", || answer([cname("lb-2.example.com", LB)])),
    ]);
    assert_eq!(fake.client(&[at(1)]).resolve(&name(LB)).await, Resolved::NoWord(NoWord::CnameLoop));
}

/// Conformance 34.
#[tokio::test(start_paused = true)]
async fn a_chain_of_more_than_eight_names_is_no_word() {
    let chain = |links: usize| {
        Fake::new(move |_, query| {
            let name = query.question.name.as_str();
            let index: usize = name.trim_start_matches('n').split('.').next().unwrap().parse().unwrap();
            Act::Answer(if index < links {
                answer([cname(name, &format!("n{}.example.com", index + 1))])
            } else {
                answer([a(name, "192.0.2.10")])
            })
        })
    };
    let resolve = async |links| chain(links).client(&[at(1)]).resolve(&name("n0.example.com")).await;
    assert_eq!(resolve(8).await, found(&["192.0.2.10"], 30));
    assert_eq!(resolve(9).await, Resolved::NoWord(NoWord::CnameLoop));
}

#[tokio::test(start_paused = true)]
async fn an_alias_in_a_peers_answer_is_resolved_through_the_resolvers() {
    let fake = Fake::new(|server, query| match query.question.name.as_str() {
        HOST => Act::Answer(Response { authoritative: true, ..answer([cname(HOST, LB)]) }),
        LB if server == at(1) => Act::Answer(answer([a(LB, "198.51.100.10")])),
        _ => Act::Silence,
    });
    let reply = fake.client(&[at(1)]).ask(at(9), &about(HOST), &Options::SWEEP).await;
    let addresses = addresses(&["198.51.100.10"]);
    let expected = Reply::Positive { addresses, authoritative: true, partial: false, alias: Some(name(LB)) };
    assert_eq!(reply, expected);
}

#[tokio::test(start_paused = true)]
async fn an_alias_that_cannot_be_resolved_is_no_word_and_one_that_leads_nowhere_is_no_authoritative_no() {
    let peer = |resolver: u16| {
        Fake::new(move |_, query| match query.question.name.as_str() {
            HOST => Act::Answer(Response { authoritative: true, ..answer([cname(HOST, LB)]) }),
            _ => Act::Answer(rcode(resolver)),
        })
    };
    let ask =
        async |resolver| peer(resolver).client(&[at(1)]).ask(at(9), &about(HOST), &Options::SWEEP).await;
    assert_eq!(ask(2).await, Reply::NoWord(NoWord::ServFail));
    assert_eq!(ask(3).await, Reply::Negative { authoritative: false, name_exists: true });
}

/// F-43.
#[tokio::test(start_paused = true)]
async fn a_delegation_is_read_from_both_sections_without_recursion() {
    let fake = Fake::new(|_, _| {
        Act::Answer(Response {
            answers: vec![ns("cloud.example.com", "gslb-ns-eu-cloud.example.com")],
            authorities: vec![
                ns("cloud.example.com", "gslb-ns-us-cloud.example.com"),
                ns("example.com", "ns.example.com"),
            ],
            additionals: vec![
                a("gslb-ns-us-cloud.example.com", "198.51.100.53"),
                a("ns.example.com", "192.0.2.53"),
                record("gslb-ns-us-cloud.example.com", RecordData::Other),
            ],
            ..Response::default()
        })
    });
    let referral = fake.client(&[]).ask_referral(at(1), &name("cloud.example.com")).await.unwrap();
    let us = name("gslb-ns-us-cloud.example.com");
    assert_eq!(
        referral,
        Referral {
            rcode: 0,
            authoritative: false,
            name_servers: [name("gslb-ns-eu-cloud.example.com"), us.clone()].into(),
            glue: [(us, addresses(&["198.51.100.53"]))].into(),
        }
    );
    let (_, _, query) = &fake.asked()[0];
    assert!(!query.recursion);
    assert_eq!(query.question.query_type, QueryType::Ns);
}

#[tokio::test(start_paused = true)]
async fn a_parent_without_the_delegation_and_a_silent_one_are_told_apart() {
    let zone = name("cloud.example.com");
    let absent = Fake::new(|_, _| Act::Answer(Response { authoritative: true, ..rcode(3) }));
    let referral = absent.client(&[]).ask_referral(at(1), &zone).await.unwrap();
    assert_eq!((referral.rcode, referral.authoritative, referral.name_servers.len()), (3, true, 0));
    let silent = Fake::new(|_, _| Act::Silence);
    assert_eq!(silent.client(&[]).ask_referral(at(1), &zone).await, Err(NoWord::Timeout));
    let cut = Fake::new(|_, _| Act::Answer(Response { truncated: true, ..Response::default() }));
    assert_eq!(cut.client(&[]).ask_referral(at(1), &zone).await, Err(NoWord::TruncatedWithoutTcp));
}
