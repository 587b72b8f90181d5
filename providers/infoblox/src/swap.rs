//! Writes to a delegation that others write too: one `request` batch that reads the zone, writes it and reads it again,
//! as one transaction. So each writer knows exactly what it overwrote.
//!
//! Where the grid defines our revision attribute, each write leaves a new revision, and the first read asks for the one
//! that was seen: if another writer of ours was faster, it finds nothing, and the grid takes the whole batch back. Without
//! it, or when somebody wrote who knows no revisions, what that writer had put there is put back at once (design §2.5,
//! reference.md §2.9).

use std::collections::BTreeSet;

use gslb_core::change::Change;
use gslb_core::name::DomainName;
use gslb_provider_contract::{Disposition, ProviderError, Receipt};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Failure, Kind};
use crate::client::{BATCH, Request};
use crate::entries::{rebase, same};
use crate::lower::{Edit, restored};
use crate::provider::{Infoblox, query};
use crate::wire::{Definition, ExtServer, RETURN_FIELDS, SCHEDULED_TASK, ZONE_DELEGATED, ZoneDelegated};

/// Name of the extensible attribute, of type STRING, that counts our writes. An operator defines it; we never do.
pub(crate) const REVISION: &str = "GslbBridgeRevision";
/// How often what others lost is put back before that is left to their own next read. No outside reference.
const MOST_TURNS: usize = 5;
/// Stands for the zone that the first operation found.
const FOUND: &str = "##STATE:ZREF:##";

/// What a batch answered: the zone before it, the reference that the write gave, and for an edit the zone after it.
struct Swapped {
    before: ZoneDelegated,
    written: String,
    after: Option<ZoneDelegated>,
}

impl Infoblox {
    /// Changes the zone that was found, and keeps what others write meanwhile.
    pub(crate) async fn swap(
        &self,
        change: &Change,
        found: ZoneDelegated,
        edit: Edit,
    ) -> Result<Receipt, ProviderError> {
        let stamps = self.has_revisions().await?;
        let swapped = match self.send_batch(&found, &edit, stamps).await {
            Ok(swapped) => swapped,
            Err(failure) => return self.not_swapped(change, &found, failure).await,
        };
        if swapped.written.starts_with(SCHEDULED_TASK) {
            return Ok(self.awaits(change, &swapped.written));
        }
        let reference = swapped.written.clone();
        let after = match &edit {
            Edit::Delete => self.restore(change, &found, swapped).await,
            Edit::Update { .. } => self.put_back(change, found, edit, swapped, stamps).await,
        };
        let read_back = match after {
            Some(after) => self.presence(after.as_ref(), change.zone()).ok(),
            None => None,
        };
        Ok(Receipt { reference, disposition: Disposition::Applied, read_back })
    }

    /// Whether an operator defined our attribute; asked before a write only, and seldom.
    pub(crate) async fn has_revisions(&self) -> Result<bool, ProviderError> {
        let now = (self.client.settings().clock)();
        if let Some(known) = self.revisions.known(now) {
            return Ok(known);
        }
        let known = self.defines(REVISION).await?;
        self.revisions.learn(known, now);
        Ok(known)
    }

    /// Whether an operator defined the attribute of exactly this name.
    pub(crate) async fn defines(&self, name: &str) -> Result<bool, ProviderError> {
        let target = query("extensibleattributedef", &[("name", name), ("_return_fields", "name")]);
        match self.client.read(target).await {
            Ok(found) => {
                let found: Vec<Definition> = self.parse(found).map_err(|failure| failure.error)?;
                Ok(found.iter().any(|definition| definition.name == name))
            }
            // Who may not see definitions goes without.
            Err(Failure { error: ProviderError::Refused { .. }, .. }) => Ok(false),
            Err(failure) => Err(failure.error),
        }
    }

    /// `stamps`: the write leaves a new revision.
    async fn send_batch(&self, found: &ZoneDelegated, edit: &Edit, stamps: bool) -> Result<Swapped, Failure> {
        let next = stamps.then(|| self.new_revision()).transpose().map_err(Failure::here)?;
        let reply = self.client.send(&batch(found, edit, next)).await?;
        // A batch that ends like this was carried out, so nobody may take it for not made.
        let odd = || Failure { kind: Kind::Slow, ..self.unexpected("answered a batch with something else") };
        swapped(reply).ok_or_else(odd)
    }

    /// Why a batch failed, seen from what stands there now.
    async fn not_swapped(
        &self,
        change: &Change,
        found: &ZoneDelegated,
        failure: Failure,
    ) -> Result<Receipt, ProviderError> {
        let zone = change.zone();
        match failure.kind {
            Kind::Passing | Kind::Slow => return self.settle(change, failure).await,
            Kind::Untaken | Kind::Elsewhere | Kind::Untrusted | Kind::Version | Kind::Here => {
                return Err(failure.error);
            }
            Kind::ReferenceGone | Kind::Duplicate | Kind::Final => {}
        }
        if !matches!(failure.error, ProviderError::Refused { .. }) {
            return Err(failure.error);
        }
        let now = self.stands(zone, None).await.map_err(|failure| failure.error)?;
        let presence = self.presence(now.as_ref(), zone)?;
        match (&now, change) {
            (None, Change::Delete { .. }) => Ok(crate::provider::done(String::new(), presence)),
            (Some(now), _) if now.revision() == found.revision() && change.matches(&presence) => {
                Err(failure.error)
            }
            (None | Some(_), _) => Err(ProviderError::Stale { zone: zone.clone() }),
        }
    }

    /// Writes again while a write of ours overwrote something of others. Gives the zone as it is then; nothing if that
    /// is not known.
    async fn put_back(
        &self,
        change: &Change,
        found: ZoneDelegated,
        edit: Edit,
        first: Swapped,
        stamps: bool,
    ) -> Option<Option<ZoneDelegated>> {
        let zone = change.zone();
        let Edit::Update { delegate_to: Some(written), .. } = edit else {
            return Some(first.after);
        };
        let ours: BTreeSet<String> =
            change.added().iter().chain(&change.removed()).map(|(name, _)| name.to_string()).collect();
        let mut wanted = rebase(&written, &entries(&found), &entries(&first.before), &ours);
        let mut there = first.after?;
        for _ in 0..MOST_TURNS {
            if same(&wanted, &entries(&there)) {
                return Some(Some(there));
            }
            tracing::warn!(%zone, "Others wrote this delegation meanwhile; what they lost is put back.");
            let edit = Edit::Update { delegate_to: Some(wanted.clone()), ttl: None };
            let (before, after) = match self.send_batch(&there, &edit, stamps).await {
                Ok(swapped) => (swapped.before, swapped.after?),
                // Somebody was faster again, so nothing was written.
                Err(failure) if matches!(failure.error, ProviderError::Refused { .. }) => {
                    match self.look_up(zone).await.ok()? {
                        Some(now) => (now.clone(), now),
                        None => return Some(None),
                    }
                }
                Err(failure) => {
                    self.lost(zone, &wanted, &failure);
                    return None;
                }
            };
            wanted = rebase(&wanted, &entries(&there), &entries(&before), &ours);
            there = after;
        }
        tracing::warn!(%zone, "Others keep writing this delegation; it is read again soon.");
        None
    }

    /// Makes a zone again that somebody had joined before we deleted it.
    async fn restore(
        &self,
        change: &Change,
        found: &ZoneDelegated,
        swapped: Swapped,
    ) -> Option<Option<ZoneDelegated>> {
        let zone = change.zone();
        let wanted = rebase(&[], &entries(found), &entries(&swapped.before), &BTreeSet::new());
        if wanted.is_empty() {
            return Some(None);
        }
        tracing::warn!(%zone, "Others joined this delegation before it was deleted; it is made again for them.");
        let body = Some(restored(&swapped.before, wanted.clone()));
        let request = Request { method: Method::POST, target: ZONE_DELEGATED.to_owned(), body };
        match self.client.send(&request).await {
            Ok(_) => self.look_up(zone).await.ok(),
            Err(failure) => {
                self.lost(zone, &wanted, &failure);
                None
            }
        }
    }

    fn lost(&self, zone: &DomainName, wanted: &[ExtServer], failure: &Failure) {
        let entries: Vec<_> = wanted.iter().map(|entry| entry.name.as_str()).collect();
        let (error, entries) = (&failure.error, entries.join(", "));
        tracing::error!(%zone, %error, entries, "What others wrote could not be put back; look whether these are there.");
    }
}

fn batch(found: &ZoneDelegated, edit: &Edit, next: Option<String>) -> Request {
    let mut search = json!({"fqdn": found.fqdn, "view": found.view});
    if let Some(revision) = found.revision() {
        search[format!("*{REVISION}")] = revision.into();
    }
    let read = json!({"method": "GET", "object": ZONE_DELEGATED, "data": search,
        "args": {"_return_fields": RETURN_FIELDS}, "assign_state": {"ZREF": "_ref"}});
    let again = json!({"method": "GET", "object": FOUND, "enable_substitution": true,
        "args": {"_return_fields": RETURN_FIELDS}});
    let operations = match edit {
        Edit::Delete => {
            vec![read, json!({"method": "DELETE", "object": FOUND, "enable_substitution": true})]
        }
        Edit::Update { .. } => {
            let mut data = edit.body();
            if let Some(next) = next {
                data["extattrs+"] = json!({REVISION: {"value": next}});
            }
            let write = json!({"method": "PUT", "object": FOUND, "enable_substitution": true, "data": data});
            vec![read, write, again]
        }
    };
    Request { method: Method::POST, target: BATCH.to_owned(), body: Some(operations.into()) }
}

fn swapped(reply: Value) -> Option<Swapped> {
    let results: Vec<Value> = serde_json::from_value(reply).ok()?;
    let [before, written, rest @ ..] = results.as_slice() else { return None };
    let mut before: Vec<ZoneDelegated> = Vec::deserialize(before).ok()?;
    let written = crate::wire::written_reference(written)?.to_owned();
    let after = rest.first().and_then(|after| ZoneDelegated::deserialize(after).ok());
    before.pop().map(|before| Swapped { before, written, after })
}

fn entries(zone: &ZoneDelegated) -> Vec<ExtServer> {
    zone.delegate_to.clone().unwrap_or_default()
}
