//! Members that are gone for good, perhaps: told after a day of silence, taken out only when somebody asks for it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::condition::{Condition, ConditionKind};
use crate::name::GeoTag;

/// How long a member may be silent before it is called stale (design §2.5: a day).
pub const STALE_AFTER: SignedDuration = SignedDuration::from_hours(24);
/// Members in one sentence. No outside reference.
const MOST_NAMED: usize = 10;

/// Since when each peer gives no word for any host, and nothing else speaks for it. Whoever speaks is not in it, and
/// neither is a peer that is asked for nothing.
pub type Silent = BTreeMap<GeoTag, Timestamp>;

/// The members of a delegation that have been silent for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    members: BTreeSet<GeoTag>,
    /// Whether no other member is left that speaks.
    alone: bool,
    /// When the next one becomes stale, if it stays silent.
    pub next: Option<Timestamp>,
}

impl Stale {
    /// Judges the other members that a delegation lists.
    pub fn of(listed: &BTreeSet<GeoTag>, silent: &Silent, now: Timestamp) -> Self {
        // A time beyond the calendar never comes.
        let due = |tag: &&GeoTag| silent.get(*tag).and_then(|since| since.checked_add(STALE_AFTER).ok());
        let members = listed.iter().filter(|tag| due(tag).is_some_and(|at| at <= now)).cloned().collect();
        let next = listed.iter().filter_map(|tag| due(&tag)).filter(|at| *at > now).min();
        Self { members, alone: listed.iter().all(|tag| silent.contains_key(tag)), next }
    }

    /// The condition `StaleMember`. It is `True` when there is one: the one kind whose `True` is unwanted.
    pub fn condition(&self) -> Condition {
        let kind = ConditionKind::StaleMember;
        if self.members.is_empty() {
            return Condition::good(
                kind,
                "NoneStale",
                "no cluster of the delegation has been silent for a day",
            );
        }
        let named = self.members.iter().take(MOST_NAMED).map(GeoTag::as_str).collect::<Vec<_>>().join(", ");
        let more = match self.members.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let doubt = match self.alone {
            true => " As no other cluster answers either, look first whether it is this one that is cut off.",
            false => "",
        };
        let first = self.members.first().map_or("", GeoTag::as_str);
        let message = format!(
            "{named}{more} of the delegation gave no answer for a day, and resolvers still try their name servers; bring them back, or take each out with: gslb-bridge evict {first}.{doubt}"
        );
        Condition::bad(kind, "Silent", message)
    }
}

/// What becomes of the wish to take one member out of a delegation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// Its entry is to be removed.
    Due(GeoTag),
    /// There is no entry of it, or no more.
    Over(GeoTag),
    /// It is not done. The text says why, and what to do instead.
    Refused(String),
}

impl Eviction {
    /// Judges a wish as it is written: tags with commas between.
    pub fn judge(
        wish: &str,
        own: &GeoTag,
        listed: &BTreeSet<GeoTag>,
        silent: &Silent,
    ) -> BTreeMap<String, Self> {
        let words = wish.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(|word| (word.to_owned(), Self::of(word, own, listed, silent))).collect()
    }

    fn of(word: &str, own: &GeoTag, listed: &BTreeSet<GeoTag>, silent: &Silent) -> Self {
        let tag = match GeoTag::parse(word) {
            Ok(tag) => tag,
            Err(error) => return Self::Refused(format!("{error}; name a cluster of the fleet")),
        };
        if tag == *own {
            return Self::Refused(format!(
                "{tag} is this cluster; to have it leave the delegation delete the ZoneDelegation with doFinalize true"
            ));
        }
        match (listed.contains(&tag), silent.contains_key(&tag)) {
            (false, _) => Self::Over(tag),
            (true, true) => Self::Due(tag),
            (true, false) => Self::Refused(format!(
                "{tag} is not known to be silent: it, or something for it, gave an answer, or no Gslb has it asked; a cluster that lives would add itself again, so delete its ZoneDelegation there with doFinalize true"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> GeoTag {
        GeoTag::parse(text).unwrap()
    }

    fn tags(texts: &[&str]) -> BTreeSet<GeoTag> {
        texts.iter().map(|text| tag(text)).collect()
    }

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hour * 3600).unwrap()
    }

    fn silent(since: &[(&str, i64)]) -> Silent {
        since.iter().map(|(text, hour)| (tag(text), at(*hour))).collect()
    }

    #[test]
    fn a_member_is_stale_after_a_day_of_silence_and_only_if_the_delegation_lists_it() {
        let silent = silent(&[("us", 0), ("za", 2), ("jp", 0)]);
        let stale = |hour| Stale::of(&tags(&["us", "za", "br"]), &silent, at(hour));
        assert_eq!((stale(23).members, stale(23).next), (tags(&[]), Some(at(24))));
        assert_eq!((stale(24).members, stale(24).next), (tags(&["us"]), Some(at(26))));
        assert_eq!((stale(26).members, stale(26).next), (tags(&["us", "za"]), None));
    }

    #[test]
    fn a_silence_beyond_the_calendar_is_never_a_day_old() {
        let silent = Silent::from([(tag("us"), Timestamp::MAX)]);
        let stale = Stale::of(&tags(&["us"]), &silent, at(0));
        assert_eq!((stale.members, stale.next), (tags(&[]), None));
    }

    #[test]
    fn the_condition_names_who_is_stale_the_command_and_the_doubt_of_who_hears_nobody() {
        let told = |listed: &[&str]| Stale::of(&tags(listed), &silent(&[("us", 0)]), at(24)).condition();
        let others = told(&["us", "za"]);
        assert_eq!((others.status.as_str(), others.reason), ("True", "Silent"));
        assert_eq!(
            others.message,
            "us of the delegation gave no answer for a day, and resolvers still try their name servers; bring them back, or take each out with: gslb-bridge evict us."
        );
        assert!(told(&["us"]).message.ends_with("look first whether it is this one that is cut off."));
        assert_eq!(told(&["za"]).status.as_str(), "False");
    }

    #[test]
    fn only_a_silent_other_member_is_taken_out() {
        let (listed, silent) = (tags(&["eu", "us", "za"]), silent(&[("us", 0), ("jp", 0)]));
        let judged = |wish| Eviction::judge(wish, &tag("eu"), &listed, &silent);
        assert_eq!(
            judged(" US , jp,"),
            [("US".to_owned(), Eviction::Due(tag("us"))), ("jp".to_owned(), Eviction::Over(tag("jp"))),]
                .into()
        );
        for refused in ["eu", "za", "e u", "ü"] {
            let judged = judged(refused);
            assert!(matches!(judged[refused], Eviction::Refused(_)), "{refused}");
        }
        assert_eq!(judged(" ,"), [].into());
    }
}
