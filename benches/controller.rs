//! What 1 000 Gslbs cost: until all are published, at rest, and for one change of one of them.
//!
//! `cargo bench --bench controller`. Controller, API server and peers share one thread in paused time, so that the
//! figures are their computing time together, and no waiting.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing to report")]
#![allow(clippy::print_stdout, reason = "the report")]
#![allow(dead_code, reason = "shared with the tests, which use all of it")]

#[path = "../tests/controller/dns.rs"]
mod dns;
#[path = "../tests/controller/objects.rs"]
mod objects;
#[path = "../tests/controller/world.rs"]
mod world;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::objects::{OWN, gslb, ingress, round_robin, service, slice};
use crate::world::{Cluster, PATIENCE, US, pass};

const GSLBS: usize = 1_000;
const NAMESPACES: usize = 100;
/// Ten virtual minutes: 20 passes over each Gslb.
const REST: u64 = 600;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(measure());
}

async fn measure() {
    let cluster = Cluster::alone().with_peers();
    for number in 0..GSLBS {
        add(&cluster, number);
    }
    let start = Instant::now();
    let _running = cluster.run();
    eventually(|| published(&cluster) == GSLBS).await;
    report("first publication of all", start.elapsed());
    cluster.settle().await;
    report("… until everything is at rest", start.elapsed());

    let start = Instant::now();
    pass(REST).await;
    report("ten minutes at rest, peers asked every 5 s", start.elapsed());
    println!("{:44} {:>10}", "  writes meanwhile", cluster.writes().len());

    cluster.api.journal().clear();
    let start = Instant::now();
    cluster.api.apply_object(within(slice(&name(7), false), 7)).unwrap();
    eventually(|| records(&cluster, 7) == 0).await;
    report("one EndpointSlice until its record is gone", start.elapsed());
    pass(20).await;
    println!("{:44} {:>10}", "  writes for it, events included", cluster.writes().len());

    cluster.dns.silence(US, true);
    pass(60).await;
    let start = Instant::now();
    cluster.api.apply_object(within(slice(&name(7), true), 7)).unwrap();
    eventually(|| records(&cluster, 7) == 2).await;
    report("the same beside a silent peer", start.elapsed());
}

fn report(what: &str, took: Duration) {
    println!("{what:44} {:>7.1} ms", took.as_secs_f64() * 1_000.0);
}

fn name(number: usize) -> String {
    format!("app-{number:04}")
}

fn within(mut object: Value, number: usize) -> Value {
    object["metadata"]["namespace"] = json!(format!("team-{:02}", number % NAMESPACES));
    object
}

fn add(cluster: &Cluster, number: usize) {
    if number < NAMESPACES {
        let name = format!("team-{number:02}");
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.api.apply_object(namespace).unwrap();
    }
    let name = name(number);
    let host = format!("{name}.cloud.example.com");
    let objects =
        [ingress(&name, &[&host], &[OWN]), service(&name), slice(&name, true), gslb(&name, round_robin())];
    for object in objects {
        cluster.api.apply_object(within(object, number)).unwrap();
    }
}

/// Gslbs whose host has a record.
fn published(cluster: &Cluster) -> usize {
    let endpoints = cluster.api.list("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "");
    let full = |endpoint: &&Value| endpoint["spec"]["endpoints"].as_array().is_some_and(|all| all.len() == 2);
    endpoints.iter().filter(full).count()
}

fn records(cluster: &Cluster, number: usize) -> usize {
    let namespace = format!("team-{:02}", number % NAMESPACES);
    let found = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", &namespace, &name(number));
    found.and_then(|object| Some(object["spec"]["endpoints"].as_array()?.len())).unwrap_or_default()
}

/// Looks rarely enough that looking does not count.
async fn eventually(mut done: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !done() {
        assert!(tokio::time::Instant::now() < deadline, "this never came true");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
