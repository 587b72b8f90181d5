//! What is written, and what is not.

use std::time::Duration;

use gslb_core::delegation::Presence;
use gslb_mocks::hook::{Call, Fault, Habits};
use gslb_provider_contract::{Observe, Provider, ProviderError};

use crate::stage::{AtHook, EU, US, ZONE, approve, ours, published, scope, withdrawn};

fn note(at: &str) -> String {
    format!(
        "TXT {at} 0 \"heritage=external-dns,external-dns/owner=fleet,external-dns/resource=zonedelegation/cloud-example-com\""
    )
}

#[tokio::test]
async fn a_delegation_comes_with_its_claims_and_goes_with_all_of_it() {
    let stage = AtHook::new();
    stage.pass(&ours()).await.unwrap();
    let www = "A www.example.com 300 203.0.113.80".to_owned();
    let made = vec![
        format!("NS {ZONE} 30 {EU}"),
        format!("A {EU} 30 192.0.2.53"),
        www.clone(),
        note(&format!("x-a-{EU}")),
        note(&format!("x-ns-{ZONE}")),
    ];
    assert_eq!(stage.hook.sets(), made);
    stage.pass(&published("eu", &["192.0.2.53", "192.0.2.54"])).await.unwrap();
    assert_eq!(stage.hook.targets("A", EU).unwrap(), ["192.0.2.53", "192.0.2.54"]);
    stage.pass(&withdrawn()).await.unwrap();
    assert_eq!(stage.hook.sets(), [www]);
    assert_eq!(stage.hook.writes().len(), 3);
}

#[tokio::test]
async fn a_restart_writes_nothing() {
    let stage = AtHook::new();
    stage.pass(&ours()).await.unwrap();
    let found = stage.another().observe(&scope()).await.unwrap();
    assert_eq!(found, stage.observe().await.unwrap());
    assert_eq!(stage.planned(&ours()).await.changes, []);
    assert_eq!(stage.applies(), 1);
}

/// C064.
#[tokio::test]
async fn a_ttl_that_is_not_kept_is_written_once() {
    for habits in
        [Habits { no_ttl: true, ..Habits::default() }, Habits { least_ttl: Some(300), ..Habits::default() }]
    {
        let stage = AtHook::new();
        stage.hook.behave(habits);
        stage.pass(&ours()).await.unwrap();
        let plan = stage.planned(&ours()).await;
        assert_eq!(plan.changes, [], "{habits:?}");
        assert_eq!(plan.findings[0].reason(), "TtlDiffers", "{habits:?}");
        let again = stage.another().observe(&scope()).await.unwrap();
        assert_eq!(again, stage.observe().await.unwrap(), "{habits:?}");
    }
}

/// C062.
#[tokio::test]
async fn ns_records_that_the_webhook_would_drop_are_not_sent() {
    let stage = AtHook::new();
    stage.hook.behave(Habits { drops_ns: true, ..Habits::default() });
    let refused = stage.pass(&ours()).await.unwrap_err();
    assert!(matches!(refused, ProviderError::Refused { .. }), "{refused:?}");
    assert!(refused.to_string().contains("the webhook drops NS cloud.example.com"), "{refused}");
    assert_eq!(stage.applies(), 0);
}

#[tokio::test]
async fn a_change_that_is_taken_and_not_kept_is_sent_once_in_ten_minutes() {
    let stage = AtHook::new();
    stage.hook.behave(Habits { loses_ns: true, ..Habits::default() });
    let receipt = stage.pass(&ours()).await.unwrap();
    assert_eq!(receipt.read_back, None, "it may only be behind");
    // The glue was kept, so it is no more part of the change.
    for _ in 0..3 {
        let refused = stage.pass(&ours()).await.unwrap_err();
        assert!(refused.to_string().contains("lists nothing of it"), "{refused}");
    }
    assert_eq!(stage.applies(), 1);
    stage.advance(600);
    stage.pass(&ours()).await.unwrap();
    assert_eq!(stage.applies(), 2);
}

/// C046.
#[tokio::test]
async fn a_write_whose_reply_is_lost_is_settled_by_reading() {
    for fault in [Fault::LoseReply, Fault::FailAfterwards] {
        let stage = AtHook::new();
        stage.hook.fail(Call::Apply, fault.clone());
        let receipt = stage.pass(&ours()).await.unwrap();
        assert_eq!(receipt.read_back, Some(stage.observe().await.unwrap()), "{fault:?}");
        assert_eq!(stage.name_servers(), [EU]);
        assert_eq!(stage.applies(), 1);
    }
}

#[tokio::test]
async fn a_write_that_nobody_confirms_and_no_listing_shows_is_uncertain_and_not_sent_again() {
    let stage = AtHook::with(Duration::from_millis(200));
    stage.hook.fail(Call::Apply, Fault::Hang);
    let uncertain = stage.pass(&ours()).await.unwrap_err();
    assert!(matches!(uncertain, ProviderError::Uncertain { .. }), "{uncertain:?}");
    assert_eq!(stage.applies(), 1);
    assert_eq!(stage.provider.longest_aftermath(), Duration::from_millis(5200));
}

#[tokio::test]
async fn a_refusal_that_changed_nothing_is_told_as_what_it_is() {
    let cases = [
        (Fault::Status(500, "the backend is away".to_owned()), "ProviderUnavailable"),
        (Fault::Status(400, "no such zone".to_owned()), "Refused"),
        (Fault::Status(200, "done".to_owned()), "UnexpectedAnswer"),
        (Fault::Status(429, "slow down".to_owned()), "ProviderUnavailable"),
        // A gateway does not know, and some webhooks go on behind such an answer.
        (Fault::Status(504, "late".to_owned()), "OutcomeUnknown"),
        (Fault::Busy(7), "OutcomeUnknown"),
    ];
    for (fault, reason) in cases {
        let stage = AtHook::new();
        stage.hook.fail(Call::Apply, fault.clone());
        let error = stage.pass(&ours()).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{fault:?}: {error}");
        assert_eq!(stage.name_servers(), [""; 0]);
    }
}

#[tokio::test]
async fn nothing_is_written_while_nobody_listens() {
    let stage = AtHook::new();
    let change = stage.change(&ours()).await;
    let AtHook { hook, provider, server, .. } = stage;
    drop(server);
    let error = provider.apply(&change).await.unwrap_err();
    assert!(matches!(error, ProviderError::Unavailable { .. }), "{error:?}");
    assert_eq!(hook.writes().len(), 0);
}

#[tokio::test]
async fn what_another_cluster_wrote_after_the_plan_is_merged_by_a_new_one() {
    let stage = AtHook::new();
    stage.hook.put(&format!("NS {ZONE} 30 {US}"));
    let change = stage.change(&ours()).await;
    stage.hook.put(&format!("NS {ZONE} 30 {US} gslb-ns-za-cloud.example.com"));
    let stale = stage.provider.apply(&change).await.unwrap_err();
    assert!(matches!(stale, ProviderError::Stale { .. }), "{stale:?}");
    stage.pass(&ours()).await.unwrap();
    assert_eq!(stage.name_servers(), [US, "gslb-ns-za-cloud.example.com", EU]);
}

#[tokio::test]
async fn what_another_cluster_writes_between_listing_and_write_is_not_overwritten_by_a_strict_webhook() {
    let stage = AtHook::new();
    stage.hook.put(&format!("NS {ZONE} 30 {US}"));
    let change = stage.change(&ours()).await;
    stage.hook.put_after_listing(&format!("NS {ZONE} 30 {US} gslb-ns-za-cloud.example.com"));
    let error = stage.provider.apply(&change).await.unwrap_err();
    assert!(matches!(error, ProviderError::Uncertain { .. }), "{error:?}");
    assert_eq!(stage.name_servers(), [US, "gslb-ns-za-cloud.example.com"]);
}

#[tokio::test]
async fn a_delegation_of_another_owner_is_left_alone() {
    let stage = AtHook::new();
    stage.hook.put(&format!("NS {ZONE} 30 {US}"));
    stage.hook.put(&format!("TXT x-ns-{ZONE} 0 \"heritage=external-dns,external-dns/owner=other\""));
    let plan = stage.planned(&ours()).await;
    assert_eq!((plan.changes, plan.skipped[0].reason()), (vec![], "ForeignClaim"));
    // An owner that counts as ours.
    stage.hook.put(&format!("TXT x-ns-{ZONE} 0 \"heritage=external-dns,external-dns/owner=old\""));
    stage.pass(&ours()).await.unwrap();
    assert_eq!(stage.name_servers(), [US, EU]);
}

#[tokio::test]
async fn name_servers_of_nobody_known_are_joined_once_a_text_record_says_so() {
    let stage = AtHook::new();
    stage.hook.put(&format!("NS {ZONE} 30 ns1.isp.example"));
    let plan = stage.planned(&ours()).await;
    let told = plan.skipped[0].to_string();
    assert!(told.contains("no TXT record says whose they are"), "{told}");
    stage.hook.put(&note(&format!("x-ns-{ZONE}")));
    stage.pass(&ours()).await.unwrap();
    assert_eq!(stage.name_servers(), ["ns1.isp.example", EU]);
}

#[tokio::test]
async fn what_a_delegation_would_hide_is_found_and_one_that_came_meanwhile_is_no_hidden_record() {
    let stage = AtHook::new();
    stage.hook.put("A www.cloud.example.com 30 192.0.2.80");
    stage.hook.put("TXT cloud.example.com 30 \"x\"");
    let beneath = stage.provider.beneath(&scope()).await.unwrap();
    assert_eq!(beneath.to_string(), "2 objects (A www.cloud.example.com, TXT cloud.example.com)");
    stage.hook.put(&format!("NS {ZONE} 30 {US}"));
    let stale = stage.provider.beneath(&scope()).await.unwrap_err();
    assert!(matches!(stale, ProviderError::Stale { .. }), "{stale:?}");
}

#[tokio::test]
async fn visits_at_once_share_a_listing_that_began_after_they_asked() {
    let stage = AtHook::new();
    let many = (0..20).map(|_| stage.observe());
    let found = futures::future::join_all(many).await;
    assert!(found.into_iter().all(|found| found.unwrap() == Presence::Absent));
    let lists = stage.hook.requests().into_iter().filter(|call| *call == Call::Records).count();
    assert!(lists <= 3, "{lists} listings for 20 visits at once");
    let change = approve(stage.planned(&ours()).await, &ours());
    stage.provider.apply(&change).await.unwrap();
}
