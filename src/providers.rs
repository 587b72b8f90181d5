//! The providers of one daemon: the plain one, and the views of those that zones name.

use std::collections::BTreeMap;
use std::sync::Arc;

use gslb_core::name::DomainName;
use gslb_core::outlet::Outlet;
use gslb_provider_contract::{Provider, ProviderError};
use tokio::sync::Semaphore;

use crate::config::{Publication, Settings, Sight, View};

/// Visits to one provider at once: a grid takes no more calls at once from us (design §7).
const VISITS: usize = 4;

/// Where delegations are published.
#[derive(Clone, Default)]
pub struct Providers {
    plain: Option<Arc<dyn Provider>>,
    views: BTreeMap<View, Arc<dyn Provider>>,
    slots: BTreeMap<String, Arc<Semaphore>>,
}

/// One place at which the delegation of a zone is published.
#[derive(Clone)]
pub(crate) struct Place {
    /// Its number among the places of the zone, from 0.
    pub(crate) number: usize,
    pub(crate) outlet: Outlet,
    /// Nothing: the delegation is kept by hand.
    pub(crate) provider: Option<Arc<dyn Provider>>,
    /// How it is listed.
    pub(crate) publication: Publication,
    /// The right to visit its provider, which is shared by all places there.
    pub(crate) slots: Arc<Semaphore>,
}

impl Place {
    /// Whether somebody can be asked if the delegation is served there.
    pub(crate) fn is_seen(&self) -> bool {
        self.publication.sight != Sight::Nobody
    }
}

impl Providers {
    /// One provider for all zones; none: delegations are kept by hand.
    pub fn plain(provider: Option<Arc<dyn Provider>>) -> Self {
        Self { plain: provider, ..Self::default() }
    }

    /// The same, with a provider for zones that name none.
    #[must_use]
    pub fn and_plain(self, provider: Arc<dyn Provider>) -> Self {
        Self { plain: Some(provider), ..self }
    }

    /// The same, with a view that zones may name.
    #[must_use]
    pub fn with_view(mut self, view: View, provider: Arc<dyn Provider>) -> Self {
        self.slots.entry(view.provider.clone()).or_insert_with(|| Arc::new(Semaphore::new(VISITS)));
        self.views.insert(view, provider);
        self
    }

    /// Whether there are any.
    pub(crate) fn are_any(&self) -> bool {
        self.plain.is_some() || self.are_listed()
    }

    /// Whether zones name their providers.
    pub(crate) fn are_listed(&self) -> bool {
        !self.views.is_empty()
    }

    /// The places at which a zone is published, in the order of the list. None: nothing says where.
    pub(crate) fn places(&self, settings: &Settings, zone: &DomainName) -> Vec<Place> {
        let publications = settings.publications.of(zone).into_iter().enumerate();
        publications.map(|(number, publication)| self.place(settings, number, publication)).collect()
    }

    /// All places that there are, whether a zone is published there or not. The plain one is left out where zones name
    /// theirs: it is the same grid.
    pub(crate) fn outlets(&self, settings: &Settings) -> Vec<(Outlet, Arc<dyn Provider>)> {
        let plain = self.plain.iter().filter(|_| !self.are_listed());
        let plain = plain.map(|provider| (self.plain_outlet(settings), Arc::clone(provider)));
        let views = self.views.iter().map(|(view, provider)| {
            (Outlet::listed(&view.provider, &view.view, &view.usual_view), Arc::clone(provider))
        });
        plain.chain(views).collect()
    }

    fn place(&self, settings: &Settings, number: usize, publication: Publication) -> Place {
        let (outlet, provider) = match &publication.view {
            Some(view) => {
                let outlet = Outlet::listed(&view.provider, &view.view, &view.usual_view);
                (outlet, self.views.get(view))
            }
            None => (self.plain_outlet(settings), self.plain.as_ref()),
        };
        let slots = self.slots.get(outlet.provider()).cloned();
        let slots = slots.unwrap_or_else(|| Arc::new(Semaphore::new(VISITS)));
        Place { number, outlet, provider: provider.cloned(), publication, slots }
    }

    fn plain_outlet(&self, settings: &Settings) -> Outlet {
        let id = self.plain.as_ref().map(|provider| provider.id().as_str()).unwrap_or_default();
        let usual_view = settings.provider.grids().values().next().map(|grid| grid.view.as_str());
        Outlet::plain(id, usual_view)
    }

    /// Closes all at once: one that does not answer keeps nobody waiting.
    pub(crate) async fn close(&self) -> Vec<ProviderError> {
        let all = self.plain.iter().chain(self.views.values());
        let closed = futures::future::join_all(all.map(|provider| provider.close())).await;
        closed.into_iter().filter_map(Result::err).collect()
    }
}
