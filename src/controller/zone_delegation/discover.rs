//! Finds the other clusters where nobody lists them: in the zone's delegation, as the parent's servers refer to it
//! and as the provider holds it. `gslb_core::fleet` judges.

use std::time::Duration;

use gslb_core::doubling::Doubling;
use gslb_core::fleet::{Move, Sighting, Source};
use gslb_core::zone::Zone;
use gslb_crds::ZoneDelegation;
use jiff::Timestamp;
use kube::Resource;
use kube::runtime::events::EventType;

use super::memory::Memory;
use super::prove::{self, Reach, Words};
use crate::controller::context::Context;
use crate::controller::{Pass, Trigger};
use crate::peer::fleet;

/// Pauses before the parent is asked again while nobody has said who the members are, or while one is missing; the
/// period if that is shorter. No outside reference.
const SOON: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// When a zone's members are looked for again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schedule {
    next: Option<Timestamp>,
    /// Looks in a row that ask for another one soon.
    hurried: u32,
    started: bool,
}

impl Schedule {
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        !self.started || self.next.is_some_and(|at| at <= now)
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    /// After a look. `soon`: something has to be looked at again before the period is over.
    fn looked(&mut self, soon: bool, period: Option<Duration>, now: Timestamp) {
        self.started = true;
        let pause = soon.then(|| SOON.next(&mut self.hurried));
        if !soon {
            self.hurried = 0;
        }
        self.next = pause.into_iter().chain(period).min().and_then(|pause| now.checked_add(pause).ok());
    }
}

/// Whether the provider of a place has to be read because a member was missing there. `due`: members are looked for.
pub(super) fn doubts_provider(pass: &Pass, zone: &Zone, place: usize, memory: &Memory, due: bool) -> bool {
    // One that fails is read when it is due; it may be the log-in that fails.
    let rests = memory.failures > 0 || !due;
    !rests && pass.context.fleet.asks_for(zone.name(), Source::Provider(place))
}

/// What one pass learns of a zone's members. Does nothing where the configuration lists them.
pub(super) struct Discovery<'a> {
    pass: &'a Pass,
    object: &'a ZoneDelegation,
    zone: &'a Zone,
    found: bool,
    /// Whether the parent is asked for members in this pass. What a proof hears from it does not count then.
    due: bool,
}

impl<'a> Discovery<'a> {
    pub(super) fn begin(
        pass: &'a Pass,
        object: &'a ZoneDelegation,
        zone: &'a Zone,
        schedule: &Schedule,
    ) -> Self {
        let found = pass.context.fleet.is_found();
        if found && fleet::keep(&pass.context) {
            pass.triggers.send(Trigger::AllGslbs);
        }
        let due = found && schedule.is_due(pass.context.now());
        Self { pass, object, zone, found, due }
    }

    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Asks the parent's servers, if that is due: those that one resolver names, and if none of them says anything
    /// that counts, those that any does (F-43).
    pub(super) async fn look(&self) {
        if !self.due {
            return;
        }
        let client = self.pass.context.questions.client();
        let mut words = prove::ask_parent(client, self.zone, Reach::OneResolver).await;
        if sighting(&words) == Sighting::Silent {
            words = prove::ask_parent(client, self.zone, Reach::EveryResolver).await;
        }
        hear(self.pass, self.object, self.zone, Source::Parent, &sighting(&words)).await;
    }

    /// Plans the next look. `places`: at how many of them providers hold the delegation. `asked`: whether the parent was
    /// asked in this pass.
    pub(super) fn end(&self, schedule: &mut Schedule, places: usize, asked: bool) {
        let context = &self.pass.context;
        let wants = |source| context.fleet.asks_for(self.zone.name(), source);
        let soon = wants(Source::Parent) || (0..places).map(Source::Provider).any(wants);
        if self.found && (asked || self.due || (soon && schedule.hurried == 0)) {
            let period = context.settings.periods.zone_delegation;
            schedule.looked(soon, period, context.now());
        }
    }
}

/// Takes in a read of a zone's delegation. Does nothing where the configuration lists the members.
pub(super) async fn hear(
    pass: &Pass,
    object: &ZoneDelegation,
    zone: &Zone,
    source: Source,
    sighting: &Sighting,
) {
    let context = &pass.context;
    if !context.fleet.is_found() {
        return;
    }
    let moves = context.fleet.hear(zone.name(), source, sighting);
    if fleet::keep(context) {
        pass.triggers.send(Trigger::AllGslbs);
    }
    for moved in moves {
        tell(context, object, zone, &moved).await;
    }
}

/// What the parent's servers say together.
pub(super) fn sighting(words: &Words) -> Sighting {
    let words = words.values().flatten();
    let words =
        words.map(|word| Sighting::of_reply(word.rcode, word.authoritative, word.name_servers.clone()));
    words.fold(Sighting::Silent, Sighting::or)
}

async fn tell(context: &Context, object: &ZoneDelegation, zone: &Zone, moved: &Move) {
    let zone = zone.name();
    let (reason, note) = match moved {
        Move::Found(peer) => {
            tracing::info!(%zone, %peer, "Found a cluster in the delegation.");
            (
                "PeerFound",
                format!("cluster {peer} stands in the delegation of {zone}, so it is a member of the fleet"),
            )
        }
        Move::Left(peer) => {
            tracing::info!(%zone, %peer, "A cluster has left the delegation.");
            (
                "PeerLeft",
                format!(
                    "cluster {peer} stands no longer in the delegation of {zone}, so it has left the fleet"
                ),
            )
        }
    };
    context.announcer.say(EventType::Normal, reason, note, &object.object_ref(&()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_zone_is_looked_at_at_once_then_soon_while_that_is_needed_and_then_with_the_period() {
        let period = Some(Duration::from_secs(300));
        let mut schedule = Schedule::default();
        assert!(schedule.is_due(at(0)));
        for next in [1, 2, 4, 8, 16, 32, 60, 60] {
            schedule.looked(true, period, at(0));
            assert_eq!(schedule.next(), Some(at(next)));
        }
        schedule.looked(false, period, at(0));
        assert_eq!((schedule.next(), schedule.is_due(at(299))), (Some(at(300)), false));
        schedule.looked(true, period, at(0));
        assert_eq!(schedule.next(), Some(at(1)));
        schedule.looked(false, None, at(0));
        assert_eq!((schedule.next(), schedule.is_due(at(9999))), (None, false));
    }

    #[test]
    fn a_zone_is_never_looked_at_less_often_than_the_period_says() {
        let mut schedule = Schedule::default();
        for next in [1, 2, 4, 5, 5, 5] {
            schedule.looked(true, Some(Duration::from_secs(5)), at(0));
            assert_eq!(schedule.next(), Some(at(next)));
        }
    }
}
