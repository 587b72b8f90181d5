//! What external-dns asks for arrives at the grid, and nothing else changes there.

use axum::body::Body;
use gslb_mocks::wapi::Fault;
use gslb_provider_webhook::protocol::{Changes, Endpoint};
use serde_json::json;
use std::time::Duration;

use crate::world::{Stage, builder, create, delete, endpoint, update};

fn all() -> Vec<Endpoint> {
    let heritage =
        "\"heritage=external-dns,external-dns/owner=eu,external-dns/resource=ingress/default/app\"";
    vec![
        endpoint("a-www", "TXT", 0, &[heritage]),
        endpoint("alias", "CNAME", 300, &["lb.example.net"]),
        endpoint("glb", "NS", 30, &["ns-eu.example.com"]),
        endpoint("ns-eu", "A", 0, &["192.0.2.53"]),
        endpoint("www", "A", 30, &["192.0.2.1", "192.0.2.2"]),
        endpoint("www", "AAAA", 30, &["2001:db8::1"]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_is_listed_and_asking_again_writes_nothing() {
    let stage = Stage::new();
    let answer = stage.apply(&create(&all())).await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    assert_eq!(stage.list().await, all());
    let (writes, entries) = (stage.writes(), stage.log().len());
    assert_eq!(stage.apply(&create(&all())).await.status, 204);
    assert_eq!(stage.apply(&Changes::default()).await.status, 204);
    assert_eq!((stage.writes(), stage.log().len()), (writes, entries));
    let (old, new) =
        (endpoint("www", "A", 30, &["192.0.2.1", "192.0.2.2"]), endpoint("www", "A", 60, &["192.0.2.3"]));
    assert_eq!(stage.apply(&update(old, new)).await.status, 204);
    assert!(stage.shown().await.contains(&"A www.example.com 60 192.0.2.3".to_owned()));
    let standing = stage.list().await;
    assert_eq!(stage.apply(&delete(&standing)).await.status, 204);
    assert_eq!(stage.list().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delegation_follows_the_address_of_its_name_server() {
    let stage = Stage::new();
    stage.apply(&create(&all())).await;
    stage.list().await;
    let server = |address: &str| endpoint("ns-eu", "A", 0, &[address]);
    assert_eq!(stage.apply(&update(server("192.0.2.53"), server("192.0.2.54"))).await.status, 204);
    let zone = stage.grid.delegation("glb.example.com", "default").unwrap();
    assert_eq!(zone.delegate_to[0].address, "192.0.2.54");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delegation_to_a_name_server_beneath_itself_is_made_and_follows_its_address() {
    let stage = Stage::new();
    let ask = |address: &str| {
        create(&[
            endpoint("team", "NS", 30, &["ns1.team.example.com"]),
            endpoint("ns1.team", "A", 0, &[address]),
        ])
    };
    assert_eq!(stage.apply(&ask("192.0.2.53")).await.status, 204);
    assert_eq!(stage.shown().await, ["NS team.example.com 30 ns1.team.example.com"]);
    assert_eq!(stage.apply(&ask("192.0.2.54")).await.status, 204);
    let zone = stage.grid.delegation("team.example.com", "default").unwrap();
    assert_eq!(zone.delegate_to[0].address, "192.0.2.54");
    let writes = stage.writes();
    assert_eq!(stage.apply(&ask("192.0.2.54")).await.status, 204);
    assert_eq!(stage.writes(), writes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_set_stops_no_other_and_is_told_with_a_status_that_external_dns_survives() {
    let stage = Stage::new();
    let manual = json!({"name": "old.example.com", "view": "default", "ipv4addr": "192.0.2.9"});
    stage.grid.edit(|admin| admin.create("record:a", manual)).unwrap();
    let outside = Endpoint { dns_name: "www.example.org".into(), ..endpoint("x", "A", 0, &["192.0.2.1"]) };
    let changes = Changes {
        create: vec![outside, endpoint("mail", "MX", 0, &["10 mx"]), endpoint("www", "A", 0, &["192.0.2.1"])],
        delete: vec![endpoint("old", "A", 0, &["192.0.2.9"])],
        ..Changes::default()
    };
    let answer = stage.apply(&changes).await;
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.body.lines().collect::<Vec<_>>(),
        [
            "A old.example.com is refused: 192.0.2.9 stands there, which does not belong to webhook/eu; delete it by hand, or leave the name out",
            "A www.example.org is refused: it is in none of the domains example.com (WEBHOOK_DOMAINS)",
            r#"MX mail.example.com is refused: "MX" is none of the types A, AAAA, CNAME, NS and TXT"#,
        ]
    );
    assert_eq!(stage.shown().await, ["A old.example.com 0 192.0.2.9", "A www.example.com 0 192.0.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_moved_meanwhile_is_left_and_the_rest_goes_on() {
    let stage = Stage::new();
    let both = [endpoint("one", "A", 0, &["192.0.2.1"]), endpoint("two", "A", 0, &["192.0.2.2"])];
    stage.apply(&create(&both)).await;
    stage.grid.edit(|admin| {
        let found = admin.find("record:a", &[("name", "one.example.com")]).unwrap().remove(0);
        admin.update(found["_ref"].as_str().unwrap(), json!({"ipv4addr": "192.0.2.99"})).unwrap();
    });
    let answer = stage.apply(&delete(&both)).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (
            500,
            "A one.example.com is refused: 192.0.2.99 stands there, which is not what the change was made for; it follows from the next listing"
        )
    );
    assert_eq!(stage.shown().await, ["A one.example.com 0 192.0.2.99"]);
}

/// C066.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_listing_after_a_full_one_is_not_told() {
    let stage = Stage::new();
    stage.apply(&create(&all())).await;
    assert_eq!(stage.list().await.len(), 6);
    stage.grid.edit(|admin| {
        for kind in ["record:a", "record:aaaa", "record:cname", "record:txt", "zone_delegated"] {
            for found in admin.find(kind, &[]).unwrap() {
                admin.delete(found["_ref"].as_str().unwrap()).unwrap();
            }
        }
    });
    let answer = stage.send("GET", "/records", Body::empty()).await;
    assert_eq!(answer.status, 503);
    assert!(
        answer.body.starts_with("6 of the 6 sets of records that were listed before are missing"),
        "{}",
        answer.body
    );
    stage.advance(600);
    assert_eq!(stage.list().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_is_an_error_and_never_an_empty_list() {
    let stage = Stage::new();
    stage.apply(&create(&all())).await;
    for fault in [Fault::Unavailable, Fault::LoginPage, Fault::Forbidden, Fault::Refuse("no")] {
        stage.grid.faults().inject(fault);
        let answer = stage.send("GET", "/records", Body::empty()).await;
        assert!((500..511).contains(&answer.status), "{fault:?} {answer:?}");
        let answer = stage.apply(&delete(&all())).await;
        assert!((500..511).contains(&answer.status), "{fault:?} {answer:?}");
        stage.grid.faults().clear();
        // Past every pause that the client makes for itself.
        stage.advance(3_600);
    }
    assert_eq!(stage.list().await, all());
    assert_eq!(stage.log().len(), 6);
}

/// C066.
#[tokio::test(flavor = "multi_thread")]
async fn one_request_does_not_take_most_of_what_is_ours_away() {
    let stage = Stage::new();
    let many: Vec<_> =
        (10..30).map(|number| endpoint(&format!("h{number}"), "A", 0, &["192.0.2.1"])).collect();
    stage.apply(&create(&many)).await;
    let listed = stage.list().await;
    let answer = stage.apply(&delete(&listed)).await;
    assert_eq!(answer.status, 500);
    assert!(
        answer.body.starts_with("A h10.example.com is refused: the request deletes 20 of 20 sets"),
        "{}",
        answer.body
    );
    assert_eq!(stage.list().await.len(), 20);
    assert_eq!(stage.apply(&delete(&listed[..10])).await.status, 204);
    assert_eq!(stage.list().await.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_done_at_the_deadline_is_told_and_done_by_the_next_rounds() {
    let stage = Stage::with(builder(), &[("WEBHOOK_DEADLINE_SECONDS", "1")]);
    assert_eq!(stage.list().await, []);
    let many: Vec<_> =
        (10..70).map(|number| endpoint(&format!("h{number}"), "A", 0, &["192.0.2.1"])).collect();
    stage.grid.faults().inject(Fault::Slow(Duration::from_millis(100)));
    let mut answers = vec![];
    while answers.last() != Some(&204) {
        let answer = stage.apply(&create(&many)).await;
        answers.push(answer.status);
        assert!(answer.status == 204 || answer.body.contains("left for the next round"), "{answer:?}");
        assert!(answers.len() < 20, "{answers:?}");
    }
    assert_eq!(answers[0], 503);
    stage.grid.faults().clear();
    assert_eq!(stage.list().await.len(), 60);
    assert!(stage.grid.journal().most_at_once() <= 4);
    assert_eq!(stage.log().len(), 60, "nothing was made twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_grid_refuses_is_tried_once_in_ten_minutes_and_told_alike_in_every_round() {
    let stage = Stage::new();
    let servers = json!({"fqdn": "team.example.com", "view": "default",
        "delegate_to": [{"name": "ns.team.example.net", "address": "192.0.2.53"}]});
    stage.grid.edit(|admin| admin.create("zone_delegated", servers)).unwrap();
    let beneath: Vec<_> =
        (10..22).map(|number| endpoint(&format!("h{number}.team"), "A", 0, &["192.0.2.1"])).collect();
    let first = stage.apply(&create(&beneath)).await;
    assert_eq!((first.status, first.body.lines().count()), (500, 12), "{first:?}");
    let told = "A h10.team.example.com is refused: it lies beneath team.example.com, which is delegated, so the grid has no records there; have it made where team.example.com is served, or leave it out";
    assert_eq!(first.body.lines().next(), Some(told));
    let entries = stage.log().len();
    assert_eq!(entries, 12);
    for _ in 0..3 {
        assert_eq!(stage.apply(&create(&beneath)).await, first);
    }
    assert_eq!(stage.log().len(), entries);
    stage.advance(600);
    assert_eq!(stage.apply(&create(&beneath)).await, first);
    assert_eq!(stage.log().len(), 2 * entries);
}

/// The whole of the read is over before the deadline, and the first write is not.
#[tokio::test(flavor = "multi_thread")]
async fn an_alias_does_not_go_without_what_takes_its_place() {
    let stage = Stage::with(builder(), &[("WEBHOOK_DEADLINE_SECONDS", "1")]);
    let (alias, address) =
        (endpoint("www", "CNAME", 0, &["lb.example.net"]), endpoint("www", "A", 0, &["192.0.2.1"]));
    assert_eq!(stage.apply(&create(std::slice::from_ref(&alias))).await.status, 204);
    let swap = Changes { create: vec![address], delete: vec![alias], ..Changes::default() };
    stage.grid.faults().inject(Fault::Slow(Duration::from_millis(400)));
    stage.apply(&swap).await;
    stage.grid.faults().clear();
    assert_eq!(stage.shown().await, ["A www.example.com 0 192.0.2.1"]);
}

/// Before the first of many changes everything may have to be read, and that may take longer than a request has.
#[tokio::test(flavor = "multi_thread")]
async fn every_round_gets_further_however_slow_the_grid_is() {
    let stage = Stage::with(builder(), &[("WEBHOOK_DEADLINE_SECONDS", "1")]);
    let many: Vec<_> =
        (10..50).map(|number| endpoint(&format!("h{number}"), "A", 0, &["192.0.2.1"])).collect();
    stage.grid.faults().inject(Fault::Slow(Duration::from_millis(500)));
    let made = || stage.grid.edit(|admin| admin.find("record:a", &[])).unwrap().len();
    // Four names at once, so that five come of two rounds at least.
    for _ in 0..20 {
        if made() > 4 {
            return;
        }
        assert_eq!(stage.apply(&create(&many)).await.status, 503);
    }
    panic!("{} sets after 20 rounds", made());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_names_are_read_all_together() {
    let stage = Stage::new();
    assert_eq!(stage.list().await, []);
    let many: Vec<_> =
        (100..300).map(|number| endpoint(&format!("h{number}"), "A", 0, &["192.0.2.1"])).collect();
    let mark = stage.grid.journal().mark();
    assert_eq!(stage.apply(&create(&many)).await.status, 204);
    let calls = stage.grid.journal().since(mark).len();
    // For each set a look and a write.
    assert!((400..420).contains(&calls), "{calls}");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_another_webhook_are_taken_over_only_where_that_is_asked_for() {
    let adopting = [("WEBHOOK_ADOPT_OWNERS", "old-owner"), ("WEBHOOK_ADOPT_TXT_PREFIX", "x-")];
    for (settings, status) in [(&[][..], 500), (&adopting[..], 204)] {
        let stage = Stage::with(builder(), settings);
        let heritage = "\"heritage=external-dns,external-dns/owner=old-owner\"";
        stage.grid.edit(|admin| {
            let address = json!({"name": "www.example.com", "view": "default", "ipv4addr": "192.0.2.1"});
            admin.create("record:a", address).unwrap();
            admin
                .create(
                    "record:txt",
                    json!({"name": "x-a-www.example.com", "view": "default", "text": heritage}),
                )
                .unwrap();
        });
        let gone = [endpoint("www", "A", 0, &["192.0.2.1"]), endpoint("x-a-www", "TXT", 0, &[heritage])];
        assert_eq!(stage.apply(&delete(&gone)).await.status, status);
        assert_eq!(
            stage.grid.edit(|admin| admin.find("record:a", &[])).unwrap().len(),
            usize::from(status == 500)
        );
    }
}
