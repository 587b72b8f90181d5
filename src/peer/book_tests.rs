use std::net::Ipv4Addr;

use gslb_core::fleet::Found;
use gslb_core::peer::ToldState;
use gslb_core::reply::Reply;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::*;

const HOST: &str = "app.cloud.example.com";
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}
fn tag(text: &str) -> GeoTag {
    GeoTag::parse(text).unwrap()
}
fn found(tags: &[&str], known: bool) -> Members {
    let tags = tags.iter().map(|text| tag(text)).collect();
    Members::Found([(name("cloud.example.com"), Found { tags, known })].into())
}
/// A book of cluster eu that watches a host, and its metrics page.
fn book(members: Members) -> (Book, Registry) {
    let mut registry = Registry::default();
    let metrics = Metrics::new(&mut registry, "gslb", &tag("eu"));
    let book = Book::new(tag("eu"), members, mpsc::unbounded_channel().0, metrics);
    book.watch(|| [(name(HOST), SignedDuration::ZERO)].into(), NOW);
    (book, registry)
}
fn answers(book: &Book, peer: &str) {
    let address = Ipv4Addr::new(198, 51, 100, 10);
    let addresses = [address].into();
    let reply = Reply::Positive { addresses, authoritative: true, partial: false, alias: None };
    book.hear(&tag(peer), &name(HOST), &Round::new([((address, 0).into(), reply)]), NOW);
}
fn stored(peer: &str) -> BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>> {
    let targets = [Ipv4Addr::new(198, 51, 100, 10)].into();
    let remembered = Remembered { state: "Lost".into(), targets, heard: Some(NOW) };
    [(tag(peer), [(name(HOST), remembered)].into())].into()
}
fn series(registry: &Registry) -> Vec<String> {
    let mut page = String::new();
    encode(&mut page, registry).unwrap();
    page.lines().filter(|line| line.starts_with("gslb_bridge_peer_views{")).map(str::to_owned).collect()
}
fn state(book: &Book, peer: &str) -> Option<ToldState> {
    book.sights(&name(HOST)).get(&tag(peer)).map(|sight| sight.state)
}

#[test]
fn a_peer_that_leaves_takes_its_views_and_series_along() {
    let (book, registry) = book(found(&["eu", "us", "za"], true));
    for peer in ["us", "za"] {
        answers(&book, peer);
    }
    assert!(book.set_members(|| found(&["eu", "za"], true), NOW));
    assert_eq!(series(&registry), [r#"gslb_bridge_peer_views{peer="za",state="Answered"} 1"#]);
    // What was under way when it left comes too late.
    answers(&book, "us");
    assert_eq!((state(&book, "us"), state(&book, "za")), (None, Some(ToldState::Answered)));
    assert_eq!(series(&registry).len(), 1);
    assert_eq!(book.remember().into_keys().collect::<Vec<_>>(), [tag("za")]);
    assert!(!book.set_members(|| found(&["eu", "za"], true), NOW));
}

#[test]
fn a_peer_that_joins_is_waited_for_by_a_new_host_only() {
    let (book, _) = book(found(&["eu"], true));
    assert_eq!(book.waits_until(&name(HOST), NOW), None);
    let later = NOW + SignedDuration::from_secs(60);
    book.set_members(|| found(&["eu", "us"], true), later);
    assert_eq!(book.waits_until(&name(HOST), later), None);
    let other = name("other.cloud.example.com");
    let hosts = [name(HOST), other.clone()].map(|host| (host, SignedDuration::ZERO));
    book.watch(|| hosts.into(), later);
    assert_eq!(book.waits_until(&other, later), Some(later + FIRST_VERDICT));
}

#[test]
fn a_host_that_loses_its_gslb_and_gets_another_one_keeps_what_is_known_of_it() {
    let (book, registry) = book(found(&["eu", "us"], true));
    answers(&book, "us");
    let at = |seconds| NOW + SignedDuration::from_secs(seconds);
    let hosts = || [(name(HOST), SignedDuration::ZERO)].into();
    book.watch(BTreeMap::new, at(60));
    book.let_go(at(69));
    book.watch(hosts, at(69));
    assert_eq!(
        (state(&book, "us"), book.waits_until(&name(HOST), at(69))),
        (Some(ToldState::Answered), None)
    );
    // It is nobody's again, from then on.
    book.watch(BTreeMap::new, at(80));
    book.let_go(at(89));
    assert_eq!(book.hosts(), [name(HOST)]);
    book.let_go(at(90));
    let none = [r#"gslb_bridge_peer_views{peer="us",state="Answered"} 0"#];
    assert_eq!((book.hosts(), series(&registry)), (vec![], none.map(str::to_owned).to_vec()));
    book.watch(hosts, at(91));
    assert_eq!(
        (state(&book, "us"), book.waits_until(&name(HOST), at(91))),
        (Some(ToldState::Unknown), Some(at(94)))
    );
}

#[test]
fn while_nobody_has_told_of_the_fleet_a_new_host_waits() {
    let (book, _) = book(found(&["eu"], false));
    assert_eq!(book.waits_until(&name(HOST), NOW), Some(NOW + FIRST_VERDICT));
    book.set_members(|| found(&["eu"], true), NOW);
    assert_eq!(book.waits_until(&name(HOST), NOW), None);
}

#[test]
fn what_was_stored_of_a_peer_is_kept_until_the_fleet_is_known() {
    let (book, _) = book(Members::Found([].into()));
    book.restore(stored("us"), NOW);
    assert_eq!(book.remember(), stored("us"));
    book.set_members(|| found(&["eu", "us"], true), NOW);
    assert_eq!(state(&book, "us"), Some(ToldState::Lost));

    book.restore(stored("za"), NOW);
    assert_eq!(book.remember(), stored("us"));
}

#[test]
fn a_peer_has_views_of_the_hosts_in_its_zones_only() {
    let zone = |apex: &str, tags: &[&str]| {
        (name(apex), Found { tags: tags.iter().map(|text| tag(text)).collect(), known: true })
    };
    let zones = [zone("cloud.example.com", &["eu"]), zone("other.example.com", &["eu", "us"])];
    let (book, _) = book(Members::Found(zones.into()));
    assert_eq!((book.tags(), state(&book, "us")), (vec![tag("us")], None));
    assert_eq!(book.waits_until(&name(HOST), NOW), None);
}
