//! The two API groups that a Gslb may be of, and which Gslb serves a name that is in both.

use jiff::Timestamp;

/// Reason of the condition of a Gslb whose name is served from the other group.
pub const OTHER_GROUP_SERVES: &str = "OtherGroupServes";

/// An API group with a kind `Gslb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// `k8gb.io`
    Canonical,
    /// `k8gb.absa.oss`, which k8gb gives up.
    Legacy,
}

impl Group {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Canonical, Self::Legacy];

    /// The name of the group.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Canonical => "k8gb.io",
            Self::Legacy => "k8gb.absa.oss",
        }
    }

    /// The group of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.as_str() == name)
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Canonical => Self::Legacy,
            Self::Legacy => Self::Canonical,
        }
    }
}

/// One of two Gslbs of the same namespace and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twin {
    /// Its group.
    pub group: Group,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Whether the DNSEndpoint of that name belongs to it.
    pub publishes: bool,
    /// Whether it said last that the other one serves.
    pub yields: bool,
    /// Whether it shall not serve: a legacy one that is migrated or deleted.
    pub retired: bool,
}

/// The group that serves a name: never two write one DNSEndpoint (F-25).
///
/// The one that publishes goes on, so that nothing changes before it is handed over. While the DNSEndpoint is nobody's,
/// or gone, the one goes on that the other said serves; where none has said so the older one begins, as in every contest
/// for a host.
pub fn serving(one: Twin, other: Twin) -> Group {
    let rank = |twin: &Twin| (twin.retired, !twin.publishes, twin.yields, twin.created, twin.group);
    if rank(&one) <= rank(&other) { one.group } else { other.group }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin(group: Group, created: i64) -> Twin {
        let created = Timestamp::from_second(created).ok();
        Twin { group, created, publishes: false, yields: false, retired: false }
    }

    #[test]
    fn the_one_that_publishes_serves_a_name_before_the_older_one() {
        let (old, young) = (twin(Group::Legacy, 1), twin(Group::Canonical, 2));
        let retired = Twin { retired: true, publishes: true, ..old };
        let publishing = |twin| Twin { publishes: true, ..twin };
        for (legacy, canonical, serves) in [
            (old, young, Group::Legacy),
            (old, publishing(young), Group::Canonical),
            (publishing(old), young, Group::Legacy),
            (twin(Group::Legacy, 2), young, Group::Canonical),
            (twin(Group::Legacy, 3), young, Group::Canonical),
            (retired, young, Group::Canonical),
            (Twin { yields: true, ..old }, young, Group::Canonical),
            (Twin { yields: true, ..publishing(old) }, young, Group::Legacy),
            (Twin { yields: true, ..old }, Twin { yields: true, ..young }, Group::Legacy),
        ] {
            assert_eq!(serving(legacy, canonical), serves, "{legacy:?} {canonical:?}");
            assert_eq!(serving(canonical, legacy), serves, "{legacy:?} {canonical:?}");
        }
    }

    #[test]
    fn a_group_is_known_by_its_name() {
        assert_eq!(Group::ALL.map(|group| Group::parse(group.as_str())), Group::ALL.map(Some));
        assert_eq!(Group::parse("example.com"), None);
    }
}
