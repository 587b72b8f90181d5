//! The change log under the hands of somebody who wants it to say something else.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use gslb_core::changelog::{
    Action, Amends, ChangeResult, Entry, Fault, Inexact, Intent, Line, ObjectRef, Outcome, Proof, Proposal,
    Report, SealKey, Tail, Verdict, Who, verify, verify_against, verify_from,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn intent(sequence: u64, before: Option<Value>, after: Option<Value>) -> Entry {
    Entry::Intent(Box::new(Intent {
        sequence,
        at: "2026-01-02T03:04:05.678Z".parse().unwrap(),
        change: Proposal {
            change_id: format!("change-{sequence}"),
            plan_id: "plan-1".into(),
            who: Who { actor: "gslb-bridge".into(), cluster: "eu".into(), pod: "gslb-bridge-0".into() },
            object: ObjectRef {
                kind: "ZoneDelegation".into(),
                namespace: None,
                name: "cloud-example-com".into(),
                uid: "6e0f".into(),
                generation: 3,
            },
            why: "the cluster's DNS address changed".into(),
            provider: "infoblox".into(),
            view: None,
            zone: "cloud.example.com".into(),
            action: Action::Replace,
            before,
            after,
        },
    }))
}

fn outcome(sequence: u64) -> Entry {
    Entry::Outcome(Outcome {
        sequence,
        at: "2026-01-02T03:04:06Z".parse().unwrap(),
        verdict: Verdict {
            result: ChangeResult::Applied,
            reference: Some("zone_delegated/ZG5z:cloud.example.com/default".into()),
            error: None,
            duration_millis: 41,
            settled_by_reading: false,
            amends: vec![],
        },
    })
}

/// Logs from before there were amends are read, and have the hashes that they had.
#[test]
fn an_outcome_without_amends_is_written_as_before_there_were_any() {
    let Entry::Outcome(plain) = outcome(1) else { panic!("an outcome") };
    let written = serde_json::to_value(&plain).unwrap();
    assert_eq!(written.get("amends"), None);
    assert_eq!(serde_json::from_value::<Outcome>(written).unwrap(), plain);
    let amends = vec![Amends { lost: json!({"delegate_to": []}), error: None }];
    let told = Outcome { verdict: Verdict { amends, ..plain.verdict.clone() }, ..plain };
    let written = serde_json::to_value(&told).unwrap();
    assert_eq!(written["amends"], json!([{"lost": {"delegate_to": []}}]));
    assert_eq!(serde_json::from_value::<Outcome>(written).unwrap(), told);
}

fn chain(entries: impl IntoIterator<Item = Entry>, key: Option<&SealKey>) -> Vec<Line> {
    let mut tail = Tail::START;
    let append = |entry| {
        let line = tail.next(entry, key).unwrap();
        tail = tail.after(&line);
        line
    };
    entries.into_iter().map(append).collect()
}

/// Two changes that overlap: intents 1 and 2, outcomes of 2 and 1.
fn four_lines(key: Option<&SealKey>) -> Vec<Line> {
    let (old, new) = (json!({ "address": "192.0.2.1" }), json!({ "address": "192.0.2.2" }));
    chain([intent(1, Some(old), Some(new)), intent(2, None, None), outcome(2), outcome(1)], key)
}

/// The daemon's output: lines of the chain among others.
fn file(lines: &[Line]) -> String {
    let shipped: String = lines.iter().map(|line| format!("{}\n", line.shipped())).collect();
    format!("{{\"level\":\"INFO\",\"changeLog\":null}}\n{shipped}plain text\n")
}

fn against(lines: &[Line], file: &str) -> Report {
    verify_against(lines, None, file.as_bytes())
}

#[test]
fn an_untouched_chain_is_consistent_sealed_and_as_shipped() {
    let key = SealKey::new(*b"documentation");
    let lines = four_lines(Some(&key));
    assert_eq!(
        verify_against(&lines, Some(&key), file(&lines).as_bytes()),
        Report {
            lines: 4,
            changes: 2,
            consistency: Proof::Proved,
            seal: Proof::Proved,
            shipped: Proof::Proved,
            unsettled: vec![],
            faults: vec![],
        }
    );
}

#[test]
fn a_report_says_what_was_not_looked_at() {
    let report = verify(&four_lines(None), None);
    assert_eq!(
        (report.consistency, report.seal, report.shipped),
        (Proof::Proved, Proof::NotChecked, Proof::NotChecked)
    );
}

#[test]
fn the_hash_is_sha_256_over_canonical_json() {
    let line = &chain([intent(1, None, Some(json!({ "b": 1.0, "a": "ä" })))], None)[0];
    let hashed = concat!(
        r#"{"entry":{"intent":{"action":"Replace","after":{"a":"ä","b":1},"at":"2026-01-02T03:04:05.678Z","#,
        r#""changeId":"change-1","object":{"generation":3,"kind":"ZoneDelegation","name":"cloud-example-com","#,
        r#""uid":"6e0f"},"planId":"plan-1","provider":"infoblox","sequence":1,"#,
        r#""who":{"actor":"gslb-bridge","cluster":"eu","pod":"gslb-bridge-0"},"#,
        r#""why":"the cluster's DNS address changed","zone":"cloud.example.com"}},"line":1,"previous":"#,
        r#""0000000000000000000000000000000000000000000000000000000000000000"}"#,
    );
    use sha2::Digest;
    assert_eq!(line.hash.to_string(), hex::encode(sha2::Sha256::digest(hashed)));
    assert_eq!(serde_json::from_str::<Line>(&line.canonical()).unwrap().expected_hash(), line.hash);
}

#[test]
fn an_intent_without_outcome_is_unsettled_and_no_fault() {
    let report = verify(&four_lines(None)[..3], None);
    assert_eq!((report.unsettled, report.faults), (vec![1], vec![]));
}

#[test]
fn an_outcome_of_nothing_and_a_second_outcome_are_found() {
    let lines = chain([outcome(1), intent(1, None, None), outcome(1), outcome(1)], None);
    let stray = |line| Fault::StrayOutcome { line, sequence: 1 };
    assert_eq!(verify(&lines, None).faults, [stray(1), stray(4)]);
}

#[test]
fn a_rewritten_chain_is_consistent_but_neither_sealed_nor_as_shipped() {
    let key = SealKey::new(*b"documentation");
    let shipped = file(&four_lines(Some(&key)));
    let forger = SealKey::new(*b"guess");
    let entries = [intent(1, None, Some(json!("forged"))), intent(2, None, None), outcome(2), outcome(1)];
    let forged = chain(entries, Some(&forger));

    let report = verify_against(&forged, Some(&key), shipped.as_bytes());

    assert_eq!(
        (report.consistency, report.seal, report.shipped),
        (Proof::Proved, Proof::Broken, Proof::Broken)
    );
    let seals = (1..=4).map(|line| Fault::NotSealed { line });
    // The first line of the file is another program's.
    let differences = (1..=4).map(|line| Fault::DiffersFromShipped { line, position: line + 1 });
    assert_eq!(report.faults, seals.chain(differences).collect::<Vec<_>>());
}

#[test]
fn a_chain_cut_at_the_end_shows_only_against_the_shipped_lines() {
    let lines = four_lines(None);
    assert!(verify(&lines[..3], None).is_clean());
    assert_eq!(
        against(&lines[..3], &file(&lines)).faults,
        [Fault::MissingInCluster { line: 4, position: 5 }]
    );
}

#[test]
fn lines_removed_from_the_file_are_found_wherever_they_stood() {
    let lines = four_lines(None);
    for removed in 0..4 {
        let mut kept = lines.clone();
        let line = kept.remove(removed).line;
        assert_eq!(against(&lines, &file(&kept)).faults, [Fault::MissingInFile { first: line, last: line }]);
    }
    assert_eq!(against(&lines, "").faults, [Fault::MissingInFile { first: 1, last: 4 }]);
}

#[test]
fn lines_removed_from_the_cluster_are_found_in_the_chain() {
    let mut lines = four_lines(None);
    drop(lines.drain(1..3));
    assert_eq!(verify(&lines, None).faults[0], Fault::Missing { first: 2, last: 3 });
    lines.remove(0);
    assert_eq!(verify(&lines, None).faults[0], Fault::Missing { first: 1, last: 3 });
}

#[test]
fn a_line_of_the_file_with_a_damaged_number_spoils_no_other() {
    let lines = four_lines(None);
    let damaged = file(&lines).replacen("\"line\":2", "\"line\":7", 1);
    assert_eq!(
        against(&lines, &damaged).faults,
        [Fault::MissingInCluster { line: 7, position: 3 }, Fault::MissingInFile { first: 2, last: 2 }]
    );
}

#[test]
fn a_writer_that_starts_fills_the_hole_that_a_killed_one_left() {
    let lines = four_lines(None);
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|index: usize| lines[index].shipped());
    let resumed = lines[1].shipped_on_resume();

    let filled = format!("{first}\n{resumed}\n{third}\n{fourth}\n");
    let repeated = format!("{first}\n{second}\n{resumed}\n{third}\n{fourth}\n");
    assert_eq!(against(&lines, &filled).faults, []);
    assert_eq!(against(&lines, &repeated).faults, []);

    let altered = repeated.replace(&resumed, &resumed.replace("plan-1", "plan-2"));
    assert_eq!(against(&lines, &altered).faults, [Fault::DiffersFromShipped { line: 2, position: 3 }]);
}

#[test]
fn of_a_line_that_was_shipped_again_at_a_start_one_copy_is_enough() {
    let lines = four_lines(None);
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|index: usize| lines[index].shipped());
    let again = lines[1].shipped_on_resume();
    let missing = Fault::MissingInFile { first: 2, last: 2 };
    let late = |position| Fault::ShippedOutOfOrder { line: 2, after: 3, position };
    let cases: [(&str, Vec<&String>, Vec<Fault>); 6] = [
        ("as shipped", vec![&first, &second, &again, &third, &fourth], vec![]),
        ("without the second copy", vec![&first, &second, &third, &fourth], vec![]),
        ("without the first copy", vec![&first, &again, &third, &fourth], vec![]),
        ("without both", vec![&first, &third, &fourth], vec![missing.clone()]),
        ("second copy moved", vec![&first, &second, &third, &again, &fourth], vec![late(4)]),
        ("both moved", vec![&first, &third, &second, &again, &fourth], vec![missing, late(3), late(4)]),
    ];
    for (what, texts, faults) in cases {
        let file: String = texts.iter().map(|text| format!("{text}\n")).collect();
        assert_eq!(against(&lines, &file).faults, faults, "{what}");
    }
}

#[test]
fn a_chain_may_start_where_a_checkpoint_ends() {
    let lines = four_lines(None);
    let checkpoint = Tail::START.after(&lines[0]);
    let report = verify_from(&checkpoint, &lines[1..3], None);
    assert_eq!((report.lines, report.faults), (2, vec![]));
}

#[test]
fn a_number_that_canonical_json_would_round_is_refused() {
    let entry = intent(1, None, Some(json!({ "serial": [9_007_199_254_740_993_u64] })));
    assert_eq!(Tail::START.next(entry, None), Err(Inexact { number: "9007199254740993".into() }));
}

#[test]
fn a_key_does_not_print() {
    assert_eq!(format!("{:?}", SealKey::new(*b"documentation")), "***");
}

fn values() -> impl Strategy<Value = Option<Value>> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    prop::option::of(tree)
}

/// Chains of 2 to 16 lines: each step starts a change, and settles the oldest open one or not.
fn chains() -> impl Strategy<Value = Vec<Line>> {
    prop::collection::vec((values(), values(), any::<bool>()), 2..8).prop_map(|steps| {
        let (mut entries, mut settled) = (Vec::new(), 0);
        for (index, (before, after, settle)) in steps.into_iter().enumerate() {
            entries.push(intent(index as u64 + 1, before, after));
            if settle {
                settled += 1;
                entries.push(outcome(settled));
            }
        }
        chain(entries, None)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_verifies_and_survives_json(lines in chains()) {
        let stored: Vec<Line> =
            lines.iter().map(|line| serde_json::from_str(&line.canonical()).unwrap()).collect();
        prop_assert_eq!(against(&stored, &file(&lines)).faults, vec![]);
    }

    #[test]
    fn any_altered_byte_of_a_shipped_line_is_found(
        lines in chains(), place in any::<prop::sample::Index>(), flip in 1_u8..,
    ) {
        let mut bytes: Vec<u8> = lines.iter().flat_map(|line| (line.shipped() + "\n").into_bytes()).collect();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        prop_assert!(!verify_against(&lines, None, &bytes).is_clean());
    }

    #[test]
    fn any_altered_byte_of_a_stored_line_is_found(
        lines in chains(), which in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(),
        flip in 1_u8..,
    ) {
        let which = which.index(lines.len());
        let mut bytes = lines[which].canonical().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        // What no longer reads as a line cannot be stored as one; what still means the same is no alteration.
        if let Ok(altered) = serde_json::from_slice::<Line>(&bytes) && altered != lines[which] {
            let mut stored = lines;
            stored[which] = altered;
            prop_assert!(!verify(&stored, None).is_clean());
        }
    }

    #[test]
    fn any_removed_line_is_found(lines in chains(), which in any::<prop::sample::Index>()) {
        let which = which.index(lines.len());
        let mut kept = lines.clone();
        kept.remove(which);
        prop_assert!(!against(&lines, &file(&kept)).is_clean());
        prop_assert!(!against(&kept, &file(&lines)).is_clean());
        // Without the shipped lines nothing tells of the last one.
        prop_assert_eq!(verify(&kept, None).consistency == Proof::Broken, which + 1 < lines.len());
    }

    #[test]
    fn any_two_swapped_lines_are_found(
        lines in chains(), one in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(),
    ) {
        let (one, other) = (one.index(lines.len()), other.index(lines.len()));
        prop_assume!(one != other);
        let mut swapped = lines.clone();
        swapped.swap(one, other);
        prop_assert!(!verify(&swapped, None).is_clean());
        prop_assert!(!against(&lines, &file(&swapped)).is_clean());
    }
}
