//! Records of hosts: what is sent, and what survives.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gslb_core::name::GeoTag;
use gslb_core::records::{
    ApprovedRecordChange, Challenges, DesiredHost, Evidence, HostObstacle, HostRecord, HostWish,
    ObservedHost, RecordClaim, RecordLimits, plan,
};
use gslb_core::ttl::Ttl;
use gslb_mocks::wapi::Fault;
use gslb_provider_contract::record_battery::{RecordStage, host, scope};
use gslb_provider_contract::{Disposition, Observe, Provider, ProviderError, record_contract_tests};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::stage::{OnGrid, Wanted, builder};

const CLAIM: &str = "GslbBridgeClaim";
const CHALLENGE: &str = "GslbBridgeChallenge";

/// A grid whose records have claims in attributes, or in comments where it does not define these.
struct Records {
    on: OnGrid,
    attributes: bool,
}

impl Records {
    fn new(attributes: bool) -> Self {
        let builder = match attributes {
            true => builder().attribute(CLAIM).attribute(CHALLENGE),
            false => builder(),
        };
        Self { on: OnGrid::with(builder, Wanted::default()), attributes }
    }

    /// A record as a daemon or an operator would have made it.
    fn body(&self, record: &HostRecord) -> (&'static str, Value) {
        let (kind, field) = match record.address.is_ipv4() {
            true => ("record:a", "ipv4addr"),
            false => ("record:aaaa", "ipv6addr"),
        };
        let mut body =
            json!({"name": host(), "view": "default", field: record.address, "disable": record.disabled});
        if let Some(ttl) = record.ttl {
            body["ttl"] = ttl.as_secs().into();
            body["use_ttl"] = true.into();
        }
        let asked = record.challenge.as_ref().map(ToString::to_string);
        if let Some(claim) = &record.claim {
            if self.attributes {
                body["extattrs"] = json!({CLAIM: {"value": claim}});
                if let Some(asked) = asked {
                    body["extattrs"][CHALLENGE] = json!({"value": asked});
                }
            } else {
                let asked = asked.map(|asked| format!(", challenged by {asked}")).unwrap_or_default();
                body["comment"] = format!("gslb-bridge: {claim}{asked}").into();
            }
        }
        (kind, body)
    }
}

#[async_trait]
impl RecordStage for Records {
    fn provider(&self) -> &dyn Provider {
        &self.on.provider
    }

    async fn other_writers(&self, wanted: ObservedHost) {
        let there = self.on.provider.records(&scope()).await.unwrap().remove(&host()).unwrap_or_default();
        let kept = |record: &HostRecord| wanted.records.values().any(|wanted| wanted == record);
        let gone: Vec<HostRecord> = there.records.into_values().filter(|record| !kept(record)).collect();
        let gone: BTreeSet<_> = gone.iter().map(|record| record.address).collect();
        self.on.grid.edit(|admin| {
            for kind in ["record:a", "record:aaaa", "record:cname", "record:host"] {
                for object in admin.find(kind, &[("name", host().as_str())]).unwrap() {
                    let address = object["ipv4addr"].as_str().or(object["ipv6addr"].as_str());
                    if address.is_none_or(|address| gone.contains(&address.parse().unwrap())) {
                        admin.delete(object["_ref"].as_str().unwrap()).unwrap();
                    }
                }
            }
        });
        let there = self.on.provider.records(&scope()).await.unwrap().remove(&host()).unwrap_or_default();
        self.on.grid.edit(|admin| {
            for record in
                wanted.records.values().filter(|record| !there.records.contains_key(&record.address))
            {
                let (kind, body) = self.body(record);
                admin.create(kind, body).unwrap();
            }
            for obstacle in &wanted.obstacles {
                match obstacle {
                    HostObstacle::Cname { target } => {
                        admin.create("record:cname", json!({"name": host(), "canonical": target})).unwrap();
                    }
                    HostObstacle::HostRecord => {
                        let addresses = json!([{"ipv4addr": "192.0.2.20"}]);
                        admin.create("record:host", json!({"name": host(), "ipv4addrs": addresses})).unwrap();
                    }
                }
            }
        });
    }

    async fn break_reads(&self) {
        self.on.grid.faults().inject(Fault::Unavailable.on_method("POST"));
    }

    async fn heal(&self) {
        self.on.grid.faults().clear();
    }

    async fn hide_zone(&self) {
        self.on.grid.edit(|admin| {
            let reference = admin.zone_reference("example.com", "default").unwrap();
            admin.delete(&reference).unwrap();
        });
    }

    async fn finish(&self) {
        gslb_provider_contract::battery::Stage::finish(&self.on).await;
    }
}

record_contract_tests!(with_attributes, Records::new(true));
record_contract_tests!(with_comments, Records::new(false));

/// The changes that eu wants with this address at the host of the battery; without one: when its Gslb is gone.
async fn changes(on: &OnGrid, address: Option<&str>) -> Vec<ApprovedRecordChange> {
    let observed = on.provider.records(&scope()).await.unwrap().remove(&host()).unwrap_or_default();
    let eu = GeoTag::parse("eu").unwrap();
    let wish = match address {
        Some(address) => HostWish::Answered {
            sites: [eu.clone()].into(),
            own: [address.parse().unwrap()].into(),
            ttl: Ttl::DEFAULT,
        },
        None => HostWish::Withdrawn,
    };
    let claim = RecordClaim { fleet: scope().zone, tag: eu };
    let desired = DesiredHost { host: host(), claim, wish };
    let interval = SignedDuration::from_secs(30);
    let evidence = Evidence { able: true, isolated: false, peers: [].into(), interval };
    let (challenges, now) = (Challenges::default(), Timestamp::UNIX_EPOCH);
    let plan = plan(&desired, &observed, &evidence, &challenges, now);
    let limits = RecordLimits {
        desired: &desired,
        observed: &observed,
        evidence: &evidence,
        challenges: &challenges,
        now,
    };
    plan.approve(&limits).unwrap().changes().to_vec()
}

/// Attributes, comment and switches that others set at our record stay.
#[tokio::test]
async fn what_others_put_into_our_record_survives_an_edit() {
    let on =
        OnGrid::with(builder().attribute(CLAIM).attribute(CHALLENGE).attribute("Site"), Wanted::default());
    on.grid.edit(|admin| {
        let attributes = json!({CLAIM: {"value": "cloud.example.com/eu"}, "Site": {"value": "Berlin"},
            CHALLENGE: {"value": "us 2026-01-02T03:04:05Z"}});
        let body =
            json!({"name": host(), "ipv4addr": "192.0.2.80", "comment": "ticket 7", "extattrs": attributes});
        admin.create("record:a", body).unwrap();
    });
    let change = changes(&on, Some("192.0.2.80")).await;
    on.provider.apply_record(&change[0]).await.unwrap();
    assert_eq!(on.body("PUT"), json!({"ttl": 30, "use_ttl": true, "extattrs-": {CHALLENGE: {}}}));
    let search = [("name", host().to_string()), ("_return_fields", "ttl,comment,extattrs".to_owned())];
    let search = search.iter().map(|(key, value)| (*key, value.as_str())).collect::<Vec<_>>();
    let found = on.grid.edit(|admin| admin.find("record:a", &search)).unwrap();
    assert_eq!(found[0]["comment"], "ticket 7");
    let attributes = json!({CLAIM: {"value": "cloud.example.com/eu"}, "Site": {"value": "Berlin"}});
    assert_eq!((&found[0]["ttl"], &found[0]["extattrs"]), (&json!(30), &attributes));
}

/// A zone and an interval cost one request at rest, however many hosts there are.
#[tokio::test]
async fn a_zone_is_read_in_one_request() {
    let on = OnGrid::new();
    on.grid.edit(|admin| {
        for number in 0..20 {
            let name = format!("app-{number}.cloud.example.com");
            admin.create("record:a", json!({"name": name, "ipv4addr": "192.0.2.80"})).unwrap();
        }
        for name in ["www.example.com", "_odd__name.cloud.example.com", "*.cloud.example.com"] {
            // A grid with another name policy holds such names, too.
            admin.create("record:a", json!({"name": name, "ipv4addr": "192.0.2.80"})).ok();
        }
    });
    for _ in 0..3 {
        let found = on.provider.records(&scope()).await.unwrap();
        assert_eq!(found.keys().filter(|host| host.as_str().starts_with("app-")).count(), 20);
    }
    assert_eq!(on.grid.journal().entries().len(), 3);
}

/// More than a batch may bring.
#[tokio::test]
async fn a_large_zone_is_read_page_by_page_and_whole() {
    let on = OnGrid::new();
    on.grid.edit(|admin| {
        for number in 0..1100 {
            let name = format!("app-{number}.cloud.example.com");
            admin.create("record:a", json!({"name": name, "ipv4addr": "192.0.2.80"})).unwrap();
        }
    });
    assert_eq!(on.provider.records(&scope()).await.unwrap().len(), 1100);
}

/// Address records as large as one gets, every field and so many attributes of 255 characters in each.
fn add_fat(on: &OnGrid, count: usize, attributes: usize) {
    let names: Vec<_> =
        (0..attributes).map(|number| format!("Attribute of the DNS team {number:02}")).collect();
    on.grid.edit(|admin| {
        for name in &names {
            admin.create("extensibleattributedef", json!({"name": name, "type": "STRING"})).unwrap();
        }
        let attributes: serde_json::Map<_, _> =
            names.iter().map(|name| (name.clone(), json!({"value": "v".repeat(255)}))).collect();
        for number in 0..count {
            let record = json!({
                "name": format!("app-{number}.cloud.example.com"), "ipv4addr": "192.0.2.80", "ttl": 30,
                "use_ttl": true, "disable": false, "comment": "ä".repeat(256), "extattrs": attributes,
            });
            admin.create("record:a", record).unwrap();
        }
    });
}

/// The sizes of the pages that were asked for, in order.
fn page_sizes(on: &OnGrid) -> Vec<String> {
    let size = |entry: &gslb_mocks::wapi::Entry| {
        let (_, rest) = entry.uri.split_once("record:a?")?;
        Some(rest.split_once("_paging=1")?.1.rsplit_once("_max_results=")?.1.to_owned())
    };
    on.grid.journal().entries().iter().filter_map(size).collect()
}

/// A reply is read up to a bound, and an object has as many attributes as the DNS team likes.
#[tokio::test]
async fn thousands_of_records_with_full_comments_and_attributes_are_read_in_pages_that_fit_at_once() {
    let on = OnGrid::new();
    add_fat(&on, 2_000, 6);
    assert_eq!(on.provider.records(&scope()).await.unwrap().len(), 2_000);
    assert_eq!(page_sizes(&on), ["200"]);
    let pages = on.grid.journal().count(|entry| entry.uri.contains("record:a?_page_id="));
    assert_eq!(pages, 2_000 / 200 - 1);
}

#[tokio::test]
async fn records_that_are_larger_than_that_are_read_in_smaller_pages() {
    let on = OnGrid::new();
    add_fat(&on, 300, 60);
    assert_eq!(on.provider.records(&scope()).await.unwrap().len(), 300);
    assert_eq!(page_sizes(&on), ["200", "100", "50", "25"]);
}

/// A batch has no pages, and too few records to be refused may be too large.
#[tokio::test]
async fn a_batch_whose_answer_is_too_large_is_asked_for_page_by_page() {
    let on = OnGrid::new();
    add_fat(&on, 170, 30);
    assert_eq!(on.provider.records(&scope()).await.unwrap().len(), 170);
    assert_eq!(page_sizes(&on), ["200", "100", "50"]);
}

#[tokio::test]
async fn an_object_that_is_too_large_by_itself_ends_the_read_after_a_handful_of_tries() {
    let on = OnGrid::new();
    add_fat(&on, 1, 3_600);
    let failed = on.provider.records(&scope()).await.unwrap_err();
    assert_eq!(failed.reason(), "UnexpectedAnswer");
    assert_eq!(page_sizes(&on), ["200", "100", "50", "25", "20"]);
}

/// The grid's reference is its word.
#[tokio::test]
async fn a_record_that_was_made_is_made_although_the_read_after_it_fails() {
    let on = OnGrid::new();
    let change = changes(&on, Some("192.0.2.80")).await;
    on.grid.faults().inject(Fault::Refuse("no more").on_method("POST").after(2).times(9));
    let receipt = on.provider.apply_record(&change[0]).await.unwrap();
    assert_eq!((receipt.disposition, receipt.read_back), (Disposition::Applied, None));
    assert!(receipt.reference.starts_with("record:a/"), "{}", receipt.reference);
}

#[tokio::test]
async fn a_zone_that_is_delegated_is_refused_with_what_helps() {
    let on = OnGrid::new();
    on.add_zone(&[(crate::stage::US, "198.51.100.53")], json!({}));
    let refused = on.provider.records(&scope()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cloud.example.com is delegated in view default of Infoblox at 127.0.0.1, so the grid does not serve its hosts; withdraw that delegation, or set the zone's mode to delegation"
    );
    assert!(matches!(refused, ProviderError::Misconfigured { .. }));
}

#[tokio::test]
async fn a_lost_reply_is_settled_by_reading_and_nothing_is_sent_twice() {
    let on = OnGrid::new();
    let change = changes(&on, Some("192.0.2.80")).await;
    on.grid.faults().inject(Fault::ResetAfterCommit.on_method("POST").after(1).times(1));
    let receipt = on.provider.apply_record(&change[0]).await.unwrap();
    assert_eq!(receipt.disposition, Disposition::Applied);
    assert_eq!(on.writes(), ["POST"]);
}

#[tokio::test]
async fn a_write_that_waits_for_approval_is_told_by_its_task() {
    let on = OnGrid::new();
    on.grid.set_needs_approval(crate::stage::USER, true);
    let change = changes(&on, Some("192.0.2.80")).await;
    let receipt = on.provider.apply_record(&change[0]).await.unwrap();
    let Disposition::AwaitingApproval { task } = receipt.disposition else { panic!("{receipt:?}") };
    assert_eq!(task, "1");
    let pending = on.provider.approval(&host(), &receipt.reference).await.unwrap();
    assert!(matches!(pending, gslb_provider_contract::Approval::Pending { .. }), "{pending:?}");
}

#[tokio::test]
async fn a_record_that_was_made_by_comment_is_found_again_once_the_attributes_are_defined() {
    let on = OnGrid::new();
    on.provider.apply_record(&changes(&on, Some("192.0.2.80")).await[0]).await.unwrap();
    on.grid.edit(|admin| {
        for name in [CLAIM, CHALLENGE] {
            admin.create("extensibleattributedef", json!({"name": name, "type": "STRING"})).unwrap();
        }
    });
    assert_eq!(changes(&on, Some("192.0.2.80")).await, []);
    on.provider.apply_record(&changes(&on, None).await[0]).await.unwrap();
    assert_eq!(on.provider.records(&scope()).await.unwrap().get(&host()), None);
}
