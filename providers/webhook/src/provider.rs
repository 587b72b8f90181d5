//! The contract, kept at a webhook: list, compare, ask what it would keep, write once, list again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use gslb_core::beneath::Beneath;
use gslb_core::change::Change;
use gslb_core::delegation::{ObservedDelegation, Obstacle, Presence};
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_provider_contract::{
    Capabilities, Disposition, Finding, Inspected, Observe, Provider, ProviderError, ProviderId, Receipt,
    Scope,
};

use crate::adjust::{adjusted, asked};
use crate::book::Book;
use crate::claims::Claims;
use crate::client::{CallObserver, Client, Failure, Reached};
use crate::inspect;
use crate::listing::{Listing, Unreadable};
use crate::lower::{described, lower};
use crate::protocol::Changes;
use crate::settings::{Settings, SetupError};

/// What a webhook may need beyond the time-out of a request, for its own queue and for the way there. No outside
/// reference.
const AFTERMATH_MARGIN: Duration = Duration::from_secs(5);

/// Delegations at whatever a webhook provider of external-dns writes.
pub struct Webhook {
    id: ProviderId,
    capabilities: Capabilities,
    client: Client,
    book: Mutex<Book>,
    last: tokio::sync::Mutex<Option<Last>>,
}

/// The last listing. Whoever asked before it began may use it.
struct Last {
    began: Instant,
    outcome: Result<Arc<Listing>, (String, Option<Duration>)>,
}

impl Webhook {
    /// What this provider is called in logs, metrics and the change log.
    pub const ID: &'static str = "webhook";

    /// Sets up the client; nothing is sent yet.
    ///
    /// # Errors
    /// A setting that cannot work.
    pub fn new(settings: Settings, observer: Arc<dyn CallObserver>) -> Result<Self, SetupError> {
        Ok(Self {
            id: ProviderId::new(Self::ID),
            capabilities: Capabilities {
                own_object: false,
                restarts: false,
                unverified: false,
                records: false,
            },
            client: Client::new(settings, observer)?,
            book: Mutex::default(),
            last: tokio::sync::Mutex::default(),
        })
    }

    /// A complete listing that began after this was called. It is for the whole backend, so those who wait for it
    /// together share one, or its failure.
    async fn list(&self) -> Result<Arc<Listing>, ProviderError> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some(Last { outcome, .. }) = last.as_ref().filter(|last| last.began >= asked) {
            return outcome.clone().map_err(|(text, retry_after)| ProviderError::Unavailable {
                text,
                retry_after,
                source: None,
            });
        }
        let began = Instant::now();
        let outcome = self.read().await.map(Arc::new);
        *last = match &outcome {
            Ok(listing) => Some(Last { began, outcome: Ok(Arc::clone(listing)) }),
            Err(ProviderError::Unavailable { text, retry_after, .. }) => {
                Some(Last { began, outcome: Err((text.clone(), *retry_after)) })
            }
            Err(_) => None,
        };
        outcome
    }

    /// The webhook says anew which domains it takes: one that was restarted with fewer would list as much less, which
    /// must not look like an absence.
    async fn read(&self) -> Result<Listing, ProviderError> {
        let filter = self.client.negotiate().await?;
        let endpoints = self.client.records().await?;
        Ok(Listing::new(filter, endpoints))
    }

    /// A listing that says something about the zone.
    async fn list_for(&self, zone: &DomainName) -> Result<Arc<Listing>, ProviderError> {
        let listing = self.list().await?;
        if !listing.filter.takes(zone.as_str()) {
            let text = format!(
                "{zone} lies outside the domains that the webhook at {} takes, which are {}; add its parent zone there, or delegate the zone elsewhere",
                self.client.url(),
                described(&listing)
            );
            return Err(ProviderError::Misconfigured { text });
        }
        let now = self.now();
        self.book().believe(zone, &listing, now).map_err(|loss| ProviderError::Unexpected {
            text: format!("the webhook at {} is not believed about {zone}: {loss}", self.client.url()),
        })?;
        Ok(listing)
    }

    fn presence(&self, zone: &DomainName, listing: &Listing) -> Result<Presence, ProviderError> {
        let Some(delegation) = listing.delegation(zone).map_err(|error| self.unreadable(&error))? else {
            return Ok(Presence::Absent);
        };
        let claims = Claims::of(self.client.settings());
        let placed = self.book().zone(zone);
        let why = placed.and_then(|zone| claims.bar(listing, &zone, delegation.servers.keys()));
        let obstacles = why.map(|why| Obstacle::ForeignClaim { why }).into_iter().collect();
        // A webhook that lists no TTL does not tell it: nobody knows that there is none.
        let takes_first_ttl = false;
        Ok(Presence::Present(ObservedDelegation {
            obstacles,
            takes_first_ttl,
            ..ObservedDelegation::plain(delegation)
        }))
    }

    fn unreadable(&self, error: &Unreadable) -> ProviderError {
        ProviderError::Unexpected { text: format!("{}: {error}", self.client.url()) }
    }

    /// What is to be sent, as the webhook will keep it.
    async fn prepared(&self, change: &Change, listing: &Listing) -> Result<Changes, ProviderError> {
        let zone = change.zone();
        let refused = |text: String| ProviderError::Refused { text };
        if self.book().is_unkept(zone, &change.id(), self.now()) {
            return Err(refused(format!(
                "the webhook at {} said that it made this change of delegation {zone} (HTTP 204), and lists nothing of it; look whether what is behind it keeps NS records, and for its log; it is tried again every 10 minutes",
                self.client.url()
            )));
        }
        let claims = Claims::of(self.client.settings());
        let changes = lower(change, listing, &claims).map_err(|error| match &error {
            crate::lower::Unmakeable::OutsideFilter { .. } => {
                ProviderError::Misconfigured { text: error.to_string() }
            }
            _ => refused(error.to_string()),
        })?;
        let asked = asked(&changes);
        if asked.is_empty() {
            return Ok(changes);
        }
        let made = self.client.adjust(&asked).await?;
        adjusted(zone, changes, &made).map_err(|unkept| refused(unkept.to_string()))
    }

    /// Sends a change once and lists what became of it.
    async fn write(
        &self,
        change: &Change,
        before: &Presence,
        changes: &Changes,
    ) -> Result<Receipt, ProviderError> {
        let zone = change.zone();
        let failure = match self.client.apply(changes).await {
            Ok(()) => {
                self.book().removed(changes);
                let found = self.read_back(zone).await.ok();
                let is_unseen = found.as_ref().is_some_and(|found| same(found, before));
                if found.is_some() {
                    self.book().taken(zone, change.id(), !is_unseen, self.now());
                }
                // One that shows nothing of it yet may be behind, which is no other writer's doing.
                return Ok(receipt(zone, found.filter(|_| !is_unseen)));
            }
            Err(failure) => failure,
        };
        let Failure { reached, error } = failure;
        if reached == Reached::Nobody {
            return Err(error);
        }
        // It may have made all of it, a part or nothing, whatever it said.
        self.book().removed(changes);
        match self.read_back(zone).await {
            Ok(found) if change.shows_in(&found) => Ok(receipt(zone, Some(found))),
            Ok(found) if same(&found, before) && reached == Reached::Somebody => Err(error),
            Ok(_) | Err(_) => Err(uncertain(zone, error)),
        }
    }

    async fn read_back(&self, zone: &DomainName) -> Result<Presence, ProviderError> {
        let listing = self.list_for(zone).await?;
        self.presence(zone, &listing)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> jiff::Timestamp {
        (self.client.settings().clock)()
    }
}

#[async_trait]
impl Observe for Webhook {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError> {
        self.book().place(&scope.zone, &scope.parent);
        let listing = self.list_for(&scope.zone).await?;
        self.presence(&scope.zone, &listing)
    }

    async fn beneath(&self, scope: &Scope) -> Result<Beneath, ProviderError> {
        self.book().place(&scope.zone, &scope.parent);
        let listing = self.list_for(&scope.zone).await?;
        match self.presence(&scope.zone, &listing)? {
            Presence::Absent => Ok(listing.beneath(&scope.zone)),
            // Somebody, perhaps another cluster, delegated it since.
            Presence::Present(_) => Err(ProviderError::Stale { zone: scope.zone.clone() }),
        }
    }

    async fn inspect(&self, what: &Inspected) -> Vec<Finding> {
        inspect::look(&self.client, what).await
    }
}

#[async_trait]
impl Provider for Webhook {
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        let change = change.change();
        let zone = change.zone();
        // What is merged is what is listed now, not what the plan saw.
        let listing = self.list_for(zone).await?;
        let presence = self.presence(zone, &listing)?;
        if change.shows_in(&presence) {
            return Ok(receipt(zone, Some(presence)));
        }
        if !change.matches(&presence) || is_barred(&presence) {
            return Err(ProviderError::Stale { zone: zone.clone() });
        }
        let changes = self.prepared(change, &listing).await?;
        self.write(change, &presence, &changes).await
    }

    fn longest_aftermath(&self) -> Duration {
        self.client.settings().request_timeout.saturating_add(AFTERMATH_MARGIN)
    }
}

fn receipt(zone: &DomainName, read_back: Option<Presence>) -> Receipt {
    Receipt { reference: format!("NS {zone}"), disposition: Disposition::Applied, read_back, amends: vec![] }
}

fn is_barred(presence: &Presence) -> bool {
    match presence {
        Presence::Absent => false,
        Presence::Present(found) => found.obstacles.iter().any(Obstacle::forbids_writes),
    }
}

/// Whether two listings show the same entries.
fn same(one: &Presence, other: &Presence) -> bool {
    let pairs = |presence: &Presence| {
        presence.delegation().map(|delegation| {
            delegation.pairs().into_iter().map(|(name, address)| (name.clone(), address)).collect::<Vec<_>>()
        })
    };
    pairs(one) == pairs(other)
}

fn uncertain(zone: &DomainName, cause: ProviderError) -> ProviderError {
    let text = format!(
        "it is not known whether the last change of delegation {zone} was made ({cause}); it is listed again before the next one"
    );
    let source = if let ProviderError::Unavailable { source, .. } = cause { source } else { None };
    ProviderError::Uncertain { text, source }
}
