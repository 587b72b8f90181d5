//! Appends to the change log.

use std::mem;

use gslb_core::changelog::{Entry, Intent, Line, Outcome, Proposal, SealKey, Tail, Verdict};
use gslb_crds::marks::CHANGE_LOG_WRITER;
use gslb_crds::provider_change::{LogName, name_of};
use gslb_crds::{ProviderChange, ProviderChangeSpec, ProviderChangeStatus};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DeserializeGuard;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tracing::warn;

use super::error::AuditError;
use super::persist::persistently;
use super::read::{self, Guarded};
use super::ship::Shipper;
use super::under_way::{Mark, UnderWay};
use crate::kube_call::in_time;

/// How often a stale writer may append while we take over, before we take it for the living one.
const TAKE_OVER_ROUNDS: usize = 5;
/// Canonical JSON holds integers up to 2^53 exactly.
const LARGEST_SEQUENCE: u64 = 1 << 53;
/// How often somebody else may edit an object's metadata while its outcome is written.
const CONFLICT_ROUNDS: usize = 5;

/// The store behind the chain: one object per change, the tail in memory.
///
/// Appends wait for each other, because each line holds the hash of the one before; between
/// [`intend`](Self::intend) and [`complete`](Self::complete) changes run side by side.
///
/// Two writers cannot both go on: an intent's object is named by its sequence, so the slower `create`
/// conflicts; and a writer that opens the log marks every object without outcome as its own, so that the
/// outcome of a stale writer conflicts too.
pub struct ChangeLog {
    api: Api<ProviderChange>,
    listing: Api<Guarded>,
    name: LogName,
    writer: String,
    key: Option<SealKey>,
    /// Held across calls of the API server: this is what puts appends in order.
    head: tokio::sync::Mutex<Head>,
    under_way: UnderWay,
}

struct Head {
    state: State,
    shipper: Shipper,
}

enum State {
    Known(Tail),
    /// A write may or may not have been stored: read the end again.
    Doubtful,
    Superseded {
        by: String,
    },
}

/// A change whose intent is stored and whose outcome is not.
#[derive(Debug)]
#[must_use = "a change without outcome shows as unknown"]
pub struct Pending {
    object: ProviderChange,
    _under_way: Mark,
}

impl Pending {
    /// The intent as stored.
    pub fn intent(&self) -> &Intent {
        &self.object.spec.intent
    }
}

/// What a scan of the stored log found.
struct Found {
    log: LogName,
    last: Option<Line>,
    sequence: u64,
    open: Vec<ProviderChange>,
}

impl ChangeLog {
    /// Reads where the log stands and takes over what other writers left open.
    ///
    /// `writer` names this process, so that two lives of one pod differ.
    ///
    /// # Errors
    /// The log cannot be read, or another writer keeps appending.
    pub async fn open(
        client: Client,
        writer: &str,
        key: Option<SealKey>,
        shipper: Shipper,
    ) -> Result<Self, AuditError> {
        let log = Self::new(client, writer, key, shipper);
        let mut head = log.head.lock().await;
        let tail = log.tail(&mut head).await?;
        head.state = State::Known(tail);
        drop(head);
        Ok(log)
    }

    /// A log that is opened by its first use, and by each further one until that succeeds.
    pub fn new(client: Client, writer: &str, key: Option<SealKey>, shipper: Shipper) -> Self {
        Self {
            api: Api::all(client.clone()),
            listing: Api::all(client),
            name: LogName::default(),
            writer: writer.to_owned(),
            key,
            head: tokio::sync::Mutex::new(Head { state: State::Doubtful, shipper }),
            under_way: UnderWay::default(),
        }
    }

    /// The log of this name instead of the controller's. Before its first use.
    #[must_use]
    pub fn named(self, name: LogName) -> Self {
        Self { name, ..self }
    }

    /// Stores the intent. The provider may be called only with the [`Pending`] that this returns.
    ///
    /// # Errors
    /// The intent is not stored, or not surely: nothing may be written at the provider.
    pub async fn intend(&self, change: Proposal, now: Timestamp) -> Result<Pending, AuditError> {
        let mut head = self.head.lock().await;
        let tail = self.tail(&mut head).await?;
        let sequence = tail.sequence.saturating_add(1);
        let intent = Intent { sequence, at: now, change };
        let object = self.append(&mut head, tail, Entry::Intent(Box::new(intent)), None).await?;
        Ok(Pending { object, _under_way: self.under_way.mark(sequence) })
    }

    /// Stores what came of a change.
    ///
    /// # Errors
    /// The outcome is not stored, or not surely: the change comes back from [`unsettled`](Self::unsettled).
    pub async fn complete(
        &self,
        pending: Pending,
        verdict: Verdict,
        now: Timestamp,
    ) -> Result<(), AuditError> {
        let mut head = self.head.lock().await;
        let tail = self.tail(&mut head).await?;
        let outcome = Outcome { sequence: pending.intent().sequence, at: now, verdict };
        self.append(&mut head, tail, Entry::Outcome(outcome), Some(&pending.object)).await?;
        Ok(())
    }

    /// The changes without outcome that nobody works on: left by a crash, by another writer or by an error.
    /// Each is to be settled by reading the provider.
    ///
    /// # Errors
    /// The log cannot be read, or another writer keeps appending.
    pub async fn unsettled(&self) -> Result<Vec<Pending>, AuditError> {
        let mut head = self.head.lock().await;
        let known = self.tail(&mut head).await?;
        let found = self.take_over().await?;
        let tail = found.tail();
        if tail != known {
            head.resume(&found);
        }
        head.state = State::Known(tail);
        let idle = found.open.into_iter().filter(|object| !self.under_way.has(object.spec.intent.sequence));
        Ok(idle
            .map(|object| {
                let mark = self.under_way.mark(object.spec.intent.sequence);
                Pending { object, _under_way: mark }
            })
            .collect())
    }

    /// The tail to append to. The state stays doubtful until the caller says what became of its line, so that
    /// a call that is dropped half-way leaves doubt and not a wrong tail.
    async fn tail(&self, head: &mut Head) -> Result<Tail, AuditError> {
        match mem::replace(&mut head.state, State::Doubtful) {
            State::Known(tail) => Ok(tail),
            State::Superseded { by } => {
                head.state = State::Superseded { by: by.clone() };
                Err(AuditError::Superseded { by })
            }
            State::Doubtful => {
                let found = self.take_over().await?;
                head.resume(&found);
                Ok(found.tail())
            }
        }
    }

    /// Stores the next line: in a new object, or as the outcome of `intended`.
    async fn append(
        &self,
        head: &mut Head,
        tail: Tail,
        entry: Entry,
        intended: Option<&ProviderChange>,
    ) -> Result<ProviderChange, AuditError> {
        let line = match tail.next(entry, self.key.as_ref()) {
            Ok(line) => line,
            Err(inexact) => {
                head.state = State::Known(tail);
                return Err(inexact.into());
            }
        };
        let stored = match intended {
            None => self.create(&line).await,
            Some(object) => self.settle(object.clone(), &line).await,
        };
        match &stored {
            Ok(_) => {
                head.state = State::Known(tail.after(&line));
                head.shipper.ship(&line);
            }
            Err(AuditError::Superseded { by }) => head.state = State::Superseded { by: by.clone() },
            Err(AuditError::Refused { .. } | AuditError::Vanished { .. } | AuditError::Inexact(_)) => {
                head.state = State::Known(tail);
            }
            Err(AuditError::Unavailable { .. } | AuditError::Altered { .. }) => {}
        }
        stored
    }

    async fn create(&self, line: &Line) -> Result<ProviderChange, AuditError> {
        let spec = ProviderChangeSpec::of(line).expect("only intents get an object");
        let mut object = ProviderChange::of(spec, &self.name);
        object.annotations_mut().insert(CHANGE_LOG_WRITER.to_owned(), self.writer.clone());
        let name = object.name_any();
        let params = PostParams::default();
        match persistently(|| in_time(self.api.create(&params, &object))).await {
            Ok(stored) => unaltered(stored, line),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                // Either our own earlier attempt, whose answer was lost, or another writer.
                match self.reread(&name).await? {
                    Some(found) if stores(&found, line) => Ok(found),
                    Some(found) => Err(AuditError::Superseded { by: found.spec.intent.change.who.pod }),
                    // It was deleted meanwhile or cannot be read, so that it names no writer: the next scan
                    // tells where the log ends.
                    None => Err(AuditError::Unavailable { name, source: "its name is taken".into() }),
                }
            }
            Err(error) => Err(AuditError::from_client(&name, error)),
        }
    }

    async fn settle(&self, mut object: ProviderChange, line: &Line) -> Result<ProviderChange, AuditError> {
        let name = object.name_any();
        let status = ProviderChangeStatus::of(line);
        let params = PostParams::default();
        for _ in 0..CONFLICT_ROUNDS {
            object.status.clone_from(&status);
            match persistently(|| in_time(self.api.replace_status(&name, &params, &object))).await {
                Ok(stored) => return unaltered(stored, line),
                Err(kube::Error::Api(answer)) if answer.is_not_found() => {
                    return Err(AuditError::Vanished { name });
                }
                Err(kube::Error::Api(answer)) if answer.is_conflict() => {}
                Err(error) => return Err(AuditError::from_client(&name, error)),
            }
            object = match self.reread(&name).await? {
                Some(found) if found.status == status => return Ok(found),
                Some(found) if found.status.is_none() && self.is_ours(&found) => found,
                Some(found) => return Err(AuditError::Superseded { by: writer_of(&found) }),
                None => return Err(AuditError::Vanished { name }),
            };
        }
        let source = "its metadata changes faster than its outcome can be written".into();
        Err(AuditError::Unavailable { name, source })
    }

    /// The object as stored; `None` if it is gone or cannot be read.
    async fn reread(&self, name: &str) -> Result<Option<ProviderChange>, AuditError> {
        match persistently(|| in_time(self.listing.get_opt(name))).await {
            Ok(found) => Ok(found.and_then(|DeserializeGuard(object)| object.ok())),
            // Whatever it is, it leaves doubt about the write before.
            Err(error) => Err(AuditError::Unavailable { name: name.to_owned(), source: Box::new(error) }),
        }
    }

    /// Scans until every object without outcome is marked as ours. Then no other writer can add an outcome,
    /// and its next intent conflicts with ours.
    async fn take_over(&self) -> Result<Found, AuditError> {
        let mut foreign = String::new();
        for _ in 0..TAKE_OVER_ROUNDS {
            let found = self.scan().await?;
            let mut marked = false;
            for object in found.open.iter().filter(|object| !self.is_ours(object)) {
                marked = true;
                foreign = writer_of(object);
                self.mark_as_ours(object).await?;
            }
            if !marked {
                return Ok(found);
            }
        }
        Err(AuditError::Superseded { by: foreign })
    }

    async fn scan(&self) -> Result<Found, AuditError> {
        let list = || {
            let nothing = || Found { log: self.name.clone(), last: None, sequence: 0, open: vec![] };
            read::fold(&self.listing, nothing, |found, object| match object {
                Ok(object) => found.see(object),
                Err(invalid) => {
                    let name = invalid.metadata.name.as_deref().unwrap_or_default();
                    if found.log.number_of(name).is_some() {
                        warn!(name, error = %invalid.error, "An object of the change log cannot be read.");
                    }
                    found.reserve(name);
                }
            })
        };
        persistently(list).await.map_err(|error| AuditError::from_client("providerchanges", error))
    }

    async fn mark_as_ours(&self, object: &ProviderChange) -> Result<(), AuditError> {
        let name = object.name_any();
        let patch = Patch::Merge(json!({ "metadata": {
            "resourceVersion": object.resource_version(),
            "annotations": { CHANGE_LOG_WRITER: self.writer },
        } }));
        let params = PatchParams::default();
        match persistently(|| in_time(self.api.patch_metadata(&name, &params, &patch))).await {
            Ok(_) => Ok(()),
            // The other writer was faster, or somebody deleted it: the next scan tells.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => Ok(()),
            Err(error) => Err(AuditError::from_client(&name, error)),
        }
    }

    fn is_ours(&self, object: &ProviderChange) -> bool {
        object.annotations().get(CHANGE_LOG_WRITER) == Some(&self.writer)
    }
}

impl Head {
    fn resume(&mut self, found: &Found) {
        if let Some(last) = &found.last {
            self.shipper.ship_resume(last);
        }
    }
}

impl Found {
    fn see(&mut self, object: ProviderChange) {
        let sequence = object.spec.intent.sequence;
        if self.log.number_of(&object.name_any()).is_none() {
            return;
        }
        if object.name_any() != self.log.object_name(sequence) {
            warn!(name = object.name_any(), sequence, "An object of the change log has a wrong name.");
            self.reserve(&object.name_any());
            return;
        }
        self.sequence = self.sequence.max(sequence);
        for line in object.lines() {
            if self.last.as_ref().is_none_or(|last| last.line < line.line) {
                self.last = Some(line);
            }
        }
        if object.status.is_none() {
            self.open.push(object);
        }
    }

    /// Leaves out the sequence of an object that says nothing: its name is taken all the same, and an intent of
    /// that name would conflict for ever. `changes verify` shows the gap.
    fn reserve(&mut self, name: &str) {
        if let Some(sequence) = self.log.number_of(name).and_then(sequence_of) {
            self.sequence = self.sequence.max(sequence);
        }
    }

    fn tail(&self) -> Tail {
        let start = self.log.start().hash;
        let (line, hash) = self.last.as_ref().map_or((0, start), |last| (last.line, last.hash));
        Tail { line, sequence: self.sequence, hash }
    }
}

/// The sequence that an object is named by. A number beyond what canonical JSON holds is none: no intent could
/// follow it.
fn sequence_of(number: &str) -> Option<u64> {
    let sequence = number.parse().ok().filter(|sequence| *sequence < LARGEST_SEQUENCE)?;
    (name_of(sequence) == number).then_some(sequence)
}

fn writer_of(object: &ProviderChange) -> String {
    let mark = object.annotations().get(CHANGE_LOG_WRITER);
    mark.unwrap_or(&object.spec.intent.change.who.pod).clone()
}

/// Whether the object holds the line. Compared in canonical form: the server may write a number in another way.
fn stores(object: &ProviderChange, line: &Line) -> bool {
    let text = line.canonical();
    object.lines().any(|stored| stored.canonical() == text)
}

fn unaltered(stored: ProviderChange, line: &Line) -> Result<ProviderChange, AuditError> {
    if stores(&stored, line) { Ok(stored) } else { Err(AuditError::Altered { name: stored.name_any() }) }
}
