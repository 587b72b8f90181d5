//! The parent zone as its server answers for it.

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME, NS, SOA, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::zone::{ParentZone, RecordSet, Records};
use crate::dns::name::{is_below, is_within};
use crate::dns::{self, Source};

/// Negative TTL of the zone, in seconds.
const NEGATIVE_TTL: u32 = 30;

impl Source for ParentZone {
    fn resolve(&self, name: &Name, rtype: RecordType, response: &mut Message) -> ResponseCode {
        let state = self.state();
        let served = Served { apex: self.apex(), records: &state.records, serial: state.serial };
        dns::resolve(&served, name, rtype, response)
    }
}

/// The zone of one moment.
struct Served<'a> {
    apex: &'a str,
    records: &'a Records,
    serial: u32,
}

impl<'a> Served<'a> {
    fn set(&self, name: &str, rtype: &str) -> Option<&'a RecordSet> {
        self.records.get(&(name.to_owned(), rtype.to_owned()))
    }

    fn cuts(&self) -> impl Iterator<Item = &'a str> {
        let sets = self.records.keys().filter(|(name, rtype)| rtype == "NS" && is_below(name, self.apex));
        sets.map(|(name, _)| name.as_str())
    }
}

impl<'a> dns::Served for Served<'a> {
    type Zone = &'a str;

    fn name(&self, zone: Self::Zone) -> &str {
        zone
    }

    fn apex(&self, name: &str) -> Option<Self::Zone> {
        is_within(name, self.apex).then_some(self.apex)
    }

    fn cut(&self, name: &str, _: Self::Zone) -> Option<Self::Zone> {
        self.cuts().filter(|cut| is_within(name, cut)).min_by_key(|cut| cut.len())
    }

    fn ns_records(&self, cut: Self::Zone, _: Self::Zone) -> Vec<Record> {
        self.set(cut, "NS").map(|set| records(cut, "NS", set)).unwrap_or_default()
    }

    /// As BIND: names beside the cut are none of its glue.
    fn glue(&self, cut: Self::Zone, _: Self::Zone) -> Vec<Record> {
        let names = self.set(cut, "NS").into_iter().flat_map(|set| &set.data);
        let below = names.filter(|name| is_within(name, cut));
        let addresses = |name: &String| ["A", "AAAA"].map(|rtype| (name.clone(), rtype));
        let sets = below.flat_map(addresses);
        sets.flat_map(|(name, rtype)| self.set(&name, rtype).map(|set| records(&name, rtype, set)))
            .flatten()
            .collect()
    }

    fn records_at(&self, name: &str, apex: Self::Zone) -> Vec<Record> {
        let sets = self.records.iter().filter(|((owner, _), _)| owner == name);
        let mut all: Vec<Record> =
            sets.flat_map(|((owner, rtype), set)| records(owner, rtype, set)).collect();
        if name == apex {
            all.push(self.soa(apex));
        }
        all
    }

    fn exists(&self, name: &str, _: Self::Zone) -> bool {
        name == self.apex || self.records.keys().any(|(owner, _)| is_within(owner, name))
    }

    fn soa(&self, apex: Self::Zone) -> Record {
        let primary = self.set(apex, "NS").and_then(|set| dns_name(set.data.first()?));
        let name = dns_name(apex).unwrap_or_default();
        let mail =
            Name::from_ascii("hostmaster").unwrap_or_default().append_domain(&name).unwrap_or_default();
        let primary = primary.unwrap_or_default();
        let soa = SOA::new(primary, mail, self.serial, 10_800, 3_600, 2_419_200, NEGATIVE_TTL);
        Record::from_rdata(name, NEGATIVE_TTL, RData::SOA(soa))
    }
}

/// What cannot be said in DNS is left out.
fn records(owner: &str, rtype: &str, set: &RecordSet) -> Vec<Record> {
    let record = |text: &String| Some(Record::from_rdata(dns_name(owner)?, set.ttl, data(rtype, text)?));
    set.data.iter().filter_map(record).collect()
}

fn data(rtype: &str, text: &str) -> Option<RData> {
    Some(match rtype {
        "A" => RData::A(A(text.parse().ok()?)),
        "AAAA" => RData::AAAA(AAAA(text.parse().ok()?)),
        "CNAME" => RData::CNAME(CNAME(dns_name(text)?)),
        "NS" => RData::NS(NS(dns_name(text)?)),
        "TXT" => RData::TXT(TXT::new(vec![text.to_owned()])),
        _ => return None,
    })
}

fn dns_name(name: &str) -> Option<Name> {
    Name::from_ascii(format!("{}.", name.trim_end_matches('.'))).ok()
}
