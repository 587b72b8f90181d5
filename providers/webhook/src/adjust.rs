//! What a webhook makes of the sets that it is about to be sent: a TTL or a property of its own is taken over, and a set
//! that it drops or says differently is not sent at all.

use std::collections::BTreeSet;

use gslb_core::name::DomainName;
use gslb_core::sets::RecordSet;
use gslb_core::text::quoted;

use crate::protocol::{Changes, Endpoint, RecordType};

/// The webhook would not keep what is wanted. Its text is the sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unkept {
    #[error(
        "delegation {zone} is not changed: the webhook drops {set} when it is asked what it would keep (POST /adjustendpoints); use a webhook that keeps records of that type, or let it"
    )]
    Dropped { zone: DomainName, set: String },
    #[error(
        "delegation {zone} is not changed: the webhook makes {made} of {set} when it is asked what it would keep (POST /adjustendpoints)"
    )]
    Altered { zone: DomainName, set: String, made: String },
}

/// The sets that are to be asked about. A TXT record is what external-dns keeps for itself, and is not among them there
/// either.
pub(crate) fn asked(changes: &Changes) -> Vec<Endpoint> {
    changes.create.iter().chain(&changes.update_new).filter(|set| !is_note(set)).cloned().collect()
}

/// The request with what the webhook made of its sets. What it made besides is none of ours.
///
/// # Errors
/// It drops one of them, or makes it say something else.
pub(crate) fn adjusted(
    zone: &DomainName,
    mut changes: Changes,
    made: &[Endpoint],
) -> Result<Changes, Unkept> {
    for set in changes.create.iter_mut().chain(&mut changes.update_new).filter(|set| !is_note(set)) {
        let Some(kept) = made.iter().find(|kept| key(kept) == key(set)) else {
            return Err(Unkept::Dropped { zone: zone.clone(), set: quoted(&set.title()) });
        };
        if said(kept) != said(set) {
            let set = quoted(&format!("{} {}", set.title(), set.targets.join(" ")));
            return Err(Unkept::Altered { zone: zone.clone(), set, made: quoted(&kept.targets.join(" ")) });
        }
        set.record_ttl = kept.record_ttl;
        set.provider_specific = kept.provider_specific.clone();
    }
    Ok(changes)
}

fn is_note(set: &Endpoint) -> bool {
    set.known_type() == Some(RecordType::Txt)
}

fn key(set: &Endpoint) -> (Option<DomainName>, String) {
    (set.name().ok(), set.record_type.to_uppercase())
}

/// What a set says, without its spelling.
fn said(set: &Endpoint) -> Option<BTreeSet<String>> {
    let read = RecordSet::parse(&set.dns_name, &set.record_type.to_uppercase(), 0, &set.targets).ok()?;
    Some(read.targets().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::tests::{endpoint, name};
    use crate::protocol::Property;

    fn adjust(wanted: &[&str], made: &[&str]) -> Result<Vec<i64>, String> {
        let changes = Changes {
            create: wanted.iter().map(|text| endpoint(text)).collect(),
            update_new: vec![endpoint("A a.example.com 30 192.0.2.1")],
            ..Changes::default()
        };
        let made: Vec<_> = made.iter().map(|text| endpoint(text)).collect();
        let changes =
            adjusted(&name("cloud.example.com"), changes, &made).map_err(|error| error.to_string())?;
        Ok(changes.create.iter().chain(&changes.update_new).map(|set| set.record_ttl).collect())
    }

    const NS: &str = "NS cloud.example.com 30 a.example.com b.example.com";
    const A: &str = "A a.example.com 30 192.0.2.1";

    #[test]
    fn a_ttl_of_the_webhooks_own_is_taken_over_and_spelling_and_order_are_no_difference() {
        assert_eq!(adjust(&[NS], &[NS, A]), Ok(vec![30, 30]));
        let spelled =
            ["A A.Example.com. 60 192.0.2.1", "ns cloud.example.com 0 B.example.com. a.example.com."];
        assert_eq!(adjust(&[NS], &spelled), Ok(vec![0, 60]));
        let more = [NS, A, "PTR 1.2.0.192.in-addr.arpa 30 a.example.com"];
        assert_eq!(adjust(&[NS], &more), Ok(vec![30, 30]));
        // Notes are not asked about.
        assert_eq!(adjust(&["TXT x-a-a.example.com 0 x"], &[A]), Ok(vec![0, 30]));
    }

    #[test]
    fn a_set_that_is_dropped_or_says_something_else_is_told() {
        assert_eq!(
            adjust(&[NS], &[A]).unwrap_err(),
            "delegation cloud.example.com is not changed: the webhook drops NS cloud.example.com when it is asked what it would keep (POST /adjustendpoints); use a webhook that keeps records of that type, or let it"
        );
        assert_eq!(
            adjust(&[NS], &[A, "NS cloud.example.com 30 a.example.com"]).unwrap_err(),
            "delegation cloud.example.com is not changed: the webhook makes a.example.com of NS cloud.example.com a.example.com b.example.com when it is asked what it would keep (POST /adjustendpoints)"
        );
    }

    #[test]
    fn properties_of_the_webhook_are_taken_over() {
        let changes = Changes { create: vec![endpoint(A)], ..Changes::default() };
        let property = Property { name: "webhook/policy".into(), value: "x".into() };
        let made = Endpoint { provider_specific: vec![property.clone()], ..endpoint(A) };
        let changes = adjusted(&name("cloud.example.com"), changes, &[made]).unwrap();
        assert_eq!(changes.create[0].provider_specific, [property]);
        assert_eq!(asked(&changes), changes.create);
    }
}
