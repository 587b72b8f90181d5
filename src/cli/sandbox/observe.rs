//! Watches the sandbox and tells the timeline what changed.
//!
//! It looks at the stand-ins' memory, which costs nothing, and asks a DNS server only when something happened: at
//! rest nobody asks anybody but the daemons themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gslb_mocks::external_dns::Write;
use serde_json::json;

use super::children::Role;
use super::cluster::{Change, Conditions};
use super::external_dns::ExternalDns;
use super::grid::{SimulatedGrid, site_of};
use super::parent::Parent;
use super::timeline::Happening;
use super::topology::{HOST, Mode, Site};
use super::witness::Answer;
use super::world::World;

/// Pause between two looks: people cannot tell shorter times apart.
const PAUSE: Duration = Duration::from_millis(100);
/// Looks at a DNS server after something happened in its cluster, in case it takes a moment.
const LOOKS: u32 = 10;
/// The same for the parent, which restarts its DNS within a second or two.
const PARENT_LOOKS: u32 = 60;

/// Runs until it is aborted. Sites are looked at side by side: one that is silent must not hide the others.
pub(super) async fn run(world: Arc<World>) {
    let sites = Site::ALL.map(|site| follow_site(&world, site));
    tokio::join!(futures::future::join_all(sites), follow_parent(&world), follow_processes(&world));
}

async fn follow_site(world: &World, site: Site) {
    let mut seen = Seen::default();
    loop {
        seen.look(world, site).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow_parent(world: &World) {
    let mut parent = SeenParent::default();
    loop {
        parent.look(world).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow_processes(world: &World) {
    loop {
        if let Err(error) = world.refresh() {
            world.timeline.tell(Happening::overall("sandbox", format!("{error:#}")));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[derive(Debug, Default)]
struct SeenParent {
    mark: u64,
    /// How many updates of the zone were told.
    updates: usize,
    bad_logins: u64,
    stored: Vec<(String, String)>,
    referred: BTreeSet<Site>,
    /// What the grid's own DNS answers for the host, in records mode.
    answer: Option<Answer>,
    looks: u32,
}

impl SeenParent {
    async fn look(&mut self, world: &World) {
        match &world.parent {
            Parent::Grid(grid) => self.look_at_requests(world, grid),
            Parent::ExternalDns(all) => self.look_at_updates(world, all),
        }
        match (world.mode, &world.parent) {
            (Mode::Records, Parent::Grid(grid)) => self.look_at_records(world, grid).await,
            (Mode::Delegation, _) | (Mode::Records, Parent::ExternalDns(_)) => {
                self.look_at_delegation(world).await
            }
        }
    }

    async fn look_at_delegation(&mut self, world: &World) {
        let stored = world.parent.stored();
        if stored != self.stored {
            let names: Vec<String> = stored
                .iter()
                .map(|(name, address)| format!("{name} {address}").trim_end().to_owned())
                .collect();
            let text = format!("delegation stored: {}", words(&names));
            let data = json!({"delegateTo": names});
            world.timeline.tell(Happening::overall("delegation", text).with(data));
            (self.stored, self.looks) = (stored, PARENT_LOOKS);
        }
        if self.looks > 0 {
            self.looks -= 1;
            let referred = world.witness.referred().await;
            if referred != self.referred {
                let names: Vec<&str> = referred.iter().map(|site| site.tag()).collect();
                let text = format!("the parent's DNS refers to: {}", words(&names));
                world.timeline.tell(Happening::overall("referral", text).with(json!({"sites": names})));
                self.referred = referred;
            }
        }
    }

    async fn look_at_records(&mut self, world: &World, grid: &SimulatedGrid) {
        let stored = grid.records();
        if stored != self.stored {
            let records: Vec<String> =
                stored.iter().map(|(address, claim)| format!("{address} ({claim})")).collect();
            let text = format!("records stored: {}", words(&records));
            let data = json!({"records": records});
            world.timeline.tell(Happening::overall("records", text).with(data));
            (self.stored, self.looks) = (stored, LOOKS);
        }
        if self.looks > 0 {
            self.looks -= 1;
            let answer = world.witness.answer_of_parent().await;
            if self.answer.as_ref() != Some(&answer) {
                let happening =
                    Happening::overall("grid-answer", format!("the grid answers {HOST}: {answer}"));
                world.timeline.tell(happening.with(answer.data()));
                self.answer = Some(answer);
            }
        }
    }

    fn look_at_updates(&mut self, world: &World, all: &ExternalDns) {
        let writes = all.writes_after(self.updates);
        self.updates += writes.len();
        for Write { by, name, rtype, data } in writes {
            let data: Vec<String> = data.into_iter().collect();
            let text = format!("DNS update by {by}: {name} {rtype}: {}", words(&data));
            let data = json!({"by": by, "name": name, "type": rtype, "data": data});
            world.timeline.tell(Happening::overall("dns-update", text).with(data));
        }
    }

    fn look_at_requests(&mut self, world: &World, grid: &SimulatedGrid) {
        let mark = grid.mark();
        if mark > self.mark {
            for entry in grid.since(self.mark).iter().filter(|entry| entry.effective) {
                let by = site_of(entry).map_or("an administrator", Site::tag);
                let status = entry.status.map_or("no reply".to_owned(), |status| status.to_string());
                let uri = entry.uri.split(['?', ':']).next().unwrap_or_default();
                let text = format!("WAPI write by {by}: {} {uri} ({status})", entry.method);
                let data =
                    json!({"method": entry.method, "uri": entry.uri, "status": entry.status, "site": by});
                world.timeline.tell(Happening::overall("wapi-write", text).with(data));
            }
            self.mark = mark;
        }
        let bad_logins = grid.bad_logins();
        if bad_logins > self.bad_logins {
            let text = format!("the grid refused a log-in; {bad_logins} bad ones so far");
            let data = json!({"badLogins": bad_logins});
            world.timeline.tell(Happening::overall("bad-login", text).with(data));
            self.bad_logins = bad_logins;
        }
    }
}

#[derive(Debug, Default)]
struct Seen {
    revision: u64,
    dns_pid: Option<u32>,
    looks: u32,
    answer: Option<Answer>,
    gslb: Conditions,
    delegation: Conditions,
    peers: BTreeMap<String, String>,
    changes: BTreeMap<String, Change>,
}

impl Seen {
    async fn look(&mut self, world: &World, site: Site) {
        let cluster = world.cluster(site);
        let revision = cluster.revision();
        if revision != self.revision {
            self.revision = revision;
            self.looks = LOOKS;
            let tell = |kind, text: String| world.timeline.tell(Happening::at(site, kind, text));
            differences(&mut self.peers, cluster.peers(), |peer, state| {
                tell("peer", format!("sees {peer}: {state}"));
            });
            differences(&mut self.gslb, cluster.gslb_conditions(), |kind, state| {
                tell("condition", format!("Gslb {kind}: {state}"));
            });
            differences(&mut self.delegation, cluster.delegation_conditions(), |kind, state| {
                tell("condition", format!("ZoneDelegation {kind}: {state}"));
            });
            differences(&mut self.changes, cluster.changes(), |name, change| {
                let Change { action, zone, result } = change;
                let number = name.trim_start_matches('0');
                let result = if result.is_empty() { "intended" } else { result };
                tell("change", format!("change {number}: {action} {zone}: {result}"));
            });
        }
        let dns_pid = world.process(site, Role::Dns).pid();
        if dns_pid != self.dns_pid {
            (self.dns_pid, self.looks) = (dns_pid, LOOKS);
        }
        if self.looks > 0 {
            self.looks -= 1;
            let answer = world.witness.answer_of(site).await;
            if self.answer.as_ref() != Some(&answer) {
                let happening = Happening::at(site, "answer", format!("answers {HOST}: {answer}"));
                world.timeline.tell(happening.with(answer.data()));
                self.answer = Some(answer);
            }
        }
    }
}

/// Tells every entry that is new or different.
fn differences<V: PartialEq>(
    before: &mut BTreeMap<String, V>,
    after: BTreeMap<String, V>,
    mut tell: impl FnMut(&str, &V),
) {
    for (key, value) in &after {
        if before.get(key) != Some(value) {
            tell(key, value);
        }
    }
    *before = after;
}

fn words<S: AsRef<str>>(all: &[S]) -> String {
    match all {
        [] => "nothing".to_owned(),
        all => all.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", "),
    }
}
