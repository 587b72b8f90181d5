//! The addresses of the application in this cluster, and what is to be said about them.

use crate::target::{Shown, Targets};

/// The addresses of the application in this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exposed {
    /// Usable addresses.
    pub targets: Targets,
    /// What is missing or left out, as a reason and a sentence.
    pub notice: Option<(&'static str, String)>,
}

impl Exposed {
    /// Addresses that are configured, whatever objects show.
    pub fn configured(targets: Targets) -> Self {
        Self { targets, notice: None }
    }

    /// Addresses of an object, for sentences `Ingress web/shop`. `targets` are those in force: the shown ones, or
    /// while it shows none those that it had last.
    pub fn of(what: &str, shown: &Shown, targets: Targets) -> Self {
        let held = shown.targets.is_empty() && !targets.is_empty();
        let notice = if held {
            let message = format!(
                "{what} shows no load balancer address that can be answered any more; its last ones are kept for a minute"
            );
            Some(("AddressesHeld", message))
        } else if targets.is_empty() {
            Some(none_usable(what, shown))
        } else {
            shown.ignored().map(|ignored| {
                let message = format!(
                    "{what} has addresses that can be answered, and {ignored}; nothing is to be done while its clients have IPv4"
                );
                ("SomeAddressesIgnored", message)
            })
        };
        Self { targets, notice }
    }
}

fn none_usable(what: &str, shown: &Shown) -> (&'static str, String) {
    if let Some(name) = shown.host_names.first() {
        let message = format!(
            "{what} has only the load balancer host name {name}, which is not resolved; set CLUSTER_EXPOSED_IPS to its addresses"
        );
        return ("AddressIsHostName", message);
    }
    if let Some(ignored) = shown.ignored() {
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

    fn notice(addresses: &[&str], in_force: &[&str]) -> Option<(&'static str, String)> {
        let shown = Shown::read(addresses.iter().copied());
        Exposed::of("Ingress web/app", &shown, crate::given::targets(in_force)).notice
    }

    #[test]
    fn an_ipv6_address_beside_others_is_named() {
        let (reason, message) = notice(&["192.0.2.1", "2001:db8::1"], &["192.0.2.1"]).unwrap();
        assert_eq!(reason, "SomeAddressesIgnored");
        assert!(message.contains("2001:db8::1 (IPv6) is ignored"), "{message}");
    }

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

    #[test]
    fn a_host_name_alone_is_named() {
        let shown = Shown { host_names: ["lb.example.net".into()].into(), ..Shown::default() };
        let (reason, message) = Exposed::of("Ingress web/app", &shown, [].into()).notice.unwrap();
        assert_eq!(reason, "AddressIsHostName");
        assert!(message.contains("lb.example.net"), "{message}");
    }
}
