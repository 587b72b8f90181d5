//! `gslb-bridge check` as a user runs it: the built program, a simulated grid, and an API server in memory.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

#[path = "../says/mod.rs"]
mod says;
mod world;

use serde_json::{Value, json};

use self::says::assert_says;
use self::world::{BASIC, PASSWORD, World};

#[tokio::test]
async fn a_grid_as_it_should_be_is_fine_and_everything_that_was_looked_at_is_listed() {
    let world = World::healthy().await;
    let ended = world.check(&[]).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{}", ended.out);
    let expected = "\
RESULT   PART       CHECK                  ZONE                FOUND
ok       cluster    zones                  -                   1 zone is looked at
ok       infoblox   reach                  -                   127.0.0.1 answers
ok       infoblox   tls                    -                   the certificate of 127.0.0.1 is trusted, names it and is valid
ok       infoblox   login                  -                   the user name and the password are accepted, and the API is open to the account
ok       infoblox   version                -                   the grid has WAPI 2.12; the newest is 2.12.3
ok       infoblox   account                -                   the account is no superuser (group svc-dns-group)
ok       infoblox   permissions            -                   the account may write nothing beyond the zones that it works in
ok       infoblox   view                   -                   DNS view default is there; the account sees no other
ok       infoblox   revision-attribute     -                   GslbBridgeRevision is defined, so the slower of two writers writes nothing
ok       infoblox   mandatory-attributes   -                   no attribute has to be set on zones
ok       infoblox   restart                -                   no restart of the DNS service is waiting; gslb-bridge never does it (INFOBLOX_RESTART_POLICY=never), so a new delegation is served after the next restart by others
ok       infoblox   parent-zone            cloud.example.com   example.com is an authoritative zone in DNS view default, served and unlocked
ok       infoblox   other-views            cloud.example.com   no other view that the account sees holds example.com
ok       infoblox   dnssec                 cloud.example.com   example.com is not signed, and holds no DS record for cloud.example.com
ok       infoblox   delegation             cloud.example.com   there is none in DNS view default yet; gslb-bridge run makes it
ok       infoblox   hidden-records         cloud.example.com   nothing stands at or beneath the name that a delegation would hide
ok       infoblox   write-permission       cloud.example.com   the account may write the delegation

17 ok, 0 to look at, 0 unknown, 0 wrong
";
    assert_eq!(ended.out, expected);
    assert_eq!(world.grid.open_sessions(), 0, "the session is ended");
    assert_eq!(world.grid.journal().count(gslb_mocks::wapi::Entry::is_write), 0);
}

#[tokio::test]
async fn zones_of_the_cluster_are_looked_at_like_those_of_the_settings_and_one_bad_object_stops_none() {
    let world = World::healthy().await;
    world.apply_zone("apps", "apps.example.com");
    let long = format!("{}.example.com", "z".repeat(60));
    world.apply_zone("long", &long);
    let ended = world.check(&["--output", "json"]).await;
    assert_eq!(ended.code, 2, "{}", ended.out);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let zones: Vec<_> =
        findings.iter().filter(|f| f["check"] == "delegation").map(|f| f["zone"].clone()).collect();
    assert_eq!(zones, [json!("apps.example.com"), json!("cloud.example.com")]);
    let wrong: Vec<_> = findings.iter().filter(|finding| finding["severity"] != "ok").collect();
    let label = format!("gslb-ns-eu-{}", "z".repeat(60));
    let problem = format!("label {label} of {label}.example.com has 71 characters; a label has at most 63");
    assert_eq!(
        wrong,
        [&json!({"part": "cluster", "check": "zones", "zone": long, "severity": "error",
            "found": format!("this cluster has no name server name in it: {problem}"),
            "fix": "shorten CLUSTER_GEO_TAG or GLUEA_PREFIX, or choose a zone with a shorter name"})]
    );
}

#[tokio::test]
async fn a_zone_in_records_mode_is_looked_at_with_the_hosts_of_the_gslbs() {
    let world = World::healthy().await;
    world.apply_gslb("app", "app.cloud.example.com, app.elsewhere.example.com");
    world.grid.edit(|admin| {
        let alias =
            json!({"name": "app.cloud.example.com", "canonical": "web.example.net", "view": "default"});
        admin.create("record:cname", alias).unwrap();
    });
    let ended = world
        .check_file("peerGeoTags: [eu, us]\nzones: [{zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, mode: records}]\n")
        .await;
    assert_eq!((ended.code, ended.err.as_str()), (2, ""), "{}", ended.out);
    let told: Vec<_> = ended.out.lines().filter(|line| line.contains("cloud.example.com ")).collect();
    let expected = [
        "ok        infoblox   records-zone           cloud.example.com   example.com is an authoritative zone in DNS view default, served and unlocked",
        "ok        infoblox   other-views            cloud.example.com   no other view that the account sees holds example.com",
        "ERROR     infoblox   host-records           cloud.example.com   app.cloud.example.com is an alias of web.example.net, so it cannot have address records",
        "fix: remove the CNAME record app.cloud.example.com at Data Management > DNS > Zones > example.com > Records, or give the application another host name",
        "ok        infoblox   write-permission       cloud.example.com   the account may make, change and delete records of type A and AAAA",
    ];
    assert_eq!(told.iter().map(|line| line.trim()).collect::<Vec<_>>(), expected);
    assert_eq!(world.grid.journal().count(gslb_mocks::wapi::Entry::is_write), 0);
}

/// The page shows what the program prints.
#[tokio::test]
async fn the_sample_report_of_the_documentation_is_what_is_printed() {
    let world = World::with_a_few_faults().await;
    let ended = world.check(&[]).await;
    assert_eq!(ended.code, 2, "{}", ended.out);
    let report = ended.out.replace("127.0.0.1", "gm.example.com");
    assert_says("docs/check.md", "check", &format!("```text\n{report}```\n"));
}

#[tokio::test]
async fn a_wrong_password_is_counted_with_those_of_the_daemon_over_runs() {
    let world = World::healthy().await;
    let wrong = [("INFOBLOX_WAPI_PASSWORD", "not-this-one")];
    for expected in ["HTTP 401); correct", "tried once more at 2", "tried once more at 2"] {
        let ended = world.check_with(&[], &wrong).await;
        assert_eq!(ended.code, 2, "{}", ended.out);
        assert!(ended.out.contains(expected), "{expected} not in:\n{}", ended.out);
    }
    assert_eq!(world.grid.bad_logins(), 1);
    assert!(world.login_memory().is_some(), "the count is kept where the daemon keeps it");
    assert_eq!(world.check(&[]).await.code, 0, "another password is tried at once");
}

#[tokio::test]
async fn no_secret_is_in_any_output() {
    let world = World::healthy().await;
    for (fault, password) in [
        (None, PASSWORD),
        (Some("wapi-401"), PASSWORD),
        (Some("wapi-403"), PASSWORD),
        (Some("wapi-html"), PASSWORD),
        (None, "S3CRET-no"),
    ] {
        world.grid.faults().clear();
        if let Some(fault) = fault {
            world.grid.faults().inject(fault.parse::<gslb_mocks::wapi::Fault>().unwrap());
        }
        for output in ["table", "json"] {
            let settings = [("INFOBLOX_WAPI_PASSWORD", password), ("LOG_LEVEL", "trace")];
            let ended = world.check_with(&["--output", output], &settings).await;
            let said = ended.out + &ended.err;
            for secret in [PASSWORD, "S3CRET-no", BASIC, "ibapauth"] {
                assert!(!said.contains(secret), "{secret} in:\n{said}");
            }
        }
    }
}
