//! Watches: a position in a collection's changes, and a stream that follows it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures::Stream;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::ApiServer;
use super::faults::Signals;
use super::kinds::Kind;
use super::object::{Object, set_metadata};
use super::request::{Format, Query};
use super::selector::Selector;
use super::status::ApiError;
use super::store::{Change, ChangeKind, Store};
use super::table::{metadata_only, table};
use super::write::from_stored;

/// As kube-apiserver: about one bookmark a minute.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// As kube-apiserver: how long before its end a watch gets a bookmark, so that the next one goes on from the present.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Changes taken under one lock, so that a watch far behind does not hold it for long.
const BATCH: usize = 256;

/// What one watch wants to see.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) kind: Arc<Kind>,
    pub(super) namespace: String,
    pub(super) selector: Selector,
    pub(super) format: Format,
}

impl Scope {
    fn sees(&self, object: &Object) -> bool {
        (self.namespace.is_empty() || object.key.namespace == self.namespace) && self.selector.matches(object)
    }

    /// The event that this watch makes of a change, if it is any of its business.
    fn event(&self, change: &Change) -> Option<String> {
        let saw = change.before.as_deref().is_some_and(|before| self.sees(before));
        let sees = change.kind != ChangeKind::Deleted && self.sees(&change.object);
        match (saw, sees) {
            (false, false) => None,
            (false, true) => Some(self.line("ADDED", &change.object)),
            (true, true) => Some(self.line("MODIFIED", &change.object)),
            (true, false) if change.kind == ChangeKind::Deleted => Some(self.line("DELETED", &change.object)),
            // It moved out of the selector: the state that was last seen, under the version of the move.
            (true, false) => {
                let mut value = change.before.as_ref()?.value();
                set_metadata(
                    &mut value,
                    "resourceVersion",
                    Some(json!(change.resource_version().to_string())),
                );
                Some(line("DELETED", &self.render(value)))
            }
        }
    }

    fn line(&self, event: &str, object: &Object) -> String {
        if self.format == Format::Plain && !self.kind.converts() {
            return line(event, &object.json);
        }
        line(event, &self.render(object.value()))
    }

    fn render(&self, mut value: Value) -> String {
        from_stored(&self.kind, &mut value);
        render(&self.kind, value, self.format)
    }

    fn bookmark(&self, version: u64, initial: bool) -> String {
        let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        if initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object =
            json!({"kind": self.kind.kind, "apiVersion": self.kind.api_version(), "metadata": metadata});
        line("BOOKMARK", &object.to_string())
    }
}

/// One object as a client asked for it.
pub(super) fn render(kind: &Kind, value: Value, format: Format) -> String {
    match format {
        Format::Plain => value.to_string(),
        Format::MetadataOnly => metadata_only(&value).to_string(),
        Format::Table(include) => {
            let metadata = json!({"resourceVersion": value["metadata"]["resourceVersion"]});
            table(kind, &[value], include, metadata).to_string()
        }
    }
}

fn line(event: &str, object: &str) -> String {
    format!("{{\"type\":\"{event}\",\"object\":{object}}}\n")
}

/// A running watch.
#[derive(Debug)]
pub(super) struct Watcher {
    server: ApiServer,
    scope: Scope,
    pending: VecDeque<String>,
    position: u64,
    latest: watch::Receiver<u64>,
    signals: watch::Receiver<Signals>,
    dropped_before: u64,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    finished: bool,
}

impl Watcher {
    /// Starts a watch as the parameters ask; `store` is that of `server`, locked.
    pub(super) fn start(
        server: &ApiServer,
        store: &mut Store,
        scope: Scope,
        query: &Query,
    ) -> Result<Self, ApiError> {
        let start = Start::parse(query)?;
        let revision = store.revision();
        let collection = store.collection(&scope.kind);
        let mut pending = VecDeque::new();
        let position = match start.from {
            Some(version) if version > revision => {
                let message = format!("Timeout: Too large resource version: {version}, current: {revision}");
                return Err(ApiError::new(504, "Timeout", message));
            }
            // Kubernetes says 200 first and then sends the error as an event: so does the stream below.
            Some(version) => version,
            None => revision,
        };
        if start.initial_events {
            let seen = collection.list(&scope.namespace).filter(|object| scope.sees(object));
            pending.extend(seen.map(|object| scope.line("ADDED", object)));
            if start.marks_end {
                pending.push_back(scope.bookmark(revision, true));
            }
        }
        let signals = server.faults().signals();
        let dropped_before = signals.borrow().drops;
        let now = Instant::now();
        Ok(Self {
            server: server.clone(),
            latest: collection.subscribe(),
            dropped_before,
            signals,
            scope,
            pending,
            position: if start.initial_events { revision } else { position },
            bookmarks: query.flag("allowWatchBookmarks"),
            next_bookmark: next_bookmark(now, now + start.timeout),
            deadline: now + start.timeout,
            finished: false,
        })
    }

    /// The chunks of the answer, one event each.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        futures::stream::unfold(self, |mut watcher| async move {
            let event = watcher.next().await?;
            Some((Ok(Bytes::from(event)), watcher))
        })
    }

    async fn next(&mut self) -> Option<String> {
        loop {
            let signals = *self.signals.borrow_and_update();
            if signals.drops != self.dropped_before {
                return None;
            }
            if !signals.frozen {
                if let Some(event) = self.pending.pop_front() {
                    return Some(event);
                }
                if self.finished {
                    return None;
                }
                self.fill();
                if !self.pending.is_empty() {
                    continue;
                }
            }
            self.wait().await;
        }
    }

    /// Waits until there may be something to say.
    async fn wait(&mut self) {
        let wake = self.deadline.min(if self.bookmarks { self.next_bookmark } else { self.deadline });
        tokio::select! {
            changed = self.latest.changed() => self.finished |= changed.is_err(),
            changed = self.signals.changed() => self.finished |= changed.is_err(),
            // One that is over and frozen has nothing left to wait for but the thaw.
            () = sleep_until(wake), if !self.finished => {
                self.finished |= wake == self.deadline;
                if self.bookmarks {
                    self.next_bookmark = next_bookmark(Instant::now(), self.deadline);
                    self.pending.push_back(self.scope.bookmark(self.position, false));
                }
            }
        }
    }

    fn fill(&mut self) {
        let position = self.position;
        let (compacted, changes, revision, served) = self.server.with_store(|store| {
            let revision = store.revision();
            let kind = &self.scope.kind;
            let served = store.registry.find(&kind.group, &kind.version, &kind.plural).is_some();
            let collection = store.collection(kind);
            (collection.compacted, collection.changes_after(position, BATCH), revision, served)
        });
        if compacted > position {
            let error = ApiError::expired(position, compacted);
            self.pending.push_back(line("ERROR", &error.body().to_string()));
            self.finished = true;
            return;
        }
        self.pending.extend(changes.iter().filter_map(|change| self.scope.event(change)));
        // With its definition a kind loses its storage, and with that its watches.
        self.finished |= !served && changes.len() < BATCH;
        // Caught up: everything up to the present was looked at, also what happened to other kinds.
        self.position = if changes.len() < BATCH { revision } else { changes[BATCH - 1].resource_version() };
    }
}

/// After a minute, and shortly before the watch ends.
fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let regular = now + BOOKMARK_EVERY;
    match deadline.checked_sub(BOOKMARK_BEFORE_END) {
        Some(last) if last > now => regular.min(last),
        _ => regular,
    }
}

/// Where a watch begins.
struct Start {
    from: Option<u64>,
    initial_events: bool,
    marks_end: bool,
    timeout: Duration,
}

impl Start {
    fn parse(query: &Query) -> Result<Self, ApiError> {
        let from = query.number("resourceVersion")?;
        let streams = query.choice("sendInitialEvents");
        if streams.is_some() && query.get("resourceVersionMatch") != "NotOlderThan" {
            return Err(invalid_options(
                "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        if streams.is_none() && !query.get("resourceVersionMatch").is_empty() {
            return Err(invalid_options(
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        // As kube-apiserver: between half an hour and an hour, so that clients do not come back all at once.
        let seconds = query.number("timeoutSeconds")?.filter(|seconds| *seconds > 0);
        Ok(Self {
            // 0 means "any version", which the present one is.
            from: from.filter(|version| *version > 0),
            initial_events: streams.unwrap_or(from.unwrap_or(0) == 0),
            marks_end: streams == Some(true) && query.flag("allowWatchBookmarks"),
            timeout: Duration::from_secs(seconds.unwrap_or_else(|| rand::random_range(1800..3600))),
        })
    }
}

fn invalid_options(detail: &str) -> ApiError {
    ApiError::new(422, "Invalid", format!("ListOptions.meta.k8s.io \"\" is invalid: {detail}"))
}
