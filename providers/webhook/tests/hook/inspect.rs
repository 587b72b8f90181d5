//! What a look tells people. Nothing is written for it.

use gslb_mocks::hook::{Call, Fault, Habits};
use gslb_provider_contract::{Delegated, Inspected, Observe, Severity};
use serde_json::json;

use crate::stage::{AtHook, EU, US, ZONE, claimant, ours};

async fn told(stage: &AtHook) -> Vec<(String, Severity, String)> {
    let delegated = Delegated { claimant: claimant("eu"), adopts: None };
    let what = Inspected { delegations: vec![delegated], records: vec![] };
    let url = stage.server.url();
    let findings = stage.provider.inspect(&what).await;
    assert_eq!(stage.hook.writes().len(), stage.applies());
    let word = |text: String| text.replace(&url, "URL");
    findings.into_iter().map(|f| (f.check.to_owned(), f.severity, word(f.found))).collect()
}

fn of(check: &str, severity: Severity, found: &str) -> (String, Severity, String) {
    (check.to_owned(), severity, found.to_owned())
}

#[tokio::test]
async fn a_webhook_that_is_as_it_should_be_is_fine_before_and_after_the_delegation() {
    let stage = AtHook::new();
    let speaks = "URL answers and speaks application/external.dns.webhook+json;version=1";
    let before = [
        of("webhook", Severity::Ok, speaks),
        of("records", Severity::Ok, "1 sets of records are listed"),
        of("domains", Severity::Ok, "the webhook takes its names; its domains are {}"),
        of("delegation", Severity::Ok, "it is not delegated yet"),
        of("hidden-records", Severity::Ok, "nothing that the webhook lists stands at or beneath the name"),
        of("record-types", Severity::Ok, "the webhook says that it keeps NS and A records"),
    ];
    assert_eq!(told(&stage).await, before);
    stage.pass(&ours()).await.unwrap();
    let after = told(&stage).await;
    let delegation =
        of("delegation", Severity::Ok, &format!("it has name servers {EU}; this cluster is among them"));
    let owner = of("owner", Severity::Ok, "its TXT record names fleet or an owner that counts as ours");
    assert_eq!((&after[3], &after[4]), (&delegation, &owner));
}

#[tokio::test]
async fn what_does_not_work_or_will_not_is_an_error_with_what_to_change() {
    let stage = AtHook::new();
    stage.hook.put("A www.cloud.example.com 30 192.0.2.80");
    stage.hook.take_only(json!({"include": [ZONE]}));
    stage.hook.behave(Habits { drops_ns: true, ..Habits::default() });
    let found = told(&stage).await;
    let errors: Vec<_> = found.into_iter().filter(|(_, severity, _)| *severity == Severity::Error).collect();
    assert_eq!(
        errors,
        [
            of(
                "domains",
                Severity::Error,
                &format!(
                    "the webhook does not take {EU}, x-ns-{ZONE}, x-a-{EU}: its domains are {{\"include\":[\"{ZONE}\"]}}"
                )
            ),
            of(
                "hidden-records",
                Severity::Error,
                "1 object (A www.cloud.example.com) would disappear from DNS, so the zone is not delegated"
            ),
            of(
                "record-types",
                Severity::Error,
                "the webhook drops NS records when it is asked what it would keep"
            ),
        ]
    );
}

#[tokio::test]
async fn whose_the_name_servers_are_is_told() {
    let stage = AtHook::new();
    stage.hook.put(&format!("NS {ZONE} 30 {US}"));
    let owner = |found: Vec<(String, Severity, String)>| {
        found.into_iter().find(|(check, ..)| check == "owner").map(|(_, severity, found)| (severity, found))
    };
    let (severity, found) = owner(told(&stage).await).unwrap();
    assert_eq!(severity, Severity::Warning);
    assert!(found.contains("have no TXT record"), "{found}");
    stage.hook.put(&format!("TXT x-ns-{ZONE} 0 \"heritage=external-dns,external-dns/owner=other\""));
    let (severity, found) = owner(told(&stage).await).unwrap();
    assert_eq!(severity, Severity::Error);
    assert!(found.contains("names the owner other, and ours is fleet"), "{found}");
}

#[tokio::test]
async fn a_webhook_that_cannot_be_asked_is_one_finding() {
    let stage = AtHook::new();
    stage.hook.fail(Call::Negotiate, Fault::Html);
    let found = told(&stage).await;
    assert_eq!((found.len(), found[0].1), (1, Severity::Error));
    stage.hook.heal();
    stage.hook.fail(Call::Records, Fault::Half);
    let found = told(&stage).await;
    assert_eq!((found.len(), found[1].0.as_str(), found[1].1), (2, "records", Severity::Error));
}
