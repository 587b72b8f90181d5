//! The move of a Gslb from the legacy group to the canonical one (contract §6).
//!
//! Whatever state a pass finds, the steps lead from there to the end, in an order in which the DNSEndpoint always has
//! an owner and no two Gslbs write it.

/// Label of a legacy Gslb: migrate it.
pub const REQUESTED: &str = "k8gb.io/migration-requested";

/// What a pass sees of a legacy Gslb and of what bears its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Legacy {
    /// It is being deleted.
    pub deleting: bool,
    /// Label `k8gb.io/migration-requested=true`
    pub requested: bool,
    /// Label `k8gb.io/migrated-to-k8gb-io=true`
    pub migrated: bool,
    /// Finalizer `k8gb.io/legacy-migration-protection`
    pub protected: bool,
    /// Its Ingress stands in its spec.
    pub embeds: bool,
    /// A canonical Gslb of the name exists, and stays.
    pub canonical: bool,
    /// That Gslb was made by this migration.
    pub made: bool,
    /// The Ingress of the name.
    pub ingress: Belonging,
    /// The DNSEndpoint of the name.
    pub endpoint: Belonging,
}

/// Whether an object belongs to the legacy Gslb.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Belonging {
    /// There is none.
    #[default]
    Absent,
    /// The legacy Gslb owns it.
    Legacy,
    /// It does not.
    Other,
}

/// One thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Set the finalizer: the legacy Gslb must not go while things belong to it.
    Protect,
    /// Make the Ingress that the canonical Gslb will refer to (F-81).
    CreateIngress,
    /// Make the canonical Gslb. One that exists is never written.
    CreateCanonical,
    /// Take the legacy Gslb out of the Ingress's owners.
    DetachIngress,
    /// Put the canonical Gslb in the legacy one's place among the DNSEndpoint's owners.
    HandOver,
    /// Set the label that says that it is done.
    Mark,
    /// Take the finalizer off.
    Unprotect,
    /// Tell the user.
    Tell(Word),
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The group is given up.
    Deprecated,
    /// The canonical Gslb was made.
    Migrated,
    /// Nothing was made: there was a canonical Gslb already.
    Ignored,
}

/// Why a legacy Gslb that stays is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retirement {
    /// The canonical Gslb serves in its place.
    Migrated,
    /// The label says that it is migrated, and there is no canonical Gslb: nobody serves its name.
    Abandoned,
}

impl Retirement {
    /// Stable reason of `Ready`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Migrated => "Migrated",
            Self::Abandoned => "LegacyIgnored",
        }
    }
}

impl Legacy {
    /// Whether the legacy Gslb itself is served.
    pub fn is_served(&self) -> bool {
        !(self.deleting || self.requested || self.migrated)
    }

    /// Why it is not served, once it is retired for good.
    pub fn retirement(&self) -> Option<Retirement> {
        let retired = self.migrated && !self.deleting;
        let there = self.canonical || self.made;
        retired.then_some(if there { Retirement::Migrated } else { Retirement::Abandoned })
    }

    /// Whether nobody serves the name, and no step will change that.
    pub fn leaves_its_name(&self) -> bool {
        let coming = self.requested && !self.migrated && !self.deleting || self.made;
        !(self.is_served() || self.canonical || coming)
    }

    /// What is to be done, in this order.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut when = |needed: bool, step: Step| {
            if needed {
                steps.push(step);
            }
        };
        let detach = self.embeds && self.ingress == Belonging::Legacy;
        let owned = self.endpoint == Belonging::Legacy;
        if self.deleting {
            // Without a canonical Gslb its records go with it (F-83).
            let moving = self.requested || self.migrated || self.protected;
            when(moving && detach, Step::DetachIngress);
            when(moving && owned && self.canonical, Step::HandOver);
            when(self.protected, Step::Unprotect);
        } else if self.migrated {
            let hand_over = owned && self.canonical;
            when(!self.protected, Step::Protect);
            when(detach, Step::DetachIngress);
            when(hand_over, Step::HandOver);
            // That there is none is told by its status.
            when((!self.protected || detach) && self.canonical || hand_over, Step::Tell(Word::Ignored));
        } else if self.requested {
            let create = !self.canonical;
            when(!self.protected, Step::Protect);
            when(create && self.embeds && self.ingress == Belonging::Absent, Step::CreateIngress);
            when(create, Step::CreateCanonical);
            when(create, Step::Tell(Word::Migrated));
            when(detach, Step::DetachIngress);
            when(owned, Step::HandOver);
            when(!create && !self.made, Step::Tell(Word::Ignored));
            when(true, Step::Mark);
        } else {
            when(self.protected, Step::Unprotect);
            when(true, Step::Tell(Word::Deprecated));
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::Step::*;
    use super::*;

    const IGNORED: Step = Tell(Word::Ignored);

    /// Served until now, with an Ingress and a DNSEndpoint of its own.
    fn served() -> Legacy {
        Legacy { embeds: true, ingress: Belonging::Legacy, endpoint: Belonging::Legacy, ..Legacy::default() }
    }
    fn requested() -> Legacy {
        Legacy { requested: true, ..served() }
    }
    /// As a migration leaves it.
    fn done() -> Legacy {
        Legacy {
            migrated: true,
            protected: true,
            canonical: true,
            ingress: Belonging::Other,
            endpoint: Belonging::Other,
            ..requested()
        }
    }

    /// Conformance 87.
    #[test]
    fn without_a_label_it_is_served_and_deprecated() {
        assert!(served().is_served());
        assert_eq!(served().steps(), [Tell(Word::Deprecated)]);
    }

    /// Contract §6.1: a stale finalizer goes; so going back begins.
    #[test]
    fn without_a_label_any_more_its_finalizer_goes() {
        let back = Legacy { requested: false, migrated: false, ..done() };
        assert!(back.is_served());
        assert_eq!(back.steps(), [Unprotect, Tell(Word::Deprecated)]);
    }

    /// Conformance 81, 83, 84, 88.
    #[test]
    fn on_request_a_canonical_gslb_is_made_before_anything_is_handed_over() {
        assert!(!requested().is_served());
        let steps = [Protect, CreateCanonical, Tell(Word::Migrated), DetachIngress, HandOver, Mark];
        assert_eq!(requested().steps(), steps);
    }

    /// F-81.
    #[test]
    fn an_embedded_ingress_that_is_missing_is_made_first() {
        let missing = Legacy { ingress: Belonging::Absent, ..requested() };
        let steps = [Protect, CreateIngress, CreateCanonical, Tell(Word::Migrated), HandOver, Mark];
        assert_eq!(missing.steps(), steps);
    }

    /// Conformance 91.
    #[test]
    fn nothing_that_is_missing_blocks() {
        let bare =
            Legacy { embeds: false, ingress: Belonging::Absent, endpoint: Belonging::Absent, ..requested() };
        assert_eq!(bare.steps(), [Protect, CreateCanonical, Tell(Word::Migrated), Mark]);
        let deleted =
            Legacy { deleting: true, ingress: Belonging::Absent, endpoint: Belonging::Absent, ..done() };
        assert_eq!(deleted.steps(), [Unprotect]);
    }

    /// Conformance 85.
    #[test]
    fn a_canonical_gslb_that_exists_is_never_written_and_takes_over() {
        let existed = Legacy { canonical: true, ..requested() };
        assert_eq!(existed.steps(), [Protect, DetachIngress, HandOver, IGNORED, Mark]);
    }

    #[test]
    fn a_migration_that_was_interrupted_goes_on_without_another_word() {
        let interrupted = Legacy { canonical: true, made: true, protected: true, ..requested() };
        assert_eq!(interrupted.steps(), [DetachIngress, HandOver, Mark]);
    }

    /// Conformance 84.
    #[test]
    fn a_label_that_was_reset_runs_the_migration_again() {
        let reset = Legacy { migrated: false, ..done() };
        assert_eq!(reset.steps(), [IGNORED, Mark]);
        let owned_again = Legacy { migrated: false, endpoint: Belonging::Legacy, ..done() };
        assert_eq!(owned_again.steps(), [HandOver, IGNORED, Mark]);
    }

    #[test]
    fn what_is_done_is_done() {
        assert_eq!(done().steps(), []);
        assert!(!done().is_served());
    }

    /// Conformance 86, 91: labelled by hand.
    #[test]
    fn one_that_is_called_migrated_is_brought_to_that_state_and_nothing_is_made() {
        let by_hand = Legacy { migrated: true, ..served() };
        assert_eq!(by_hand.steps(), [Protect, DetachIngress]);
        let stale = Legacy { endpoint: Belonging::Legacy, ..done() };
        assert_eq!(stale.steps(), [HandOver, IGNORED]);
    }

    #[test]
    fn one_that_is_retired_says_whether_its_name_is_served() {
        let gone = Legacy { canonical: false, ..done() };
        for (legacy, retirement, leaves) in [
            (served(), None, false),
            (requested(), None, false),
            (done(), Some(Retirement::Migrated), false),
            // The watch does not show yet what was made.
            (Legacy { made: true, ..gone }, Some(Retirement::Migrated), false),
            (gone, Some(Retirement::Abandoned), true),
            (Legacy { requested: false, ..gone }, Some(Retirement::Abandoned), true),
            (Legacy { deleting: true, ..gone }, None, true),
            (Legacy { deleting: true, ..requested() }, None, true),
        ] {
            assert_eq!((legacy.retirement(), legacy.leaves_its_name()), (retirement, leaves), "{legacy:?}");
        }
    }

    /// Conformance 89, 90. F-83.
    #[test]
    fn on_deletion_what_the_canonical_gslb_needs_is_handed_over() {
        let late =
            Legacy { deleting: true, ingress: Belonging::Legacy, endpoint: Belonging::Legacy, ..done() };
        assert_eq!(late.steps(), [DetachIngress, HandOver, Unprotect]);
        let alone = Legacy { canonical: false, ..late };
        assert_eq!(alone.steps(), [DetachIngress, Unprotect]);
        let never_moved = Legacy { deleting: true, ..served() };
        assert_eq!(never_moved.steps(), []);
    }
}
