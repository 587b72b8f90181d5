//! What a set of permissions comes to for one thing. The more special permission wins over the more general one
//! (NIOS 8.1 administrator guide, Administrative Permissions for DNS Resources).

use super::super::facts::{Access, Grant};

/// Resource types of zones, views and members, as the grid calls them.
pub(super) const ZONE: &str = "ZONE";
pub(super) const VIEW: &str = "VIEW";
pub(super) const MEMBER: &str = "MEMBER";
/// Resource types of records.
pub(super) const RECORDS: [&str; 4] = ["A", "AAAA", "CNAME", "HOST"];

/// A place where a permission may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level<'a> {
    pub(super) resource: &'static str,
    /// Reference of the object; nothing for the whole grid.
    pub(super) object: Option<&'a str>,
    pub(super) scope: Scope,
}

/// How much a permission at a place covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The delegation alone.
    Delegation,
    /// The zone around it, with all that is in it.
    Parent,
    /// A zone that holds the records, or is around one that does.
    Holder,
    /// All zones of the view.
    View,
    /// All zones of the grid.
    Grid,
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// Something gives or takes it, there.
    Given(Access, Scope),
    /// Permissions at one place say different things; which of them counts depends on the order of roles.
    Split(Scope),
    /// Nothing speaks of it.
    Missing,
}

/// The first place of `levels`, which come from special to general, that has a permission decides.
pub(super) fn right(grants: &[Grant], levels: &[Level<'_>]) -> Right {
    for level in levels {
        let mut here = grants.iter().filter(|grant| stands_at(grant, level)).map(|grant| grant.permission);
        let Some(first) = here.next() else { continue };
        return match here.all(|other| other == first) {
            true => Right::Given(first, level.scope),
            false => Right::Split(level.scope),
        };
    }
    Right::Missing
}

/// Whether a permission stands at a place.
pub(super) fn stands_at(grant: &Grant, level: &Level<'_>) -> bool {
    grant.resource_type == level.resource && grant.object.as_deref() == level.object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(permission: Access, resource_type: &str, object: Option<&str>) -> Grant {
        Grant { permission, resource_type: resource_type.to_owned(), object: object.map(str::to_owned) }
    }

    #[test]
    fn the_most_special_permission_decides_and_those_that_differ_at_one_place_decide_nothing() {
        use Access::{Deny, Read, Write};
        let levels = [
            Level { resource: ZONE, object: Some("zone_auth/x"), scope: Scope::Parent },
            Level { resource: ZONE, object: Some("view/x"), scope: Scope::View },
            Level { resource: ZONE, object: None, scope: Scope::Grid },
        ];
        let (parent, view, all) = (Some("zone_auth/x"), Some("view/x"), None);
        let cases: [(&[Grant], Right); 7] = [
            (&[], Right::Missing),
            (&[grant(Write, "NETWORK", all), grant(Write, ZONE, Some("view/y"))], Right::Missing),
            (&[grant(Write, ZONE, all)], Right::Given(Write, Scope::Grid)),
            (&[grant(Write, ZONE, all), grant(Read, ZONE, view)], Right::Given(Read, Scope::View)),
            (&[grant(Deny, ZONE, parent), grant(Write, ZONE, view)], Right::Given(Deny, Scope::Parent)),
            (&[grant(Write, ZONE, view), grant(Write, ZONE, view)], Right::Given(Write, Scope::View)),
            (&[grant(Write, ZONE, view), grant(Read, ZONE, view)], Right::Split(Scope::View)),
        ];
        for (grants, expected) in cases {
            assert_eq!(right(grants, &levels), expected, "{grants:?}");
        }
    }
}
