//! The addresses of the application in this cluster, and what is to be said about them.

use std::collections::BTreeMap;

use crate::lookup::Known;
use crate::name::DomainName;
use crate::reference::AddressProblem;
use crate::target::{LeftOut, Shown, Targets};

/// The addresses of the application in this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exposed {
    /// Usable addresses.
    pub targets: Targets,
    /// What is missing or left out, as a reason and a sentence.
    pub notice: Option<(&'static str, String)>,
    /// Whether the notice is of something to be corrected, also while there are addresses.
    pub faulty: bool,
}

/// What an object or an annotation shows, its host names looked up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Looked {
    /// The addresses shown and those of the names.
    pub targets: Targets,
    left_out: Shown,
    names: BTreeMap<DomainName, Known>,
}

impl Looked {
    /// Adds what is known of the host names.
    pub fn new(mut shown: Shown, known: impl Fn(&DomainName) -> Known) -> Self {
        let mut names = BTreeMap::new();
        for text in std::mem::take(&mut shown.host_names) {
            match DomainName::parse(&text) {
                Ok(name) => drop(names.insert(name.clone(), known(&name))),
                Err(_) => drop(shown.left_out.insert(LeftOut::Unreadable(text))),
            }
        }
        let mut targets = std::mem::take(&mut shown.targets);
        targets.extend(names.values().flat_map(|known| &known.addresses));
        Self { targets, left_out: shown, names }
    }

    /// Whether every name was heard. If not, its addresses are not known, and the last ones are not gone.
    pub fn is_complete(&self) -> bool {
        self.names.values().all(|known| known.heard)
    }

    /// What is wrong with the names, and what becomes of their addresses. `kept`: whether there are any that go on.
    pub fn trouble(&self, what: &str, kept: bool) -> Option<String> {
        let sentences: Vec<String> = self
            .names
            .iter()
            .filter_map(|(name, known)| {
                let trouble = known.trouble.as_ref()?;
                let lasts = kept && (!known.addresses.is_empty() || !known.heard);
                let then = if lasts { "; its last addresses are kept" } else { "" };
                Some(format!("host name {name} of {what} is not resolved ({trouble}){then}"))
            })
            .collect();
        (!sentences.is_empty()).then(|| sentences.join("; "))
    }

    /// The addresses that are left out as part of a sentence.
    pub fn ignored(&self) -> Option<String> {
        self.left_out.ignored()
    }
}

impl Exposed {
    /// Addresses that are configured, whatever objects show.
    pub fn configured(targets: Targets) -> Self {
        Self { targets, ..Self::default() }
    }

    /// The last addresses go on, because what should say others is wrong.
    pub fn instead(targets: Targets, reason: &'static str, problem: &str) -> Self {
        let after = if targets.is_empty() {
            "so this cluster cannot be answered"
        } else {
            "the last addresses go on meanwhile"
        };
        Self { targets, notice: Some((reason, format!("{problem}; {after}"))), faulty: true }
    }

    /// Some addresses are left out, because they must not be answered.
    pub fn in_part(targets: Targets, reason: &'static str, problem: &str) -> Self {
        let after = if targets.is_empty() { ", so this cluster cannot be answered" } else { "" };
        Self { targets, notice: Some((reason, format!("{problem}{after}"))), faulty: true }
    }

    /// The referenced object leads to no address. `targets` are those in force nevertheless.
    pub fn without(problem: &AddressProblem, targets: Targets) -> Self {
        Self::instead(targets, problem.reason(), &problem.to_string())
    }

    /// Addresses of an object, for sentences `Ingress web/shop`. `targets` are those in force: the shown ones, or
    /// while it shows none those that it had last.
    pub fn of(what: &str, looked: &Looked, targets: Targets) -> Self {
        let held = looked.is_complete() && looked.targets.is_empty() && !targets.is_empty();
        let trouble = looked.trouble(what, !targets.is_empty());
        let notice = if held {
            let why = trouble.unwrap_or_else(|| {
                format!("{what} shows no load balancer address that can be answered any more")
            });
            Some(("AddressesHeld", format!("{why}; its last ones are kept for a minute")))
        } else if let Some(trouble) = trouble {
            let after = if targets.is_empty() { ", so this cluster cannot be answered" } else { "" };
            let message = format!("{trouble}{after}; check the name and EDGE_DNS_SERVERS");
            Some(("NameNotResolved", message))
        } else if !looked.is_complete() {
            Some(("WaitingForName", format!("the host names of {what} are being looked up")))
        } else if targets.is_empty() {
            Some(none_usable(what, looked))
        } else {
            looked.ignored().map(|ignored| {
                let message = format!(
                    "{what} has addresses that can be answered, and {ignored}; nothing is to be done while its clients have IPv4"
                );
                ("SomeAddressesIgnored", message)
            })
        };
        Self { targets, notice, faulty: false }
    }
}

fn none_usable(what: &str, looked: &Looked) -> (&'static str, String) {
    if let Some(ignored) = looked.ignored() {
        let message = format!(
            "{what} has no load balancer address that clients can be sent to: {ignored}; give it an IPv4 address or set CLUSTER_EXPOSED_IPS"
        );
        return ("AddressIgnored", message);
    }
    let message = format!(
        "{what} has no load balancer address yet, so this cluster cannot be answered; check its ingress controller"
    );
    ("NoAddresses", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given::{name, targets};
    use crate::lookup::Trouble;
    use crate::reply::NoWord;

    fn unnamed(_: &DomainName) -> Known {
        Known::default()
    }

    fn notice(addresses: &[&str], in_force: &[&str]) -> Option<(&'static str, String)> {
        let shown = Shown::read(addresses.iter().copied());
        Exposed::of("Ingress web/app", &Looked::new(shown, unnamed), targets(in_force)).notice
    }

    /// What is said of an Ingress with only the host name `lb.example.net`.
    fn notice_of_name(known: &Known, in_force: &[&str]) -> Option<(&'static str, String)> {
        let shown = Shown { host_names: ["LB.example.net".into()].into(), ..Shown::default() };
        let looked = Looked::new(shown, |asked| {
            assert_eq!(*asked, name("lb.example.net"));
            known.clone()
        });
        Exposed::of("Ingress web/app", &looked, targets(in_force)).notice
    }

    /// Conformance 33; F-27.
    #[test]
    fn an_ipv6_address_beside_others_is_named() {
        let (reason, message) = notice(&["192.0.2.1", "2001:db8::1"], &["192.0.2.1"]).unwrap();
        assert_eq!(reason, "SomeAddressesIgnored");
        assert!(message.contains("2001:db8::1 (IPv6) is ignored"), "{message}");
    }

    /// Conformance 33; F-27.
    #[test]
    fn an_ipv6_address_alone_is_named_with_what_to_do() {
        let (reason, message) = notice(&["2001:db8::1"], &[]).unwrap();
        assert_eq!(reason, "AddressIgnored");
        assert!(message.contains("2001:db8::1") && message.contains("CLUSTER_EXPOSED_IPS"), "{message}");
    }

    #[test]
    fn addresses_of_which_none_is_left_out_need_no_word() {
        assert_eq!(notice(&["192.0.2.1", "::ffff:192.0.2.2"], &["192.0.2.1", "192.0.2.2"]), None);
    }

    #[test]
    fn held_addresses_are_told_before_those_that_are_left_out() {
        let (reason, _) = notice(&["2001:db8::1"], &["192.0.2.1"]).unwrap();
        assert_eq!(reason, "AddressesHeld");
    }

    /// F-89: one rule, the address and the name of every entry count.
    #[test]
    fn the_addresses_of_a_host_name_are_added_to_those_that_are_shown() {
        let shown = Shown { host_names: ["lb.example.net".into()].into(), ..Shown::read(["192.0.2.1"]) };
        let known = Known { addresses: targets(&["192.0.2.2"]), heard: true, trouble: None };
        let looked = Looked::new(shown, |_| known.clone());
        assert_eq!(looked.targets, targets(&["192.0.2.1", "192.0.2.2"]));
        assert!(looked.is_complete());
    }

    /// Case C019.
    #[test]
    fn a_host_name_that_does_not_resolve_is_told_by_name_and_cause() {
        let trouble = Some(Trouble::Silent(NoWord::ServFail));
        let kept = Known { addresses: targets(&["192.0.2.2"]), heard: true, trouble: trouble.clone() };
        let (reason, message) = notice_of_name(&kept, &["192.0.2.2"]).unwrap();
        assert_eq!(reason, "NameNotResolved");
        assert!(message.starts_with(
            "host name lb.example.net of Ingress web/app is not resolved (the server failed (SERVFAIL)); its last addresses are kept"
        ), "{message}");
        let never = Known { trouble, ..Known::default() };
        let (_, message) = notice_of_name(&never, &[]).unwrap();
        assert_eq!(
            message,
            "host name lb.example.net of Ingress web/app is not resolved (the server failed (SERVFAIL)), so this cluster cannot be answered; check the name and EDGE_DNS_SERVERS"
        );
    }

    #[test]
    fn a_host_name_without_a_first_word_is_waited_for() {
        assert_eq!(notice_of_name(&Known::default(), &[]).unwrap().0, "WaitingForName");
        assert_eq!(notice_of_name(&Known::default(), &["192.0.2.1"]).unwrap().0, "WaitingForName");
    }

    #[test]
    fn a_host_name_that_is_gone_holds_its_last_addresses_for_a_minute() {
        let gone = Known { heard: true, trouble: Some(Trouble::Absent), ..Known::default() };
        let (reason, message) = notice_of_name(&gone, &["192.0.2.1"]).unwrap();
        assert_eq!(reason, "AddressesHeld");
        assert!(message.contains("lb.example.net") && message.contains("for a minute"), "{message}");
        assert_eq!(notice_of_name(&gone, &[]).unwrap().0, "NameNotResolved");
    }

    #[test]
    fn a_host_name_that_is_none_is_left_out() {
        let shown = Shown { host_names: ["a b".into()].into(), ..Shown::default() };
        let (reason, message) =
            Exposed::of("Ingress web/app", &Looked::new(shown, unnamed), [].into()).notice.unwrap();
        assert_eq!(reason, "AddressIgnored");
        assert!(message.contains("\"a b\""), "{message}");
    }
}
