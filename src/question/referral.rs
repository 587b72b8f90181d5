//! The delegation of a zone, as a server of its parent tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use gslb_core::name::DomainName;
use gslb_core::reply::{NoWord, Record, RecordData, Response};

use super::client::Client;
use super::transport::{Options, Question};

/// A server's answer to a question for a zone's NS with RD=0. Any response code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referral {
    /// Response code, see [`gslb_core::reply::rcode`].
    pub rcode: u16,
    /// AA: the server holds the zone itself, or says with authority that there is none.
    pub authoritative: bool,
    /// The zone's name servers from ANSWER and AUTHORITY (F-43).
    pub name_servers: BTreeSet<DomainName>,
    /// IPv4 addresses of name servers that came along.
    pub glue: BTreeMap<DomainName, BTreeSet<Ipv4Addr>>,
}

impl Client {
    /// Asks one server for the NS set of a zone, without recursion.
    ///
    /// # Errors
    /// There was no reply, or it was cut off and TCP failed: a part of an NS set proves nothing.
    pub async fn ask_referral(&self, server: SocketAddr, zone: &DomainName) -> Result<Referral, NoWord> {
        self.ask_name_servers(server, zone, &Options::REFERRAL).await
    }

    /// As [`Self::ask_referral`], with options: a resolver is asked with RD=1 for the parent's servers.
    ///
    /// # Errors
    /// As there.
    pub async fn ask_name_servers(
        &self,
        server: SocketAddr,
        zone: &DomainName,
        options: &Options,
    ) -> Result<Referral, NoWord> {
        let response = self.exchange(server, &Question::name_servers(zone.clone()), options).await?;
        if response.truncated {
            return Err(NoWord::TruncatedWithoutTcp);
        }
        Ok(Referral::read(&response, zone))
    }
}

impl Referral {
    fn read(response: &Response, zone: &DomainName) -> Self {
        let records = response.answers.iter().chain(&response.authorities);
        let name_server = |record: &Record| match &record.data {
            RecordData::Ns(target) if record.owner_name == *zone => Some(target.clone()),
            _ => None,
        };
        let name_servers: BTreeSet<DomainName> = records.filter_map(name_server).collect();
        let mut glue: BTreeMap<DomainName, BTreeSet<Ipv4Addr>> = BTreeMap::new();
        for record in &response.additionals {
            if let RecordData::A(address) = record.data
                && name_servers.contains(&record.owner_name)
            {
                glue.entry(record.owner_name.clone()).or_default().insert(address);
            }
        }
        Self { rcode: response.rcode, authoritative: response.authoritative, name_servers, glue }
    }
}
