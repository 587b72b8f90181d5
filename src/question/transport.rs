//! What is asked, how, and the seam between the client's policy and the network.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::name::DomainName;
use gslb_core::reply::{NoWord, Response};

/// Types that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryType {
    /// IPv4 addresses.
    A,
    /// Name servers.
    Ns,
}

/// A name and a type; the class is always IN.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// The name.
    pub name: DomainName,
    /// The type.
    pub query_type: QueryType,
}

impl Question {
    /// Asks for addresses.
    pub fn addresses(name: DomainName) -> Self {
        Self { name, query_type: QueryType::A }
    }

    /// Asks for name servers.
    pub fn name_servers(name: DomainName) -> Self {
        Self { name, query_type: QueryType::Ns }
    }
}

/// How a question travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Datagram; a truncated answer is asked for again over TCP.
    Udp,
    /// Stream.
    Tcp,
}

/// One try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// How.
    pub protocol: Protocol,
    /// When to give up.
    pub deadline: Duration,
}

const fn udp(milliseconds: u64) -> Attempt {
    Attempt { protocol: Protocol::Udp, deadline: Duration::from_millis(milliseconds) }
}

const fn tcp(milliseconds: u64) -> Attempt {
    Attempt { protocol: Protocol::Tcp, deadline: Duration::from_millis(milliseconds) }
}

/// How a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Tries in order. The next one is made when one brought no reply at all; a reply ends the matter, also
    /// SERVFAIL.
    pub attempts: &'static [Attempt],
    /// RD: whether the server shall ask others for us.
    pub recursion: bool,
}

impl Options {
    /// One try of a second: a sweep over healthy peers. A peer is authoritative, so RD stays off.
    pub const SWEEP: Self = Self { attempts: &[udp(1_000)], recursion: false };
    /// The three tries that turn a doubt into a verdict within 3 s (design §2.1).
    pub const DOUBT: Self = Self { attempts: &[udp(500), udp(1_000), tcp(1_000)], recursion: false };
    /// A resolver, of which there may be more: two tries that survive one lost packet.
    pub const RESOLVER: Self = Self { attempts: &[udp(1_000), udp(1_000)], recursion: true };
    /// A server of the parent zone, about a delegation: it must not ask others (RD=0).
    pub const REFERRAL: Self = Self { attempts: &[udp(1_000), udp(1_000)], recursion: false };
}

/// One message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What is asked.
    pub question: Question,
    /// RD.
    pub recursion: bool,
    /// Whether EDNS announces a payload of 1232 octets.
    pub edns: bool,
    /// Whether letters of the name get random case (0x20), so that a forger has more to guess.
    pub mixed_case: bool,
}

/// A reply whose id, source and question are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The reply.
    pub response: Response,
    /// Whether the question came back with every letter in the case it was sent.
    pub case_kept: bool,
}

/// Carries one query to one server and brings back its reply.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Returns within about `attempt.deadline`.
    ///
    /// # Errors
    /// [`NoWord::Timeout`], [`NoWord::Network`], or [`NoWord::Malformed`] if nothing but garbage came.
    async fn exchange(&self, server: SocketAddr, attempt: Attempt, query: &Query) -> Result<Heard, NoWord>;
}
