//! What a view serves: zones as of the last service restart, records as they are now.

use super::grid::Shared;
use super::name::{is_below, is_within};
use super::state::State;
use super::store::Object;
use super::txt;
use super::types::INHERITED_TTL;
use crate::dns::{self, Source};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME, MX, NS, SOA, SRV, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::time::Instant;

/// One view of a grid, as its DNS servers answer for it.
pub(super) struct ServedView {
    grid: Arc<Shared>,
    view: String,
}

impl ServedView {
    pub(super) fn new(grid: Arc<Shared>, view: &str) -> Self {
        Self { grid, view: view.to_owned() }
    }
}

impl Source for ServedView {
    fn resolve(&self, name: &Name, rtype: RecordType, response: &mut Message) -> ResponseCode {
        let mut state = self.grid.state();
        state.settle(Instant::now());
        dns::resolve(&Served { state: &state, view: &self.view }, name, rtype, response)
    }
}

/// The data of one view, borrowed from the grid's state.
struct Served<'a> {
    state: &'a State,
    view: &'a str,
}

impl<'a> Served<'a> {
    fn zones(&self) -> impl Iterator<Item = &'a Object> {
        let view = self.view;
        self.state
            .served_zones()
            .iter()
            .filter(move |zone| zone.text("view") == view && !zone.flag("disable"))
    }

    /// Delegations out of a zone.
    fn delegations(&self, apex: &'a str) -> impl Iterator<Item = &'a Object> {
        self.zones()
            .filter(|zone| zone.kind.name == "zone_delegated" && !zone.list("delegate_to").is_empty())
            .filter(move |zone| is_below(zone.text("fqdn"), apex))
    }

    /// Records of the zone whose names pass the test: live, except below cuts and in zones of their own.
    fn objects(&self, apex: &'a Object, test: impl Fn(&str) -> bool) -> impl Iterator<Item = &'a Object> {
        let fqdn = apex.text("fqdn");
        let view = self.view;
        self.state.store.all().filter(move |object| {
            object.kind.is_record()
                && test(object.text("name"))
                && object.text("view") == view
                && !object.flag("disable")
                && self.state.store.zone_of(object).as_deref() == Some(fqdn)
        })
    }

    /// Name servers of delegations whose names lie in this zone: the grid makes their address records.
    fn system_names(&self, apex: &'a Object) -> impl Iterator<Item = (&'a str, IpAddr)> {
        let fqdn = apex.text("fqdn");
        let all = self.zones().filter(|zone| zone.kind.name == "zone_delegated");
        all.flat_map(servers).filter(move |(name, _)| is_within(name, fqdn))
    }
}

impl<'a> dns::Served for Served<'a> {
    type Zone = &'a Object;

    fn name(&self, zone: Self::Zone) -> &str {
        zone.text("fqdn")
    }

    fn apex(&self, name: &str) -> Option<Self::Zone> {
        self.zones()
            .filter(|zone| zone.kind.name == "zone_auth" && !zone.list("grid_primary").is_empty())
            .filter(|zone| is_within(name, zone.text("fqdn")))
            .max_by_key(|zone| zone.text("fqdn").len())
    }

    fn cut(&self, name: &str, apex: Self::Zone) -> Option<Self::Zone> {
        self.delegations(apex.text("fqdn"))
            .filter(|zone| is_within(name, zone.text("fqdn")))
            .min_by_key(|zone| zone.text("fqdn").len())
    }

    fn ns_records(&self, cut: Self::Zone, apex: Self::Zone) -> Vec<Record> {
        let ttl = delegation_ttl(cut, apex);
        let mut names: Vec<&str> = servers(cut).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .filter_map(|name| record(cut.text("fqdn"), ttl, RData::NS(NS(dns_name(name)?))))
            .collect()
    }

    fn glue(&self, cut: Self::Zone, apex: Self::Zone) -> Vec<Record> {
        let fqdn = apex.text("fqdn");
        let mut glue: Vec<Record> = servers(cut)
            .filter(|(name, _)| is_within(name, fqdn))
            .filter_map(|(name, address)| {
                // Only below the cut do addresses use the delegation's TTL.
                let below = is_within(name, cut.text("fqdn"));
                let ttl = if below { delegation_ttl(cut, apex) } else { zone_ttl(apex) };
                record(name, ttl, address_data(address))
            })
            .collect();
        glue.dedup();
        glue
    }

    fn records_at(&self, name: &str, apex: Self::Zone) -> Vec<Record> {
        let mut records = Vec::new();
        for object in self.objects(apex, |owner| owner == name) {
            let ttl = object.fields.get("ttl").and_then(ttl_of).unwrap_or_else(|| zone_ttl(apex));
            records.extend(data(object).into_iter().filter_map(|data| record(name, ttl, data)));
        }
        if name == apex.text("fqdn") {
            records.push(self.soa(apex));
            let primaries =
                apex.list("grid_primary").iter().filter_map(|member| dns_name(member["name"].as_str()?));
            records
                .extend(primaries.filter_map(|server| record(name, zone_ttl(apex), RData::NS(NS(server)))));
        }
        let system = self.system_names(apex).filter(|(server, _)| *server == name);
        for (server, address) in system {
            records.extend(record(server, zone_ttl(apex), address_data(address)));
        }
        let mut seen: Vec<RData> = Vec::new();
        records.retain(|record| {
            let is_new = !seen.contains(&record.data);
            seen.push(record.data.clone());
            is_new
        });
        records
    }

    fn exists(&self, name: &str, apex: Self::Zone) -> bool {
        let fqdn = apex.text("fqdn");
        name == fqdn
            || self.objects(apex, |owner| is_within(owner, name)).next().is_some()
            || self.system_names(apex).any(|(server, _)| is_within(server, name))
            || self.delegations(fqdn).any(|zone| is_within(zone.text("fqdn"), name))
    }

    fn soa(&self, apex: Self::Zone) -> Record {
        let primary = apex.list("grid_primary").first().and_then(|member| dns_name(member["name"].as_str()?));
        let name = dns_name(apex.text("fqdn")).unwrap_or_else(Name::root);
        let mail =
            Name::from_ascii("hostmaster").unwrap_or_default().append_domain(&name).unwrap_or_default();
        let serial = u32::try_from(self.state.store.revision()).unwrap_or(u32::MAX);
        let negative = apex.fields.get("soa_negative_ttl").and_then(ttl_of).unwrap_or(900);
        let soa =
            SOA::new(primary.unwrap_or_else(Name::root), mail, serial, 10_800, 3_600, 2_419_200, negative);
        Record::from_rdata(name, negative, RData::SOA(soa))
    }
}

fn servers(zone: &Object) -> impl Iterator<Item = (&str, IpAddr)> {
    zone.list("delegate_to")
        .iter()
        .filter_map(|server| Some((server["name"].as_str()?, server["address"].as_str()?.parse().ok()?)))
}

fn ttl_of(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn zone_ttl(apex: &Object) -> u32 {
    let inherited = u32::try_from(INHERITED_TTL).unwrap_or(u32::MAX);
    apex.fields.get("soa_default_ttl").and_then(ttl_of).unwrap_or(inherited)
}

fn delegation_ttl(cut: &Object, apex: &Object) -> u32 {
    cut.fields.get("delegated_ttl").and_then(ttl_of).unwrap_or_else(|| zone_ttl(apex))
}

fn dns_name(name: &str) -> Option<Name> {
    Name::from_ascii(format!("{name}.")).ok()
}

fn record(owner: &str, ttl: u32, data: RData) -> Option<Record> {
    Some(Record::from_rdata(dns_name(owner)?, ttl, data))
}

fn address_data(address: IpAddr) -> RData {
    match address {
        IpAddr::V4(address) => RData::A(A(address)),
        IpAddr::V6(address) => RData::AAAA(AAAA(address)),
    }
}

/// The DNS data of a stored record.
fn data(object: &Object) -> Vec<RData> {
    let name = |field| dns_name(object.text(field));
    let number = |field| object.fields.get(field).and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
    let data = match object.kind.name {
        "record:a" => object.text("ipv4addr").parse().ok().map(address_data),
        "record:aaaa" => object.text("ipv6addr").parse().ok().map(address_data),
        "record:cname" => name("canonical").map(|target| RData::CNAME(CNAME(target))),
        "record:ns" => name("nameserver").map(|server| RData::NS(NS(server))),
        "record:txt" => Some(RData::TXT(TXT::new(txt::strings(object.text("text"))))),
        "record:mx" => {
            number("preference").zip(name("mail_exchanger")).map(|(p, n)| RData::MX(MX::new(p, n)))
        }
        "record:srv" => srv(number("priority"), number("weight"), number("port"), name("target")),
        "record:host" => return host_data(object),
        _ => None,
    };
    data.into_iter().collect()
}

fn srv(priority: Option<u16>, weight: Option<u16>, port: Option<u16>, target: Option<Name>) -> Option<RData> {
    Some(RData::SRV(SRV::new(priority?, weight?, port?, target?)))
}

fn host_data(host: &Object) -> Vec<RData> {
    let of = |list, key| {
        host.list(list)
            .iter()
            .filter_map(move |element: &Value| element[key].as_str()?.parse().ok())
            .map(address_data)
    };
    of("ipv4addrs", "ipv4addr").chain(of("ipv6addrs", "ipv6addr")).collect()
}
