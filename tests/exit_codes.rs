//! The exit codes that scripts and restart policies rely on: 0 fine, 1 failed, 64 usage, 78 configuration.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use gslb_mocks::kube::kubeconfig;

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:1";
const MINIMAL: [(&str, &str); 3] =
    [("CLUSTER_GEO_TAG", "eu"), ("EDGE_DNS_SERVERS", "127.0.0.1"), ("METRICS_ADDRESS", "127.0.0.1:0")];
const GRID: [(&str, &str); 3] = [
    ("INFOBLOX_GRID_HOST", "127.0.0.1"),
    ("INFOBLOX_WAPI_USERNAME", "gslb"),
    ("INFOBLOX_WAPI_PASSWORD", "hunter2"),
];

/// The command's exit code, and what it wrote.
fn ended(folder: &Path, arguments: &[&str], layers: &[&[(&str, &str)]]) -> (i32, String) {
    let config = folder.join("kubeconfig");
    std::fs::write(&config, kubeconfig([("eu", NOWHERE)])).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
    command.args(arguments).env_clear().env("KUBECONFIG", config);
    command.envs(layers.iter().copied().flatten().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = [stdout, stderr].concat();
    (status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// `run` ends with 78 and names the variable.
fn run_blames(variable: &str, value: &str, layers: &[&[(&str, &str)]]) {
    let folder = tempfile::tempdir().unwrap();
    let wrong = [(variable, value)];
    let layers = [&[MINIMAL.as_slice()], layers, &[wrong.as_slice()]].concat();
    let (code, text) = ended(folder.path(), &["run"], &layers);
    assert_eq!(code, 78, "{variable}: {text}");
    assert!(text.contains(variable), "{variable}: {text}");
}

#[test]
fn help_and_definitions_are_fine_and_wrong_arguments_are_64() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--help"][..], 0),
        (&["crds"], 0),
        (&["crds", "--admission-policies"], 0),
        (&["walk"], 64),
        (&["run", "--quickly"], 64),
        (&[], 64),
    ] {
        let (code, text) = ended(folder.path(), arguments, &[]);
        assert_eq!(code, expected, "{arguments:?}: {text}");
    }
}

#[test]
fn admission_policies_are_printed_only_when_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_, definitions) = ended(folder.path(), &["crds"], &[]);
    let (_, policies) = ended(folder.path(), &["crds", "--admission-policies"], &[]);
    assert_eq!((definitions, policies), (gslb_crds::yaml(), gslb_crds::admission::yaml()));
}

#[test]
fn a_reader_who_has_gone_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
    let Output { status, stderr, .. } = command.arg("crds").stdout(writer).output().unwrap();
    assert_eq!((status.code(), String::from_utf8(stderr).unwrap()), (Some(0), String::new()));
}

/// Conformance 76.
#[test]
fn settings_that_are_missing_or_wrong_are_78() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = ended(folder.path(), &["run"], &[]);
    assert_eq!(code, 78, "{text}");
    run_blames("LOG_LEVEL", "loud", &[]);
}

#[test]
fn settings_are_checked_and_printed_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "--print-config"];
    let (code, text) = ended(folder.path(), &arguments, &[&MINIMAL, &GRID]);
    assert_eq!(code, 0, "{text}");
    for line in ["CLUSTER_GEO_TAG=eu", "NS_RECORD_TTL=30 # default", "INFOBLOX_WAPI_PASSWORD=***"] {
        assert!(text.lines().any(|shown| shown == line), "{line} not in:\n{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
    let (code, text) = ended(folder.path(), &arguments, &[&MINIMAL, &[("LOG_LEVEL", "loud")]]);
    assert_eq!(code, 78, "{text}");
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_78() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = ended(folder.path(), &["run", "--kubeconfig", "/nowhere"], &[&MINIMAL]);
    assert_eq!(code, 78, "{text}");
    assert_eq!(text.matches("No such file").count(), 1, "the cause is told once: {text}");
}

#[test]
fn an_address_for_the_pages_that_is_taken_is_78() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    run_blames("METRICS_ADDRESS", &taken.local_addr().unwrap().to_string(), &[]);
}

#[test]
fn files_that_cannot_be_read_or_opened_are_78() {
    run_blames("INFOBLOX_CA_FILE", "/nowhere/ca.pem", &[&GRID]);
    run_blames("CHANGE_LOG_FILE", "/nowhere/changes.jsonl", &[]);
    run_blames("CHANGE_LOG_HMAC_KEY_FILE", "/nowhere/key", &[]);
}

#[test]
fn an_api_server_that_is_away_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = ended(folder.path(), &["changes", "list"], &[]);
    assert_eq!(code, 1, "{text}");
}

#[test]
fn every_file_that_cannot_be_used_is_told_with_everything_else() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = [
        ("INFOBLOX_CA_FILE", "/nowhere/ca"),
        ("CHANGE_LOG_HMAC_KEY_FILE", "/nowhere/key"),
        ("CHANGE_LOG_FILE", "/nowhere/log"),
        ("LOG_LEVEL", "loud"),
        ("DNS_ZONES", "example.com:cloud.other.org:soon"),
    ];
    for arguments in [&["run"][..], &["run", "--print-config"]] {
        let (code, text) = ended(folder.path(), arguments, &[&MINIMAL, &GRID, &wrong]);
        assert_eq!(code, 78, "{text}");
        for part in ["/nowhere/ca", "/nowhere/key", "/nowhere/log", "loud", "\"soon\"", "below"] {
            assert!(text.contains(part), "{part} not in:\n{text}");
        }
    }
}

#[test]
fn a_credential_file_that_is_not_there_yet_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let later = [("INFOBLOX_WAPI_PASSWORD_FILE", "/nowhere/password")];
    let (code, text) = ended(folder.path(), &["run", "--print-config"], &[&MINIMAL, &GRID, &later]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("warning: INFOBLOX_WAPI_PASSWORD_FILE names /nowhere/password"), "{text}");
}

#[test]
fn a_change_log_file_that_can_be_made_is_not_left_behind_by_a_check_and_one_that_cannot_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let check = |path: &Path| {
        let log = [("CHANGE_LOG_FILE", path.to_str().unwrap())];
        ended(folder.path(), &["run", "--print-config"], &[&MINIMAL, &log])
    };
    let new = folder.path().join("changes.jsonl");
    assert_eq!(check(&new).0, 0);
    assert!(!new.exists());
    // A folder is no file.
    let (code, text) = check(folder.path());
    assert_eq!(code, 78, "{text}");
}

#[test]
fn files_of_a_grid_that_is_not_used_are_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let idle = [("INFOBLOX_CA_FILE", "/nowhere/ca"), ("INFOBLOX_WAPI_PASSWORD_FILE", "/nowhere/password")];
    let (code, text) = ended(folder.path(), &["run", "--print-config"], &[&MINIMAL, &idle]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("warning"), "{text}");
}
