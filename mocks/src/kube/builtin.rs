//! What is particular to built-in kinds: how their lists merge, what the server fills in, their table columns.

use serde_json::{Map, Value, json};

use super::events;
use super::kinds::{Kind, field_text};
use super::table::age;

/// A table column of a built-in kind.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    /// 1: shown with `-o wide` only.
    pub(super) priority: i64,
    pub(super) cell: fn(&Value) -> String,
}

const fn column(name: &'static str, cell: fn(&Value) -> String) -> Column {
    Column { name, priority: 0, cell }
}

const fn wide(name: &'static str, cell: fn(&Value) -> String) -> Column {
    Column { name, priority: 1, cell }
}

const NAME: Column = column("Name", |object| field_text(object, "metadata.name"));
const AGE: Column = column("Age", |object| age(&field_text(object, "metadata.creationTimestamp")));

const SERVICE: &[Column] = &[
    NAME,
    column("Type", |service| field_text(service, "spec.type")),
    column("Cluster-IP", |service| or_none(field_text(service, "spec.clusterIP"))),
    column("External-IP", external_ip),
    column("Port(s)", service_ports),
    AGE,
    wide("Selector", |service| or_none(pairs(&service["spec"]["selector"]))),
];
const INGRESS: &[Column] = &[
    NAME,
    column("Class", |ingress| or_none(field_text(ingress, "spec.ingressClassName"))),
    column("Hosts", |ingress| {
        let hosts = texts(&ingress["spec"]["rules"], "host");
        if hosts.is_empty() { "*".into() } else { hosts.join(",") }
    }),
    column("Address", |ingress| addresses(ingress).join(",")),
    column("Ports", |ingress| if ingress["spec"]["tls"].is_array() { "80, 443".into() } else { "80".into() }),
    AGE,
];
const ENDPOINT_SLICE: &[Column] = &[
    NAME,
    column("AddressType", |slice| field_text(slice, "addressType")),
    column("Ports", |slice| or_unset(texts(&slice["ports"], "port"))),
    column("Endpoints", |slice| {
        let all = slice["endpoints"].as_array().into_iter().flatten();
        or_unset(all.flat_map(|endpoint| texts(&endpoint["addresses"], "")).collect())
    }),
    AGE,
];
const EVENT: &[Column] = &[
    column("Last Seen", |event| age(&last_seen(event))),
    column("Type", |event| field_text(event, "type")),
    column("Reason", |event| field_text(event, "reason")),
    column("Object", |event| {
        let object =
            if event["involvedObject"].is_object() { &event["involvedObject"] } else { &event["regarding"] };
        format!("{}/{}", field_text(object, "kind").to_lowercase(), field_text(object, "name"))
    }),
    column("Message", |event| {
        let message = field_text(event, "message");
        if message.is_empty() { field_text(event, "note") } else { message }
    }),
    wide("Source", |event| {
        let old = field_text(event, "source.component");
        if old.is_empty() { field_text(event, "reportingComponent") } else { old }
    }),
    wide("Name", |event| field_text(event, "metadata.name")),
];
const CONFIG_MAP: &[Column] = &[NAME, column("Data", |map| count(&map["data"])), AGE];
const SECRET: &[Column] = &[
    NAME,
    column("Type", |secret| field_text(secret, "type")),
    column("Data", |secret| count(&secret["data"])),
    AGE,
];
const NAMESPACE: &[Column] =
    &[NAME, column("Status", |namespace| field_text(namespace, "status.phase")), AGE];
const LEASE: &[Column] = &[NAME, column("Holder", |lease| field_text(lease, "spec.holderIdentity")), AGE];
const CRD: &[Column] = &[NAME, column("Created At", |crd| field_text(crd, "metadata.creationTimestamp"))];
const DEPLOYMENT: &[Column] = &[
    NAME,
    column("Ready", |deployment| {
        let number = |path| {
            if field_text(deployment, path).is_empty() { "0".into() } else { field_text(deployment, path) }
        };
        format!("{}/{}", number("status.readyReplicas"), number("spec.replicas"))
    }),
    AGE,
];
const POD: &[Column] = &[NAME, column("Status", |pod| field_text(pod, "status.phase")), AGE];
const OTHER: &[Column] = &[NAME, AGE];

pub(super) fn columns(plural: &str) -> &'static [Column] {
    match plural {
        "services" => SERVICE,
        "ingresses" => INGRESS,
        "endpointslices" => ENDPOINT_SLICE,
        "events" => EVENT,
        "configmaps" => CONFIG_MAP,
        "secrets" => SECRET,
        "namespaces" => NAMESPACE,
        "leases" => LEASE,
        "customresourcedefinitions" => CRD,
        "deployments" => DEPLOYMENT,
        "pods" => POD,
        _ => OTHER,
    }
}

fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".into() } else { text }
}

fn or_unset(list: Vec<String>) -> String {
    if list.is_empty() { "<unset>".into() } else { list.join(",") }
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let entries = list.as_array().into_iter().flatten();
    let text = |entry: &Value| {
        if field.is_empty() { entry.as_str().unwrap_or_default().into() } else { field_text(entry, field) }
    };
    entries.map(text).filter(|text: &String| !text.is_empty()).collect()
}

fn pairs(map: &Value) -> String {
    let pairs = map.as_object().into_iter().flatten();
    pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join(",")
}

fn count(map: &Value) -> String {
    map.as_object().map_or(0, Map::len).to_string()
}

fn addresses(object: &Value) -> Vec<String> {
    let list = object["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten();
    list.filter_map(|entry| entry["ip"].as_str().or(entry["hostname"].as_str())).map(str::to_owned).collect()
}

fn external_ip(service: &Value) -> String {
    let mut all = addresses(service);
    all.extend(texts(&service["spec"]["externalIPs"], ""));
    match (all.is_empty(), service["spec"]["type"] == "LoadBalancer") {
        (false, _) => all.join(","),
        (true, true) => "<pending>".into(),
        (true, false) => "<none>".into(),
    }
}

fn service_ports(service: &Value) -> String {
    let list = service["spec"]["ports"].as_array().into_iter().flatten();
    let port = |entry: &Value| {
        let node = entry["nodePort"].as_u64().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{node}/{}", entry["port"], entry["protocol"].as_str().unwrap_or("TCP"))
    };
    or_none(list.map(port).collect::<Vec<_>>().join(","))
}

fn last_seen(event: &Value) -> String {
    let paths = [
        "series.lastObservedTime",
        "lastTimestamp",
        "deprecatedLastTimestamp",
        "eventTime",
        "metadata.creationTimestamp",
    ];
    paths.iter().map(|path| field_text(event, path)).find(|time| !time.is_empty()).unwrap_or_default()
}

/// How lists of a built-in kind merge, for apply (`x-kubernetes-list-…`) and strategic merge (`x-kubernetes-patch-…`).
///
/// Everything else is accepted as it comes: the real server validates built-in kinds in code, we trust our clients.
pub(super) fn merge_schema(plural: &str) -> Value {
    let atomic = json!({"type": "object", "x-kubernetes-map-type": "atomic", "x-kubernetes-preserve-unknown-fields": true});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let keyed = |keys: &[&str]| {
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": keys[0],
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {}}})
    };
    let object = |properties: Value| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties});
    let with_conditions = || object(json!({"conditions": keyed(&["type"])}));
    let properties = match plural {
        "services" => {
            let mut ports = keyed(&["port", "protocol"]);
            ports["items"]["properties"] = json!({"protocol": {"type": "string", "default": "TCP"}});
            json!({"spec": object(json!({"ports": ports, "selector": atomic})), "status": with_conditions()})
        }
        "ingresses" => json!({"spec": object(json!({}))}),
        "configmaps" | "secrets" => json!({"data": texts, "stringData": texts, "binaryData": texts}),
        "namespaces" | "customresourcedefinitions" | "deployments" | "pods" => {
            json!({"spec": object(json!({"selector": atomic})), "status": with_conditions()})
        }
        "leases" => json!({"spec": object(json!({}))}),
        _ => json!({}),
    };
    object(properties)
}

/// Presets of fields that belong to whoever wrote the object.
pub(super) fn default(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "services") => default_service(&mut object["spec"]),
        ("", "secrets") => default_secret(object),
        ("", "namespaces") => {
            let name = super::object::name(object).to_owned();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = json!(name);
            preset(object, "spec", json!({"finalizers": ["kubernetes"]}));
        }
        ("discovery.k8s.io", "endpointslices") => {
            for endpoint in object["endpoints"].as_array_mut().into_iter().flatten() {
                preset(endpoint, "conditions", json!({}));
            }
            for port in object["ports"].as_array_mut().into_iter().flatten() {
                preset(port, "name", json!(""));
                preset(port, "protocol", json!("TCP"));
            }
        }
        ("apps", "deployments") => preset(&mut object["spec"], "replicas", json!(1)),
        ("" | "events.k8s.io", "events") => events::complete(object),
        _ => {}
    }
}

/// Values that the server chooses; nobody's field.
pub(super) fn allocate(kind: &Kind, object: &mut Value, before: Option<&Value>) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "services") => allocate_service(object, before),
        ("networking.k8s.io", "ingresses") => preset(object, "status", json!({"loadBalancer": {}})),
        ("", "namespaces") => preset(object, "status", json!({"phase": "Active"})),
        ("", "pods") => preset(object, "status", json!({"phase": "Pending"})),
        ("apps", "deployments") => preset(object, "status", json!({})),
        _ => {}
    }
}

fn preset(object: &mut Value, field: &str, value: Value) {
    if object[field].is_null() {
        object[field] = value;
    }
}

fn default_service(spec: &mut Value) {
    preset(spec, "type", json!("ClusterIP"));
    preset(spec, "sessionAffinity", json!("None"));
    preset(spec, "internalTrafficPolicy", json!("Cluster"));
    if spec["type"] == "LoadBalancer" {
        preset(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    if spec["type"] == "LoadBalancer" || spec["type"] == "NodePort" {
        preset(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        preset(port, "protocol", json!("TCP"));
        let number = port["port"].clone();
        preset(port, "targetPort", number);
    }
}

fn default_secret(secret: &mut Value) {
    preset(secret, "type", json!("Opaque"));
    let Some(Value::Object(plain)) = secret.as_object_mut().and_then(|map| map.remove("stringData")) else {
        return;
    };
    for (key, value) in plain {
        secret["data"][key] = json!(base64(value.as_str().unwrap_or_default().as_bytes()));
    }
}

/// Standard alphabet with padding (RFC 4648 §4).
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) as usize & 63;
            text.push(if place <= chunk.len() { char::from(ALPHABET[index]) } else { '=' });
        }
    }
    text
}

fn allocate_service(service: &mut Value, before: Option<&Value>) {
    preset(service, "status", json!({"loadBalancer": {}}));
    let spec = &mut service["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if let Some(value) = before.map(|before| &before["spec"][field]).filter(|value| !value.is_null()) {
            preset(spec, field, value.clone());
        }
    }
    // A random address of the usual service range; nothing routes to it, and clashes hurt nobody.
    let address = format!("10.96.{}.{}", rand::random_range(1..255), rand::random_range(1..255));
    preset(spec, "clusterIP", json!(address));
    let address = spec["clusterIP"].clone();
    preset(spec, "clusterIPs", json!([address]));
    preset(spec, "ipFamilies", json!(["IPv4"]));
    preset(spec, "ipFamilyPolicy", json!("SingleStack"));
    let needs_node_port = spec["type"] == "NodePort"
        || (spec["type"] == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != false);
    for (index, port) in spec["ports"].as_array_mut().into_iter().flatten().enumerate() {
        if needs_node_port {
            let kept = before
                .map(|before| before["spec"]["ports"][index]["nodePort"].clone())
                .filter(|port| !port.is_null());
            // 30000-32767 is the range of kube-apiserver's default.
            preset(port, "nodePort", kept.unwrap_or_else(|| json!(rand::random_range(30_000..32_768))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_secret_data_is_stored_in_base64() {
        let mut secret = json!({"stringData": {"a": "f", "b": "fo", "c": "foo"}});
        default_secret(&mut secret);
        assert_eq!(secret, json!({"type": "Opaque", "data": {"a": "Zg==", "b": "Zm8=", "c": "Zm9v"}}));
    }
}
