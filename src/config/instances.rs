//! The listed providers: each has a name, and all settings that one grid can have.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::PROVIDERS;
use super::file::Instance;
use super::infoblox::{GRID_HOST, InfobloxSettings, SECTION, check_proxy};
use super::problem::Problem;
use super::reader::Reader;
use super::webhook_provider::URL;

/// Longest name: it is a label of metrics and a key of a ConfigMap. As a label of DNS.
const LONGEST_NAME: usize = 63;

/// The listed grids by name; `Some(None)` if a problem was reported, nothing if no providers are listed.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<Option<BTreeMap<String, InfobloxSettings>>> {
    let listed = reader.instances()?;
    refuse_the_other_ways(reader);
    check_proxy(reader);
    let count = listed.len();
    let (mut grids, mut names) = (BTreeMap::new(), BTreeSet::new());
    for (instance, raw) in listed {
        let grid = reader.within(&raw, read_one);
        let name = name_of(reader, instance, &mut names);
        if let (Some(name), Some(grid)) = (name, grid) {
            grids.insert(name, grid);
        }
    }
    Some((count > 0 && grids.len() == count).then_some(grids))
}

fn read_one(reader: &mut Reader<'_>) -> Option<InfobloxSettings> {
    if reader.is_set(GRID_HOST) {
        return InfobloxSettings::read(reader);
    }
    let limit = "a provider of type infoblox is a grid";
    reader.report(Problem::missing(GRID_HOST, limit, "write the Grid Master's name or address"));
    None
}

/// One place to say it: which of two ways counts would be a guess.
fn refuse_the_other_ways(reader: &mut Reader<'_>) {
    let limit = format!("{PROVIDERS} lists the providers already");
    let plain = Some(reader.place(GRID_HOST)).filter(|_| !reader.text(GRID_HOST).is_empty());
    if let Some(place) = plain.or_else(|| reader.section(SECTION)) {
        let told = format!("is set beside {PROVIDERS}, which lists the grids already");
        let fix = format!("make it an element of {PROVIDERS}, or remove it");
        reader.report(Problem::told(place, told, fix));
    }
    if reader.reads(URL) && !reader.text(URL).is_empty() {
        let told = format!("is set beside {PROVIDERS}, which lists the grids already");
        reader.report(Problem::told(reader.place(URL), told, format!("remove it, or {PROVIDERS}")));
    }
    if reader.reads("EXTDNS_ENABLED") && reader.boolean("EXTDNS_ENABLED") {
        let fix = format!("set {} to false, or remove {PROVIDERS}", reader.called("EXTDNS_ENABLED"));
        reader.report(Problem::with_value("EXTDNS_ENABLED", "true", limit, fix));
    }
}

fn name_of(reader: &mut Reader<'_>, instance: &Instance, names: &mut BTreeSet<String>) -> Option<String> {
    let written = instance.name.as_ref()?;
    let name = written.text.clone();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let legal = (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-');
    let (limit, fix) = if !legal {
        ("a name has 1 to 63 small letters, digits and dashes, no dash at its ends", "write for example dmz")
    } else if !names.insert(name.clone()) {
        (
            "another provider has this name already",
            "give each its own, zones and the change log tell them apart by it",
        )
    } else {
        return Some(name);
    };
    let place = reader.place_at(format!("{PROVIDERS}[{}].name", instance.within.index), written.at)?;
    reader.report(Problem::with_value(place, name, limit, fix));
    None
}
