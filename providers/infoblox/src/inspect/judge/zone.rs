//! What stands around a delegation: its parent zone, other views, DNSSEC.

use std::collections::BTreeSet;

use gslb_provider_contract::Finding;

use super::super::facts::{Facts, Holder, ZoneFacts, ZoneKind};
use super::{listed, unread, zone_menu};

const PARENT: &str = "parent-zone";

pub(super) fn findings(facts: &Facts, zone: &ZoneFacts) -> Vec<Finding> {
    let around = match &zone.around {
        Ok(around) => around,
        Err(error) => {
            let mut findings = vec![unread(PARENT, "the zones around it, in this and other views,", error)];
            findings.extend(dnssec(zone, None));
            return findings;
        }
    };
    let name = zone.claimant.zone().name().as_str();
    let holder = ZoneFacts::holder(around, name, &facts.view);
    let mut findings = match holder {
        Some(holder) => parent(facts, zone, holder),
        None => vec![no_parent(facts, zone, around)],
    };
    findings.extend(holder.map(|holder| other_views(facts, zone, around, holder)));
    findings.extend(dnssec(zone, holder));
    findings
}

fn no_parent(facts: &Facts, zone: &ZoneFacts, around: &[Holder]) -> Finding {
    let name = zone.claimant.zone().name().as_str();
    let elsewhere: BTreeSet<_> = around
        .iter()
        .filter(|holder| holder.kind == ZoneKind::Auth && holder.fqdn != name)
        .map(|holder| format!("{} in view {}", holder.fqdn, holder.view))
        .collect();
    let parent = zone.claimant.zone().parent();
    let there = match elsewhere.is_empty() {
        true => String::new(),
        false => format!("; there is {}", listed(elsewhere.iter().map(String::as_str))),
    };
    Finding::error(
        PARENT,
        format!("DNS view {} has no zone {parent}, or the account may not see it{there}", facts.view),
        "create the parent zone there, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it",
    )
}

/// Everything that is wrong with the zone that holds the delegation, at once.
fn parent(facts: &Facts, zone: &ZoneFacts, holder: &Holder) -> Vec<Finding> {
    let (fqdn, view, configured) = (&holder.fqdn, &facts.view, zone.claimant.zone().parent());
    if holder.kind != ZoneKind::Auth {
        let kind = holder.kind.words();
        return vec![Finding::error(
            PARENT,
            format!(
                "the closest zone, {fqdn}, is {kind} in DNS view {view}, and nothing can be delegated in one"
            ),
            format!(
                "choose a zone that lies directly in an authoritative one, or have {fqdn} removed at Data Management > DNS > Zones"
            ),
        )];
    }
    let moved = || {
        Finding::warning(
            PARENT,
            format!(
                "the delegation belongs into {fqdn}, the closest zone in DNS view {view}, and not into {configured}, which is configured as its parent"
            ),
            format!(
                "if that is not meant, correct the parent in DNS_ZONES or spec.parentZone of the ZoneDelegation, or create {configured}"
            ),
        )
    };
    let mut findings = unfit(PARENT, view, holder, Content::Delegation);
    findings.extend((fqdn != configured.as_str()).then(moved));
    if findings.is_empty() {
        let fit = format!("{fqdn} is an authoritative zone in DNS view {view}, served and unlocked");
        findings.push(Finding::ok(PARENT, fit));
    }
    findings
}

/// What a zone is to hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    Delegation,
    Records,
}

/// What keeps an authoritative zone from serving that.
pub(super) fn unfit(check: &'static str, view: &str, holder: &Holder, content: Content) -> Vec<Finding> {
    let (thing, unserved) = match content {
        Content::Delegation => ("a delegation", "it takes no delegation"),
        Content::Records => ("a record", "nobody serves it"),
    };
    let (fqdn, menu) = (&holder.fqdn, zone_menu(&holder.fqdn));
    let disabled = || {
        Finding::error(
            check,
            format!("{fqdn} is disabled in DNS view {view}, so neither it nor {thing} in it is served"),
            format!("clear Disable at {menu}"),
        )
    };
    let without_primary = || {
        Finding::error(
            check,
            format!(
                "{fqdn} has neither a Grid primary nor a name server group in DNS view {view}, so {unserved}"
            ),
            format!("add a Grid primary at {menu} > Name Servers"),
        )
    };
    let locked = || {
        let by = holder.locked_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        Finding::warning(
            check,
            format!(
                "{fqdn} is locked{by} in DNS view {view}, which may keep {thing} from being made or changed in it"
            ),
            format!("have whoever locked it, or a superuser, clear Locked at {menu}"),
        )
    };
    let all = [
        holder.disabled.then(disabled),
        (!holder.has_primary).then(without_primary),
        holder.locked.then(locked),
    ];
    all.into_iter().flatten().collect()
}

/// Views that hold the parent zone and lack the delegation.
fn other_views(facts: &Facts, zone: &ZoneFacts, around: &[Holder], parent: &Holder) -> Finding {
    const CHECK: &str = "other-views";
    let name = zone.claimant.zone().name().as_str();
    let holds = |kind, fqdn: &str| -> BTreeSet<&str> {
        let others = around.iter().filter(|holder| holder.view != facts.view);
        others
            .filter(|holder| holder.kind == kind && holder.fqdn == fqdn)
            .map(|holder| holder.view.as_str())
            .collect()
    };
    let parents = holds(ZoneKind::Auth, &parent.fqdn);
    let delegated = holds(ZoneKind::Delegated, name);
    let without: Vec<_> = parents.difference(&delegated).copied().collect();
    if without.is_empty() {
        let found = match parents.is_empty() {
            true => format!("no other view that the account sees holds {}", parent.fqdn),
            false => format!("every other view that holds {} delegates {name} too", parent.fqdn),
        };
        return Finding::ok(CHECK, found);
    }
    Finding::warning(
        CHECK,
        format!(
            "{} is also in DNS view {}, without this delegation: clients of that view find no host of {name}",
            parent.fqdn,
            without.join(", ")
        ),
        format!(
            "if they should, add the same delegated zone there at Data Management > DNS > Zones > {}",
            without.join(", ")
        ),
    )
}

/// A DS record says that the child is signed, which no zone here is: validating resolvers then answer SERVFAIL (RFC 4035 §5.2).
fn dnssec(zone: &ZoneFacts, holder: Option<&Holder>) -> Option<Finding> {
    const CHECK: &str = "dnssec";
    let name = zone.claimant.zone().name();
    let signers = match &zone.signers {
        Ok(signers) => signers,
        Err(error) => return Some(unread(CHECK, "whether there is a DS record for it", error)),
    };
    let parent = holder.map_or_else(|| zone.claimant.zone().parent().as_str(), |holder| holder.fqdn.as_str());
    let fix = || format!("delete the DS record of {name} at Data Management > DNS > Zones > {parent}");
    if !signers.is_empty() {
        let tags = signers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let there = format!("{parent} holds a DS record for {name} (key tag {tags})");
        return Some(match zone.signed {
            Some(Ok(false)) => Finding::warning(
                CHECK,
                format!(
                    "{there}; gslb-bridge does not sign zones, so once {parent} is signed, validating resolvers will answer SERVFAIL"
                ),
                fix(),
            ),
            Some(Ok(true) | Err(_)) | None => Finding::error(
                CHECK,
                format!(
                    "{there}; gslb-bridge does not sign zones, so validating resolvers answer SERVFAIL for every host"
                ),
                fix(),
            ),
        });
    }
    match zone.signed.as_ref()? {
        Ok(true) => Some(Finding::ok(
            CHECK,
            format!(
                "{parent} is signed and holds no DS record for {name}: an unsigned delegation, as it has to be"
            ),
        )),
        Ok(false) => {
            Some(Finding::ok(CHECK, format!("{parent} is not signed, and holds no DS record for {name}")))
        }
        Err(error) => Some(unread(CHECK, &format!("whether {parent} is signed"), error)),
    }
}
