//! What one request asks for, one wish for each set.

use std::collections::{BTreeMap, BTreeSet};

use super::observed::{ObservedName, ObservedSets};
use super::record_set::{Datum, Glue, RecordSet, SetKey};
use super::refusal::SetRefusal;
use super::rtype::RecordType;
use crate::name::DomainName;
use crate::records::RecordClaim;

/// What is asked for, as it was read. Sets that cannot be read are refused before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetRequest {
    /// Sets to make.
    pub creates: Vec<RecordSet>,
    /// Sets to alter: what they look like, and what they are to look like.
    pub updates: Vec<(RecordSet, RecordSet)>,
    /// Sets to take away.
    pub deletes: Vec<RecordSet>,
}

/// What is to become of one set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// There is none; make this.
    Create(RecordSet),
    /// It is the first; make it the second.
    Update(RecordSet, RecordSet),
    /// It is this; take it away.
    Delete(RecordSet),
}

/// One wish for each set.
pub type Wishes = BTreeMap<SetKey, Wish>;

impl SetRequest {
    /// One wish for each set, and what contradicts itself.
    pub fn into_wishes(self) -> (Wishes, Vec<SetRefusal>) {
        let mut all = Vec::new();
        for (before, after) in self.updates {
            match before.key == after.key {
                true => all.push(Wish::Update(before, after)),
                false => all.extend([Wish::Delete(before), Wish::Create(after)]),
            }
        }
        all.extend(self.creates.into_iter().map(Wish::Create));
        all.extend(self.deletes.into_iter().map(Wish::Delete));
        let (mut wishes, mut refused) = (Wishes::new(), BTreeSet::new());
        for wish in all {
            let key = wish.key().clone();
            match wishes.remove(&key).map_or(Some(wish.clone()), |other| other.and(wish)) {
                Some(wish) => drop(wishes.insert(key, wish)),
                None => drop(refused.insert(key)),
            }
        }
        wishes.retain(|key, _| !refused.contains(key));
        (wishes, refused.into_iter().map(|set| SetRefusal::Contradiction { set }).collect())
    }
}

impl Wish {
    /// Which set it is about.
    pub fn key(&self) -> &SetKey {
        match self {
            Self::Create(set) | Self::Update(set, _) | Self::Delete(set) => &set.key,
        }
    }

    /// What is to stand there.
    pub fn after(&self) -> Option<&RecordSet> {
        match self {
            Self::Create(after) | Self::Update(_, after) => Some(after),
            Self::Delete(_) => None,
        }
    }

    /// Two wishes for one set as one; nothing if they contradict each other.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (one, other) if one == other => Some(one),
            (Self::Create(after), Self::Delete(before)) | (Self::Delete(before), Self::Create(after)) => {
                Some(Self::Update(before, after))
            }
            _ => None,
        }
    }
}

/// Has each delegation of ours follow the addresses of its name servers, which it holds beside their names: one whose
/// server gets another address is asked for as it stands, and so with the new one.
pub fn follow_servers(wishes: &mut Wishes, observed: &ObservedSets, claim: &RecordClaim) {
    let ns = |(name, sets): (&DomainName, &ObservedName)| {
        let set = sets.get(&RecordType::Ns).filter(|set| set.held.is_none() && set.is_claimed_by(claim))?;
        Some(RecordSet { glue: Glue::new(), ..set.to_set(SetKey::new(name.clone(), RecordType::Ns)) })
    };
    let moves = |wishes: &Wishes, server: &Datum| match server {
        Datum::Name(server) => [RecordType::A, RecordType::Aaaa].into_iter().any(|rtype| {
            wishes.get(&SetKey::new(server.clone(), rtype)).is_some_and(|wish| wish.after().is_some())
        }),
        Datum::Address(_) | Datum::Text(_) => false,
    };
    for set in observed.iter().filter_map(ns) {
        if !wishes.contains_key(&set.key) && set.data.iter().any(|server| moves(wishes, server)) {
            wishes.insert(set.key.clone(), Wish::Create(set));
        }
    }
}

/// Every name that has to be read to decide about these wishes: their own, and those of name servers whose addresses a
/// delegation needs.
pub fn names_of(wishes: &Wishes) -> BTreeSet<DomainName> {
    let servers = wishes.values().filter(|wish| wish.key().rtype == RecordType::Ns).filter_map(Wish::after);
    let servers = servers.flat_map(|set| &set.data).filter_map(|datum| match datum {
        Datum::Name(name) => Some(name.clone()),
        Datum::Address(_) | Datum::Text(_) => None,
    });
    wishes.keys().map(|key| key.name.clone()).chain(servers).collect()
}
