//! One change of a set becomes one transaction. Pure.

use gslb_core::sets::{ApprovedSetChange, Datum, RecordSet, RecordType};
use gslb_core::ttl::Ttl;
use serde_json::{Map, Value, json};

use super::convert::Found;
use super::wire::{SetKind, value_field};
use crate::claims::{CLAIM, COMMENT, Mark, comment, mark_of};

/// The operations of a batch that makes all of the change or nothing: each record that goes or changes is searched for
/// as it was seen, with its claim, and without a hit the grid takes the whole batch back. What comes is made before
/// anything goes. The last search counts: if somebody else wrote into the set meanwhile, there are too many hits, and the
/// grid takes the batch back, too (reference.md §2.4, §2.9). So of two who make one set at once one is told.
pub(super) fn lower(approved: &ApprovedSetChange, objects: &[Found], view: &str, mark: Mark) -> Vec<Value> {
    let (mut made, mut edited, mut removed) = (vec![], vec![], vec![]);
    let change = approved.change();
    let rtype = change.key().rtype;
    let of_type =
        |found: &&Found| matches!(found, Found::Record(SetKind::Plain(known), _) if *known == rtype);
    let standing = objects.iter().filter(of_type).count();
    let mut present: Vec<(Datum, &Found)> =
        objects.iter().filter(of_type).filter_map(|found| Some((found.datum()?, found))).collect();
    // An alias keeps its object, and with it what others wrote there.
    let moved = match (change.after(), present.as_slice(), rtype) {
        (Some(after), [(target, _)], RecordType::Cname) if !after.data.contains(target) => after.data.first(),
        _ => None,
    };
    for (number, (datum, found)) in present.iter().enumerate() {
        let state = format!("RECORD{number}");
        let update = match change.after() {
            Some(after) if moved.is_some() || after.data.contains(datum) => {
                Some(update(approved, after, found, moved, mark))
            }
            Some(_) | None => None,
        };
        match update {
            Some(update) if update.is_empty() => {}
            Some(update) => edited.extend([search(found, rtype, view, &state), put(&state, update)]),
            None => removed.push([search(found, rtype, view, &state), delete(&state)]),
        }
    }
    if let (Some(after), None) = (change.after(), moved) {
        present.retain(|(datum, _)| after.data.contains(datum));
        let new = after.data.iter().filter(|datum| present.iter().all(|(known, _)| known != *datum));
        made.extend(new.map(|datum| create(approved, after, datum, view, mark)));
    }
    let left = standing + made.len() - removed.len();
    let alone = change.after().map(|after| count(after, left, view));
    made.into_iter().chain(edited).chain(removed.into_iter().flatten()).chain(alone).collect()
}

/// The claim of an object that is made, and a comment that tells people.
pub(super) fn claimed(body: &mut Value, approved: &ApprovedSetChange, mark: Mark) {
    match mark {
        Mark::Attributes => {
            body["comment"] = COMMENT.into();
            body["extattrs"] = json!({CLAIM: {"value": approved.claim()}});
        }
        Mark::Comment => body["comment"] = comment(approved.claim(), None).into(),
    }
}

fn create(approved: &ApprovedSetChange, after: &RecordSet, datum: &Datum, view: &str, mark: Mark) -> Value {
    let rtype = after.key.rtype;
    let mut data = json!({"name": after.key.name, "view": view, value_field(rtype): written(datum)});
    if let Some(ttl) = after.ttl {
        data["ttl"] = ttl.as_secs().into();
        data["use_ttl"] = true.into();
    }
    claimed(&mut data, approved, mark);
    json!({"method": "POST", "object": SetKind::Plain(rtype).object(), "data": data})
}

/// What changes and nothing else. A record that is taken over gets our claim where there is room for it: an attribute,
/// or a comment that nobody wrote.
fn update(
    approved: &ApprovedSetChange,
    after: &RecordSet,
    found: &Found,
    moved: Option<&Datum>,
    mark: Mark,
) -> Map<String, Value> {
    let mut data = Map::new();
    let Found::Record(_, object) = found else { return data };
    if let Some(target) = moved {
        data.insert("canonical".to_owned(), written(target).into());
    }
    if crate::claims::ttl_of(object.ttl, object.use_ttl) != after.ttl {
        if let Some(ttl) = after.ttl.map(Ttl::as_secs) {
            data.insert("ttl".to_owned(), ttl.into());
        }
        data.insert("use_ttl".to_owned(), after.ttl.is_some().into());
    }
    let comments = object.comment.as_deref();
    if !data.is_empty() && mark_of(object.extattrs.as_ref(), comments).is_none() {
        match mark {
            Mark::Attributes => {
                drop(data.insert("extattrs+".to_owned(), json!({CLAIM: {"value": approved.claim()}})));
            }
            Mark::Comment if comments.unwrap_or_default().is_empty() => {
                drop(data.insert("comment".to_owned(), comment(approved.claim(), None).into()));
            }
            Mark::Comment => {}
        }
    }
    data
}

/// What the record must still be.
fn search(found: &Found, rtype: RecordType, view: &str, state: &str) -> Value {
    let mut data = Map::new();
    if let Found::Record(_, object) = found {
        data.insert("name".to_owned(), object.name.clone().into());
        data.insert("view".to_owned(), view.into());
        if let Some(value) = found.value() {
            data.insert(value_field(rtype).to_owned(), value.into());
        }
        match mark_of(object.extattrs.as_ref(), object.comment.as_deref()) {
            Some((Mark::Attributes, claim, _)) => {
                drop(data.insert(format!("*{CLAIM}"), claim.to_string().into()))
            }
            Some((Mark::Comment, ..)) => {
                drop(data.insert("comment".to_owned(), object.comment.clone().into()))
            }
            None => {}
        }
    }
    json!({"method": "GET", "object": SetKind::Plain(rtype).object(), "data": data,
        "args": {"_return_fields": "name"}, "assign_state": {state: "_ref"}, "discard": true})
}

/// Fails if there are more records in the set.
fn count(set: &RecordSet, most: usize, view: &str) -> Value {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    json!({"method": "GET", "object": SetKind::Plain(set.key.rtype).object(),
        "data": {"name": set.key.name, "view": view},
        "args": {"_return_fields": "name", "_max_results": -most}, "discard": true})
}

fn put(state: &str, data: Map<String, Value>) -> Value {
    json!({"method": "PUT", "object": format!("##STATE:{state}:##"), "enable_substitution": true, "data": data})
}

fn delete(state: &str) -> Value {
    json!({"method": "DELETE", "object": format!("##STATE:{state}:##"), "enable_substitution": true})
}

fn written(datum: &Datum) -> String {
    match datum {
        Datum::Address(address) => address.to_string(),
        Datum::Name(name) => name.to_string(),
        Datum::Text(text) => text.to_strings(),
    }
}
