//! From the grid's objects to sets of records. Pure.

use std::net::IpAddr;

use gslb_core::delegation::{Obstacle, Presence};
use gslb_core::name::DomainName;
use gslb_core::sets::{Datum, Glue, ObservedRecord, ObservedSet, ObservedSets, RecordType, Text};
use gslb_core::text::quoted;

use super::wire::{HostAddress, SetKind, SetObject};
use crate::claims::{mark_of, ttl_of};
use crate::convert;
use crate::secrets::Secrets;
use crate::wire::ZoneDelegated;

/// One object that a search found.
#[derive(Debug, Clone)]
pub(super) enum Found {
    Record(SetKind, Box<SetObject>),
    Zone(Box<ZoneDelegated>),
}

impl Found {
    /// What the record says, as the grid writes it.
    pub(super) fn value(&self) -> Option<&str> {
        let Self::Record(SetKind::Plain(rtype), object) = self else { return None };
        let value = match rtype {
            RecordType::A => &object.ipv4addr,
            RecordType::Aaaa => &object.ipv6addr,
            RecordType::Cname => &object.canonical,
            RecordType::Txt => &object.text,
            RecordType::Ns => &None,
        };
        value.as_deref()
    }

    /// What the record says; nothing if it cannot be read.
    pub(super) fn datum(&self) -> Option<Datum> {
        let Self::Record(SetKind::Plain(rtype), _) = self else { return None };
        // A grid leaves out what is empty, and a text may be.
        let value = self.value().or((*rtype == RecordType::Txt).then_some(""))?;
        match rtype {
            RecordType::A | RecordType::Aaaa => value.parse().ok().map(Datum::Address),
            RecordType::Cname | RecordType::Ns => DomainName::parse(value).ok().map(Datum::Name),
            RecordType::Txt => Some(Datum::Text(Text::of_strings(value))),
        }
    }

    /// Adds it to what stands. What others call by names that are none of a host is theirs.
    fn add_to(self, sets: &mut ObservedSets, secrets: &Secrets) {
        match &self {
            Self::Record(SetKind::Plain(rtype), object) => {
                let Ok(name) = DomainName::parse(&object.name) else { return };
                let set = sets.entry(name).or_default().entry(*rtype).or_default();
                match self.datum() {
                    Some(datum) if object.disable == Some(true) => {
                        set.hold(disabled(&format!("its record {}", quoted(&datum.to_string()))));
                    }
                    Some(datum) => set.add(datum, record(object)),
                    None => set.hold(unreadable(*rtype, object, secrets)),
                }
            }
            Self::Record(SetKind::Host, object) => add_host(object, sets),
            Self::Zone(zone) => add_zone(zone, sets, secrets),
        }
    }
}

/// All that stands.
pub(super) fn observed(found: impl IntoIterator<Item = Found>, secrets: &Secrets) -> ObservedSets {
    let mut sets = ObservedSets::new();
    found.into_iter().for_each(|found| found.add_to(&mut sets, secrets));
    sets
}

fn record(object: &SetObject) -> ObservedRecord {
    let mark = mark_of(object.extattrs.as_ref(), object.comment.as_deref());
    ObservedRecord { ttl: ttl_of(object.ttl, object.use_ttl), claim: mark.map(|(_, claim, _)| claim) }
}

fn unreadable(rtype: RecordType, object: &SetObject, secrets: &Secrets) -> String {
    format!(
        "the grid has a {rtype} record {} that cannot be read; correct it by hand",
        secrets.quote(&object.name)
    )
}

/// What is disabled is in no DNS (reference.md §4.1), and whoever disabled it wants that: it is no part of its set, and
/// the set is held.
fn disabled(what: &str) -> String {
    format!("{what} is disabled at the grid, so DNS does not have it; enable it or delete it by hand")
}

/// A host outside DNS answers nothing.
fn add_host(host: &SetObject, sets: &mut ObservedSets) {
    if host.configure_for_dns == Some(false) {
        return;
    }
    let Ok(name) = DomainName::parse(&host.name) else { return };
    let ttl = ttl_of(host.ttl, host.use_ttl);
    let of = |addresses: &Option<Vec<HostAddress>>| -> Vec<IpAddr> {
        let addresses = addresses.iter().flatten();
        let text = |address: &HostAddress| address.ipv4addr.clone().or(address.ipv6addr.clone());
        addresses.filter_map(|address| text(address)?.parse().ok()).collect()
    };
    for (rtype, addresses) in [(RecordType::A, of(&host.ipv4addrs)), (RecordType::Aaaa, of(&host.ipv6addrs))]
    {
        if addresses.is_empty() {
            continue;
        }
        let set = sets.entry(name.clone()).or_default().entry(rtype).or_default();
        set.hold(format!(
            "a host object of the grid holds its addresses (record:host {name}); change that by hand"
        ));
        if host.disable == Some(true) {
            continue;
        }
        let record = ObservedRecord { ttl, claim: None };
        addresses.into_iter().for_each(|address| set.add(Datum::Address(address), record.clone()));
    }
    for alias in host.aliases.iter().flatten().filter_map(|alias| DomainName::parse(alias).ok()) {
        let set = sets.entry(alias).or_default().entry(RecordType::Cname).or_default();
        set.hold(format!(
            "it is an alias of a host object of the grid (record:host {name}); change that by hand"
        ));
        if host.disable != Some(true) {
            set.add(Datum::Name(name.clone()), ObservedRecord { ttl, claim: None });
        }
    }
}

fn add_zone(zone: &ZoneDelegated, sets: &mut ObservedSets, secrets: &Secrets) {
    let Ok(name) = DomainName::parse(&zone.fqdn) else { return };
    let set = sets.entry(name.clone()).or_default().entry(RecordType::Ns).or_default();
    let found = match convert::presence(Some(zone), &name) {
        Ok(Presence::Present(found)) => found,
        Ok(Presence::Absent) => return,
        Err(unreadable) => {
            set.hold(secrets.quote(&unreadable.to_string()));
            return;
        }
    };
    let mark = mark_of(zone.extattrs.as_ref(), zone.comment.as_deref());
    let claim = mark.map(|(_, claim, _)| claim);
    let record = ObservedRecord { ttl: found.delegation.ttl, claim };
    let servers = match found.obstacles.contains(&Obstacle::Disabled) {
        true => Glue::new(),
        false => found.delegation.servers,
    };
    *set = ObservedSet {
        records: servers.keys().map(|server| (Datum::Name(server.clone()), record.clone())).collect(),
        glue: servers,
        held: found.obstacles.iter().map(held).min(),
    };
}

fn held(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Locked { by } => {
            let by = by.as_deref().unwrap_or("somebody");
            format!("it is locked by {by}; ask for the lock to be released")
        }
        Obstacle::NsGroup { name } => format!(
            "its name servers come from the name server group {name}; take the group off the delegation"
        ),
        Obstacle::ForeignClaim { why } => why.clone(),
        Obstacle::Disabled => disabled("the delegation"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shown(found: Vec<Found>) -> Vec<String> {
        let sets = observed(found, &Secrets::default());
        let sets =
            sets.iter().flat_map(|(name, sets)| sets.iter().map(move |(rtype, set)| (name, rtype, set)));
        sets.map(|(name, rtype, set)| {
            let data: Vec<_> = set.records.keys().map(ToString::to_string).collect();
            let claims = set.records.values().filter_map(|record| record.claim.as_ref());
            let claims: Vec<_> = claims.map(ToString::to_string).collect();
            let held = if set.held.is_some() { " held" } else { "" };
            let ttl = set.ttl().map(|ttl| format!(" {}", ttl.as_secs())).unwrap_or_default();
            format!("{rtype} {name}{ttl} {data:?} {claims:?}{held}")
        })
        .collect()
    }

    fn plain(rtype: RecordType, object: Value) -> Found {
        let mut whole = json!({"name": "www.example.com", "view": "default"});
        whole.as_object_mut().unwrap().extend(object.as_object().cloned().unwrap());
        Found::Record(SetKind::Plain(rtype), serde_json::from_value(whole).unwrap())
    }

    #[test]
    fn records_of_one_name_and_type_are_a_set_each_with_its_claim() {
        let claim = json!({"GslbBridgeClaim": {"value": "webhook/eu"}});
        let found = vec![
            plain(
                RecordType::A,
                json!({"ipv4addr": "192.0.2.2", "extattrs": claim, "ttl": 30, "use_ttl": true}),
            ),
            plain(
                RecordType::A,
                json!({"ipv4addr": "192.0.2.1", "comment": "gslb-bridge: webhook/us", "ttl": 9}),
            ),
            plain(RecordType::Txt, json!({"text": "\"hello world\""})),
            plain(RecordType::Txt, json!({"name": "Empty.example.com"})),
            plain(RecordType::Cname, json!({"name": "x y", "canonical": "www.example.net"})),
        ];
        assert_eq!(
            shown(found),
            [
                r#"TXT empty.example.com ["\"\""] []"#,
                r#"A www.example.com 30 ["192.0.2.1", "192.0.2.2"] ["webhook/us", "webhook/eu"]"#,
                r#"TXT www.example.com ["\"hello world\""] []"#,
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_there_all_the_same() {
        let found =
            vec![plain(RecordType::A, json!({"ipv4addr": "here"})), plain(RecordType::Cname, json!({}))];
        assert_eq!(shown(found), ["A www.example.com [] [] held", "CNAME www.example.com [] [] held"]);
    }

    /// An alias of a host, an address beside one that answers, and a delegation.
    #[test]
    fn what_is_disabled_is_in_no_dns_and_keeps_its_place() {
        let off = |mut object: Value| {
            object["disable"] = true.into();
            object
        };
        let zone = off(json!({"_ref": "zone_delegated/x", "fqdn": "glb.example.com", "view": "default",
            "delegate_to": [{"name": "ns1.example.com", "address": "192.0.2.53"}]}));
        let host = off(json!({"name": "app.example.com", "view": "default", "aliases": ["web.example.com"],
            "ipv4addrs": [{"ipv4addr": "192.0.2.9", "host": "app.example.com"}]}));
        let found = vec![
            plain(RecordType::A, json!({"ipv4addr": "192.0.2.1"})),
            plain(RecordType::A, off(json!({"ipv4addr": "192.0.2.2"}))),
            plain(RecordType::Txt, off(json!({"text": "x"}))),
            Found::Zone(serde_json::from_value(zone).unwrap()),
            Found::Record(SetKind::Host, serde_json::from_value(host).unwrap()),
        ];
        assert_eq!(
            shown(found),
            [
                "A app.example.com [] [] held",
                "NS glb.example.com [] [] held",
                "CNAME web.example.com [] [] held",
                r#"A www.example.com ["192.0.2.1"] [] held"#,
                "TXT www.example.com [] [] held",
            ]
        );
        let one = plain(RecordType::A, off(json!({"ipv4addr": "192.0.2.2"})));
        let mut sets = observed([one], &Secrets::default()).into_values();
        assert_eq!(
            sets.next().unwrap()[&RecordType::A].held.as_deref(),
            Some(
                "its record 192.0.2.2 is disabled at the grid, so DNS does not have it; enable it or delete it by hand"
            )
        );
    }

    #[test]
    fn a_host_answers_with_addresses_and_aliases_that_are_nobodys() {
        let host = |object: Value| {
            let object = serde_json::from_value(object).unwrap();
            Found::Record(SetKind::Host, object)
        };
        let app = host(json!({"name": "app.example.com", "view": "default", "aliases": ["web.example.com"],
            "ipv4addrs": [{"ipv4addr": "192.0.2.9", "host": "app.example.com"}]}));
        let outside = host(json!({"name": "ipam", "view": " ", "configure_for_dns": false,
            "ipv4addrs": [{"ipv4addr": "192.0.2.10"}]}));
        assert_eq!(
            shown(vec![app, outside]),
            [
                r#"A app.example.com ["192.0.2.9"] [] held"#,
                r#"CNAME web.example.com ["app.example.com"] [] held"#
            ]
        );
    }

    #[test]
    fn a_delegation_is_a_set_of_name_servers_with_their_addresses() {
        let zone = |more: Value| {
            let mut zone = json!({"_ref": "zone_delegated/x", "fqdn": "glb.example.com", "view": "default",
                "delegate_to": [{"name": "ns1.example.com", "address": "192.0.2.53"}],
                "delegated_ttl": 30, "use_delegated_ttl": true});
            zone.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            Found::Zone(serde_json::from_value(zone).unwrap())
        };
        let claim = json!({"extattrs": {"GslbBridgeClaim": {"value": "webhook/eu"}}});
        assert_eq!(shown(vec![zone(claim)]), [r#"NS glb.example.com 30 ["ns1.example.com"] ["webhook/eu"]"#]);
        for held in
            [json!({"locked": true}), json!({"ns_group": "dmz"}), json!({"delegate_to": [{"name": "a b"}]})]
        {
            let shown = shown(vec![zone(held.clone())]);
            assert!(shown[0].ends_with("held"), "{held} {shown:?}");
        }
    }
}
