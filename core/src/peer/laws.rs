//! What holds for every story of a peer, however long and however odd.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::{Just, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use proptest::strategy::Strategy as Generate;

use super::given::{T0, no, no_with_authority, silence, yes};
use super::*;
use crate::given::{NYC, SIN, name, tag, targets};
use crate::name::DomainName;
use crate::reply::{NoWord, Reply};
use crate::target::Targets;

const HOSTS: [&str; 4] = ["a.glb.example.org", "b.glb.example.org", "c.glb.example.org", "d.glb.example.org"];
/// Short, so that stories reach it.
const HOLD: SignedDuration = SignedDuration::from_secs(20);
const LONGEST_DOUBT: SignedDuration = SignedDuration::from_secs(6);

#[derive(Debug, Clone)]
enum Event {
    Heard(Vec<Reply>),
    Told(Evidence),
    Nothing,
}

/// Something happens to one host so long after the event before it.
#[derive(Debug, Clone)]
struct Step {
    after: SignedDuration,
    host: &'static str,
    event: Event,
}

fn positive() -> impl Generate<Value = Reply> {
    select(vec![yes(NYC), yes(SIN)])
}

fn no_word() -> impl Generate<Value = Reply> {
    select(vec![silence(), Reply::NoWord(NoWord::Refused), Reply::NoWord(NoWord::ServFail)])
}

fn any_reply() -> impl Generate<Value = Reply> {
    prop_oneof![positive(), no_word(), Just(no()), Just(no_with_authority())]
}

fn any_evidence() -> impl Generate<Value = Evidence> {
    let word = select(vec![Some(targets(NYC)), Some(targets(SIN)), None]);
    prop_oneof![
        word.prop_map(|targets| Evidence::Witness { by: tag("sin"), targets }),
        any::<bool>().prop_map(|reachable| Evidence::Probe { reachable }),
    ]
}

fn any_event() -> impl Generate<Value = Event> {
    prop_oneof![
        3 => vec(any_reply(), 0..3).prop_map(Event::Heard),
        1 => any_evidence().prop_map(Event::Told),
        1 => Just(Event::Nothing),
    ]
}

fn story_of(event: impl Generate<Value = Event>) -> impl Generate<Value = Vec<Step>> {
    let bounds = select(vec![300, 500, 1000, 2000, 3000, 5000, 6000, 20_000]);
    let pause = prop_oneof![0_i64..400, 0_i64..4000, bounds].prop_map(SignedDuration::from_millis);
    let step = (pause, select(HOSTS.to_vec()), event);
    vec(step.prop_map(|(after, host, event)| Step { after, host, event }), 0..30)
}

fn any_story() -> impl Generate<Value = Vec<Step>> {
    story_of(any_event())
}

fn round(replies: &[Reply]) -> Round {
    Round::new((53..).map(|last: u8| ([198, 51, 100, last], 53).into()).zip(replies.iter().cloned()))
}

fn at_start() -> PeerViews {
    let mut views = PeerViews::default();
    views.watch(&HOSTS.iter().map(|host| (name(host), HOLD)).collect(), T0);
    views
}

/// Every host was named once.
fn all_answered() -> PeerViews {
    let mut views = at_start();
    for host in HOSTS {
        views.hear(&name(host), &round(&[yes(NYC)]), T0);
    }
    views
}

/// Tells a story; after every step, and after the tick that follows it, `check` sees the views before and after.
fn tell(
    mut views: PeerViews,
    story: &[Step],
    mut check: impl FnMut(&PeerViews, &Step, &PeerViews, Timestamp),
) {
    let mut now = T0;
    for step in story {
        now += step.after;
        views.tick(now);
        let before = views.clone();
        match &step.event {
            Event::Heard(replies) => views.hear(&name(step.host), &round(replies), now),
            Event::Told(evidence) => views.consider(&name(step.host), evidence.clone(), now),
            Event::Nothing => None,
        };
        views.tick(now);
        check(&before, step, &views, now);
    }
}

fn words(views: &PeerViews) -> BTreeMap<DomainName, Option<LastWord>> {
    views.iter().map(|(host, view)| (host.clone(), view.last_word().cloned())).collect()
}

fn tiers(views: &PeerViews) -> Vec<Tier> {
    views.iter().map(|(_, view)| view.tier()).collect()
}

fn denied(event: &Event) -> bool {
    match event {
        Event::Heard(replies) => replies.iter().any(|reply| matches!(reply, Reply::Negative { .. })),
        Event::Told(evidence) => matches!(evidence, Evidence::Witness { targets: None, .. }),
        Event::Nothing => false,
    }
}

fn new_word(event: &Event) -> Option<Targets> {
    match event {
        Event::Heard(replies) => match round(replies).verdict() {
            Verdict::Positive(targets) | Verdict::Partial(targets) => Some(targets),
            Verdict::Negative { .. } | Verdict::Mixed(_) | Verdict::NoWord(_) => None,
        },
        Event::Told(Evidence::Witness { targets, .. }) => targets.clone(),
        Event::Told(Evidence::Probe { .. }) | Event::Nothing => None,
    }
}

/// What the decision reads of all views.
fn sights(views: &PeerViews) -> Vec<(Tier, Option<Targets>, bool)> {
    let sight =
        |view: &View| (view.tier(), view.last_word().map(|word| word.targets.clone()), view.has_verdict());
    views.iter().map(|(_, view)| sight(view)).collect()
}

proptest! {
    #[test]
    fn a_peer_of_which_some_address_says_yes_and_none_says_no_stays_answered(
        story in story_of((positive(), vec(prop_oneof![positive(), no_word()], 0..3)).prop_map(|(yes, mut more)| {
            more.push(yes);
            Event::Heard(more)
        })),
    ) {
        tell(all_answered(), &story, |_, _, views, _| {
            assert!(views.iter().all(|(_, view)| *view.state() == State::Answered));
        });
    }

    /// F-34.
    #[test]
    fn a_peer_that_is_only_silent_never_becomes_down(
        story in story_of(vec(no_word(), 0..3).prop_map(Event::Heard)),
    ) {
        for views in [at_start(), all_answered()] {
            tell(views, &story, |_, _, views, _| assert!(!tiers(views).contains(&Tier::Down)));
        }
    }

    /// Conformance 103; F-34.
    #[test]
    fn no_single_round_of_silence_moves_traffic(story in any_story(), quiet in no_word()) {
        tell(all_answered(), &story, |_, step, views, now| {
            let host = name(step.host);
            let mut silent = views.clone();
            let answered = views.get(&host).is_some_and(|view| *view.state() == State::Answered);
            let transition = silent.hear(&host, &round(std::slice::from_ref(&quiet)), now);
            assert!(!answered || transition.is_some_and(|transition| !transition.decisive));
        });
    }

    #[test]
    fn a_peer_becomes_down_only_by_a_no_of_its_own_or_of_a_witness(story in any_story()) {
        tell(at_start(), &story, |before, step, after, _| {
            assert!(denied(&step.event) || !became_down(before, after));
        });
    }

    #[test]
    fn targets_change_only_by_a_positive_word_about_that_host(story in any_story()) {
        tell(at_start(), &story, |before, step, after, now| {
            let mut expected = words(before);
            if words(after) != expected {
                let word = new_word(&step.event).map(|targets| LastWord { targets, at: now });
                expected.insert(name(step.host), word);
            }
            assert_eq!(words(after), expected);
        });
    }

    #[test]
    fn no_state_outlives_its_bound(story in any_story()) {
        tell(at_start(), &story, |_, _, views, now| {
            assert!(views.iter().all(|(_, view)| within_bounds(view, now)));
        });
    }

    #[test]
    fn a_transition_that_is_not_decisive_leaves_the_decision_as_it_was(story in any_story()) {
        let mut now = T0;
        let mut views = at_start();
        for step in &story {
            now += step.after;
            let before = sights(&views);
            let decisive = views.tick(now).iter().any(|(_, transition)| transition.decisive);
            prop_assert_eq!(decisive, sights(&views) != before);
            let before = sights(&views);
            let transition = match &step.event {
                Event::Heard(replies) => views.hear(&name(step.host), &round(replies), now),
                Event::Told(evidence) => views.consider(&name(step.host), evidence.clone(), now),
                Event::Nothing => None,
            };
            prop_assert_eq!(transition.is_some_and(|it| it.decisive), sights(&views) != before);
        }
    }

    #[test]
    fn a_second_tick_at_the_same_time_changes_nothing(story in any_story()) {
        tell(at_start(), &story, |_, _, views, now| {
            let mut again = views.clone();
            assert_eq!(again.tick(now), []);
            assert_eq!(&again, views);
        });
    }

    #[test]
    fn the_next_look_lies_ahead_unless_a_host_is_due(story in any_story()) {
        tell(at_start(), &story, |_, _, views, now| {
            let overdue = views.next_look().is_some_and(|next| next <= now);
            assert_eq!(overdue, !views.due(now).is_empty());
        });
    }

    #[test]
    fn a_restart_forgets_neither_tier_nor_targets(story in any_story()) {
        tell(at_start(), &story, |_, _, views, now| {
            let mut after = at_start();
            after.restore(&views.remember(), now);
            assert_eq!(tiers(&after), tiers(views));
            assert_eq!(words(&after), words(views));
        });
    }

    #[test]
    fn the_order_of_replies_is_irrelevant(
        (replies, shuffled) in vec(any_reply(), 0..5).prop_flat_map(|replies| {
            let addressed: Vec<_> =
                (53..).map(|last: u8| ([198, 51, 100, last], 53).into()).zip(replies).collect();
            (Just(addressed.clone()), Just(addressed).prop_shuffle())
        }),
    ) {
        prop_assert_eq!(Round::new(replies), Round::new(shuffled));
    }
}

fn became_down(before: &PeerViews, after: &PeerViews) -> bool {
    tiers(before).iter().zip(tiers(after)).any(|(before, after)| *before != Tier::Down && after == Tier::Down)
}

fn within_bounds(view: &View, now: Timestamp) -> bool {
    match view.state() {
        State::Doubt(doubt) => now.duration_since(doubt.since) < LONGEST_DOUBT,
        State::Relayed { refreshed, .. } => now.duration_since(*refreshed) < RELAY_REFRESH,
        State::Held => view.last_word().is_some_and(|word| now.duration_since(word.at) < HOLD),
        State::Unknown { .. } | State::Answered | State::Lost(_) | State::NoTargets(_) => true,
    }
}
