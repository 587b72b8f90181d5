//! `DNS_ZONES`, and the names that follow from it.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};

use super::problem::Problem;

const VARIABLE: &str = "DNS_ZONES";
const FORM: &str = "write parent:zone:negativeTTL, for example example.com:cloud.example.com:30";

/// Parses `parent:zone:negTTL[;…]`. Empty parts between semicolons are dropped.
pub(super) fn parse(text: &str, problems: &mut Vec<Problem>) -> Vec<Zone> {
    let mut zones = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        match parse_one(part) {
            Ok(zone) => zones.push(zone),
            Err(limits) => problems.push(Problem::with_value(VARIABLE, part, limits.join(", and "), FORM)),
        }
    }
    report_collisions(&zones, problems);
    zones
}

/// The zone, or everything that is wrong with it.
fn parse_one(part: &str) -> Result<Zone, Vec<String>> {
    let fields: Vec<&str> = part.split(':').map(str::trim).collect();
    let [parent, zone, ttl] = fields[..] else {
        return Err(vec![format!("a zone has three parts separated by colons, this has {}", fields.len())]);
    };
    let mut limits = Vec::new();
    let ttl = parse_ttl(ttl).unwrap_or_else(|limit| {
        limits.push(limit);
        Ttl::DEFAULT
    });
    match parse_names(parent, zone, ttl) {
        Ok(zone) if limits.is_empty() => Ok(zone),
        Ok(_) => Err(limits),
        Err(limit) => {
            limits.insert(0, limit);
            Err(limits)
        }
    }
}

fn parse_names(parent: &str, zone: &str, ttl: Ttl) -> Result<Zone, String> {
    let name = |text: &str| DomainName::parse(text).map_err(|problem| problem.to_string());
    let (parent, zone) = (name(parent)?, name(zone)?);
    if zone.is_wildcard() || parent.is_wildcard() {
        return Err("a zone name is not a wildcard".to_owned());
    }
    Zone::new(zone, parent, ttl).map_err(|problem| problem.to_string())
}

fn parse_ttl(text: &str) -> Result<Ttl, String> {
    let seconds: i64 =
        text.parse().map_err(|_| format!("the negative TTL {text:?} is not a whole number"))?;
    Ttl::from_secs(seconds).map_err(|problem| problem.to_string())
}

/// Two zones must differ, and also with their dots turned into dashes: objects are named like that.
fn report_collisions(zones: &[Zone], problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, &Zone> = BTreeMap::new();
    for zone in zones {
        let Some(first) = seen.insert(zone.name().dashed(), zone) else {
            continue;
        };
        let (limit, fix) = if first.name() == zone.name() {
            ("each zone is listed once".to_owned(), "remove one of the two")
        } else {
            let shared = zone.name().dashed();
            (
                format!("it would share the object name {shared} with {}", first.name()),
                "rename one of the two",
            )
        };
        problems.push(Problem::with_value(VARIABLE, zone.name().as_str(), limit, fix));
    }
}

/// Every name server name of the fleet must be a legal name, also those of the peers: they compose the same.
pub(super) fn check_ns_names(
    zones: &[Zone],
    prefix: &NsPrefix,
    tags: &BTreeSet<GeoTag>,
    problems: &mut Vec<Problem>,
) {
    for zone in zones {
        for tag in tags {
            if let Err(problem) = zone.ns_name(prefix, tag) {
                problems.push(Problem::with_value(
                    VARIABLE,
                    zone.name().as_str(),
                    format!("the name server name of cluster {tag} is not legal: {problem}"),
                    "shorten or correct GLUEA_PREFIX, the geo tag or the zone",
                ));
            }
        }
    }
}
