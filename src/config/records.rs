//! In which zones nothing is delegated, because the records of their hosts are kept at the provider.

use std::collections::BTreeSet;

use gslb_core::name::DomainName;

use super::catalog::{MODE, PUBLISH};
use super::file::ZoneEntry;
use super::problem::Problem;
use super::provider::ProviderChoice;
use super::reader::Reader;
use super::zones::{PlacedZone, VARIABLE};

/// What is delegated.
const DELEGATION: &str = "delegation";
/// What is not.
const RECORDS: &str = "records";

/// Whether a zone of the file is in records mode.
pub(super) fn is_records(zone: &ZoneEntry) -> bool {
    zone.mode.as_deref().map(str::trim) == Some(RECORDS)
}

/// The zones whose hosts' records are kept at the provider. `provider`: nothing if what is wrong with it is told already;
/// `listed`: whether the clusters of the fleet are.
pub(super) fn read(
    reader: &mut Reader<'_>,
    zones: &[PlacedZone],
    provider: Option<&ProviderChoice>,
    listed: bool,
) -> BTreeSet<DomainName> {
    let mut records = BTreeSet::new();
    for entry in reader.listed_zones(VARIABLE) {
        let problem = match entry.mode.as_deref().map(str::trim) {
            None | Some(DELEGATION) => continue,
            Some(RECORDS) => {
                let name = entry.fields[1].trim();
                let zone = zones.iter().map(|(zone, _)| zone.name()).find(|zone| zone.as_str() == name);
                records.extend(zone.cloned());
                problem_of(reader, entry, provider, listed)
            }
            Some(_) => Some((
                format!("the mode of a zone is {DELEGATION} or {RECORDS}"),
                format!("write {MODE}: {DELEGATION} or {MODE}: {RECORDS}"),
            )),
        };
        if let (Some((limit, fix)), Some(place)) = (problem, reader.place_of_zone(VARIABLE, entry)) {
            let mode = entry.mode.as_deref().unwrap_or_default().trim();
            reader.report(Problem::with_value(place, mode, limit, fix));
        }
    }
    records
}

/// Why a zone cannot be in records mode, and what to do.
fn problem_of(
    reader: &Reader<'_>,
    zone: &ZoneEntry,
    provider: Option<&ProviderChoice>,
    listed: bool,
) -> Option<(String, String)> {
    if zone.publish.is_some() {
        let limit = format!(
            "records are kept at one provider, in the view that it is set up with, so such a zone has no {PUBLISH}"
        );
        return Some((limit, format!("remove {PUBLISH}, or write {MODE}: {DELEGATION}")));
    }
    let grids = provider?.grids();
    if grids.is_empty() {
        let fix = format!("select Infoblox, or write {MODE}: {DELEGATION}");
        return Some(("only Infoblox holds the records of hosts".to_owned(), fix));
    }
    if grids.len() > 1 {
        let names = grids.into_keys().collect::<Vec<_>>().join(", ");
        let limit = format!("records are kept at one provider, and there are several ({names})");
        return Some((
            limit,
            format!(
                "list one provider, or write {MODE}: {DELEGATION} and name the places of the zone below {PUBLISH}"
            ),
        ));
    }
    if !listed {
        let tags = reader.called("EXT_GSLB_CLUSTERS_GEO_TAGS");
        let limit =
            format!("there is no delegation in which the other clusters could be found, and {tags} is empty");
        return Some((limit, format!("list the tags of all clusters in {tags}, the own one too")));
    }
    None
}
