//! Which delegations to look at: those of the cluster's objects, and those that a start of `run` would make objects of.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::beneath::Adoption;
use gslb_core::claim::Claimant;
use gslb_core::name::DomainName;
use gslb_core::zone::Zone;
use gslb_crds::ZoneDelegation;
use gslb_provider_contract::{Delegated, Finding, Inspected, RecordsZone};
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kube::{Api, Client, ResourceExt};

use super::hosts;
use crate::config::Settings;
use crate::controller::zone_delegation::adopts;
use crate::kube_call::{in_time, said};

const CHECK: &str = "zones";

/// The zones by name, and what keeps others from being looked at.
pub(super) async fn of(settings: &Settings, client: &Client) -> (Inspected, Vec<Finding>) {
    let api: Api<DeserializeGuard<ZoneDelegation>> = Api::all(client.clone());
    let listed = in_time(api.list(&ListParams::default())).await.map(|list| list.items);
    let (mut zones, mut findings) = gather(settings, listed);
    if !zones.records.is_empty() {
        let (hosts, unknown) = hosts::of(client).await;
        findings.extend(unknown);
        for zone in &mut zones.records {
            zone.hosts = hosts.iter().filter(|host| host.is_within(zone.zone.name())).cloned().collect();
        }
    }
    (zones, findings)
}

fn gather(
    settings: &Settings,
    listed: kube::Result<Vec<DeserializeGuard<ZoneDelegation>>>,
) -> (Inspected, Vec<Finding>) {
    let set_up = |zone: &Zone| {
        let adopts = Adoption::of(None, settings.adopting_zones.contains(zone.name()));
        (zone.name().clone(), (zone.clone(), adopts))
    };
    let mut zones: BTreeMap<DomainName, (Zone, Option<Adoption>)> =
        settings.zones.iter().map(set_up).collect();
    let mut findings = Vec::new();
    match listed {
        // An object that exists wins over DNS_ZONES.
        Ok(objects) => objects.into_iter().for_each(|object| match zone_of(object, settings) {
            Ok((zone, adopts)) => drop(zones.insert(zone.name().clone(), (zone, adopts))),
            Err(finding) => findings.push(finding),
        }),
        Err(error) => findings.push(Finding::unknown(
            CHECK,
            format!("the ZoneDelegations of the cluster could not be listed ({}), so zones that are not in DNS_ZONES were not looked at", said(&error)),
            "use a kubeconfig or service account that may list zonedelegations.k8gb.io, and see that the kind is installed",
        )),
    }
    let mut delegations = Vec::new();
    let (undelegated, delegated): (Vec<_>, Vec<_>) =
        zones.into_values().partition(|(zone, _)| settings.records_zones.contains(zone.name()));
    for (zone, adopts) in delegated {
        match Claimant::new(zone.clone(), settings.ns_prefix.clone(), settings.geo_tag.clone()) {
            Ok(claimant) => delegations.push(Delegated { claimant, adopts }),
            Err(error) => findings.push(
                Finding::error(
                    CHECK,
                    format!("this cluster has no name server name in it: {error}"),
                    "shorten CLUSTER_GEO_TAG or GLUEA_PREFIX, or choose a zone with a shorter name",
                )
                .about(zone.name()),
            ),
        }
    }
    if findings.is_empty() {
        findings.push(counted(delegations.len() + undelegated.len()));
    }
    let records = undelegated.into_iter().map(|(zone, _)| RecordsZone { zone, hosts: BTreeSet::new() });
    (Inspected { delegations, records: records.collect() }, findings)
}

/// Its zone, and who asks that it be delegated whatever that hides.
fn zone_of(
    object: DeserializeGuard<ZoneDelegation>,
    settings: &Settings,
) -> Result<(Zone, Option<Adoption>), Finding> {
    let unusable = |name: &str, problem: &str| {
        let found = format!("ZoneDelegation {name} names no zone, so it was not looked at: {problem}");
        Finding::error(CHECK, found, "correct the object")
    };
    match object.0 {
        Ok(object) => match object.spec.zone() {
            Ok((zone, _)) => {
                let adopts = adopts(&object, zone.name(), settings);
                Ok((zone, adopts))
            }
            Err(problem) => Err(unusable(&object.name_any(), &problem)),
        },
        Err(invalid) => Err(unusable(invalid.metadata.name.as_deref().unwrap_or_default(), &invalid.error)),
    }
}

fn counted(zones: usize) -> Finding {
    match zones {
        0 => Finding::warning(
            CHECK,
            "there is no zone: DNS_ZONES is empty, and the cluster has no ZoneDelegation",
            "set DNS_ZONES, or create a ZoneDelegation",
        ),
        1 => Finding::ok(CHECK, "1 zone is looked at"),
        _ => Finding::ok(CHECK, format!("{zones} zones are looked at")),
    }
}

#[cfg(test)]
mod tests {
    use gslb_provider_contract::Severity;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::RawConfig;

    fn settings(zones: &'static str) -> Settings {
        let given = [("CLUSTER_GEO_TAG", "eu"), ("EDGE_DNS_SERVERS", "192.0.2.53"), ("DNS_ZONES", zones)];
        let raw = RawConfig::read(|name| {
            given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        Settings::resolve(&raw).unwrap()
    }

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    fn object(name: &str, spec: Value) -> DeserializeGuard<ZoneDelegation> {
        let object = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation",
            "metadata": {"name": name}, "spec": spec});
        serde_json::from_value(object).unwrap()
    }

    fn names(zones: &Inspected) -> Vec<String> {
        let zones = zones.delegations.iter().map(|delegated| delegated.claimant.zone());
        zones.map(|zone| format!("{} in {}", zone.name(), zone.parent())).collect()
    }

    #[test]
    fn zones_of_objects_and_of_the_settings_are_looked_at_and_objects_win() {
        let settings = settings("example.com:b.example.com:30;example.com:c.x.example.com:30");
        let objects = vec![
            object(
                "a",
                json!({"loadBalancedZone": "a.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30}),
            ),
            object(
                "c",
                json!({"loadBalancedZone": "c.x.example.com", "parentZone": "x.example.com", "dnsZoneNegTTL": 30}),
            ),
        ];
        let (zones, findings) = gather(&settings, Ok(objects));
        assert_eq!(
            names(&zones),
            [
                "a.example.com in example.com",
                "b.example.com in example.com",
                "c.x.example.com in x.example.com"
            ]
        );
        assert_eq!(findings, [Finding::ok(CHECK, "3 zones are looked at")]);
    }

    #[test]
    fn the_annotation_of_an_object_says_whether_records_may_be_hidden_and_the_setting_where_it_has_none() {
        let mut settings = settings("example.com:b.example.com:30");
        settings.adopting_zones = ["a", "b", "c"].map(|zone| name(&format!("{zone}.example.com"))).into();
        let annotated = |zone: &str, annotations: Value| {
            let zone_name = format!("{zone}.example.com");
            let spec =
                json!({"loadBalancedZone": zone_name, "parentZone": "example.com", "dnsZoneNegTTL": 30});
            let mut object = object(zone, spec);
            object.0.as_mut().unwrap().metadata.annotations = serde_json::from_value(annotations).unwrap();
            object
        };
        let (zones, _) = gather(
            &settings,
            Ok(vec![
                annotated("a", json!({})),
                annotated("c", json!({"gslb-bridge.io/adopt-hidden-records": "false"})),
                annotated("d", json!({"gslb-bridge.io/adopt-hidden-records": "true"})),
            ]),
        );
        assert_eq!(
            zones.delegations.iter().map(|delegated| delegated.adopts).collect::<Vec<_>>(),
            [Some(Adoption::Setting), Some(Adoption::Setting), None, Some(Adoption::Annotation)]
        );
    }

    #[test]
    fn a_zone_in_records_mode_is_looked_at_and_not_as_a_delegation() {
        let mut settings = settings("example.com:b.example.com:30;example.com:c.example.com:30");
        settings.records_zones.insert(name("c.example.com"));
        let (zones, findings) = gather(&settings, Ok(vec![]));
        assert_eq!(names(&zones), ["b.example.com in example.com"]);
        let kept: Vec<_> = zones.records.iter().map(|zone| zone.zone.name().as_str()).collect();
        assert_eq!(
            (kept, findings),
            (vec!["c.example.com"], vec![Finding::ok(CHECK, "2 zones are looked at")])
        );
    }

    #[test]
    fn an_object_that_names_no_zone_and_a_list_that_cannot_be_had_keep_no_other_zone_out() {
        let settings = settings("example.com:b.example.com:30");
        let (zones, findings) = gather(
            &settings,
            Ok(vec![object("bad", json!({"loadBalancedZone": "..", "parentZone": "example.com"}))]),
        );
        assert_eq!((names(&zones).len(), findings.len(), findings[0].severity), (1, 1, Severity::Error));
        assert!(findings[0].found.starts_with("ZoneDelegation bad names no zone"), "{findings:?}");
        let (zones, findings) = gather(&settings, Err(kube::Error::LinesCodecMaxLineLengthExceeded));
        assert_eq!((names(&zones).len(), findings.len(), findings[0].severity), (1, 1, Severity::Unknown));
    }

    #[test]
    fn a_zone_without_a_name_server_name_is_an_error_and_no_zone_at_all_a_warning() {
        let long = format!("{}.example.com", "z".repeat(60));
        let spec = json!({"loadBalancedZone": long, "parentZone": "example.com", "dnsZoneNegTTL": 30});
        let (zones, findings) = gather(&settings(""), Ok(vec![object("long", spec)]));
        assert_eq!((names(&zones).len(), findings.len(), findings[0].severity), (0, 1, Severity::Error));
        let (_, findings) = gather(&settings(""), Ok(vec![]));
        assert_eq!((findings.len(), findings[0].severity), (1, Severity::Warning));
    }
}
