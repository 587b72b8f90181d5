//! `gslb-bridge changes` and `gslb-bridge crds` as a user runs them.

use std::fs;
use std::process::{Command, Output};

use gslb_core::changelog::{Entry, Intent, Proposal, SealKey, Tail};
use gslb_crds::{ProviderChange, ProviderChangeSpec, ProviderChangeStatus};
use gslb_mocks::kube::{ApiServer, Running, kubeconfig};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::world::*;

/// A cluster with two settled changes and one open, and a directory for files.
struct Cluster {
    server: ApiServer,
    shipped: String,
    files: TempDir,
    _running: Running,
}

impl Cluster {
    async fn start() -> Self {
        Self::start_sealed(None).await
    }

    async fn start_sealed(key: Option<SealKey>) -> Self {
        let server = api_server();
        let running = server.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
        let files = TempDir::new().unwrap();
        let config = kubeconfig([("eu", running.url().as_str())]);
        fs::write(files.path().join("kubeconfig"), config).unwrap();

        let (log, shipped) = open_sealed(&server, "pod-0/1", key).await;
        record(&log, "pod-0", "change-1").await;
        record(&log, "pod-0", "change-2").await;
        drop(log.intend(proposal("pod-0", "change-3"), now()).await.unwrap());
        let noise = "{\"level\":\"INFO\",\"message\":\"Applied change.\"}\n";
        let shipped = format!("{noise}{}{noise}", String::from_utf8(shipped.bytes()).unwrap());
        Self { server, shipped, files, _running: running }
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.files.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs a command on this cluster.
    async fn run(&self, arguments: &[&str]) -> Ended {
        let config = self.files.path().join("kubeconfig");
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        tokio::task::spawn_blocking(move || {
            let config = ["--kubeconfig".to_owned(), config.to_str().unwrap().to_owned()];
            gslb_bridge(arguments.into_iter().chain(config))
        })
        .await
        .unwrap()
    }
}

struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Ended {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

fn gslb_bridge(arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
    Ended {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

#[test]
fn crds_prints_the_definitions() {
    let ended = gslb_bridge(["crds"]);
    assert_eq!((ended.code, ended.out), (0, gslb_crds::yaml()));
}

#[test]
fn wrong_usage_and_wrong_configuration_have_their_own_exit_codes() {
    assert_eq!(gslb_bridge(["chagnes"]).code, 64);
    assert_eq!(gslb_bridge(["--help"]).code, 0);

    let missing = gslb_bridge(["changes", "list", "--kubeconfig", "/nonexistent/kubeconfig"]);
    assert_eq!(missing.code, 78);
    assert!(missing.err.contains("/nonexistent/kubeconfig"), "{}", missing.err);

    let no_key = gslb_bridge(["changes", "verify", "--hmac-key-file", "/nonexistent/key"]);
    assert_eq!((no_key.code, no_key.err.contains("/nonexistent/key")), (78, true));

    let no_file = gslb_bridge(["changes", "verify", "--against", "/nonexistent/log"]);
    assert_eq!((no_file.code, no_file.err.contains("/nonexistent/log")), (1, true));
}

#[tokio::test]
async fn list_shows_who_what_and_outcome() {
    let cluster = Cluster::start().await;
    let ended = cluster.run(&["changes", "list"]).await;
    let row = |change, outcome| {
        format!(
            "{change}        2026-01-02T03:04:05Z   gslb-bridge   ZoneDelegation cloud-example-com   cloud.example.com   Replace   {outcome}   the cluster's DNS address changed\n"
        )
    };
    let header = "CHANGE   AT                     WHO           OBJECT                             ZONE                ACTION    OUTCOME   WHY\n";
    let expected = format!("{header}{}{}{}", row(1, "Applied"), row(2, "Applied"), row(3, "Unknown"));
    assert_eq!((ended.code, ended.out), (0, expected));

    let json = cluster.run(&["changes", "list", "--output", "json"]).await.json();
    let ids: Vec<&Value> =
        json["changes"].as_array().unwrap().iter().map(|change| &change["spec"]["changeId"]).collect();
    assert_eq!(ids, ["change-1", "change-2", "change-3"]);
}

#[tokio::test]
async fn a_change_of_one_of_several_places_names_its_view() {
    let cluster = Cluster::start().await;
    let before = cluster.run(&["changes", "show", "3"]).await.out;
    assert!(before.contains("provider   infoblox\nzone       cloud.example.com\n"), "{before}");
    let (log, _) = open_sealed(&cluster.server, "pod-0/2", None).await;
    let change = Proposal { view: Some("external".to_owned()), ..proposal("pod-0", "change-4") };
    log.complete(log.intend(change, now()).await.unwrap(), applied(), now()).await.unwrap();
    let shown = cluster.run(&["changes", "show", "4"]).await.out;
    assert!(shown.contains("provider   infoblox\nview       external\nzone       cloud"), "{shown}");
    let listed = cluster.run(&["changes", "list"]).await.out;
    assert!(listed.contains("   cloud.example.com (view external of infoblox)   Replace "), "{listed}");
    assert_eq!(cluster.run(&["changes", "verify"]).await.code, 0);
}

#[tokio::test]
async fn show_tells_who_why_before_and_after() {
    let cluster = Cluster::start().await;
    for wanted in ["2", "00000000000000000002", "change-2"] {
        let ended = cluster.run(&["changes", "show", wanted]).await;
        assert_eq!(ended.code, 0);
        for part in [
            "who        gslb-bridge in cluster eu, pod pod-0\n",
            "object     ZoneDelegation cloud-example-com, generation 3, uid 6e0f\n",
            "why        the cluster's DNS address changed\n",
            "outcome    Applied\n",
            "before\n  {\n    \"entries\": [\n      {\n        \"address\": \"192.0.2.1\",\n",
            "after\n  {\n    \"entries\": [\n      {\n        \"address\": \"192.0.2.2\",\n",
        ] {
            assert!(ended.out.contains(part), "{part} in {}", ended.out);
        }
    }
    let json = cluster.run(&["changes", "show", "3", "-o", "json"]).await.json();
    assert_eq!((&json["spec"]["changeId"], &json["status"]), (&json!("change-3"), &Value::Null));
    let unknown = cluster.run(&["changes", "show", "4"]).await;
    assert_eq!((unknown.code, unknown.err.contains("there is no change 4")), (1, true));
}

#[tokio::test]
async fn verify_says_which_of_its_proofs_it_made() {
    let cluster = Cluster::start().await;
    let file = cluster.file("daemon.log", &cluster.shipped);

    let alone = cluster.run(&["changes", "verify", "-o", "json"]).await;
    assert_eq!(
        (alone.code, alone.json()),
        (
            0,
            json!({
                "lines": 5, "changes": 3, "consistency": "Proved", "seal": "NotChecked",
                "shipped": "NotChecked", "unsettled": [3], "faults": [], "unreadable": [], "misnamed": [],
            })
        )
    );

    let against = cluster.run(&["changes", "verify", "--against", &file]).await;
    assert_eq!(
        (against.code, against.out.as_str()),
        (
            0,
            "3 changes, 5 lines\n\
             consistency  proved       the lines agree with each other\n\
             seal         not checked  a holder of the key wrote them (--hmac-key-file)\n\
             shipped      proved       they are what left the cluster (--against)\n\
             change 3 has no outcome: it is under way, or waits until the provider is read\n"
        )
    );
}

#[tokio::test]
async fn verify_against_fails_after_any_altered_removed_or_reordered_line() {
    let cluster = Cluster::start().await;
    let lines: Vec<&str> = cluster.shipped.lines().collect();
    let mut spoiled: Vec<(String, Vec<String>)> = Vec::new();
    for at in 1..6 {
        let kept = |skipped: usize| {
            let kept = lines.iter().enumerate().filter(move |(index, _)| *index != skipped);
            kept.map(|(_, line)| (*line).to_owned()).collect::<Vec<_>>()
        };
        spoiled.push((format!("line {at} removed"), kept(at)));
        let mut altered = kept(usize::MAX);
        altered[at] = altered[at].replacen("2026", "2027", 1);
        spoiled.push((format!("line {at} altered"), altered));
        if at < 5 {
            let mut swapped = kept(usize::MAX);
            swapped.swap(at, at + 1);
            spoiled.push((format!("lines {at} and {} swapped", at + 1), swapped));
        }
    }
    for (what, lines) in spoiled {
        let file = cluster.file("spoiled.log", &(lines.join("\n") + "\n"));
        let ended = cluster.run(&["changes", "verify", "--against", &file]).await;
        assert_eq!(ended.code, 2, "{what}: {}", ended.out);
        assert!(ended.out.contains("shipped      BROKEN"), "{what}: {}", ended.out);
    }
}

#[tokio::test]
async fn verify_finds_an_edited_object_a_deleted_one_and_a_renamed_one() {
    let cluster = Cluster::start().await;
    lift_rules(&cluster.server);
    tamper(&cluster.server, 1, |object| object["spec"]["why"] = json!("nothing to see here"));
    let edited = cluster.run(&["changes", "verify"]).await;
    assert_eq!(edited.code, 2);
    assert!(edited.out.contains("FAULT line 1 was altered: its content does not have its hash\n"));

    let cluster = Cluster::start().await;
    cluster.server.delete(API_VERSION, "ProviderChange", "", "00000000000000000002").unwrap();
    let deleted = cluster.run(&["changes", "verify"]).await;
    assert_eq!(deleted.code, 2);
    assert!(deleted.out.contains("FAULT lines 3 to 4 are missing\n"), "{}", deleted.out);

    let cluster = Cluster::start().await;
    let mut object = cluster.server.get(API_VERSION, "ProviderChange", "", "00000000000000000003").unwrap();
    cluster.server.delete(API_VERSION, "ProviderChange", "", "00000000000000000003").unwrap();
    object["metadata"] = json!({ "name": "00000000000000000004" });
    cluster.server.put_object(object).unwrap();
    let renamed = cluster.run(&["changes", "verify", "-o", "json"]).await;
    assert_eq!((renamed.code, &renamed.json()["misnamed"]), (2, &json!(["00000000000000000004"])));
}

/// Rewrites the whole log consistently, with another reason for each change.
fn rewrite(server: &ApiServer) {
    lift_rules(server);
    let mut tail = Tail::START;
    for mut line in lines(server) {
        if let Entry::Intent(intent) = &mut line.entry {
            intent.change.why = "nothing to see here".into();
        }
        let forged = tail.next(line.entry, None).unwrap();
        tail = tail.after(&forged);
        let (sequence, key, value) =
            match (ProviderChangeSpec::of(&forged), ProviderChangeStatus::of(&forged)) {
                (Some(spec), _) => (spec.intent.sequence, "spec", serde_json::to_value(&spec).unwrap()),
                (None, Some(status)) => {
                    (status.outcome.sequence, "status", serde_json::to_value(&status).unwrap())
                }
                (None, None) => unreachable!("a line is an intent or an outcome"),
            };
        let name = gslb_crds::provider_change::name_of(sequence);
        let mut object = server.get(API_VERSION, "ProviderChange", "", &name).unwrap();
        object[key] = value;
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        server.apply_object(object).unwrap();
    }
}

#[tokio::test]
async fn a_rewritten_log_passes_alone_and_fails_against_the_shipped_lines_and_with_the_key() {
    let cluster = Cluster::start_sealed(Some(SealKey::new(*b"documentation"))).await;
    let file = cluster.file("daemon.log", &cluster.shipped);
    let key = cluster.file("key", "documentation\n");
    let sealed = cluster.run(&["changes", "verify", "--hmac-key-file", &key, "--against", &file]).await;
    assert_eq!(sealed.code, 0, "{}", sealed.out);

    rewrite(&cluster.server);

    let alone = cluster.run(&["changes", "verify"]).await;
    assert_eq!(alone.code, 0, "{}", alone.out);
    assert!(alone.out.contains("rewritten or cut at its end passes; --against FILE would tell"));
    let against = cluster.run(&["changes", "verify", "--against", &file, "-o", "json"]).await;
    assert_eq!((against.code, &against.json()["shipped"]), (2, &json!("Broken")));
    let with_key = cluster.run(&["changes", "verify", "--hmac-key-file", &key, "-o", "json"]).await;
    assert_eq!((with_key.code, &with_key.json()["seal"]), (2, &json!("Broken")));
}

#[tokio::test]
async fn more_changes_than_one_page_holds_are_all_listed() {
    let cluster = Cluster::start().await;
    let mut tail = lines(&cluster.server).iter().fold(Tail::START, |tail, line| tail.after(line));
    for sequence in 4..=501 {
        let intent = Intent { sequence, at: now(), change: proposal("pod-0", "change") };
        let line = tail.next(Entry::Intent(Box::new(intent)), None).unwrap();
        tail = tail.after(&line);
        let object = ProviderChange::of(ProviderChangeSpec::of(&line).unwrap(), &Default::default());
        cluster.server.put_object(serde_json::to_value(object).unwrap()).unwrap();
    }
    let verified = cluster.run(&["changes", "verify", "-o", "json"]).await;
    assert_eq!((verified.code, &verified.json()["changes"]), (0, &json!(501)));
}

#[tokio::test]
async fn a_context_that_does_not_exist_is_a_matter_of_configuration() {
    let cluster = Cluster::start().await;
    let ended = cluster.run(&["changes", "list", "--context", "us"]).await;
    assert_eq!(ended.code, 78, "{}", ended.err);
}
