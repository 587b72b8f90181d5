//! What is done about one place of a zone: the provider is visited, and whether it is served is asked. Where zones name
//! their providers each place goes its own way, so that one that hangs holds up no other.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use gslb_core::claim::Claimant;
use gslb_core::delegation::{DesiredDelegation, object_name};
use gslb_core::fleet::Source;
use gslb_crds::ZoneDelegation;
use gslb_provider_contract::Provider;
use kube::{Resource, ResourceExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::desk::About;
use super::discover::{doubts_provider, hear, sighting};
use super::memory::{Asked, Memory};
use super::prove::{self, Reach};
use super::provide::{self, Visit};
use super::{doubt, members, preflight, report, restart};
use crate::config::Sight;
use crate::controller::cache::Key;
use crate::controller::{Pass, Trigger};
use crate::providers::Place;
use crate::question::Client;

/// How long a pass waits for the places of its zone before it tells what is known: less than the first read back of a
/// change, which so comes in time. No outside reference.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is wanted at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Aim {
    /// This cluster's entry with these addresses. Never none.
    Published(BTreeSet<IpAddr>),
    /// No entry of this cluster. Looked at again after so long.
    Withdrawn { period: Duration },
}

/// One place to be seen to.
pub(crate) struct Errand {
    pub(super) pass: Arc<Pass>,
    pub(super) object: Arc<ZoneDelegation>,
    pub(super) claimant: Claimant,
    pub(super) place: Place,
    pub(super) aim: Aim,
    /// Whether members of the fleet are looked for in this pass, and so asked for at the parent already.
    pub(super) looks_for_members: bool,
}

/// An errand on its way, and whoever waits for it.
pub(crate) struct Job {
    errand: Errand,
    /// Whether the pass that sent it waits no more, so that its end has to be told.
    left: Arc<AtomicBool>,
    /// Told whether the parent was asked.
    done: oneshot::Sender<bool>,
}

/// Sees to all places of a zone. Gives whether the parent was asked, as far as is known.
pub(super) async fn run_all(pass: &Pass, errands: Vec<Errand>) -> bool {
    if !pass.providers.are_listed() {
        let mut asked = false;
        for errand in errands {
            asked |= errand.run().await;
        }
        return asked;
    }
    let left = Arc::new(AtomicBool::new(false));
    let mut waited = Vec::new();
    for errand in errands {
        if pass.zones.begin(&errand.about(), errand.place.number) {
            let (done, end) = oneshot::channel();
            waited.push(end);
            // The receiver lives as long as the daemon.
            drop(pass.errands.send(Job { errand, left: Arc::clone(&left), done }));
        }
    }
    let all = futures::future::join_all(waited);
    let ends = timeout(PATIENCE, all).await;
    left.store(true, Ordering::SeqCst);
    ends.is_ok_and(|ends| ends.into_iter().any(|asked| asked.unwrap_or_default()))
}

/// Runs the errands of all zones until the daemon ends. At one provider few are run at once.
pub(crate) async fn follow(mut sent: mpsc::UnboundedReceiver<Job>) {
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(job) = sent.recv() => under_way.push(job.run()),
            Some(()) = under_way.next() => {}
            else => std::future::pending().await,
        }
    }
}

impl Job {
    async fn run(self) {
        let Self { errand, left, done } = self;
        let asked = errand.run().await;
        let (zones, about) = (&errand.pass.zones, errand.about());
        zones.end(&about, errand.place.number);
        // Nobody waits if the pass is over, which is the next thing that is looked at.
        done.send(asked).unwrap_or_default();
        if left.load(Ordering::SeqCst) {
            errand.pass.triggers.send(Trigger::ZoneDelegation(Key::of(&*errand.object)));
        }
    }
}

impl Errand {
    pub(super) fn about(&self) -> About {
        About { name: self.object.name_any(), uid: self.object.metadata.uid.clone() }
    }

    /// Gives whether the parent was asked.
    async fn run(&self) -> bool {
        let (zones, about, number) = (&self.pass.zones, self.about(), self.place.number);
        let mut memory = zones.memory(&about, number);
        self.provide(&mut memory).await;
        self.doubt(&mut memory).await;
        if let Some(sighting) = memory.sighting.take() {
            self.hear(Source::Provider(number), &sighting).await;
        }
        // A pass that waits no more for the parent's servers tells at least this.
        zones.keep(&about, number, memory.clone());
        let asked = match &self.aim {
            Aim::Published(addresses) => self.prove(addresses, &mut memory).await,
            Aim::Withdrawn { .. } => false,
        };
        zones.keep(&about, number, memory);
        asked
    }

    async fn hear(&self, source: Source, sighting: &gslb_core::fleet::Sighting) {
        hear(&self.pass, &self.object, self.claimant.zone(), source, sighting).await;
    }

    /// Visits the provider, if that is due.
    async fn provide(&self, memory: &mut Memory) {
        let (pass, zone, now) = (&*self.pass, self.claimant.zone(), self.pass.context.now());
        let Some(provider) = &self.place.provider else { return };
        let asked = self.asked(provider, memory);
        let doubts = || doubts_provider(pass, zone, self.place.number, memory, self.looks_for_members);
        if !memory.provider_is_due(&asked, now) && !doubts() {
            return;
        }
        let Some(desired) = self.desired(provider, &asked) else { return };
        let evicted = asked.evicted.clone();
        memory.asked = Some(asked);
        let period = match self.aim {
            Aim::Published(_) => pass.context.settings.periods.zone_delegation,
            Aim::Withdrawn { period } => Some(period),
        };
        let visit = Visit {
            provider,
            outlet: &self.place.outlet,
            log: &pass.log,
            client: &pass.context.client,
            ledger: &pass.ledger,
            metrics: &pass.context.metrics,
            who: &pass.who,
            object: &self.object,
            desired: &desired,
            scope: pass.context.writable_zones(self.place.publication.view.as_ref()),
            evicted,
            period,
            clock: &pass.context.clock,
            wall: &pass.context.wall,
            is_known: &|zone, change| pass.is_place_of(zone, change),
        };
        let _slot = self.place.slots.acquire().await;
        provide::visit(&visit, memory).await;
        members::hurry(pass, &self.object, memory);
        for (reason, note) in std::mem::take(&mut memory.warnings) {
            let what = (report::WHAT, Key::of(&*self.object));
            pass.context.announcer.warn(what, reason, note, &self.object.object_ref(&()));
        }
    }

    /// Does not believe that this cluster has left where DNS says otherwise.
    async fn doubt(&self, memory: &mut Memory) {
        if let (Aim::Withdrawn { .. }, Some(provider)) = (&self.aim, &self.place.provider) {
            doubt::about_withdrawal(self.client().as_ref(), &**provider, &self.claimant, memory).await;
        }
    }

    /// Whoever knows the servers of the place's parent zone.
    fn client(&self) -> Option<Client> {
        let client = self.pass.context.questions.client();
        match &self.place.publication.sight {
            Sight::Cluster => Some(client.clone()),
            Sight::Through(resolvers) => Some(client.through(resolvers.as_slice())),
            Sight::Nobody => None,
        }
    }

    /// The wish as this provider can carry it out.
    fn desired(&self, provider: &Arc<dyn Provider>, asked: &Asked) -> Option<DesiredDelegation> {
        let (claimant, ttl) = (self.claimant.clone(), self.pass.context.settings.ns_ttl);
        let desired = match &self.aim {
            Aim::Published(addresses) => {
                DesiredDelegation::published(claimant, addresses.clone(), ttl).ok()?
            }
            Aim::Withdrawn { .. } => DesiredDelegation::withdrawn(claimant),
        };
        let desired = desired.evicting(asked.evicted.clone());
        Some(match provider.capabilities().own_object {
            true => desired.with_peers(asked.peers.clone(), asked.undecided.clone()),
            false => desired,
        })
    }

    /// What a visit to the provider is about.
    fn asked(&self, provider: &Arc<dyn Provider>, memory: &Memory) -> Asked {
        let (context, zone) = (&self.pass.context, self.claimant.zone());
        let (mut peers, mut undecided, mut object_version) = (BTreeSet::new(), BTreeSet::new(), None);
        if provider.capabilities().own_object {
            peers = context.glue.servers(zone).into_iter().map(|(name, _)| name).collect();
            undecided = context.glue.undecided(zone.name());
            let key = Key::new(&context.settings.namespace, object_name(zone.name()));
            object_version = context.endpoints.get(&key).map(|facts| facts.live.resource_version);
        }
        let (addresses, withdrawn) = match &self.aim {
            Aim::Published(addresses) => (addresses.clone(), false),
            Aim::Withdrawn { .. } => (BTreeSet::new(), true),
        };
        let generation = self.object.metadata.generation;
        let adopts = preflight::adopts(&self.object, zone.name(), &context.settings);
        let evict = members::wish(&self.object).cloned();
        let evicted = members::evicted(&self.pass, &self.object, memory);
        Asked { addresses, generation, adopts, withdrawn, evict, evicted, peers, undecided, object_version }
    }

    /// Asks the parent's servers of this place, if that is due and anybody can.
    async fn prove(&self, own: &BTreeSet<IpAddr>, memory: &mut Memory) -> bool {
        let context = &self.pass.context;
        let Some(client) = self.client() else { return false };
        if !memory.proof_is_due(context.now()) {
            return false;
        }
        self.prove_with(&client, own, memory).await;
        self.place.publication.sight == Sight::Cluster
    }

    async fn prove_with(&self, client: &Client, own: &BTreeSet<IpAddr>, memory: &mut Memory) {
        let (context, zone) = (&self.pass.context, self.claimant.zone());
        let words = prove::ask_parent(client, zone, Reach::OneResolver).await;
        if !self.looks_for_members && self.place.publication.sight == Sight::Cluster {
            self.hear(Source::Parent, &sighting(&words)).await;
        }
        let proof = prove::prove(client, &self.claimant, own, words).await;
        memory.proved(proof, context.settings.periods.zone_delegation, context.now());
        restart::see_to_it(&self.pass, &self.object, &self.claimant, &self.place, memory).await;
    }
}
