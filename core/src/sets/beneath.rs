//! What lies beneath a delegation: addresses of its own name servers stand in it, and nothing else stands there.

use std::iter::successors;

use super::observed::ObservedSets;
use super::plan::{SetPlan, SetPolicy};
use super::record_set::{Datum, Glue, RecordSet, SetKey};
use super::refusal::SetRefusal;
use super::request::Wishes;
use super::rtype::RecordType;
use crate::name::DomainName;

/// A delegation above a name.
struct Above<'a> {
    zone: &'a DomainName,
    glue: &'a Glue,
    /// This request asks for it.
    is_asked_for: bool,
}

/// Takes out the addresses of name servers that a delegation above them holds, and refuses what a delegation of the same
/// request would hide: written first it would keep the delegation from being made. Beneath one that only stands the backend
/// knows better, because it may have a zone of its own there. `wishes` have their glue already.
pub(super) fn settle_beneath(
    wishes: Wishes,
    observed: &ObservedSets,
    policy: &SetPolicy,
    plan: &mut SetPlan,
) -> Wishes {
    let mut kept = Wishes::new();
    for (key, wish) in &wishes {
        match (wish.after(), above(&key.name, &wishes, observed, policy)) {
            (Some(after), Some(above)) if above.holds(after) && !stands(key, observed) => plan.as_wanted += 1,
            (Some(_), Some(Above { zone, is_asked_for: true, .. })) => {
                plan.refusals.push(SetRefusal::Beneath { set: key.clone(), zone: zone.clone() });
            }
            _ => drop(kept.insert(key.clone(), wish.clone())),
        }
    }
    kept
}

/// The closest delegation above a name, up to the domain of ours that holds it.
fn above<'a>(
    name: &DomainName,
    wishes: &'a Wishes,
    observed: &'a ObservedSets,
    policy: &SetPolicy,
) -> Option<Above<'a>> {
    let mut zones = successors(parent(name), parent).take_while(|zone| !policy.domains.contains(zone));
    zones.find_map(|zone| {
        let key = SetKey::new(zone, RecordType::Ns);
        let standing = observed.get_key_value(&key.name);
        let standing = standing.and_then(|(zone, sets)| Some((zone, sets.get(&RecordType::Ns)?)));
        match (wishes.get_key_value(&key), standing) {
            (Some((key, wish)), _) => {
                let glue = &wish.after()?.glue;
                Some(Above { zone: &key.name, glue, is_asked_for: true })
            }
            (None, Some((zone, set))) => Some(Above { zone, glue: &set.glue, is_asked_for: false }),
            (None, None) => None,
        }
    })
}

impl Above<'_> {
    /// Whether the set is nothing but addresses that stand in the delegation.
    fn holds(&self, set: &RecordSet) -> bool {
        let glue = self.glue.get(&set.key.name);
        set.data.iter().all(|datum| match datum {
            Datum::Address(address) => glue.is_some_and(|glue| glue.contains(address)),
            Datum::Name(_) | Datum::Text(_) => false,
        })
    }
}

fn stands(key: &SetKey, observed: &ObservedSets) -> bool {
    observed.get(&key.name).is_some_and(|sets| sets.contains_key(&key.rtype))
}

fn parent(name: &DomainName) -> Option<DomainName> {
    let (_, rest) = name.as_str().split_once('.')?;
    DomainName::parse(rest).ok()
}
