//! A provider whose certificate is not checked: it works, and every ZoneDelegation says so.

use std::sync::Arc;

use gslb_provider_contract::ProviderError;
use gslb_provider_memory::{MemoryProvider, Operation};

use crate::world::Cluster;

const TOLD: &str = "memory holds what this cluster wants; the certificate of the provider is not checked, so this may come from anybody in between, who gets the account too; set INFOBLOX_CA_FILE and remove INFOBLOX_TLS_VERIFY";

fn unverified() -> Cluster {
    let mut cluster = Cluster::alone().with_provider();
    cluster.provider = Some(Arc::new(MemoryProvider::new().unverified()));
    cluster
}

#[tokio::test(start_paused = true)]
async fn a_provider_whose_certificate_is_not_checked_is_told_by_a_condition_and_an_event() {
    let cluster = unverified();
    let _running = cluster.run();
    assert_eq!(cluster.zone_tells("InSync", "True", "CertificateNotVerified").await, TOLD);
    let events = cluster.api.list("events.k8s.io/v1", "Event", "");
    let told = events.iter().any(|event| event["reason"] == "CertificateNotVerified");
    assert!(told, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_it_goes_before() {
    let cluster = unverified();
    let refused = ProviderError::Refused { text: "the account may not write".to_owned() };
    cluster.provider.as_ref().unwrap().fail_next(Operation::Apply, refused);
    let _running = cluster.run();
    assert_eq!(cluster.zone_tells("InSync", "False", "Refused").await, "the account may not write");
    cluster.zone_tells("InSync", "True", "CertificateNotVerified").await;
}
