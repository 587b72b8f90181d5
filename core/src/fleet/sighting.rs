//! What one read of a delegation says about who stands in it.

use std::collections::BTreeSet;

use crate::delegation::{Obstacle, Presence};
use crate::name::DomainName;
use crate::reply::rcode;

/// Where a delegation is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The parent zone's servers, over DNS.
    Parent,
    /// A provider's database: that of the zone's place with this number, from 0.
    Provider(usize),
}

/// What one read of a delegation showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// Exactly these name servers; none: there is no delegation.
    Names(BTreeSet<DomainName>),
    /// Nothing that counts.
    Silent,
}

impl Sighting {
    /// What a server of the parent says with its reply to a question for the zone's NS with RD=0.
    pub fn of_reply(code: u16, authoritative: bool, name_servers: BTreeSet<DomainName>) -> Self {
        match code {
            rcode::NX_DOMAIN => Self::Names(BTreeSet::new()),
            rcode::NO_ERROR if authoritative || !name_servers.is_empty() => Self::Names(name_servers),
            // Without authority it only sends us elsewhere: it does not serve the parent.
            _ => Self::Silent,
        }
    }

    /// What a successful read at the provider says.
    pub fn of_presence(presence: &Presence) -> Self {
        match presence {
            Presence::Absent => Self::Names(BTreeSet::new()),
            Presence::Present(observed) => {
                let elsewhere = |obstacle: &Obstacle| matches!(obstacle, Obstacle::NsGroup { .. });
                let names: BTreeSet<DomainName> = observed.delegation.servers.keys().cloned().collect();
                match names.is_empty() && observed.obstacles.iter().any(elsewhere) {
                    true => Self::Silent,
                    false => Self::Names(names),
                }
            }
        }
    }

    /// What two servers say together: servers of one parent may be of different age, and whoever one of them names
    /// is there.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Names(names), Self::Names(more)) => Self::Names(names.into_iter().chain(more).collect()),
            (names @ Self::Names(_), Self::Silent) | (Self::Silent, names) => names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegation::{Delegation, ObservedDelegation};

    const EU: &str = "gslb-ns-eu-cloud.example.com";
    const US: &str = "gslb-ns-us-cloud.example.com";
    const ZA: &str = "gslb-ns-za-cloud.example.com";

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn names(texts: &[&str]) -> Sighting {
        Sighting::Names(texts.iter().map(|text| name(text)).collect())
    }

    #[test]
    fn a_reply_counts_if_the_server_knows_the_parent_zone() {
        let both = || [name(EU), name(US)].into();
        let cases = [
            (rcode::NO_ERROR, false, both(), names(&[EU, US])),
            (rcode::NO_ERROR, true, both(), names(&[EU, US])),
            (rcode::NO_ERROR, true, [].into(), names(&[])),
            (rcode::NO_ERROR, false, [].into(), Sighting::Silent),
            (rcode::NX_DOMAIN, true, [].into(), names(&[])),
            (rcode::NX_DOMAIN, false, [].into(), names(&[])),
            (rcode::SERV_FAIL, false, [].into(), Sighting::Silent),
            (rcode::REFUSED, false, both(), Sighting::Silent),
        ];
        for (code, authoritative, name_servers, expected) in cases {
            assert_eq!(Sighting::of_reply(code, authoritative, name_servers), expected, "{code}");
        }
    }

    #[test]
    fn a_read_at_the_provider_counts_unless_the_names_are_kept_elsewhere() {
        let present = |servers: &[&str], obstacles: &[Obstacle]| {
            let servers = servers.iter().map(|text| (name(text), [].into())).collect();
            let delegation = Delegation { zone: name("cloud.example.com"), ttl: None, servers };
            let plain = ObservedDelegation::plain(delegation);
            Presence::Present(ObservedDelegation { obstacles: obstacles.iter().cloned().collect(), ..plain })
        };
        let group = Obstacle::NsGroup { name: "group".to_owned() };
        assert_eq!(Sighting::of_presence(&Presence::Absent), names(&[]));
        assert_eq!(Sighting::of_presence(&present(&[US], &[])), names(&[US]));
        assert_eq!(Sighting::of_presence(&present(&[], &[])), names(&[]));
        assert_eq!(Sighting::of_presence(&present(&[], &[group])), Sighting::Silent);
    }

    #[test]
    fn whoever_one_server_of_the_parent_names_is_there() {
        let silent = || Sighting::Silent;
        assert_eq!(names(&[US]).or(names(&[ZA])), names(&[US, ZA]));
        assert_eq!((names(&[]).or(silent()), silent().or(names(&[US]))), (names(&[]), names(&[US])));
        assert_eq!(silent().or(silent()), Sighting::Silent);
    }
}
