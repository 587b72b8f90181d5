use std::collections::BTreeSet;

use gslb_core::claim::Claimant;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use gslb_provider_contract::Severity;

use super::super::facts::{
    Access, Account, Attribute, Grant, Group, Holder, Read, Schema, Shut, View, ZoneKind,
};
use super::*;
use crate::service::Restarts;

fn zone() -> Claimant {
    let name = |text| DomainName::parse(text).unwrap();
    let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
    Claimant::new(zone, NsPrefix::default(), GeoTag::parse("eu").unwrap()).unwrap()
}

fn parent() -> Holder {
    Holder {
        kind: ZoneKind::Auth,
        reference: "zone_auth/x".to_owned(),
        fqdn: "example.com".to_owned(),
        view: "default".to_owned(),
        disabled: false,
        locked: false,
        locked_by: None,
        has_primary: true,
    }
}

/// A grid as it should be.
fn facts() -> Facts {
    let grant = Grant {
        permission: Access::Write,
        resource_type: "ZONE".to_owned(),
        object: Some("view/x".to_owned()),
    };
    let group = Group { name: "gslb".to_owned(), superuser: false, grants: Ok(vec![grant]) };
    let attribute = Attribute {
        name: crate::swap::REVISION.to_owned(),
        kind: "STRING".to_owned(),
        flags: None,
        allowed_object_types: vec![],
    };
    let known = [
        "zone_auth",
        "zone_delegated",
        "extensibleattributedef",
        "grid:servicerestart:request",
        "scheduledtask",
    ];
    Facts {
        host: "gm.example.com".to_owned(),
        verified: true,
        passed_over: vec![],
        version: "2.12".to_owned(),
        view: "default".to_owned(),
        restarts: false,
        inside: Ok(Inside {
            schema: Schema {
                supported_versions: vec!["2.12".to_owned()],
                supported_objects: known.map(str::to_owned).to_vec(),
            },
            account: Ok(Some(Account { groups: vec![group] })),
            views: Ok(vec![View {
                reference: "view/x".to_owned(),
                name: "default".to_owned(),
                disable: false,
            }]),
            attributes: Ok(vec![attribute]),
            restarts: Ok(Restarts::NotNeeded),
            records: vec![],
            zones: vec![ZoneFacts {
                adopts: None,
                claimant: zone(),
                around: Ok(vec![parent()]),
                delegation: Ok(None),
                beneath: Some(Ok(gslb_core::beneath::Beneath::default())),
                signed: Some(Ok(false)),
                signers: Ok(BTreeSet::new()),
            }],
        }),
    }
}

fn no() -> ProviderError {
    ProviderError::Refused { text: "the grid says: no".to_owned() }
}

fn inside(facts: &mut Facts) -> &mut Inside {
    facts.inside.as_mut().unwrap()
}

/// Makes facts of another grid.
type Change = fn(&mut Facts);

/// What is not as it should be, after a change of the facts.
fn told(change: Change) -> Vec<(Severity, &'static str, String)> {
    let mut facts = facts();
    change(&mut facts);
    let findings = judge(&facts).into_iter().filter(|finding| finding.severity != Severity::Ok);
    findings.map(|finding| (finding.severity, finding.check, finding.found)).collect()
}

#[test]
fn facts_as_they_should_be_are_all_fine_and_each_finding_says_what_it_is_about() {
    let findings = judge(&facts());
    let checks: Vec<_> = findings.iter().map(|finding| (finding.check, finding.zone.is_some())).collect();
    assert_eq!(
        checks,
        [
            ("reach", false),
            ("tls", false),
            ("login", false),
            ("version", false),
            ("account", false),
            ("permissions", false),
            ("view", false),
            ("revision-attribute", false),
            ("mandatory-attributes", false),
            ("restart", false),
            ("parent-zone", true),
            ("other-views", true),
            ("dnssec", true),
            ("delegation", true),
            ("hidden-records", true),
            ("write-permission", true),
        ]
    );
    assert_eq!(told(|_| ()), []);
}

#[test]
fn what_could_not_be_read_is_unknown_and_takes_nothing_else_with_it() {
    let cases: [(Change, &str, &str); 9] = [
        (|facts| inside(facts).views = Err(no()), "view", "the DNS views"),
        (
            |facts| inside(facts).attributes = Err(no()),
            "revision-attribute",
            "the definitions of extensible attributes",
        ),
        (
            |facts| inside(facts).restarts = Err(no()),
            "restart",
            "what waits for a restart of the DNS service",
        ),
        (
            |facts| inside(facts).account.as_mut().unwrap().as_mut().unwrap().groups[0].grants = Err(no()),
            "permissions",
            "the permissions of the account's group",
        ),
        (
            |facts| inside(facts).zones[0].around = Err(no()),
            "parent-zone",
            "the zones around it, in this and other views,",
        ),
        (|facts| inside(facts).zones[0].delegation = Err(no()), "delegation", "the delegation"),
        (
            |facts| inside(facts).zones[0].beneath = Some(Err(no())),
            "hidden-records",
            "what a delegation would hide",
        ),
        (|facts| inside(facts).zones[0].signers = Err(no()), "dnssec", "whether there is a DS record for it"),
        (|facts| inside(facts).zones[0].signed = Some(Err(no())), "dnssec", "whether example.com is signed"),
    ];
    for (change, check, what) in cases {
        let found = format!("{what} could not be read: the grid says: no");
        let others = |told: &(Severity, &str, String)| told.2 != UNCLEAR;
        let told: Vec<_> = told(change).into_iter().filter(others).collect();
        assert_eq!(told, [(Severity::Unknown, check, found)]);
    }
}

const UNCLEAR: &str = "the account has permissions for single views or zones, and which ones these are cannot be told, as not all views and zones could be read";

#[test]
fn a_permission_for_an_object_that_could_not_be_read_is_neither_missing_nor_too_much() {
    let unclear = |check| (Severity::Unknown, check, UNCLEAR.to_owned());
    let views = told(|facts| inside(facts).views = Err(no()));
    assert_eq!((&views[0], &views[2]), (&unclear("permissions"), &unclear("write-permission")));
    let zones = told(|facts| {
        let inside = inside(facts);
        inside.zones[0].around = Err(no());
        let groups = &mut inside.account.as_mut().unwrap().as_mut().unwrap().groups;
        let deny = Grant {
            permission: Access::Deny,
            resource_type: "ZONE".to_owned(),
            object: Some("zone_auth/x".to_owned()),
        };
        groups[0].grants.as_mut().unwrap().push(deny);
    });
    assert_eq!(zones[1], unclear("write-permission"));
}

#[test]
fn a_version_without_delegations_is_an_error_and_one_that_lacks_what_is_useful_a_warning() {
    fn drop_type(facts: &mut Facts, name: &str) {
        inside(facts).schema.supported_objects.retain(|known| known != name);
    }
    let without_zones = told(|facts| drop_type(facts, "zone_delegated"));
    let found = "WAPI 2.12 of this grid has no zone_delegated".to_owned();
    assert_eq!(without_zones, [(Severity::Error, "version", found)]);
    let without_tasks = told(|facts| drop_type(facts, "scheduledtask"));
    let found = "WAPI 2.12 of this grid goes without scheduledtask: a change that waits for approval cannot be followed".to_owned();
    assert_eq!(without_tasks, [(Severity::Warning, "version", found)]);
}

#[test]
fn addresses_that_are_listed_before_the_master_and_are_not_it_are_told() {
    let passed_over = told(|facts| facts.passed_over = vec!["gm1.example.com".to_owned()]);
    let found =
        "gm.example.com answers, and gm1.example.com, listed before it, not as the Grid Master".to_owned();
    assert_eq!(passed_over, [(Severity::Warning, "reach", found)]);
}

#[test]
fn a_ds_record_is_an_error_unless_the_parent_is_surely_not_signed() {
    fn with(facts: &mut Facts, signed: Option<Read<bool>>) {
        let zone = &mut inside(facts).zones[0];
        (zone.signers, zone.signed) = (Ok(BTreeSet::from([7])), signed);
    }
    let severities = [
        told(|facts| with(facts, Some(Ok(true)))),
        told(|facts| with(facts, Some(Err(no())))),
        told(|facts| with(facts, None)),
        told(|facts| with(facts, Some(Ok(false)))),
    ]
    .map(|told| (told[0].0, told[0].1));
    use Severity::{Error, Warning};
    assert_eq!(severities, [(Error, "dnssec"), (Error, "dnssec"), (Error, "dnssec"), (Warning, "dnssec")]);
}

#[test]
fn the_closest_zone_of_the_view_holds_a_delegation_whatever_other_views_have() {
    let changed = told(|facts| {
        let around = inside(facts).zones[0].around.as_mut().unwrap();
        let other = Holder { view: "internal".to_owned(), ..around[0].clone() };
        let top = Holder { fqdn: "com".to_owned(), kind: ZoneKind::Forward, ..around[0].clone() };
        around.extend([other, top]);
    });
    let found = "example.com is also in DNS view internal, without this delegation: clients of that view find no host of cloud.example.com".to_owned();
    assert_eq!(changed, [(Severity::Warning, "other-views", found)]);
}

#[test]
fn a_count_of_log_ins_that_cannot_be_read_is_unknown_and_nothing_was_sent() {
    let told = told(|facts| {
        let error = ProviderError::Unavailable {
            text: "the count cannot be read".to_owned(),
            retry_after: None,
            source: None,
        };
        let failure = crate::answer::Failure { kind: crate::answer::Kind::Here, error };
        facts.inside = Err(Shut { failure, versions: vec![] });
    });
    let checks: Vec<_> = told.iter().map(|(severity, check, _)| (*severity, *check)).collect();
    assert_eq!(checks, [(Severity::Unknown, "login"), (Severity::Unknown, "rest")]);
}
