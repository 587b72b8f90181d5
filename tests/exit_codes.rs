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
    for line in [
        "clusterGeoTag: \"eu\" # CLUSTER_GEO_TAG",
        "nameServerTtlSeconds: 30 # default",
        "# INFOBLOX_WAPI_PASSWORD=***",
    ] {
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
    let warnings = text.lines().filter_map(|line| line.strip_prefix("warning: "));
    let expected = ["INFOBLOX_CA_FILE", "INFOBLOX_WAPI_PASSWORD_FILE"]
        .map(|name| format!("{name} has no effect, as INFOBLOX_GRID_HOST names no grid"));
    assert_eq!(warnings.collect::<Vec<_>>(), expected, "{text}");
}

const FILE_HEADER: &str = "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\n";

/// What `process --config` says of a file with these bytes.
fn of_file(process: &str, bytes: &[u8]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gslb.yaml");
    std::fs::write(&file, bytes).unwrap();
    let (code, text) = ended(folder.path(), &[process, "--config", file.to_str().unwrap()], &[&MINIMAL]);
    (code, text.replace(file.to_str().unwrap(), "gslb.yaml"))
}

#[test]
fn everything_wrong_in_a_configuration_file_and_beside_it_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gslb.yaml");
    let keys = "infoblox: {gridhost: gm, wapiPort: x}\nlog: {level: loud}\nchangeLog: {file: /nowhere/log}\n";
    std::fs::write(&file, format!("{FILE_HEADER}{keys}")).unwrap();
    let wrong = [("NS_RECORD_TTL", "0"), ("CONFIG_FILE", file.to_str().unwrap())];
    let (code, text) = ended(folder.path(), &["run"], &[&MINIMAL, &wrong]);
    assert_eq!(code, 78, "{text}");
    for part in [
        ":3:12: infoblox.gridhost is not a known key; did you mean gridHost?",
        ":3:36: infoblox.wapiPort must be a number",
        ":4:14: log.level is \"loud\"",
        ":5:19: changeLog.file is \"/nowhere/log\": the file cannot be written",
        "NS_RECORD_TTL is \"0\"",
    ] {
        assert!(text.contains(part), "{part} not in:\n{text}");
    }
    let (code, text) = ended(folder.path(), &["dns"], &[&wrong]);
    assert_eq!(code, 78, "{text}");
    assert!(text.contains("gridhost") && text.contains("loud"), "{text}");
}

#[test]
fn a_configuration_file_that_cannot_be_used_is_78_with_the_reason() {
    let bomb: String =
        (1..9).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)).collect();
    let bomb = format!("{FILE_HEADER}a0: &a0 [x, x, x]\n{bomb}");
    let deep = format!("{FILE_HEADER}a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(&[u8], &str); 9] = [
        (b"", "apiVersion is not set"),
        (b"# nothing\n", "kind is not set"),
        (&[b'#'; 10_000_000], "gslb.yaml is larger than 1 MiB; name a configuration file"),
        (&[0xff, 0xfe, 0, 1, 2, 3], "gslb.yaml is no text in UTF-8"),
        (&[0; 64], "is no YAML that is taken"),
        (b"\x7fELF\x02\x01", "gslb.yaml"),
        (bomb.as_bytes(), "anchors and aliases are not taken"),
        (deep.as_bytes(), "gslb.yaml:3:"),
        (b"apiVersion: gslb-bridge.io/v9\nkind: Configuration\n", "reads gslb-bridge.io/v1alpha1 only"),
    ];
    for (bytes, expected) in cases {
        for process in ["run", "dns"] {
            let (code, text) = of_file(process, bytes);
            assert_eq!(code, 78, "{expected}: {text:.2000}");
            assert!(text.contains(expected), "{expected} not in: {text:.2000}");
            assert!(text.len() < 4_000, "{expected}: {text:.4000}");
        }
    }
}

#[test]
fn a_configuration_file_that_is_not_there_or_is_none_is_78() {
    let folder = tempfile::tempdir().unwrap();
    // To open a pipe that nobody writes to would be to wait for ever.
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in ["/nowhere/gslb.yaml", folder.path().to_str().unwrap(), pipe.to_str().unwrap()] {
        for (arguments, variable) in [(vec!["run", "--config", path], ""), (vec!["run"], path)] {
            let (code, text) = ended(folder.path(), &arguments, &[&MINIMAL, &[("CONFIG_FILE", variable)]]);
            assert_eq!(code, 78, "{text}");
            assert!(text.contains(&format!("{path} cannot be read (")), "{text}");
        }
    }
    // What a file that was not read may have set is not called missing.
    let (_, text) = ended(folder.path(), &["run", "--config", "/nowhere/gslb.yaml"], &[]);
    assert!(text.starts_with("1 setting to correct:"), "{text}");
}

#[test]
fn the_printed_configuration_is_a_file_that_prints_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gslb.yaml");
    let path = file.to_str().unwrap();
    let zones = [
        ("DNS_ZONES", "example.com:cloud.example.com:30;example.com:apps.example.com:60"),
        ("LOG_FORMAT", "json"),
    ];
    let plain = |text: &str| -> Vec<String> {
        let lines =
            text.lines().map(|line| line.split(" # ").next().unwrap_or_default().trim_end().to_owned());
        lines.filter(|line| !line.starts_with('#')).collect()
    };
    for process in ["run", "dns"] {
        let (code, first) = ended(folder.path(), &[process, "--print-config"], &[&MINIMAL, &zones]);
        assert_eq!(code, 0, "{first}");
        std::fs::write(&file, &first).unwrap();
        let (code, second) = ended(folder.path(), &[process, "--print-config", "--config", path], &[]);
        assert_eq!(code, 0, "{second}");
        assert!(second.contains("clusterGeoTag: \"eu\" # file, line 3"), "{second}");
        assert_eq!(plain(&first), plain(&second));
    }
}

#[test]
fn the_argument_names_the_file_before_the_variable_and_variables_win_over_both() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gslb.yaml");
    std::fs::write(&file, format!("{FILE_HEADER}log: {{level: debug}}\nclusterGeoTag: us\n")).unwrap();
    let arguments = ["run", "--print-config", "--config", file.to_str().unwrap()];
    let (code, text) =
        ended(folder.path(), &arguments, &[&MINIMAL, &[("CONFIG_FILE", "/nowhere/gslb.yaml")]]);
    assert_eq!(code, 0, "{text}");
    for part in [
        "level: \"debug\" # file, line 3",
        "clusterGeoTag: \"eu\" # CLUSTER_GEO_TAG",
        "warning: CLUSTER_GEO_TAG is used, which says something else than ",
    ] {
        assert!(text.contains(part), "{part} not in:\n{text}");
    }
}

#[test]
fn a_check_without_a_grid_says_so_and_asks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let none = "no grid is configured (INFOBLOX_GRID_HOST is not set), so none was looked at: delegations are kept by hand";
    let (code, text) = ended(folder.path(), &["check"], &[&MINIMAL]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains(none), "{text}");
    let (code, text) = ended(folder.path(), &["check", "--kubeconfig", "/nowhere"], &[&MINIMAL]);
    assert_eq!(code, 0, "{text}");
    let external = [("EXTDNS_ENABLED", "true")];
    let (code, text) = ended(folder.path(), &["check"], &[&MINIMAL, &external]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("EXTDNS_ENABLED selects external-dns"), "{text}");
}

#[test]
fn a_check_reads_the_settings_of_run_and_wrong_ones_are_78() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--print-config"];
    let of_run = ended(folder.path(), &[&["run"], &arguments[..]].concat(), &[&MINIMAL, &GRID]);
    let of_check = ended(folder.path(), &[&["check"], &arguments[..]].concat(), &[&MINIMAL, &GRID]);
    assert_eq!(of_check, of_run);
    for (arguments, wrong, part) in [
        (&["check"][..], ("LOG_LEVEL", "loud"), "LOG_LEVEL"),
        (&["check"], ("INFOBLOX_CA_FILE", "/nowhere/ca.pem"), "/nowhere/ca.pem"),
        (&["check", "--kubeconfig", "/nowhere"], ("LOG_LEVEL", "info"), "kubeconfig"),
        (&["check", "--config", "/nowhere/gslb.yaml"], ("LOG_LEVEL", "info"), "/nowhere/gslb.yaml"),
    ] {
        let (code, text) = ended(folder.path(), arguments, &[&MINIMAL, &GRID, &[wrong]]);
        assert_eq!(code, 78, "{arguments:?}: {text}");
        assert!(text.contains(part), "{part} not in: {text}");
    }
    let (code, text) = ended(folder.path(), &["check", "--output", "yaml"], &[&MINIMAL]);
    assert_eq!(code, 64, "{text}");
}

#[test]
fn a_check_that_finds_something_is_2_and_without_a_count_of_log_ins_nobody_logs_in() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = ended(folder.path(), &["check"], &[&MINIMAL, &GRID]);
    assert_eq!(code, 2, "{text}");
    for part in [
        "the ZoneDelegations of the cluster could not be listed",
        "the count of bad log-ins at Infoblox cannot be read or stored, so there is no log-in",
    ] {
        assert!(text.contains(part), "{part} not in:\n{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_webhook_without_domains_or_with_a_taken_address_is_78_and_names_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let pages = [("METRICS_ADDRESS", "127.0.0.1:0")];
    let (code, text) = ended(folder.path(), &["webhook"], &[&GRID, &pages]);
    assert_eq!(code, 78, "{text}");
    assert!(text.contains("WEBHOOK_DOMAINS"), "{text}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let given = [("WEBHOOK_DOMAINS", "example.com"), ("WEBHOOK_LISTEN", address.as_str())];
    let (code, text) = ended(folder.path(), &["webhook"], &[&GRID, &pages, &given]);
    assert_eq!(code, 78, "{text}");
    assert!(text.contains("WEBHOOK_LISTEN") && text.contains(&address), "{text}");
    let (code, text) = ended(folder.path(), &["webhook", "--print-config"], &[&GRID, &given]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("example.com") && text.contains("INFOBLOX_WAPI_PASSWORD=***"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
