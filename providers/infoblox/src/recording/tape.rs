//! Every exchange of a provider, in memory only: nothing of it is written before it was scrubbed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::answer::{Answer, Failure, Kind};
use crate::client::Request;

/// A request with its reply.
pub(super) struct Taped {
    /// The same for exchanges that were under way together.
    number: usize,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) body: Option<Value>,
    pub(super) answer: Answer,
}

/// Exchanges from when on, and until when, by a count that only grows.
struct Noted {
    began: u64,
    ended: u64,
    request: Request,
    outcome: Result<Answer, String>,
}

#[derive(Default)]
struct Reel {
    count: u64,
    noted: Vec<Noted>,
}

/// Notes what a client sends, and what came back in the end.
#[derive(Default)]
pub(crate) struct Tape(Mutex<Reel>);

impl Tape {
    /// A request is about to be sent.
    pub(crate) fn begin(&self) -> u64 {
        let mut reel = self.reel();
        reel.count += 1;
        reel.count
    }

    /// It is over. What was not even sent is not noted.
    pub(crate) fn end(&self, began: u64, request: &Request, outcome: &Result<Answer, Failure>) {
        if matches!(outcome, Err(Failure { kind: Kind::Here, .. })) {
            return;
        }
        let outcome = outcome.as_ref().cloned().map_err(|failure| failure.error.to_string());
        let mut reel = self.reel();
        reel.count += 1;
        let (ended, request) = (reel.count, request.clone());
        reel.noted.push(Noted { began, ended, request, outcome });
    }

    /// All of them in order, numbered; or what was said of the first one without a reply.
    pub(super) fn exchanges(&self) -> Result<Vec<Taped>, String> {
        let mut noted = std::mem::take(&mut self.reel().noted);
        noted.sort_by_key(|exchange| exchange.began);
        let (mut number, mut last_end) = (0, 0);
        let taped = noted.into_iter().map(|Noted { began, ended, request, outcome }| {
            if began > last_end {
                number += 10;
            }
            last_end = last_end.max(ended);
            let Request { method, target, body } = request;
            outcome.map(|answer| Taped { number, method: method.to_string(), target, body, answer })
        });
        taped.collect()
    }

    fn reel(&self) -> MutexGuard<'_, Reel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taped {
    /// `10-get-zone-delegated-200`. Those that were under way together are told apart by what they ask for.
    fn stem(&self) -> String {
        let kind = self.target.split(['?', '/']).next().unwrap_or_default().replace([':', '_'], "-");
        let page = if self.target.contains("_page_id=") { "-page" } else { "" };
        let method = self.method.to_lowercase();
        format!("{}-{method}-{kind}{page}-{}", self.number, self.answer.status.as_u16())
    }
}

/// A name of its own for each exchange; the second that would have the name of another gets `-2`.
pub(super) fn file_names(taped: &[Taped]) -> Vec<String> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let name = |exchange: &Taped| {
        let stem = exchange.stem();
        let count = known.entry(stem.clone()).or_default();
        *count += 1;
        match *count {
            1 => format!("{stem}.json"),
            count => format!("{stem}-{count}.json"),
        }
    };
    taped.iter().map(name).collect()
}
