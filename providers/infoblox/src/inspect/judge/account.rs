//! What the account may do: what it needs, and nothing that it does not.

use std::collections::BTreeSet;

use gslb_provider_contract::Finding;

use super::super::facts::{
    Access, Account, Facts, Grant, Group, Holder, Inside, RecordsFacts, ZoneFacts, ZoneKind,
};
use super::grants::{Level, MEMBER, RECORDS, Right, Scope, VIEW, ZONE, right, stands_at};
use super::{listed, unread};

/// Where Grid Manager has permissions.
const MENU: &str = "Administration > Administrators > Permissions";

/// Who the account is, and what it may do beyond its work.
pub(super) fn findings(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let account = match &inside.account {
        Ok(Some(account)) => account,
        Ok(None) => {
            return vec![unseen(facts, "the grid does not show the account its own administrator object")];
        }
        Err(error) => {
            return vec![unseen(
                facts,
                &format!("the administrators of the grid could not be read ({error})"),
            )];
        }
    };
    let names = listed(account.groups.iter().map(|group| group.name.as_str()));
    if inside.is_superuser() {
        return vec![Finding::warning(
            "account",
            format!("the account is a superuser (group {names}), which may do everything in the grid"),
            format!(
                "give it a group of its own at Administration > Administrators > Groups, with API as its only interface and {}",
                wanted(facts)
            ),
        )];
    }
    let mut findings = vec![Finding::ok("account", format!("the account is no superuser (group {names})"))];
    match grants(account) {
        Ok(grants) => {
            findings.push(surplus(facts, inside, &grants));
            findings.extend(facts.restarts.then(|| restart(facts, inside, &grants)));
        }
        Err(finding) => findings.push(finding),
    }
    findings
}

fn unseen(facts: &Facts, why: &str) -> Finding {
    Finding::unknown(
        "account",
        format!(
            "{why}, so whether it is a superuser, and whether its group may write delegations and nothing else, cannot be told without a write"
        ),
        format!(
            "have a superuser look at Administration > Administrators: the account's group should be no superuser group, and have API as its only interface and {}",
            wanted(facts)
        ),
    )
}

/// The permissions that the account should have.
fn wanted(facts: &Facts) -> String {
    let restart =
        if facts.restarts { ", and Read-only on All Members to restart the DNS service" } else { "" };
    format!("Read/Write on All Zones of DNS view {}{restart}", facts.view)
}

/// Of them, what records take.
fn wanted_for_records(zone: &RecordsFacts) -> String {
    format!(
        "Read/Write on A and AAAA records, and Read-only on CNAME and host records, of the zone that holds {}",
        zone.zone
    )
}

/// All permissions of all groups, or why they are not known.
fn grants(account: &Account) -> Result<Vec<Grant>, Finding> {
    let mut grants = Vec::new();
    for Group { grants: found, .. } in &account.groups {
        match found {
            Ok(found) => grants.extend(found.iter().cloned()),
            Err(error) => return Err(unread("permissions", "the permissions of the account's group", error)),
        }
    }
    if grants.is_empty() {
        return Err(Finding::unknown(
            "permissions",
            "the grid shows the account no permission of its group or roles, although it may log in",
            format!("look at {MENU} as a superuser"),
        ));
    }
    Ok(grants)
}

/// Writes that nothing here needs.
fn surplus(facts: &Facts, inside: &Inside, grants: &[Grant]) -> Finding {
    const CHECK: &str = "permissions";
    let zones = inside.zones.iter().flat_map(|zone| levels(facts, inside, zone));
    let records = inside.records.iter().flat_map(|zone| written_levels(facts, inside, zone));
    let ours: Vec<Level<'_>> = zones.chain(records).chain(view_levels(facts, inside)).collect();
    let writes: Vec<_> = grants.iter().filter(|grant| grant.permission == Access::Write).collect();
    let (needed, other): (Vec<_>, Vec<_>) =
        writes.into_iter().partition(|grant| ours.iter().any(|level| stands_at(grant, level)));
    let unread = inside.zones.iter().any(|zone| is_blurred(facts, inside, zone, grants))
        || inside.records.iter().any(|zone| is_blurred_for_records(facts, inside, zone, grants));
    let (unclear, other): (Vec<_>, Vec<_>) =
        other.into_iter().partition(|grant| unread && is_for_an_object(grant));
    let mut surplus: BTreeSet<String> = other.into_iter().map(words).collect();
    if needed.iter().any(|grant| grant.object.is_none()) {
        surplus.insert("zones of every DNS view".to_owned());
    }
    if !surplus.is_empty() {
        return Finding::warning(
            CHECK,
            format!(
                "the account may write what gslb-bridge never writes: {}",
                listed(surplus.iter().map(String::as_str))
            ),
            format!("reduce them at {MENU} to {}", wanted(facts)),
        );
    }
    if !unclear.is_empty() {
        return Finding::unknown(CHECK, UNCLEAR, format!("look at {MENU} for more than {}", wanted(facts)));
    }
    Finding::ok(CHECK, "the account may write nothing beyond the zones that it works in")
}

/// Said where the objects that permissions name are not known.
const UNCLEAR: &str = "the account has permissions for single views or zones, and which ones these are cannot be told, as not all views and zones could be read";

/// Whether a permission may be about this delegation without our knowing, because what it names was not read.
fn is_blurred(facts: &Facts, inside: &Inside, zone: &ZoneFacts, grants: &[Grant]) -> bool {
    if zone.around.is_ok() && view_reference(facts, inside).is_some() {
        return false;
    }
    names_unknown(grants, &levels(facts, inside, zone))
}

/// As [`is_blurred`], for a zone in records mode.
fn is_blurred_for_records(facts: &Facts, inside: &Inside, zone: &RecordsFacts, grants: &[Grant]) -> bool {
    if zone.around.is_ok() && view_reference(facts, inside).is_some() {
        return false;
    }
    let known: Vec<_> = RECORDS.iter().flat_map(|kind| record_levels(facts, inside, zone, kind)).collect();
    names_unknown(grants, &known)
}

fn names_unknown(grants: &[Grant], known: &[Level<'_>]) -> bool {
    let unknown = |grant: &&Grant| !known.iter().any(|level| stands_at(grant, level));
    grants.iter().filter(unknown).any(is_for_an_object)
}

/// Permissions for a whole view name the view as their object.
fn is_for_an_object(grant: &Grant) -> bool {
    let kind = grant.resource_type.as_str();
    grant.object.is_some() && (matches!(kind, ZONE | VIEW) || RECORDS.contains(&kind))
}

fn words(grant: &Grant) -> String {
    match grant.object {
        None => format!("all of {}", grant.resource_type),
        Some(_) => format!("{} of other objects", grant.resource_type),
    }
}

/// What a restart of the DNS service takes (NIOS 9.0 administrator guide, task "restart services").
fn restart(facts: &Facts, inside: &Inside, grants: &[Grant]) -> Finding {
    let view = view_reference(facts, inside);
    let views = [
        Level { resource: VIEW, object: view, scope: Scope::View },
        Level { resource: VIEW, object: None, scope: Scope::Grid },
    ];
    let members =
        grants.iter().any(|grant| grant.resource_type == MEMBER && grant.permission != Access::Deny);
    let may_view = matches!(right(grants, &views), Right::Given(Access::Write, _));
    if members && may_view {
        return Finding::ok("restart-permission", "the account may restart the DNS service");
    }
    Finding::error(
        "restart-permission",
        "INFOBLOX_RESTART_POLICY is if-needed, and the account may not restart the DNS service: that takes Read-only on the members and Read/Write on the DNS view",
        format!("give both at {MENU}, or set INFOBLOX_RESTART_POLICY to never"),
    )
}

/// Whether the account may write this delegation.
pub(super) fn of_zone(facts: &Facts, inside: &Inside, zone: &ZoneFacts) -> Option<Finding> {
    const CHECK: &str = "write-permission";
    let account = inside.account.as_ref().ok()?.as_ref()?;
    if inside.is_superuser() {
        return Some(Finding::ok(CHECK, "a superuser may write the delegation"));
    }
    // Said once for the account already.
    let grants = grants(account).ok()?;
    if is_blurred(facts, inside, zone, &grants) {
        return Some(Finding::unknown(
            CHECK,
            UNCLEAR,
            format!("correct what kept them from being read; it takes {}", wanted(facts)),
        ));
    }
    let exists = matches!(&zone.delegation, Ok(Some(_)));
    Some(match right(&grants, &levels(facts, inside, zone)) {
        Right::Given(Access::Write, Scope::Parent) if !exists => Finding::unknown(
            CHECK,
            "the account may write the parent zone; whether that is enough to make a delegation in it, the vendor's guide does not say",
            format!("wait for the first write, or give {} at {MENU}", wanted(facts)),
        ),
        Right::Given(Access::Write, _) => Finding::ok(CHECK, "the account may write the delegation"),
        Right::Given(access @ (Access::Read | Access::Deny), scope) => {
            let does =
                if access == Access::Read { "only lets the account read" } else { "denies the account" };
            lacking(facts, &format!("a permission for {} {does} it", place(facts, scope)))
        }
        Right::Missing => lacking(facts, "no permission of the account speaks of it"),
        Right::Split(scope) => Finding::unknown(
            CHECK,
            format!(
                "the permissions for {} contradict each other; which of them counts depends on the order of roles",
                place(facts, scope)
            ),
            format!("leave one of them at {MENU}"),
        ),
    })
}

/// Whether the account may do with the records of this zone what it has to.
pub(super) fn of_records(facts: &Facts, inside: &Inside, zone: &RecordsFacts) -> Vec<Finding> {
    const WRITE: &str = "write-permission";
    let Some(account) = inside.account.as_ref().ok().and_then(Option::as_ref) else { return Vec::new() };
    if inside.is_superuser() {
        return vec![Finding::ok(WRITE, "a superuser may write the records")];
    }
    // Said once for the account already.
    let Ok(grants) = grants(account) else { return Vec::new() };
    if is_blurred_for_records(facts, inside, zone, &grants) {
        let fix = format!("correct what kept them from being read; it takes {}", wanted_for_records(zone));
        return vec![Finding::unknown(WRITE, UNCLEAR, fix)];
    }
    let of = |kind| right(&grants, &record_levels(facts, inside, zone, kind));
    let barred = |kind, needed| barred(facts, zone, kind, needed, of(kind));
    let [a, aaaa, cname, host] = RECORDS;
    let mut writes: Vec<_> = [a, aaaa].into_iter().filter_map(|kind| barred(kind, Access::Write)).collect();
    if writes.is_empty() {
        let found = "the account may make, change and delete records of type A and AAAA";
        writes.push(Finding::ok(WRITE, found));
    }
    writes
        .into_iter()
        .chain([cname, host].into_iter().filter_map(|kind| barred(kind, Access::Read)))
        .collect()
}

/// What keeps the account from writing, or from reading, records of a kind; nothing if it may.
fn barred(facts: &Facts, zone: &RecordsFacts, kind: &str, needed: Access, right: Right) -> Option<Finding> {
    let (check, does) = match needed {
        Access::Write => ("write-permission", "make, change or delete"),
        Access::Read | Access::Deny => ("read-permission", "read"),
    };
    let why = match right {
        Right::Given(Access::Write, _) => return None,
        Right::Given(Access::Read, _) if needed == Access::Read => return None,
        Right::Given(Access::Read, scope) => {
            format!("a permission for {} only lets the account read them", place(facts, scope))
        }
        Right::Given(Access::Deny, scope) => {
            format!("a permission for {} denies them to the account", place(facts, scope))
        }
        Right::Missing => "no permission of the account speaks of them".to_owned(),
        Right::Split(scope) => {
            return Some(Finding::unknown(
                check,
                format!(
                    "the permissions for {kind} records of {} contradict each other; which of them counts depends on the order of roles",
                    place(facts, scope)
                ),
                format!("leave one of them at {MENU}"),
            ));
        }
    };
    let fix = format!("give it {} at {MENU}", wanted_for_records(zone));
    let found = format!("the account may not {does} {kind} records: {why}");
    Some(match needed {
        Access::Write => Finding::error(check, found, fix),
        Access::Read | Access::Deny => Finding::warning(
            check,
            format!("{found}; one that excludes address records is noticed only when the grid refuses ours"),
            fix,
        ),
    })
}

fn lacking(facts: &Facts, why: &str) -> Finding {
    Finding::error(
        "write-permission",
        format!("the account may not write the delegation: {why}"),
        format!("give it {} at {MENU}", wanted(facts)),
    )
}

fn place(facts: &Facts, scope: Scope) -> String {
    match scope {
        Scope::Delegation => "the delegation itself".to_owned(),
        Scope::Parent => "its parent zone".to_owned(),
        Scope::Holder => "the zone that holds them".to_owned(),
        Scope::View => format!("DNS view {}", facts.view),
        Scope::Grid => "the whole grid".to_owned(),
    }
}

/// Where a permission to write a delegation may stand, from special to general.
fn levels<'a>(facts: &'a Facts, inside: &'a Inside, zone: &'a ZoneFacts) -> Vec<Level<'a>> {
    let name = zone.claimant.zone().name().as_str();
    let around = zone.around.as_deref().unwrap_or_default();
    let itself = around.iter().find(|holder| {
        holder.kind == ZoneKind::Delegated && holder.fqdn == name && holder.view == facts.view
    });
    let parent = ZoneFacts::holder(around, name, &facts.view);
    let at = |holder: Option<&'a Holder>, scope| {
        holder.map(|holder| Level { resource: ZONE, object: Some(holder.reference.as_str()), scope })
    };
    let special = [at(itself, Scope::Delegation), at(parent, Scope::Parent)];
    special.into_iter().flatten().chain(view_levels(facts, inside)).collect()
}

/// Where a permission for records of a kind may stand, from special to general: one for the kind is more special than
/// one for the zone, and zones pass theirs down to what is in them.
fn record_levels<'a>(
    facts: &'a Facts,
    inside: &'a Inside,
    zone: &'a RecordsFacts,
    kind: &'static str,
) -> Vec<Level<'a>> {
    let holders = zone.holders(&facts.view).into_iter().flat_map(|holder| {
        [kind, ZONE].map(|resource| Level {
            resource,
            object: Some(holder.reference.as_str()),
            scope: Scope::Holder,
        })
    });
    let view = view_reference(facts, inside);
    let of_view = view.map(|object| Level { resource: kind, object: Some(object), scope: Scope::View });
    let mut general = view_levels(facts, inside);
    let everywhere = Level { resource: kind, object: None, scope: Scope::Grid };
    let first_of_grid = general.iter().position(|level| level.object.is_none()).unwrap_or(general.len());
    general.insert(first_of_grid, everywhere);
    holders.chain(of_view).chain(general).collect()
}

/// The levels at which a right to write records is no surplus: anywhere but in the whole grid.
fn written_levels<'a>(facts: &'a Facts, inside: &'a Inside, zone: &'a RecordsFacts) -> Vec<Level<'a>> {
    let kinds = RECORDS.into_iter().take(2);
    let levels = kinds.flat_map(|kind| record_levels(facts, inside, zone, kind));
    levels.filter(|level| level.scope != Scope::Grid).collect()
}

/// The part of [`levels`] that is the same for all delegations.
fn view_levels<'a>(facts: &Facts, inside: &'a Inside) -> Vec<Level<'a>> {
    let view = view_reference(facts, inside);
    let of_view = |resource| view.map(|object| Level { resource, object: Some(object), scope: Scope::View });
    let everywhere = |resource| Some(Level { resource, object: None, scope: Scope::Grid });
    [of_view(ZONE), of_view(VIEW), everywhere(ZONE), everywhere(VIEW)].into_iter().flatten().collect()
}

fn view_reference<'a>(facts: &Facts, inside: &'a Inside) -> Option<&'a str> {
    let views = inside.views.as_ref().ok()?;
    views.iter().find(|view| view.name == facts.view).map(|view| view.reference.as_str())
}
