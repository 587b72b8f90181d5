//! Inputs for tests, in one line each.

use std::net::Ipv4Addr;
use std::sync::Arc;

use gslb_core::name::DomainName;
use gslb_core::published::EmptyAnswer;
use gslb_core::ttl::Ttl;

use super::input::{HostInput, Inputs, SetData, SetInput, ZoneInput};
use super::order::Order;
use super::snapshot::{Snapshot, Source};

pub(super) fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}

pub(super) fn ttl(seconds: i64) -> Ttl {
    Ttl::from_secs(seconds).unwrap()
}

pub(super) fn zone(apex: &str, ns_names: &[&str], negative_ttl: i64) -> ZoneInput {
    let ns_names: Vec<DomainName> = ns_names.iter().map(|text| name(text)).collect();
    let own_ns_name = ns_names.first().cloned();
    ZoneInput {
        apex: name(apex),
        ns_names: ns_names.into_iter().collect(),
        own_ns_name,
        negative_ttl: ttl(negative_ttl),
    }
}

pub(super) fn a(owner_name: &str, targets: impl IntoIterator<Item = Ipv4Addr>) -> HostInput {
    let data = SetData::A(targets.into_iter().collect());
    set(owner_name, data)
}

pub(super) fn set(owner_name: &str, data: SetData) -> HostInput {
    let sets = vec![SetInput { ttl: ttl(30), data, order: Order::Fixed }];
    HostInput { owner_name: name(owner_name), sets, empty: EmptyAnswer::NoData, ttl: ttl(30) }
}

pub(super) fn empty(owner_name: &str, empty: EmptyAnswer, seconds: i64) -> HostInput {
    HostInput { owner_name: name(owner_name), sets: vec![], empty, ttl: ttl(seconds) }
}

pub(super) fn addresses(count: u32) -> impl Iterator<Item = Ipv4Addr> {
    (1..=count).map(|number| Ipv4Addr::from_bits(0xc633_6400 + number))
}

pub(super) fn inputs(
    zones: impl IntoIterator<Item = ZoneInput>,
    hosts: impl IntoIterator<Item = HostInput>,
) -> Inputs {
    Inputs { zones: zones.into_iter().collect(), hosts: hosts.into_iter().map(Arc::new).collect() }
}

pub(super) fn snapshot(
    zones: impl IntoIterator<Item = ZoneInput>,
    hosts: impl IntoIterator<Item = HostInput>,
) -> Snapshot {
    Snapshot::build(&inputs(zones, hosts), Source::Watch, &Snapshot::nothing())
}

/// Zone `cloud.example.com` with two name servers and one host of each kind.
pub(super) fn sample() -> Snapshot {
    let v6 = vec!["2001:db8::1".parse().unwrap()];
    snapshot(
        [zone("cloud.example.com", &["gslb-ns-eu-cloud.example.com", "gslb-ns-us-cloud.example.com"], 300)],
        [
            a("app.cloud.example.com", addresses(2)),
            a("localtargets-app.cloud.example.com", addresses(1)),
            a("deep.under.cloud.example.com", addresses(1)),
            set("six.cloud.example.com", SetData::Aaaa(v6)),
            set("eu._gslb-bridge.cloud.example.com", SetData::Txt(vec!["v=1".into(), "age=0".into()])),
            empty("down.cloud.example.com", EmptyAnswer::NoData, 5),
            empty("localtargets-down.cloud.example.com", EmptyAnswer::NoData, 5),
            empty("unsure.cloud.example.com", EmptyAnswer::ServFail, 30),
        ],
    )
}
