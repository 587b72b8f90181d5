//! DNS servers that say what a test wrote down for them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gslb_bridge::question::{Attempt, Heard, Query, QueryType, Transport};
use gslb_core::name::DomainName;
use gslb_core::reply::{NoWord, Record, RecordData, Response, rcode};
use gslb_core::ttl::Ttl;

/// What a server says about one name.
#[derive(Debug, Clone)]
pub(crate) enum Says {
    Addresses(Vec<Ipv4Addr>),
    /// As k8gb's CoreDNS answers: without AA.
    AddressesWithoutAuthority(Vec<Ipv4Addr>),
    /// A CNAME, and nothing about its target.
    Alias(DomainName),
    /// CNAMEs one after the other, and the addresses of the last.
    Chain(Vec<DomainName>, Vec<Ipv4Addr>),
    /// NXDOMAIN with AA, as a gslb-bridge server.
    No,
    /// NXDOMAIN without AA, as k8gb's CoreDNS.
    NoWithoutAuthority,
    ServFail,
    Nothing,
}

#[derive(Debug, Default)]
struct Script {
    words: BTreeMap<(Ipv4Addr, DomainName), Says>,
    /// Said once, before what is written above.
    once: Vec<(Ipv4Addr, DomainName, Says)>,
    silent: BTreeMap<Ipv4Addr, bool>,
    delegations: BTreeMap<(Ipv4Addr, DomainName), Response>,
    asked: BTreeMap<Ipv4Addr, usize>,
    asked_for: BTreeMap<(Ipv4Addr, DomainName), usize>,
}

/// All DNS servers of a test; clones share the script. Whoever is not in it is silent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dns(Arc<Mutex<Script>>);

pub(crate) fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}

fn ip(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

impl Dns {
    /// A server's word about a name.
    pub(crate) fn say(&self, server: &str, owner_name: &str, says: Says) {
        self.script(|script| _ = script.words.insert((ip(server), name(owner_name)), says));
    }

    pub(crate) fn answer(&self, server: &str, owner_name: &str, addresses: &[&str]) {
        self.say(server, owner_name, Says::Addresses(addresses.iter().map(|text| ip(text)).collect()));
    }

    /// A word that is said once.
    pub(crate) fn say_once(&self, server: &str, owner_name: &str, says: Says) {
        self.script(|script| script.once.push((ip(server), name(owner_name), says)));
    }

    /// Whether a server is dead to everyone.
    pub(crate) fn silence(&self, server: &str, silent: bool) {
        self.script(|script| _ = script.silent.insert(ip(server), silent));
    }

    /// The name servers that a server refers to for a zone.
    pub(crate) fn delegate(&self, server: &str, zone: &str, name_servers: &[&str]) {
        let authorities = ns_records(zone, name_servers);
        self.refer(server, zone, Response { authorities, ..Response::default() });
    }

    /// As [`Self::delegate`], in the section of a server that holds the zone's name itself.
    pub(crate) fn delegate_in_answer(&self, server: &str, zone: &str, name_servers: &[&str]) {
        let answers = ns_records(zone, name_servers);
        self.refer(server, zone, Response { authoritative: true, answers, ..Response::default() });
    }

    /// NXDOMAIN for a zone: the server knows no delegation.
    pub(crate) fn deny(&self, server: &str, zone: &str) {
        let rcode = rcode::NX_DOMAIN;
        self.refer(server, zone, Response { authoritative: true, rcode, ..Response::default() });
    }

    fn refer(&self, server: &str, zone: &str, response: Response) {
        self.script(|script| _ = script.delegations.insert((ip(server), name(zone)), response));
    }

    /// Questions that a server got.
    pub(crate) fn asked(&self, server: &str) -> usize {
        self.script(|script| script.asked.get(&ip(server)).copied().unwrap_or_default())
    }

    /// Questions that a server got about a name.
    pub(crate) fn asked_for(&self, server: &str, owner_name: &str) -> usize {
        let asked = (ip(server), name(owner_name));
        self.script(|script| script.asked_for.get(&asked).copied().unwrap_or_default())
    }

    fn script<T>(&self, work: impl FnOnce(&mut Script) -> T) -> T {
        work(&mut self.0.lock().unwrap())
    }
}

impl Script {
    fn word(&mut self, server: Ipv4Addr, query: &Query) -> Option<Response> {
        *self.asked.entry(server).or_default() += 1;
        *self.asked_for.entry((server, query.question.name.clone())).or_default() += 1;
        if self.silent.get(&server) == Some(&true) {
            return None;
        }
        let owner_name = &query.question.name;
        if query.question.query_type == QueryType::Ns {
            return self.delegations.get(&(server, owner_name.clone())).cloned();
        }
        let once = self.once.iter().position(|(at, name, _)| *at == server && name == owner_name);
        let says = match once {
            Some(place) => self.once.remove(place).2,
            None => match self.words.get(&(server, owner_name.clone())) {
                Some(says) => says.clone(),
                None if self.words.keys().any(|(at, _)| *at == server) => Says::No,
                None => Says::Nothing,
            },
        };
        says.response(owner_name)
    }
}

impl Says {
    fn response(self, owner_name: &DomainName) -> Option<Response> {
        let no = Response { rcode: rcode::NX_DOMAIN, ..Response::default() };
        match self {
            Self::Addresses(addresses) => {
                let answers =
                    addresses.into_iter().map(|address| record(owner_name, RecordData::A(address))).collect();
                Some(Response { authoritative: true, answers, ..Response::default() })
            }
            Self::AddressesWithoutAuthority(addresses) => {
                let answers =
                    addresses.into_iter().map(|address| record(owner_name, RecordData::A(address))).collect();
                Some(Response { answers, ..Response::default() })
            }
            Self::Alias(target) => {
                let answers = vec![record(owner_name, RecordData::Cname(target))];
                Some(Response { answers, ..Response::default() })
            }
            Self::Chain(names, addresses) => {
                let owners: Vec<DomainName> = [owner_name.clone()].into_iter().chain(names.clone()).collect();
                let links = owners.iter().zip(names).map(|(from, to)| record(from, RecordData::Cname(to)));
                let last = owners.last().unwrap_or(owner_name);
                let addresses = addresses.into_iter().map(|address| record(last, RecordData::A(address)));
                Some(Response { answers: links.chain(addresses).collect(), ..Response::default() })
            }
            Self::No => Some(Response { authoritative: true, ..no }),
            Self::NoWithoutAuthority => Some(no),
            Self::ServFail => Some(Response { rcode: rcode::SERV_FAIL, ..Response::default() }),
            Self::Nothing => None,
        }
    }
}

fn ns_records(zone: &str, name_servers: &[&str]) -> Vec<Record> {
    name_servers.iter().map(|server| record(&name(zone), RecordData::Ns(name(server)))).collect()
}

fn record(owner_name: &DomainName, data: RecordData) -> Record {
    Record { owner_name: owner_name.clone(), ttl: Ttl::DEFAULT, data }
}

#[async_trait]
impl Transport for Dns {
    async fn exchange(&self, server: SocketAddr, attempt: Attempt, query: &Query) -> Result<Heard, NoWord> {
        let SocketAddr::V4(server) = server else { return Err(NoWord::Network("no IPv6 here".into())) };
        match self.script(|script| script.word(*server.ip(), query)) {
            Some(response) => Ok(Heard { response, case_kept: true }),
            None => {
                tokio::time::sleep(attempt.deadline).await;
                Err(NoWord::Timeout)
            }
        }
    }
}
