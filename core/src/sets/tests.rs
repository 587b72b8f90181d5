//! The table of cases: what stands there, what is asked for, what is done.

use super::*;
use crate::name::DomainName;
use crate::records::RecordClaim;

const OURS: Option<&str> = Some("webhook/eu");
const THEIRS: Option<&str> = Some("webhook/us");
const NOBODYS: Option<&str> = None;

fn set(name: &str, rtype: &str, ttl: i64, data: &[&str]) -> RecordSet {
    let data: Vec<_> = data.iter().map(|datum| (*datum).to_owned()).collect();
    RecordSet::parse(&format!("{name}.example.com"), rtype, ttl, &data).unwrap()
}

fn policy() -> SetPolicy {
    SetPolicy {
        domains: vec![DomainName::parse("example.com").unwrap()],
        claim: "webhook/eu".parse().unwrap(),
        adopted: [].into(),
        own_sets: 100,
        max_deleted_percent: 50,
    }
}

/// Sets that stand, each of one holder.
fn standing(sets: &[(RecordSet, Option<&str>)]) -> ObservedSets {
    let mut observed = ObservedSets::new();
    for (set, claim) in sets {
        let claim: Option<RecordClaim> = claim.map(|claim| claim.parse().unwrap());
        let at = observed.entry(set.key.name.clone()).or_default().entry(set.key.rtype).or_default();
        let record = |datum: &Datum| (datum.clone(), ObservedRecord { ttl: set.ttl, claim: claim.clone() });
        at.records.extend(set.data.iter().map(record));
        at.glue.extend(set.glue.clone());
    }
    observed
}

fn create(set: RecordSet) -> SetRequest {
    SetRequest { creates: vec![set], ..SetRequest::default() }
}

fn update(before: RecordSet, after: RecordSet) -> SetRequest {
    SetRequest { updates: vec![(before, after)], ..SetRequest::default() }
}

fn delete(set: RecordSet) -> SetRequest {
    SetRequest { deletes: vec![set], ..SetRequest::default() }
}

/// Changes and refusals in words.
fn told(request: SetRequest, observed: &ObservedSets, policy: &SetPolicy) -> Vec<String> {
    let (wishes, refused) = request.into_wishes();
    let plan = plan(wishes, refused, observed, policy);
    let changes = plan.changes.iter().map(|(_, approved)| approved.change().to_string());
    changes.chain(plan.refusals.iter().map(ToString::to_string)).collect()
}

fn a(ttl: i64, data: &[&str]) -> RecordSet {
    set("www", "A", ttl, data)
}

const ONE: &str = "192.0.2.1";
const TWO: &str = "192.0.2.2";
const THREE: &str = "192.0.2.3";
const CHANGED: &[&str] = &["change A www.example.com"];
const MOVED: &[&str] = &[
    "A www.example.com is refused: 192.0.2.3 stands there, which is not what the change was made for; it follows from the next listing",
];
const GONE: &[&str] = &[
    "A www.example.com is refused: nothing stands there, which is not what the change was made for; it follows from the next listing",
];
const NOT_OURS: &[&str] = &[
    "A www.example.com is refused: 192.0.2.1 stands there, which does not belong to webhook/eu; delete it by hand, or leave the name out",
];
const ANOTHERS: &[&str] = &[
    "A www.example.com is refused: 192.0.2.1 stands there, which belongs to webhook/us; delete it by hand, or leave the name out",
];
const PARTLY_OURS: &[&str] = &[
    "A www.example.com is refused: 192.0.2.1, 192.0.2.2 stands there, which does not belong to webhook/eu; delete it by hand, or leave the name out",
];
const NOTHING: &[&str] = &[];

/// What stands there as TTL, address and holder, what is asked for, and what comes of it.
type Row<'a> = (&'a str, &'a [(i64, &'a str, Option<&'a str>)], SetRequest, &'a [&'a str]);

fn assert_rows(rows: Vec<Row<'_>>) {
    for (what, stands, request, expected) in rows {
        let stands: Vec<_> =
            stands.iter().map(|(ttl, address, holder)| (a(*ttl, &[address]), *holder)).collect();
        assert_eq!(told(request, &standing(&stands), &policy()), expected, "{what}");
    }
}

#[test]
fn a_set_is_made_where_nothing_else_stands() {
    let wanted = || create(a(30, &[ONE]));
    assert_rows(vec![
        ("nothing there", &[], wanted(), &["create A www.example.com"]),
        ("made already", &[(30, ONE, OURS)], wanted(), NOTHING),
        ("there already, of somebody else", &[(300, ONE, NOBODYS)], wanted(), NOTHING),
        ("made with another TTL", &[(300, ONE, OURS)], wanted(), CHANGED),
        ("another of ours", &[(30, THREE, OURS)], wanted(), MOVED),
        ("beside nobody's", &[(30, ONE, NOBODYS)], create(a(30, &[TWO])), NOT_OURS),
        ("beside another's", &[(30, ONE, THEIRS)], create(a(30, &[TWO])), ANOTHERS),
    ]);
}

#[test]
fn a_set_is_altered_that_is_still_as_it_was_and_only_what_is_ours_of_it() {
    let moves = || update(a(0, &[ONE]), a(0, &[TWO]));
    let both = &[(0, ONE, OURS), (0, TWO, NOBODYS)];
    assert_rows(vec![
        ("ours", &[(0, ONE, OURS)], moves(), CHANGED),
        ("its TTL", &[(30, ONE, OURS)], update(a(30, &[ONE]), a(0, &[ONE])), CHANGED),
        ("done", &[(0, TWO, OURS)], moves(), NOTHING),
        ("moved", &[(0, THREE, OURS)], moves(), MOVED),
        ("gone", &[], moves(), GONE),
        ("its TTL moved", &[(60, THREE, OURS)], update(a(30, &[THREE]), a(0, &[TWO])), MOVED),
        ("nobody's", &[(0, ONE, NOBODYS)], moves(), NOT_OURS),
        ("an addition to nobody's", &[(0, ONE, NOBODYS)], update(a(0, &[ONE]), a(0, &[ONE, TWO])), NOT_OURS),
        ("beside nobody's", both, update(a(0, &[ONE, TWO]), a(0, &[TWO, THREE])), CHANGED),
        ("nobody's goes", both, update(a(0, &[ONE, TWO]), a(0, &[ONE, THREE])), PARTLY_OURS),
        ("the TTL of nobody's too", both, update(a(0, &[ONE, TWO]), a(30, &[ONE, TWO])), PARTLY_OURS),
    ]);
}

#[test]
fn a_set_is_taken_away_that_is_still_as_it_was_and_wholly_ours() {
    let gone = || delete(a(30, &[ONE]));
    assert_rows(vec![
        ("ours", &[(30, ONE, OURS)], gone(), &["delete A www.example.com"]),
        ("whatever its TTL", &[(30, ONE, OURS)], delete(a(0, &[ONE])), &["delete A www.example.com"]),
        ("done", &[], gone(), NOTHING),
        ("moved", &[(30, THREE, OURS)], gone(), MOVED),
        ("nobody's", &[(30, ONE, NOBODYS)], gone(), NOT_OURS),
        ("another's", &[(30, ONE, THEIRS)], gone(), ANOTHERS),
        ("partly nobody's", &[(0, ONE, OURS), (0, TWO, NOBODYS)], delete(a(0, &[ONE, TWO])), PARTLY_OURS),
    ]);
}

#[test]
fn only_names_in_our_domains_are_written_and_no_zone_loses_its_name_servers() {
    let mut outside = a(0, &["192.0.2.1"]);
    outside.key.name = DomainName::parse("www.badexample.com").unwrap();
    let refused =
        "A www.badexample.com is refused: it is in none of the domains example.com (WEBHOOK_DOMAINS)";
    assert_eq!(told(create(outside), &standing(&[]), &policy()), [refused]);
    let mut apex = set("x", "NS", 0, &["ns1.example.com"]);
    apex.key.name = DomainName::parse("example.com").unwrap();
    let stands = standing(&[(apex.clone(), OURS), (set("ns1", "A", 0, &["192.0.2.53"]), OURS)]);
    let refused = "NS example.com is refused: the name servers of a zone itself are never changed";
    assert_eq!(told(delete(apex), &stands, &policy()), [refused]);
}

#[test]
fn a_set_that_is_held_is_left_and_is_no_fault_while_it_is_as_wanted() {
    let mut stands = standing(&[(a(0, &["192.0.2.1"]), OURS)]);
    let held = stands.values_mut().flat_map(|name| name.values_mut());
    held.for_each(|set| set.held = Some("it is locked by ddi-admin".to_owned()));
    assert_eq!(told(create(a(0, &["192.0.2.1"])), &stands, &policy()), [""; 0]);
    let refused = "A www.example.com is refused: it is locked by ddi-admin";
    assert_eq!(told(delete(a(0, &["192.0.2.1"])), &stands, &policy()), [refused]);
    assert_eq!(told(update(a(0, &["192.0.2.1"]), a(30, &["192.0.2.1"])), &stands, &policy()), [refused]);
}

#[test]
fn what_is_adopted_counts_as_ours_and_what_another_claims_does_not() {
    let adopting = SetPolicy { adopted: [a(0, &["192.0.2.1"]).key].into(), ..policy() };
    let (before, after) = (a(0, &["192.0.2.1"]), a(0, &["192.0.2.2"]));
    let request = || update(before.clone(), after.clone());
    assert_eq!(
        told(request(), &standing(&[(before.clone(), NOBODYS)]), &adopting),
        ["change A www.example.com"]
    );
    let theirs = told(request(), &standing(&[(before.clone(), THEIRS)]), &adopting);
    assert!(theirs[0].contains("belongs to webhook/us"), "{theirs:?}");
    assert_eq!(told(create(before.clone()), &standing(&[(before, NOBODYS)]), &adopting), [""; 0]);
}

#[test]
fn one_request_names_a_set_once_or_in_one_sense() {
    let (one, two) = (a(0, &["192.0.2.1"]), a(0, &["192.0.2.2"]));
    let both = |first: SetRequest, second: SetRequest| SetRequest {
        creates: [first.creates, second.creates].concat(),
        updates: [first.updates, second.updates].concat(),
        deletes: [first.deletes, second.deletes].concat(),
    };
    let stands = standing(&[(one.clone(), OURS)]);
    let told = |request| told(request, &stands, &policy());
    assert_eq!(told(both(delete(one.clone()), delete(one.clone()))), ["delete A www.example.com"]);
    assert_eq!(told(both(delete(one.clone()), create(two.clone()))), ["change A www.example.com"]);
    let twice = "A www.example.com is refused: it is named twice in one request, and not with the same data";
    assert_eq!(told(both(create(one.clone()), create(two.clone()))), [twice]);
    assert_eq!(told(both(both(create(one.clone()), create(two)), delete(one))), [twice]);
}

/// C066: a type change under one name.
#[test]
fn an_alias_and_addresses_take_turns_at_one_name() {
    let (alias, address) = (set("www", "CNAME", 0, &["lb.example.net"]), a(0, &["192.0.2.1"]));
    let swap =
        SetRequest { creates: vec![address.clone()], deletes: vec![alias.clone()], ..SetRequest::default() };
    let back =
        SetRequest { creates: vec![alias.clone()], deletes: vec![address.clone()], ..SetRequest::default() };
    let ours = standing(&[(alias.clone(), OURS)]);
    assert_eq!(
        told(swap.clone(), &ours, &policy()),
        ["delete CNAME www.example.com", "create A www.example.com"]
    );
    let ours = standing(&[(address.clone(), OURS)]);
    assert_eq!(told(back, &ours, &policy()), ["delete A www.example.com", "create CNAME www.example.com"]);
    // Nothing is taken away for something that does not come.
    let beside = "A www.example.com is refused: a CNAME stands at that name too, and an alias stands alone";
    let theirs = standing(&[(alias.clone(), NOBODYS)]);
    let refused = told(swap, &theirs, &policy());
    assert!(
        refused[0].contains("CNAME www.example.com is refused: lb.example.net stands there"),
        "{refused:?}"
    );
    assert_eq!(refused[1], beside);
    assert_eq!(told(create(address), &theirs, &policy()), [beside]);
}

#[test]
fn an_alias_stays_if_what_is_to_take_its_place_is_refused() {
    let alias = set("www", "CNAME", 0, &["lb.example.net"]);
    let (one, two) = (a(0, &["192.0.2.1"]), a(0, &["192.0.2.2"]));
    let request =
        SetRequest { creates: vec![one, two], deletes: vec![alias.clone()], ..SetRequest::default() };
    assert_eq!(
        told(request, &standing(&[(alias, OURS)]), &policy()),
        [
            "A www.example.com is refused: it is named twice in one request, and not with the same data",
            "CNAME www.example.com is left: what is to take its place was refused"
        ]
    );
}

#[test]
fn texts_come_before_what_they_are_about_and_go_after_it() {
    let request = SetRequest {
        creates: vec![a(0, &["192.0.2.1"]), set("a-www", "TXT", 0, &["\"heritage=external-dns\""])],
        deletes: vec![set("a-old", "TXT", 0, &["x"]), set("old", "A", 0, &["192.0.2.9"])],
        ..SetRequest::default()
    };
    let stands =
        standing(&[(set("a-old", "TXT", 0, &["x"]), OURS), (set("old", "A", 0, &["192.0.2.9"]), OURS)]);
    assert_eq!(
        told(request, &stands, &policy()),
        [
            "create TXT a-www.example.com",
            "create A www.example.com",
            "delete A old.example.com",
            "delete TXT a-old.example.com"
        ]
    );
}

#[test]
fn a_delegation_gets_the_addresses_of_its_servers_from_the_request_or_from_what_stands() {
    let ns = set("glb", "NS", 30, &["ns-eu.example.com", "ns-us.example.com"]);
    let (eu, us) = (set("ns-eu", "A", 0, &["192.0.2.53"]), set("ns-us", "AAAA", 0, &["2001:db8::53"]));
    let request = SetRequest { creates: vec![ns.clone(), eu], ..SetRequest::default() };
    let (wishes, _) = request.clone().into_wishes();
    let plan = plan(wishes, vec![], &standing(&[(us, NOBODYS)]), &policy());
    let [(Step::Records, _), (Step::Delegations, delegation)] = plan.changes.as_slice() else {
        panic!("{plan:?}")
    };
    let name = |text: &str| DomainName::parse(text).unwrap();
    let glue: Glue = [
        (name("ns-eu.example.com"), ["192.0.2.53".parse().unwrap()].into()),
        (name("ns-us.example.com"), ["2001:db8::53".parse().unwrap()].into()),
    ]
    .into();
    assert_eq!(delegation.change().after().unwrap().glue, glue);
    let refused = told(request, &standing(&[]), &policy());
    assert_eq!(refused[0], "create A ns-eu.example.com");
    assert!(
        refused[1].starts_with("NS glb.example.com is refused: no address of its name server ns-us"),
        "{refused:?}"
    );
}

#[test]
fn a_delegation_of_ours_follows_the_addresses_of_its_servers_and_another_one_does_not() {
    let server = |address: &str| set("ns1", "A", 0, &[address]);
    let name = server(ONE).key.name;
    let delegation = |label: &str, address: &str| RecordSet {
        glue: [(name.clone(), [address.parse().unwrap()].into())].into(),
        ..set(label, "NS", 30, &["ns1.example.com"])
    };
    let stands = standing(&[
        (server(ONE), OURS),
        (delegation("ours", ONE), OURS),
        (delegation("theirs", ONE), THEIRS),
    ]);
    let (mut wishes, _) = update(server(ONE), server(TWO)).into_wishes();
    follow_servers(&mut wishes, &stands, &policy().claim);
    let plan = plan(wishes, vec![], &stands, &policy());
    let [(_, address), (_, follows)] = plan.changes.as_slice() else { panic!("{plan:?}") };
    assert_eq!(address.change().to_string(), "change A ns1.example.com");
    assert_eq!(follows.change().after(), Some(&delegation("ours", TWO)));
    let (mut wishes, _) = delete(server(ONE)).into_wishes();
    follow_servers(&mut wishes, &stands, &policy().claim);
    assert_eq!(wishes.len(), 1, "what goes leaves the last address");
}

#[test]
fn the_addresses_of_name_servers_beneath_their_delegation_stand_in_it_and_nothing_else_does() {
    let ns = || set("team", "NS", 30, &["ns1.team.example.com"]);
    let server = |address: &str| set("ns1.team", "A", 0, &[address]);
    let glue = |address: &str| -> Glue { [(server(ONE).key.name, [address.parse().unwrap()].into())].into() };
    let note = || set("a-ns1.team", "TXT", 0, &["heritage=external-dns"]);
    let both = SetRequest { creates: vec![ns(), server(ONE), note()], ..SetRequest::default() };
    let (wishes, _) = both.into_wishes();
    let first = plan(wishes, vec![], &standing(&[]), &policy());
    let [(Step::Delegations, made)] = first.changes.as_slice() else { panic!("{first:?}") };
    assert_eq!(made.change().after().unwrap().glue, glue(ONE));
    assert_eq!(first.as_wanted, 1);
    assert_eq!(
        first.refusals.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "TXT a-ns1.team.example.com is refused: it lies beneath team.example.com, which the same request delegates, so that DNS would not find it; leave it out, or take name servers outside of team.example.com"
        ]
    );
    // Once it stands, what asks for the address anew finds it there, and another one goes there.
    let stands = standing(&[(RecordSet { glue: glue(ONE), ..ns() }, OURS)]);
    let next = |address: &str| {
        let (mut wishes, _) = create(server(address)).into_wishes();
        follow_servers(&mut wishes, &stands, &policy().claim);
        plan(wishes, vec![], &stands, &policy())
    };
    assert_eq!((next(ONE).changes, next(ONE).refusals), (vec![], vec![]));
    let moved = next(TWO);
    let [(_, follows)] = moved.changes.as_slice() else { panic!("{moved:?}") };
    assert_eq!(follows.change().after().unwrap().glue, glue(TWO));
    // Somebody else's is not filled, and the backend says what stands beneath.
    let theirs = standing(&[(RecordSet { glue: glue(ONE), ..ns() }, THEIRS)]);
    assert_eq!(told(create(server(TWO)), &theirs, &policy()), ["create A ns1.team.example.com"]);
    // Up to the domain itself, which has name servers of its own.
    let apex = RecordSet { key: SetKey::new(policy().domains.remove(0), RecordType::Ns), ..ns() };
    let request = SetRequest { creates: vec![apex, server(ONE)], ..SetRequest::default() };
    assert_eq!(told(request, &standing(&[]), &policy())[0], "create A ns1.team.example.com");
}

/// C066.
#[test]
fn one_request_does_not_take_most_of_what_is_ours_away() {
    let gone = |count: usize| -> Vec<_> {
        (0..count).map(|n| set(&format!("h{n}"), "A", 0, &["192.0.2.1"])).collect()
    };
    let asked_with = |count: usize, own_sets: usize, replaced: usize, rtype: &str, datum: &str| {
        let stands: Vec<_> = gone(count).into_iter().map(|set| (set, OURS)).collect();
        let creates = (0..replaced).map(|n| set(&format!("h{n}"), rtype, 0, &[datum])).collect();
        let request = SetRequest { creates, deletes: gone(count), ..SetRequest::default() };
        let (wishes, _) = request.into_wishes();
        let plan = plan(wishes, vec![], &standing(&stands), &SetPolicy { own_sets, ..policy() });
        plan.changes.iter().filter(|(_, change)| change.change().after().is_none()).count()
    };
    let asked = |count, own_sets, replaced| asked_with(count, own_sets, replaced, "AAAA", "2001:db8::1");
    assert_eq!(asked_with(11, 11, 11, "TXT", "x"), 0, "a text is in the place of none");
    assert_eq!(asked(10, 10, 0), 10);
    assert_eq!(asked(11, 11, 0), 0);
    assert_eq!(asked(11, 22, 0), 11);
    assert_eq!(asked(11, 11, 1), 11);
    let stands: Vec<_> = gone(11).into_iter().map(|set| (set, OURS)).collect();
    let request = SetRequest { deletes: gone(11), ..SetRequest::default() };
    let refused = told(request, &standing(&stands), &SetPolicy { own_sets: 11, ..policy() });
    assert_eq!(
        refused[0],
        "A h0.example.com is refused: the request deletes 11 of 11 sets and puts nothing in their place, the limit is 50 %; look why, then delete fewer at once or raise WEBHOOK_MAX_DELETED_PERCENT"
    );
}

#[test]
fn a_change_is_allowed_only_while_nothing_at_the_name_forbids_it() {
    let (one, two) = (a(0, &["192.0.2.1"]), a(0, &["192.0.2.2"]));
    let stands = standing(&[(one.clone(), OURS)]);
    let (wishes, _) = update(one.clone(), two.clone()).into_wishes();
    let plan = plan(wishes, vec![], &stands, &policy());
    let (_, approved) = &plan.changes[0];
    let at = |sets: &[(RecordSet, Option<&str>)]| {
        let observed = standing(sets);
        approved.is_allowed_at(observed.values().next().unwrap_or(&ObservedName::new()))
    };
    assert!(at(&[(one.clone(), OURS)]));
    assert!(!at(&[]));
    assert!(!at(&[(one.clone(), THEIRS)]));
    assert!(!at(&[(one.clone(), NOBODYS)]));
    assert!(!at(&[(two, OURS)]));
    assert!(!at(&[(a(30, &["192.0.2.1"]), OURS)]));
    assert!(!at(&[(one, OURS), (set("www", "CNAME", 0, &["lb.example.net"]), OURS)]));
}
