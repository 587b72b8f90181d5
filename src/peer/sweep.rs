//! Asks one peer for the `localtargets-` records of all hosts: together once per sweep, and again at once for
//! hosts whose last word is in doubt.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::Round;
use gslb_core::zone::{local_targets_name, zone_of};
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::ask::{Effort, PeerQuestions};
use crate::controller::context::Context;

/// Longest stretch of a sweep interval for a peer that answers slowly: it is asked at most this many times
/// less often. No outside reference.
const SLOWEST: u32 = 4;

/// One answered question: the host, and the replies of all addresses.
type Answered = (DomainName, Round);

/// Asks one peer until the daemon ends.
pub(crate) async fn run(context: Arc<Context>, questions: Arc<PeerQuestions>, tag: GeoTag) {
    let mut hosts_changed = context.book.hosts_changed();
    let mut glue_changed = context.glue.changed();
    let mut sweep = Sweep::new(context, questions, tag);
    loop {
        let now = Timestamp::now();
        sweep.context.book.tick(&sweep.tag, now);
        let look = sweep.ask_what_is_due(now);
        tokio::select! {
            Some(answered) = sweep.asking.join_next() => sweep.take(answered),
            () = tokio::time::sleep_until(look.into()) => {}
            Ok(()) = hosts_changed.changed() => sweep.ask_new_hosts(),
            Ok(()) = glue_changed.changed() => sweep.next = Instant::now(),
        }
    }
}

struct Sweep {
    context: Arc<Context>,
    questions: Arc<PeerQuestions>,
    tag: GeoTag,
    asking: JoinSet<Answered>,
    in_flight: BTreeSet<DomainName>,
    asked: BTreeSet<DomainName>,
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
            asked: BTreeSet::new(),
            next: now,
            started: now,
        }
    }

    /// Starts the questions that are due; gives when to look again.
    fn ask_what_is_due(&mut self, now: Timestamp) -> Instant {
        if self.next <= Instant::now() {
            self.sweep();
        }
        let (doubted, _) = self.context.book.due(&self.tag, now);
        for host in doubted {
            self.ask(host, Effort::Doubt);
        }
        // What is in flight ends by itself and brings us back; only what waits for the clock counts here.
        let (due, look) = self.context.book.due(&self.tag, now);
        let look = look.filter(|at| *at > now || due.is_empty());
        let look = look.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        let look = look.map_or(self.next, |wait| Instant::now() + wait.max(Duration::from_millis(10)));
        look.min(self.next)
    }

    fn sweep(&mut self) {
        let period = self.context.settings.periods.peer_sweep;
        // Up to 10 % less, so that the clusters of a fleet do not ask in step.
        let jitter = period.mul_f64(rand::random::<f64>() * 0.1);
        self.started = Instant::now();
        self.next = self.started + (period - jitter);
        let hosts = self.context.book.hosts();
        self.asked = hosts.iter().cloned().collect();
        for host in hosts {
            self.ask(host, Effort::Sweep);
        }
    }

    fn ask_new_hosts(&mut self) {
        let hosts: BTreeSet<DomainName> = self.context.book.hosts().into_iter().collect();
        let new: Vec<DomainName> = hosts.difference(&self.asked).cloned().collect();
        self.asked = hosts;
        for host in new {
            self.ask(host, Effort::Sweep);
        }
    }

    fn ask(&mut self, host: DomainName, effort: Effort) {
        if self.in_flight.contains(&host) {
            return;
        }
        let Some((addresses, question)) = self.way_to(&host) else { return };
        self.in_flight.insert(host.clone());
        let questions = Arc::clone(&self.questions);
        self.asking.spawn(async move {
            let round = questions.ask_all(&addresses, &question, effort).await;
            (host, round)
        });
    }

    /// Where and what to ask; `None`: the peer's addresses have not been looked up yet.
    fn way_to(&self, host: &DomainName) -> Option<(BTreeSet<Ipv4Addr>, DomainName)> {
        let zones = self.context.served_zones();
        let zone = zone_of(&zones, host)?;
        Some((self.context.glue.addresses(zone.name(), &self.tag)?, local_targets_name(host).ok()?))
    }

    fn take(&mut self, answered: Result<Answered, tokio::task::JoinError>) {
        let Ok((host, round)) = answered else { return };
        self.in_flight.remove(&host);
        self.context.book.hear(&self.tag, &host, &round, Timestamp::now());
        if self.in_flight.is_empty() {
            let period = self.context.settings.periods.peer_sweep;
            let took = self.started.elapsed();
            // A peer that needs longer than its interval is given room.
            if took > period {
                self.next = self.next.max(Instant::now() + took.min(period * SLOWEST));
            }
        }
    }
}
