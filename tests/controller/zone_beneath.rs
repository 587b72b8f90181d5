//! A zone is not delegated over what its parent zone holds beneath that name, unless somebody asks for it.

use gslb_core::beneath::Beneath;
use gslb_core::change::Change;
use gslb_provider_contract::ProviderError;
use gslb_provider_memory::Operation;
use serde_json::json;

use crate::dns::name;
use crate::world::{Cluster, pass};

fn over(objects: &[&str]) -> Cluster {
    let cluster = Cluster::alone().with_provider();
    cluster.hold_beneath(objects);
    cluster
}

impl Cluster {
    fn hold_beneath(&self, objects: &[&str]) {
        let beneath = Beneath::new(objects.iter().map(|object| (*object).to_owned()).collect(), false);
        self.provider.as_ref().unwrap().put_beneath(&name("cloud.example.com"), beneath);
    }

    fn made(&self) -> Vec<Change> {
        self.provider.as_ref().unwrap().writes()
    }

    fn annotate(&self, value: &str) {
        let mut zone = self.zone();
        zone["metadata"]["annotations"]["gslb-bridge.io/adopt-hidden-records"] = json!(value);
        self.api.put_object(zone).unwrap();
    }

    fn whys(&self) -> Vec<String> {
        let log = self.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
        log.iter().map(|change| change["spec"]["why"].as_str().unwrap().to_owned()).collect()
    }
}

const TWO: [&str; 2] = ["record:a www.cloud.example.com", "record:cname cloud.example.com"];

#[tokio::test(start_paused = true)]
async fn a_zone_with_records_beneath_is_not_delegated_and_says_which() {
    let cluster = over(&TWO);
    let _running = cluster.run();
    assert_eq!(
        cluster.zone_tells("InSync", "False", "RecordsWouldBeHidden").await,
        "cloud.example.com is not delegated: its parent zone holds 2 objects (record:a www.cloud.example.com, record:cname cloud.example.com) at or beneath that name, which would disappear from DNS; move or delete them, or set the annotation gslb-bridge.io/adopt-hidden-records to \"true\" on the ZoneDelegation to delegate the zone all the same"
    );
    assert_eq!((cluster.made(), cluster.whys()), (vec![], vec![]));
    cluster.hold_beneath(&[]);
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!(cluster.made().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_asks_for_it_is_delegated_at_once_and_the_log_says_over_what() {
    let cluster = over(&TWO);
    let _running = cluster.run();
    cluster.zone_tells("InSync", "False", "RecordsWouldBeHidden").await;
    cluster.annotate("yes");
    pass(5).await;
    assert_eq!(cluster.made(), [], "only \"true\" means yes");
    cluster.annotate("true");
    pass(5).await;
    assert_eq!(
        cluster.whys(),
        [
            "this cluster serves the zone at gslb-ns-eu-cloud.example.com (192.0.2.53); delegation cloud.example.com hides 2 objects (record:a www.cloud.example.com, record:cname cloud.example.com) from DNS, as the annotation gslb-bridge.io/adopt-hidden-records asks for"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_file_may_ask_for_it_too_and_the_annotation_wins_over_it() {
    let cluster = over(&TWO).with_file(
        "zones: [{zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, adoptHiddenRecords: true}]\n\
         infoblox: {gridHost: gm.example.com, usernameFile: /secrets/u, passwordFile: /secrets/p}\n",
    );
    let object = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation",
        "metadata": {"name": "cloud-example-com", "annotations": {"gslb-bridge.io/adopt-hidden-records": "false"}},
        "spec": {"loadBalancedZone": "cloud.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30},
    });
    cluster.api.put_object(object).unwrap();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "False", "RecordsWouldBeHidden").await;
    let mut zone = cluster.zone();
    zone["metadata"]["annotations"] = json!({});
    cluster.api.put_object(zone).unwrap();
    pass(5).await;
    assert_eq!(
        cluster.whys(),
        [
            "this cluster serves the zone at gslb-ns-eu-cloud.example.com (192.0.2.53); delegation cloud.example.com hides 2 objects (record:a www.cloud.example.com, record:cname cloud.example.com) from DNS, as adoptHiddenRecords of the zone in the configuration file asks for"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_not_nothing_unless_the_zone_asks_for_it() {
    let cluster = Cluster::alone().with_provider();
    let refuse = || {
        let refused = ProviderError::Refused { text: "the account may not read record:a".to_owned() };
        cluster.provider.as_ref().unwrap().fail_next(Operation::Beneath, refused);
    };
    (0..3).for_each(|_| refuse());
    let _running = cluster.run();
    let message = cluster.zone_tells("InSync", "False", "Refused").await;
    assert_eq!((message.as_str(), cluster.made()), ("the account may not read record:a", vec![]));
    cluster.annotate("true");
    pass(5).await;
    assert_eq!(
        cluster.whys(),
        [
            "this cluster serves the zone at gslb-ns-eu-cloud.example.com (192.0.2.53); delegation cloud.example.com hides what could not be read (the account may not read record:a) from DNS, as the annotation gslb-bridge.io/adopt-hidden-records asks for"
        ]
    );
}
