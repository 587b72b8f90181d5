//! Lets the requests of several clients in one after the other, in an order that a seed draws: every interleaving can
//! be had, and had again.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};

/// Whose requests wait for each other. Clients are told apart by the account of their session; without a session, or
/// of another account, a request waits for nobody.
#[derive(Debug, Default)]
pub struct Turns {
    round: Mutex<Option<Round>>,
    /// Counts the requests that began to wait.
    arrivals: watch::Sender<u64>,
}

#[derive(Debug)]
struct Round {
    dice: StdRng,
    clients: BTreeSet<String>,
    waiting: BTreeMap<String, oneshot::Sender<()>>,
}

impl Turns {
    /// From now on a request of one of these clients is let in when all of them wait.
    pub fn begin(&self, seed: u64, clients: &[&str]) {
        let clients = clients.iter().map(|client| (*client).to_owned()).collect();
        let dice = StdRng::seed_from_u64(seed);
        *self.lock() = Some(Round { dice, clients, waiting: BTreeMap::new() });
    }

    /// This client asks nothing any more. The last one ends the round.
    pub fn leave(&self, client: &str) {
        let mut round = self.lock();
        if let Some(open) = round.as_mut() {
            open.clients.remove(client);
            open.let_in();
        }
        if round.as_ref().is_some_and(|open| open.clients.is_empty()) {
            *round = None;
        }
    }

    /// Lets that many requests of one client in, whoever else does not wait, and returns when the next one waits.
    pub async fn let_in(&self, client: &str, requests: usize) {
        for left in (0..=requests).rev() {
            let mut arrivals = self.arrivals.subscribe();
            while !self.lock().as_ref().is_some_and(|round| round.waiting.contains_key(client)) {
                if arrivals.changed().await.is_err() {
                    return;
                }
            }
            if left > 0 {
                let turn = self.lock().as_mut().and_then(|round| round.waiting.remove(client));
                // Nobody waits any more if the client gave up.
                turn.map(|turn| turn.send(())).unwrap_or(Ok(())).unwrap_or_default();
            }
        }
    }

    /// Waits for the turn of whoever sends these cookies.
    pub(crate) async fn take(&self, cookies: Option<&str>) {
        let turn = self.lock().as_mut().and_then(|round| round.wait(cookies?));
        if let Some(turn) = turn {
            self.arrivals.send_modify(|count| *count += 1);
            // A round that ended lets everybody in.
            drop(turn.await);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Round>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Round {
    fn wait(&mut self, cookies: &str) -> Option<oneshot::Receiver<()>> {
        let client = self.clients.iter().find(|client| cookies.contains(&format!("user={client},")))?;
        let (turn, wait) = oneshot::channel();
        self.waiting.insert(client.clone(), turn);
        self.let_in();
        Some(wait)
    }

    fn let_in(&mut self) {
        if self.waiting.is_empty() || self.waiting.len() < self.clients.len() {
            return;
        }
        let drawn = self.dice.random_range(0..self.waiting.len());
        let client = self.waiting.keys().nth(drawn).cloned().unwrap_or_default();
        if let Some(turn) = self.waiting.remove(&client) {
            // Nobody waits any more if the client gave up.
            turn.send(()).unwrap_or_default();
        }
    }
}
