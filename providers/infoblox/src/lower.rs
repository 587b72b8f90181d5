//! One change becomes one call. Pure.

use std::net::IpAddr;

use gslb_core::change::Change;
use gslb_core::delegation::Delegation;
use gslb_core::name::DomainName;
use gslb_core::ttl::Ttl;
use serde_json::Value;

use crate::convert::{Unreadable, server};
use crate::swap::REVISION;
use crate::wire::{ExtServer, NewServers, NewZone, ZoneDelegated};

/// Written on creation and never again (F-61).
pub(crate) const COMMENT: &str = "created by gslb-bridge";
/// Members of an entry that the grid shows and refuses (reference.md §3.2).
const READ_ONLY: [&str; 1] = ["shared_with_ms_parent_delegation"];

/// A write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Write {
    Create { body: Value },
    Edit(Edit),
}

/// A write to a zone that is there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edit {
    Update {
        /// The whole new list; nothing if it stays.
        delegate_to: Option<Vec<ExtServer>>,
        ttl: Option<Ttl>,
    },
    Delete,
}

impl Edit {
    /// What is sent for an update.
    pub(crate) fn body(&self) -> Value {
        match self {
            Self::Update { delegate_to, ttl } => json(&NewServers {
                delegate_to: delegate_to.clone(),
                delegated_ttl: ttl.map(Ttl::as_secs),
                use_delegated_ttl: ttl.map(|_| true),
            }),
            Self::Delete => Value::Null,
        }
    }
}

/// Body of a POST that makes a zone again as it was, with these entries.
pub(crate) fn restored(zone: &ZoneDelegated, delegate_to: Vec<ExtServer>) -> Value {
    let mut body = serde_json::json!({
        "fqdn": zone.fqdn, "view": zone.view, "zone_format": "FORWARD",
        "disable": zone.disable == Some(true),
    });
    match zone.ns_group.as_deref().filter(|group| !group.is_empty()) {
        Some(group) => body["ns_group"] = group.into(),
        None => body["delegate_to"] = delegate_to.iter().map(writable).map(|entry| json(&entry)).collect(),
    }
    if zone.locked == Some(true) {
        body["locked"] = true.into();
    }
    if let (Some(true), Some(ttl)) = (zone.use_delegated_ttl, zone.delegated_ttl) {
        body["delegated_ttl"] = ttl.into();
        body["use_delegated_ttl"] = true.into();
    }
    if let Some(comment) = zone.comment.as_deref().filter(|comment| !comment.is_empty()) {
        body["comment"] = comment.into();
    }
    if let Some(attributes) = zone.extattrs.as_ref().filter(|attributes| !attributes.is_empty()) {
        body["extattrs"] = attributes.clone().into();
    }
    body
}

/// Nothing if the object that the change needs is not there.
///
/// # Errors
/// An entry cannot be read. The list is replaced whole, so leaving that entry out would delete it.
pub(crate) fn lower(
    change: &Change,
    found: Option<&ZoneDelegated>,
    view: &str,
    revision: Option<String>,
) -> Result<Option<Write>, Unreadable> {
    Ok(match (change, found) {
        (Change::Create { after }, None) => Some(Write::Create { body: new_zone(after, view, revision) }),
        (Change::Replace { after, .. }, Some(found)) => {
            let entries_change = !change.added().is_empty() || !change.removed().is_empty();
            let delegate_to = entries_change.then(|| merged(after, found)).transpose()?;
            Some(Write::Edit(Edit::Update { delegate_to, ttl: change.sets_ttl() }))
        }
        (Change::Delete { .. }, Some(_)) => Some(Write::Edit(Edit::Delete)),
        (Change::Create { .. }, Some(_)) | (Change::Replace { .. } | Change::Delete { .. }, None) => None,
    })
}

fn new_zone(after: &Delegation, view: &str, revision: Option<String>) -> Value {
    let delegate_to = after.pairs().into_iter().map(entry).collect();
    json(&NewZone {
        fqdn: after.zone.as_str(),
        view,
        zone_format: "FORWARD",
        delegate_to,
        delegated_ttl: after.ttl.map(|ttl| ttl.as_secs()),
        use_delegated_ttl: after.ttl.map(|_| true),
        comment: COMMENT,
        extattrs: revision.map(|revision| serde_json::json!({REVISION: {"value": revision}})),
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

pub(crate) fn writable(entry: &ExtServer) -> ExtServer {
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
        assert_eq!(lower(&Change::Create { after }, None, "default", None), Ok(Some(Write::Create { body })));
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
        let Ok(Some(Write::Edit(edit))) =
            lower(&Change::Replace { before, after }, Some(&found), "default", None)
        else {
            panic!("an update")
        };
        assert_eq!(
            edit.body(),
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
        let Ok(Some(Write::Edit(edit))) =
            lower(&Change::Replace { before, after }, Some(&found), "default", None)
        else {
            panic!("an update")
        };
        assert_eq!(edit.body(), json!({"delegated_ttl": 30, "use_delegated_ttl": true}));
    }

    #[test]
    fn a_deletion_needs_the_object_and_a_creation_its_absence() {
        let ours = delegation(&[("gslb-ns-eu-cloud.example.com", &["192.0.2.53"])]);
        let found = zone(json!([]));
        assert_eq!(lower(&Change::Delete { before: ours.clone() }, None, "default", None), Ok(None));
        assert_eq!(lower(&Change::Create { after: ours }, Some(&found), "default", None), Ok(None));
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_not_left_out_of_the_list() {
        let found = zone(json!([{"name": "ns1.isp.example", "address": "not-one"}]));
        let before = delegation(&[]);
        let after = delegation(&[("gslb-ns-eu-cloud.example.com", &["192.0.2.53"])]);
        let refused = lower(&Change::Replace { before, after }, Some(&found), "default", None).unwrap_err();
        assert!(refused.to_string().contains("ns1.isp.example"), "{refused}");
    }
}
