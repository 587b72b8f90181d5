//! What is refused whatever the plan says.

use std::collections::BTreeSet;

use gslb_core::peer::ToldState::{Answered, Lost};
use gslb_core::records::{
    Challenges, DesiredHost, HostRecord, HostWish, ObservedHost, PlannedChange, RecordChange, RecordLimits,
    RecordPlan,
};

use crate::given::{answered, at, challenged, claim, host, ip, knows, name, observed, record, ttl, wish};

const EU: &str = "192.0.2.1";
const US: &str = "198.51.100.1";

/// The reason for which a plan of eu with this change is refused.
fn refused(desired: &DesiredHost, stands: &ObservedHost, change: RecordChange) -> Option<&'static str> {
    let evidence = knows(&[("us", Answered, 0), ("za", Lost, 0)]);
    let challenges = Challenges::default();
    let limits =
        RecordLimits { desired, observed: stands, evidence: &evidence, challenges: &challenges, now: at(0) };
    let planned = PlannedChange { change, why: String::new() };
    let plan = RecordPlan { host: host(), changes: vec![planned], findings: vec![], look_again: None };
    plan.approve(&limits).err().map(|refusal| refusal.reason())
}

#[test]
fn a_plan_that_touches_what_is_not_ours_is_refused_as_a_whole() {
    let desired = answered("eu", &["eu", "us"], &[EU]);
    let (eu, us, stranger) = (record("eu", EU), record("us", US), record("", "203.0.113.9"));
    let stands = observed(&[eu.clone(), us.clone(), stranger.clone()]);
    let delete = |before: &HostRecord, instead: &[&str]| {
        RecordChange::delete(before.clone(), instead.iter().map(|address| ip(address)).collect())
    };
    let replace = |before: &HostRecord, after: HostRecord| RecordChange::replace(before.clone(), after);
    let create = |after: HostRecord| RecordChange::create(after);
    let elsewhere = HostRecord { host: name("app.example.net"), ..record("eu", "192.0.2.2") };
    let cases = [
        ("a peer's record made by us", create(record("us", "192.0.2.2")), Some("NotOurs")),
        ("a record without a claim", create(record("", "192.0.2.2")), Some("NotOurs")),
        (
            "a record that is born challenged",
            create(challenged(record("eu", "192.0.2.2"), "us", 0)),
            Some("NotOurs"),
        ),
        ("a host outside the zone", create(elsewhere), Some("OutOfScope")),
        ("what is there already", create(eu.clone()), Some("OtherHost")),
        ("a stranger's record", delete(&stranger, &[EU]), Some("NotOurs")),
        ("a living peer's record", delete(&us, &[EU]), Some("NotOurs")),
        (
            "a living peer's TTL",
            replace(&us, HostRecord { ttl: Some(ttl(5)), ..us.clone() }),
            Some("NotOurs"),
        ),
        ("a challenge of a living peer", replace(&us, challenged(us.clone(), "eu", 0)), Some("NotOurs")),
        (
            "our own claim given away",
            replace(&eu, HostRecord { claim: Some(claim("us")), ..eu.clone() }),
            Some("NotOurs"),
        ),
        ("our own record without a replacement", delete(&eu, &[]), Some("NotOurs")),
        ("our own record for a stranger", delete(&eu, &["203.0.113.9"]), Some("NotOurs")),
        ("our own record for itself", delete(&eu, &[EU]), Some("NotOurs")),
        ("our own record for a peer's", delete(&eu, &[US]), None),
        ("our own TTL", replace(&eu, HostRecord { ttl: Some(ttl(5)), ..eu.clone() }), None),
    ];
    for (what, change, expected) in cases {
        assert_eq!(refused(&desired, &stands, change), expected, "{what}");
    }
}

#[test]
fn only_who_has_no_gslb_any_more_takes_the_last_record_away() {
    let eu = record("eu", EU);
    let stands = observed(std::slice::from_ref(&eu));
    let delete = || RecordChange::delete(eu.clone(), BTreeSet::new());
    assert_eq!(refused(&wish("eu", HostWish::Down), &stands, delete()), Some("NotOurs"));
    assert_eq!(refused(&wish("eu", HostWish::Withdrawn), &stands, delete()), None);
}
