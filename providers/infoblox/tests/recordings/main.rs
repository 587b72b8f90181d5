//! The provider on the recordings in `mocks/infoblox/`: every request and its order are as recorded.

#![allow(clippy::unwrap_used, reason = "tests")]

mod failures;
mod sessions;
mod stage;
mod writes;

use gslb_provider_contract::contract_tests;

use crate::stage::{on_recording, recordings};

contract_tests!(infoblox, on_recording);

#[test]
fn every_recording_is_played_and_listed_with_its_sources() {
    let tests = [
        include_str!("../../../contract/src/battery.rs"),
        include_str!("failures.rs"),
        include_str!("writes.rs"),
    ];
    let list = std::fs::read_to_string(recordings().join("README.md")).unwrap();
    let sources: Vec<_> =
        list.lines().filter_map(|line| line.strip_prefix("| **")?.split("**").next()).collect();
    for entry in std::fs::read_dir(recordings()).unwrap() {
        let folder = entry.unwrap();
        if !folder.file_type().unwrap().is_dir() {
            continue;
        }
        let scenario = folder.file_name().into_string().unwrap();
        let played = |test: &&str| {
            test.contains(&format!("\"{scenario}\""))
                || test.contains(&format!(" {}\n", scenario.replace('-', "_")))
        };
        assert!(tests.iter().any(played), "no test plays {scenario}");
        assert!(list.contains(&format!("| `{scenario}` |")), "README.md does not list {scenario}");
        for (name, exchange) in gslb_mocks::recording::load(&folder.path()).unwrap() {
            let (made, from) = exchange.source.split_once(": ").unwrap_or((&exchange.source, ""));
            assert!(["captured", "documented", "composed", "inferred"].contains(&made), "{scenario}/{name}");
            for source in from.split(", ").map(|source| source.split('#').next().unwrap_or_default()) {
                assert!(
                    made == "inferred" || sources.contains(&source),
                    "{scenario}/{name}: unknown source {source}"
                );
            }
        }
    }
}
