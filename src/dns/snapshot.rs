//! One consistent set of answers: built once, never changed, swapped as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use gslb_core::name::DomainName;
use gslb_core::published::EmptyAnswer;
use gslb_core::ttl::Ttl;
use hickory_proto::rr::rdata::{A, AAAA, NS, SOA, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::input::{HostInput, Inputs, SetData, SetInput, ZoneInput};
use super::key::{Key, parent};
use super::order::Order;

/// The longest string inside a TXT record (RFC 1035 §3.3).
const MAX_STRING: usize = 255;
/// SOA timers, as k8gb answers them (contract §8.4). Nobody transfers these zones, so no server follows them.
const REFRESH: i32 = 7200;
const RETRY: i32 = 1800;
const EXPIRE: i32 = 86400;

/// Where a snapshot comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Nothing is known yet.
    Nothing,
    /// The file of an earlier run: what was served then, until the watches have synced.
    Disk,
    /// The cluster's objects.
    Watch,
}

/// Everything that the server answers from.
#[derive(Debug)]
pub struct Snapshot {
    source: Source,
    zones: HashMap<Key, ServedZone>,
    names: HashMap<Key, Node>,
}

/// What stands at a name below an apex.
#[derive(Debug)]
pub(super) enum Node {
    /// Only names below it exist (RFC 8020 §2: not NXDOMAIN).
    NonTerminal,
    /// A published name.
    Host(Arc<Host>),
}

/// A zone ready to be answered.
#[derive(Debug)]
pub(super) struct ServedZone {
    apex: Name,
    mname: Name,
    rname: Name,
    pub(super) ns: Vec<Record>,
    pub(super) negative_ttl: u32,
}

/// A name ready to be answered.
#[derive(Debug)]
pub(super) struct Host {
    input: Arc<HostInput>,
    sets: Vec<ServedSet>,
}

/// The records of one type.
#[derive(Debug)]
pub(super) struct ServedSet {
    rtype: RecordType,
    pub(super) records: Vec<Record>,
    pub(super) order: Order,
}

impl Snapshot {
    /// What is served before anything is known: SERVFAIL for every name.
    pub fn nothing() -> Self {
        Self { source: Source::Nothing, zones: HashMap::new(), names: HashMap::new() }
    }

    /// Builds the answers. Hosts that did not change are taken over from `previous`, which saves time and never
    /// changes the result. A host outside every zone is left out.
    pub fn build(inputs: &Inputs, source: Source, previous: &Self) -> Self {
        let zones: HashMap<Key, ServedZone> =
            inputs.zones.iter().map(|zone| (Key::new(&zone.apex), ServedZone::new(zone))).collect();
        let mut snapshot = Self { source, zones, names: HashMap::with_capacity(inputs.hosts.len() * 2) };
        for input in &inputs.hosts {
            let key = Key::new(&input.owner_name);
            if snapshot.is_apex(key.as_slice()) || snapshot.zone_of(key.as_slice(), false).is_none() {
                continue;
            }
            snapshot.add_ancestors(key.as_slice());
            let node = Node::Host(previous.host_from(&key, input));
            snapshot.names.insert(key, node);
        }
        // A zone inside another: the names between the two apexes exist in the outer one.
        for zone in &inputs.zones {
            snapshot.add_ancestors(Key::new(&zone.apex).as_slice());
        }
        snapshot
    }

    fn host_from(&self, key: &Key, input: &Arc<HostInput>) -> Arc<Host> {
        match self.names.get(key) {
            Some(Node::Host(host)) if Arc::ptr_eq(&host.input, input) => Arc::clone(host),
            Some(Node::Host(_) | Node::NonTerminal) | None => Arc::new(Host::new(input)),
        }
    }

    /// Everything between a name and the apex of its zone exists, too.
    fn add_ancestors(&mut self, key: &[u8]) {
        let mut above = parent(key);
        while let Some(key) = above {
            if self.is_apex(key) || self.names.contains_key(key) || self.zone_of(key, false).is_none() {
                return;
            }
            self.names.insert(Key::copied(key), Node::NonTerminal);
            above = parent(key);
        }
    }

    /// The innermost zone that contains a name; with `above`, the innermost whose apex is not the name itself.
    pub(super) fn zone_of<'k>(&self, key: &'k [u8], above: bool) -> Option<(&'k [u8], &ServedZone)> {
        let mut candidate = if above { parent(key) } else { Some(key) };
        while let Some(key) = candidate {
            if let Some(zone) = self.zones.get(key) {
                return Some((key, zone));
            }
            candidate = parent(key);
        }
        None
    }

    /// Whether a zone starts at a name.
    pub(super) fn is_apex(&self, key: &[u8]) -> bool {
        self.zones.contains_key(key)
    }

    /// What stands at a name below an apex, if it exists.
    pub(super) fn node(&self, key: &[u8]) -> Option<&Node> {
        self.names.get(key)
    }

    /// Where this snapshot comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// How many zones are served.
    pub fn zone_count(&self) -> usize {
        self.zones.len()
    }

    /// How many published names are served, with or without records.
    pub fn host_count(&self) -> usize {
        self.names.values().filter(|node| matches!(node, Node::Host(_))).count()
    }
}

impl ServedZone {
    fn new(input: &ZoneInput) -> Self {
        let apex = name(&input.apex);
        let below =
            |label: &str| name_from(&format!("{label}.{}", input.apex)).unwrap_or_else(|| apex.clone());
        let ttl = input.negative_ttl.as_secs();
        let ns = |target: &DomainName| Record::from_rdata(apex.clone(), ttl, RData::NS(NS(name(target))));
        Self {
            mname: input.own_ns_name.as_ref().map_or_else(|| below("ns1.dns"), name),
            rname: below("hostmaster.dns"),
            ns: input.ns_names.iter().map(ns).collect(),
            negative_ttl: ttl,
            apex,
        }
    }

    /// The zone's SOA. `ttl` is how long the answer that it stands in may be kept (RFC 2308 §5: the lower of
    /// this TTL and `minimum` counts).
    pub(super) fn soa(&self, serial: u32, ttl: u32) -> Record {
        let (mname, rname) = (self.mname.clone(), self.rname.clone());
        let soa = SOA::new(mname, rname, serial, REFRESH, RETRY, EXPIRE, self.negative_ttl);
        Record::from_rdata(self.apex.clone(), ttl.min(self.negative_ttl), RData::SOA(soa))
    }
}

impl Host {
    fn new(input: &Arc<HostInput>) -> Self {
        let owner_name = name(&input.owner_name);
        let sets = input.sets.iter().map(|set| ServedSet::new(&owner_name, set)).collect();
        Self { input: Arc::clone(input), sets }
    }

    /// The records of one type.
    pub(super) fn set(&self, rtype: RecordType) -> Option<&ServedSet> {
        self.sets.iter().find(|set| set.rtype == rtype)
    }

    /// The first set, for a question about any type.
    pub(super) fn any_set(&self) -> Option<&ServedSet> {
        self.sets.first()
    }

    /// What is answered instead of records, if there are none.
    pub(super) fn empty(&self) -> Option<EmptyAnswer> {
        self.sets.is_empty().then_some(self.input.empty)
    }

    /// The longest time that a negative answer about this name may be kept.
    pub(super) fn negative_ttl(&self) -> u32 {
        self.input.ttl.min(Ttl::NEGATIVE_CAP).as_secs()
    }
}

impl ServedSet {
    fn new(owner_name: &Name, input: &SetInput) -> Self {
        let (rtype, data): (_, Vec<RData>) = match &input.data {
            SetData::A(targets) => (RecordType::A, targets.iter().map(|ip| RData::A(A(*ip))).collect()),
            SetData::Aaaa(targets) => {
                (RecordType::AAAA, targets.iter().map(|ip| RData::AAAA(AAAA(*ip))).collect())
            }
            SetData::Txt(texts) => {
                let strings = texts.iter().flat_map(|text| text.as_bytes().chunks(MAX_STRING)).collect();
                (RecordType::TXT, vec![RData::TXT(TXT::from_bytes(strings))])
            }
        };
        let ttl = input.ttl.as_secs();
        let records =
            data.into_iter().map(|data| Record::from_rdata(owner_name.clone(), ttl, data)).collect();
        Self { rtype, records, order: input.order.clone() }
    }
}

/// The wire form of a name that `core` has parsed.
pub(super) fn name(domain: &DomainName) -> Name {
    name_from(domain.as_str()).expect("DomainName keeps every limit of RFC 1035")
}

fn name_from(text: &str) -> Option<Name> {
    let mut name = Name::from_ascii(text).ok()?;
    name.set_fqdn(true);
    Some(name)
}
