//! What a cluster does with its own records, and what it tells of the others.

use gslb_core::peer::ToldState::{Answered, NoTargets};
use gslb_core::records::{HostObstacle, HostRecord, HostWish};

use crate::given::{answered, challenged, knows, observed, record, ttl, wish, words};

const EU: &str = "192.0.2.1";
const EU2: &str = "192.0.2.2";
const US: &str = "198.51.100.1";
const ZA: &str = "203.0.113.1";
const STRANGER: &str = "203.0.113.99";

#[test]
fn an_own_record_stands_exactly_while_the_own_site_is_in_the_decision() {
    let (eu, eu2, us, za) = (record("eu", EU), record("eu", EU2), record("us", US), record("za", ZA));
    // What stands, who answers, the own addresses, the changes, the findings. We are eu.
    type Case<'a> = (&'a str, Vec<HostRecord>, &'a [&'a str], &'a [&'a str], &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 12] = [
        ("first of all", vec![], &["eu"], &[EU], &["+eu 192.0.2.1"], &[]),
        ("beside others", vec![us.clone()], &["eu", "us"], &[EU], &["+eu 192.0.2.1"], &[]),
        ("all there", vec![eu.clone(), us.clone()], &["eu", "us"], &[EU], &[], &[]),
        ("two addresses", vec![], &["eu"], &[EU, EU2], &["+eu 192.0.2.1", "+eu 192.0.2.2"], &[]),
        (
            "another address: add before remove",
            vec![eu.clone()],
            &["eu"],
            &[EU2],
            &["+eu 192.0.2.2", "-eu 192.0.2.1"],
            &[],
        ),
        ("one of two goes", vec![eu.clone(), eu2], &["eu"], &[EU2], &["-eu 192.0.2.1"], &[]),
        (
            "the primary is back and stands",
            vec![eu.clone(), us.clone()],
            &["us"],
            &[],
            &["-eu 192.0.2.1"],
            &[],
        ),
        ("the primary is back, not its record", vec![eu.clone()], &["us"], &[], &[], &["WaitsForSite"]),
        ("some other one is no replacement", vec![eu.clone(), za], &["us"], &[], &[], &["WaitsForSite"]),
        ("nothing of ours, nothing wanted", vec![us], &["us"], &[], &[], &[]),
        (
            "a stranger beside us",
            vec![eu.clone(), record("", STRANGER)],
            &["eu"],
            &[EU],
            &[],
            &["ForeignRecords"],
        ),
        (
            "a record of another fleet",
            vec![eu, record("other.example.com/eu", STRANGER)],
            &["eu"],
            &[EU],
            &[],
            &["ForeignRecords"],
        ),
    ];
    let evidence = knows(&[("us", Answered, 0), ("za", Answered, 0)]);
    for (what, stands, sites, own, changes, findings) in cases {
        let found = words(&answered("eu", sites, own), &observed(&stands), &evidence);
        assert_eq!(found, (changes.iter().map(ToString::to_string).collect(), findings.to_vec()), "{what}");
    }
}

#[test]
fn when_every_site_is_down_the_lowest_keeps_the_last_record() {
    let (eu, us) = (record("eu", EU), record("us", US));
    let both = observed(&[eu.clone(), us.clone()]);
    let down = |own: &str, peer: &str, host| {
        words(&wish(own, HostWish::Down), host, &knows(&[(peer, NoTargets, 0)]))
    };
    assert_eq!(down("us", "eu", &both), (vec!["-us 198.51.100.1".to_owned()], vec![]));
    assert_eq!(down("eu", "us", &both), (vec![], vec!["LastRecordKept"]));
    assert_eq!(down("us", "eu", &observed(&[us])), (vec![], vec!["LastRecordKept"]));
}

#[test]
fn nothing_goes_while_it_is_not_known_who_can_serve() {
    let host = observed(&[record("eu", EU), record("us", US)]);
    assert_eq!(words(&wish("eu", HostWish::Unsure), &host, &knows(&[])), (vec![], vec![]));
}

#[test]
fn without_a_gslb_everything_of_ours_goes_and_nothing_else() {
    let host = observed(&[record("eu", EU), record("us", US), record("", STRANGER)]);
    let gone = (vec!["-eu 192.0.2.1".to_owned()], vec![]);
    assert_eq!(words(&wish("eu", HostWish::Withdrawn), &host, &knows(&[])), gone);
    let last = observed(&[record("eu", EU)]);
    assert_eq!(words(&wish("eu", HostWish::Withdrawn), &last, &knows(&[])), gone);
}

#[test]
fn an_alias_or_a_host_record_is_left_alone_and_refused_with_a_sentence() {
    let cases = [
        (
            HostObstacle::Cname { target: "cdn.example.net".into() },
            "CnameConflict",
            "app.cloud.example.com cannot have address records: it is an alias of cdn.example.net, which is left as it is; remove the CNAME record or give the application another host name",
        ),
        (
            HostObstacle::HostRecord,
            "HostRecordConflict",
            "app.cloud.example.com gets no address records: a host record (record:host) of that name exists, which is left as it is; remove it or give the application another host name",
        ),
    ];
    for (obstacle, reason, sentence) in cases {
        let mut host = observed(&[]);
        host.obstacles.insert(obstacle);
        let desired = answered("eu", &["eu"], &[EU]);
        assert_eq!(words(&desired, &host, &knows(&[])), (vec![], vec![reason]));
        let approved = crate::given::round(&desired, &host, &knows(&[]), &Default::default(), 0).unwrap();
        assert_eq!(approved.findings()[0].to_string(), sentence);
    }
}

#[test]
fn our_address_in_a_record_of_somebody_else_is_told_and_left() {
    let desired = answered("eu", &["eu"], &[EU]);
    let foreign = observed(&[record("", EU)]);
    assert_eq!(words(&desired, &foreign, &knows(&[])), (vec![], vec!["AddressNotOurs"]));
    let peers = observed(&[record("us", EU)]);
    let evidence = knows(&[("us", Answered, 0)]);
    assert_eq!(words(&desired, &peers, &evidence), (vec![], vec!["AddressOfPeer"]));
}

#[test]
fn a_living_owner_refutes_a_challenge_and_sets_its_ttl_right() {
    let desired = answered("eu", &["eu"], &[EU]);
    let asked = observed(&[challenged(record("eu", EU), "us", 0)]);
    assert_eq!(words(&desired, &asked, &knows(&[])).0, ["!eu 192.0.2.1"]);
    // Also while it is not known who can serve, or its record only waits to go.
    assert_eq!(words(&wish("eu", HostWish::Unsure), &asked, &knows(&[])).0, ["!eu 192.0.2.1"]);
    assert_eq!(words(&answered("eu", &["us"], &[]), &asked, &knows(&[])).0, ["!eu 192.0.2.1"]);
    let other_ttl = HostRecord { ttl: Some(ttl(300)), ..record("eu", EU) };
    assert_eq!(words(&desired, &observed(&[other_ttl]), &knows(&[])).0, ["~eu 192.0.2.1"]);
}

#[test]
fn a_record_that_an_operator_disabled_is_told_and_does_not_count_as_an_answer() {
    let disabled = |of, address| HostRecord { disabled: true, ..record(of, address) };
    let own = observed(&[disabled("eu", EU)]);
    assert_eq!(words(&answered("eu", &["eu"], &[EU]), &own, &knows(&[])), (vec![], vec!["RecordDisabled"]));
    let host = observed(&[record("eu", EU), disabled("us", US)]);
    let evidence = knows(&[("us", Answered, 0)]);
    assert_eq!(words(&answered("eu", &["us"], &[]), &host, &evidence), (vec![], vec!["WaitsForSite"]));
}

#[test]
fn the_record_of_a_cluster_that_nobody_knows_is_told_and_left() {
    let host = observed(&[record("eu", EU), record("old", US)]);
    assert_eq!(words(&answered("eu", &["eu"], &[EU]), &host, &knows(&[])), (vec![], vec!["UnknownHolder"]));
}
