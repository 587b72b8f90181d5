//! The addresses of a name, asked of `EDGE_DNS_SERVERS`: glue of name server names, load balancers, aliases.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use gslb_core::name::DomainName;
use gslb_core::reply::{CHAIN_BUDGET, Judgement, NoWord, Reply};
use gslb_core::ttl::Ttl;
use tokio::time::timeout;

use super::client::Client;
use super::transport::{Options, Question};
use crate::config::{Host, ServerAddress};

/// How long the system's resolver may take for the name of a resolver; as a try at that resolver.
const SYSTEM_LOOKUP: Duration = Duration::from_secs(1);

/// What the resolvers say about a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// It has these addresses, never none.
    Found {
        /// All of them.
        addresses: BTreeSet<Ipv4Addr>,
        /// How long that may be believed: the smallest TTL of the chain.
        ttl: Ttl,
    },
    /// It has none, for certain.
    Absent {
        /// NODATA if true, NXDOMAIN if not.
        name_exists: bool,
    },
    /// No resolver said anything final. The last one's reason.
    NoWord(NoWord),
}

impl Client {
    /// Asks the resolvers in order; only NOERROR and NXDOMAIN are final (F-38). A CNAME chain is followed over
    /// several replies, at most [`CHAIN_BUDGET`] links in all.
    pub async fn resolve(&self, name: &DomainName) -> Resolved {
        let mut silence = NoWord::Timeout;
        for resolver in self.resolvers.iter() {
            for server in socket_addresses(resolver).await {
                match self.resolve_at(server, name).await {
                    Resolved::NoWord(no_word) => silence = no_word,
                    last @ (Resolved::Found { .. } | Resolved::Absent { .. }) => return last,
                }
            }
        }
        Resolved::NoWord(silence)
    }

    /// Follows a chain at one resolver.
    async fn resolve_at(&self, server: SocketAddr, name: &DomainName) -> Resolved {
        let mut question = Question::addresses(name.clone());
        let mut seen = BTreeSet::from([name.clone()]);
        let mut ttl: Option<Ttl> = None;
        loop {
            let response = match self.exchange(server, &question, &Options::RESOLVER).await {
                Ok(response) => response,
                Err(no_word) => return Resolved::NoWord(no_word),
            };
            if let Ok(chain) = response.chain(&question.name) {
                ttl = chain.ttl.map(|this| ttl.map_or(this, |before| before.min(this))).or(ttl);
            }
            match response.judge(&question.name) {
                Judgement::Settled(Reply::Positive { addresses, .. }) => {
                    return Resolved::Found { addresses, ttl: ttl.unwrap_or(Ttl::DEFAULT) };
                }
                Judgement::Settled(Reply::Negative { name_exists, .. }) => {
                    return Resolved::Absent { name_exists };
                }
                Judgement::Settled(Reply::NoWord(no_word)) => return Resolved::NoWord(no_word),
                Judgement::Alias { target, .. } => {
                    if seen.len() > CHAIN_BUDGET || !seen.insert(target.clone()) {
                        return Resolved::NoWord(NoWord::CnameLoop);
                    }
                    question.name = target;
                }
            }
        }
    }
}

/// Where a resolver is. One that is given by name is looked up with the system's resolver, each time, because
/// its address may change.
pub(crate) async fn socket_addresses(resolver: &ServerAddress) -> Vec<SocketAddr> {
    let name = match &resolver.host {
        Host::Address(address) => return vec![SocketAddr::new(*address, resolver.port)],
        Host::Name(name) => name,
    };
    let lookup = tokio::net::lookup_host((name.as_str(), resolver.port));
    match timeout(SYSTEM_LOOKUP, lookup).await {
        Ok(Ok(found)) => found.filter(SocketAddr::is_ipv4).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}
