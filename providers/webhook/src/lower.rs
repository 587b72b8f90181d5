//! One approved change becomes one request: the NS set merged into what is listed, the addresses that go with it, and the
//! TXT records that say whose they are.

use std::collections::BTreeSet;
use std::net::IpAddr;

use gslb_core::change::Change;
use gslb_core::delegation::{Delegation, Servers};
use gslb_core::name::DomainName;
use gslb_core::text::quoted;
use gslb_core::ttl::Ttl;

use crate::claims::{Claims, Holder};
use crate::listing::{Listing, Unreadable, family};
use crate::protocol::{Changes, Endpoint, RecordType};

/// A change that must not be made as things stand. Its text is the sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unmakeable {
    #[error(
        "delegation {zone} is not changed: {set} would be needed, and {whose}; have that owner give it up, or list it in WEBHOOK_PROVIDER_ADOPT_OWNERS"
    )]
    Foreign { zone: DomainName, set: String, whose: String },
    #[error(
        "delegation {zone} is not changed: {name} is an alias (CNAME), and a name server has an address; remove the alias"
    )]
    Alias { zone: DomainName, name: DomainName },
    #[error(
        "delegation {zone} is not changed: the name of a TXT record about {set} is too long for DNS; shorten WEBHOOK_PROVIDER_TXT_PREFIX"
    )]
    NoteTooLong { zone: DomainName, set: String },
    #[error(
        "the webhook does not take {name}, which delegation {zone} needs: the domains that it is in charge of are {filter}; add it there"
    )]
    OutsideFilter { zone: DomainName, name: DomainName, filter: String },
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

/// The request for a change, which fits what is listed. TXT records come before what they are about and go after it:
/// a set without one is nobody's to external-dns.
pub(crate) fn lower(change: &Change, listing: &Listing, claims: &Claims<'_>) -> Result<Changes, Unmakeable> {
    let mut lowering = Lowering { zone: change.zone(), listing, claims, changes: Changes::default() };
    let ttl = change.after().and_then(|after| after.ttl);
    let nothing = Servers::new();
    let servers = |delegation: Option<&Delegation>| delegation.map_or(nothing.clone(), |d| d.servers.clone());
    let (before, after) = (servers(change.before()), servers(change.after()));
    if change.after().is_none() {
        lowering.remove(change.zone(), RecordType::Ns)?;
    }
    let touched: BTreeSet<_> =
        before.keys().chain(after.keys()).filter(|name| before.get(*name) != after.get(*name)).collect();
    for name in touched {
        lowering.glue(name, after.get(name), ttl)?;
    }
    if let Some(after) = change.after() {
        lowering.name_servers(after)?;
    }
    lowering.within_filter()
}

struct Lowering<'a> {
    zone: &'a DomainName,
    listing: &'a Listing,
    claims: &'a Claims<'a>,
    changes: Changes,
}

impl Lowering<'_> {
    fn name_servers(&mut self, after: &Delegation) -> Result<(), Unmakeable> {
        let wanted: Vec<String> = after.servers.keys().map(ToString::to_string).collect();
        self.make(self.zone, RecordType::Ns, after.ttl, &wanted, |target| {
            DomainName::parse(target).is_ok_and(|name| after.servers.contains_key(&name))
        })
    }

    /// The addresses of one name, as they are wanted; `None`: its entry goes, and they with it.
    fn glue(
        &mut self,
        name: &DomainName,
        wanted: Option<&BTreeSet<IpAddr>>,
        ttl: Option<Ttl>,
    ) -> Result<(), Unmakeable> {
        let of_family = |rtype: RecordType| -> BTreeSet<IpAddr> {
            wanted.into_iter().flatten().filter(|address| family(**address) == rtype).copied().collect()
        };
        for rtype in [RecordType::A, RecordType::Aaaa] {
            let (wanted, found) = (of_family(rtype), self.listing.addresses(name, rtype)?);
            if wanted == found {
                continue;
            }
            if wanted.is_empty() {
                self.remove(name, rtype)?;
                continue;
            }
            if !self.listing.set(name, RecordType::Cname).is_empty() {
                return Err(Unmakeable::Alias { zone: self.zone.clone(), name: name.clone() });
            }
            let texts: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            self.make(name, rtype, ttl, &texts, |target| {
                target.trim().parse().is_ok_and(|address: IpAddr| wanted.contains(&address))
            })?;
        }
        Ok(())
    }

    /// Has a set say this: what is listed of it keeps its spelling, TTL and properties.
    fn make(
        &mut self,
        name: &DomainName,
        rtype: RecordType,
        ttl: Option<Ttl>,
        wanted: &[String],
        stays: impl Fn(&str) -> bool,
    ) -> Result<(), Unmakeable> {
        let Some(listed) = self.listing.whole(name, rtype) else {
            self.note(name, rtype, true)?;
            let made = Endpoint::new(name, rtype, ttl.map(Ttl::as_secs), wanted.to_vec());
            self.changes.create.push(self.claims.labelled(made, self.zone));
            return Ok(());
        };
        let mut targets: Vec<String> =
            listed.targets.iter().filter(|target| stays(target)).cloned().collect();
        let said: BTreeSet<String> = targets.iter().map(|target| plain(target)).collect();
        let added: Vec<String> =
            wanted.iter().filter(|target| !said.contains(&plain(target))).cloned().collect();
        self.note(name, rtype, !added.is_empty())?;
        targets.extend(added);
        let new = Endpoint { targets, ..listed.clone() };
        self.changes.update_old.push(self.claims.labelled(listed, self.zone));
        self.changes.update_new.push(self.claims.labelled(new, self.zone));
        Ok(())
    }

    /// Looks whose a set is. One of nobody's that we join gets a TXT record; one that we only leave does not, as what is
    /// left may be a stranger's.
    fn note(&mut self, name: &DomainName, rtype: RecordType, joins: bool) -> Result<(), Unmakeable> {
        let set = || quoted(&format!("{rtype} {name}"));
        let zone = || self.zone.clone();
        match self.claims.holder(self.listing, name, rtype) {
            Holder::Other(whose) => return Err(Unmakeable::Foreign { zone: zone(), set: set(), whose }),
            Holder::Nobody if joins => {}
            Holder::Ours | Holder::Nobody => return Ok(()),
        }
        let Some(at) = self.claims.note_name(name, rtype) else {
            return Err(Unmakeable::NoteTooLong { zone: zone(), set: set() });
        };
        let text = self.claims.note(self.zone);
        let made = Endpoint::new(&at, RecordType::Txt, None, vec![text]);
        self.changes.create.push(self.claims.labelled(made, self.zone));
        Ok(())
    }

    /// Takes a set away with its TXT record; what is somebody else's stays.
    fn remove(&mut self, name: &DomainName, rtype: RecordType) -> Result<(), Unmakeable> {
        let Some(listed) = self.listing.whole(name, rtype) else { return Ok(()) };
        match self.claims.holder(self.listing, name, rtype) {
            Holder::Ours | Holder::Nobody => {}
            Holder::Other(whose) if rtype == RecordType::Ns => {
                let set = quoted(&listed.title());
                return Err(Unmakeable::Foreign { zone: self.zone.clone(), set, whose });
            }
            Holder::Other(_) => return Ok(()),
        }
        self.changes.delete.push(self.claims.labelled(listed, self.zone));
        let Some(at) = self.claims.note_name(name, rtype) else { return Ok(()) };
        let is_ours = self.claims.is_note(self.listing.set(&at, RecordType::Txt));
        if let Some(note) = self.listing.whole(&at, RecordType::Txt).filter(|_| is_ours) {
            self.changes.delete.push(self.claims.labelled(note, self.zone));
        }
        Ok(())
    }

    /// A webhook refuses all of a request that names something outside, or passes over that in silence.
    fn within_filter(self) -> Result<Changes, Unmakeable> {
        let Self { zone, listing, changes, .. } = self;
        let written = changes.create.iter().chain(&changes.update_new).chain(&changes.delete);
        for name in written.filter_map(|endpoint| endpoint.name().ok()) {
            if !listing.filter.takes(name.as_str()) {
                let filter = described(listing);
                return Err(Unmakeable::OutsideFilter { zone: zone.clone(), name, filter });
            }
        }
        Ok(changes)
    }
}

/// The domain filter as it is on the wire.
pub(crate) fn described(listing: &Listing) -> String {
    quoted(&serde_json::to_string(&listing.filter).unwrap_or_default())
}

/// A target without its spelling.
fn plain(target: &str) -> String {
    let target = target.trim().trim_end_matches('.').to_lowercase();
    target.parse().map_or(target, |address: IpAddr| address.to_string())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::claims::tests::{Given, note};
    use crate::listing::tests::{endpoint, listing, name};

    const ZONE: &str = "cloud.example.com";
    const EU: &str = "gslb-ns-eu-cloud.example.com";
    const US: &str = "gslb-ns-us-cloud.example.com";

    fn delegation(ttl: Option<i64>, entries: &[&str]) -> Delegation {
        let mut servers = Servers::new();
        for entry in entries {
            let mut words = entry.split(' ');
            let ns_name = name(words.next().unwrap());
            servers.insert(ns_name, words.map(|address| address.parse().unwrap()).collect());
        }
        Delegation { zone: name(ZONE), ttl: ttl.map(|ttl| Ttl::from_secs(ttl).unwrap()), servers }
    }

    /// The request in words, a line for each set.
    pub(crate) fn shown(changes: &Changes) -> Vec<String> {
        let line = |sign: &str, endpoint: &Endpoint| {
            let text = endpoint.targets.join(" ");
            format!("{sign} {} {} {text}", endpoint.title(), endpoint.record_ttl)
        };
        let list = |sign: &'static str, all: &[Endpoint]| {
            all.iter().map(move |each| line(sign, each)).collect::<Vec<_>>()
        };
        [
            list("+", &changes.create),
            list("<", &changes.update_old),
            list(">", &changes.update_new),
            list("-", &changes.delete),
        ]
        .concat()
    }

    fn lowered(change: &Change, sets: &[&str]) -> Result<Vec<String>, String> {
        let given = Given::new();
        let changes = lower(change, &listing(sets), &given.claims());
        changes.map(|changes| shown(&changes)).map_err(|error| error.to_string())
    }

    fn create(entry: &str) -> Change {
        Change::Create { after: delegation(Some(30), &[entry]) }
    }

    fn text() -> String {
        "\"heritage=external-dns,external-dns/owner=fleet,external-dns/resource=zonedelegation/cloud-example-com\""
            .to_owned()
    }

    #[test]
    fn a_new_delegation_is_its_name_server_with_addresses_of_both_families_and_a_note_about_each() {
        let both = format!("{EU} 192.0.2.53 192.0.2.54 2001:db8::1");
        let expected = [
            format!("+ TXT x-a-{EU} 0 {}", text()),
            format!("+ A {EU} 30 192.0.2.53 192.0.2.54"),
            format!("+ TXT x-aaaa-{EU} 0 {}", text()),
            format!("+ AAAA {EU} 30 2001:db8::1"),
            format!("+ TXT x-ns-{ZONE} 0 {}", text()),
            format!("+ NS {ZONE} 30 {EU}"),
        ];
        assert_eq!(lowered(&create(&both), &[]).unwrap(), expected);
    }

    #[test]
    fn what_is_there_already_is_not_made_again() {
        let (a, ns) = (note(&format!("x-a-{EU}"), "old"), note(&format!("x-ns-{ZONE}"), "fleet"));
        let sets = [&a, &ns, "A GSLB-ns-eu-cloud.example.com. 5 192.0.2.53"];
        let expected = [format!("+ NS {ZONE} 30 {EU}")];
        assert_eq!(lowered(&create(&format!("{EU} 192.0.2.53")), &sets).unwrap(), expected);
    }

    #[test]
    fn a_name_server_joins_those_that_are_listed_in_their_spelling_and_with_their_ttl() {
        let before = delegation(Some(60), &[&format!("{US} 198.51.100.53"), "ns1.isp.example"]);
        let mut after = before.clone();
        after.servers.insert(name(EU), BTreeSet::from(["192.0.2.53".parse().unwrap()]));
        let ns = format!("NS {ZONE}. 60 NS1.isp.example. {US}.");
        let sets = [
            ns.as_str(),
            &note(&format!("x-ns-{ZONE}"), "fleet"),
            "A gslb-ns-us-cloud.example.com 60 198.51.100.53",
        ];
        let expected = [
            format!("+ TXT x-a-{EU} 0 {}", text()),
            format!("+ A {EU} 60 192.0.2.53"),
            format!("< NS {ZONE}. 60 NS1.isp.example. {US}."),
            format!("> NS {ZONE}. 60 NS1.isp.example. {US}. {EU}"),
        ];
        assert_eq!(lowered(&Change::Replace { before, after }, &sets).unwrap(), expected);
    }

    #[test]
    fn a_cluster_that_leaves_takes_its_addresses_and_the_last_one_takes_all() {
        let (ours, theirs) = (format!("{EU} 192.0.2.53"), format!("{US} 198.51.100.53"));
        let notes = [note(&format!("x-a-{EU}"), "fleet"), note(&format!("x-ns-{ZONE}"), "fleet")];
        let (a, ns) = (format!("A {EU} 30 192.0.2.53"), format!("NS {ZONE} 30 {EU} {US}"));
        let sets = [&a, &ns, &notes[0], &notes[1]].map(String::as_str);
        let before = delegation(Some(30), &[&ours, &theirs]);
        let leave = Change::Replace { before, after: delegation(Some(30), &[&theirs]) };
        let gone = [format!("- {a}"), format!("- {}", notes[0])];
        assert_eq!(
            lowered(&leave, &sets).unwrap(),
            [vec![format!("< {ns}"), format!("> NS {ZONE} 30 {US}")], gone.to_vec()].concat()
        );
        let alone = format!("NS {ZONE} 30 {EU}");
        let sets = [&a, &alone, &notes[0], &notes[1]].map(String::as_str);
        let last = Change::Delete { before: delegation(Some(30), &[&ours]) };
        assert_eq!(
            lowered(&last, &sets).unwrap(),
            [vec![format!("- {alone}"), format!("- {}", notes[1])], gone.to_vec()].concat()
        );
    }

    #[test]
    fn what_is_somebody_elses_is_not_written_and_not_taken_away() {
        let entry = format!("{EU} 192.0.2.53");
        let theirs = note(&format!("x-a-{EU}"), "other");
        let a = format!("A {EU} 30 192.0.2.99");
        let told = lowered(&create(&entry), &[&theirs, &a]).unwrap_err();
        assert_eq!(
            told,
            format!(
                "delegation {ZONE} is not changed: A {EU} would be needed, and the TXT record x-a-{EU} names the owner other; have that owner give it up, or list it in WEBHOOK_PROVIDER_ADOPT_OWNERS"
            )
        );
        let orphan = note(&format!("x-ns-{ZONE}"), "other");
        assert!(lowered(&create(&entry), &[&orphan]).unwrap_err().contains("names the owner other"));
        let alias = format!("CNAME {EU} 30 lb.example.net");
        assert!(lowered(&create(&entry), &[&alias]).unwrap_err().contains("is an alias"));
        // Its address stays behind, and nothing of it is ours.
        let ns = format!("NS {ZONE} 30 {EU} {US}");
        let before = delegation(Some(30), &[&entry, US]);
        let leave = Change::Replace { before, after: delegation(Some(30), &[US]) };
        let expected = [format!("< {ns}"), format!("> NS {ZONE} 30 {US}")];
        assert_eq!(lowered(&leave, &[&ns, &theirs, &format!("A {EU} 30 192.0.2.53")]).unwrap(), expected);
    }

    #[test]
    fn a_name_outside_the_domains_of_the_webhook_is_told_with_them() {
        let given = Given::new();
        let filter = serde_json::from_str(r#"{"include":["cloud.example.com"]}"#).unwrap();
        let outside = Listing::new(filter, vec![]);
        let told = lower(&create(&format!("{EU} 192.0.2.53")), &outside, &given.claims()).unwrap_err();
        assert_eq!(
            told.to_string(),
            format!(
                "the webhook does not take x-a-{EU}, which delegation {ZONE} needs: the domains that it is in charge of are {{\"include\":[\"cloud.example.com\"]}}; add it there"
            )
        );
    }

    /// C067.
    #[test]
    fn a_note_whose_name_would_be_too_long_is_told_and_nothing_is_written_without_it() {
        // One letter less, and `x-a-` before it would fit.
        let tag = "e".repeat(46);
        let long = format!("gslb-ns-{tag}-cloud.example.com");
        assert_eq!(
            lowered(&create(&format!("{long} 192.0.2.53")), &[]).unwrap_err(),
            format!(
                "delegation {ZONE} is not changed: the name of a TXT record about A {long} is too long for DNS; shorten WEBHOOK_PROVIDER_TXT_PREFIX"
            )
        );
    }

    #[test]
    fn sets_are_sent_with_the_labels_of_external_dns() {
        let given = Given::new();
        let changes = lower(&create(&format!("{EU} 192.0.2.53")), &listing(&[]), &given.claims()).unwrap();
        for made in &changes.create {
            assert_eq!(made.labels["owner"], "fleet");
            assert_eq!(made.labels["resource"], "zonedelegation/cloud-example-com");
        }
    }

    proptest! {
        #[test]
        fn whatever_others_have_listed_stays_as_it_is_spelled(
            others in proptest::collection::btree_set("[a-z]{1,8}", 0..6),
            dots in proptest::collection::vec(any::<bool>(), 6),
            leaves in any::<bool>(),
        ) {
            let others: Vec<String> = others.into_iter().zip(dots).map(|(label, dot)| {
                format!("{}.isp.example{}", label.to_uppercase(), if dot { "." } else { "" })
            }).collect();
            prop_assume!(!others.is_empty());
            let listed = if leaves { [vec![EU.to_owned()], others.clone()].concat() } else { others.clone() };
            let ns = format!("NS {ZONE} 30 {}", listed.join(" "));
            let note = note(&format!("x-ns-{ZONE}"), "fleet");
            let found = listing(&[&ns, &note]);
            let before = found.delegation(&name(ZONE)).unwrap().unwrap();
            let mut after = before.clone();
            if leaves {
                after.servers.remove(&name(EU));
            } else {
                after.servers.insert(name(EU), BTreeSet::from(["192.0.2.53".parse().unwrap()]));
            }
            let given = Given::new();
            let changes = lower(&Change::Replace { before, after }, &found, &given.claims()).unwrap();
            let joined = if leaves { others } else { [others, vec![EU.to_owned()]].concat() };
            prop_assert_eq!(&changes.update_old[0].targets, &endpoint(&ns).targets);
            prop_assert_eq!(&changes.update_new[0].targets, &joined);
            prop_assert!(changes.delete.is_empty());
        }
    }
}
