//! Whether the daemon is useful yet, and if not, what it waits for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// Handle to the conditions of readiness. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Mutex<BTreeMap<&'static str, Option<String>>>>);

/// One condition, as `/readyz` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Component {
    /// Its name.
    pub component: &'static str,
    /// Whether it is up.
    pub ready: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Readiness {
    /// Not ready until each of these components says so.
    pub fn waiting_for(components: impl IntoIterator<Item = &'static str>) -> Self {
        let waiting = components.into_iter().map(|component| (component, Some("not started yet".to_owned())));
        Self(Arc::new(Mutex::new(waiting.collect())))
    }

    /// A component is up.
    pub fn set_ready(&self, component: &'static str) {
        self.lock().insert(component, None);
    }

    /// A component is not up, or not any more.
    pub fn set_not_ready(&self, component: &'static str, reason: impl Into<String>) {
        self.lock().insert(component, Some(reason.into()));
    }

    /// All components by name.
    pub fn components(&self) -> Vec<Component> {
        let component = |(name, reason): (&&'static str, &Option<String>)| Component {
            component: name,
            ready: reason.is_none(),
            reason: reason.clone(),
        };
        self.lock().iter().map(component).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clones_of_a_handle_share_their_components() {
        let readiness = Readiness::waiting_for(["inputs", "peers"]);
        let ready = || readiness.components().iter().map(|component| component.ready).collect::<Vec<_>>();
        readiness.set_ready("inputs");
        assert_eq!(ready(), [true, false]);
        readiness.clone().set_ready("peers");
        assert_eq!(ready(), [true, true]);
    }

    #[test]
    fn a_component_that_goes_away_takes_readiness_with_it_and_says_why() {
        let readiness = Readiness::waiting_for(["inputs"]);
        readiness.set_ready("inputs");
        readiness.set_not_ready("process", "stopping");
        assert_eq!(
            readiness.components(),
            [
                Component { component: "inputs", ready: true, reason: None },
                Component { component: "process", ready: false, reason: Some("stopping".into()) },
            ]
        );
    }
}
