//! One change of a record becomes one call. Pure.

use std::net::IpAddr;

use gslb_core::records::{HostRecord, RecordChange};
use serde_json::{Map, Value, json};

use super::convert::Found;
use super::wire::RecordKind;
use crate::claims::{CHALLENGE, CLAIM, COMMENT, LONGEST_COMMENT, Mark, comment};

/// Stands for the record that the search found.
const FOUND: &str = "##STATE:RECORD:##";
/// Stands for the record that answers in place of one that goes.
const BESIDE: &str = "##STATE:BESIDE:##";

/// A claim that does not fit where the grid has room for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the claim of {host} does not fit into a comment of {LONGEST_COMMENT} characters; define the extensible attributes {CLAIM} and {CHALLENGE} of type STRING on the grid"
)]
pub(super) struct TooLong {
    host: String,
}

pub(super) fn kind_of(address: IpAddr) -> RecordKind {
    match address {
        IpAddr::V4(_) => RecordKind::A,
        IpAddr::V6(_) => RecordKind::Aaaa,
    }
}

/// Body of a POST.
pub(super) fn create(after: &HostRecord, view: &str, mark: Mark) -> Result<Value, TooLong> {
    let kind = kind_of(after.address);
    let mut body = json!({"name": after.host, "view": view, kind.address_field(): after.address});
    if let Some(ttl) = after.ttl {
        body["ttl"] = ttl.as_secs().into();
        body["use_ttl"] = true.into();
    }
    if let Some(claim) = &after.claim {
        match mark {
            Mark::Attributes => {
                body["comment"] = COMMENT.into();
                body["extattrs"] = json!({CLAIM: {"value": claim}});
            }
            Mark::Comment => body["comment"] = fitting(after, comment(claim, None))?.into(),
        }
    }
    Ok(body)
}

/// The operations of a batch that changes exactly what was found, or nothing: the search asks for the claim and the
/// challenge that were seen, and without a hit the grid takes the whole batch back.
pub(super) fn edit(
    change: &RecordChange,
    found: &Found,
    beside: Option<IpAddr>,
    view: &str,
) -> Result<Vec<Value>, TooLong> {
    let mut operations = Vec::new();
    if let Some(address) = beside {
        let kind = kind_of(address);
        operations.push(json!({"method": "GET", "object": kind.name(),
            "data": {"name": change.host(), "view": view, kind.address_field(): address},
            "args": {"_return_fields": "name"}, "assign_state": {"BESIDE": "_ref"}, "discard": true}));
        // Unset, it fails the batch.
        operations
            .push(json!({"method": "GET", "object": BESIDE, "enable_substitution": true, "discard": true}));
    }
    operations
        .push(json!({"method": "GET", "object": found.kind.name(), "data": search(change, found, view),
        "args": {"_return_fields": found.kind.fields()}, "assign_state": {"RECORD": "_ref"}}));
    operations.push(match change.edit.after() {
        Some(after) => json!({"method": "PUT", "object": FOUND, "enable_substitution": true,
            "data": update(change.record(), after, found)?}),
        None => json!({"method": "DELETE", "object": FOUND, "enable_substitution": true}),
    });
    Ok(operations)
}

/// What the record must still be.
fn search(change: &RecordChange, found: &Found, view: &str) -> Value {
    let before = change.record();
    let mut data = Map::new();
    data.insert("name".to_owned(), before.host.to_string().into());
    data.insert("view".to_owned(), view.into());
    data.insert(found.kind.address_field().to_owned(), before.address.to_string().into());
    match found.mark() {
        Some((Mark::Attributes, claim, challenge)) => {
            data.insert(format!("*{CLAIM}"), claim.to_string().into());
            if let Some(challenge) = challenge {
                data.insert(format!("*{CHALLENGE}"), challenge.to_string().into());
            }
        }
        Some((Mark::Comment, ..)) => {
            data.insert("comment".to_owned(), found.object.comment.clone().into());
        }
        None => {}
    }
    data.into()
}

/// What changes and nothing else, because everything left out stays as it is.
fn update(before: &HostRecord, after: &HostRecord, found: &Found) -> Result<Value, TooLong> {
    let mut data = Map::new();
    if before.ttl != after.ttl
        && let Some(ttl) = after.ttl
    {
        data.insert("ttl".to_owned(), ttl.as_secs().into());
        data.insert("use_ttl".to_owned(), true.into());
    }
    if before.challenge != after.challenge
        && let (Some((mark, ..)), Some(claim)) = (found.mark(), &after.claim)
    {
        match (mark, &after.challenge) {
            (Mark::Comment, challenge) => {
                let comment = fitting(after, comment(claim, challenge.as_ref()))?;
                data.insert("comment".to_owned(), comment.into());
            }
            (Mark::Attributes, Some(challenge)) => {
                let value = json!({CHALLENGE: {"value": challenge.to_string()}});
                data.insert("extattrs+".to_owned(), value);
            }
            (Mark::Attributes, None) => {
                data.insert("extattrs-".to_owned(), json!({CHALLENGE: {}}));
            }
        }
    }
    Ok(data.into())
}

fn fitting(record: &HostRecord, comment: String) -> Result<String, TooLong> {
    match comment.chars().count() <= LONGEST_COMMENT {
        true => Ok(comment),
        false => Err(TooLong { host: record.host.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gslb_core::name::DomainName;
    use gslb_core::records::Challenge;
    use gslb_core::ttl::Ttl;

    use super::*;

    fn record() -> HostRecord {
        HostRecord {
            host: DomainName::parse("app.cloud.example.com").unwrap(),
            address: "192.0.2.80".parse().unwrap(),
            ttl: Some(Ttl::DEFAULT),
            claim: Some("cloud.example.com/eu".parse().unwrap()),
            challenge: None,
            disabled: false,
        }
    }

    fn asked() -> HostRecord {
        let challenge: Challenge = "us 2026-01-02T03:04:05Z".parse().unwrap();
        HostRecord { challenge: Some(challenge), ..record() }
    }

    fn found(more: Value) -> Found {
        let mut object = json!({"_ref": "record:a/x", "name": "app.cloud.example.com", "view": "default",
            "ipv4addr": "192.0.2.80"});
        object.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        Found { kind: RecordKind::A, object: serde_json::from_value(object).unwrap() }
    }

    fn by_attributes() -> Found {
        found(json!({"extattrs": {CLAIM: {"value": "cloud.example.com/eu"}, "Site": {"value": "Berlin"}}}))
    }

    fn asked_by_attributes() -> Found {
        found(json!({"extattrs": {CLAIM: {"value": "cloud.example.com/eu"},
            CHALLENGE: {"value": "us 2026-01-02T03:04:05Z"}}}))
    }

    #[test]
    fn a_new_record_has_a_ttl_of_its_own_and_its_claim_where_the_grid_has_room_for_it() {
        let common = json!({"name": "app.cloud.example.com", "view": "default", "ipv4addr": "192.0.2.80",
            "ttl": 30, "use_ttl": true});
        let with = |more: Value| {
            let mut body = common.clone();
            body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            Ok(body)
        };
        assert_eq!(
            create(&record(), "default", Mark::Attributes),
            with(json!({"comment": "created by gslb-bridge",
                "extattrs": {CLAIM: {"value": "cloud.example.com/eu"}}}))
        );
        assert_eq!(
            create(&record(), "default", Mark::Comment),
            with(json!({"comment": "gslb-bridge: cloud.example.com/eu"}))
        );
    }

    #[test]
    fn an_edit_sends_what_changes_and_no_whole_map() {
        let update = |before: HostRecord, after, found: &Found| {
            let change = RecordChange::replace(before, after);
            edit(&change, found, None, "default").unwrap().pop().unwrap()["data"].clone()
        };
        let short = HostRecord { ttl: Ttl::from_secs(5).ok(), ..record() };
        let comment = found(json!({"comment": "gslb-bridge: cloud.example.com/eu"}));
        assert_eq!(update(record(), short, &by_attributes()), json!({"ttl": 5, "use_ttl": true}));
        assert_eq!(
            update(record(), asked(), &by_attributes()),
            json!({"extattrs+": {CHALLENGE: {"value": "us 2026-01-02T03:04:05Z"}}})
        );
        assert_eq!(update(asked(), record(), &asked_by_attributes()), json!({"extattrs-": {CHALLENGE: {}}}));
        assert_eq!(
            update(record(), asked(), &comment),
            json!({"comment": "gslb-bridge: cloud.example.com/eu, challenged by us 2026-01-02T03:04:05Z"})
        );
    }

    #[test]
    fn a_record_goes_only_as_it_was_seen_and_beside_one_that_stands() {
        let instead = BTreeSet::from(["198.51.100.80".parse().unwrap()]);
        let change = RecordChange::delete(asked(), instead.clone());
        let operations = edit(&change, &asked_by_attributes(), instead.first().copied(), "default").unwrap();
        let asks: Vec<_> = operations.iter().map(|operation| operation["data"].clone()).collect();
        assert_eq!(
            asks,
            [
                json!({"name": "app.cloud.example.com", "view": "default", "ipv4addr": "198.51.100.80"}),
                Value::Null,
                json!({"name": "app.cloud.example.com", "view": "default", "ipv4addr": "192.0.2.80",
                    "*GslbBridgeClaim": "cloud.example.com/eu",
                    "*GslbBridgeChallenge": "us 2026-01-02T03:04:05Z"}),
                Value::Null,
            ]
        );
        let objects: Vec<_> = operations.iter().map(|operation| operation["object"].clone()).collect();
        assert_eq!(objects, ["record:a", BESIDE, "record:a", FOUND]);
    }

    #[test]
    fn a_claim_that_is_longer_than_a_comment_is_refused_with_what_helps() {
        let zone = format!("{}.example.com", vec!["z".repeat(58); 4].join("."));
        let claim = Some(format!("{zone}/eu").parse().unwrap());
        let refused = create(&HostRecord { claim, ..record() }, "default", Mark::Comment).unwrap_err();
        assert!(
            refused.to_string().contains("define the extensible attributes GslbBridgeClaim"),
            "{refused}"
        );
    }
}
