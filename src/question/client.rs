//! How questions are asked: which tries, which fallbacks, how many at once.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, stream};
use gslb_core::reply::{Judgement, NoWord, Reply, Response, rcode};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use super::resolve::Resolved;
use super::transport::{Attempt, Heard, Options, Protocol, Query, Question, Transport};
use crate::config::ServerAddress;

/// Sockets that are open at once, over all servers. With [`PER_SERVER`] at a round trip of 100 ms, 500 hosts of
/// one peer take 1.6 s, and three silent servers leave room for the others.
const IN_FLIGHT: usize = 128;
/// Questions of one [`Client::ask_many`] that are open at once at one server.
const PER_SERVER: usize = 32;
/// A server that let so many questions pass, and answered none, is not asked the rest of the list.
const SILENT_AFTER: usize = 8;

/// Asks DNS servers. Cheap to clone; all clones share one bound of open sockets.
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    sockets: Arc<Semaphore>,
    pub(super) resolvers: Arc<[ServerAddress]>,
}

impl Client {
    /// `resolvers` are `EDGE_DNS_SERVERS`, in order.
    pub fn new(transport: impl Transport, resolvers: impl Into<Arc<[ServerAddress]>>) -> Self {
        Self {
            transport: Arc::new(transport),
            sockets: Arc::new(Semaphore::new(IN_FLIGHT)),
            resolvers: resolvers.into(),
        }
    }

    /// The same, which asks other resolvers.
    #[must_use]
    pub fn through(&self, resolvers: impl Into<Arc<[ServerAddress]>>) -> Self {
        Self { resolvers: resolvers.into(), ..self.clone() }
    }

    /// Whom it asks for names.
    pub fn resolvers(&self) -> &[ServerAddress] {
        &self.resolvers
    }

    /// The addresses of a name, as one server tells them. An alias that leads out of the reply is resolved
    /// through `EDGE_DNS_SERVERS`.
    pub async fn ask(&self, server: SocketAddr, question: &Question, options: &Options) -> Reply {
        let response = match self.exchange(server, question, options).await {
            Ok(response) => response,
            Err(no_word) => return Reply::NoWord(no_word),
        };
        let (target, authoritative) = match response.judge(&question.name) {
            Judgement::Settled(reply) => return reply,
            Judgement::Alias { target, authoritative } => (target, authoritative),
        };
        match self.resolve(&target).await {
            Resolved::Found { addresses, .. } => {
                Reply::Positive { addresses, authoritative, partial: false, alias: Some(target) }
            }
            // The server vouches for the alias only; that it leads nowhere is a resolver's word.
            Resolved::Absent { .. } => Reply::Negative { authoritative: false, name_exists: true },
            Resolved::NoWord(no_word) => Reply::NoWord(no_word),
        }
    }

    /// Asks many questions concurrently and bounded. A server that stays silent is given up after one window,
    /// so that its list costs one series of tries, however long it is.
    pub async fn ask_many(
        &self,
        questions: impl IntoIterator<Item = (SocketAddr, Question)>,
        options: &Options,
    ) -> BTreeMap<(SocketAddr, Question), Reply> {
        let mut by_server: BTreeMap<SocketAddr, Vec<Question>> = BTreeMap::new();
        for (server, question) in questions {
            by_server.entry(server).or_default().push(question);
        }
        let servers = by_server.into_iter().map(|(server, list)| self.ask_list(server, list, options));
        futures::future::join_all(servers).await.into_iter().flatten().collect()
    }

    async fn ask_list(
        &self,
        server: SocketAddr,
        questions: Vec<Question>,
        options: &Options,
    ) -> Vec<((SocketAddr, Question), Reply)> {
        let tally = &Mutex::new(Tally::default());
        let ask = |question: Question| async move {
            let given_up = tally.lock().unwrap_or_else(PoisonError::into_inner).given_up();
            let reply = match given_up {
                Some(no_word) => Reply::NoWord(no_word),
                None => self.ask(server, &question, options).await,
            };
            tally.lock().unwrap_or_else(PoisonError::into_inner).count(&reply);
            ((server, question), reply)
        };
        stream::iter(questions).map(ask).buffer_unordered(PER_SERVER).collect().await
    }

    /// The raw response of a server to one question, after all tries and fallbacks.
    ///
    /// # Errors
    /// No try brought a reply. A try that failed at once (nobody listens) waits for its deadline before the
    /// next one: a server that restarts deserves the time.
    pub async fn exchange(
        &self,
        server: SocketAddr,
        question: &Question,
        options: &Options,
    ) -> Result<Response, NoWord> {
        let mut silence = NoWord::Timeout;
        let mut tries = options.attempts.iter().peekable();
        while let Some(attempt) = tries.next() {
            let end = Instant::now() + attempt.deadline;
            match self.attempt(server, question, options.recursion, *attempt).await {
                Ok(response) => return Ok(response),
                Err(no_word) => silence = no_word,
            }
            if tries.peek().is_some() {
                sleep_until(end).await;
            }
        }
        Err(silence)
    }

    /// One try with its fallbacks: without EDNS, over TCP, without mixed case.
    async fn attempt(
        &self,
        server: SocketAddr,
        question: &Question,
        recursion: bool,
        attempt: Attempt,
    ) -> Result<Response, NoWord> {
        let udp = attempt.protocol == Protocol::Udp;
        let mut query = Query { question: question.clone(), recursion, edns: true, mixed_case: udp };
        let mut heard = self.send(server, attempt, &query).await?;
        if matches!(heard.response.rcode, rcode::FORM_ERR | rcode::NOT_IMP | rcode::BAD_VERS) {
            // RFC 6891 §7: a server from before EDNS.
            query.edns = false;
            heard = self.send(server, attempt, &query).await?;
        }
        if !udp || (heard.case_kept && !heard.response.truncated) {
            return Ok(heard.response);
        }
        // TCP needs two round trips where UDP needs one.
        let stream = Attempt { protocol: Protocol::Tcp, deadline: attempt.deadline * 2 };
        match self.send(server, stream, &Query { mixed_case: false, ..query.clone() }).await {
            Ok(complete) => Ok(complete.response),
            // Cut off: what there is, marked. The judgement decides what it is worth.
            Err(_) if heard.case_kept => Ok(heard.response),
            // Other case than asked: a server that rewrites names, or a forger who did not see the question.
            // TCP would have told; without it a second, independent reply must do.
            Err(_) => {
                query.mixed_case = false;
                Ok(self.send(server, attempt, &query).await?.response)
            }
        }
    }

    async fn send(&self, server: SocketAddr, attempt: Attempt, query: &Query) -> Result<Heard, NoWord> {
        let permit = self.sockets.acquire().await;
        let heard = self.transport.exchange(server, attempt, query).await;
        drop(permit);
        heard
    }
}

/// How one server did in one list.
#[derive(Debug, Default)]
struct Tally {
    heard: bool,
    silences: usize,
    last: Option<NoWord>,
}

impl Tally {
    /// A useless reply is still a reply; only saying nothing at all is silence.
    fn count(&mut self, reply: &Reply) {
        match reply {
            Reply::NoWord(no_word @ (NoWord::Timeout | NoWord::Network(_))) => {
                self.silences += 1;
                self.last = Some(no_word.clone());
            }
            Reply::Positive { .. } | Reply::Negative { .. } | Reply::NoWord(_) => self.heard = true,
        }
    }

    /// The reason to expect from a server that is not worth asking.
    fn given_up(&self) -> Option<NoWord> {
        self.last.clone().filter(|_| !self.heard && self.silences >= SILENT_AFTER)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("resolvers", &self.resolvers).finish_non_exhaustive()
    }
}
