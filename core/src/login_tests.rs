//! What each try costs, row by row and for any order of them.

use proptest::prelude::*;

use super::*;

const SALT: Salt = Salt([7; 16]);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn secret(password: &str) -> Fingerprint {
    Fingerprint::of(&SALT, "svc-dns", password)
}

fn rejected_at(record: LoginRecord, password: &str, second: i64) -> LoginRecord {
    let print = secret(password);
    record.trying(print, at(second)).ended(print, LoginEnd::Rejected { at: at(second) })
}

#[test]
fn the_second_try_waits_60_seconds_and_there_is_no_third() {
    let record = rejected_at(LoginRecord::new(SALT), "wrong", 0);
    assert_eq!(decide(&record, secret("wrong"), at(59)), LoginDecision::WaitUntil(at(60)));
    assert_eq!(decide(&record, secret("wrong"), at(60)), LoginDecision::MayTry);
    let record = rejected_at(record, "wrong", 60);
    assert_eq!(decide(&record, secret("wrong"), at(9999)), LoginDecision::BlockedUntilChanged);
}

#[test]
fn a_changed_secret_may_be_tried_at_once_and_is_counted_from_the_start() {
    let record = rejected_at(rejected_at(LoginRecord::new(SALT), "wrong", 0), "wrong", 60);
    assert_eq!(decide(&record, secret("right"), at(61)), LoginDecision::MayTry);
    let record = rejected_at(record, "worse", 61);
    assert_eq!(decide(&record, secret("worse"), at(62)), LoginDecision::WaitUntil(at(121)));
}

#[test]
fn tries_without_an_end_survive_a_restart_grow_rare_and_block_nothing_for_ever() {
    let print = secret("wrong");
    let record = LoginRecord::new(SALT).trying(print, at(0));
    let stored = serde_json::to_string(&record).unwrap();
    let record: LoginRecord = serde_json::from_str(&stored).unwrap();
    assert_eq!(decide(&record, print, at(1)), LoginDecision::WaitUntil(at(60)));
    let record = record.trying(print, at(60));
    assert_eq!(decide(&record, print, at(179)), LoginDecision::WaitUntil(at(180)));
    assert_eq!(decide(&record, print, at(180)), LoginDecision::MayTry);
    // One rejection and one try without an end may have been two rejections.
    let record = rejected_at(LoginRecord::new(SALT), "wrong", 0).trying(print, at(60));
    assert_eq!(decide(&record, print, at(9999)), LoginDecision::BlockedUntilChanged);
}

#[test]
fn a_proven_credential_counts_anew_when_rejected_and_waits_longer_for_its_second_try() {
    let print = secret("right");
    let record = LoginRecord::new(SALT).trying(print, at(0)).ended(print, LoginEnd::Accepted);
    assert!(record.is_proven(print));
    assert_eq!(decide(&record, print, at(1)), LoginDecision::MayTry);
    // Without a note: a session was renewed.
    let record = record.ended(print, LoginEnd::Rejected { at: at(600) });
    assert!(!record.is_proven(print));
    assert_eq!(decide(&record, print, at(899)), LoginDecision::WaitUntil(at(900)));
    let record = rejected_at(record, "right", 900);
    assert_eq!(decide(&record, print, at(99_999)), LoginDecision::BlockedUntilChanged);
}

#[test]
fn a_rejection_that_is_told_twice_counts_once() {
    let print = secret("wrong");
    let first = rejected_at(LoginRecord::new(SALT), "wrong", 0);
    let second = rejected_at(first.clone(), "wrong", 60);
    assert_ne!(first, second);
    for (record, second) in [(first, 0), (second, 60)] {
        assert_eq!(record.clone().ended(print, LoginEnd::Rejected { at: at(second) }), record);
    }
}

/// The table above, one row each: what is known, how the next try ends, and when there may be another one.
#[test]
fn what_a_try_costs_follows_from_how_it_ended_and_what_is_known_of_the_credential() {
    use LoginDecision::{BlockedUntilChanged, MayTry, WaitUntil};
    let print = secret("it");
    let new = LoginRecord::new(SALT);
    let proven = new.clone().trying(print, at(-900)).ended(print, LoginEnd::Accepted);
    let once = |record: &LoginRecord| record.clone().ended(print, LoginEnd::Rejected { at: at(-600) });
    let lost = |record: &LoginRecord| record.clone().ended(print, LoginEnd::Lost { at: at(-600) });
    let (rejected, gone) = (LoginEnd::Rejected { at: at(0) }, LoginEnd::Lost { at: at(0) });
    let unheard = |record: &LoginRecord| LoginEnd::Unheard { at: at(0), before: record.last(print) };
    let cases = [
        (new.clone(), rejected, WaitUntil(at(60))),
        (new.clone(), gone, WaitUntil(at(60))),
        (new.clone(), unheard(&new), MayTry),
        (new.clone(), LoginEnd::Accepted, MayTry),
        (lost(&new), rejected, BlockedUntilChanged),
        (lost(&new), gone, WaitUntil(at(120))),
        (lost(&new), unheard(&lost(&new)), MayTry),
        (lost(&new), LoginEnd::Accepted, MayTry),
        (once(&new), rejected, BlockedUntilChanged),
        (once(&new), gone, BlockedUntilChanged),
        (once(&new), unheard(&once(&new)), MayTry),
        (once(&new), LoginEnd::Accepted, MayTry),
        (proven.clone(), rejected, WaitUntil(at(300))),
        (proven.clone(), gone, MayTry),
        (proven.clone(), unheard(&proven), MayTry),
        (proven.clone(), LoginEnd::Accepted, MayTry),
        (lost(&proven), rejected, BlockedUntilChanged),
        (lost(&proven), gone, WaitUntil(at(60))),
        (lost(&proven), unheard(&lost(&proven)), MayTry),
        (once(&proven), rejected, BlockedUntilChanged),
        (once(&proven), gone, BlockedUntilChanged),
        (once(&proven), unheard(&once(&proven)), MayTry),
        (once(&proven), LoginEnd::Accepted, MayTry),
    ];
    for (before, end, expected) in cases {
        assert_eq!(decide(&before, print, at(0)), MayTry, "{before:?}");
        let after = before.clone().trying(print, at(0)).ended(print, end);
        assert_eq!(decide(&after, print, at(0)), expected, "{before:?} and {end:?}");
        // Nobody knows whether an end was stored, so it may be told twice.
        assert_eq!(
            decide(&after.clone().ended(print, end), print, at(0)),
            expected,
            "{before:?} and {end:?}"
        );
        // A process that ends in the middle leaves what a lost reply leaves.
        if end == gone {
            assert_eq!(before.clone().trying(print, at(0)), after);
        }
        // The first try that was not noted, as of a session that is renewed, ends alike.
        if before.is_proven(print) {
            assert_eq!(before.clone().ended(print, end), after, "{end:?}");
        }
    }
}

/// A grid that blocks a client drops its packets (reference.md §1.3).
#[test]
fn tries_whose_reply_is_lost_grow_rare_until_one_is_answered() {
    let print = secret("it");
    let proven = LoginRecord::new(SALT).ended(print, LoginEnd::Accepted);
    for (mut record, expected) in [
        (LoginRecord::new(SALT), vec![0, 60, 180, 420, 900, 1860, 2820]),
        (proven, vec![0, 1, 61, 181, 421, 721, 1021, 1321, 1621, 1921, 2221, 2521, 2821]),
    ] {
        let mut sent = vec![];
        for second in 0..3000 {
            if decide(&record, print, at(second)) == LoginDecision::MayTry {
                let end = LoginEnd::Lost { at: at(second) };
                record = record.trying(print, at(second)).ended(print, end);
                assert_eq!(record.clone().ended(print, end), record, "told twice");
                sent.push(second);
            }
        }
        assert_eq!(sent, expected);
        assert!(!record.is_rejected(print));
        let record = record.ended(print, LoginEnd::Accepted);
        assert_eq!(
            (decide(&record, print, at(2822)), record.is_proven(print)),
            (LoginDecision::MayTry, true)
        );
    }
}

/// How a try ends, and after which pause somebody asks again: the same process, or one that started since.
fn tries() -> impl Strategy<Value = Vec<(u8, i64, bool)>> {
    prop::collection::vec((0_u8..4, prop_oneof![0_i64..5, 50..70_i64, 100..2_000_i64], any::<bool>()), 1..60)
}

proptest::proptest! {
    #[test]
    fn tries_that_may_count_are_a_minute_apart_and_two_at_most_are_rejected(
        proven: bool,
        tries in tries(),
    ) {
        let print = secret("wrong");
        let mut record = LoginRecord::new(SALT);
        if proven {
            record = record.ended(print, LoginEnd::Accepted);
        }
        let (mut now, mut counted, mut rejections) = (0, vec![], 0);
        for (end, pause, restarts) in tries {
            now += pause;
            if restarts {
                record = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
            }
            let decision = decide(&record, print, at(now));
            if let LoginDecision::WaitUntil(until) = decision {
                prop_assert!(until > at(now) && until <= at(now + 960), "{until}");
            }
            if decision != LoginDecision::MayTry {
                continue;
            }
            let before = record.last(print);
            record = record.trying(print, at(now));
            match end {
                0 => record = record.ended(print, LoginEnd::Rejected { at: at(now) }),
                1 => record = record.ended(print, LoginEnd::Lost { at: at(now) }),
                // The process ended.
                2 => {}
                _ => {
                    record = record.ended(print, LoginEnd::Unheard { at: at(now), before });
                    continue;
                }
            }
            rejections += u8::from(end == 0);
            counted.push(now);
            // Once there was a rejection, one more try that may count is the last one.
            prop_assert!(rejections == 0 || end == 0 || decide(&record, print, at(1 << 30)) == LoginDecision::BlockedUntilChanged);
        }
        prop_assert!(rejections <= MAX_BAD_LOGINS);
        // A lost reply to one that was accepted is followed by one more try at once.
            for pair in counted.windows(2).skip(usize::from(proven)) {
            prop_assert!(pair[1] - pair[0] >= 60, "{counted:?}");
        }
    }
}

#[test]
fn credentials_that_are_tried_in_turn_do_not_reset_one_another() {
    let mut record = LoginRecord::new(SALT);
    let mut sent = 0;
    for second in 0..10_000 {
        let password = ["blue", "green"][usize::try_from(second % 2).unwrap()];
        if decide(&record, secret(password), at(second)) == LoginDecision::MayTry {
            record = rejected_at(record, password, second);
            sent += 1;
        }
    }
    assert_eq!(sent, 4);
}

#[test]
fn more_credentials_than_are_remembered_wait_until_the_oldest_is_forgotten() {
    let mut record = LoginRecord::new(SALT);
    for second in 0..8 {
        record = rejected_at(record, &format!("wrong {second}"), second);
    }
    assert_eq!(decide(&record, secret("another"), at(3599)), LoginDecision::WaitUntil(at(3600)));
    let record = rejected_at(record, "another", 3600);
    assert_eq!(record.tries.len(), MOST_CREDENTIALS);
    assert_eq!(decide(&record, secret("another"), at(3601)), LoginDecision::WaitUntil(at(3660)));
    // A credential that works is forgotten first, as it costs nothing.
    let print = secret("wrong 3");
    let record = record.ended(print, LoginEnd::Accepted);
    assert_eq!(decide(&record, secret("one more"), at(3601)), LoginDecision::MayTry);
    assert_eq!(record.trying(secret("one more"), at(3601)).of(print), None);
}

#[test]
fn a_clock_that_was_set_back_makes_no_pause_longer() {
    let print = secret("wrong");
    let record = rejected_at(LoginRecord::new(SALT), "wrong", 3600).not_after(at(0));
    assert_eq!(decide(&record, print, at(0)), LoginDecision::WaitUntil(at(60)));
    assert_eq!(record.clone().not_after(at(1)), record);
}

#[test]
fn the_stored_memory_holds_neither_name_nor_secret() {
    let stored = serde_json::to_string(&rejected_at(LoginRecord::new(SALT), "hunter2", 0)).unwrap();
    assert!(!stored.contains("hunter2") && !stored.contains("svc-dns"), "{stored}");
    let print = serde_json::to_value(secret("hunter2")).unwrap();
    assert!(print.as_u64().is_some_and(|bits| bits <= u64::from(u32::MAX)));
}

#[test]
fn name_and_password_are_kept_apart() {
    assert_ne!(Fingerprint::of(&SALT, "ab", "c"), Fingerprint::of(&SALT, "a", "bc"));
    assert_ne!(secret("x"), Fingerprint::of(&Salt([8; 16]), "svc-dns", "x"));
}
