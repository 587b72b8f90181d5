//! Asks one peer for the `localtargets-` records of all hosts: together once per sweep, and again at once for
//! hosts whose last word is in doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::Round;
use gslb_core::zone::{Zone, local_targets_name, zone_of};
use jiff::Timestamp;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::ask::{Ask, Effort, PeerQuestions};
use crate::controller::context::Context;

/// Longest stretch of a sweep interval for a peer that answers slowly: it is asked at most this many times
/// less often. No outside reference.
const SLOWEST: u32 = 4;
/// The clock is not looked at more often than this.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);

/// Asks all peers, those that come later too, each until it leaves. Ends only if a part of it does.
pub(crate) async fn run_all(context: Arc<Context>, questions: Arc<PeerQuestions>) {
    let mut changed = context.book.peers_changed();
    let mut sweeps = JoinSet::new();
    let mut running: BTreeMap<GeoTag, AbortHandle> = BTreeMap::new();
    loop {
        let tags = context.book.tags();
        for (_, sweep) in running.extract_if(.., |tag, _| !tags.contains(tag)) {
            sweep.abort();
        }
        for tag in tags {
            let sweep = || sweeps.spawn(run(Arc::clone(&context), Arc::clone(&questions), tag.clone()));
            running.entry(tag.clone()).or_insert_with(sweep);
        }
        tokio::select! {
            Ok(()) = changed.changed() => {}
            Some(ended) = sweeps.join_next() => if !ended.is_err_and(|error| error.is_cancelled()) { return },
        }
    }
}

/// Asks one peer until it is aborted.
async fn run(context: Arc<Context>, questions: Arc<PeerQuestions>, tag: GeoTag) {
    let mut hosts_changed = context.book.hosts_changed();
    let mut glue_changed = context.glue.changed();
    let mut sweep = Sweep::new(context, questions, tag);
    loop {
        let now = sweep.context.now();
        sweep.context.book.let_go(now);
        sweep.context.book.tick(&sweep.tag, now);
        let look = sweep.ask_what_is_due(now);
        tokio::select! {
            Some(rounds) = sweep.asking.join_next() => match rounds {
                Ok(rounds) => sweep.take(rounds),
                Err(error) => sweep.recover(&error),
            },
            () = tokio::time::sleep_until(look) => {}
            Ok(()) = hosts_changed.changed() => sweep.ask_new_hosts(),
            Ok(()) = glue_changed.changed() => sweep.next = Instant::now(),
        }
    }
}

struct Sweep {
    context: Arc<Context>,
    questions: Arc<PeerQuestions>,
    tag: GeoTag,
    asking: JoinSet<Vec<(DomainName, Round)>>,
    in_flight: BTreeSet<DomainName>,
    known: BTreeSet<DomainName>,
    next: Instant,
    started: Instant,
}

impl Sweep {
    fn new(context: Arc<Context>, questions: Arc<PeerQuestions>, tag: GeoTag) -> Self {
        let now = Instant::now();
        Self {
            context,
            questions,
            tag,
            asking: JoinSet::new(),
            in_flight: BTreeSet::new(),
            known: BTreeSet::new(),
            next: now,
            started: now,
        }
    }

    /// Starts the questions that are due; gives when to look again.
    fn ask_what_is_due(&mut self, now: Timestamp) -> Instant {
        if self.next <= Instant::now() {
            self.sweep();
        }
        let (doubted, look) = self.context.book.due(&self.tag, now);
        self.ask(doubted, Effort::Doubt);
        // What is in flight ends by itself and brings us back; what is overdue beside it waits a moment.
        let wait = look.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        let floor = if self.in_flight.is_empty() { SHORTEST_LOOK } else { SHORTEST_LOOK * 10 };
        wait.map_or(self.next, |wait| (Instant::now() + wait.max(floor)).min(self.next))
    }

    fn sweep(&mut self) {
        let period = self.context.settings.periods.peer_sweep;
        // Up to 10 % less, so that the clusters of a fleet do not ask in step.
        let jitter = period.mul_f64(rand::random::<f64>() * 0.1);
        self.started = Instant::now();
        self.next = self.started + (period - jitter);
        self.ask_new_hosts();
        // Without a first verdict one lost packet would be one.
        self.ask(self.context.book.without_verdict(&self.tag), Effort::Doubt);
        self.ask(self.context.book.hosts(), Effort::Sweep);
    }

    fn ask_new_hosts(&mut self) {
        let hosts: BTreeSet<DomainName> = self.context.book.hosts().into_iter().collect();
        let new = hosts.difference(&self.known).cloned().collect();
        self.known = hosts;
        // A first verdict must survive one lost packet.
        self.ask(new, Effort::Doubt);
    }

    fn ask(&mut self, hosts: Vec<DomainName>, effort: Effort) {
        let zones = self.context.served_zones();
        let idle = hosts.into_iter().filter(|host| !self.in_flight.contains(host));
        let asks: Vec<Ask> = idle.filter_map(|host| self.way_to(&zones, host)).collect();
        if asks.is_empty() {
            return;
        }
        self.in_flight.extend(asks.iter().map(|ask| ask.host.clone()));
        let questions = Arc::clone(&self.questions);
        self.asking.spawn(async move { questions.ask(&asks, effort).await });
    }

    /// Where and what to ask; `None`: the peer's addresses have not been looked up yet.
    fn way_to(&self, zones: &[Zone], host: DomainName) -> Option<Ask> {
        let zone = zone_of(zones, &host)?;
        let addresses = self.context.glue.addresses(zone.name(), &self.tag)?;
        Some(Ask { owner_name: local_targets_name(&host).ok()?, host, addresses })
    }

    /// A task that panicked took its hosts with it: all are asked again.
    fn recover(&mut self, error: &tokio::task::JoinError) {
        tracing::error!(peer = %self.tag, %error, "Asking a peer failed; it is asked again.");
        self.asking.abort_all();
        self.in_flight.clear();
    }

    fn take(&mut self, rounds: Vec<(DomainName, Round)>) {
        let now = self.context.now();
        for (host, round) in rounds {
            self.in_flight.remove(&host);
            self.context.book.hear(&self.tag, &host, &round, now);
        }
        let period = self.context.settings.periods.peer_sweep;
        let took = self.started.elapsed();
        // A peer that needs longer than its interval is given room.
        if self.in_flight.is_empty() && took > period && self.next <= Instant::now() {
            self.next = Instant::now() + took.min(period * SLOWEST);
        }
    }
}
