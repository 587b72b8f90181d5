//! From facts to findings. Pure: the same facts give the same findings in the same order.

mod account;
mod delegation;
mod door;
mod grants;
mod grid;
mod records;
mod zone;

#[cfg(test)]
mod tests;

use gslb_provider_contract::{Finding, ProviderError};

use super::facts::{Facts, Inside, RecordsFacts, ZoneFacts};

/// What there is to say: of the way in, of the account, of the grid, and of each zone.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let inside = match &facts.inside {
        Ok(inside) => inside,
        Err(shut) => return door::shut(facts, shut),
    };
    let mut findings = door::open(facts, &inside.schema);
    findings.extend(account::findings(facts, inside));
    findings.extend(grid::findings(facts, inside));
    findings.extend(inside.zones.iter().flat_map(|zone| of_zone(facts, inside, zone)));
    findings.extend(inside.records.iter().flat_map(|zone| of_records(facts, inside, zone)));
    findings
}

fn of_records(facts: &Facts, inside: &Inside, zone: &RecordsFacts) -> Vec<Finding> {
    let mut findings = records::findings(facts, zone);
    findings.extend(account::of_records(facts, inside, zone));
    findings.into_iter().map(|finding| finding.about(&zone.zone)).collect()
}

fn of_zone(facts: &Facts, inside: &Inside, zone: &ZoneFacts) -> Vec<Finding> {
    let mut findings = zone::findings(facts, zone);
    findings.extend(delegation::findings(facts, zone));
    findings.extend(account::of_zone(facts, inside, zone));
    let name = zone.claimant.zone().name();
    findings.into_iter().map(|finding| finding.about(name)).collect()
}

/// What could not be read is not judged.
fn unread(check: &'static str, what: &str, error: &ProviderError) -> Finding {
    Finding::unknown(check, format!("{what} could not be read: {error}"), "correct that, and check again")
}

/// Where Grid Manager has the settings of a zone.
fn zone_menu(fqdn: &str) -> String {
    format!("Data Management > DNS > Zones > {fqdn} > Edit")
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
