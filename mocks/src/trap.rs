//! Traps: a request is carried out, its reply is held back for ever, and whoever set the trap is told.
//!
//! So a client can be killed at an exact point of its work: after the effect, before it knows of it.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

/// Waits for the one request that fits. Dropping it takes the trap away.
#[derive(Debug)]
pub struct Trap(oneshot::Receiver<()>);

impl Trap {
    /// Completes once a request fell into the trap; `false` if the server is gone and none will.
    pub async fn sprung(&mut self) -> bool {
        (&mut self.0).await.is_ok()
    }
}

/// The traps of one server, each with the condition that a request must meet.
#[derive(Debug)]
pub(crate) struct Traps<C>(Mutex<Vec<(C, oneshot::Sender<()>)>>);

impl<C> Default for Traps<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C> Traps<C> {
    /// Sets a trap for one request.
    pub(crate) fn set(&self, condition: C) -> Trap {
        let (tell, told) = oneshot::channel();
        self.lock().push((condition, tell));
        Trap(told)
    }

    /// The trap that a request with an effect falls into, if there is one. Each trap catches once.
    pub(crate) fn catch(&self, fits: impl Fn(&C) -> bool) -> Option<Caught> {
        let mut traps = self.lock();
        traps.retain(|(_, tell)| !tell.is_closed());
        let place = traps.iter().position(|(condition, _)| fits(condition))?;
        Some(Caught(traps.swap_remove(place).1))
    }

    /// Takes all traps away.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(C, oneshot::Sender<()>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in a trap.
pub(crate) struct Caught(oneshot::Sender<()>);

impl Caught {
    /// Tells the holder of the trap, and never completes: the request ends with its connection.
    pub(crate) async fn hold<T>(self) -> T {
        // Nobody listens any more: then the client waits for nothing, as on a dead connection.
        let _told = self.0.send(());
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_trap_catches_the_first_request_that_fits_and_no_other() {
        let traps = Traps::default();
        let mut trap = traps.set("eu");
        assert!(traps.catch(|condition| *condition == "us").is_none());
        let caught = traps.catch(|condition| *condition == "eu").unwrap();
        assert!(traps.catch(|condition| *condition == "eu").is_none());
        let held = tokio::spawn(caught.hold::<()>());
        assert!(trap.sprung().await);
        assert!(!held.is_finished());
        held.abort();
    }

    #[test]
    fn a_dropped_trap_catches_nothing() {
        let traps = Traps::default();
        drop(traps.set("eu"));
        assert!(traps.catch(|_| true).is_none());
    }
}
