//! A transport of values: no sockets, so that time can stand still.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::reply::{NoWord, Response};

use crate::question::{Attempt, Client, Heard, Query, Transport};

/// What a server does with a question.
pub(super) enum Act {
    /// Answers at once.
    Answer(Response),
    /// Answers after a time.
    Late(Duration, Response),
    /// Says nothing.
    Silence,
    /// The network fails at once.
    Fail(NoWord),
}

type Script = dyn Fn(SocketAddr, &Query) -> Act + Send + Sync;

#[derive(Default)]
struct Log {
    asked: Vec<(SocketAddr, Attempt, Query)>,
    open: Vec<SocketAddr>,
    most_open: usize,
    most_open_at_one: usize,
}

/// Servers that act as one script says.
#[derive(Clone)]
pub(super) struct Fake {
    script: Arc<Script>,
    log: Arc<Mutex<Log>>,
}

impl Fake {
    pub(super) fn new(script: impl Fn(SocketAddr, &Query) -> Act + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), log: Arc::default() }
    }

    /// A client whose resolvers are at these addresses.
    pub(super) fn client(&self, resolvers: &[SocketAddr]) -> Client {
        let servers: Vec<_> = resolvers
            .iter()
            .map(|at| crate::config::ServerAddress {
                host: crate::config::Host::Address(at.ip()),
                port: at.port(),
            })
            .collect();
        Client::new(self.clone(), servers)
    }

    pub(super) fn asked(&self) -> Vec<(SocketAddr, Attempt, Query)> {
        self.log.lock().unwrap().asked.clone()
    }

    /// The names that were asked for, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.asked().into_iter().map(|(_, _, query)| query.question.name.to_string()).collect()
    }

    /// Most questions open at once: over all servers, and at one server.
    pub(super) fn most_open(&self) -> (usize, usize) {
        let log = self.log.lock().unwrap();
        (log.most_open, log.most_open_at_one)
    }

    fn open(&self, server: SocketAddr, attempt: Attempt, query: &Query) {
        let mut log = self.log.lock().unwrap();
        log.asked.push((server, attempt, query.clone()));
        log.open.push(server);
        log.most_open = log.most_open.max(log.open.len());
        let here = log.open.iter().filter(|open| **open == server).count();
        log.most_open_at_one = log.most_open_at_one.max(here);
    }

    fn close(&self, server: SocketAddr) {
        let mut log = self.log.lock().unwrap();
        let at = log.open.iter().position(|open| *open == server).unwrap();
        log.open.swap_remove(at);
    }
}

#[async_trait]
impl Transport for Fake {
    async fn exchange(&self, server: SocketAddr, attempt: Attempt, query: &Query) -> Result<Heard, NoWord> {
        self.open(server, attempt, query);
        let outcome = match (self.script)(server, query) {
            Act::Answer(response) => Ok(Heard { response, case_kept: true }),
            Act::Late(delay, response) => {
                tokio::time::sleep(delay).await;
                Ok(Heard { response, case_kept: true })
            }
            Act::Silence => {
                tokio::time::sleep(attempt.deadline).await;
                Err(NoWord::Timeout)
            }
            Act::Fail(no_word) => Err(no_word),
        };
        self.close(server);
        outcome
    }
}
