//! From the grid's shapes to ours.

use std::collections::BTreeSet;
use std::net::IpAddr;

use gslb_core::delegation::{Delegation, ObservedDelegation, Obstacle, Presence, Servers};
use gslb_core::name::DomainName;
use gslb_core::text::quoted;
use gslb_core::ttl::Ttl;

use crate::lower::COMMENT;
use crate::swap::REVISION;
use crate::wire::{ExtServer, ZoneDelegated};

/// A zone in the grid that cannot be read without guessing, so nothing is concluded from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "delegation {zone} has a name server entry that cannot be read ({entry}: {problem}); correct it by hand"
)]
pub(crate) struct Unreadable {
    zone: String,
    entry: String,
    problem: String,
}

pub(crate) fn presence(found: Option<&ZoneDelegated>, zone: &DomainName) -> Result<Presence, Unreadable> {
    let Some(found) = found else {
        return Ok(Presence::Absent);
    };
    let mut servers = Servers::new();
    for entry in found.delegate_to.iter().flatten() {
        let (ns_name, address) = server(found, entry)?;
        servers.entry(ns_name).or_default().extend(address);
    }
    let delegation = Delegation { zone: zone.clone(), ttl: ttl(found), servers };
    let (obstacles, kept_settings) = (obstacles(found), kept_settings(found));
    // We made it with a TTL, or wrote it and left a revision: then somebody took the TTL away. Where the grid defines no
    // attribute for revisions, each run remembers for itself what it gave.
    let takes_first_ttl = found.revision().is_none() && found.comment.as_deref() != Some(COMMENT);
    Ok(Presence::Present(ObservedDelegation { delegation, obstacles, kept_settings, takes_first_ttl }))
}

/// Name and address of an entry. Entries are compared by these two only (F-62).
pub(crate) fn server(
    zone: &ZoneDelegated,
    entry: &ExtServer,
) -> Result<(DomainName, Option<IpAddr>), Unreadable> {
    name_and_address(entry).map_err(|problem| Unreadable {
        zone: quoted(&zone.fqdn),
        entry: quoted(&entry.name),
        problem: quoted(&problem),
    })
}

fn name_and_address(entry: &ExtServer) -> Result<(DomainName, Option<IpAddr>), String> {
    let ns_name = DomainName::parse(&entry.name).map_err(|error| error.to_string())?;
    let address = match entry.address.as_deref() {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| format!("{text} is no address"))?),
    };
    Ok((ns_name, address))
}

/// Locked, or handed to a group.
pub(crate) fn is_held(presence: &Presence) -> bool {
    let Presence::Present(found) = presence else {
        return false;
    };
    found.obstacles.iter().any(Obstacle::forbids_writes)
}

/// Without its flag the value is the one that the grid passes down, not the zone's own (reference.md §2.8).
fn ttl(found: &ZoneDelegated) -> Option<Ttl> {
    let seconds = found.delegated_ttl.filter(|_| found.use_delegated_ttl == Some(true))?;
    Ttl::from_secs(i64::from(seconds.min(i32::MAX as u32))).ok()
}

fn obstacles(found: &ZoneDelegated) -> BTreeSet<Obstacle> {
    let named = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(quoted);
    let locked = || Obstacle::Locked { by: named(&found.locked_by) };
    let group = named(&found.ns_group);
    let all = [
        (found.locked == Some(true)).then(locked),
        (found.disable == Some(true)).then_some(Obstacle::Disabled),
        group.map(|name| Obstacle::NsGroup { name }),
    ];
    all.into_iter().flatten().collect()
}

fn kept_settings(found: &ZoneDelegated) -> BTreeSet<String> {
    let comment = found.comment.as_deref().is_some_and(|text| !text.is_empty());
    let extattrs = found.extattrs.as_ref().is_some_and(|map| map.keys().any(|name| name != REVISION));
    let all = [(comment, "comment"), (extattrs, "extattrs")];
    all.into_iter().filter(|(set, _)| *set).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(json: serde_json::Value) -> Result<Presence, Unreadable> {
        let found: ZoneDelegated = serde_json::from_value(json).unwrap();
        presence(Some(&found), &DomainName::parse("cloud.example.com").unwrap())
    }

    fn observed(mut json: serde_json::Value) -> ObservedDelegation {
        json["_ref"] = "zone_delegated/x:cloud.example.com/default".into();
        json["fqdn"] = "cloud.example.com".into();
        json["view"] = "default".into();
        match zone(json).unwrap() {
            Presence::Present(found) => found,
            Presence::Absent => panic!("it is there"),
        }
    }

    /// F-04, F-62.
    #[test]
    fn entries_are_name_and_address_whatever_their_order_case_and_other_members() {
        let a = observed(serde_json::json!({"delegate_to": [
            {"name": "NS6.example.net", "address": "2001:db8:0::1", "stealth": false},
            {"name": "gslb-ns-eu-cloud.example.com.", "address": "192.0.2.54"},
            {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.53"}]}));
        let b = observed(serde_json::json!({"delegate_to": [
            {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.53"},
            {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.54"},
            {"name": "ns6.example.net", "address": "2001:db8::1"}]}));
        assert_eq!(a, b);
    }

    #[test]
    fn words_of_a_grid_are_short_and_on_one_line() {
        let forged = format!("ns1\nINFO forged\u{1b}[2J{}", "x".repeat(100_000));
        let refused = zone(
            serde_json::json!({"_ref": "zone_delegated/x", "fqdn": "cloud.example.com", "view": "default",
            "delegate_to": [{"name": forged, "address": "192.0.2.1"}]}),
        )
        .unwrap_err()
        .to_string();
        assert!(refused.len() < 1000 && !refused.contains(char::is_control), "{refused}");
        let locked = observed(serde_json::json!({"locked": true, "locked_by": forged, "ns_group": forged}));
        for obstacle in locked.obstacles {
            let (Obstacle::Locked { by: Some(text) } | Obstacle::NsGroup { name: text }) = obstacle else {
                panic!()
            };
            assert!(text.chars().count() < 400 && !text.contains(char::is_control), "{text}");
        }
    }

    #[test]
    fn a_ttl_counts_with_its_flag_only() {
        let inherited = observed(serde_json::json!({"delegated_ttl": 28800, "use_delegated_ttl": false}));
        assert_eq!(inherited.delegation.ttl, None);
        let own = observed(serde_json::json!({"delegated_ttl": 30, "use_delegated_ttl": true}));
        assert_eq!(own.delegation.ttl, Some(Ttl::DEFAULT));
    }

    #[test]
    fn what_an_operator_set_is_seen() {
        let found = observed(serde_json::json!({
            "delegate_to": null, "locked": true, "locked_by": "admin", "disable": true, "ns_group": "dmz",
            "comment": "ticket 7", "extattrs": {"Owner": {"value": "dns team"}}}));
        let expected = [
            Obstacle::Locked { by: Some("admin".into()) },
            Obstacle::Disabled,
            Obstacle::NsGroup { name: "dmz".into() },
        ];
        assert_eq!(found.obstacles, BTreeSet::from(expected));
        assert_eq!(found.kept_settings, BTreeSet::from(["comment".to_owned(), "extattrs".to_owned()]));
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_named_and_nothing_is_concluded() {
        let error = zone(serde_json::json!({
            "_ref": "r", "fqdn": "cloud.example.com", "view": "default",
            "delegate_to": [{"name": "ns1.isp.example", "address": "not-one"}]}));
        assert_eq!(
            error.unwrap_err().to_string(),
            "delegation cloud.example.com has a name server entry that cannot be read (ns1.isp.example: not-one is no address); correct it by hand"
        );
    }
}
