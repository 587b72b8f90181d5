//! One external-dns.

use std::time::Duration;

use serde_json::{Value, json};

use super::plan::{Rules, plan};
use super::source;
use super::zone::ParentZone;
use crate::kube::ApiServer;

const API_VERSION: &str = "externaldns.k8s.io/v1alpha1";
const KIND: &str = "DNSEndpoint";

/// The zone could not be read, so nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the zone cannot be read")]
pub struct Unreachable;

/// An external-dns of one cluster.
#[derive(Debug, Clone)]
pub struct Instance {
    name: String,
    cluster: ApiServer,
    zone: ParentZone,
    rules: Rules,
}

impl Instance {
    /// `name` is what the zone's writes say of their author.
    pub fn new(name: &str, cluster: ApiServer, zone: ParentZone, rules: Rules) -> Self {
        Self { name: name.to_owned(), cluster, zone, rules }
    }

    /// One round: the zone is read, then the objects, then the zone is updated.
    ///
    /// # Errors
    /// The zone cannot be reached. Nothing else is looked at then, as with the real one.
    pub fn round(&self, reaches_zone: bool) -> Result<(), Unreachable> {
        if !reaches_zone {
            return Err(Unreachable);
        }
        let records = self.zone.records();
        let objects = self.cluster.list(API_VERSION, KIND, "");
        let seen: Vec<Value> = objects.into_iter().filter(source::is_seen).collect();
        seen.iter().for_each(|object| self.tell_seen(object));
        let changes = plan(&self.rules, &records, &source::wanted(&seen));
        self.zone.update(&self.name, &changes);
        Ok(())
    }

    /// Makes rounds for ever. `reaches_zone` is asked before each.
    pub async fn run(self, interval: Duration, reaches_zone: impl Fn() -> bool) {
        loop {
            // A zone that is out of reach is tried again, like everything else.
            self.round(reaches_zone()).unwrap_or_default();
            tokio::time::sleep(interval).await;
        }
    }

    /// Notes in the object's status that this generation was read, before anything is done with it (contract §9.5).
    fn tell_seen(&self, object: &Value) {
        let generation = &object["metadata"]["generation"];
        if object["status"]["observedGeneration"] == *generation {
            return;
        }
        let mut object = object.clone();
        object["status"] = json!({"observedGeneration": generation});
        // Whoever wrote in between makes a generation that the next round sees.
        drop(self.cluster.put_status(object));
    }
}
