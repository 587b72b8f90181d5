//! Writes to a delegation that others write too: one `request` batch that reads the zone, writes it and reads it again,
//! as one transaction. So each writer knows exactly what it overwrote.
//!
//! Where the grid defines our revision attribute, each write leaves a new revision, and the first read asks for the one
//! that was seen: if another writer of ours was faster, it finds nothing, and the grid takes the whole batch back. Without
//! it, or when somebody wrote who knows no revisions, what that writer had put there is put back at once (`amends.rs`;
//! design §2.5, reference.md §2.9).

use gslb_core::change::Change;
use gslb_provider_contract::{Disposition, ProviderError, Receipt};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Failure, Kind};
use crate::client::{BATCH, Request};
use crate::entries::same;
use crate::lower::Edit;
use crate::provider::{Infoblox, query};
use crate::wire::{Definition, ExtServer, RETURN_FIELDS, SCHEDULED_TASK, ZONE_DELEGATED, ZoneDelegated};

/// Name of the extensible attribute, of type STRING, that counts our writes. An operator defines it; we never do.
pub(crate) const REVISION: &str = "GslbBridgeRevision";
/// Stands for the zone that the first operation found.
const FOUND: &str = "##STATE:ZREF:##";

/// What a batch answered: the zone before it, the reference that the write gave, and for an edit the zone after it.
pub(crate) struct Swapped {
    pub(crate) before: ZoneDelegated,
    pub(crate) written: String,
    pub(crate) after: Option<ZoneDelegated>,
}

impl Infoblox {
    /// Changes the zone that was found, and keeps what others write meanwhile.
    pub(crate) async fn swap(
        &self,
        change: &Change,
        found: ZoneDelegated,
        edit: Edit,
    ) -> Result<Receipt, ProviderError> {
        let (sent, stamps) = self.send_with_revision(change, &found, &edit).await?;
        let swapped = match sent {
            Ok(swapped) => swapped,
            Err(failure) => return self.not_swapped(change, &found, failure).await,
        };
        if swapped.written.starts_with(SCHEDULED_TASK) {
            return Ok(self.awaits(change, &swapped.written));
        }
        self.check_kept(change, &swapped)?;
        let reference = swapped.written.clone();
        let (after, amends) = match &edit {
            Edit::Delete => self.restore(change, &found, &swapped).await,
            Edit::Update { .. } => self.put_back(change, &found, edit, swapped, stamps).await,
        };
        let read_back = after.and_then(|after| self.presence(after.as_ref(), change.zone()).ok());
        Ok(Receipt { reference, disposition: Disposition::Applied, read_back, amends })
    }

    /// Sends the batch with a new revision where the attribute is defined; and without, if the grid refuses it for no
    /// other reason. Gives whether it was sent with one.
    async fn send_with_revision(
        &self,
        change: &Change,
        found: &ZoneDelegated,
        edit: &Edit,
    ) -> Result<(Result<Swapped, Failure>, bool), ProviderError> {
        let stamps = self.has_revisions().await? && *edit != Edit::Delete;
        let sent = self.send_batch(found, edit, stamps).await;
        if !stamps || !matches!(&sent, Err(failure) if failure.is_refusal()) {
            return Ok((sent, stamps));
        }
        let now = self.look_up(change.zone()).await.map_err(|failure| failure.error)?;
        let presence = self.presence(now.as_ref(), change.zone())?;
        let same = now.is_some_and(|now| now.revision() == found.revision()) && change.matches(&presence);
        if !same {
            return Ok((sent, stamps));
        }
        let sent = self.send_batch(found, edit, false).await;
        self.revisions_refused(sent.is_ok());
        Ok((sent, false))
    }

    /// A grid that acknowledges a change and does not keep it: the batch's own last read shows that.
    fn check_kept(&self, change: &Change, swapped: &Swapped) -> Result<(), ProviderError> {
        let zone = change.zone();
        let Some(after) = &swapped.after else { return Ok(()) };
        let Ok(presence) = self.presence(Some(after), zone) else { return Ok(()) };
        if change.shows_in(&presence) {
            return Ok(());
        }
        let text = format!(
            "Infoblox at {} acknowledged the change of delegation {zone} and does not hold it; look for a rule of the grid that undoes it",
            self.client.grid().host()
        );
        match same(&entries(&swapped.before), &entries(after)) {
            true => Err(ProviderError::Unexpected { text }),
            false => Err(ProviderError::Uncertain { text, source: None }),
        }
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
    pub(crate) async fn send_batch(
        &self,
        found: &ZoneDelegated,
        edit: &Edit,
        stamps: bool,
    ) -> Result<Swapped, Failure> {
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
            Kind::Passing | Kind::Slow | Kind::TooLarge => return self.settle(change, failure).await,
            Kind::Untaken | Kind::Elsewhere | Kind::Before | Kind::Untrusted | Kind::Version | Kind::Here => {
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

pub(crate) fn entries(zone: &ZoneDelegated) -> Vec<ExtServer> {
    zone.delegate_to.clone().unwrap_or_default()
}
