//! What several external-dns make of one parent zone: the rows of docs/external-dns.md that end-to-end tests showed.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the failed test")]

use std::collections::BTreeSet;
use std::net::SocketAddr;

use gslb_mocks::DnsSockets;
use gslb_mocks::external_dns::{Instance, ParentZone, Policy, RecordSet, Rules, Unreachable};
use gslb_mocks::kube::ApiServer;
use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use serde_json::{Value, json};
use tokio::net::UdpSocket;

const ZONE: &str = "cloud.example.com";

fn parent() -> ParentZone {
    ParentZone::new("example.com", "ns.example.com", "192.0.2.1".parse().unwrap())
}

fn name_server(tag: &str) -> String {
    format!("gslb-ns-{tag}-{ZONE}")
}

/// A cluster whose object names the servers of `fleet` and its own glue.
struct Cluster {
    tag: &'static str,
    api: ApiServer,
}

impl Cluster {
    fn new(tag: &'static str, fleet: &[&str]) -> Self {
        let cluster = Self { tag, api: ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build() };
        cluster.sees(fleet);
        cluster
    }

    fn sees(&self, fleet: &[&str]) {
        let servers: Vec<String> = fleet.iter().map(|tag| name_server(tag)).collect();
        let endpoint = |name: &str, rtype: &str, targets: &[String]| json!({"dnsName": name, "recordType": rtype, "recordTTL": 30, "targets": targets});
        let glue = endpoint(&name_server(self.tag), "A", &[self.address()]);
        self.api.apply_object(object(self.tag, &json!([endpoint(ZONE, "NS", &servers), glue]))).unwrap();
    }

    fn address(&self) -> String {
        let number = 1 + ["eu", "us", "za"].iter().position(|tag| *tag == self.tag).unwrap();
        format!("192.0.2.{number}")
    }

    fn external_dns(&self, zone: &ParentZone, managed: &[&str], owner: &str, policy: Policy) -> Instance {
        let managed = managed.iter().map(|rtype| (*rtype).to_owned()).collect();
        let (owner, prefix) = (owner.to_owned(), "external-dns-".to_owned());
        let rules = Rules { owner, prefix, managed, policy, domain: "example.com".to_owned() };
        Instance::new(self.tag, self.api.clone(), zone.clone(), rules)
    }

    /// The two of docs/external-dns.md.
    fn documented(&self, zone: &ParentZone) -> [Instance; 2] {
        [
            self.external_dns(zone, &["NS"], "fleet", Policy::UpsertOnly),
            self.external_dns(zone, &["A"], &format!("fleet-{}", self.tag), Policy::Sync),
        ]
    }

    fn object(&self) -> Value {
        self.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "default", self.tag).unwrap()
    }
}

fn object(name: &str, endpoints: &Value) -> Value {
    json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
        "metadata": {"name": name, "namespace": "default", "labels": {"k8gb.io/dnstype": "extdns"}},
        "spec": {"endpoints": endpoints},
    })
}

fn rounds<'a>(instances: impl IntoIterator<Item = &'a Instance>) {
    instances.into_iter().for_each(|instance| instance.round(true).unwrap());
}

/// The tags in the NS set, and those with glue.
fn delegation(zone: &ParentZone) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let records = zone.records();
    let data = |name: &str, rtype: &str| {
        records.get(&(name.to_owned(), rtype.to_owned())).map(|set| set.data.clone()).unwrap_or_default()
    };
    let servers = data(ZONE, "NS");
    let has =
        |wanted: &dyn Fn(&str) -> bool| ["eu", "us", "za"].into_iter().filter(|tag| wanted(tag)).collect();
    let in_set = |tag: &str| servers.contains(&name_server(tag));
    let with_glue = |tag: &str| !data(&name_server(tag), "A").is_empty();
    (has(&in_set), has(&with_glue))
}

fn tags(tags: &[&'static str]) -> BTreeSet<&'static str> {
    tags.iter().copied().collect()
}

#[test]
fn two_in_each_cluster_keep_one_delegation_and_a_third_cluster_joins_while_the_others_are_away() {
    let zone = parent();
    let (eu, us) = (Cluster::new("eu", &["eu", "us"]), Cluster::new("us", &["eu", "us"]));
    let all = [eu.documented(&zone), us.documented(&zone)].concat();
    rounds(&all);
    assert_eq!(delegation(&zone), (tags(&["eu", "us"]), tags(&["eu", "us"])));

    let serial = zone.serial();
    rounds(&all);
    assert_eq!(zone.serial(), serial, "nothing is written while nothing changes");

    let za = Cluster::new("za", &["eu", "us", "za"]);
    rounds(&za.documented(&zone));
    assert_eq!(delegation(&zone), (tags(&["eu", "us", "za"]), tags(&["eu", "us", "za"])));
}

#[test]
fn a_deleted_object_takes_its_glue_along_and_the_name_servers_stay() {
    let zone = parent();
    let (eu, us) = (Cluster::new("eu", &["eu", "us"]), Cluster::new("us", &["eu", "us"]));
    let all = [eu.documented(&zone), us.documented(&zone)].concat();
    rounds(&all);
    us.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "default", "us").unwrap();
    rounds(&all);
    assert_eq!(delegation(&zone), (tags(&["eu", "us"]), tags(&["eu"])));
    let notes: Vec<String> =
        zone.records().into_keys().filter(|(_, rtype)| rtype == "TXT").map(|(name, _)| name).collect();
    assert_eq!(
        notes,
        ["external-dns-a-gslb-ns-eu-cloud.example.com", "external-dns-ns-cloud.example.com"],
        "the note of an owner goes with its set"
    );
}

/// F-53.
#[test]
fn with_an_owner_for_each_cluster_the_name_servers_are_those_of_the_first() {
    let zone = parent();
    let (eu, us) = (Cluster::new("eu", &["eu"]), Cluster::new("us", &["eu", "us"]));
    let one = |cluster: &Cluster| {
        let owner = format!("fleet-{}", cluster.tag);
        cluster.external_dns(&zone, &["A", "NS"], &owner, Policy::Sync)
    };
    rounds(&[one(&eu), one(&us)]);
    assert_eq!(delegation(&zone), (tags(&["eu"]), tags(&["eu", "us"])));
}

#[test]
fn with_one_owner_for_all_and_sync_each_takes_the_glue_of_the_other_away() {
    let zone = parent();
    let (eu, us) = (Cluster::new("eu", &["eu", "us"]), Cluster::new("us", &["eu", "us"]));
    let one = |cluster: &Cluster| cluster.external_dns(&zone, &["A", "NS"], "fleet", Policy::Sync);
    for (writer, left) in [(&eu, "eu"), (&us, "us"), (&eu, "eu")] {
        rounds(&[one(writer)]);
        assert_eq!(delegation(&zone), (tags(&["eu", "us"]), tags(&[left])));
    }
}

#[test]
fn what_somebody_made_by_hand_is_not_touched() {
    let zone = parent();
    let by_hand = RecordSet { ttl: 60, data: ["ns.example.net".to_owned()].into() };
    zone.edit(ZONE, "NS", Some(by_hand.clone()));
    let eu = Cluster::new("eu", &["eu"]);
    rounds(&eu.documented(&zone));
    assert_eq!(zone.records().get(&(ZONE.to_owned(), "NS".to_owned())), Some(&by_hand));
}

#[test]
fn the_status_says_which_generation_was_read_and_a_zone_out_of_reach_stops_that_too() {
    let zone = parent();
    let eu = Cluster::new("eu", &["eu"]);
    let [instance, _] = eu.documented(&zone);
    assert_eq!(instance.round(false), Err(Unreachable));
    assert_eq!(eu.object()["status"], Value::Null);
    assert_eq!(zone.serial(), 1);

    instance.round(true).unwrap();
    assert_eq!(eu.object()["status"], json!({"observedGeneration": 1}));
    eu.sees(&["eu", "us"]);
    let revision = eu.api.revision();
    rounds(&[instance.clone(), instance]);
    assert_eq!(eu.object()["status"], json!({"observedGeneration": 2}));
    assert_eq!(eu.api.revision(), revision + 1, "once for each generation");
}

#[test]
fn an_object_without_the_label_is_not_seen() {
    let zone = parent();
    let eu = Cluster::new("eu", &["eu"]);
    let mut local = eu.object();
    local["metadata"] = json!({
        "name": "eu", "namespace": "default", "labels": {"k8gb.io/dnstype": "local"},
    });
    eu.api.put_object(local).unwrap();
    rounds(&eu.documented(&zone));
    assert_eq!(zone.serial(), 1);
}

async fn ask(server: SocketAddr, name: &str, rtype: RecordType) -> Message {
    let mut question = Message::query();
    question.add_query(Query::query(Name::from_ascii(name).unwrap(), rtype));
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&question.to_vec().unwrap(), server).await.unwrap();
    let mut buffer = vec![0; 4096];
    let length = socket.recv(&mut buffer).await.unwrap();
    Message::from_vec(&buffer[..length]).unwrap()
}

#[tokio::test]
async fn the_parent_refers_below_a_cut_and_answers_beside_it() {
    let zone = parent();
    let eu = Cluster::new("eu", &["eu"]);
    rounds(&eu.documented(&zone));
    let sockets = DnsSockets::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let server = zone.serve_dns(sockets);
    let address = server.address().unwrap();
    let lines = |records: &[hickory_proto::rr::Record]| -> Vec<String> {
        records.iter().map(|r| format!("{} {} {} {}", r.name, r.ttl, r.record_type(), r.data)).collect()
    };

    let referral = ask(address, "app.cloud.example.com.", RecordType::A).await;
    assert!(!referral.metadata.authoritative);
    assert_eq!(lines(&referral.authorities), ["cloud.example.com. 30 NS gslb-ns-eu-cloud.example.com."]);
    assert_eq!(lines(&referral.additionals), [] as [String; 0], "the name lies beside the cut");

    let glue = ask(address, "gslb-ns-eu-cloud.example.com.", RecordType::A).await;
    assert_eq!(lines(&glue.answers), ["gslb-ns-eu-cloud.example.com. 30 A 192.0.2.1"]);
    let note = ask(address, "external-dns-ns-cloud.example.com.", RecordType::TXT).await;
    assert_eq!(note.answers.len(), 1);
    let apex = ask(address, "example.com.", RecordType::NS).await;
    assert_eq!(lines(&apex.answers), ["example.com. 3600 NS ns.example.com."]);
    let elsewhere = ask(address, "example.net.", RecordType::A).await;
    assert_eq!(elsewhere.metadata.response_code, hickory_proto::op::ResponseCode::Refused);
}
