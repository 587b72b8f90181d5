//! Tries, bounds and silence, in paused time.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gslb_core::reply::{NoWord, Reply};
use tokio::time::Instant;

use super::fake::{Act, Fake};
use super::*;

const TIMEOUT: Reply = Reply::NoWord(NoWord::Timeout);

fn at(last: u8) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, last], 53))
}
fn yes() -> Act {
    Act::Answer(answer([a(HOST, "198.51.100.10")]))
}
fn hosts(count: usize) -> Vec<Question> {
    (0..count).map(|index| about(&format!("localtargets-a{index}.cloud.example.com"))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_doubt_ends_after_three_tries_in_two_and_a_half_seconds() {
    let fake = Fake::new(|_, _| Act::Silence);
    let start = Instant::now();
    assert_eq!(fake.client(&[]).ask(at(1), &about(HOST), &Options::DOUBT).await, TIMEOUT);
    assert_eq!(start.elapsed(), Duration::from_millis(2_500));
    let protocols: Vec<_> = fake.asked().iter().map(|(_, attempt, _)| attempt.protocol).collect();
    assert_eq!(protocols, [Protocol::Udp, Protocol::Udp, Protocol::Tcp]);
}

/// Conformance 103; F-34.
#[tokio::test(start_paused = true)]
async fn one_lost_packet_does_not_matter_to_a_doubt() {
    let count = AtomicUsize::new(0);
    let fake =
        Fake::new(move |_, _| if count.fetch_add(1, Ordering::Relaxed) == 0 { Act::Silence } else { yes() });
    let reply = fake.client(&[]).ask(at(1), &about(HOST), &Options::DOUBT).await;
    assert_eq!(reply, positive(&["198.51.100.10"]));
}

#[tokio::test(start_paused = true)]
async fn a_port_where_nobody_listens_is_tried_again_at_the_pace_of_the_tries() {
    let refused = NoWord::Network("connection refused".into());
    let fake = Fake::new({
        let refused = refused.clone();
        move |_, _| Act::Fail(refused.clone())
    });
    let start = Instant::now();
    let reply = fake.client(&[]).ask(at(1), &about(HOST), &Options::DOUBT).await;
    assert_eq!(reply, Reply::NoWord(refused));
    assert_eq!((fake.asked().len(), start.elapsed()), (3, Duration::from_millis(1_500)));
}

#[tokio::test(start_paused = true)]
async fn a_reply_ends_the_tries_whatever_it_says() {
    let fake = Fake::new(|_, _| Act::Answer(rcode(2)));
    let reply = fake.client(&[]).ask(at(1), &about(HOST), &Options::DOUBT).await;
    assert_eq!((reply, fake.asked().len()), (Reply::NoWord(NoWord::ServFail), 1));
}

/// F-32.
#[tokio::test(start_paused = true)]
async fn a_silent_peer_costs_one_deadline_however_many_hosts_there_are_and_delays_no_other() {
    let fake = Fake::new(|server, query| match server {
        silent if silent == at(1) => Act::Silence,
        _ => Act::Late(Duration::from_millis(50), answer([a(query.question.name.as_str(), "198.51.100.10")])),
    });
    let questions: Vec<_> =
        (1..=4).flat_map(|peer| hosts(500).into_iter().map(move |host| (at(peer), host))).collect();
    let start = Instant::now();
    let replies = fake.client(&[]).ask_many(questions, &Options::SWEEP).await;
    assert_eq!(replies.len(), 2_000);
    for ((server, _), reply) in &replies {
        assert_eq!(*reply, if *server == at(1) { TIMEOUT } else { positive(&["198.51.100.10"]) });
    }
    assert!(start.elapsed() <= Duration::from_millis(1_100), "{:?}", start.elapsed());
    assert_eq!(fake.asked().iter().filter(|(server, _, _)| *server == at(1)).count(), 32);
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_not_asked_about_any_more_have_the_reason_of_those_that_were() {
    let refused = NoWord::Network("connection refused".into());
    let fake = Fake::new({
        let refused = refused.clone();
        move |_, _| Act::Fail(refused.clone())
    });
    let questions = hosts(100).into_iter().map(|host| (at(1), host));
    let replies = fake.client(&[]).ask_many(questions, &Options::SWEEP).await;
    assert!(replies.values().all(|reply| *reply == Reply::NoWord(refused.clone())));
    assert!(fake.asked().len() < 100);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_loses_packets_is_asked_about_every_host() {
    let count = AtomicUsize::new(0);
    let fake = Fake::new(move |_, query| {
        if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            Act::Silence
        } else {
            Act::Answer(answer([a(query.question.name.as_str(), "198.51.100.10")]))
        }
    });
    let questions = hosts(500).into_iter().map(|host| (at(1), host));
    let replies = fake.client(&[]).ask_many(questions, &Options::SWEEP).await;
    assert_eq!((replies.len(), fake.asked().len()), (500, 500));
}

#[tokio::test(start_paused = true)]
async fn open_sockets_are_bounded_over_all_servers_and_at_each() {
    let fake = Fake::new(|_, _| Act::Late(Duration::from_millis(10), answer([])));
    let questions: Vec<_> =
        (1..=8).flat_map(|peer| hosts(100).into_iter().map(move |host| (at(peer), host))).collect();
    let replies = fake.client(&[]).ask_many(questions, &Options::SWEEP).await;
    assert_eq!((replies.len(), fake.most_open()), (800, (128, 32)));
}

#[tokio::test(start_paused = true)]
async fn nothing_to_ask_is_nothing_to_wait_for() {
    let fake = Fake::new(|_, _| Act::Silence);
    assert!(fake.client(&[]).ask_many([], &Options::SWEEP).await.is_empty());
}
