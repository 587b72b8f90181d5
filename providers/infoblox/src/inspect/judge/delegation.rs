//! The delegation itself, or what making it would hide.

use gslb_core::beneath::{Adoption, Beneath};
use gslb_core::claim::Claim;
use gslb_core::delegation::{ObservedDelegation, Obstacle};
use gslb_provider_contract::Finding;

use super::super::facts::{Facts, Read, ZoneFacts, ZoneKind};
use super::{listed, unread, zone_menu};

const CHECK: &str = "delegation";

pub(super) fn findings(facts: &Facts, zone: &ZoneFacts) -> Vec<Finding> {
    if let Some(twin) = twin(facts, zone) {
        return vec![twin];
    }
    match &zone.delegation {
        Err(error) => vec![unread(CHECK, "the delegation", error)],
        Ok(Some(found)) => standing(zone, found),
        Ok(None) => {
            let view = &facts.view;
            let absent = format!("there is none in DNS view {view} yet; gslb-bridge run makes it");
            let mut findings = vec![Finding::ok(CHECK, absent)];
            findings.extend(zone.beneath.as_ref().map(|beneath| hidden(beneath, zone.adopts)));
            findings
        }
    }
}

/// One name is one kind of zone in a view.
fn twin(facts: &Facts, zone: &ZoneFacts) -> Option<Finding> {
    let name = zone.claimant.zone().name().as_str();
    let twin = zone.around.as_ref().ok()?.iter().find(|holder| {
        holder.view == facts.view && holder.fqdn == name && holder.kind != ZoneKind::Delegated
    })?;
    Some(Finding::error(
        CHECK,
        format!(
            "{name} is {} of its own in DNS view {}, so it cannot be delegated",
            twin.kind.words(),
            facts.view
        ),
        format!("choose another zone, or have {name} removed at Data Management > DNS > Zones"),
    ))
}

fn standing(zone: &ZoneFacts, found: &ObservedDelegation) -> Vec<Finding> {
    let name = zone.claimant.zone().name().as_str();
    let mut findings: Vec<_> = found.obstacles.iter().map(|obstacle| barred(name, obstacle)).collect();
    let claims = zone.claimant.claims(&found.delegation);
    let foreign = claims.iter().filter(|claim| claim.claim == Claim::Foreign);
    let foreign = listed(foreign.map(|claim| claim.ns_name.as_str()));
    if !foreign.is_empty() {
        findings.push(Finding::warning(
            CHECK,
            format!("{foreign} is among its name servers, which no cluster of the fleet is called; it gets a share of the questions, and is left alone"),
            format!("if it does not serve {name}, remove it at {} > Name Servers", zone_menu(name)),
        ));
    }
    if findings.is_empty() {
        let names = listed(claims.iter().map(|claim| claim.ns_name.as_str()));
        let ours = match claims.iter().any(|claim| claim.claim == Claim::Ours) {
            true => "this cluster is among them",
            false => "this cluster is not among them yet, gslb-bridge run joins it",
        };
        let servers =
            if names.is_empty() { "no name server".to_owned() } else { format!("name servers {names}") };
        findings.push(Finding::ok(CHECK, format!("it has {servers}; {ours}")));
    }
    findings
}

fn barred(name: &str, obstacle: &Obstacle) -> Finding {
    let menu = zone_menu(name);
    match obstacle {
        Obstacle::Locked { by } => {
            let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            Finding::error(
                CHECK,
                format!("it is locked{by}, so nothing of it is written"),
                format!("have whoever locked it, or a superuser, clear Locked at {menu}"),
            )
        }
        Obstacle::Disabled => {
            Finding::error(CHECK, "it is disabled, so it is not served", format!("clear Disable at {menu}"))
        }
        Obstacle::NsGroup { name } => Finding::error(
            CHECK,
            format!("its name servers come from the group {name}, so nothing of it is written"),
            format!("list name servers instead of the group at {menu} > Name Servers"),
        ),
        Obstacle::ForeignClaim { why } => {
            Finding::error(CHECK, why.clone(), "let whoever it belongs to give it up")
        }
    }
}

fn hidden(beneath: &Read<Beneath>, adopts: Option<Adoption>) -> Finding {
    const CHECK: &str = "hidden-records";
    match (beneath, adopts) {
        (Ok(beneath), _) if beneath.is_empty() => {
            Finding::ok(CHECK, "nothing stands at or beneath the name that a delegation would hide")
        }
        (Ok(beneath), Some(by)) => Finding::warning(
            CHECK,
            format!("a delegation takes {beneath} out of DNS, as {by} asks for"),
            "if they may not disappear, move them, or withdraw that before gslb-bridge run makes the delegation",
        ),
        (Ok(beneath), None) => Finding::error(
            CHECK,
            format!("a delegation would take {beneath} out of DNS, so it is not made"),
            "move or delete them, or set the annotation gslb-bridge.io/adopt-hidden-records=true on the ZoneDelegation if they may disappear",
        ),
        (Err(error), _) => unread(CHECK, "what a delegation would hide", error),
    }
}
