//! `CustomResourceDefinition`: from its JSON to the kinds it serves.

use serde_json::{Value, json};

use super::kinds::{Columns, Kind, Storage};
use super::object::timestamp;
use super::schema::Schema;
use super::status::Cause;
use super::table::Column;

pub(super) const GROUP: &str = "apiextensions.k8s.io";
pub(super) const PLURAL: &str = "customresourcedefinitions";

/// Fills in what the user may leave out, and says at once that the names are accepted and served.
pub(super) fn complete(crd: &mut Value) {
    let names = &mut crd["spec"]["names"];
    let kind = names["kind"].as_str().unwrap_or_default().to_owned();
    if names["singular"].is_null() {
        names["singular"] = json!(kind.to_lowercase());
    }
    if names["listKind"].is_null() {
        names["listKind"] = json!(format!("{kind}List"));
    }
    let accepted = names.clone();
    if crd["spec"]["conversion"].is_null() {
        crd["spec"]["conversion"] = json!({"strategy": "None"});
    }
    let stored: Vec<Value> = versions(crd)
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message});
    let mut conditions = vec![
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ];
    for new in &mut conditions {
        let before = crd["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|old| old["type"] == new["type"]);
        new["lastTransitionTime"] = before.map_or_else(timestamp, |old| old["lastTransitionTime"].clone());
    }
    crd["status"] = json!({"acceptedNames": accepted, "conditions": conditions, "storedVersions": stored});
}

fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    crd["spec"]["versions"].as_array().into_iter().flatten()
}

/// The kinds that a CRD serves, one for each served version.
pub(super) fn kinds(crd: &Value) -> Result<Vec<Kind>, Vec<Cause>> {
    let mut causes = Vec::new();
    let spec = &crd["spec"];
    for (field, value) in [
        ("spec.group", &spec["group"]),
        ("spec.scope", &spec["scope"]),
        ("spec.names.plural", &spec["names"]["plural"]),
        ("spec.names.kind", &spec["names"]["kind"]),
    ] {
        if value.as_str().is_none_or(str::is_empty) {
            causes.push(Cause::required(field));
        }
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let full_name = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if crd["metadata"]["name"] != full_name {
        causes.push(Cause::invalid(
            "metadata.name",
            &crd["metadata"]["name"],
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    let stored: Vec<&Value> = versions(crd).filter(|version| version["storage"] == true).collect();
    let [stored] = stored.as_slice() else {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &json!([]), detail));
        return Err(causes);
    };
    let storage = Storage {
        group: text(&spec["group"]),
        plural: text(&spec["names"]["plural"]),
        version: text(&stored["name"]),
    };
    let mut kinds = Vec::new();
    for (index, version) in versions(crd).enumerate().filter(|(_, version)| version["served"] == true) {
        let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
        match Schema::structural(&version["schema"]["openAPIV3Schema"]) {
            Ok(_) if version["schema"]["openAPIV3Schema"].is_null() => causes.push(Cause::required(field)),
            Ok(schema) => kinds.push(kind(spec, version, storage.clone(), schema)),
            Err(problem) => causes.push(Cause::invalid(field, &json!("schema"), problem)),
        }
    }
    if causes.is_empty() { Ok(kinds) } else { Err(causes) }
}

fn kind(spec: &Value, version: &Value, storage: Storage, schema: Schema) -> Kind {
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let kind = text(&names["kind"]);
    let or = |value: &Value, default: String| value.as_str().map_or(default, str::to_owned);
    let mut columns: Vec<Column> =
        version["additionalPrinterColumns"].as_array().into_iter().flatten().map(Column::from_json).collect();
    if columns.is_empty() {
        columns.push(Column::from_json(&json!({
            "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
            "description": "CreationTimestamp is a timestamp representing the server time when this object was created.",
        })));
    }
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    Kind {
        group: text(&spec["group"]),
        version: text(&version["name"]),
        list_kind: or(&names["listKind"], format!("{kind}List")),
        plural: text(&names["plural"]),
        singular: or(&names["singular"], kind.to_lowercase()),
        kind,
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        status: version["subresources"]["status"].is_object(),
        generation: true,
        storage,
        schema,
        columns: Columns::Custom(columns),
        selectable: selectable
            .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
        custom: true,
    }
}
