//! The signals that end a daemon.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, which Kubernetes sends, and SIGINT, which a terminal sends.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on neither ends the process by itself.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes at the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
