//! Asks the parent zone's own servers whether they refer to this cluster. `gslb_core::delegation_proof` judges.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use gslb_core::claim::Claimant;
use gslb_core::delegation_proof::{DelegationProof, GlueWord, ParentWord, judge};
use gslb_core::name::DomainName;
use gslb_core::reply::rcode;

use crate::controller::context::Context;
use crate::peer::glue::Word;
use crate::question::{Options, Referral};

/// Parent servers that are asked; a parent zone with more is judged by these. No outside reference.
const MOST_SERVERS: usize = 16;

/// Asks, and judges the answers.
pub(crate) async fn prove(context: &Context, claimant: &Claimant, own: &BTreeSet<IpAddr>) -> DelegationProof {
    let questions = &context.questions;
    let zone = claimant.zone();
    let servers = parent_servers(context, zone.parent()).await;
    let asked = servers.iter().take(MOST_SERVERS).map(|(name, server)| async move {
        let word = match questions.client().ask_referral(*server, zone.name()).await {
            Ok(referral) => parent_word(referral),
            Err(_) => ParentWord::NoWord,
        };
        (name.clone(), word)
    });
    let parents: BTreeMap<String, ParentWord> = futures::future::join_all(asked).await.into_iter().collect();
    let glue = match questions.glue(claimant.ns_name()).await {
        Word::Found(addresses) => GlueWord::Addresses(addresses.into_iter().map(IpAddr::V4).collect()),
        Word::Absent => GlueWord::Addresses(BTreeSet::new()),
        Word::Silent => GlueWord::NoWord,
    };
    judge(claimant, own, &parents, &glue)
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

/// The parent's name servers by name, with one address each: from the resolvers' NS answer, resolved where no
/// glue came along. A parent whose servers cannot be found that way may be served by the resolvers themselves.
async fn parent_servers(context: &Context, parent: &DomainName) -> BTreeMap<String, SocketAddr> {
    let questions = &context.questions;
    let resolvers: Vec<_> = context.settings.edge_dns_servers.iter().collect();
    let mut found = BTreeMap::new();
    for resolver in &resolvers {
        let Some(address) = resolver.socket_address() else { continue };
        let Ok(referral) = questions.client().ask_name_servers(address, parent, &Options::RESOLVER).await
        else {
            continue;
        };
        for name in &referral.name_servers {
            let glue = match referral.glue.get(name) {
                Some(glue) => glue.clone(),
                None => match questions.glue(name).await {
                    Word::Found(addresses) => addresses,
                    Word::Absent | Word::Silent => BTreeSet::new(),
                },
            };
            // As k8gb: servers of the parent listen on the resolver's port (contract §4.2).
            for address in glue {
                found.insert(format!("{name} ({address})"), SocketAddr::from((address, resolver.port)));
            }
        }
        if !found.is_empty() {
            return found;
        }
    }
    let direct =
        resolvers.iter().filter_map(|resolver| Some((resolver.to_string(), resolver.socket_address()?)));
    direct.collect()
}
