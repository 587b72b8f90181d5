//! The host names of load balancers, resolved beside the passes: a pass reads what is known and never waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use gslb_core::lookup::{Heard, Known, Lookup};
use gslb_core::name::DomainName;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

use super::context::Context;
use super::inputs::wake;
use super::registry::Dependency;
use super::{Trigger, Triggers, cluster};
use crate::question::Resolved;

/// Names that are asked for at once.
const AT_ONCE: usize = 16;
/// The list of names is looked at this often at least.
const LONGEST_LOOK: Duration = Duration::from_secs(30);
/// How long a pass waits for the first word about a name, before it tells that there is none: two tries at two
/// resolvers.
const FIRST_WORD: SignedDuration = SignedDuration::from_secs(5);

/// Handle around what is known of the names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    plain: Mutex<BTreeMap<DomainName, Entry>>,
    wanted: Notify,
}

#[derive(Debug)]
struct Entry {
    lookup: Lookup,
    since: Timestamp,
    /// A question is under way.
    asking: bool,
}

impl Names {
    /// What is known of a name, and until when its first word is worth waiting for. The first call has it asked
    /// for; whoever wants it has said so before ([`Dependency::Name`]), or it is forgotten again.
    pub(crate) fn read(&self, name: &DomainName, now: Timestamp) -> (Known, Timestamp) {
        let mut plain = self.lock();
        let entry = plain.entry(name.clone()).or_insert_with(|| {
            self.wanted.notify_one();
            Entry { lookup: Lookup::new(now), since: now, asking: false }
        });
        (entry.lookup.known(), entry.since + FIRST_WORD)
    }

    /// Forgets the names that nobody wants any more.
    fn keep(&self, is_wanted: impl Fn(&DomainName) -> bool) {
        self.lock().retain(|name, entry| entry.asking || is_wanted(name));
    }

    /// At most so many names to ask for now.
    fn take_due(&self, now: Timestamp, room: usize) -> Vec<DomainName> {
        let mut plain = self.lock();
        let due = plain.iter_mut().filter(|(_, entry)| !entry.asking && entry.lookup.next() <= now);
        let take = |(name, entry): (&DomainName, &mut Entry)| {
            entry.asking = true;
            name.clone()
        };
        due.take(room).map(take).collect()
    }

    /// When the next name is due.
    fn next(&self) -> Option<Timestamp> {
        self.lock().values().filter(|entry| !entry.asking).map(|entry| entry.lookup.next()).min()
    }

    /// Takes in what a question brought; tells whether anything that a pass reads has changed.
    fn hear(&self, name: &DomainName, heard: Heard, now: Timestamp) -> bool {
        let mut plain = self.lock();
        let Some(entry) = plain.get_mut(name) else { return false };
        let before = entry.lookup.known();
        entry.lookup.hear(heard, now);
        entry.asking = false;
        before != entry.lookup.known()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<DomainName, Entry>> {
        self.plain.lock().expect("no panic while the names are locked")
    }
}

/// Asks for names when they are due, until the daemon ends.
pub(crate) async fn run(context: Arc<Context>, triggers: Triggers) {
    let names = &context.names;
    let mut asking = FuturesUnordered::new();
    loop {
        let glue = cluster::names(&context);
        let is_wanted = |name: &DomainName| glue.contains(name) || is_depended_on(&context, name);
        names.keep(is_wanted);
        let now = context.now();
        for name in names.take_due(now, AT_ONCE - asking.len()) {
            asking.push(ask(&context, name));
        }
        let next = names.next().filter(|_| asking.len() < AT_ONCE);
        let wait = next.and_then(|at| Duration::try_from(at.duration_since(now)).ok());
        tokio::select! {
            Some((name, heard)) = asking.next() => {
                if names.hear(&name, heard, context.now()) {
                    changed(&context, &triggers, &name, &glue);
                }
            }
            () = names.wanted.notified() => {}
            () = tokio::time::sleep(wait.unwrap_or(LONGEST_LOOK).min(LONGEST_LOOK)) => {}
        }
    }
}

async fn ask(context: &Context, name: DomainName) -> (DomainName, Heard) {
    let heard = match context.questions.client().resolve(&name).await {
        Resolved::Found { addresses, ttl } => Heard::Found { addresses, ttl },
        Resolved::Absent { .. } => Heard::Absent,
        Resolved::NoWord(no_word) => Heard::Silent(no_word),
    };
    (name, heard)
}

fn is_depended_on(context: &Context, name: &DomainName) -> bool {
    !context.registry.dependents(&Dependency::Name(name.clone())).is_empty()
}

fn changed(context: &Context, triggers: &Triggers, name: &DomainName, glue: &BTreeSet<DomainName>) {
    wake(context, triggers, &Dependency::Name(name.clone()));
    if glue.contains(name) {
        triggers.send(Trigger::AllZoneDelegations);
    }
}
