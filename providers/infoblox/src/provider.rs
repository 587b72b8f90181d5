//! The contract, kept at an Infoblox grid: look up, compare, write once, read back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::beneath::Beneath;
use gslb_core::change::Change;
use gslb_core::delegation::Presence;
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_core::records::{ApprovedRecordChange, ObservedHost, ZoneRecords};
use gslb_provider_contract::{
    Approval, Capabilities, Disposition, Finding, Held, Inspected, Observe, Provider, ProviderError,
    ProviderId, Receipt, Scope, Service,
};
use reqwest::Url;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::absence::{Absences, above};
use crate::amends::Lost;
use crate::answer::{Failure, Kind};
use crate::calls::CallObserver;
use crate::client::Client;
use crate::convert::{self, Unreadable};
use crate::login::LoginMemory;
use crate::lower::{Write, lower};
use crate::recording::Tape;
use crate::revision::Revisions;
use crate::secrets::short;
use crate::settings::{Settings, SetupError};
use crate::task::Tasks;
use crate::wire::{RETURN_FIELDS, ZONE_AUTH, ZONE_DELEGATED, ZoneAuth, ZoneDelegated};

/// What a grid may need beyond the time-out of a request: some for its own queue and for the way there. A request
/// that it carries out even later would have had no reply in time either. No outside reference.
const AFTERMATH_MARGIN: Duration = Duration::from_secs(5);

/// Delegations in one DNS view of one grid. All views of a grid share one connection pool and one session.
pub struct Infoblox {
    id: ProviderId,
    capabilities: Capabilities,
    view: String,
    pub(crate) client: Arc<Client>,
    pub(crate) absences: Absences,
    /// Authoritative zones that the account was seen to see.
    pub(crate) holders: Absences,
    pub(crate) revisions: Arc<Revisions>,
    /// What is known of the attributes of records mode.
    pub(crate) claims: Arc<Revisions>,
    /// Of all views: a task does not say which one it is about.
    pub(crate) tasks: Arc<Mutex<Tasks>>,
}

impl Infoblox {
    /// What this provider is called in logs, metrics and the change log.
    pub const ID: &'static str = "infoblox";

    /// Sets up the client; nothing is sent yet. `memory` keeps the count of bad log-ins, `observer` is told of
    /// every exchange.
    ///
    /// # Errors
    /// A setting that cannot work.
    pub fn new(
        settings: Settings,
        memory: Arc<dyn LoginMemory>,
        observer: Arc<dyn CallObserver>,
    ) -> Result<Self, SetupError> {
        Ok(Self {
            id: ProviderId::new(Self::ID),
            capabilities: Capabilities {
                own_object: false,
                restarts: settings.restarts,
                unverified: !settings.verifies,
                records: true,
            },
            view: settings.view.clone(),
            client: Arc::new(Client::new(settings, memory, observer)?),
            absences: Absences::default(),
            holders: Absences::default(),
            revisions: Arc::default(),
            claims: Arc::default(),
            tasks: Arc::default(),
        })
    }

    /// Notes every exchange from now on.
    pub(crate) fn taped(mut self, tape: Arc<Tape>) -> Self {
        // No other view shares the client yet.
        if let Some(client) = Arc::get_mut(&mut self.client) {
            client.tape = Some(tape);
        }
        self
    }

    /// The same grid under a name of its own.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { id: ProviderId::named(Self::ID, name), ..self }
    }

    /// Another view of the same grid, as the same account in the same session. What is known of zones is each view's
    /// own.
    #[must_use]
    pub fn in_view(&self, view: &str) -> Self {
        Self {
            id: self.id.clone(),
            capabilities: self.capabilities.clone(),
            view: view.to_owned(),
            client: Arc::clone(&self.client),
            absences: Absences::default(),
            holders: Absences::default(),
            revisions: Arc::clone(&self.revisions),
            claims: Arc::clone(&self.claims),
            tasks: Arc::clone(&self.tasks),
        }
    }

    /// Ends the session at the grid, if there is one. Call it when the daemon stops.
    ///
    /// # Errors
    /// For the log only.
    pub async fn logout(&self) -> Result<(), ProviderError> {
        self.client.logout().await.map_err(|failure| failure.error)
    }

    pub(crate) fn view(&self) -> &str {
        &self.view
    }

    /// The delegation of exactly this name in exactly this view (F-56); nothing only for an empty list (F-57), which
    /// is not an absence yet.
    pub(crate) async fn look_up(&self, zone: &DomainName) -> Result<Option<ZoneDelegated>, Failure> {
        let target = search(ZONE_DELEGATED, zone, self.view(), RETURN_FIELDS);
        let mut found: Vec<ZoneDelegated> = self.parse(self.client.read(target).await?)?;
        let exact =
            |hit: &ZoneDelegated| hit.fqdn.eq_ignore_ascii_case(zone.as_str()) && hit.view == self.view();
        if found.len() > 1 || !found.iter().all(exact) {
            return Err(self.unexpected(&format!(
                "gave other zones than the one asked for, {zone} in view {}; nothing is changed",
                self.view()
            )));
        }
        Ok(found.pop())
    }

    /// The delegation, or nothing if it is surely not there. `parent` is the zone that should hold it; without it,
    /// any zone around it will do.
    pub(crate) async fn stands(
        &self,
        zone: &DomainName,
        parent: Option<&DomainName>,
    ) -> Result<Option<ZoneDelegated>, Failure> {
        let found = self.look_up(zone).await?;
        match &found {
            Some(_) => self.absences.forget(zone),
            None => self.confirm_absence(zone, parent).await?,
        }
        Ok(found)
    }

    /// An empty search proves something only where the account sees the zone that would hold the delegation: the
    /// parent as it is configured or, if that is no zone of its own, one around it.
    async fn confirm_absence(&self, zone: &DomainName, parent: Option<&DomainName>) -> Result<(), Failure> {
        let holders = above(zone).filter(|name| parent.is_none_or(|parent| parent.is_within(name)));
        match self.sees_one_of(zone, holders).await? {
            true => Ok(()),
            false => Err(self.no_parent(zone, parent)),
        }
    }

    /// Whether the account sees one of these authoritative zones, as far as that was confirmed lately for `name`.
    pub(crate) async fn sees_one_of(
        &self,
        name: &DomainName,
        holders: impl Iterator<Item = DomainName>,
    ) -> Result<bool, Failure> {
        let now = (self.client.settings().clock)();
        if self.absences.is_confirmed(name, now) {
            return Ok(true);
        }
        for holder in holders {
            let target = search(ZONE_AUTH, &holder, self.view(), "fqdn");
            let hits: Vec<ZoneAuth> = self.parse(self.client.read(target).await?)?;
            if let Some(other) = hits.iter().find(|hit| !hit.fqdn.eq_ignore_ascii_case(holder.as_str())) {
                let other = short(&other.fqdn);
                return Err(self.unexpected(&format!("gave zone {other} when it was asked for {holder}")));
            }
            if !hits.is_empty() {
                self.absences.confirm(name, now);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn no_parent(&self, zone: &DomainName, parent: Option<&DomainName>) -> Failure {
        let parent = parent.map(|name| format!(" {name}")).unwrap_or_default();
        let text = format!(
            "the parent zone{parent} of {zone} was not found in view {} of Infoblox at {}, or is not visible to the account; create it, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it",
            self.view(),
            self.client.grid().host()
        );
        Failure::last(ProviderError::Misconfigured { text })
    }

    pub(crate) fn presence(
        &self,
        found: Option<&ZoneDelegated>,
        zone: &DomainName,
    ) -> Result<Presence, ProviderError> {
        convert::presence(found, zone).map_err(|entry| self.unreadable(&entry))
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, reply: Value) -> Result<T, Failure> {
        serde_json::from_value(reply).map_err(|error| {
            // The error repeats what stands there.
            let error = self.client.secrets.quote(&error.to_string());
            self.unexpected(&format!("gave JSON of another shape than WAPI's: {error}"))
        })
    }

    fn unreadable(&self, entry: &Unreadable) -> ProviderError {
        ProviderError::Unexpected { text: self.client.secrets.quote(&entry.to_string()) }
    }

    pub(crate) fn unexpected(&self, what: &str) -> Failure {
        let text = format!("Infoblox at {} {what}", self.client.grid().host());
        Failure::last(ProviderError::Unexpected { text })
    }

    /// Never sends a write again: reads what stands there, and decides (reference.md §6.3).
    pub(crate) async fn settle(&self, change: &Change, failure: Failure) -> Result<Receipt, ProviderError> {
        let zone = change.zone();
        let found = match self.stands(zone, None).await {
            Ok(found) => found,
            Err(_) => return Err(uncertain(zone, failure.error)),
        };
        let presence = self.presence(found.as_ref(), zone)?;
        if change.shows_in(&presence) {
            if change.before().is_some() {
                tracing::warn!(%zone, "The reply to a write was lost, and with it what others may have written right before.");
            }
            return Ok(done(found.map(|found| found.reference).unwrap_or_default(), presence));
        }
        // One look does not prove that nothing comes: the grid may still be at work on it.
        Err(uncertain(zone, failure.error))
    }
}

#[async_trait]
impl Observe for Infoblox {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError> {
        let found = self.stands(&scope.zone, Some(&scope.parent)).await.map_err(|failure| failure.error)?;
        self.presence(found.as_ref(), &scope.zone)
    }

    async fn records(&self, scope: &Scope) -> Result<ZoneRecords, ProviderError> {
        self.read_records(scope).await.map_err(|failure| failure.error)
    }

    async fn service(&self) -> Result<Service, ProviderError> {
        self.service_status().await.map_err(|failure| failure.error)
    }

    async fn beneath(&self, scope: &Scope) -> Result<Beneath, ProviderError> {
        let parent = Some(&scope.parent);
        let beneath = async {
            self.confirm_absence(&scope.zone, parent).await?;
            self.look_beneath(&scope.zone).await
        };
        beneath.await.map_err(|failure| failure.error)
    }

    async fn inspect(&self, what: &Inspected) -> Vec<Finding> {
        self.examine(what).await
    }
}

#[async_trait]
impl Provider for Infoblox {
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        let change = change.change();
        if let Some(receipt) = self.pending(change).await? {
            return Ok(receipt);
        }
        // The reference is looked up anew, and what others wrote since the plan is seen.
        let zone = change.zone();
        let found = self.stands(zone, None).await.map_err(|failure| failure.error)?;
        let presence = self.presence(found.as_ref(), zone)?;
        if change.shows_in(&presence) {
            return Ok(done(found.map(|found| found.reference).unwrap_or_default(), presence));
        }
        let stale = || ProviderError::Stale { zone: zone.clone() };
        if !change.matches(&presence) || convert::is_held(&presence) {
            return Err(stale());
        }
        let revision = match change {
            Change::Create { .. } if self.has_revisions().await? => Some(self.new_revision()?),
            Change::Create { .. } | Change::Replace { .. } | Change::Delete { .. } => None,
        };
        let write = lower(change, found.as_ref(), self.view(), revision)
            .map_err(|entry| self.unreadable(&entry))?
            .ok_or_else(stale)?;
        match (write, found) {
            (Write::Create { body }, _) => self.create(change, body).await,
            (Write::Edit(edit), Some(found)) => self.swap(change, found, edit).await,
            (Write::Edit(_), None) => Err(stale()),
        }
    }

    async fn apply_record(
        &self,
        change: &ApprovedRecordChange,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        self.write_record(change.change()).await
    }

    async fn restart(&self) -> Result<(), ProviderError> {
        self.restart_services().await.map_err(|failure| match failure.kind {
            Kind::Passing | Kind::Slow | Kind::TooLarge => {
                let text = format!("it is not known whether the services were restarted ({})", failure.error);
                ProviderError::Uncertain { text, source: None }
            }
            Kind::ReferenceGone
            | Kind::Duplicate
            | Kind::Untaken
            | Kind::Elsewhere
            | Kind::Final
            | Kind::Before
            | Kind::Untrusted
            | Kind::Version
            | Kind::Here => failure.error,
        })
    }

    fn longest_aftermath(&self) -> Duration {
        self.client.settings().request_timeout.saturating_add(AFTERMATH_MARGIN)
    }

    async fn approval(&self, zone: &DomainName, reference: &str) -> Result<Approval, ProviderError> {
        self.approval_of(zone, reference).await.map_err(|failure| failure.error)
    }

    async fn held(&self, zone: &DomainName) -> Result<Option<Held>, ProviderError> {
        self.held_task(zone).await.map_err(|failure| failure.error)
    }

    async fn amend(&self, zone: &DomainName, lost: &Value) -> Result<String, ProviderError> {
        let lost: Lost = self.parse(lost.clone()).map_err(|failure| failure.error)?;
        self.give_back(zone, &lost).await.map_err(|failure| failure.error)
    }

    async fn close(&self) -> Result<(), ProviderError> {
        self.logout().await
    }
}

pub(crate) fn done(reference: String, presence: Presence) -> Receipt {
    Receipt { reference, disposition: Disposition::Applied, read_back: Some(presence), amends: vec![] }
}

fn uncertain(zone: &DomainName, cause: ProviderError) -> ProviderError {
    let text = format!(
        "it is not known whether the last change of delegation {zone} was made ({cause}); it is read again before the next one"
    );
    let source = if let ProviderError::Unavailable { source, .. } = cause { source } else { None };
    ProviderError::Uncertain { text, source }
}

/// A search for one name in one view. Two hits are enough to know that something is wrong.
pub(crate) fn search(kind: &str, zone: &DomainName, view: &str, fields: &str) -> String {
    query(kind, &[("fqdn", zone.as_str()), ("view", view), ("_return_fields", fields), ("_max_results", "2")])
}

/// A type with arguments.
pub(crate) fn query(kind: &str, arguments: &[(&str, &str)]) -> String {
    let url = Url::parse_with_params("https://grid.invalid/", arguments).expect("the base is a URL");
    // A blank as `+` is for forms; a grid's own references have `%20`.
    let query = url.query().unwrap_or_default().replace('+', "%20").replace("%2C", ",");
    format!("{kind}?{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-56.
    #[test]
    fn every_look_up_names_zone_view_fields_and_a_bound() {
        let zone = DomainName::parse("cloud.example.com").unwrap();
        assert_eq!(
            search(ZONE_AUTH, &zone, "Medium/High Trust+", "fqdn,view"),
            "zone_auth?fqdn=cloud.example.com&view=Medium%2FHigh%20Trust%2B&_return_fields=fqdn,view&_max_results=2"
        );
    }
}
