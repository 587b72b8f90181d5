//! What the author of an unknown key may have meant.

use std::collections::BTreeSet;

use super::header::HEADER;
use crate::config::catalog::{PROVIDERS, VARIABLES};

/// Below it two words only share letters (Jaro-Winkler on lower case: `gridHots` has 0.98, `color` to `level` 0.6).
const ALIKE: f64 = 0.83;
/// A shorter word stands in too many others.
const SHORTEST_PART: usize = 4;

/// The keys that are known in a section, `""` for the file itself, in the order of the reference.
pub(super) fn known_in(section: &str) -> Vec<&'static str> {
    let header = HEADER.iter().map(|(name, _)| *name).filter(|_| section.is_empty());
    let below = VARIABLES.iter().filter_map(|known| {
        let rest = match section {
            "" => known.key?,
            section => known.key?.strip_prefix(section)?.strip_prefix('.')?,
        };
        rest.split('.').next()
    });
    let mut seen = BTreeSet::new();
    let listed = Some(PROVIDERS).filter(|_| section.is_empty());
    header.chain(below).chain(listed).filter(|name| seen.insert(*name)).collect()
}

/// What to do about `name`, which is no key of `section`: what is the same but for capitals or its place comes before what
/// is only like it.
pub(super) fn advice(section: &str, name: &str) -> String {
    let known = known_in(section);
    let same = known.iter().find(|candidate| candidate.eq_ignore_ascii_case(name));
    if let (None, Some(meant)) = (same, elsewhere(name)) {
        return match meant.split_once('.') {
            Some((section, key)) => format!("did you mean {key}, below {section}?"),
            None => format!("did you mean {meant}, at the left margin?"),
        };
    }
    advice_of(name, &known)
}

/// What to do about `name`, where only `known` can stand.
pub(in crate::config) fn advice_of(name: &str, known: &[&str]) -> String {
    match nearest(name, known)[..] {
        [] => format!("known here: {}", known.join(", ")),
        ref meant => format!("did you mean {}?", meant.join(" or ")),
    }
}

/// Those of `known` that `name` is a part of or the other way round; if there are none, the one most like it, if one is.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let is_part = |candidate: &&&str| {
        let candidate = candidate.to_lowercase();
        let (short, long) =
            if name.len() < candidate.len() { (&name, &candidate) } else { (&candidate, &name) };
        short.len() >= SHORTEST_PART && long.contains(short.as_str())
    };
    let parts: Vec<_> = known.iter().filter(is_part).copied().collect();
    if !parts.is_empty() {
        return parts;
    }
    let likeness = |candidate: &str| strsim::jaro_winkler(&name, &candidate.to_lowercase());
    let rated = known.iter().map(|candidate| (likeness(candidate), *candidate));
    // Of equals the first one of the reference, so that the advice is always the same.
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, meant)| meant).into_iter().collect()
}

/// A key of another section that is called the same, or the key of the variable that is called so.
fn elsewhere(name: &str) -> Option<&'static str> {
    VARIABLES.iter().find_map(|known| {
        let key = known.key?;
        let last = key.rsplit('.').next()?;
        let same = [known.name, key, last].iter().any(|called| called.eq_ignore_ascii_case(name));
        same.then_some(key)
    })
}
