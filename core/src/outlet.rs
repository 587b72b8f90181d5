//! Where a zone's delegation is published: in one DNS view of one provider, or in several, each on its own.

use std::fmt;

use crate::changelog::Proposal;
use crate::condition::{Condition, ConditionKind, Truth};

/// One place where the delegation of a zone is published. It is observed, planned, approved, logged, settled and proved
/// apart from all others of the zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outlet {
    provider: String,
    view: Option<String>,
    usual_view: Option<String>,
}

impl Outlet {
    /// The one place of a zone for which no places are listed. `usual_view`: the view that the provider is set up with,
    /// if it has views.
    pub fn plain(provider: &str, usual_view: Option<&str>) -> Self {
        Self { provider: provider.to_owned(), view: None, usual_view: usual_view.map(str::to_owned) }
    }

    /// A listed place.
    pub fn listed(provider: &str, view: &str, usual_view: &str) -> Self {
        Self { view: Some(view.to_owned()), ..Self::plain(provider, Some(usual_view)) }
    }

    /// Name of the provider's instance.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The view as the change log names it: nothing for a plain place, whose entries are as they always were.
    pub fn view(&self) -> Option<&str> {
        self.view.as_deref()
    }

    /// Whether a change was made here. An entry without a view was made in the usual one, so that neither older entries
    /// nor those from before somebody listed the places are lost.
    pub fn holds(&self, change: &Proposal) -> bool {
        let usual = self.usual_view.as_deref();
        change.provider == self.provider && change.view.as_deref().or(usual) == self.view.as_deref().or(usual)
    }
}

/// As sentences call it.
impl fmt::Display for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.view {
            Some(view) => write!(f, "view {view} of {}", self.provider),
            None => f.write_str(&self.provider),
        }
    }
}

/// One condition for all places of a zone. `None`: nobody looks there, which is no reason to call the zone bad. The
/// worst place lends its reason, and every sentence names its place, but for a plain one.
pub fn summary(kind: ConditionKind, parts: &[(&Outlet, Option<Condition>)]) -> Condition {
    let looked: Vec<(&Outlet, &Condition)> =
        parts.iter().filter_map(|(outlet, condition)| Some((*outlet, condition.as_ref()?))).collect();
    let has = |status| looked.iter().any(|(_, condition)| condition.status == status);
    let status = [Truth::False, Truth::Unknown, Truth::True].into_iter().find(|status| has(*status));
    let unseen = parts.iter().filter(|(_, condition)| condition.is_none()).map(|(outlet, _)| unseen(outlet));
    let Some(status) = status else {
        return Condition::unknown(kind, "NotLookedAt", unseen.collect::<Vec<_>>().join("; "));
    };
    let (worst, rest): (Vec<_>, Vec<_>) =
        looked.into_iter().partition(|(_, condition)| condition.status == status);
    // What is worth telling goes before what is simply as wanted.
    let mut reasons = worst.iter().map(|(_, condition)| condition.reason);
    let first = reasons.next().unwrap_or_default();
    let reason = std::iter::once(first).chain(reasons).find(|reason| *reason != kind.as_str());
    let sentences = worst.iter().chain(&rest).map(|(outlet, condition)| sentence(outlet, condition));
    let message = sentences.chain(unseen).collect::<Vec<_>>().join("; ");
    Condition { kind, status, reason: reason.unwrap_or(first), message }
}

fn sentence(outlet: &Outlet, condition: &Condition) -> String {
    match outlet.view() {
        Some(_) => format!("{outlet}: {}", condition.message),
        None => condition.message.clone(),
    }
}

fn unseen(outlet: &Outlet) -> String {
    format!(
        "{outlet}: nobody looks whether the delegation is served there, because its edgeDnsServers is empty"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changelog::{Action, ObjectRef, Who};

    const KIND: ConditionKind = ConditionKind::InSync;

    fn change(provider: &str, view: Option<&str>) -> Proposal {
        let text = String::new;
        Proposal {
            change_id: text(),
            plan_id: text(),
            who: Who { actor: text(), cluster: text(), pod: text() },
            object: ObjectRef { kind: text(), namespace: None, name: text(), uid: text(), generation: 1 },
            why: text(),
            provider: provider.to_owned(),
            view: view.map(str::to_owned),
            zone: text(),
            action: Action::Create,
            before: None,
            after: None,
        }
    }

    #[test]
    fn a_change_belongs_to_the_place_that_it_was_made_at_and_to_no_other() {
        let plain = Outlet::plain("infoblox", Some("default"));
        let usual = Outlet::listed("infoblox", "default", "default");
        let other = Outlet::listed("infoblox", "external", "default");
        let another = Outlet::listed("dmz", "default", "default");
        let without_views = Outlet::plain("external-dns", None);
        let cases = [
            // Provider and view of the entry; whether plain, usual, other, another and without_views hold it.
            ("infoblox", None, [true, true, false, false, false]),
            ("infoblox", Some("default"), [true, true, false, false, false]),
            ("infoblox", Some("external"), [false, false, true, false, false]),
            ("infoblox", Some("gone"), [false; 5]),
            ("dmz", Some("default"), [false, false, false, true, false]),
            ("dmz", Some("external"), [false; 5]),
            ("external-dns", None, [false, false, false, false, true]),
        ];
        for (provider, view, expected) in cases {
            let change = change(provider, view);
            let held = [&plain, &usual, &other, &another, &without_views].map(|outlet| outlet.holds(&change));
            assert_eq!(held, expected, "{provider} {view:?}");
        }
    }

    #[test]
    fn the_condition_of_a_plain_place_is_its_own() {
        let plain = Outlet::plain("infoblox", Some("default"));
        let own = Condition::good(KIND, "ForeignServers", "infoblox lists ns1.isp.example too");
        assert_eq!(summary(KIND, &[(&plain, Some(own.clone()))]), own);
    }

    #[test]
    fn the_worst_place_lends_its_reason_and_comes_first() {
        let inner = Outlet::listed("core", "internal", "internal");
        let outer = Outlet::listed("dmz", "external", "default");
        let good = || Condition::good(KIND, "InSync", "as wanted");
        let told = || Condition::good(KIND, "TtlDiffers", "another TTL");
        let open = || Condition::unknown(KIND, "NotAsked", "not asked");
        let bad = || Condition::bad(KIND, "Locked", "locked");
        let cases = [
            (
                [good(), good()],
                "True InSync view internal of core: as wanted; view external of dmz: as wanted",
            ),
            (
                [good(), told()],
                "True TtlDiffers view internal of core: as wanted; view external of dmz: another TTL",
            ),
            (
                [open(), told()],
                "Unknown NotAsked view internal of core: not asked; view external of dmz: another TTL",
            ),
            ([open(), bad()], "False Locked view external of dmz: locked; view internal of core: not asked"),
        ];
        for ([first, second], expected) in cases {
            let all = summary(KIND, &[(&inner, Some(first)), (&outer, Some(second))]);
            assert_eq!(format!("{} {} {}", all.status.as_str(), all.reason, all.message), expected);
        }
    }

    #[test]
    fn a_place_where_nobody_looks_is_named_and_makes_nothing_bad() {
        let inner = Outlet::listed("core", "internal", "internal");
        let outer = Outlet::listed("core", "external", "internal");
        let kind = ConditionKind::Delegated;
        let unseen = "view external of core: nobody looks whether the delegation is served there, because its edgeDnsServers is empty";
        let good = Condition::good(kind, "Delegated", "served");
        assert_eq!(
            summary(kind, &[(&inner, Some(good)), (&outer, None)]),
            Condition::good(kind, "Delegated", format!("view internal of core: served; {unseen}"))
        );
        assert_eq!(summary(kind, &[(&outer, None)]), Condition::unknown(kind, "NotLookedAt", unseen));
    }
}
