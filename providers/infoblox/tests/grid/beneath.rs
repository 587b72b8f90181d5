//! What a new delegation would hide is found before it is made.

use std::collections::BTreeSet;

use gslb_core::beneath::Beneath;
use gslb_mocks::wapi::Fault;
use gslb_provider_contract::battery::Stage;
use gslb_provider_contract::{Observe, ProviderError};
use serde_json::{Value, json};

use crate::stage::{OnGrid, US, Wanted, builder, scope};

impl OnGrid {
    fn add(&self, kind: &str, fields: Value) {
        self.grid.edit(|admin| admin.create(kind, fields)).unwrap();
    }

    fn add_address(&self, name: &str, address: &str) {
        self.add("record:a", json!({"name": name, "ipv4addr": address}));
    }

    async fn beneath(&self) -> Result<Beneath, ProviderError> {
        self.provider.beneath(&scope()).await
    }

    /// Requests since a mark, as method and path.
    fn asked_since(&self, mark: u64) -> Vec<String> {
        let path = |uri: &str| uri.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        let entries = self.grid.journal().since(mark).into_iter();
        entries.map(|entry| format!("{} {}", entry.method, path(&entry.uri))).collect()
    }
}

fn found(objects: &[&str]) -> Beneath {
    Beneath::new(objects.iter().map(|object| (*object).to_owned()).collect(), false)
}

#[tokio::test]
async fn a_name_with_nothing_beneath_costs_one_request_that_is_no_write() {
    let on = OnGrid::new();
    on.observe().await.unwrap();
    on.add_address("cloud-example.com.example.com", "192.0.2.1");
    on.add_address("xcloud.example.com", "192.0.2.1");
    let mark = on.grid.journal().mark();
    assert_eq!(on.beneath().await.unwrap(), Beneath::default());
    assert_eq!(on.asked_since(mark), ["POST request"]);
    assert_eq!(on.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_zone_that_another_cluster_delegated_meanwhile_is_observed_again_and_hides_nothing() {
    let on = OnGrid::new();
    let servers = json!([{"name": US, "address": "198.51.100.53"}]);
    on.add("zone_delegated", json!({"fqdn": "cloud.example.com", "delegate_to": servers}));
    let outcome = on.beneath().await;
    assert!(matches!(outcome, Err(ProviderError::Stale { .. })), "{outcome:?}");
}

#[tokio::test]
async fn records_and_zones_of_every_kind_at_and_beneath_the_name_are_found_in_its_view_only() {
    let on = OnGrid::with(builder().view("internal").zone_auth("example.com", "internal"), Wanted::default());
    on.add_address("cloud.example.com", "192.0.2.1");
    on.add_address("*.apps.cloud.example.com", "192.0.2.1");
    on.add("record:aaaa", json!({"name": "six.cloud.example.com", "ipv6addr": "2001:db8::1"}));
    on.add("record:cname", json!({"name": "alias.cloud.example.com", "canonical": "www.example.com"}));
    on.add("record:txt", json!({"name": "_acme.cloud.example.com", "text": "token"}));
    on.add("record:host", json!({"name": "app.cloud.example.com", "ipv4addrs": [{"ipv4addr": "192.0.2.2"}]}));
    on.add("record:a", json!({"name": "in.cloud.example.com", "ipv4addr": "192.0.2.3", "view": "internal"}));
    on.add(
        "zone_delegated",
        json!({"fqdn": "eu.cloud.example.com",
        "delegate_to": [{"name": US, "address": "198.51.100.53"}]}),
    );
    let expected = [
        "record:a *.apps.cloud.example.com",
        "record:a cloud.example.com",
        "record:aaaa six.cloud.example.com",
        "record:cname alias.cloud.example.com",
        "record:host app.cloud.example.com",
        "record:txt _acme.cloud.example.com",
        "zone_delegated eu.cloud.example.com",
    ];
    assert_eq!(on.beneath().await.unwrap(), found(&expected));
}

#[tokio::test]
async fn aliases_of_hosts_and_rarer_kinds_are_found_too() {
    for fault in [None, Some(Fault::Refuse("no batch today").on_path("/request"))] {
        let on = OnGrid::new();
        let aliases = json!(["www.cloud.example.com", "Cloud.example.com", "www.example.com"]);
        let address = json!([{"ipv4addr": "192.0.2.2"}]);
        on.add("record:host", json!({"name": "app7.example.com", "ipv4addrs": address, "aliases": aliases}));
        for kind in ["record:alias", "record:https", "record:svcb"] {
            on.add(kind, json!({"name": "app.cloud.example.com"}));
        }
        let named = [
            ("shop", "app.cloud.example.com"),
            ("all", "*.eu.cloud.example.com"),
            ("x.cloud.example.com", "x.example.com"),
        ];
        for (name, pattern) in named {
            on.add("record:dtclbdn", json!({"name": name, "pattern": pattern}));
        }
        fault.into_iter().for_each(|fault| on.grid.faults().inject(fault));
        let expected = [
            "alias of record:host Cloud.example.com",
            "alias of record:host www.cloud.example.com",
            "record:alias app.cloud.example.com",
            "record:dtclbdn *.eu.cloud.example.com",
            "record:dtclbdn app.cloud.example.com",
            "record:https app.cloud.example.com",
            "record:svcb app.cloud.example.com",
        ];
        assert_eq!(on.beneath().await.unwrap(), found(&expected));
    }
}

#[tokio::test]
async fn more_than_a_batch_may_bring_is_read_page_by_page() {
    let on = OnGrid::new();
    let names: BTreeSet<_> = (0..1_200).map(|number| format!("r{number:04}.cloud.example.com")).collect();
    names.iter().for_each(|name| on.add_address(name, "192.0.2.1"));
    let objects = names.iter().map(|name| format!("record:a {name}")).collect();
    assert_eq!(on.beneath().await.unwrap(), Beneath::new(objects, false));
    let pages = on.grid.journal().count(|entry| entry.uri.contains("record:a?_page_id="));
    assert_eq!(pages, 2);
}

/// Hosts cannot be searched for by alias, so all of the zones around are read.
#[tokio::test]
async fn aliases_are_found_among_more_than_a_page_of_hosts_with_many_of_them() {
    let on = OnGrid::new();
    let address = json!([{"ipv4addr": "192.0.2.2"}, {"ipv4addr": "192.0.2.3"}]);
    for number in 0..1_100 {
        let mut aliases: Vec<_> = (0..40).map(|alias| format!("a{alias}.h{number}.example.com")).collect();
        if number == 1_099 {
            aliases.push("www.cloud.example.com".to_owned());
        }
        let name = format!("h{number}.example.com");
        on.add("record:host", json!({"name": name, "ipv4addrs": address, "aliases": aliases}));
    }
    assert_eq!(on.beneath().await.unwrap(), found(&["alias of record:host www.cloud.example.com"]));
}

#[tokio::test]
async fn what_could_not_be_read_is_never_nothing() {
    let may_not = "Read permission for the zone 'example.com' is required for this operation.";
    let on = OnGrid::new();
    on.grid.faults().inject(Fault::Refuse(may_not).on_path("/request"));
    on.grid.faults().inject(Fault::Refuse(may_not).on_path("/record:host?"));
    assert_eq!(
        on.beneath().await.unwrap_err().to_string(),
        "cloud.example.com is not delegated, because what that would hide cannot be read (record:host): Infoblox at 127.0.0.1 says: Read permission for the zone 'example.com' is required for this operation; let the account read the parent zone"
    );
    on.heal().await;
    on.grid.faults().inject(Fault::Unavailable.on_path("/request"));
    assert_eq!(on.beneath().await.unwrap_err().reason(), "ProviderUnavailable");
    on.heal().await;
    on.hide_parent().await;
    on.advance(600);
    assert_eq!(on.beneath().await.unwrap_err().reason(), "Misconfigured");
}

/// [inferred]: a version that lacks one kind of record refuses the whole batch.
#[tokio::test]
async fn inferred_a_kind_that_the_version_does_not_know_holds_nothing_and_hides_no_other() {
    let on = OnGrid::new();
    on.add_address("www.cloud.example.com", "192.0.2.1");
    let unknown = "Unknown object type (record:caa)";
    on.grid.faults().inject(Fault::Refuse(unknown).on_path("/request"));
    on.grid.faults().inject(Fault::Refuse(unknown).on_path("/record:caa?"));
    assert_eq!(on.beneath().await.unwrap(), found(&["record:a www.cloud.example.com"]));
}

/// [inferred]: an old version may not have the field.
#[tokio::test]
async fn inferred_where_patterns_cannot_be_searched_for_load_balanced_names_are_found_by_their_own() {
    for refusal in ["Unknown argument/field: 'pattern'", "Field is not searchable: pattern"] {
        let on = OnGrid::new();
        on.add("record:dtclbdn", json!({"name": "app.cloud.example.com", "pattern": "app.example.com"}));
        on.grid.faults().inject(Fault::Refuse(refusal).on_path("/request"));
        on.grid.faults().inject(Fault::Refuse(refusal).on_path("/record:dtclbdn?pattern"));
        assert_eq!(on.beneath().await.unwrap(), found(&["record:dtclbdn app.cloud.example.com"]));
    }
}
