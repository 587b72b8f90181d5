//! From the grid's records to ours.

use std::net::IpAddr;

use gslb_core::name::DomainName;
use gslb_core::records::{Challenge, HostObstacle, HostRecord, RecordClaim};

use super::wire::{RecordKind, RecordObject};
use crate::claims::{Mark, mark_of, ttl_of};
use crate::secrets::Secrets;

/// One object that a search found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) kind: RecordKind,
    pub(super) object: RecordObject,
}

impl Found {
    /// Its name; nothing if that cannot be a host's.
    pub(super) fn host(&self) -> Option<DomainName> {
        DomainName::parse(&self.object.name).ok()
    }

    /// What excludes addresses at its name, if it is no address.
    pub(super) fn obstacle(&self, secrets: &Secrets) -> Option<HostObstacle> {
        match self.kind {
            RecordKind::A | RecordKind::Aaaa => None,
            RecordKind::Cname => {
                let target = secrets.quote(self.object.canonical.as_deref().unwrap_or_default());
                Some(HostObstacle::Cname { target })
            }
            RecordKind::Host => Some(HostObstacle::HostRecord),
        }
    }

    /// The address record.
    pub(super) fn record(&self, host: DomainName) -> Result<HostRecord, String> {
        let address = self.address().ok_or_else(|| {
            format!("holds a {} of {host} without a readable address; correct it by hand", self.kind.name())
        })?;
        let (claim, challenge) =
            self.mark().map_or((None, None), |(_, claim, challenge)| (Some(claim), challenge));
        let disabled = self.object.disable == Some(true);
        Ok(HostRecord {
            host,
            address,
            ttl: ttl_of(self.object.ttl, self.object.use_ttl),
            claim,
            challenge,
            disabled,
        })
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        let text = match self.kind {
            RecordKind::A => self.object.ipv4addr.as_deref(),
            RecordKind::Aaaa => self.object.ipv6addr.as_deref(),
            RecordKind::Cname | RecordKind::Host => None,
        };
        text?.parse().ok()
    }

    /// Claim and challenge, and where they stand.
    pub(super) fn mark(&self) -> Option<(Mark, RecordClaim, Option<Challenge>)> {
        mark_of(self.object.extattrs.as_ref(), self.object.comment.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use gslb_core::ttl::Ttl;

    use super::*;
    use crate::claims::{CHALLENGE, CLAIM};

    fn found(more: Value) -> Found {
        let mut object = json!({"_ref": "record:a/x", "name": "app.cloud.example.com", "view": "default",
            "ipv4addr": "192.0.2.80"});
        object.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        Found { kind: RecordKind::A, object: serde_json::from_value(object).unwrap() }
    }

    #[test]
    fn a_claim_stands_in_our_attribute_or_is_all_that_the_comment_says() {
        let value = |text: &str| json!({"value": text});
        let mark = |more| {
            found(more).mark().map(|(mark, claim, challenge)| {
                (mark, claim.to_string(), challenge.map(|challenge| challenge.to_string()))
            })
        };
        let eu = "cloud.example.com/eu".to_owned();
        let asked = Some("us 2026-01-02T03:04:05Z".to_owned());
        let (by_attribute, by_comment) =
            (Some((Mark::Attributes, eu.clone(), None)), Some((Mark::Comment, eu.clone(), None)));
        let cases = [
            (json!({"extattrs": {CLAIM: value(&eu)}}), by_attribute.clone()),
            (
                json!({"extattrs": {CLAIM: value(&eu), "Site": value("x")}, "comment": "ticket 7"}),
                by_attribute,
            ),
            (
                json!({"extattrs": {CLAIM: value(&eu), CHALLENGE: value("us 2026-01-02T03:04:05Z")}}),
                Some((Mark::Attributes, eu.clone(), asked.clone())),
            ),
            (json!({"comment": "gslb-bridge: cloud.example.com/eu"}), by_comment),
            (
                json!({"comment": "gslb-bridge: cloud.example.com/eu, challenged by us 2026-01-02T03:04:05Z"}),
                Some((Mark::Comment, eu.clone(), asked)),
            ),
            // Somebody wrote into it: it is theirs now.
            (json!({"comment": "gslb-bridge: cloud.example.com/eu (ticket 7)"}), None),
            (json!({"comment": "see gslb-bridge: cloud.example.com/eu"}), None),
            (
                json!({"extattrs": {CLAIM: value("everybody's")}, "comment": "gslb-bridge: cloud.example.com/eu"}),
                None,
            ),
            (json!({}), None),
        ];
        for (more, expected) in cases {
            assert_eq!(mark(more.clone()), expected, "{more}");
        }
    }

    #[test]
    fn a_ttl_counts_with_its_flag_only() {
        let host = || DomainName::parse("app.cloud.example.com").unwrap();
        let ttl = |more| found(more).record(host()).unwrap().ttl;
        assert_eq!(ttl(json!({"ttl": 28800, "use_ttl": false})), None);
        assert_eq!(ttl(json!({"ttl": 30, "use_ttl": true})), Some(Ttl::DEFAULT));
    }
}
