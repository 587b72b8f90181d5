//! Which hosts are to have records: those of the Gslbs, as `run` last told them.

use std::collections::BTreeSet;

use gslb_core::name::DomainName;
use gslb_crds::{Gslb, LegacyGslb};
use gslb_provider_contract::Finding;
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kube::{Api, Client, ResourceExt};

use crate::kube_call::{in_time, said};

const CHECK: &str = "hosts";
/// Gslbs that one sentence names. No outside reference.
const MOST_NAMED: usize = 10;

/// The hosts of both groups, and what keeps others from being known.
pub(super) async fn of(client: &Client) -> (BTreeSet<DomainName>, Option<Finding>) {
    let params = ListParams::default();
    let canonical: Api<DeserializeGuard<Gslb>> = Api::all(client.clone());
    let legacy: Api<DeserializeGuard<LegacyGslb>> = Api::all(client.clone());
    let canonical = in_time(canonical.list(&params)).await;
    let legacy = match in_time(legacy.list(&params)).await {
        // The group need not be installed.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(list) => Ok(list.items),
    };
    let unwrapped =
        |guard: DeserializeGuard<LegacyGslb>| DeserializeGuard(guard.0.map(|LegacyGslb(gslb)| gslb));
    gather(
        canonical
            .and_then(|list| Ok(list.items.into_iter().chain(legacy?.into_iter().map(unwrapped)).collect())),
    )
}

fn gather(listed: kube::Result<Vec<DeserializeGuard<Gslb>>>) -> (BTreeSet<DomainName>, Option<Finding>) {
    let objects = match listed {
        Ok(objects) => objects,
        Err(error) => {
            let found = format!(
                "the Gslbs of the cluster could not be listed ({}), so what stands in the way of their hosts is not known",
                said(&error)
            );
            let fix = "use a kubeconfig or service account that may list gslbs of both groups";
            return (BTreeSet::new(), Some(Finding::unknown(CHECK, found, fix)));
        }
    };
    let (mut hosts, mut untold) = (BTreeSet::new(), Vec::new());
    for object in objects {
        let known = object.0.as_ref().ok().map(told).unwrap_or_default();
        if known.is_empty() {
            untold.push(format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any()));
        }
        hosts.extend(known);
    }
    let finding = (!untold.is_empty()).then(|| {
        let rest = if untold.len() > MOST_NAMED { ", …" } else { "" };
        untold.truncate(MOST_NAMED);
        Finding::unknown(
            CHECK,
            format!(
                "Gslb {}{rest} tells no host yet, so what stands in the way of it is not known",
                untold.join(", ")
            ),
            "start gslb-bridge run, see what its conditions say, and check again",
        )
    });
    (hosts, finding)
}

/// The hosts in the status of a Gslb.
fn told(gslb: &Gslb) -> Vec<DomainName> {
    let hosts = gslb.status.iter().filter_map(|status| status.hosts.as_deref());
    hosts.flat_map(|hosts| hosts.split(',')).filter_map(|host| DomainName::parse(host.trim()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use gslb_provider_contract::Severity;
    use serde_json::{Value, json};

    use super::*;

    fn gslb(name: &str, status: Value) -> DeserializeGuard<Gslb> {
        let object = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "status": status,
            "metadata": {"name": name, "namespace": "web"}, "spec": {"strategy": {"type": "roundRobin"}}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn hosts_are_those_that_the_status_tells_and_who_tells_none_is_named() {
        let told = gslb("app", json!({"hosts": "a.cloud.example.com, b.cloud.example.com"}));
        let (hosts, finding) = gather(Ok(vec![told.clone()]));
        let names: Vec<_> = hosts.iter().map(DomainName::as_str).collect();
        assert_eq!((names, finding), (vec!["a.cloud.example.com", "b.cloud.example.com"], None));
        let (hosts, finding) = gather(Ok(vec![told, gslb("new", json!({}))]));
        let finding = finding.unwrap();
        assert_eq!(
            (hosts.len(), finding.severity, finding.found.as_str()),
            (
                2,
                Severity::Unknown,
                "Gslb web/new tells no host yet, so what stands in the way of it is not known"
            )
        );
        let (hosts, finding) = gather(Err(kube::Error::LinesCodecMaxLineLengthExceeded));
        assert_eq!((hosts.len(), finding.unwrap().severity), (0, Severity::Unknown));
    }
}
