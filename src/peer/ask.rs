//! Puts our questions to the peers: which addresses, which ports, how much effort.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard};

use gslb_core::name::DomainName;
use gslb_core::peer::{LookUp, Round};
use gslb_core::reply::{NoWord, Reply};

use crate::question::{Client, Options, Question, Resolved};

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// One try.
    Sweep,
    /// The tries that turn a silence into a verdict.
    Doubt,
}

/// What to ask about one host: where, and the owner name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) host: DomainName,
    pub(crate) owner_name: DomainName,
    pub(crate) addresses: BTreeSet<Ipv4Addr>,
}

/// Asks peers and resolvers.
#[derive(Debug)]
pub(crate) struct PeerQuestions {
    client: Client,
    /// Ports on which a peer may listen, in order (contract §4.4).
    ports: Vec<u16>,
    /// The port on which an address answered last.
    answered: Mutex<BTreeMap<Ipv4Addr, u16>>,
}

impl PeerQuestions {
    pub(crate) fn new(client: Client, ports: Vec<u16>) -> Self {
        Self { client, ports, answered: Mutex::default() }
    }

    /// The client below, for questions that are not about peers.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks about all hosts together, every address of each; gives one round per host.
    pub(crate) async fn ask(&self, asks: &[Ask], effort: Effort) -> Vec<(DomainName, Round)> {
        let options = match effort {
            Effort::Sweep => &Options::SWEEP,
            Effort::Doubt => &Options::DOUBT,
        };
        let addresses: BTreeSet<Ipv4Addr> = asks.iter().flat_map(|ask| &ask.addresses).copied().collect();
        let mut replies: BTreeMap<(Ipv4Addr, DomainName), Reply> = BTreeMap::new();
        let mut ports = self.ports_of(&addresses);
        while !ports.is_empty() {
            let heard = self.client.ask_many(questions(asks, &ports), options).await;
            self.learn(&heard);
            for ((server, question), reply) in heard {
                if let SocketAddr::V4(server) = server {
                    replies.insert((*server.ip(), question.name), reply);
                }
            }
            // The next port only where nobody listens or answers on this one.
            ports.retain(|address, left| {
                left.remove(0);
                let mut silent = replies.iter().filter(|((from, _), _)| from == address);
                !left.is_empty() && silent.all(|(_, reply)| is_silence(reply))
            });
        }
        asks.iter().map(|ask| (ask.host.clone(), round(ask, &replies))).collect()
    }

    /// The address of a peer's name server.
    pub(crate) async fn glue(&self, ns_name: &DomainName) -> LookUp {
        look_up(&self.client, ns_name).await
    }

    fn ports_of(&self, addresses: &BTreeSet<Ipv4Addr>) -> BTreeMap<Ipv4Addr, Vec<u16>> {
        let answered = self.answered();
        let ports = |address| answered.get(address).map_or_else(|| self.ports.clone(), |port| vec![*port]);
        addresses.iter().map(|address| (*address, ports(address))).collect()
    }

    /// Remembers where somebody answered, and forgets it when nobody does any more.
    fn learn(&self, heard: &BTreeMap<(SocketAddr, Question), Reply>) {
        let mut words: BTreeMap<SocketAddr, bool> = BTreeMap::new();
        for ((server, _), reply) in heard {
            *words.entry(*server).or_default() |= !is_silence(reply);
        }
        let mut answered = self.answered();
        for (server, word) in words {
            if let SocketAddr::V4(v4) = server {
                if word {
                    answered.insert(*v4.ip(), v4.port());
                } else {
                    answered.remove(v4.ip());
                }
            }
        }
    }

    fn answered(&self) -> MutexGuard<'_, BTreeMap<Ipv4Addr, u16>> {
        self.answered.lock().expect("no panic while the ports are locked")
    }
}

/// The addresses of a name server, as the client's resolvers tell them.
pub(crate) async fn look_up(client: &Client, ns_name: &DomainName) -> LookUp {
    match client.resolve(ns_name).await {
        Resolved::Found { addresses, .. } => LookUp::Found(addresses),
        Resolved::Absent { .. } => LookUp::Absent,
        Resolved::NoWord(_) => LookUp::Silent,
    }
}

/// One question per host and address, at the address's next port.
fn questions(asks: &[Ask], ports: &BTreeMap<Ipv4Addr, Vec<u16>>) -> Vec<(SocketAddr, Question)> {
    let mut questions = Vec::new();
    for ask in asks {
        for address in &ask.addresses {
            if let Some(port) = ports.get(address).and_then(|left| left.first()) {
                questions.push(((*address, *port).into(), Question::addresses(ask.owner_name.clone())));
            }
        }
    }
    questions
}

fn round(ask: &Ask, replies: &BTreeMap<(Ipv4Addr, DomainName), Reply>) -> Round {
    let reply = |address: &Ipv4Addr| replies.get(&(*address, ask.owner_name.clone())).cloned();
    let replies = ask.addresses.iter().filter_map(|address| Some(((*address, 0).into(), reply(address)?)));
    Round::new(replies)
}

fn is_silence(reply: &Reply) -> bool {
    matches!(reply, Reply::NoWord(NoWord::Timeout | NoWord::Network(_)))
}
