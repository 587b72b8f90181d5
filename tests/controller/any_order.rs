//! What comes of a set of objects does not depend on the order in which they came.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::legacy::legacy;
use crate::objects::{
    OWN, annotated, gslb, gslb_to, ingress, labelled, load_balancer_service, round_robin, service, slice,
};
use crate::world::Cluster;

fn host(name: &str) -> String {
    format!("{name}.cloud.example.com")
}

/// Objects of every kind, right ones and wrong ones, that belong together or do not.
fn pool() -> Vec<Value> {
    let mut objects = Vec::new();
    for name in ["alpha", "beta", "gamma"] {
        objects.extend([ingress(name, &[&host(name)], &[OWN]), service(name), slice(name, true)]);
    }
    objects.extend([
        gslb("alpha", round_robin()),
        gslb("beta", json!({"type": "failover", "primaryGeoTag": "us"})),
        legacy(gslb("gamma", json!({"type": "geoip"}))),
        annotated(gslb_to("delta", "v1", "Service"), "k8gb.io/hostname", &host("delta")),
        load_balancer_service("delta", &[OWN]),
        slice("delta", true),
        annotated(ingress("epsilon", &[&host("epsilon")], &[OWN]), "k8gb.io/strategy", "roundRobin"),
        gslb("unknown-strategy", json!({"type": "fastest"})),
        gslb("bad-weight", json!({"type": "roundRobin", "weight": {"eu": 10_010}})),
        gslb("nothing-there", round_robin()),
        ingress("elsewhere", &["www.example.net"], &[OWN]),
        gslb("elsewhere", round_robin()),
        labelled(ingress("labelled", &[&host("labelled"), &host("second")], &[OWN]), "app", "shop"),
        labelled_gslb(),
        embedded(),
    ]);
    objects
}

fn labelled_gslb() -> Value {
    let mut object = gslb("by-label", round_robin());
    object["spec"]["resourceRef"] =
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "matchLabels": {"app": "shop"}});
    object
}

fn embedded() -> Value {
    let mut object = gslb("embedded", round_robin());
    let rules = ingress("embedded", &[&host("embedded")], &[])["spec"]["rules"].take();
    object["spec"] = json!({"strategy": round_robin(), "ingress": {"rules": rules}});
    object
}

/// What the controller makes of objects that come in this order, by kind and name. Times and ids differ anyway.
async fn outcome(objects: &[Value]) -> BTreeMap<(String, String), Value> {
    let cluster = Cluster::alone().with_peers();
    let running = cluster.run();
    for object in objects {
        cluster.api.apply_object(object.clone()).unwrap();
        // Each is acted on before the next one comes.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    cluster.settle().await;
    running.stop().await;
    let kinds = [
        ("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "spec"),
        ("k8gb.io/v1beta1", "Gslb", "spec"),
        ("k8gb.io/v1beta1", "Gslb", "status"),
        ("k8gb.absa.oss/v1beta1", "Gslb", "status"),
        ("networking.k8s.io/v1", "Ingress", "spec"),
    ];
    let mut all = BTreeMap::new();
    for (api_version, kind, part) in kinds {
        for mut object in cluster.api.list(api_version, kind, "") {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            let mut part_of = object[part].take();
            without_times(&mut part_of);
            all.insert((format!("{api_version} {kind} {part}"), name), part_of);
        }
    }
    all
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("lastTransitionTime");
            fields.remove("since");
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

fn play(objects: &[Value]) -> BTreeMap<(String, String), Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(outcome(objects))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_set_of_objects_in_any_order_has_the_same_outcome(
        (first, second) in prop::sample::subsequence(pool(), 1..=pool().len())
            .prop_flat_map(|set| (Just(set.clone()).prop_shuffle(), Just(set).prop_shuffle())),
    ) {
        let outcomes = (play(&first), play(&second));
        let named = |objects: &[Value]| objects.iter().map(|o| format!("{} {}", o["kind"], o["metadata"]["name"])).collect::<Vec<_>>();
        prop_assert_eq!(&outcomes.0, &outcomes.1, "{:?} against {:?}", named(&first), named(&second));
    }
}
