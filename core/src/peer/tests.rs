//! Every row of the state table (design §2.1), by name and with explicit times in milliseconds.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::given::{
    Peer, SHOP, T0, answered, at, cut, named, never_asked, no, no_with_authority, peer_with, probe, silence,
    witness, witness_of_no, yes,
};
use super::*;
use crate::given::{NYC, name, tag, targets};
use crate::reply::{NoWord, Reply};

const A: &str = "a.glb.example.org";
const B: &str = "b.glb.example.org";
const C: &str = "c.glb.example.org";
const OTHER: &[&str] = &["198.51.100.29"];

const DOWN: State = State::NoTargets(NoTargetsReason::Negative);
const INCONSISTENT: State = State::NoTargets(NoTargetsReason::PeerInconsistent);
const WITNESSED: State = State::NoTargets(NoTargetsReason::Witnessed);
const LOST: State = State::Lost(NoWord::Timeout);
const DECISIVE: Option<Transition> = Some(Transition { decisive: true, renamed: true });
const RENAMED: Option<Transition> = Some(Transition { decisive: false, renamed: true });
const NOTHING: Option<Transition> = Some(Transition { decisive: false, renamed: false });

/// State, what it is worth, since when it has its name, and the last word.
fn belief(peer: &Peer) -> (State, Tier, Timestamp, Option<LastWord>) {
    let view = peer.view();
    (view.state().clone(), view.tier(), view.since(), view.last_word().cloned())
}

fn silent() -> DoubtCause {
    DoubtCause::NoWord(NoWord::Timeout)
}

/// A peer whose last word is doubted because it fell silent at 5 s.
fn in_silent_doubt() -> Peer {
    answered(NYC).hears(5000, [silence()])
}

/// A peer that fell silent at 5 s and was given up at 7.5 s.
fn lost() -> Peer {
    in_silent_doubt().hears(5500, [silence()]).hears(6500, [silence()]).hears(7500, [silence()])
}

/// A silent peer whose targets answered a probe at 8 s.
fn held() -> Peer {
    lost().learns(8000, probe(true))
}

/// A silent peer that a witness heard at 8 s.
fn relayed() -> Peer {
    lost().learns(8000, witness(NYC))
}

/// A peer that said no at 5 s.
fn down() -> Peer {
    answered(NYC).hears(5000, [no_with_authority()])
}

/// A peer that was asked once at 0 s and kept silent.
fn never_heard() -> Peer {
    never_asked().hears(0, [silence()])
}

// The table's first row.

#[test]
fn a_positive_word_makes_any_state_answered_at_once() {
    let doubted = answered(NYC).hears(5000, [no()]);
    for peer in [never_asked(), never_heard(), doubted, in_silent_doubt(), lost(), held(), relayed(), down()]
    {
        let peer = peer.hears(9000, [yes(OTHER)]);
        let since = peer.view().since();
        assert_eq!(belief(&peer), (State::Answered, Tier::Good, since, named(OTHER, 9000)));
        assert_eq!((since, peer.last), (at(9000), DECISIVE));
    }
}

#[test]
fn a_repeated_word_keeps_the_state_and_refreshes_the_last_word() {
    let peer = answered(NYC).hears(5000, [yes(NYC)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, T0, named(NYC, 5000)));
    assert_eq!(peer.last, NOTHING);
}

#[test]
fn a_word_with_other_targets_is_decisive() {
    let peer = answered(NYC).hears(5000, [yes(OTHER)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, T0, named(OTHER, 5000)));
    assert_eq!(peer.last, Some(Transition { decisive: true, renamed: false }));
}

/// Conformance 102; F-31.
#[test]
fn one_dead_address_changes_nothing() {
    let peer = answered(NYC).hears(5000, [yes(NYC), silence()]).hears(10_000, [silence(), yes(NYC)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, T0, named(NYC, 10_000)));
    assert_eq!(peer.last, NOTHING);
}

#[test]
fn addresses_with_different_targets_are_believed_together() {
    let peer = answered(NYC).hears(5000, [yes(&["198.51.100.20"]), yes(OTHER)]);
    let both = named(&["198.51.100.20", "198.51.100.29"], 5000);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, T0, both));
}

/// Conformance 106.
#[test]
fn a_cut_answer_takes_no_target_away() {
    const BOTH: &[&str] = &["198.51.100.20", "198.51.100.29"];
    let peer = answered(BOTH).hears(5000, [cut(OTHER)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, T0, named(BOTH, 5000)));
    assert_eq!(peer.last, NOTHING);
    let whole = peer.hears(10_000, [yes(OTHER)]);
    assert_eq!(belief(&whole), (State::Answered, Tier::Good, T0, named(OTHER, 10_000)));
}

#[test]
fn a_cut_answer_with_a_new_target_is_believed() {
    let first = never_asked().hears(0, [cut(NYC)]);
    assert_eq!(belief(&first), (State::Answered, Tier::Good, T0, named(NYC, 0)));
    let peer = answered(NYC).hears(5000, [cut(OTHER)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, T0, named(OTHER, 5000)));
}

#[test]
fn a_cut_answer_brings_nothing_back_that_the_peer_took_back() {
    let both = answered(&["198.51.100.20", "198.51.100.29"]);
    let peer = both.hears(5000, [no_with_authority()]).hears(10_000, [cut(OTHER)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, at(10_000), named(OTHER, 10_000)));
}

// Answered, and a negative word.

#[test]
fn a_negative_from_a_gslb_bridge_peer_is_no_targets_at_once() {
    let peer = answered(NYC).hears(5000, [no_with_authority(), silence()]);
    assert_eq!(belief(&peer), (DOWN, Tier::Down, at(5000), named(NYC, 0)));
    assert_eq!(peer.last, DECISIVE);
}

#[test]
fn a_negative_of_which_one_address_lacks_authority_is_doubted() {
    let peer = answered(NYC).hears(5000, [no_with_authority(), no()]);
    let doubt = State::Doubt(Doubt::new(DoubtCause::Negative, at(5000)));
    assert_eq!(belief(&peer), (doubt, Tier::Good, at(5000), named(NYC, 0)));
}

#[test]
fn one_negative_of_a_reloading_k8gb_peer_changes_nothing() {
    let doubted = answered(NYC).hears(5000, [no()]);
    assert_eq!(doubted.view().tier(), Tier::Good);
    assert_eq!(doubted.last, RENAMED);
    let peer = doubted.hears(5300, [yes(NYC)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, at(5300), named(NYC, 5300)));
    assert_eq!(peer.last, RENAMED);
}

#[test]
fn a_negative_without_authority_is_asked_again_after_300_ms_1_s_and_2_s() {
    let first = answered(NYC).hears(5000, [no()]);
    let second = first.clone().hears(5300, [no()]);
    let third = second.clone().hears(6000, [no()]);
    assert_eq!([first.is_due(5299), first.is_due(5300)], [false, true]);
    assert_eq!([second.is_due(5999), second.is_due(6000)], [false, true]);
    assert_eq!([third.is_due(6999), third.is_due(7000)], [false, true]);
    let next = [first, second, third].map(|peer| peer.views.next_look());
    assert_eq!(next, [Some(at(5300)), Some(at(6000)), Some(at(7000))]);
}

#[test]
fn a_negative_without_authority_is_no_targets_when_repeated_for_2_s() {
    let repeated = answered(NYC).hears(5000, [no()]).hears(5300, [no()]).hears(6000, [no()]);
    let doubt = Doubt { tries: 2, ..Doubt::new(DoubtCause::Negative, at(5000)) };
    assert_eq!(belief(&repeated), (State::Doubt(doubt), Tier::Good, at(5000), named(NYC, 0)));
    let peer = repeated.hears(7000, [no()]);
    assert_eq!(belief(&peer), (DOWN, Tier::Down, at(7000), named(NYC, 0)));
    assert_eq!(peer.last, DECISIVE);
}

#[test]
fn silent_addresses_do_not_count_against_a_repeated_negative() {
    let peer = answered(NYC).hears(5000, [no(), silence()]).hears(5300, [silence(), silence()]);
    let peer = peer.hears(6000, [silence(), no()]).hears(7000, [no(), silence()]);
    assert_eq!(belief(&peer), (DOWN, Tier::Down, at(7000), named(NYC, 0)));
}

#[test]
fn a_doubted_peer_that_then_says_no_with_authority_has_no_targets_at_once() {
    for doubted in [answered(NYC).hears(5000, [no()]), in_silent_doubt()] {
        let peer = doubted.hears(5300, [no_with_authority()]);
        assert_eq!(belief(&peer), (DOWN, Tier::Down, at(5300), named(NYC, 0)));
    }
}

#[test]
fn a_silent_doubt_that_hears_a_negative_without_authority_starts_its_repeats() {
    let peer = in_silent_doubt().hears(5500, [no()]);
    let doubt = State::Doubt(Doubt::new(DoubtCause::Negative, at(5500)));
    assert_eq!(belief(&peer), (doubt, Tier::Good, at(5000), named(NYC, 0)));
}

#[test]
fn a_negative_followed_by_silence_is_lost_after_6_s_and_not_down() {
    let peer = answered(NYC).hears(5000, [no()]).hears(6000, [silence()]);
    assert_eq!(peer.clone().waits_until(10_999).view().tier(), Tier::Good);
    assert_eq!(belief(&peer.waits_until(11_000)), (LOST, Tier::Unknown, at(11_000), named(NYC, 0)));
}

// Several hosts that vanish together.

/// Three hosts that were named at 0 ms and vanished at 5 s; the last repeat was at `millis`.
fn reloading(millis: i64) -> Peer {
    let all = &[A, B, C];
    let peer = peer_with(all).hears_about_all(all, 0, [yes(NYC)]).hears_about_all(all, 5000, [no()]);
    peer.hears_about_all(all, 5300, [no()]).hears_about_all(all, millis, [no()])
}

#[test]
fn three_hosts_that_vanish_together_are_believed_after_5_s_only() {
    let doubt =
        State::Doubt(Doubt { tries: 2, together: true, ..Doubt::new(DoubtCause::Negative, at(5000)) });
    assert_eq!(reloading(9999).states_of(&[A, B, C]), [doubt.clone(), doubt.clone(), doubt]);
    assert_eq!(reloading(10_000).states_of(&[A, B, C]), [DOWN, DOWN, DOWN]);
}

#[test]
fn two_hosts_that_vanish_together_are_believed_after_2_s() {
    let both = &[A, B];
    let peer = peer_with(both).hears_about_all(both, 0, [yes(NYC)]).hears_about_all(both, 5000, [no()]);
    assert_eq!(peer.hears_about_all(both, 7000, [no()]).states_of(both), [DOWN, DOWN]);
}

#[test]
fn three_hosts_that_vanish_one_after_another_are_believed_after_2_s_each() {
    let peer = peer_with(&[A, B, C]).hears_about_all(&[A, B, C], 0, [yes(NYC)]);
    let peer = peer.hears_about(A, 5000, [no()]).hears_about(B, 6500, [no()]);
    let peer = peer.hears_about(A, 7000, [no()]).hears_about(C, 8000, [no()]);
    let peer = peer.hears_about(B, 8500, [no()]).hears_about(C, 10_000, [no()]);
    assert_eq!(peer.states_of(&[A, B, C]), [DOWN, DOWN, DOWN]);
}

#[test]
fn the_first_host_that_is_back_after_a_reload_takes_nothing_from_the_others() {
    let first = reloading(6000).hears_about(A, 7000, [yes(NYC)]).hears_about_all(&[B, C], 7000, [no()]);
    let last = reloading(6000).hears_about_all(&[B, C], 7000, [no()]).hears_about(A, 7000, [yes(NYC)]);
    assert_eq!(first.views, last.views);
    let back = first.hears_about_all(&[B, C], 8000, [yes(NYC)]);
    assert_eq!(back.states_of(&[A, B, C]), [State::Answered, State::Answered, State::Answered]);
}

#[test]
fn hosts_that_a_gslb_bridge_peer_denies_together_are_believed_at_once() {
    let all = &[A, B, C];
    let peer = peer_with(all).hears_about_all(all, 0, [yes(NYC)]);
    let peer = peer.hears_about_all(all, 5000, [no_with_authority()]);
    assert_eq!(peer.states_of(all), [DOWN, DOWN, DOWN]);
}

// Answered, and addresses that disagree.

#[test]
fn addresses_that_disagree_are_doubted_and_keep_the_last_word() {
    let peer = answered(NYC).hears(5000, [yes(OTHER), no_with_authority()]);
    let doubt = State::Doubt(Doubt::new(DoubtCause::Mixed, at(5000)));
    assert_eq!(belief(&peer), (doubt, Tier::Good, at(5000), named(NYC, 0)));
    assert_eq!((peer.is_due(5299), peer.is_due(5300)), (false, true));
}

#[test]
fn addresses_that_disagree_for_5_s_are_no_targets_as_inconsistent() {
    let peer = answered(NYC).hears(5000, [yes(NYC), no()]).hears(9999, [yes(NYC), no()]);
    assert_eq!(peer.view().tier(), Tier::Good);
    let peer = peer.hears(10_000, [no(), yes(NYC)]);
    assert_eq!(belief(&peer), (INCONSISTENT, Tier::Down, at(10_000), named(NYC, 0)));
    assert_eq!(peer.view().cause(), "PeerInconsistent");
}

#[test]
fn addresses_that_agree_again_end_the_doubt() {
    let peer = answered(NYC).hears(5000, [yes(NYC), no()]);
    let yes = peer.clone().hears(6000, [yes(NYC), yes(NYC)]);
    assert_eq!(belief(&yes), (State::Answered, Tier::Good, at(6000), named(NYC, 6000)));
    let no = peer.hears(7000, [no(), no()]);
    assert_eq!(belief(&no), (DOWN, Tier::Down, at(7000), named(NYC, 0)));
}

#[test]
fn disagreement_brings_neither_a_lost_nor_a_down_peer_back() {
    let lost = lost().hears(9000, [yes(NYC), no()]);
    assert_eq!(belief(&lost), (LOST, Tier::Unknown, at(7500), named(NYC, 0)));
    let down = down().hears(9000, [yes(NYC), no()]);
    assert_eq!(belief(&down), (DOWN, Tier::Down, at(5000), named(NYC, 0)));
}

#[test]
fn a_peer_never_heard_whose_addresses_disagree_for_5_s_is_no_targets_as_inconsistent() {
    let peer = never_asked().hears(0, [yes(NYC), no()]).hears(4999, [yes(NYC), no()]);
    assert_eq!(belief(&peer), (State::Unknown { mixed_since: Some(T0) }, Tier::Unknown, T0, None));
    assert_eq!(belief(&peer.hears(5000, [yes(NYC), no()])), (INCONSISTENT, Tier::Down, at(5000), None));
}

// Answered, and no word.

/// Conformance 103; F-34.
#[test]
fn one_lost_packet_changes_nothing() {
    let doubted = in_silent_doubt();
    let doubt = State::Doubt(Doubt::new(silent(), at(5000)));
    assert_eq!(belief(&doubted), (doubt, Tier::Good, at(5000), named(NYC, 0)));
    assert_eq!(doubted.last, RENAMED);
    let peer = doubted.hears(5100, [yes(NYC)]);
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, at(5100), named(NYC, 5100)));
    assert_eq!(peer.last, RENAMED);
}

#[test]
fn a_silent_peer_is_lost_after_three_more_tries() {
    let second = in_silent_doubt().hears(5500, [silence()]).hears(6500, [silence()]);
    assert_eq!(second.view().tier(), Tier::Good);
    let third = second.hears(7500, [silence()]);
    assert_eq!(belief(&third), (LOST, Tier::Unknown, at(7500), named(NYC, 0)));
    assert_eq!(third.last, DECISIVE);
}

#[test]
fn the_verdict_on_a_silent_peer_comes_within_3_s_whatever_the_tries_do() {
    let slow = in_silent_doubt().hears(6000, [silence()]);
    assert_eq!(slow.clone().waits_until(7999).view().tier(), Tier::Good);
    let peer = slow.waits_until(8000);
    assert_eq!(belief(&peer), (LOST, Tier::Unknown, at(8000), named(NYC, 0)));
    assert_eq!(peer.last, DECISIVE);
}

#[test]
fn tries_after_silence_start_after_0_500_and_1500_ms() {
    let first = in_silent_doubt();
    let second = first.clone().hears(5001, [silence()]);
    let third = second.clone().hears(5501, [silence()]);
    assert_eq!([first.is_due(4999), first.is_due(5000)], [false, true]);
    assert_eq!([second.is_due(5499), second.is_due(5500)], [false, true]);
    assert_eq!([third.is_due(6499), third.is_due(6500)], [false, true]);
}

/// F-34.
#[test]
fn every_failure_to_answer_is_silence_and_lends_its_name_to_the_cause() {
    let refused = [Reply::NoWord(NoWord::Refused), Reply::NoWord(NoWord::Refused)];
    let peer = answered(NYC).hears(5000, refused.clone()).hears(5001, refused.clone());
    let peer = peer.hears(5500, refused.clone()).hears(6500, refused);
    assert_eq!(belief(&peer), (State::Lost(NoWord::Refused), Tier::Unknown, at(6500), named(NYC, 0)));
    assert_eq!((peer.view().reason(), peer.view().cause()), ("Lost", NoWord::Refused.reason()));
}

#[test]
fn a_peer_without_any_known_address_is_silent() {
    assert_eq!(answered(NYC).hears(5000, []).view(), in_silent_doubt().view());
}

#[test]
fn a_lost_peer_that_stays_silent_stays_lost() {
    let peer = lost().hears(12_500, [silence()]).waits_until(3_600_000);
    assert_eq!(belief(&peer), (LOST, Tier::Unknown, at(7500), named(NYC, 0)));
}

// Evidence.

#[test]
fn a_witness_relays_the_word_of_a_doubted_or_lost_peer() {
    for silent in [in_silent_doubt(), lost()] {
        let peer = silent.learns(8000, witness(OTHER));
        let state = State::Relayed { witness: tag("sin"), refreshed: at(8000) };
        assert_eq!(belief(&peer), (state, Tier::Good, at(8000), named(OTHER, 8000)));
        assert_eq!(peer.last, DECISIVE);
    }
}

#[test]
fn a_relayed_word_is_good_while_its_witness_repeats_it() {
    let peer = relayed().waits_until(12_999).learns(12_999, witness(NYC)).waits_until(17_998);
    let state = State::Relayed { witness: tag("sin"), refreshed: at(12_999) };
    assert_eq!(belief(&peer), (state, Tier::Good, at(8000), named(NYC, 12_999)));
}

#[test]
fn a_relayed_word_is_lost_when_its_witness_is_silent_for_5_s() {
    assert_eq!(relayed().views.next_look(), Some(at(13_000)));
    assert_eq!(relayed().waits_until(12_999).view().tier(), Tier::Good);
    assert_eq!(belief(&relayed().waits_until(13_000)), (LOST, Tier::Unknown, at(13_000), named(NYC, 8000)));
}

#[test]
fn a_successful_probe_holds_the_last_word_of_a_silent_peer() {
    for silent in [in_silent_doubt(), lost()] {
        let peer = silent.learns(8000, probe(true));
        assert_eq!(belief(&peer), (State::Held, Tier::Good, at(8000), named(NYC, 0)));
    }
}

#[test]
fn a_held_word_is_lost_when_its_bound_is_reached_counted_from_the_word() {
    assert_eq!(held().views.next_look(), Some(at(300_000)));
    assert_eq!(held().waits_until(299_999).view().tier(), Tier::Good);
    assert_eq!(belief(&held().waits_until(300_000)), (LOST, Tier::Unknown, at(300_000), named(NYC, 0)));
}

#[test]
fn a_word_older_than_its_bound_is_not_held() {
    let peer = lost().learns(300_000, probe(true));
    assert_eq!(belief(&peer), (LOST, Tier::Unknown, at(7500), named(NYC, 0)));
}

#[test]
fn a_bound_beyond_the_calendar_holds_for_ever() {
    let mut peer = held();
    peer.views.watch(&[(name(SHOP), SignedDuration::MAX)].into(), at(8000));
    assert_eq!(peer.views.next_look(), None);
    assert_eq!(peer.waits_until(86_400_000).view().state(), &State::Held);
}

#[test]
fn a_held_word_is_lost_when_probes_fail() {
    let peer = held().learns(9000, probe(false));
    assert_eq!(belief(&peer), (LOST, Tier::Unknown, at(9000), named(NYC, 0)));
}

#[test]
fn further_silence_ends_neither_a_held_nor_a_relayed_word() {
    for peer in [held(), relayed()] {
        assert_eq!(peer.clone().hears(9000, [silence()]).view(), peer.view());
    }
}

#[test]
fn a_witness_of_a_negative_beats_a_positive_probe() {
    let peer = held().learns(9000, witness_of_no()).learns(9001, probe(true));
    assert_eq!(belief(&peer), (WITNESSED, Tier::Down, at(9000), named(NYC, 0)));
}

#[test]
fn a_witness_of_a_negative_ends_a_relayed_word() {
    let peer = relayed().learns(9000, witness_of_no());
    assert_eq!(belief(&peer), (WITNESSED, Tier::Down, at(9000), named(NYC, 8000)));
}

#[test]
fn a_held_or_relayed_peer_that_says_no_is_believed_as_one_that_answered() {
    for peer in [held(), relayed()] {
        let (since, word) = (at(9000), peer.view().last_word().cloned());
        let at_once = peer.clone().hears(9000, [no_with_authority()]);
        assert_eq!(belief(&at_once), (DOWN, Tier::Down, since, word.clone()));
        let doubted = peer.hears(9000, [no()]);
        let doubt = State::Doubt(Doubt::new(DoubtCause::Negative, since));
        assert_eq!(belief(&doubted), (doubt, Tier::Good, since, word));
    }
}

#[test]
fn evidence_stands_in_for_silence_and_never_against_the_peers_own_no() {
    for own_word in [[no(), no()], [yes(NYC), no()]] {
        let doubted = answered(NYC).hears(5000, own_word);
        for evidence in [probe(true), probe(false), witness(NYC), witness_of_no()] {
            assert_eq!(doubted.clone().learns(5100, evidence).view(), doubted.view());
        }
    }
}

#[test]
fn evidence_says_nothing_about_a_peer_that_speaks_or_was_never_heard_or_is_down() {
    for peer in [answered(NYC), never_asked(), never_heard(), down()] {
        for evidence in [probe(true), probe(false), witness(OTHER), witness_of_no()] {
            let after = peer.clone().learns(9000, evidence);
            assert_eq!((after.view(), after.last), (peer.view(), NOTHING));
        }
    }
}

// NoTargets and never heard.

#[test]
fn a_peer_without_targets_that_falls_silent_stays_down() {
    let peer = down().hears(10_000, [silence()]).hears(15_000, [silence()]).waits_until(3_600_000);
    assert_eq!(belief(&peer), (DOWN, Tier::Down, at(5000), named(NYC, 0)));
}

#[test]
fn a_silent_peer_that_was_never_heard_is_unknown_without_targets() {
    let peer = never_heard().hears(5000, [silence()]).waits_until(3_600_000);
    assert_eq!(belief(&peer), (State::Unknown { mixed_since: None }, Tier::Unknown, T0, None));
}

#[test]
fn a_peer_that_was_never_heard_or_lost_or_has_no_targets_is_believed_its_no_at_once() {
    let never = never_asked().hears(9000, [no()]);
    assert_eq!(belief(&never), (DOWN, Tier::Down, at(9000), None));
    let lost = lost().hears(9000, [no(), silence()]);
    assert_eq!(belief(&lost), (DOWN, Tier::Down, at(9000), named(NYC, 0)));
    let down = down().hears(9000, [no()]);
    assert_eq!(belief(&down), (DOWN, Tier::Down, at(5000), named(NYC, 0)));
}

// First verdict.

#[test]
fn a_host_has_a_first_verdict_once_the_peer_was_asked() {
    assert!(!never_asked().view().has_verdict());
    assert!(!never_asked().waits_until(60_000).view().has_verdict());
    for reply in [yes(NYC), no(), no_with_authority(), silence()] {
        let peer = never_asked().hears(100, [reply]);
        assert!(peer.view().has_verdict());
        assert!(peer.last.is_some_and(|transition| transition.decisive));
    }
}

#[test]
fn the_cause_of_an_unknown_view_tells_why_it_is_unknown() {
    let mixed = never_asked().hears(0, [yes(NYC), no()]);
    let causes = [never_asked(), never_heard(), mixed].map(|peer| peer.view().cause());
    assert_eq!(causes, ["NotAsked", "NeverHeard", "PeerInconsistent"]);
}

// Restart.

#[test]
fn views_survive_a_restart_with_their_last_targets() {
    for (before, state, tier) in [
        (answered(NYC), State::Answered, Tier::Good),
        (in_silent_doubt(), State::Answered, Tier::Good),
        (held(), State::Answered, Tier::Good),
        (lost(), LOST, Tier::Unknown),
        (down(), DOWN, Tier::Down),
    ] {
        assert_eq!(belief(&before.restarts(20_000)), (state, tier, at(20_000), named(NYC, 0)));
    }
}

#[test]
fn a_restored_view_is_no_first_verdict() {
    let restored = answered(NYC).restarts(20_000);
    assert!(!restored.view().has_verdict());
    let asked = restored.hears(20_100, [yes(NYC)]);
    assert!(asked.view().has_verdict());
    assert_eq!(asked.last, Some(Transition { decisive: true, renamed: false }));
}

#[test]
fn a_restored_word_is_doubted_and_lost_when_the_peer_is_silent_now() {
    let peer = answered(NYC).restarts(20_000).hears(20_500, [silence()]);
    let doubt = State::Doubt(Doubt::new(silent(), at(20_500)));
    assert_eq!(belief(&peer), (doubt, Tier::Good, at(20_500), named(NYC, 0)));
    assert_eq!(belief(&peer.waits_until(23_500)), (LOST, Tier::Unknown, at(23_500), named(NYC, 0)));
}

#[test]
fn what_the_peer_said_since_the_start_is_not_overwritten_by_what_was_stored() {
    let stored = answered(NYC).views.remember();
    let mut peer = never_asked().hears(100, [no()]);
    peer.views.restore(&stored, at(200));
    assert_eq!(belief(&peer), (DOWN, Tier::Down, at(100), None));
}

#[test]
fn a_silence_since_the_start_is_no_reason_to_forget_what_was_stored() {
    let mut peer = never_asked().hears(100, [silence()]);
    peer.views.restore(&answered(NYC).views.remember(), at(200));
    assert_eq!(belief(&peer), (State::Answered, Tier::Good, at(200), named(NYC, 0)));
    assert!(peer.view().has_verdict());
}

#[test]
fn hosts_that_are_no_longer_watched_are_not_restored() {
    let stored = answered(NYC).views.remember();
    let mut peer = peer_with(&[A]);
    peer.views.restore(&stored, at(200));
    assert_eq!(peer.views, peer_with(&[A]).views);
}

#[test]
fn never_heard_views_are_not_stored() {
    assert_eq!(never_asked().views.remember(), [].into());
    assert_eq!(never_heard().views.remember(), [].into());
}

#[test]
fn a_stored_state_that_this_version_does_not_know_is_ignored() {
    let unknown = Remembered { state: "Ejected".into(), targets: targets(NYC), heard: Some(T0) };
    let wordless = Remembered { state: "Answered".into(), targets: targets(&[]), heard: None };
    for stored in [unknown, wordless] {
        let mut peer = never_asked();
        peer.views.restore(&[(name(SHOP), stored)].into(), at(200));
        assert_eq!(peer.views, never_asked().views);
    }
}

#[test]
fn views_are_stored_as_stable_json() {
    let stored = [answered(NYC), never_asked().hears(0, [no()])].map(|peer| peer.views.remember());
    assert_eq!(
        serde_json::to_value(&stored).unwrap(),
        serde_json::json!([
            {"shop.glb.example.org": {
                "state": "Answered",
                "targets": ["198.51.100.20", "198.51.100.21"],
                "heard": "2027-01-15T08:00:00Z",
            }},
            {"shop.glb.example.org": {"state": "NoTargets"}},
        ])
    );
    let text = serde_json::to_string(&stored).unwrap();
    assert_eq!(serde_json::from_str::<[BTreeMap<_, _>; 2]>(&text).unwrap(), stored);
}

// The schedule and the hosts.

#[test]
fn only_doubted_hosts_are_asked_outside_the_sweep() {
    for peer in [never_asked(), never_heard(), answered(NYC), lost(), held(), relayed(), down()] {
        assert_eq!(peer.views.due(at(3_600_000)), []);
    }
    assert_eq!(in_silent_doubt().views.due(at(5000)), [name(SHOP)]);
}

#[test]
fn the_next_look_is_the_earliest_of_all_hosts() {
    let peer = peer_with(&[A, B]).hears_about_all(&[A, B], 0, [yes(NYC)]);
    assert_eq!(peer.views.next_look(), None);
    let peer = peer.hears_about(A, 5000, [no()]).hears_about(B, 5100, [no()]);
    assert_eq!(peer.views.next_look(), Some(at(5300)));
    assert_eq!(peer.views.due(at(5300)), [name(A)]);
    assert_eq!(peer.views.due(at(5400)), [name(A), name(B)]);
}

#[test]
fn a_new_host_starts_unknown_and_the_others_keep_their_views() {
    let peer = peer_with(&[A]).hears_about(A, 0, [yes(NYC)]).watches(5000, &[A, B]);
    assert_eq!(peer.states_of(&[A, B]), [State::Answered, State::Unknown { mixed_since: None }]);
    assert_eq!((peer.view_of(A).since(), peer.view_of(B).since()), (T0, at(5000)));
    assert!(!peer.view_of(B).has_verdict());
}

#[test]
fn a_host_that_is_no_longer_watched_is_forgotten() {
    let peer = peer_with(&[A, B]).hears_about_all(&[A, B], 0, [yes(NYC)]).watches(5000, &[B]);
    assert_eq!(peer.views.iter().map(|(host, _)| host.clone()).collect::<Vec<_>>(), [name(B)]);
    let again = peer.watches(6000, &[A, B]);
    assert_eq!(again.view_of(A), &View::new(at(6000)));
}

#[test]
fn words_about_a_host_that_is_not_watched_change_nothing() {
    let peer = peer_with(&[A]).hears_about(B, 0, [yes(NYC)]);
    assert_eq!((peer.last, &peer.views), (None, &peer_with(&[A]).views));
    let peer = peer.learns(0, witness(NYC));
    assert_eq!((peer.last, &peer.views), (None, &peer_with(&[A]).views));
}

#[test]
fn a_peer_is_silent_since_its_last_word_about_any_host_and_only_while_nothing_speaks_for_it() {
    let since = |peer: Peer| peer.views.silent_since();
    assert_eq!(since(lost()), Some(at(0)), "when it last named targets");
    assert_eq!(since(lost().restarts(90_000)), Some(at(0)), "over a restart too");
    assert_eq!(since(lost().watches(50_000, &[SHOP, A])), Some(at(0)), "a new host tells nothing");
    assert_eq!(since(never_asked()), Some(at(0)), "since it is asked");
    for speaks in [answered(NYC), in_silent_doubt(), held(), relayed(), down()] {
        assert_eq!(since(speaks), None);
    }
    let no_for_one = || lost().watches(8000, &[SHOP, A]).hears_about(A, 8000, [no_with_authority()]);
    assert_eq!(since(no_for_one()), None);
    let falls_silent = |peer: Peer| {
        [9000, 9300, 9800]
            .into_iter()
            .fold(peer, |peer, at| peer.hears_about(A, at, [silence()]))
            .waits_until(13_000)
    };
    assert_eq!(since(falls_silent(no_for_one())), Some(at(9000)), "since it fell silent after its no");
    assert_eq!(since(peer_with(&[])), None, "no host is asked for");
}
