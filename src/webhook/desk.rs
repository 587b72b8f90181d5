//! What is listed and what is done. One request at a time, and each is finished also if nobody waits for it any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, stream};
use gslb_core::name::DomainName;
use gslb_core::records::RecordClaim;
use gslb_core::sets::{
    ApprovedSetChange, Loss, ObservedSets, RecordType, Rejections, SetChange, SetKey, SetPlan, SetPolicy,
    Step, Told, Wishes, follow_servers, names_of, plan,
};
use gslb_provider_contract::{Disposition, ProviderError, RecordSets};
use gslb_provider_webhook::adoption::{adopted, companions};
use gslb_provider_webhook::protocol::{Changes, Endpoint, Unpaired};
use jiff::Timestamp;
use tokio::time::Instant;

use super::books::Books;
use super::convert::{endpoints, request};
use super::metrics::Metrics;
use super::report::Report;
use super::settings::Adoption;
use crate::audit::AuditError;
use crate::controller::ledger::Stop;

/// Names that are changed at once: a grid takes no more calls at once from us (design §7).
const AT_ONCE: usize = 4;
/// So many names are read one by one wherever they are, and more of them only if a listing would take longer. Of a grid
/// 8 names are one request, as are 200 sets of a listing, which needs 6 requests at least.
const FEW_NAMES: usize = 48;
/// Sets of a listing that are read while one name alone is read; see above.
const LISTED_IN_TIME_OF_NAME: usize = 25;
/// Why a request could not be worked on at all.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error("nothing is changed because the change log cannot be written: {0}")]
    Audit(#[from] AuditError),
    #[error(transparent)]
    Loss(#[from] Loss),
    #[error(transparent)]
    Unpaired(#[from] Unpaired),
}

/// What is ours, and how carefully it is written.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) domains: Vec<DomainName>,
    pub(super) claim: RecordClaim,
    pub(super) adoption: Adoption,
    pub(super) max_deleted_percent: usize,
}

/// Works on requests.
pub(super) struct Desk {
    pub(super) sets: Arc<dyn RecordSets>,
    pub(super) books: Books,
    pub(super) rules: Rules,
    pub(super) metrics: Metrics,
    pub(super) memory: tokio::sync::Mutex<Memory>,
}

/// What is remembered between requests.
#[derive(Debug, Default)]
pub(super) struct Memory {
    told: Told,
    /// How many sets there are, once that was read.
    listed: Option<Listed>,
    rejections: Rejections,
    /// Name servers of delegations that are ours, and these.
    servers: BTreeMap<DomainName, BTreeSet<DomainName>>,
}

/// How many sets the last listing had.
#[derive(Debug, Clone, Copy)]
struct Listed {
    ours: usize,
    all: usize,
}

impl Listed {
    /// Whether so many names are read faster all together, with everything else in our domains.
    fn is_cheaper_than(self, names: usize) -> bool {
        names > FEW_NAMES + self.all / LISTED_IN_TIME_OF_NAME
    }
}

/// A plan that is carried out.
struct Work<'a> {
    plan_id: String,
    /// Who asks for a set, as external-dns labels it.
    resources: BTreeMap<SetKey, String>,
    under_way: BTreeMap<SetKey, Timestamp>,
    rejections: &'a Rejections,
    deadline: Instant,
    report: &'a Mutex<Report>,
}

impl Desk {
    /// Everything that stands in our domains, of whomever: what external-dns does not own it leaves alone.
    pub(super) async fn list(&self) -> Result<Vec<Endpoint>, Trouble> {
        let mut memory = self.memory.lock().await;
        let read_at = self.now();
        let found = self.read(&mut memory).await?;
        if let Err(error) = self.settle(&found, read_at).await {
            self.books.ledger.doubt_log();
            tracing::warn!(%error, "The change log cannot be read; nothing is changed until it can.");
        }
        Ok(endpoints(&found))
    }

    /// Makes what may be made until the deadline, and for half of the time until then in any case. What is begun by then is
    /// finished.
    pub(super) async fn apply(&self, changes: Changes, deadline: Instant) -> Result<Report, Trouble> {
        let mut memory = self.memory.lock().await;
        if Instant::now() >= deadline {
            // It waited for the one before, and nobody waits for it any more.
            return Ok(Report { left: changes.len(), ..Report::default() });
        }
        let resources = resources(&changes);
        let (request, mut refused) = request(&changes)?;
        let (mut wishes, contradictions) = request.into_wishes();
        refused.extend(contradictions);
        self.books.recall().await.inspect_err(|_| self.books.ledger.doubt_log())?;
        let least = deadline.saturating_duration_since(Instant::now()) / 2;
        let (observed, under_way) = self.observe(&wishes, &mut memory).await?;
        follow_servers(&mut wishes, &observed, &self.rules.claim);
        let policy = self.policy(&memory, &wishes, &observed);
        let plan = plan(wishes, refused, &observed, &policy);
        self.metrics.refused(&plan.refusals);
        let problems = plan.refusals.iter().map(ToString::to_string).collect();
        // However long the read took: a request that is over before its first change would never get further.
        let deadline = deadline.max(Instant::now() + least);
        let report = Mutex::new(Report { as_wanted: plan.as_wanted, problems, ..Report::default() });
        let (plan_id, rejections) = (plan.id(), &memory.rejections);
        let work = Work { plan_id, resources, under_way, rejections, deadline, report: &report };
        self.carry_out(plan, &work).await;
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        for (change, told) in std::mem::take(&mut report.rejected) {
            memory.rejections.note(&change, told, now);
        }
        // Some names are changed at once; the same problems are told in the same words.
        report.problems.sort();
        for (key, stands) in std::mem::take(&mut report.changed) {
            match stands {
                true => memory.told.made(key),
                false => memory.told.removed(&key),
            }
        }
        Ok(report)
    }

    /// Waits until no request is worked on, also one whose answer was given already; none is any more.
    pub(super) async fn finish(&self) {
        // Until the process ends.
        std::mem::forget(self.memory.lock().await);
    }

    /// A listing that lost too much is read once more, and then not told.
    async fn read(&self, memory: &mut Memory) -> Result<ObservedSets, Trouble> {
        let mut found = self.read_all().await?;
        if memory.told.listed(&found, self.now()).is_err() {
            found = self.read_all().await?;
            memory.told.listed(&found, self.now())?;
        }
        let ours = self.metrics.listed(&found, &self.rules.claim);
        memory.listed = Some(Listed { ours, all: found.values().map(BTreeMap::len).sum() });
        memory.servers = servers(&found, &self.rules.claim);
        Ok(found)
    }

    async fn read_all(&self) -> Result<ObservedSets, ProviderError> {
        let mut all = ObservedSets::new();
        for domain in &self.rules.domains {
            for (name, sets) in self.sets.list_sets(domain).await? {
                all.entry(name).or_default().extend(sets);
            }
        }
        Ok(all)
    }

    async fn settle(&self, found: &ObservedSets, read_at: Timestamp) -> Result<(), AuditError> {
        self.books.recall().await?;
        self.books.settle(found, read_at).await.map(drop)
    }

    /// What stands at every name that decides, or everything if that is read faster, and the sets whose last change may still come into force.
    async fn observe(
        &self,
        wishes: &Wishes,
        memory: &mut Memory,
    ) -> Result<(ObservedSets, BTreeMap<SetKey, Timestamp>), Trouble> {
        let names = self.names(wishes, memory);
        let read_at = self.now();
        let observed = match memory.listed {
            Some(listed) if !listed.is_cheaper_than(names.len()) => self.sets.read_sets(&names).await?,
            Some(_) | None => self.read(memory).await?,
        };
        let under_way = self.books.settle(&observed, read_at).await;
        let under_way = under_way.inspect_err(|_| self.books.ledger.doubt_log())?;
        Ok((observed, under_way))
    }

    fn names(&self, wishes: &Wishes, memory: &Memory) -> BTreeSet<DomainName> {
        let mut names: BTreeSet<DomainName> = names_of(wishes);
        names.extend(self.books.ledger.unsettled_sets().into_iter().map(|key| key.name));
        if !self.rules.adoption.owners.is_empty() {
            names.extend(companions(wishes.keys(), &self.rules.adoption.prefix));
        }
        let delegations = wishes.keys().filter_map(|key| memory.servers.get(&key.name)).flatten();
        let delegations: BTreeSet<_> = delegations.cloned().collect();
        let beside = memory.servers.iter().filter(|(_, zones)| !zones.is_disjoint(&delegations));
        names.extend(beside.map(|(server, _)| server.clone()));
        names.extend(delegations);
        // Elsewhere nothing is read: it is refused.
        names.retain(|name| self.rules.domains.iter().any(|domain| name.is_within(domain)));
        names
    }

    fn policy(&self, memory: &Memory, wishes: &Wishes, observed: &ObservedSets) -> SetPolicy {
        let Rules { domains, claim, adoption, max_deleted_percent } = &self.rules;
        SetPolicy {
            domains: domains.clone(),
            claim: claim.clone(),
            adopted: adopted(wishes.keys(), observed, &adoption.owners, &adoption.prefix),
            own_sets: memory.listed.map_or(0, |listed| listed.ours),
            max_deleted_percent: *max_deleted_percent,
        }
    }

    /// Step by step; within one, some names at once, and what is about one name in order.
    async fn carry_out(&self, plan: SetPlan, work: &Work<'_>) {
        let mut steps: BTreeMap<Step, BTreeMap<DomainName, Vec<ApprovedSetChange>>> = BTreeMap::new();
        for (step, approved) in plan.changes {
            let name = approved.change().key().name.clone();
            steps.entry(step).or_default().entry(name).or_default().push(approved);
        }
        for names in steps.into_values() {
            let each = stream::iter(names.into_values());
            each.for_each_concurrent(AT_ONCE, |changes| self.carry_out_at_name(changes, work)).await;
        }
    }

    /// An alias and what takes turns with it are begun together or not at all: between the two nothing stands there, so
    /// neither the deadline nor a failure elsewhere comes between them.
    async fn carry_out_at_name(&self, changes: Vec<ApprovedSetChange>, work: &Work<'_>) {
        let is_alias = |approved: &ApprovedSetChange| approved.change().key().rtype == RecordType::Cname;
        let takes_turns = changes.len() > 1 && changes.iter().any(is_alias);
        let (mut open, mut hindered) = (Vec::new(), false);
        for approved in changes {
            match self.hindrance(approved.change(), work).await {
                Ok(None) => open.push(approved),
                Ok(Some(problem)) => {
                    hindered = true;
                    work.report().problems.push(problem);
                }
                Err(error) => {
                    hindered = true;
                    work.failed(approved.change(), Stop::Provider(error), self);
                }
            }
        }
        let mut begun = false;
        for approved in open {
            if takes_turns && hindered {
                work.left_alone(approved.change());
            } else if !begun && work.is_over() {
                work.report().left += 1;
            } else {
                let is_made = self.carry_out_one(&approved, work).await;
                (begun, hindered) = (begun || (takes_turns && is_made), hindered || !is_made);
            }
        }
    }

    /// Why a change is not even tried.
    async fn hindrance(&self, change: &SetChange, work: &Work<'_>) -> Result<Option<String>, ProviderError> {
        let key = change.key();
        if work.under_way.contains_key(key) {
            return Ok(Some(format!(
                "it is not known yet whether the last change of {key} was made; nothing is written there until then"
            )));
        }
        if let Some(told) = work.rejections.told(change, self.now()) {
            return Ok(Some(told.to_owned()));
        }
        self.books.held(change).await
    }

    /// Whether it is made.
    async fn carry_out_one(&self, approved: &ApprovedSetChange, work: &Work<'_>) -> bool {
        let change = approved.change();
        let key = change.key();
        let why = match work.resources.get(key) {
            Some(resource) => format!("external-dns asked for it, for {resource}"),
            None => "external-dns asked for it".to_owned(),
        };
        match self.books.make(&*self.sets, approved, &work.plan_id, why).await {
            Ok(receipt) => {
                if let Disposition::AwaitingApproval { task } = receipt.disposition {
                    work.report()
                        .problems
                        .push(format!("{key} waits for approval at the grid as task {task}"));
                    return false;
                }
                let mut report = work.report();
                report.made += 1;
                report.changed.push((key.clone(), change.after().is_some()));
                true
            }
            Err(stop) => {
                work.failed(change, stop, self);
                false
            }
        }
    }

    fn now(&self) -> Timestamp {
        (self.books.clock)()
    }
}

impl Work<'_> {
    fn report(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing new is begun any more.
    fn is_over(&self) -> bool {
        self.report().stopped.is_some() || Instant::now() >= self.deadline
    }

    fn left_alone(&self, change: &SetChange) {
        let problem =
            format!("{} is left: what takes turns with it at that name was not changed", change.key());
        self.report().problems.push(problem);
    }

    /// What is about one set lets all others go on.
    fn failed(&self, change: &SetChange, stop: Stop, desk: &Desk) {
        let mut report = self.report();
        match stop {
            Stop::Audit(error) => {
                desk.books.ledger.doubt_log();
                report.left += 1;
                report.stopped = Some(Trouble::Audit(error).to_string());
            }
            Stop::Provider(
                error @ (ProviderError::Unavailable { .. }
                | ProviderError::Unauthenticated { .. }
                | ProviderError::LoginHeld { .. }
                | ProviderError::Forbidden { .. }),
            ) => {
                report.left += 1;
                report.stopped = Some(error.to_string());
            }
            Stop::Provider(error) => {
                let told = format!("{} is refused: {error}", change.key());
                if matches!(error, ProviderError::Refused { .. } | ProviderError::Misconfigured { .. }) {
                    report.rejected.push((change.clone(), told.clone()));
                }
                report.problems.push(told);
            }
            Stop::Refused(text, _) => report.problems.push(text),
        }
    }
}

/// The name servers of each delegation of ours.
fn servers(found: &ObservedSets, claim: &RecordClaim) -> BTreeMap<DomainName, BTreeSet<DomainName>> {
    let mut servers: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (zone, sets) in found {
        let ours = sets.get(&RecordType::Ns).filter(|set| set.is_claimed_by(claim));
        for server in ours.into_iter().flat_map(|set| set.glue.keys()) {
            servers.entry(server.clone()).or_default().insert(zone.clone());
        }
    }
    servers
}

/// The objects that sets are asked for by, where external-dns says so.
fn resources(changes: &Changes) -> BTreeMap<SetKey, String> {
    let all = changes.create.iter().chain(&changes.update_new).chain(&changes.delete);
    let named = all.filter_map(|endpoint| {
        let key = SetKey::new(endpoint.name().ok()?, endpoint.known_type()?);
        Some((key, gslb_core::text::quoted(endpoint.labels.get("resource")?)))
    });
    named.collect()
}
