//! Hosts that no object names any more, answered on for a moment.
//!
//! A host that moves from one Gslb to another leaves the one's DNSEndpoint before it stands in the other's, and a Gslb
//! that is deleted and made anew loses its DNSEndpoint before it has the next one. Resolvers would keep the NXDOMAIN of
//! that moment for the whole negative TTL. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gslb_core::name::DomainName;
use gslb_core::published::EmptyAnswer;

use super::input::{HostInput, Inputs};
use super::observe::Published;

/// How long such a host is answered on: above the pass of a Gslb, two writes and a watch. No outside reference.
pub const GRACE: Duration = Duration::from_secs(2);

/// Hosts on their way out.
#[derive(Debug, Default)]
pub struct Leaving(BTreeMap<DomainName, (Arc<HostInput>, Instant)>);

impl Leaving {
    /// Takes down what an object named and does not name any more. Whoever writes an object that is not the
    /// controller's means what it says at once.
    pub fn note(&mut self, before: &Published, after: Option<&Published>, now: Instant) {
        if after.is_some_and(|after| !after.is_ours()) {
            return;
        }
        for host in before.hosts_without(after) {
            self.0.insert(host.owner_name.clone(), (Arc::clone(host), now + GRACE));
        }
    }

    /// Those that are answered still.
    pub fn hosts(&mut self, now: Instant) -> Vec<Arc<HostInput>> {
        self.0.retain(|_, (_, until)| *until > now);
        self.0.values().map(|(host, _)| Arc::clone(host)).collect()
    }

    /// When the next one is not answered any more.
    pub fn next(&self) -> Option<Instant> {
        self.0.values().map(|(_, until)| *until).min()
    }
}

/// Adds hosts that leave. Whatever names them now comes first, unless it only holds their place and knows nothing yet;
/// and without their zone they are not served.
pub fn answer_on(inputs: &mut Inputs, leaving: Vec<Arc<HostInput>>) {
    if leaving.is_empty() {
        return;
    }
    let knows = |host: &HostInput| !host.sets.is_empty() || host.empty != EmptyAnswer::ServFail;
    let known: BTreeSet<&DomainName> =
        leaving.iter().filter(|host| knows(host)).map(|host| &host.owner_name).collect();
    inputs.hosts.retain(|host| knows(host) || !known.contains(&host.owner_name));
    let named: BTreeSet<&DomainName> = inputs.hosts.iter().map(|host| &host.owner_name).collect();
    let served = |name: &DomainName| {
        let apexes = || inputs.zones.iter().map(|zone| &zone.apex);
        apexes().any(|apex| name.is_within(apex)) && apexes().all(|apex| name != apex)
    };
    let free = |host: &Arc<HostInput>| !named.contains(&host.owner_name) && served(&host.owner_name);
    let free: Vec<_> = leaving.into_iter().filter(free).collect();
    inputs.hosts.extend(free);
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use gslb_core::ttl::Ttl;
    use gslb_crds::DnsEndpoint;
    use serde_json::json;

    use super::super::input::{SetData, SetInput, ZoneInput};
    use super::super::order::Order;
    use super::*;

    const APP: &str = "app.cloud.example.com";
    const OTHER: &str = "other.cloud.example.com";

    fn published(hosts: &[&str], ours: bool) -> Published {
        let endpoints: Vec<_> = hosts
            .iter()
            .map(|host| json!({"dnsName": host, "recordType": "A", "targets": ["192.0.2.80"], "recordTTL": 30}))
            .collect();
        let strategy = json!({"gslb-bridge.io/accepted-strategy": r#"{"type":"roundRobin"}"#});
        let object: DnsEndpoint = serde_json::from_value(json!({
            "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
            "metadata": {"name": "app", "annotations": if ours { strategy } else { json!({}) }},
            "spec": {"endpoints": endpoints},
        }))
        .unwrap();
        Published::read(&object)
    }

    fn names(leaving: &mut Leaving, now: Instant) -> Vec<String> {
        leaving.hosts(now).iter().map(|host| host.owner_name.to_string()).collect()
    }

    #[test]
    fn what_no_object_names_any_more_is_answered_on_for_a_moment() {
        let both = published(&[APP, OTHER], true);
        let local = |host: &str| format!("localtargets-{host}");
        let table: [(Option<Published>, Vec<String>); 5] = [
            // The object is gone.
            (None, vec![APP.into(), local(APP), local(OTHER), OTHER.into()]),
            // It names one host less.
            (Some(published(&[APP], true)), vec![local(OTHER), OTHER.into()]),
            (Some(published(&[APP, OTHER], true)), vec![]),
            // Somebody else writes it.
            (Some(published(&[APP], false)), vec![]),
            (Some(published(&[], false)), vec![]),
        ];
        let now = Instant::now();
        for (after, wanted) in table {
            let mut leaving = Leaving::default();
            leaving.note(&both, after.as_ref(), now);
            assert_eq!(leaving.next(), (!wanted.is_empty()).then(|| now + GRACE), "{after:?}");
            assert_eq!(names(&mut leaving, now), wanted, "{after:?}");
            assert_eq!(names(&mut leaving, now + GRACE), [""; 0], "{after:?}");
            assert_eq!(leaving.next(), None);
        }
    }

    #[test]
    fn a_place_that_is_held_for_a_host_does_not_take_away_what_is_known_of_it() {
        let host = |sets: bool, empty| {
            let ttl = Ttl::from_secs(30).unwrap();
            let data = SetData::A(vec![Ipv4Addr::new(192, 0, 2, 80)]);
            let set = SetInput { ttl, data, order: Order::Fixed };
            let sets = sets.then_some(set).into_iter().collect();
            Arc::new(HostInput { owner_name: DomainName::parse(APP).unwrap(), sets, empty, ttl })
        };
        let zone = ZoneInput {
            apex: DomainName::parse("cloud.example.com").unwrap(),
            ns_names: BTreeSet::new(),
            own_ns_name: None,
            negative_ttl: Ttl::from_secs(30).unwrap(),
        };
        let [held, down] = [EmptyAnswer::ServFail, EmptyAnswer::NoData].map(|empty| host(false, empty));
        let known = host(true, EmptyAnswer::NoData);
        for (named, leaves, answered) in [
            (Some(&held), &known, &known),
            (Some(&held), &down, &down),
            (Some(&down), &known, &down),
            (Some(&held), &held, &held),
            (None, &known, &known),
        ] {
            let mut inputs =
                Inputs { zones: vec![zone.clone()], hosts: named.into_iter().cloned().collect() };
            answer_on(&mut inputs, vec![Arc::clone(leaves)]);
            assert_eq!(inputs.hosts, [Arc::clone(answered)], "{named:?} {leaves:?}");
        }
    }
}
