//! Reads for one zone. Each stands for itself: one that fails takes no other with it.

use std::collections::BTreeSet;

use gslb_core::beneath::Beneath;
use gslb_core::claim::Claimant;
use gslb_core::delegation::{ObservedDelegation, Presence};
use gslb_core::name::DomainName;
use gslb_provider_contract::{Delegated, Observe, ProviderError, RecordsZone, Scope};
use serde::Deserialize;
use serde_json::Value;

use super::facts::{Holder, Read, RecordsFacts, ZoneFacts, ZoneKind};
use super::read::told;
use crate::absence::above;
use crate::provider::Infoblox;

/// A zone of any kind, as read. A grid leaves out what is empty.
#[derive(Debug, Deserialize)]
struct AnyZone {
    #[serde(rename = "_ref")]
    reference: String,
    fqdn: String,
    view: String,
    #[serde(default)]
    disable: bool,
    #[serde(default)]
    locked: bool,
    #[serde(default)]
    locked_by: Option<String>,
    #[serde(default)]
    grid_primary: Option<Vec<Value>>,
    #[serde(default)]
    ns_group: Option<String>,
}

/// Whether a zone is signed, as read.
#[derive(Debug, Deserialize)]
struct Signing {
    #[serde(default)]
    is_dnssec_signed: bool,
}

/// A DS record, as read.
#[derive(Debug, Deserialize)]
struct Signer {
    #[serde(default)]
    key_tag: u64,
}

impl Infoblox {
    pub(super) async fn zone_facts(&self, Delegated { claimant, adopts }: &Delegated) -> ZoneFacts {
        let zone = claimant.zone().name();
        let around = self.around(zone).await;
        let delegation = self.standing(zone).await;
        let signers = self.signers(zone).await;
        let beneath = match &delegation {
            Ok(None) => Some(self.hidden(claimant).await),
            Ok(Some(_)) | Err(_) => None,
        };
        let signed = match &around {
            Ok(around) => self.signed(around, zone).await,
            Err(_) => None,
        };
        let (claimant, adopts) = (claimant.clone(), *adopts);
        ZoneFacts { claimant, adopts, around, delegation, beneath, signed, signers }
    }

    pub(super) async fn records_facts(&self, RecordsZone { zone, hosts }: &RecordsZone) -> RecordsFacts {
        let around = self.around(zone.name()).await;
        let records = self.records(&Scope::from(zone)).await;
        RecordsFacts { zone: zone.name().clone(), hosts: hosts.clone(), around, records }
    }

    async fn standing(&self, zone: &DomainName) -> Read<Option<ObservedDelegation>> {
        let found = self.look_up(zone).await.map_err(told)?;
        Ok(match self.presence(found.as_ref(), zone)? {
            Presence::Absent => None,
            Presence::Present(found) => Some(found),
        })
    }

    async fn hidden(&self, claimant: &Claimant) -> Read<Beneath> {
        self.beneath(&Scope::from(claimant.zone())).await
    }

    /// One search for each kind of zone, in all views.
    async fn around(&self, zone: &DomainName) -> Read<Vec<Holder>> {
        let names: Vec<_> = std::iter::once(zone.clone()).chain(above(zone)).collect();
        let names = names.iter().map(|name| name.as_str().replace('.', r"\.")).collect::<Vec<_>>().join("|");
        let pattern = format!("^({names})$");
        let mut around = Vec::new();
        for kind in ZoneKind::ALL {
            let fields = match kind {
                ZoneKind::Auth => "fqdn,view,disable,locked,locked_by,grid_primary,ns_group",
                ZoneKind::Delegated | ZoneKind::Forward | ZoneKind::Stub => {
                    "fqdn,view,disable,locked,locked_by"
                }
            };
            let filters = [("fqdn~", pattern.as_str()), ("_return_fields", fields)];
            let found: Vec<AnyZone> = self.all(kind.type_name(), &filters).await?;
            around.extend(found.into_iter().map(|zone| holder(kind, zone)));
        }
        Ok(around)
    }

    /// Asked for by itself: a version that does not know the field would refuse the whole search.
    async fn signed(&self, around: &[Holder], zone: &DomainName) -> Option<Read<bool>> {
        let holder = ZoneFacts::holder(around, zone.as_str(), self.view())?;
        if holder.kind != ZoneKind::Auth {
            return None;
        }
        let filters =
            [("fqdn", holder.fqdn.as_str()), ("view", self.view()), ("_return_fields", "is_dnssec_signed")];
        let found = self.all::<Signing>(ZoneKind::Auth.type_name(), &filters).await;
        Some(found.map(|found| found.iter().any(|zone| zone.is_dnssec_signed)))
    }

    async fn signers(&self, zone: &DomainName) -> Read<BTreeSet<u64>> {
        let filters = [("name", zone.as_str()), ("view", self.view()), ("_return_fields", "key_tag")];
        let found: Result<Vec<Signer>, ProviderError> = self.all("record:ds", &filters).await;
        Ok(found?.into_iter().map(|signer| signer.key_tag).collect())
    }
}

fn holder(kind: ZoneKind, zone: AnyZone) -> Holder {
    let group = zone.ns_group.is_some_and(|name| !name.is_empty());
    Holder {
        kind,
        reference: zone.reference,
        fqdn: zone.fqdn.to_ascii_lowercase(),
        view: zone.view,
        disabled: zone.disable,
        locked: zone.locked,
        locked_by: zone.locked_by.filter(|by| !by.is_empty()),
        has_primary: group || zone.grid_primary.is_some_and(|members| !members.is_empty()),
    }
}
