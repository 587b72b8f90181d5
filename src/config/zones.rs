//! The zones, and the names that follow from it.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};

use super::place::Place;
use super::problem::Problem;
use super::reader::Reader;

/// The setting that lists them.
pub(super) const VARIABLE: &str = "DNS_ZONES";
const FORM: &str = "write parent:zone:negativeTTL, for example example.com:cloud.example.com:30";
const FILE_FORM: &str =
    "write for example zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30";

/// A zone, and where it stands.
pub(super) type PlacedZone = (Zone, Place);

/// The zones that can be served. `parent:zone:negTTL[;…]` in the variable, where empty parts between semicolons are
/// dropped; mappings in the file.
pub(super) fn read(reader: &mut Reader<'_>) -> Vec<PlacedZone> {
    let mut zones = Vec::new();
    for (place, shown, fields) in reader.zones(VARIABLE) {
        match fields.map_err(told).and_then(|fields| parse_one(&fields)) {
            Ok(zone) => zones.push((zone, place)),
            Err(limits) => {
                let form = if matches!(place, Place::File(_)) { FILE_FORM } else { FORM };
                reader.report(Problem::with_value(place, shown, limits.join(", and "), form));
            }
        }
    }
    report_collisions(&zones, reader);
    zones
}

fn told(count: usize) -> Vec<String> {
    vec![format!("a zone has three parts separated by colons, this has {count}")]
}

/// The zone, or everything that is wrong with it.
fn parse_one([parent, zone, ttl]: &[String; 3]) -> Result<Zone, Vec<String>> {
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
fn report_collisions(zones: &[PlacedZone], reader: &mut Reader<'_>) {
    let mut seen: BTreeMap<String, &Zone> = BTreeMap::new();
    for (zone, place) in zones {
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
        reader.report(Problem::with_value(place.clone(), zone.name().as_str(), limit, fix));
    }
}

/// Every name server name of the fleet must be a legal name, also those of the peers: they compose the same.
pub(super) fn check_ns_names(
    zones: &[PlacedZone],
    prefix: &NsPrefix,
    tags: &BTreeSet<GeoTag>,
    reader: &mut Reader<'_>,
) {
    let fix = format!("shorten or correct {}, the geo tag or the zone", reader.called("GLUEA_PREFIX"));
    for (zone, place) in zones {
        for tag in tags {
            if let Err(problem) = zone.ns_name(prefix, tag) {
                reader.report(Problem::with_value(
                    place.clone(),
                    zone.name().as_str(),
                    format!("the name server name of cluster {tag} is not legal: {problem}"),
                    &fix,
                ));
            }
        }
    }
}
