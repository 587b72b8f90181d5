//! When the record of another cluster may go, and by whose hand.

use gslb_core::peer::ToldState::{self, Answered, Held, Lost, NoTargets, Relayed, Unknown};
use gslb_core::records::{Challenges, Evidence, HostRecord, RecordFinding};

use crate::given::{answered, at, challenged, knows, observed, record, round, saw, short, tag, zone};

const EU: &str = "192.0.2.1";
const US: &str = "198.51.100.1";
const ZA: &str = "203.0.113.1";

/// What `us` makes at `second` of the record of eu, which is `eu`, when `us` and za are answered. It saw it at the
/// seconds `seen`.
fn us_makes(eu: &HostRecord, evidence: &Evidence, seen: &[i64], second: i64) -> Vec<String> {
    let host = observed(&[eu.clone(), record("us", US), record("za", ZA)]);
    let desired = answered("us", &["us", "za"], &[US]);
    let approved = round(&desired, &host, evidence, &saw("us", &host, seen), second).unwrap();
    approved.changes().iter().map(|change| short(change.change())).collect()
}

fn eu_is(state: ToldState, since: i64) -> Evidence {
    knows(&[("eu", state, since), ("za", Answered, 0)])
}

#[test]
fn a_record_goes_after_its_time_and_only_of_a_cluster_that_is_gone() {
    let (plain, asked) = (record("eu", EU), challenged(record("eu", EU), "us", 30));
    let by_za = challenged(record("eu", EU), "za", 30);
    let (nothing, ask, reap): (&[&str], &[&str], &[&str]) = (&[], &["?eu 192.0.2.1"], &["-eu 192.0.2.1"]);
    // The record of eu, its state, the seconds at which we saw it, now.
    type Case<'a> = (&'a str, &'a HostRecord, Evidence, &'a [i64], i64, &'a [&'a str]);
    let cases: [Case<'_>; 20] = [
        ("it answers", &plain, eu_is(Answered, 0), &[], 999, nothing),
        ("a witness speaks for it", &plain, eu_is(Relayed, 0), &[], 999, nothing),
        ("its targets answer a probe", &plain, eu_is(Held, 0), &[], 999, nothing),
        ("it was never heard", &plain, eu_is(Unknown, 0), &[], 999, nothing),
        ("it says no since just now", &plain, eu_is(NoTargets, 0), &[], 29, nothing),
        ("it says no since an interval", &plain, eu_is(NoTargets, 0), &[], 30, ask),
        ("it says no and is not asked long enough", &asked, eu_is(NoTargets, 0), &[30], 89, nothing),
        ("it says no and left the question", &asked, eu_is(NoTargets, 0), &[30], 90, reap),
        ("it says no since less than two intervals", &asked, eu_is(NoTargets, 40), &[30], 99, nothing),
        ("lost just now", &plain, eu_is(Lost, 0), &[], 29, nothing),
        ("lost for half a minute", &plain, eu_is(Lost, 0), &[], 30, ask),
        ("lost for long, and never asked", &plain, eu_is(Lost, 0), &[], 999, ask),
        ("asked half a minute ago", &asked, eu_is(Lost, 0), &[30], 60, nothing),
        ("asked a minute ago", &asked, eu_is(Lost, 0), &[30], 90, reap),
        ("seen for the first time now", &asked, eu_is(Lost, 0), &[999], 999, nothing),
        ("asked by another cluster", &by_za, eu_is(Lost, 0), &[30], 999, &["!eu 192.0.2.1"]),
        ("asked long ago, lost again just now", &asked, eu_is(Lost, 100), &[30], 159, nothing),
        ("asked long ago, lost for a minute", &asked, eu_is(Lost, 100), &[30], 160, reap),
        ("asked, and it answers again", &asked, eu_is(Answered, 80), &[30], 999, nothing),
        (
            "asked by us, but there is a lower living cluster",
            &asked,
            knows(&[("eu", Lost, 0), ("ab", Answered, 0), ("za", Answered, 0)]),
            &[30],
            999,
            nothing,
        ),
    ];
    for (what, eu, evidence, seen, second, changes) in cases {
        assert_eq!(us_makes(eu, &evidence, seen, second), changes, "{what}");
    }
}

#[test]
fn an_isolated_cluster_and_one_that_cannot_serve_take_nothing_away() {
    let asked = challenged(record("eu", EU), "us", 30);
    for (what, evidence) in [
        ("isolated", Evidence { isolated: true, ..eu_is(Lost, 0) }),
        ("isolated, and the last word was a no", Evidence { isolated: true, ..eu_is(NoTargets, 0) }),
        ("unable", Evidence { able: false, ..eu_is(Lost, 0) }),
    ] {
        assert_eq!(us_makes(&asked, &evidence, &[30], 999), [""; 0], "{what}");
    }
}

#[test]
fn the_last_record_stays_although_its_cluster_is_gone() {
    let host = observed(&[challenged(record("eu", EU), "us", 30)]);
    let evidence = knows(&[("eu", NoTargets, 0)]);
    let challenges = saw("us", &host, &[30]);
    // The other one is answered, and has no record yet: first it comes.
    let desired = answered("us", &["za"], &[]);
    let approved = round(&desired, &host, &evidence, &challenges, 999).unwrap();
    assert_eq!(approved.changes(), []);
    assert_eq!(approved.findings().iter().map(RecordFinding::reason).collect::<Vec<_>>(), ["KeptForWant"]);
    let desired = answered("us", &["us"], &[US]);
    let approved = round(&desired, &host, &evidence, &challenges, 999).unwrap();
    let changes: Vec<_> = approved.changes().iter().map(|change| short(change.change())).collect();
    assert_eq!(changes, ["+us 198.51.100.1", "-eu 192.0.2.1"]);
}

#[test]
fn whoever_is_answered_as_the_last_resort_keeps_its_record() {
    let host = observed(&[record("eu", EU), record("us", US)]);
    let desired = answered("us", &["eu"], &[]);
    let approved = round(&desired, &host, &eu_is(Lost, 0), &saw("us", &host, &[0]), 999).unwrap();
    let changes: Vec<_> = approved.changes().iter().map(|change| short(change.change())).collect();
    assert_eq!(changes, ["-us 198.51.100.1"]);
}

#[test]
fn after_a_refutation_the_next_challenge_waits_longer_each_time() {
    let (asked, plain) = (observed(&[challenged(record("eu", EU), "us", 30)]), observed(&[record("eu", EU)]));
    let mut challenges = Challenges::default();
    let mut second = 0;
    let mut pauses = Vec::new();
    for _ in 0..5 {
        challenges = challenges.seen(&tag("us"), &zone(&asked), at(second));
        challenges = challenges.seen(&tag("us"), &zone(&plain), at(second + 10));
        let until = challenges.not_before(&record("eu", EU)).unwrap();
        pauses.push(until.duration_since(at(second + 10)).as_secs());
        second += 1000;
    }
    assert_eq!(pauses, [60, 120, 240, 480, 600]);
    // It is told when the next challenge is due.
    let desired = answered("us", &["us", "za"], &[US]);
    let host = observed(&[record("eu", EU), record("us", US)]);
    let approved = round(&desired, &host, &eu_is(Lost, 0), &challenges, 4100).unwrap();
    assert_eq!((approved.changes().len(), approved.look_again()), (0, Some(at(4610))));
}

#[test]
fn a_challenge_that_was_refuted_before_it_was_read_counts_as_refuted() {
    let plain = observed(&[record("eu", EU), record("us", US)]);
    let desired = answered("us", &["us"], &[US]);
    let approved = round(&desired, &plain, &eu_is(Lost, 0), &Challenges::default(), 30).unwrap();
    let challenges = Challenges::default().wrote(&tag("us"), approved.changes()[0].change(), at(30));
    let challenges = challenges.seen(&tag("us"), &zone(&plain), at(60));
    assert_eq!(challenges.not_before(&record("eu", EU)), Some(at(120)));
}

#[test]
fn the_log_says_why_a_record_of_another_cluster_goes() {
    let why = |eu: HostRecord, evidence: &Evidence, second| {
        let host = observed(&[eu, record("us", US)]);
        let desired = answered("us", &["us"], &[US]);
        let approved = round(&desired, &host, evidence, &saw("us", &host, &[30]), second).unwrap();
        approved.changes()[0].why().to_owned()
    };
    assert_eq!(
        why(challenged(record("eu", EU), "us", 30), &eu_is(Lost, 0), 90),
        "cluster eu is silent and has not answered the challenge of us 2027-01-15T08:00:30Z; us is the lowest living cluster"
    );
    assert_eq!(
        why(challenged(record("eu", EU), "us", 30), &eu_is(NoTargets, 0), 90),
        "cluster eu says that it has no target and has not answered the challenge of us 2027-01-15T08:00:30Z; us is the lowest living cluster"
    );
}
