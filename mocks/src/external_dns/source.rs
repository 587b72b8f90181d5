//! What is wanted: the endpoints of the DNSEndpoints that carry a label.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value;

/// The label that external-dns filters on: `--label-filter=k8gb.io/dnstype=extdns`.
const LABEL: (&str, &str) = ("k8gb.io/dnstype", "extdns");
/// TTL of an endpoint that names none, in seconds.
const DEFAULT_TTL: u32 = 300;

/// One wanted set of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) rtype: String,
    pub(super) ttl: u32,
    pub(super) targets: BTreeSet<String>,
    /// `crd/<namespace>/<name>` of the first object that wants it.
    pub(super) resource: String,
}

/// Whether external-dns sees an object.
pub(super) fn is_seen(object: &Value) -> bool {
    object["metadata"]["labels"][LABEL.0] == LABEL.1
}

/// The endpoints of all objects. Those of one name, type and TTL are one (contract §9.5).
pub(super) fn wanted(objects: &[Value]) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for object in objects {
        for endpoint in object["spec"]["endpoints"].as_array().into_iter().flatten() {
            let Some(wanted) = of_endpoint(object, endpoint) else { continue };
            let same = |known: &&mut Wanted| {
                (&known.name, &known.rtype, known.ttl) == (&wanted.name, &wanted.rtype, wanted.ttl)
            };
            match all.iter_mut().find(same) {
                Some(known) => known.targets.extend(wanted.targets),
                None => all.push(wanted),
            }
        }
    }
    all
}

fn of_endpoint(object: &Value, endpoint: &Value) -> Option<Wanted> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rtype = text(&endpoint["recordType"]);
    let targets = endpoint["targets"].as_array().into_iter().flatten().map(text);
    let targets: BTreeSet<String> = targets.collect();
    // An endpoint with a final dot in a target is skipped as a whole, but for types that may have one.
    if !matches!(rtype.as_str(), "CNAME" | "TXT") && targets.iter().any(|target| target.ends_with('.')) {
        return None;
    }
    let is_valid = |target: &String| match rtype.as_str() {
        "A" => target.parse::<Ipv4Addr>().is_ok(),
        "AAAA" => target.parse::<Ipv6Addr>().is_ok(),
        _ => true,
    };
    let ttl = endpoint["recordTTL"].as_u64().and_then(|ttl| u32::try_from(ttl).ok());
    let metadata = &object["metadata"];
    Some(Wanted {
        name: text(&endpoint["dnsName"]).trim_end_matches('.').to_lowercase(),
        ttl: ttl.filter(|ttl| *ttl > 0).unwrap_or(DEFAULT_TTL),
        targets: targets.into_iter().filter(is_valid).collect(),
        resource: format!("crd/{}/{}", text(&metadata["namespace"]), text(&metadata["name"])),
        rtype,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, endpoints: &Value) -> Value {
        json!({"metadata": {"namespace": "demo", "name": name}, "spec": {"endpoints": endpoints}})
    }

    fn a(name: &str, ttl: u32, targets: &[&str]) -> Value {
        json!({"dnsName": name, "recordType": "A", "recordTTL": ttl, "targets": targets})
    }

    #[test]
    fn endpoints_of_one_name_type_and_ttl_are_one_set_over_objects() {
        let found = wanted(&[
            object("first", &json!([a("app.example.com", 30, &["192.0.2.1"])])),
            object("second", &json!([a("App.example.com.", 30, &["192.0.2.2"])])),
            object("third", &json!([a("app.example.com", 60, &["192.0.2.3"])])),
        ]);
        let set = |ttl, targets: &[&str], resource: &str| Wanted {
            name: "app.example.com".to_owned(),
            rtype: "A".to_owned(),
            ttl,
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            resource: resource.to_owned(),
        };
        let expected = [
            set(30, &["192.0.2.1", "192.0.2.2"], "crd/demo/first"),
            set(60, &["192.0.2.3"], "crd/demo/third"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_server_with_a_final_dot_loses_its_endpoint_and_a_bad_address_only_itself() {
        let ns = json!({"dnsName": "cloud.example.com", "recordType": "NS", "targets": ["ns.example.com."]});
        let found =
            wanted(&[object("one", &json!([ns, a("app.example.com", 30, &["192.0.2.1", "nonsense"])]))]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].targets, BTreeSet::from(["192.0.2.1".to_owned()]));
    }
}
