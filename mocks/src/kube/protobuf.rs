//! The protocol buffers that kubectl sends when it creates built-in objects (`kubectl create namespace`).
//!
//! Only bodies of requests, and only the messages listed here; answers are always JSON, which clients accept too.

use serde_json::{Map, Value, json};

pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// In front of every body (k8s.io/apimachinery, runtime/serializer/protobuf).
const MAGIC: &[u8] = b"k8s\0";

/// How a field is written in JSON.
#[derive(Clone, Copy)]
enum Type {
    Text,
    Bytes,
    Number,
    Bool,
    /// `IntOrString`.
    IntOrText,
    Message(&'static [Field]),
    /// A map from text to text, or to bytes.
    Map(&'static Type),
    /// Its fields belong to the message around it (Go's inlined structs).
    Inline(&'static [Field]),
}

/// Number, name, type, and whether it is a list: from `generated.proto` of k8s.io/api.
type Field = (u64, &'static str, Type, bool);

use Type::{Bool, Bytes, Inline, IntOrText, Map as Pairs, Message, Number, Text};

const OWNER: &[Field] = &[
    (1, "kind", Text, false),
    (3, "name", Text, false),
    (4, "uid", Text, false),
    (5, "apiVersion", Text, false),
    (6, "controller", Bool, false),
    (7, "blockOwnerDeletion", Bool, false),
];
const METADATA: &[Field] = &[
    (1, "name", Text, false),
    (2, "generateName", Text, false),
    (3, "namespace", Text, false),
    (5, "uid", Text, false),
    (6, "resourceVersion", Text, false),
    (11, "labels", Pairs(&Text), false),
    (12, "annotations", Pairs(&Text), false),
    (13, "ownerReferences", Message(OWNER), true),
    (14, "finalizers", Text, true),
];
const NAMESPACE: &[Field] = &[
    (1, "metadata", Message(METADATA), false),
    (2, "spec", Message(&[(1, "finalizers", Text, true)]), false),
];
const CONFIG_MAP: &[Field] = &[
    (1, "metadata", Message(METADATA), false),
    (2, "data", Pairs(&Text), false),
    (3, "binaryData", Pairs(&Bytes), false),
    (4, "immutable", Bool, false),
];
const SECRET: &[Field] = &[
    (1, "metadata", Message(METADATA), false),
    (2, "data", Pairs(&Bytes), false),
    (3, "type", Text, false),
    (4, "stringData", Pairs(&Text), false),
    (5, "immutable", Bool, false),
];
const SERVICE_ACCOUNT: &[Field] = &[(1, "metadata", Message(METADATA), false)];
const SERVICE_PORT: &[Field] = &[
    (1, "name", Text, false),
    (2, "protocol", Text, false),
    (3, "port", Number, false),
    (4, "targetPort", IntOrText, false),
    (5, "nodePort", Number, false),
    (6, "appProtocol", Text, false),
];
const SERVICE_SPEC: &[Field] = &[
    (1, "ports", Message(SERVICE_PORT), true),
    (2, "selector", Pairs(&Text), false),
    (3, "clusterIP", Text, false),
    (4, "type", Text, false),
    (5, "externalIPs", Text, true),
    (7, "sessionAffinity", Text, false),
    (10, "externalName", Text, false),
    (11, "externalTrafficPolicy", Text, false),
    (17, "ipFamilyPolicy", Text, false),
    (18, "clusterIPs", Text, true),
    (19, "ipFamilies", Text, true),
    (20, "allocateLoadBalancerNodePorts", Bool, false),
    (21, "loadBalancerClass", Text, false),
    (22, "internalTrafficPolicy", Text, false),
];
const SERVICE: &[Field] =
    &[(1, "metadata", Message(METADATA), false), (2, "spec", Message(SERVICE_SPEC), false)];
const BACKEND_PORT: &[Field] = &[(1, "name", Text, false), (2, "number", Number, false)];
const BACKEND_SERVICE: &[Field] = &[(1, "name", Text, false), (2, "port", Message(BACKEND_PORT), false)];
const BACKEND: &[Field] = &[(4, "service", Message(BACKEND_SERVICE), false)];
const INGRESS_PATH: &[Field] =
    &[(1, "path", Text, false), (2, "backend", Message(BACKEND), false), (3, "pathType", Text, false)];
const INGRESS_HTTP: &[Field] = &[(1, "paths", Message(INGRESS_PATH), true)];
const INGRESS_RULE: &[Field] =
    &[(1, "host", Text, false), (2, "", Inline(&[(1, "http", Message(INGRESS_HTTP), false)]), false)];
const INGRESS_TLS: &[Field] = &[(1, "hosts", Text, true), (2, "secretName", Text, false)];
const INGRESS_SPEC: &[Field] = &[
    (1, "defaultBackend", Message(BACKEND), false),
    (2, "tls", Message(INGRESS_TLS), true),
    (3, "rules", Message(INGRESS_RULE), true),
    (4, "ingressClassName", Text, false),
];
const INGRESS: &[Field] =
    &[(1, "metadata", Message(METADATA), false), (2, "spec", Message(INGRESS_SPEC), false)];
const REVIEW: &[Field] = &[(1, "metadata", Message(METADATA), false)];

fn message(api_version: &str, kind: &str) -> Option<&'static [Field]> {
    Some(match (api_version, kind) {
        ("v1", "Namespace") => NAMESPACE,
        ("v1", "ConfigMap") => CONFIG_MAP,
        ("v1", "Secret") => SECRET,
        ("v1", "ServiceAccount") => SERVICE_ACCOUNT,
        ("v1", "Service") => SERVICE,
        ("networking.k8s.io/v1", "Ingress") => INGRESS,
        _ if kind.ends_with("Review") => REVIEW,
        _ => return None,
    })
}

/// The object of a body; `None` if it is broken or of a kind that is not listed here.
pub(super) fn decode(body: &[u8]) -> Option<Value> {
    const TYPE_META: &[Field] = &[(1, "apiVersion", Text, false), (2, "kind", Text, false)];
    const ENVELOPE: &[Field] = &[(1, "", Inline(TYPE_META), false)];
    let envelope = body.strip_prefix(MAGIC)?;
    let mut object = decode_message(envelope, ENVELOPE)?;
    let fields = message(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?)?;
    let raw = Reader(envelope).find_map(|part| match part {
        (2, Wire::Bytes(raw)) => Some(raw),
        _ => None,
    })?;
    object.extend(decode_message(raw, fields)?);
    Some(Value::Object(object))
}

enum Wire<'b> {
    Varint(u64),
    Bytes(&'b [u8]),
}

/// Reads the fields of one message; ends at its end or at the first thing that is no field.
struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl<'b> Iterator for Reader<'b> {
    type Item = (u64, Wire<'b>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Wire::Bytes(bytes)
            }
            _ => return None,
        };
        Some((tag >> 3, wire))
    }
}

fn decode_message(bytes: &[u8], fields: &[Field]) -> Option<Map<String, Value>> {
    let mut object = Map::new();
    for (number, wire) in Reader(bytes) {
        let Some((_, name, kind, repeated)) = fields.iter().find(|field| field.0 == number) else { continue };
        match (kind, wire) {
            (Inline(inner), Wire::Bytes(bytes)) => object.extend(decode_message(bytes, inner)?),
            (Pairs(value), Wire::Bytes(bytes)) => {
                let (key, value) = pair(bytes, value)?;
                let place = object.entry(*name).or_insert_with(|| json!({}));
                place[key] = value;
            }
            (kind, wire) => {
                let value = decode_value(kind, &wire)?;
                if *repeated {
                    let list = object.entry(*name).or_insert_with(|| json!([]));
                    list.as_array_mut()?.push(value);
                } else if !is_zero(&value) {
                    object.insert((*name).into(), value);
                }
            }
        }
    }
    Some(object)
}

fn pair(bytes: &[u8], kind: &Type) -> Option<(String, Value)> {
    let (mut key, mut value) = (String::new(), json!(""));
    for part in Reader(bytes) {
        match part {
            (1, Wire::Bytes(text)) => key = String::from_utf8(text.to_vec()).ok()?,
            (2, wire) => value = decode_value(kind, &wire)?,
            _ => {}
        }
    }
    Some((key, value))
}

fn decode_value(kind: &Type, wire: &Wire<'_>) -> Option<Value> {
    Some(match (kind, wire) {
        (Text, Wire::Bytes(bytes)) => json!(String::from_utf8(bytes.to_vec()).ok()?),
        (Bytes, Wire::Bytes(bytes)) => json!(super::builtin::base64(bytes)),
        (Number, Wire::Varint(number)) => json!(number.cast_signed()),
        (Bool, Wire::Varint(number)) => json!(*number != 0),
        (Message(fields), Wire::Bytes(bytes)) => Value::Object(decode_message(bytes, fields)?),
        (IntOrText, Wire::Bytes(bytes)) => {
            const PARTS: &[Field] =
                &[(1, "text", Bool, false), (2, "int", Number, false), (3, "str", Text, false)];
            let parts = decode_message(bytes, PARTS)?;
            parts.get(if parts.contains_key("text") { "str" } else { "int" }).cloned().unwrap_or(Value::Null)
        }
        _ => return None,
    })
}

/// Go writes zero values of plain fields; JSON leaves them out.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_read_from_protocol_buffers() {
        // As kubectl 1.33 sends it for `create namespace demo`: type, then the object in field 2.
        let mut body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x0c".to_vec();
        body.extend(b"\x0a\x08\x0a\x04demo\x12\x00\x12\x00");
        assert_eq!(
            decode(&body),
            Some(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}}))
        );
        assert_eq!(decode(b"k8s\0\xff"), None);
        assert_eq!(decode(b"{}"), None);
    }
}
