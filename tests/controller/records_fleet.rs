//! Records mode with three clusters at one provider: who takes whose record away.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gslb_core::edit::Edit;
use gslb_provider_memory::MemoryProvider;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::dns::{Says, name};
use crate::objects::{HOST, gslb, ingress, round_robin, service, slice};
use crate::world::{Cluster, RESOLVER, Running};

const LOCAL: &str = "localtargets-app.cloud.example.com";
/// How often what one cluster publishes is what its DNS server answers.
const LINK: Duration = Duration::from_millis(500);

/// One cluster with its daemon and its DNS server.
struct Site {
    tag: &'static str,
    server: &'static str,
    target: &'static str,
    cluster: Cluster,
    running: Option<Running>,
    /// Whether its DNS server answers, and whether it hears anybody.
    answers: bool,
    isolated: bool,
}

struct Fleet {
    sites: Vec<Site>,
    provider: Arc<MemoryProvider>,
}

impl Fleet {
    fn start(strategy: &Value) -> Self {
        let provider = Arc::new(MemoryProvider::new());
        let sites = [
            ("eu", "192.0.2.53", "192.0.2.10"),
            ("us", "198.51.100.53", "198.51.100.10"),
            ("za", "203.0.113.53", "203.0.113.10"),
        ];
        let names = sites;
        let sites = sites.map(|(tag, server, target)| {
            let cluster = Cluster::alone().setting("CLUSTER_GEO_TAG", tag).in_records_mode(&provider);
            for (peer, server, _) in names {
                cluster.dns.answer(RESOLVER, &format!("gslb-ns-{peer}-cloud.example.com"), &[server]);
            }
            for object in [ingress("app", &[HOST], &[target]), service("app"), slice("app", true)] {
                cluster.api.apply_object(object).unwrap();
            }
            cluster.api.apply_object(gslb("app", strategy.clone())).unwrap();
            let running = Some(cluster.run());
            Site { tag, server, target, cluster, running, answers: true, isolated: false }
        });
        Self { sites: sites.into(), provider }
    }

    fn site(&mut self, tag: &str) -> &mut Site {
        self.sites.iter_mut().find(|site| site.tag == tag).unwrap()
    }

    /// What each DNS server answers to each cluster.
    fn link(&self) {
        for viewer in &self.sites {
            viewer.cluster.dns.silence(RESOLVER, viewer.isolated);
            for peer in self.sites.iter().filter(|peer| peer.tag != viewer.tag) {
                let records = peer.cluster.records("app").unwrap_or_default();
                let local = records.into_iter().find(|(name, _)| name == LOCAL);
                let says = match local {
                    Some((_, targets)) => {
                        Says::Addresses(targets.iter().map(|target| target.parse().unwrap()).collect())
                    }
                    None => Says::No,
                };
                viewer.cluster.dns.say(peer.server, LOCAL, says);
                let silent = !peer.answers || peer.isolated || viewer.isolated;
                viewer.cluster.dns.silence(peer.server, silent);
            }
        }
    }

    /// The clusters that have a record now.
    fn answering(&self) -> BTreeSet<String> {
        let host = self.provider.host(&name(HOST));
        host.records.values().filter_map(|record| Some(record.claim.clone()?.tag.to_string())).collect()
    }

    /// Lets time pass, and looks at every moment of it.
    async fn pass(&self, seconds: u64, mut look: impl FnMut(&Self)) {
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            self.link();
            look(self);
            sleep(LINK).await;
        }
    }

    /// Waits until exactly these clusters have a record.
    async fn is_answered_by(&self, tags: &[&str], within: u64) {
        let wanted: BTreeSet<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let end = Instant::now() + Duration::from_secs(within);
        while self.answering() != wanted {
            assert!(Instant::now() < end, "{:?} and not {wanted:?} after {within} s", self.answering());
            self.link();
            sleep(LINK).await;
        }
    }

    /// The changes of others' records in the logs: who, what, whose, and what came of it.
    fn changes_of_others(&self) -> Vec<(&'static str, String, String, String)> {
        let mut found = Vec::new();
        for site in &self.sites {
            for change in site.cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "") {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let record = if change["spec"]["before"].is_null() { "after" } else { "before" };
                let claim = text(&change["spec"][record]["claim"]);
                let holder = claim.rsplit('/').next().unwrap_or_default().to_owned();
                if holder != site.tag {
                    let (action, result) =
                        (text(&change["spec"]["action"]), text(&change["status"]["result"]));
                    found.push((site.tag, action, holder, result));
                }
            }
        }
        found
    }

    fn deletions_of_others(&self) -> Vec<(&'static str, String, String)> {
        let all = self.changes_of_others().into_iter().filter(|(_, action, ..)| action == "Delete");
        all.map(|(by, _, whose, result)| (by, whose, result)).collect()
    }
}

fn failover() -> Value {
    json!({"type": "failover", "primaryGeoTag": "eu"})
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_killed_primary_goes_within_three_minutes_by_the_hand_of_exactly_one() {
    let mut fleet = Fleet::start(&failover());
    fleet.is_answered_by(&["eu"], 60).await;
    fleet.pass(30, |fleet| assert_eq!(fleet.answering(), ["eu".to_owned()].into())).await;
    let eu = fleet.site("eu");
    eu.running.take().unwrap().kill().await;
    eu.answers = false;
    let killed = Instant::now();
    // First the others come, so that the host is answered all the time by one that lives.
    fleet.is_answered_by(&["eu", "us", "za"], 20).await;
    fleet.is_answered_by(&["us", "za"], 180).await;
    assert!(killed.elapsed() > Duration::from_secs(60), "nobody is mourned before a minute is over");
    assert!(killed.elapsed() < Duration::from_secs(180));
    fleet.pass(120, |_| ()).await;
    assert_eq!(fleet.deletions_of_others(), [("us", "eu".to_owned(), "Applied".to_owned())]);
    // It comes back, and takes its place again.
    let eu = fleet.site("eu");
    eu.running = Some(eu.cluster.run());
    eu.answers = true;
    fleet.is_answered_by(&["eu"], 60).await;
}

#[tokio::test(start_paused = true)]
async fn a_living_owner_keeps_its_record_however_often_it_is_challenged() {
    let mut fleet = Fleet::start(&round_robin());
    fleet.is_answered_by(&["eu", "us", "za"], 60).await;
    // Nobody hears its DNS server any more, and it reaches the provider.
    fleet.site("eu").answers = false;
    fleet.pass(900, |fleet| assert!(fleet.answering().contains("eu"), "the record is lost")).await;
    assert_eq!(fleet.deletions_of_others(), []);
    let challenges = fleet.changes_of_others();
    assert!(!challenges.is_empty(), "nobody asked");
    assert!(
        challenges
            .iter()
            .all(|(by, action, whose, _)| (*by, action.as_str(), whose.as_str()) == ("us", "Replace", "eu")),
        "{challenges:?}"
    );
    // The pauses grow: not one challenge a minute.
    assert!(challenges.len() <= 6, "{challenges:?}");
}

#[tokio::test(start_paused = true)]
async fn an_isolated_cluster_takes_no_record_away() {
    let mut fleet = Fleet::start(&round_robin());
    fleet.is_answered_by(&["eu", "us", "za"], 60).await;
    fleet.site("eu").isolated = true;
    fleet.pass(400, |fleet| assert_eq!(fleet.answering().len(), 3, "{:?}", fleet.answering())).await;
    assert_eq!(fleet.deletions_of_others(), []);
    assert!(fleet.changes_of_others().iter().all(|(by, ..)| *by != "eu"), "{:?}", fleet.changes_of_others());
    // Also when one of the others really is dead: those that see it say so.
    let za = fleet.site("za");
    za.running.take().unwrap().kill().await;
    za.answers = false;
    fleet.is_answered_by(&["eu", "us"], 180).await;
    assert_eq!(fleet.deletions_of_others(), [("us", "za".to_owned(), "Applied".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn an_application_that_fails_takes_its_own_record_away_and_the_last_one_stays() {
    let mut fleet = Fleet::start(&round_robin());
    fleet.is_answered_by(&["eu", "us", "za"], 60).await;
    let fails = |fleet: &mut Fleet, tag: &str, ready: bool| {
        fleet.site(tag).cluster.api.apply_object(slice("app", ready)).unwrap();
    };
    fails(&mut fleet, "us", false);
    fleet.is_answered_by(&["eu", "za"], 30).await;
    fails(&mut fleet, "eu", false);
    fails(&mut fleet, "za", false);
    fleet.is_answered_by(&["eu"], 60).await;
    fleet.pass(120, |fleet| assert_eq!(fleet.answering().len(), 1)).await;
    fleet.site("eu").cluster.tells("app", "InSync", "True", "LastRecordKept").await;
    fails(&mut fleet, "za", true);
    fleet.is_answered_by(&["za"], 60).await;
    assert_eq!(fleet.deletions_of_others(), []);
}

#[tokio::test(start_paused = true)]
async fn a_fleet_at_rest_writes_nothing_and_reads_a_zone_once_an_interval() {
    let fleet = Fleet::start(&round_robin());
    fleet.is_answered_by(&["eu", "us", "za"], 60).await;
    fleet.pass(60, |_| ()).await;
    let writes = fleet.provider.record_writes().len();
    for site in &fleet.sites {
        site.cluster.api.journal().clear();
    }
    fleet.pass(300, |_| ()).await;
    assert_eq!(fleet.provider.record_writes().len(), writes);
    for site in &fleet.sites {
        assert_eq!(site.cluster.writes().len(), 0, "{:?}", site.cluster.writes());
    }
    let own: Vec<IpAddr> = fleet.sites.iter().map(|site| site.target.parse().unwrap()).collect();
    let made = fleet.provider.record_writes();
    assert!(made.iter().all(|change| matches!(change.edit, Edit::Create { .. })), "{made:?}");
    assert_eq!(made.len(), own.len());
}
