//! The application DNSEndpoint: what we want it to be, and what the watch shows of it.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::endpoint::Endpoint;
use gslb_core::group::Group;
use gslb_core::name::DomainName;
use gslb_core::publication::{Publication, Standing};
use gslb_core::published::{EmptyAnswer, UnansweredHost};
use gslb_core::strategy::{Accepted, RawStrategy};
use gslb_core::ttl::Ttl;
use gslb_crds::{DnsEndpoint, DnsEndpointSpec, Gslb, gslb, marks};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::DeserializeGuard;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::group::Served;
use crate::controller::write::Live;

/// Marks that make the object visible to the cluster's DNS server, as labels and as annotations.
const DNS_TYPE_KEYS: [&str; 2] = [marks::DNS_TYPE, marks::DNS_TYPE_LEGACY];
/// Annotations that are ours.
const ANNOTATIONS: [&str; 4] =
    [marks::DNS_TYPE, marks::DNS_TYPE_LEGACY, marks::UNANSWERED_HOSTS, marks::ACCEPTED_STRATEGY];

/// What counts of a DNSEndpoint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EndpointFacts {
    pub(crate) live: Live,
    /// UID of the object.
    pub(crate) uid: Option<String>,
    /// The controlling owner.
    pub(crate) owner: Option<Owner>,
    /// Whether it bears marks that nobody but us sets.
    pub(crate) marked: bool,
    /// The strategy that is in force, as it was written.
    pub(crate) raw_in_force: Option<gslb::Strategy>,
    /// Host records by name: one or a few, of thousands of objects, for which a map would be mostly room.
    pub(crate) standing: Box<[(DomainName, Standing)]>,
    /// Hosts without a record that every cluster denies.
    pub(crate) down: BTreeSet<DomainName>,
    /// Other hosts without a record.
    unsure: BTreeSet<DomainName>,
}

/// Who controls a DNSEndpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: String,
    /// Its group, if it is a Gslb.
    pub(crate) group: Option<Group>,
}

impl Owner {
    pub(crate) fn read(metadata: &ObjectMeta) -> Option<Self> {
        let owner = controlling(metadata)?;
        let gslb = is_of_a_gslb(metadata).then(|| owner.api_version.split('/').next().and_then(Group::parse));
        Some(Self { uid: owner.uid.clone(), group: gslb.flatten() })
    }
}

/// Whether a Gslb may write the DNSEndpoint of its name: its own, and one of ours that belongs to nobody, because
/// somebody took the owner off or left it behind. Without our marks what belongs to nobody is somebody else's (F-24).
fn may_write(gslb: &str, owner: Option<&str>, marked: bool) -> bool {
    owner.map_or(marked, |owner| owner == gslb)
}

impl EndpointFacts {
    /// Whether the Gslb with this UID may write it.
    pub(crate) fn is_for(&self, gslb: &str) -> bool {
        may_write(gslb, self.owner.as_ref().map(|owner| owner.uid.as_str()), self.marked)
    }

    /// Whether the Gslb with this UID controls it.
    pub(crate) fn belongs_to(&self, gslb: &str) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.uid == gslb)
    }

    /// Whether a Gslb made it, whichever.
    pub(crate) fn is_of_a_gslb(&self) -> bool {
        self.owner.as_ref().map_or(self.marked, |owner| owner.group.is_some())
    }

    /// One that does not parse is known to exist, and nothing of it is used.
    pub(crate) fn read(guarded: DeserializeGuard<DnsEndpoint>) -> Self {
        match guarded.0 {
            Ok(object) if is_of_a_gslb(&object.metadata) || is_left_behind(&object.metadata) => {
                Self::from(object)
            }
            Ok(object) => Self::of_metadata(object.metadata),
            Err(invalid) => Self::of_metadata(invalid.metadata),
        }
    }

    /// One of which only counts that it is there, and whose it is.
    pub(crate) fn of_metadata(metadata: ObjectMeta) -> Self {
        let (owner, marked) = (Owner::read(&metadata), is_marked(&metadata));
        let live = Live::new(metadata.resource_version, &Value::Null);
        Self {
            live,
            uid: metadata.uid,
            owner,
            marked,
            raw_in_force: None,
            standing: Box::default(),
            down: BTreeSet::new(),
            unsure: BTreeSet::new(),
        }
    }

    /// Every host that it names.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &DomainName> {
        self.standing.iter().map(|(host, _)| host).chain(&self.down).chain(&self.unsure)
    }
}

pub(super) fn controlling(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

fn is_of_a_gslb(metadata: &ObjectMeta) -> bool {
    controlling(metadata).is_some_and(|owner| owner.kind == Gslb::kind(&()))
}

fn is_marked(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| marks::OURS.iter().any(|key| annotations.contains_key(*key)))
}

fn is_left_behind(metadata: &ObjectMeta) -> bool {
    controlling(metadata).is_none() && is_marked(metadata)
}

impl From<DnsEndpoint> for EndpointFacts {
    fn from(object: DnsEndpoint) -> Self {
        let owner = Owner::read(&object.metadata);
        let standing = object.spec.endpoints.iter().filter_map(standing).collect();
        let (down, unsure) = unanswered(&object);
        Self {
            live: Live::new(object.resource_version(), &view(&object)),
            uid: object.uid(),
            owner,
            marked: is_marked(&object.metadata),
            raw_in_force: in_force(&object),
            standing,
            down,
            unsure,
        }
    }
}

/// The part of a DNSEndpoint that we write.
pub(crate) fn view(object: &DnsEndpoint) -> Value {
    let pick = |from: &BTreeMap<String, String>, keys: &[&str]| -> BTreeMap<String, String> {
        from.iter()
            .filter(|(key, _)| keys.contains(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    let owner = controlling(&object.metadata);
    json!({
        "spec": &object.spec,
        "labels": pick(object.labels(), &DNS_TYPE_KEYS),
        "annotations": pick(object.annotations(), &ANNOTATIONS),
        "owner": owner.map(|owner| json!({"kind": owner.kind, "name": owner.name, "uid": owner.uid})),
    })
}

/// The object as it is applied. The list is always there: an apply that takes the last field out of an object
/// leaves `null` behind, and an API server refuses that as a `spec`.
///
/// With the UID of the object that was seen, so that another one of the same name is not taken over.
pub(crate) fn body(object: &DnsEndpoint, seen: Option<&EndpointFacts>) -> Value {
    let mut body = json!(object);
    if let Some(uid) = seen.and_then(|facts| facts.uid.as_ref()) {
        body["metadata"]["uid"] = json!(uid);
    }
    body["spec"] = json!({"endpoints": &object.spec.endpoints});
    body
}

/// The object that a Gslb's publication makes (contract §3.1); `raw` is the strategy in force.
pub(crate) fn desired(
    gslb: Served<'_>,
    raw: Option<&gslb::Strategy>,
    publication: &Publication,
) -> DnsEndpoint {
    let dns_type = DNS_TYPE_KEYS.map(|key| (key.to_owned(), marks::DNS_TYPE_LOCAL.to_owned()));
    let mut annotations = BTreeMap::from(dns_type.clone());
    if !publication.unanswered.0.is_empty() {
        annotations.insert(marks::UNANSWERED_HOSTS.to_owned(), publication.unanswered.to_annotation());
    }
    if let Some(raw) = raw {
        annotations.insert(marks::ACCEPTED_STRATEGY.to_owned(), json!(raw).to_string());
    }
    let metadata = ObjectMeta {
        name: Some(gslb.name_any()),
        namespace: gslb.namespace(),
        labels: Some(BTreeMap::from(dns_type)),
        annotations: Some(annotations),
        owner_references: Some(vec![gslb.owner()]),
        ..ObjectMeta::default()
    };
    let endpoints = publication.endpoints.iter().map(endpoint).collect();
    DnsEndpoint { metadata, spec: DnsEndpointSpec { endpoints }, status: None }
}

fn endpoint(endpoint: &Endpoint) -> gslb_crds::Endpoint {
    gslb_crds::Endpoint {
        dns_name: endpoint.owner_name.to_string(),
        record_type: "A".to_owned(),
        record_ttl: Some(i64::from(endpoint.ttl.as_secs())).filter(|ttl| *ttl != 0),
        targets: endpoint.targets.iter().map(ToString::to_string).collect(),
        labels: endpoint.labels.clone(),
        ..gslb_crds::Endpoint::default()
    }
}

/// A host record as it stands; local records and whatever is not ours to read are left out.
fn standing(endpoint: &gslb_crds::Endpoint) -> Option<(DomainName, Standing)> {
    let owner_name = DomainName::parse(&endpoint.dns_name).ok()?;
    if gslb_core::zone::announced_host(&owner_name).is_some() || endpoint.targets.is_empty() {
        return None;
    }
    let targets = endpoint.targets.iter().map(|target| target.parse().ok()).collect::<Option<Vec<_>>>()?;
    let ttl = Ttl::from_secs(endpoint.record_ttl.unwrap_or_default()).ok()?;
    let endpoint = Endpoint { owner_name: owner_name.clone(), targets, ttl, labels: endpoint.labels.clone() };
    Some((owner_name, Standing { endpoint }))
}

/// The hosts without a record: those that every cluster denies, and others.
fn unanswered(object: &DnsEndpoint) -> (BTreeSet<DomainName>, BTreeSet<DomainName>) {
    let (hosts, _) = object.unanswered_hosts();
    let is_denied = |host: &UnansweredHost| host.answer == EmptyAnswer::NoData;
    let (down, unsure): (BTreeMap<_, _>, BTreeMap<_, _>) =
        hosts.0.into_iter().partition(|(_, host)| is_denied(host));
    (down.into_keys().collect(), unsure.into_keys().collect())
}

impl EndpointFacts {
    /// The strategy that is in force.
    pub(crate) fn in_force(&self) -> Option<Accepted> {
        raw_strategy(self.raw_in_force.as_ref()?).accept().ok()
    }
}

/// The strategy in force: our annotation, or what the record labels of a k8gb object still tell.
fn in_force(object: &DnsEndpoint) -> Option<gslb::Strategy> {
    if let Ok(Some(raw)) = object.accepted_strategy() {
        return Some(raw);
    }
    let labelled = object.spec.endpoints.iter().find(|endpoint| endpoint.labels.contains_key("strategy"))?;
    let weight = labelled.labels.keys().filter_map(|key| {
        let (rest, weight) = key.strip_prefix("weight-")?.rsplit_once('-')?;
        Some((rest.rsplit_once('-')?.0.to_owned(), weight.parse().ok()?))
    });
    Some(gslb::Strategy {
        kind: labelled.labels.get("strategy")?.clone(),
        weight: weight.collect(),
        dns_ttl_seconds: labelled.record_ttl,
        ..gslb::Strategy::default()
    })
}

/// `spec.strategy` as core reads it.
pub(crate) fn raw_strategy(strategy: &gslb::Strategy) -> RawStrategy {
    RawStrategy {
        kind: strategy.kind.clone(),
        weight: strategy.weight.clone(),
        primary_geo_tag: strategy.primary_geo_tag.clone(),
        dns_ttl_seconds: strategy.dns_ttl_seconds,
        split_brain_threshold_seconds: strategy.split_brain_threshold_seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-24.
    #[test]
    fn what_belongs_to_nobody_is_ours_by_its_marks_only() {
        for (owner, marked, ours) in [
            (Some("own"), true, true),
            (Some("own"), false, true),
            (Some("other"), true, false),
            (Some("other"), false, false),
            (None, true, true),
            (None, false, false),
        ] {
            assert_eq!(may_write("own", owner, marked), ours, "owner {owner:?}, marked {marked}");
        }
    }

    #[test]
    fn the_marks_are_those_that_k8gb_does_not_set() {
        let marked = |key: &str| {
            let annotations = BTreeMap::from([(key.to_owned(), "{}".to_owned())]);
            is_marked(&ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() })
        };
        assert_eq!(ANNOTATIONS.map(marked), [false, false, true, true]);
        assert!(!is_marked(&ObjectMeta::default()));
    }
}
