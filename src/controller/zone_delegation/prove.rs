//! Asks the parent zone's own servers whether they refer to this cluster. `gslb_core::delegation_proof` judges.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use futures::{StreamExt, stream};
use gslb_core::claim::Claimant;
use gslb_core::delegation_proof::{DelegationProof, GlueWord, ParentWord, judge};
use gslb_core::name::DomainName;
use gslb_core::peer::LookUp;
use gslb_core::reply::rcode;
use gslb_core::zone::Zone;

use crate::peer::ask::look_up;
use crate::question::{Client, Options, Referral, socket_addresses};

/// Parent servers that are asked at once; a parent zone with more takes longer. No outside reference.
const ASKED_AT_ONCE: usize = 16;

/// The parent's servers, as the user should read them, with their replies; `None`: no usable one.
pub(super) type Words = BTreeMap<String, Option<Referral>>;

/// Whom to ask for the parent's servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The first resolver that knows them.
    OneResolver,
    /// All resolvers, and these themselves.
    EveryResolver,
}

/// Asks the parent's servers, as the resolvers of `client` name them, for the zone's delegation.
pub(super) async fn ask_parent(client: &Client, zone: &Zone, reach: Reach) -> Words {
    let servers = parent_servers(client, zone.parent(), reach).await;
    let ask = |(name, server): (String, Option<SocketAddr>)| async move {
        let Some(server) = server else { return (name, None) };
        let word = client.ask_referral(server, zone.name()).await;
        (name, word.ok())
    };
    stream::iter(servers).map(ask).buffer_unordered(ASKED_AT_ONCE).collect().await
}

/// Judges what the parent's servers said, and asks where our name leads.
pub(super) async fn prove(
    client: &Client,
    claimant: &Claimant,
    own: &BTreeSet<IpAddr>,
    words: Words,
) -> DelegationProof {
    let parents = words.into_iter().map(|(name, word)| (name, word.map_or(ParentWord::NoWord, parent_word)));
    let glue = match look_up(client, claimant.ns_name()).await {
        LookUp::Found(addresses) => GlueWord::Addresses(addresses.into_iter().map(IpAddr::V4).collect()),
        LookUp::Absent => GlueWord::Addresses(BTreeSet::new()),
        LookUp::Silent => GlueWord::NoWord,
    };
    judge(claimant, own, &parents.collect(), &glue)
}

fn parent_word(referral: Referral) -> ParentWord {
    match referral.rcode {
        rcode::NO_ERROR if !referral.name_servers.is_empty() && !referral.authoritative => {
            ParentWord::Referral(referral.name_servers)
        }
        rcode::NO_ERROR if !referral.name_servers.is_empty() => ParentWord::Answer,
        rcode::NO_ERROR | rcode::NX_DOMAIN => ParentWord::NoDelegation,
        _ => ParentWord::NoWord,
    }
}

/// The parent's name servers by name, each with an address: from the resolvers' NS answer, resolved where no glue
/// came along. A server whose name got no usable answer is there, without an address. A parent whose servers cannot
/// be found that way may be served by the resolvers themselves.
async fn parent_servers(
    client: &Client,
    parent: &DomainName,
    reach: Reach,
) -> BTreeMap<String, Option<SocketAddr>> {
    let mut silent = BTreeMap::new();
    let mut direct = BTreeMap::new();
    for resolver in client.resolvers() {
        for address in socket_addresses(resolver).await {
            let found = servers_at(client, address, parent).await;
            if reach == Reach::OneResolver && found.values().any(Option::is_some) {
                return found;
            }
            silent.extend(found);
            direct.insert(address.to_string(), Some(address));
        }
    }
    match reach {
        Reach::EveryResolver => silent.into_iter().chain(direct).collect(),
        Reach::OneResolver if silent.is_empty() => direct,
        Reach::OneResolver => silent,
    }
}

/// The parent's name servers as one resolver tells them.
async fn servers_at(
    client: &Client,
    resolver: SocketAddr,
    parent: &DomainName,
) -> BTreeMap<String, Option<SocketAddr>> {
    let asked = client.ask_name_servers(resolver, parent, &Options::RESOLVER).await;
    let Ok(Referral { name_servers, mut glue, .. }) = asked else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for name in &name_servers {
        let addresses = match glue.remove(name) {
            Some(addresses) => addresses,
            None => match look_up(client, name).await {
                LookUp::Found(addresses) => addresses,
                // Nobody can ask it, so nobody gets another answer from it.
                LookUp::Absent => BTreeSet::new(),
                LookUp::Silent => {
                    found.insert(name.to_string(), None);
                    continue;
                }
            },
        };
        // As k8gb: servers of the parent listen on the resolver's port (contract §4.2).
        let server = |address| SocketAddr::from((address, resolver.port()));
        found.extend(addresses.into_iter().map(|ip| (format!("{name} ({ip})"), Some(server(ip)))));
    }
    found
}
