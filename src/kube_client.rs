//! The client of the Kubernetes API, and how its watches are asked for: nothing waits for a word without a bound.
//!
//! An API server that is gone does not always say so. A connection may be half open, and a proxy may take a request and
//! never pass it on. Whoever waits for such a list or watch would be blind, and nobody would be told.

use std::time::Duration;

use kube::runtime::watcher;
use kube::{Client, Config};

/// Longest silence of the API server while something is awaited: an answer, or the next byte of a watch. Then the
/// connection is given up, and the request has failed. As client-go, which asks a silent connection for a sign of life
/// after 30 s and gives it 15 s.
const SILENCE: Duration = Duration::from_secs(45);
/// How long a watch is asked for, in seconds. The API server ends it then, and a calm one goes on where it was: so one
/// that is merely calm is never taken for a silent one.
const WATCH: u32 = 40;
/// Longest wait for a connection, with TLS. No outside reference.
const CONNECT: Duration = Duration::from_secs(10);

/// A client as `config` says. What the API server refuses because it has too much to do is told at once: the pauses
/// between tries are the callers', who log them, and a client that tries again by itself is silent for minutes.
///
/// # Errors
/// The configuration cannot be used.
pub(crate) fn client(config: Config) -> kube::Result<Client> {
    client_with(config, SILENCE)
}

fn client_with(mut config: Config, silence: Duration) -> kube::Result<Client> {
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(silence);
    config.write_timeout = Some(silence);
    // The silence begins with the request, not when its connection was last used.
    config.reset_reader_on_write = true;
    config.default_retry = false;
    Client::try_from(config)
}

/// How every watch is asked for.
pub(crate) fn watching() -> watcher::Config {
    watcher::Config::default().timeout(WATCH)
}

#[cfg(test)]
mod tests;
