//! Which changes follow from what is asked for, in which order, and what is refused.
//!
//! A refusal is about one set, and everything else of the request goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::Serialize;

use super::beneath::settle_beneath;
use super::change::{ApprovedSetChange, SetChange};
use super::observed::{ObservedName, ObservedSet, ObservedSets};
use super::record_set::{Datum, Glue, RecordSet, SetKey};
use super::refusal::SetRefusal;
use super::request::{Wish, Wishes};
use super::rtype::RecordType;
use crate::name::DomainName;
use crate::records::RecordClaim;

/// Fewer deletions in one request are never too many. No outside reference.
const FEW: usize = 10;

/// What is ours to write, and how much at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPolicy {
    /// The names that are ours to write, and all beneath them.
    pub domains: Vec<DomainName>,
    /// The claim of our records.
    pub claim: RecordClaim,
    /// Sets without a claim that count as ours, because whoever made them is us under another name.
    pub adopted: BTreeSet<SetKey>,
    /// How many sets with our claim there are.
    pub own_sets: usize,
    /// Percentage of them that one request may take away without putting something in their place.
    pub max_deleted_percent: usize,
}

/// When a change is made. Within one step the order of names does not matter; at one name it is that of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Step {
    /// Texts come first: they say whose the records are that follow, and records without one are nobody's to
    /// external-dns.
    Texts,
    /// What is made or altered, and what makes room for it.
    Records,
    /// Once the addresses of their name servers are there.
    Delegations,
    /// What goes.
    Deletions,
    /// And then the texts about it.
    LastTexts,
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetPlan {
    /// In the order in which they are made.
    pub changes: Vec<(Step, ApprovedSetChange)>,
    /// What is left as it is.
    pub refusals: Vec<SetRefusal>,
    /// Sets that are as wanted already.
    pub as_wanted: usize,
}

impl SetPlan {
    /// Name of this plan by its content.
    pub fn id(&self) -> String {
        let changes: Vec<_> = self.changes.iter().map(|(step, approved)| (step, approved.change())).collect();
        let refusals: Vec<_> = self.refusals.iter().map(ToString::to_string).collect();
        crate::edit::content_id(&(changes, refusals))
    }
}

/// What follows for one set.
enum Verdict {
    AsWanted,
    Change(SetChange),
}

/// Plans the wishes of one request, of which some parts were `refused` before. `observed` holds all that stands at
/// [`names_of`](super::request::names_of) them.
pub fn plan(
    wishes: Wishes,
    refused: Vec<SetRefusal>,
    observed: &ObservedSets,
    policy: &SetPolicy,
) -> SetPlan {
    let mut plan = SetPlan { refusals: refused, ..SetPlan::default() };
    let wishes = with_glue(wishes, observed, &mut plan.refusals);
    let wishes = settle_beneath(wishes, observed, policy, &mut plan);
    let nothing = ObservedName::new();
    let mut changes: BTreeMap<SetKey, SetChange> = BTreeMap::new();
    for (key, wish) in wishes {
        match judge(&key, wish, observed.get(&key.name).unwrap_or(&nothing), policy) {
            Ok(Verdict::AsWanted) => plan.as_wanted += 1,
            Ok(Verdict::Change(change)) => drop(changes.insert(key, change)),
            Err(refusal) => plan.refusals.push(refusal),
        }
    }
    // What is left for one refusal may be in the way of something else.
    let mut refused = usize::MAX;
    while refused != plan.refusals.len() {
        refused = plan.refusals.len();
        exclude(&mut changes, observed, &mut plan.refusals);
        keep_what_is_not_replaced(&mut changes, &mut plan.refusals);
    }
    bound_deletions(&mut changes, policy, &mut plan.refusals);
    plan.changes = ordered(changes, policy);
    plan
}

fn judge(key: &SetKey, wish: Wish, name: &ObservedName, policy: &SetPolicy) -> Result<Verdict, SetRefusal> {
    let set = key.clone();
    if !policy.domains.iter().any(|domain| key.name.is_within(domain)) {
        let domains = policy.domains.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Err(SetRefusal::OutOfScope { set, domains });
    }
    if key.rtype == RecordType::Ns && policy.domains.contains(&key.name) {
        return Err(SetRefusal::Apex { set });
    }
    let standing = name.get(&key.rtype);
    if let Some((standing, why)) = standing.and_then(|standing| Some((standing, standing.held.clone()?))) {
        let as_wanted = match &wish {
            Wish::Create(after) => standing.data() == after.data,
            Wish::Update(_, after) => standing.is(after),
            Wish::Delete(_) => false,
        };
        return if as_wanted { Ok(Verdict::AsWanted) } else { Err(SetRefusal::Held { set, why }) };
    }
    match (wish, standing) {
        (Wish::Create(after), None) => Ok(Verdict::Change(SetChange::Create { after })),
        (Wish::Create(after), Some(standing)) => create_over(after, standing, policy),
        (Wish::Update(_, _), None) => Err(SetRefusal::Stale { set, found: "nothing".to_owned() }),
        (Wish::Update(before, after), Some(standing)) => update(&before, after, standing, policy),
        (Wish::Delete(_), None) => Ok(Verdict::AsWanted),
        (Wish::Delete(before), Some(standing)) => delete(before, standing, policy),
    }
}

/// Something stands where a set is to be made.
fn create_over(after: RecordSet, standing: &ObservedSet, policy: &SetPolicy) -> Result<Verdict, SetRefusal> {
    let ours = is_ours(&after.key, standing, policy);
    if standing.is(&after) || (!ours && standing.data() == after.data) {
        return Ok(Verdict::AsWanted);
    }
    let before = standing.to_set(after.key.clone());
    // The TXT records of external-dns do not show in its own plans: one that was left behind is written over.
    let only_ttl = before.data == after.data && before.glue == after.glue;
    if ours && (after.key.rtype == RecordType::Txt || only_ttl || after.key.rtype == RecordType::Ns) {
        return Ok(Verdict::Change(SetChange::Replace { before, after }));
    }
    match ours {
        true => Err(stale(&after.key, standing)),
        false => Err(foreign(&after.key, standing, policy)),
    }
}

fn update(
    before: &RecordSet,
    after: RecordSet,
    standing: &ObservedSet,
    policy: &SetPolicy,
) -> Result<Verdict, SetRefusal> {
    if standing.is(&after) {
        return Ok(Verdict::AsWanted);
    }
    if !is_still(before, standing) {
        return Err(stale(&after.key, standing));
    }
    let may_touch = |record: &super::ObservedRecord| match &record.claim {
        Some(claim) => *claim == policy.claim,
        None => policy.adopted.contains(&after.key),
    };
    let stays = |datum: &Datum, ttl| after.data.contains(datum) && ttl == after.ttl;
    let mut records = standing.records.iter();
    let touches_others = records.any(|(datum, record)| !stays(datum, record.ttl) && !may_touch(record));
    // Nobody adds to a set in which nothing is theirs; the servers of a delegation stand in one object.
    let alone = standing.records.values().any(may_touch);
    match touches_others || !alone {
        true => Err(foreign(&after.key, standing, policy)),
        false => {
            Ok(Verdict::Change(SetChange::Replace { before: standing.to_set(after.key.clone()), after }))
        }
    }
}

fn delete(before: RecordSet, standing: &ObservedSet, policy: &SetPolicy) -> Result<Verdict, SetRefusal> {
    if !is_still(&before, standing) {
        return Err(stale(&before.key, standing));
    }
    match is_ours(&before.key, standing, policy) {
        true => Ok(Verdict::Change(SetChange::Delete { before: standing.to_set(before.key) })),
        false => Err(foreign(&before.key, standing, policy)),
    }
}

/// A TTL of nothing is one that external-dns says nothing about.
fn is_still(before: &RecordSet, standing: &ObservedSet) -> bool {
    before.data == standing.data() && (before.ttl.is_none() || before.ttl == standing.ttl())
}

fn is_ours(key: &SetKey, standing: &ObservedSet, policy: &SetPolicy) -> bool {
    standing.is_claimed_by(&policy.claim) || (standing.is_unclaimed() && policy.adopted.contains(key))
}

fn stale(set: &SetKey, standing: &ObservedSet) -> SetRefusal {
    SetRefusal::Stale { set: set.clone(), found: shown(standing) }
}

fn foreign(set: &SetKey, standing: &ObservedSet, policy: &SetPolicy) -> SetRefusal {
    let others = standing.records.values().filter(|record| record.claim.as_ref() != Some(&policy.claim));
    let whose = match others.filter_map(|record| record.claim.as_ref()).min() {
        Some(claim) => format!("belongs to {claim}"),
        None => format!("does not belong to {}", policy.claim),
    };
    SetRefusal::Foreign { set: set.clone(), found: shown(standing), whose }
}

fn shown(standing: &ObservedSet) -> String {
    const MOST: usize = 3;
    let data: Vec<_> =
        standing.records.keys().take(MOST).map(|datum| crate::text::quoted(&datum.to_string())).collect();
    match standing.records.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", data.join(", ")),
        Some(0) | None => data.join(", "),
    }
}

/// Gives each wanted delegation the addresses of its name servers: those that the same request asks for, else those
/// that stand at their names, else those that the delegation has.
fn with_glue(wishes: Wishes, observed: &ObservedSets, refusals: &mut Vec<SetRefusal>) -> Wishes {
    let asked = wishes.clone();
    let addresses = |server: &DomainName, standing: Option<&Glue>| -> BTreeSet<IpAddr> {
        let of_type = |rtype| {
            let key = SetKey::new(server.clone(), rtype);
            let data = match asked.get(&key) {
                Some(wish) => wish.after().map(|set| set.data.clone()),
                None => observed.get(server).and_then(|name| name.get(&rtype)).map(ObservedSet::data),
            };
            data.into_iter().flatten().filter_map(|datum| match datum {
                Datum::Address(address) => Some(address),
                Datum::Name(_) | Datum::Text(_) => None,
            })
        };
        let known: BTreeSet<_> = of_type(RecordType::A).chain(of_type(RecordType::Aaaa)).collect();
        match known.is_empty() {
            true => standing.and_then(|glue| glue.get(server)).cloned().unwrap_or_default(),
            false => known,
        }
    };
    let mut given = Wishes::new();
    for (key, mut wish) in wishes {
        if let (RecordType::Ns, Wish::Create(after) | Wish::Update(_, after)) = (key.rtype, &mut wish) {
            let standing = observed.get(&key.name).and_then(|name| name.get(&key.rtype)).map(|set| &set.glue);
            for datum in &after.data {
                if let Datum::Name(server) = datum {
                    after.glue.insert(server.clone(), addresses(server, standing));
                }
            }
            if let Some((server, _)) = after.glue.iter().find(|(_, addresses)| addresses.is_empty()) {
                refusals.push(SetRefusal::NoAddress { set: key, server: server.clone() });
                continue;
            }
        }
        given.insert(key, wish);
    }
    given
}

/// Takes out what would stand beside an alias, or an alias beside it.
fn exclude(
    changes: &mut BTreeMap<SetKey, SetChange>,
    observed: &ObservedSets,
    refusals: &mut Vec<SetRefusal>,
) {
    let stands = |key: &SetKey| observed.get(&key.name).is_some_and(|name| name.contains_key(&key.rtype));
    let will_stand = |changes: &BTreeMap<SetKey, SetChange>, key: &SetKey| match changes.get(key) {
        Some(change) => change.after().is_some(),
        None => stands(key),
    };
    let made: Vec<_> =
        changes.iter().filter(|(_, change)| change.after().is_some()).map(|(key, _)| key.clone()).collect();
    for key in made {
        let others = RecordType::ALL.into_iter().filter(|other| {
            *other != key.rtype && (*other == RecordType::Cname || key.rtype == RecordType::Cname)
        });
        let beside = others.map(|other| SetKey::new(key.name.clone(), other));
        let beside = beside.filter(|other| will_stand(changes, other)).min();
        if let Some(other) = beside {
            changes.remove(&key);
            refusals.push(SetRefusal::Excluded { set: key, beside: format!("a {}", other.rtype) });
        }
    }
}

/// An alias that makes room, or what makes room for one, stays if nothing takes its place.
fn keep_what_is_not_replaced(changes: &mut BTreeMap<SetKey, SetChange>, refusals: &mut Vec<SetRefusal>) {
    let refused: BTreeSet<SetKey> = refusals.iter().filter_map(SetRefusal::set).cloned().collect();
    let makes_room = |key: &SetKey| {
        refused.iter().any(|other| {
            other.name == key.name
                && other.rtype != key.rtype
                && (other.rtype == RecordType::Cname || key.rtype == RecordType::Cname)
        })
    };
    let held: Vec<_> = changes
        .iter()
        .filter(|(key, change)| change.after().is_none() && makes_room(key))
        .map(|(key, _)| key.clone())
        .collect();
    for set in held {
        changes.remove(&set);
        refusals.push(SetRefusal::Replacement { set });
    }
}

/// A source that is empty for a moment looks like one that is empty for good (C066).
fn bound_deletions(
    changes: &mut BTreeMap<SetKey, SetChange>,
    policy: &SetPolicy,
    refusals: &mut Vec<SetRefusal>,
) {
    let kept: BTreeSet<DomainName> = changes
        .iter()
        // A text is in the place of none.
        .filter(|(key, change)| change.after().is_some() && key.rtype != RecordType::Txt)
        .map(|(key, _)| key.name.clone())
        .collect();
    let going: Vec<SetKey> = changes
        .iter()
        .filter(|(key, change)| change.after().is_none() && !kept.contains(&key.name))
        .map(|(key, _)| key.clone())
        .collect();
    let (deleted, total, limit) = (going.len(), policy.own_sets, policy.max_deleted_percent);
    if deleted <= FEW || deleted * 100 <= total * limit {
        return;
    }
    for set in going {
        changes.remove(&set);
        refusals.push(SetRefusal::TooManyDeletions { set, deleted, total, limit });
    }
}

fn ordered(changes: BTreeMap<SetKey, SetChange>, policy: &SetPolicy) -> Vec<(Step, ApprovedSetChange)> {
    let of = |made: bool| -> BTreeSet<SetKey> {
        let of = changes.iter().filter(|(_, change)| change.after().is_some() == made);
        of.map(|(key, _)| key.clone()).collect()
    };
    let (made, going) = (of(true), of(false));
    let approved = changes.into_iter().map(|(key, change)| {
        // An alias and what stands in its place are never there together.
        let excludes = |other: &SetKey| {
            other.name == key.name && (other.rtype == RecordType::Cname) != (key.rtype == RecordType::Cname)
        };
        let swapped = if change.after().is_some() { &going } else { &made }.iter().any(excludes);
        let step = if swapped { Step::Records } else { step(&change) };
        let adopts = policy.adopted.contains(&key);
        (step, ApprovedSetChange::new(change, policy.claim.clone(), adopts))
    });
    let mut ordered: Vec<_> = approved.collect();
    // What makes room goes first.
    ordered.sort_by_key(|(step, approved)| {
        let change = approved.change();
        (*step, change.after().is_some(), change.key().clone())
    });
    ordered
}

fn step(change: &SetChange) -> Step {
    match (change.after(), change.key().rtype) {
        (Some(_), RecordType::Txt) => Step::Texts,
        (_, RecordType::Ns) => Step::Delegations,
        (Some(_), RecordType::A | RecordType::Aaaa | RecordType::Cname) => Step::Records,
        (None, RecordType::A | RecordType::Aaaa | RecordType::Cname) => Step::Deletions,
        (None, RecordType::Txt) => Step::LastTexts,
    }
}
