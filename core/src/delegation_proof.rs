//! Whether a delegation is really served: judged from what the parent's servers answered, not from what a
//! backend's database says.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::claim::Claimant;
use crate::name::DomainName;

/// What one server of the parent answered to a question for the zone's NS with RD=0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParentWord {
    /// A referral: these names stand in the authority section.
    Referral(BTreeSet<DomainName>),
    /// An authoritative answer: the server holds the zone's name itself.
    Answer,
    /// NXDOMAIN or NODATA: the server holds the parent and knows no delegation.
    NoDelegation,
    /// Nothing usable: time-out, network error, SERVFAIL, REFUSED, malformed; or nobody says where the server is.
    NoWord,
}

/// What our name server name resolved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlueWord {
    /// These addresses; empty for NXDOMAIN and NODATA.
    Addresses(BTreeSet<IpAddr>),
    /// Nothing usable.
    NoWord,
}

/// The verdict; its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DelegationProof {
    /// Every parent server refers to us, and our name resolves to our addresses.
    #[error("every name server of {parent} refers {zone} to {ns_name}, which resolves to this cluster")]
    Delegated {
        /// The zone.
        zone: DomainName,
        /// Its parent.
        parent: DomainName,
        /// Our name server name.
        ns_name: DomainName,
    },
    /// No server of the parent is known.
    #[error(
        "it is not known whether {zone} is delegated: no name server of {parent} was found; check EDGE_DNS_SERVERS"
    )]
    NoParentServers {
        /// The zone.
        zone: DomainName,
        /// Its parent.
        parent: DomainName,
    },
    /// A parent server answers for the zone itself.
    #[error(
        "{zone} is not delegated: {servers} of {parent} answers for it itself; remove the zone or the records of that name there"
    )]
    HeldByParent {
        /// The zone.
        zone: DomainName,
        /// Its parent.
        parent: DomainName,
        /// The servers, comma separated.
        servers: String,
    },
    /// The parent does not serve the delegation yet.
    #[error(
        "{zone} is not delegated to {ns_name} yet: {servers} of {parent} does not refer to it; it is served after the next restart of the DNS service there"
    )]
    WaitingForRestart {
        /// The zone.
        zone: DomainName,
        /// Its parent.
        parent: DomainName,
        /// Our name server name.
        ns_name: DomainName,
        /// The servers, comma separated.
        servers: String,
    },
    /// A parent server gave no word.
    #[error(
        "it is not known whether {zone} is delegated: {servers} of {parent} gives no usable answer; check that this cluster can reach it on port 53"
    )]
    ParentUnreachable {
        /// The zone.
        zone: DomainName,
        /// Its parent.
        parent: DomainName,
        /// The servers, comma separated.
        servers: String,
    },
    /// The referral is there, the way to us is not.
    #[error(
        "{zone} is delegated to {ns_name}, which resolves to {found} and not to {wanted}; check the glue and the address records of that name in {parent}"
    )]
    GlueNotServed {
        /// The zone.
        zone: DomainName,
        /// Its parent.
        parent: DomainName,
        /// Our name server name.
        ns_name: DomainName,
        /// Addresses found, comma separated, or "nothing".
        found: String,
        /// Our addresses, comma separated.
        wanted: String,
    },
    /// The referral is there, and nobody says where it leads.
    #[error(
        "{zone} is delegated to {ns_name}, and it is not known whether that name resolves to {wanted}: no resolver gives a usable answer; check that this cluster can reach EDGE_DNS_SERVERS"
    )]
    GlueUnknown {
        /// The zone.
        zone: DomainName,
        /// Our name server name.
        ns_name: DomainName,
        /// Our addresses, comma separated.
        wanted: String,
    },
}

impl DelegationProof {
    /// Stable reason for the condition `Delegated`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Delegated { .. } => "Delegated",
            Self::NoParentServers { .. } => "NoParentServers",
            Self::HeldByParent { .. } => "HeldByParent",
            Self::WaitingForRestart { .. } => "WaitingForRestart",
            Self::ParentUnreachable { .. } => "ParentUnreachable",
            Self::GlueNotServed { .. } => "GlueNotServed",
            Self::GlueUnknown { .. } => "GlueUnknown",
        }
    }

    /// `True`, `False` or, for what could not be looked at, `Unknown`.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Delegated { .. } => "True",
            Self::HeldByParent { .. } | Self::WaitingForRestart { .. } | Self::GlueNotServed { .. } => {
                "False"
            }
            Self::NoParentServers { .. } | Self::ParentUnreachable { .. } | Self::GlueUnknown { .. } => {
                "Unknown"
            }
        }
    }
}

/// Judges one zone. `parents` maps each parent server, as the user should read it, to its word; a definite
/// denial of one server outweighs another one's silence.
pub fn judge(
    claimant: &Claimant,
    addresses: &BTreeSet<IpAddr>,
    parents: &BTreeMap<String, ParentWord>,
    glue: &GlueWord,
) -> DelegationProof {
    let zone = claimant.zone().name().clone();
    let parent = claimant.zone().parent().clone();
    let ns_name = claimant.ns_name().clone();
    if parents.is_empty() {
        return DelegationProof::NoParentServers { zone, parent };
    }
    let held = those(parents, |word| *word == ParentWord::Answer);
    if !held.is_empty() {
        return DelegationProof::HeldByParent { zone, parent, servers: held };
    }
    let without_us = those(parents, |word| match word {
        ParentWord::Referral(names) => !names.contains(&ns_name),
        ParentWord::NoDelegation => true,
        ParentWord::Answer | ParentWord::NoWord => false,
    });
    if !without_us.is_empty() {
        return DelegationProof::WaitingForRestart { zone, parent, ns_name, servers: without_us };
    }
    let silent = those(parents, |word| *word == ParentWord::NoWord);
    if !silent.is_empty() {
        return DelegationProof::ParentUnreachable { zone, parent, servers: silent };
    }
    match glue {
        GlueWord::Addresses(found) if found == addresses => {
            DelegationProof::Delegated { zone, parent, ns_name }
        }
        GlueWord::Addresses(found) => {
            let (found, wanted) = (list(found), list(addresses));
            DelegationProof::GlueNotServed { zone, parent, ns_name, found, wanted }
        }
        GlueWord::NoWord => DelegationProof::GlueUnknown { zone, ns_name, wanted: list(addresses) },
    }
}

fn those(parents: &BTreeMap<String, ParentWord>, pick: impl Fn(&ParentWord) -> bool) -> String {
    let names: Vec<_> =
        parents.iter().filter(|(_, word)| pick(word)).map(|(server, _)| server.as_str()).collect();
    names.join(", ")
}

fn list(addresses: &BTreeSet<IpAddr>) -> String {
    match addresses.is_empty() {
        true => "nothing".to_owned(),
        false => addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::GeoTag;
    use crate::ttl::Ttl;
    use crate::zone::{NsPrefix, Zone};

    const EU: &str = "gslb-ns-eu-cloud.example.com";
    const US: &str = "gslb-ns-us-cloud.example.com";

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    fn addresses(texts: &[&str]) -> BTreeSet<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn refers(names: &[&str]) -> ParentWord {
        ParentWord::Referral(names.iter().map(|text| name(text)).collect())
    }

    fn judged(words: &[ParentWord], glue: &GlueWord) -> DelegationProof {
        let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
        let claimant = Claimant::new(zone, NsPrefix::default(), GeoTag::parse("eu").unwrap()).unwrap();
        let parents = words.iter().enumerate().map(|(i, word)| (format!("ns{i}.example.com"), word.clone()));
        judge(&claimant, &addresses(&["192.0.2.53"]), &parents.collect(), glue)
    }

    #[test]
    fn a_zone_is_delegated_only_if_every_parent_server_says_so_and_our_name_leads_to_us() {
        let ours = GlueWord::Addresses(addresses(&["192.0.2.53"]));
        let other = GlueWord::Addresses(addresses(&["192.0.2.99"]));
        let with_us = || refers(&[EU, US]);
        let cases = [
            (vec![with_us(), with_us()], &ours, "Delegated", "True"),
            (vec![with_us(), refers(&[US])], &ours, "WaitingForRestart", "False"),
            (vec![with_us(), ParentWord::NoDelegation], &ours, "WaitingForRestart", "False"),
            (vec![ParentWord::NoWord, ParentWord::NoDelegation], &ours, "WaitingForRestart", "False"),
            (vec![with_us(), ParentWord::NoWord], &ours, "ParentUnreachable", "Unknown"),
            (vec![with_us(), ParentWord::Answer], &ours, "HeldByParent", "False"),
            (vec![with_us()], &other, "GlueNotServed", "False"),
            (vec![with_us()], &GlueWord::NoWord, "GlueUnknown", "Unknown"),
            (vec![with_us()], &GlueWord::Addresses(BTreeSet::new()), "GlueNotServed", "False"),
            (vec![], &ours, "NoParentServers", "Unknown"),
        ];
        for (words, glue, reason, status) in cases {
            let proof = judged(&words, glue);
            assert_eq!((proof.reason(), proof.status()), (reason, status), "{words:?}");
        }
    }

    #[test]
    fn the_sentence_names_the_servers_that_do_not_refer_to_us() {
        let proof = judged(&[refers(&[EU]), ParentWord::NoDelegation], &GlueWord::NoWord);
        assert_eq!(
            proof.to_string(),
            "cloud.example.com is not delegated to gslb-ns-eu-cloud.example.com yet: ns1.example.com of example.com does not refer to it; it is served after the next restart of the DNS service there"
        );
    }
}
