//! In which form sets are told and taken: what webhooks are known to do.

use super::backend::Set;

/// What it does to sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a habit of its own")]
pub struct Habits {
    /// Names end with a dot.
    pub dots: bool,
    /// Names are in capitals.
    pub capitals: bool,
    /// Targets are in another order than they were sent in.
    pub reversed: bool,
    /// Each record is listed as a set of its own.
    pub in_parts: bool,
    /// No TTL is kept, nor told.
    pub no_ttl: bool,
    /// It says of NS sets that it would not keep them, and does not.
    pub drops_ns: bool,
    /// It says that it keeps them, takes them, and does not.
    pub loses_ns: bool,
    /// It says of every set that it would have this TTL.
    pub least_ttl: Option<i64>,
}

impl Habits {
    /// What it would make of a set that it is asked about.
    pub(super) fn adjusted(self, set: Set) -> Option<Set> {
        if self.drops_ns && set.record_type == "NS" {
            return None;
        }
        let ttl = match self.least_ttl {
            _ if self.no_ttl => 0,
            Some(least) => set.ttl.max(least),
            None => set.ttl,
        };
        Some(Set { ttl, ..set })
    }

    pub(super) fn keeps(self, set: &Set) -> bool {
        !((self.drops_ns || self.loses_ns) && set.record_type == "NS")
    }

    /// A set as it is listed.
    pub(super) fn listed(self, set: &Set) -> Vec<Set> {
        let is_name = |record_type: &str| matches!(record_type, "NS" | "CNAME");
        let mut targets = set.targets.clone();
        if is_name(&set.record_type) {
            targets.iter_mut().for_each(|target| *target = self.spelled(target));
        }
        if self.reversed {
            targets.reverse();
        }
        let ttl = if self.no_ttl { 0 } else { set.ttl };
        let whole = Set { name: self.spelled(&set.name), ttl, targets, ..set.clone() };
        if !self.in_parts {
            return vec![whole];
        }
        let part = |target: &String| Set { targets: vec![target.clone()], ..whole.clone() };
        whole.targets.iter().map(part).collect()
    }

    fn spelled(self, name: &str) -> String {
        let name = if self.capitals { name.to_uppercase() } else { name.to_owned() };
        if self.dots { format!("{name}.") } else { name }
    }
}
