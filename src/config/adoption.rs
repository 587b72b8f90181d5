//! Which zones are delegated whatever that hides.

use std::collections::BTreeSet;

use gslb_core::name::DomainName;

use super::catalog::{ADOPT_HIDDEN_RECORDS, MODE};
use super::infoblox::ProviderChoice;
use super::reader::Reader;
use super::records::is_records;
use super::zones::VARIABLE;

/// The zones of the file that ask for it. `provider`: nothing if what is wrong with it is told already.
pub(super) fn read(reader: &mut Reader<'_>, provider: Option<&ProviderChoice>) -> BTreeSet<DomainName> {
    let mut adopting = BTreeSet::new();
    for entry in reader.listed_zones(VARIABLE) {
        let Some(adopts) = entry.adopt_hidden_records else { continue };
        let refusal = match provider {
            _ if is_records(entry) => Some((
                "has no effect in records mode, where nothing is delegated",
                format!("remove it, or remove {MODE}"),
            )),
            Some(provider) if !provider.is_shared() => Some((
                "has no effect without Infoblox or a webhook: nobody else is asked what a delegation would hide",
                "remove it, or select one of them".to_owned(),
            )),
            Some(_) | None => None,
        };
        if let Some((told, fix)) = refusal {
            let place = reader.place_at(format!("zones[{}].{ADOPT_HIDDEN_RECORDS}", entry.index), entry.at);
            reader.report_at(place, told, fix);
        }
        // A name that is none is told already.
        adopting.extend(DomainName::parse(entry.fields[1].trim()).ok().filter(|_| adopts));
    }
    adopting
}
