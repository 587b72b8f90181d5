//! What the grid has as a whole: views, definitions of attributes, restarts.

use gslb_provider_contract::Finding;

use super::super::facts::{Attribute, Facts, Inside};
use super::{listed, unread};
use crate::service::Restarts;
use crate::swap::REVISION;

/// Where Grid Manager has definitions of attributes.
const ATTRIBUTES: &str = "Administration > Extensible Attributes";

pub(super) fn findings(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let mut findings = vec![view(facts, inside)];
    match &inside.attributes {
        Ok(attributes) if attributes.is_empty() && !inside.is_superuser() => findings.push(no_attributes()),
        Ok(attributes) => findings.extend([revision(attributes), mandatory(attributes)]),
        Err(error) => {
            findings.push(unread("revision-attribute", "the definitions of extensible attributes", error))
        }
    }
    findings.push(restarts(facts, inside));
    findings
}

fn view(facts: &Facts, inside: &Inside) -> Finding {
    let views = match &inside.views {
        Ok(views) => views,
        Err(error) => return unread("view", "the DNS views", error),
    };
    let name = &facts.view;
    let others = listed(views.iter().map(|view| view.name.as_str()).filter(|other| other != name));
    match views.iter().find(|view| view.name == *name) {
        Some(view) if view.disable => Finding::error(
            "view",
            format!("DNS view {name} is disabled, so nothing in it is served"),
            format!(
                "clear Disable at Data Management > DNS > Zones > {name} > Edit, or set INFOBLOX_DNS_VIEW to another view"
            ),
        ),
        Some(_) if others.is_empty() => {
            Finding::ok("view", format!("DNS view {name} is there; the account sees no other"))
        }
        Some(_) => Finding::ok("view", format!("DNS view {name} is there; the account also sees {others}")),
        None => Finding::error(
            "view",
            format!(
                "there is no DNS view {name}, or the account may not see it; it sees {}",
                if others.is_empty() { "none" } else { &others }
            ),
            "set INFOBLOX_DNS_VIEW to the exact name of a view, or let the account read this one",
        ),
    }
}

/// Every grid has some from the start.
fn no_attributes() -> Finding {
    Finding::unknown(
        "revision-attribute",
        format!(
            "the grid shows the account no definition of an extensible attribute, so whether {REVISION} is defined, or an attribute is mandatory, is not known"
        ),
        format!("have a superuser look at {ATTRIBUTES}"),
    )
}

fn revision(attributes: &[Attribute]) -> Finding {
    const CHECK: &str = "revision-attribute";
    let Some(ours) = attributes.iter().find(|attribute| attribute.name == REVISION) else {
        return Finding::warning(
            CHECK,
            format!(
                "{REVISION} is not defined: of two clusters that write at once, one writes over the other and puts back what was lost"
            ),
            format!(
                "have a superuser add {REVISION} of type String at {ATTRIBUTES}, neither required nor restricted to object types"
            ),
        );
    };
    if ours.kind != "STRING" {
        return Finding::error(
            CHECK,
            format!(
                "{REVISION} is of type {}, which refuses the values that every write would set",
                ours.kind
            ),
            format!("have a superuser delete it and add it anew with type String at {ATTRIBUTES}"),
        );
    }
    if !ours.allowed_object_types.is_empty() {
        return Finding::unknown(
            CHECK,
            format!(
                "{REVISION} is restricted to objects of type {}; whether delegated zones are among them cannot be told",
                listed(ours.allowed_object_types.iter().map(String::as_str))
            ),
            format!("lift the restriction of {REVISION} at {ATTRIBUTES} > {REVISION} > Edit"),
        );
    }
    Finding::ok(CHECK, format!("{REVISION} is defined, so the slower of two writers writes nothing"))
}

/// Whether the grid asks for attributes that we do not set. Which object types mean zones is not documented, so one that
/// has the word in it is taken for one.
fn mandatory(attributes: &[Attribute]) -> Finding {
    const CHECK: &str = "mandatory-attributes";
    let of_zones = |attribute: &Attribute| {
        let types = &attribute.allowed_object_types;
        types.is_empty() || types.iter().any(|name| name.to_ascii_lowercase().contains("zone"))
    };
    let is_mandatory =
        |attribute: &&Attribute| attribute.flags.as_deref().is_some_and(|flags| flags.contains('M'));
    let names = attributes.iter().filter(is_mandatory).filter(|attribute| of_zones(attribute));
    let names = listed(names.map(|attribute| attribute.name.as_str()).filter(|name| *name != REVISION));
    if names.is_empty() {
        return Finding::ok(CHECK, "no attribute has to be set on zones");
    }
    Finding::warning(
        CHECK,
        format!(
            "{names} must be set on zones, and gslb-bridge does not set it; NIOS 9.0 asks for that in Grid Manager only, older releases may refuse a new delegation"
        ),
        format!(
            "if they do, clear Required at {ATTRIBUTES}, or restrict the attribute to other object types"
        ),
    )
}

fn restarts(facts: &Facts, inside: &Inside) -> Finding {
    const CHECK: &str = "restart";
    let policy = match facts.restarts {
        true => "gslb-bridge restarts it where that is needed (INFOBLOX_RESTART_POLICY=if-needed)",
        false => {
            "gslb-bridge never does it (INFOBLOX_RESTART_POLICY=never), so a new delegation is served after the next restart by others"
        }
    };
    match &inside.restarts {
        Err(error) => unread(CHECK, "what waits for a restart of the DNS service", error),
        Ok(Restarts::NotNeeded) => {
            Finding::ok(CHECK, format!("no restart of the DNS service is waiting; {policy}"))
        }
        Ok(Restarts::Untold) => Finding::unknown(
            CHECK,
            format!(
                "the grid does not tell the account whether a restart of the DNS service is waiting; {policy}"
            ),
            "let the account read the members, or look at the Restart banner of Grid Manager",
        ),
        Ok(Restarts::Needed(members)) => Finding::warning(
            CHECK,
            format!(
                "the DNS service of {} waits for a restart, so what was changed is not served yet; {policy}",
                listed(members.iter().map(String::as_str))
            ),
            "restart it with the Restart banner of Grid Manager or at Grid > Grid Manager > Restart Services",
        ),
    }
}
