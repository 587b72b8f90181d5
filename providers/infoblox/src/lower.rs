//! One change becomes one call. Pure.

use std::net::IpAddr;

use gslb_core::change::Change;
use gslb_core::delegation::Delegation;
use gslb_core::name::DomainName;
use gslb_core::ttl::Ttl;
use serde_json::Value;

use crate::convert::{Unreadable, server};
use crate::wire::{ExtServer, NewServers, NewZone, ZoneDelegated};

/// Written on creation and never again (F-61).
const COMMENT: &str = "created by gslb-bridge";
/// Members of an entry that the grid shows and refuses (reference.md §3.2).
const READ_ONLY: [&str; 1] = ["shared_with_ms_parent_delegation"];

/// A write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Write {
    Create { body: Value },
    Update { reference: String, body: Value },
    Delete { reference: String },
}

/// Nothing if the object that the change needs is not there.
///
/// # Errors
/// An entry cannot be read. The list is replaced whole, so leaving that entry out would delete it.
pub(crate) fn lower(
    change: &Change,
    found: Option<&ZoneDelegated>,
    view: &str,
) -> Result<Option<Write>, Unreadable> {
    Ok(match (change, found) {
        (Change::Create { after }, None) => Some(Write::Create { body: new_zone(after, view) }),
        (Change::Replace { after, .. }, Some(found)) => {
            let entries_change = !change.added().is_empty() || !change.removed().is_empty();
            let delegate_to = entries_change.then(|| merged(after, found)).transpose()?;
            let ttl = change.sets_ttl();
            let body = json(&NewServers {
                delegate_to,
                delegated_ttl: ttl.map(Ttl::as_secs),
                use_delegated_ttl: ttl.map(|_| true),
            });
            Some(Write::Update { reference: found.reference.clone(), body })
        }
        (Change::Delete { .. }, Some(found)) => Some(Write::Delete { reference: found.reference.clone() }),
        (Change::Create { .. }, Some(_)) | (Change::Replace { .. } | Change::Delete { .. }, None) => None,
    })
}

fn new_zone(after: &Delegation, view: &str) -> Value {
    let delegate_to = after.pairs().into_iter().map(entry).collect();
    json(&NewZone {
        fqdn: after.zone.as_str(),
        view,
        zone_format: "FORWARD",
        delegate_to,
        delegated_ttl: after.ttl.map(|ttl| ttl.as_secs()),
        use_delegated_ttl: after.ttl.map(|_| true),
        comment: COMMENT,
    })
}

/// What stays, as the grid showed it and in its order; then what is new, sorted.
fn merged(after: &Delegation, found: &ZoneDelegated) -> Result<Vec<ExtServer>, Unreadable> {
    let mut missing = after.pairs();
    let mut entries = vec![];
    for shown in found.delegate_to.iter().flatten() {
        let (ns_name, address) = server(found, shown)?;
        if stays(after, &ns_name, address) {
            missing.retain(|(name, glue)| **name != ns_name || *glue != address);
            entries.push(writable(shown));
        }
    }
    entries.extend(missing.into_iter().map(entry));
    Ok(entries)
}

/// An entry without an address stays with its name.
fn stays(after: &Delegation, ns_name: &DomainName, address: Option<IpAddr>) -> bool {
    let glue = after.servers.get(ns_name);
    glue.is_some_and(|glue| address.is_none_or(|address| glue.contains(&address)))
}

fn writable(entry: &ExtServer) -> ExtServer {
    let mut entry = entry.clone();
    entry.other.retain(|member, _| !READ_ONLY.contains(&member.as_str()));
    entry
}

fn entry((ns_name, address): (&DomainName, Option<IpAddr>)) -> ExtServer {
    let address = address.map(|address| address.to_string());
    ExtServer { name: ns_name.to_string(), address, other: Default::default() }
}

fn json(body: &impl serde::Serialize) -> Value {
    serde_json::to_value(body).expect("a body of strings, numbers and lists is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gslb_core::delegation::Servers;
    use serde_json::json;

    fn delegation(entries: &[(&str, &[&str])]) -> Delegation {
        let mut servers = Servers::new();
        for (ns_name, addresses) in entries {
            let glue = addresses.iter().map(|address| address.parse().unwrap()).collect();
            servers.insert(DomainName::parse(ns_name).unwrap(), glue);
        }
        let zone = DomainName::parse("cloud.example.com").unwrap();
        Delegation { zone, ttl: Some(Ttl::DEFAULT), servers }
    }

    fn zone(delegate_to: Value) -> ZoneDelegated {
        serde_json::from_value(json!({
            "_ref": "zone_delegated/ZG5z:cloud.example.com/Medium%2FHigh%20Trust",
            "fqdn": "cloud.example.com", "view": "Medium/High Trust", "delegate_to": delegate_to}))
        .unwrap()
    }

    /// Conformance 71; F-54.
    #[test]
    fn a_new_zone_has_sorted_entries_a_ttl_and_no_attributes() {
        let after = delegation(&[("gslb-ns-eu-cloud.example.com", &["192.0.2.54", "192.0.2.53"])]);
        let body = json!({
            "fqdn": "cloud.example.com", "view": "default", "zone_format": "FORWARD",
            "delegate_to": [
                {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.53"},
                {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.54"}],
            "delegated_ttl": 30, "use_delegated_ttl": true, "comment": "created by gslb-bridge"});
        assert_eq!(lower(&Change::Create { after }, None, "default"), Ok(Some(Write::Create { body })));
    }

    /// Conformance 71; F-61.
    #[test]
    fn an_update_sends_the_list_only_and_keeps_what_others_put_into_their_entries() {
        let found = zone(json!([
            {"name": "ns1.isp.example", "address": "203.0.113.53", "stealth": true, "tsig_key_name": "k",
             "shared_with_ms_parent_delegation": false},
            {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.99"},
            {"name": "NS2.isp.example.", "address": "203.0.113.54"}]));
        let before = delegation(&[
            ("gslb-ns-eu-cloud.example.com", &["192.0.2.99"]),
            ("ns1.isp.example", &["203.0.113.53"]),
            ("ns2.isp.example", &["203.0.113.54"]),
        ]);
        let mut after = before.clone();
        after.servers.extend(delegation(&[("gslb-ns-eu-cloud.example.com", &["192.0.2.53"])]).servers);
        let Ok(Some(Write::Update { reference, body })) =
            lower(&Change::Replace { before, after }, Some(&found), "default")
        else {
            panic!("an update")
        };
        assert_eq!(reference, "zone_delegated/ZG5z:cloud.example.com/Medium%2FHigh%20Trust");
        assert_eq!(
            body,
            json!({"delegate_to": [
                {"name": "ns1.isp.example", "address": "203.0.113.53", "stealth": true, "tsig_key_name": "k"},
                {"name": "NS2.isp.example.", "address": "203.0.113.54"},
                {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.53"}]})
        );
    }

    /// F-61.
    #[test]
    fn a_first_ttl_is_sent_with_its_flag_and_without_the_list_if_that_stays() {
        let found = zone(json!([{"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.53"}]));
        let after = delegation(&[("gslb-ns-eu-cloud.example.com", &["192.0.2.53"])]);
        let before = Delegation { ttl: None, ..after.clone() };
        let lowered = lower(&Change::Replace { before, after }, Some(&found), "default");
        let reference = found.reference.clone();
        let body = json!({"delegated_ttl": 30, "use_delegated_ttl": true});
        assert_eq!(lowered, Ok(Some(Write::Update { reference, body })));
    }

    #[test]
    fn a_deletion_needs_the_object_and_a_creation_its_absence() {
        let ours = delegation(&[("gslb-ns-eu-cloud.example.com", &["192.0.2.53"])]);
        let found = zone(json!([]));
        assert_eq!(lower(&Change::Delete { before: ours.clone() }, None, "default"), Ok(None));
        assert_eq!(lower(&Change::Create { after: ours }, Some(&found), "default"), Ok(None));
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_not_left_out_of_the_list() {
        let found = zone(json!([{"name": "ns1.isp.example", "address": "not-one"}]));
        let before = delegation(&[]);
        let after = delegation(&[("gslb-ns-eu-cloud.example.com", &["192.0.2.53"])]);
        let refused = lower(&Change::Replace { before, after }, Some(&found), "default").unwrap_err();
        assert!(refused.to_string().contains("ns1.isp.example"), "{refused}");
    }
}
