//! What arrives on real sockets, and what counts of it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use gslb_core::reply::{NoWord, Reply};
use hickory_proto::op::Message;
use hickory_proto::rr::Name;
use tokio::net::UdpSocket;

use super::server::{Act, Seen, Server, reply, send, with_addresses, with_cname, with_cnames, with_rcode};
use super::*;

/// A server that answers does so within microseconds here; this is for slow test machines.
const PATIENT: Options = Options {
    attempts: &[Attempt { protocol: Protocol::Udp, deadline: Duration::from_secs(20) }],
    recursion: false,
};
/// A server that does not answer costs this.
const BRIEF: Options = Options {
    attempts: &[Attempt { protocol: Protocol::Udp, deadline: Duration::from_millis(30) }],
    recursion: false,
};
/// Garbage is judged at the deadline, so it must have arrived by then, also on a slow machine.
const FAIR: Options = Options {
    attempts: &[Attempt { protocol: Protocol::Udp, deadline: Duration::from_millis(400) }],
    recursion: false,
};
const OVER_TCP: Options = Options {
    attempts: &[Attempt { protocol: Protocol::Tcp, deadline: Duration::from_secs(20) }],
    recursion: true,
};
const ADDRESS: &[(&str, &str)] = &[("localtargets-app.cloud.example.com.", "198.51.100.10")];

async fn ask(server: &Server, options: &Options) -> Reply {
    ask_at(server.address, options).await
}
async fn ask_at(server: SocketAddr, options: &Options) -> Reply {
    Client::new(Network::default(), []).ask(server, &about(HOST), options).await
}
fn right(seen: &Seen) -> Act {
    send(&with_addresses(seen, ADDRESS))
}
fn changed(seen: &Seen, change: impl FnOnce(&mut Message)) -> Act {
    let mut message = with_addresses(seen, ADDRESS);
    change(&mut message);
    send(&message)
}
fn renamed(seen: &Seen, name: &str) -> Act {
    changed(seen, |message| {
        message.queries[0].set_name(Name::from_ascii(name).unwrap());
    })
}
fn udp_only(seen: &Seen, act: impl FnOnce() -> Act) -> Vec<Act> {
    if seen.protocol == Protocol::Udp { vec![act()] } else { vec![] }
}

/// F-35.
#[tokio::test]
async fn the_question_is_the_contracts_and_the_answer_is_complete() {
    let server = Server::start(|seen| {
        vec![changed(seen, |message| {
            message.metadata.authoritative = true;
        })]
    })
    .await;
    let expected = Reply::Positive {
        addresses: addresses(&["198.51.100.10"]),
        authoritative: true,
        partial: false,
        alias: None,
    };
    assert_eq!(ask(&server, &PATIENT).await, expected);
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].name().to_ascii().to_lowercase(), format!("{HOST}."));
    assert_eq!(seen[0].query.queries[0].query_type().to_string(), "A");
    assert!(!seen[0].query.metadata.recursion_desired);
    assert_eq!(seen[0].query.edns.as_ref().unwrap().max_payload(), 1232);
}

/// F-36.
#[tokio::test]
async fn ids_ports_and_letter_case_cannot_be_foreseen() {
    let server = Server::start(|seen| vec![right(seen)]).await;
    for _ in 0..8 {
        assert_eq!(ask(&server, &PATIENT).await, positive(&["198.51.100.10"]));
    }
    let seen = server.seen();
    let ids: BTreeSet<_> = seen.iter().map(|seen| seen.query.metadata.id).collect();
    let ports: BTreeSet<_> = seen.iter().map(|seen| seen.from.port()).collect();
    let spellings: BTreeSet<_> = seen.iter().map(|seen| seen.name().to_ascii()).collect();
    assert!(ids.len() > 4 && ports.len() > 4 && spellings.len() > 4, "{ids:?} {ports:?} {spellings:?}");
}

/// F-36.
#[tokio::test]
async fn replies_to_other_questions_do_not_end_the_wait() {
    let server = Server::start(|seen| {
        vec![
            changed(seen, |message| message.metadata.id = message.metadata.id.wrapping_add(1)),
            renamed(seen, "other.example.net."),
            send(&seen.query),
            Act::SendFromElsewhere(with_addresses(seen, &[]).to_vec().unwrap()),
            Act::Send(vec![1]),
            Act::Send(with_addresses(seen, ADDRESS).to_vec().unwrap()[..7].to_vec()),
            right(seen),
        ]
    })
    .await;
    assert_eq!(ask(&server, &PATIENT).await, positive(&["198.51.100.10"]));
    assert_eq!(server.seen().len(), 1);
}

/// F-36.
#[tokio::test]
async fn only_wrong_replies_are_no_word() {
    let wrong_id = Server::start(|seen| {
        vec![changed(seen, |message| message.metadata.id = message.metadata.id.wrapping_add(1))]
    })
    .await;
    let wrong_question = Server::start(|seen| vec![renamed(seen, "other.example.net.")]).await;
    let elsewhere =
        Server::start(|seen| vec![Act::SendFromElsewhere(with_addresses(seen, ADDRESS).to_vec().unwrap())])
            .await;
    let silent = Server::start(|_| vec![]).await;
    for server in [wrong_id, wrong_question, elsewhere, silent] {
        assert_eq!(ask(&server, &BRIEF).await, Reply::NoWord(NoWord::Timeout));
    }
}

#[tokio::test]
async fn garbage_is_told_apart_from_silence() {
    let cut = |seen: &Seen| with_addresses(seen, ADDRESS).to_vec().unwrap()[..7].to_vec();
    let bad_name = |seen: &Seen| [&reply(seen).to_vec().unwrap()[..12], b"\xc0\xff\xff\xff\xff"].concat();
    let short = Server::start(move |seen| vec![Act::Send(cut(seen))]).await;
    let malformed = Server::start(move |seen| vec![Act::Send(bad_name(seen))]).await;
    for server in [short, malformed] {
        assert_eq!(ask(&server, &FAIR).await, Reply::NoWord(NoWord::Malformed));
    }
}

#[tokio::test]
async fn an_alias_that_cannot_be_read_is_not_absence() {
    let server = Server::start(|seen| {
        let target = Name::from_labels([&b"b ad"[..], b"example", b"com"]).unwrap();
        vec![send(&with_cname(seen, ADDRESS[0].0, target))]
    })
    .await;
    assert_eq!(ask(&server, &FAIR).await, Reply::NoWord(NoWord::Malformed));
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_told_at_once() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let refused = Reply::NoWord(NoWord::Network("connection refused".into()));
    assert_eq!(ask_at(address, &PATIENT).await, refused);
    assert_eq!(ask_at(address, &OVER_TCP).await, refused);
}

#[tokio::test]
async fn every_response_code_is_kept() {
    let cases = [
        (2, Reply::NoWord(NoWord::ServFail)),
        (3, Reply::Negative { authoritative: false, name_exists: false }),
        (5, Reply::NoWord(NoWord::Refused)),
        (9, Reply::NoWord(NoWord::OtherRcode(9))),
        (0, Reply::Negative { authoritative: false, name_exists: true }),
    ];
    for (code, expected) in cases {
        let server = Server::start(move |seen| vec![send(&with_rcode(seen, code))]).await;
        assert_eq!(ask(&server, &PATIENT).await, expected);
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_server_from_before_edns_is_asked_again_without() {
    for code in [1, 4] {
        let server = Server::start(move |seen| match seen.query.edns {
            Some(_) => {
                let mut message = with_rcode(seen, code);
                message.queries.clear();
                vec![send(&message)]
            }
            None => vec![right(seen)],
        })
        .await;
        assert_eq!(ask(&server, &PATIENT).await, positive(&["198.51.100.10"]));
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test]
async fn a_server_that_understands_neither_is_no_word() {
    let server = Server::start(|seen| vec![send(&with_rcode(seen, 1))]).await;
    assert_eq!(ask(&server, &PATIENT).await, Reply::NoWord(NoWord::FormErr));
    assert_eq!(server.seen().len(), 2);
}

/// Conformance 106; F-35.
#[tokio::test]
async fn a_truncated_reply_is_completed_over_tcp() {
    let server = Server::start(|seen| match seen.protocol {
        Protocol::Udp => vec![changed(seen, |message| message.metadata.truncation = true)],
        Protocol::Tcp => {
            let both = [ADDRESS[0], (ADDRESS[0].0, "198.51.100.11")];
            vec![send(&with_addresses(seen, &both))]
        }
    })
    .await;
    assert_eq!(ask(&server, &PATIENT).await, positive(&["198.51.100.10", "198.51.100.11"]));
    assert_eq!(server.protocols(), [Protocol::Udp, Protocol::Tcp]);
}

#[tokio::test]
async fn without_tcp_a_truncated_reply_counts_in_part_and_an_empty_one_not_at_all() {
    let partial = Reply::Positive {
        addresses: addresses(&["198.51.100.10"]),
        authoritative: false,
        partial: true,
        alias: None,
    };
    let truncated = |seen: &Seen| changed(seen, |message| message.metadata.truncation = true);
    let closing = Server::start(move |seen| udp_only(seen, || truncated(seen))).await;
    assert_eq!(ask(&closing, &PATIENT).await, partial);
    let hanging = Server::start(move |seen| match seen.protocol {
        Protocol::Udp => vec![truncated(seen)],
        Protocol::Tcp => vec![Act::Hang],
    })
    .await;
    assert_eq!(ask(&hanging, &FAIR).await, partial);
    let empty = Server::start(|seen| {
        let mut message = reply(seen);
        message.metadata.truncation = true;
        udp_only(seen, || send(&message))
    })
    .await;
    assert_eq!(ask(&empty, &PATIENT).await, Reply::NoWord(NoWord::TruncatedWithoutTcp));
}

#[tokio::test]
async fn a_reply_that_lost_the_letter_case_is_confirmed_over_tcp() {
    let server = Server::start(|seen| vec![renamed(seen, ADDRESS[0].0)]).await;
    assert_eq!(ask(&server, &PATIENT).await, positive(&["198.51.100.10"]));
    assert_eq!(server.protocols(), [Protocol::Udp, Protocol::Tcp]);
}

#[tokio::test]
async fn without_tcp_a_second_reply_confirms_the_lost_letter_case() {
    let server = Server::start(|seen| udp_only(seen, || renamed(seen, ADDRESS[0].0))).await;
    assert_eq!(ask(&server, &PATIENT).await, positive(&["198.51.100.10"]));
    assert_eq!(server.protocols(), [Protocol::Udp, Protocol::Tcp, Protocol::Udp]);
    assert_eq!(server.seen()[2].name().to_ascii(), ADDRESS[0].0);
}

#[tokio::test]
async fn a_question_over_tcp_alone_works_and_may_ask_for_recursion() {
    let server = Server::start(|seen| vec![right(seen)]).await;
    assert_eq!(ask(&server, &OVER_TCP).await, positive(&["198.51.100.10"]));
    assert_eq!(server.protocols(), [Protocol::Tcp]);
    assert!(server.seen()[0].query.metadata.recursion_desired);
}

/// F-36.
#[tokio::test]
async fn answers_about_other_names_and_loops_are_no_word() {
    let stranger =
        Server::start(|seen| vec![send(&with_addresses(seen, &[("other.example.net.", "198.51.100.66")]))])
            .await;
    assert_eq!(ask(&stranger, &PATIENT).await, Reply::NoWord(NoWord::Malformed));
    let back = [(ADDRESS[0].0, "b.cloud.example.com."), ("b.cloud.example.com.", ADDRESS[0].0)];
    let turning = Server::start(move |seen| vec![send(&with_cnames(seen, &back))]).await;
    assert_eq!(ask(&turning, &PATIENT).await, Reply::NoWord(NoWord::CnameLoop));
}
