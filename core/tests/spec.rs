//! Runs `tests/spec/*.yaml`: each file is one host as a cluster sees it, and the records that follow.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use gslb_core::decision::{Decision, Inputs, Own, Sight, decide};
use gslb_core::endpoint::{Endpoint, host_endpoints};
use gslb_core::health::Health;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::Tier;
use gslb_core::strategy::{Accepted, RawStrategy};
use gslb_core::target::Targets;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

const HOST: &str = "shop.glb.example.org";
const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
/// The default of `LAST_RESORT_SECONDS`.
const LAST_RESORT: SignedDuration = SignedDuration::from_secs(3600);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    given: Given,
    then: Then,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    /// As in a Gslb.
    strategy: GivenStrategy,
    own: GivenOwn,
    #[serde(default)]
    peers: BTreeMap<GeoTag, GivenPeer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GivenStrategy {
    r#type: String,
    primary_geo_tag: Option<String>,
    #[serde(default)]
    weight: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GivenOwn {
    geo_tag: GeoTag,
    health: Health,
    targets: Targets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GivenPeer {
    tier: GivenTier,
    #[serde(default)]
    targets: Targets,
    /// Age of its last positive word; absent: never heard.
    heard_seconds_ago: Option<i64>,
}

/// [`Tier`] as the files write it.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
enum GivenTier {
    Good,
    Unknown,
    Down,
}

/// The records, with targets in the order of the answer; a record that is left out must not exist.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    /// The reason of the condition `Serving`.
    serving: String,
    /// Targets of `localtargets-<host>`.
    local: Option<Vec<Ipv4Addr>>,
    /// Targets of the host.
    host: Option<Vec<Ipv4Addr>>,
    /// Labels of the host's record.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[test]
fn every_spec_holds() {
    let files = spec_files();
    assert!(!files.is_empty(), "tests/spec holds no file");
    for file in files {
        let text = fs::read_to_string(&file).expect("a spec is readable");
        let spec: Spec = serde_saphyr::from_str(&text)
            .unwrap_or_else(|problem| panic!("{} is no spec: {problem}", file.display()));
        assert_eq!(outcome(spec.given), spec.then, "{}", file.display());
    }
}

fn spec_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/spec");
    let entries = fs::read_dir(folder).expect("tests/spec exists");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry is readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

fn outcome(given: Given) -> Then {
    let accepted = given.strategy.accept();
    let decision = decide(&inputs(given, &accepted), NOW);
    let host = DomainName::parse(HOST).expect("HOST is a name");
    let records = host_endpoints(&host, &decision, &accepted).expect("HOST is short enough");
    then(&host, &decision, &records)
}

fn inputs(given: Given, accepted: &Accepted) -> Inputs {
    let GivenOwn { geo_tag, health, targets } = given.own;
    Inputs {
        strategy: accepted.strategy.clone(),
        own: Own { tag: geo_tag, health, targets },
        peers: given.peers.into_iter().map(|(tag, peer)| (tag, peer.sight())).collect(),
        last_resort: LAST_RESORT,
    }
}

fn then(host: &DomainName, decision: &Decision, records: &[Endpoint]) -> Then {
    let own = records.iter().find(|record| record.owner_name == *host);
    let local = records.iter().find(|record| record.owner_name != *host);
    Then {
        serving: decision.answer.reason().to_owned(),
        local: local.map(|record| record.targets.clone()),
        host: own.map(|record| record.targets.clone()),
        labels: own.map(|record| record.labels.clone()).unwrap_or_default(),
    }
}

impl GivenStrategy {
    fn accept(&self) -> Accepted {
        let raw = RawStrategy {
            kind: self.r#type.clone(),
            weight: self.weight.clone(),
            primary_geo_tag: self.primary_geo_tag.clone(),
            ..RawStrategy::default()
        };
        raw.accept().expect("the strategy of a spec is valid")
    }
}

impl GivenPeer {
    fn sight(self) -> Sight {
        let tier = match self.tier {
            GivenTier::Good => Tier::Good,
            GivenTier::Unknown => Tier::Unknown,
            GivenTier::Down => Tier::Down,
        };
        let heard = self.heard_seconds_ago.map(|age| NOW - SignedDuration::from_secs(age));
        Sight { tier, targets: self.targets, heard }
    }
}
