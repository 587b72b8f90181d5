//! What the grid has as a whole: views, definitions of attributes, restarts.

use gslb_provider_contract::Finding;

use super::super::facts::{Attribute, Facts, Inside};
use super::{listed, unread};
use crate::claims::{CHALLENGE, CLAIM};
use crate::service::Restarts;
use crate::swap::REVISION;

/// Where Grid Manager has definitions of attributes.
const ATTRIBUTES: &str = "Administration > Extensible Attributes";

pub(super) fn findings(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let mut findings = vec![view(facts, inside)];
    match &inside.attributes {
        Ok(attributes) if attributes.is_empty() && !inside.is_superuser() => findings.push(no_attributes()),
        Ok(attributes) => {
            // Without a delegation nothing has a revision.
            let delegates = !inside.zones.is_empty() || inside.records.is_empty();
            findings.extend(delegates.then(|| revision(attributes)));
            findings.extend((!inside.records.is_empty()).then(|| claim(attributes)));
            findings.push(mandatory(attributes, !inside.records.is_empty()));
        }
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
    if let Some(restricted) = restricted(CHECK, ours, "delegated zones") {
        return restricted;
    }
    Finding::ok(CHECK, format!("{REVISION} is defined, so the slower of two writers writes nothing"))
}

fn restricted(check: &'static str, attribute: &Attribute, objects: &str) -> Option<Finding> {
    let Attribute { name, allowed_object_types: types, .. } = attribute;
    (!types.is_empty()).then(|| {
        Finding::unknown(
            check,
            format!(
                "{name} is restricted to objects of type {}; whether {objects} are among them cannot be told",
                listed(types.iter().map(String::as_str))
            ),
            format!("lift the restriction of {name} at {ATTRIBUTES} > {name} > Edit"),
        )
    })
}

/// Where a record says whose it is. Only both attributes together are used.
fn claim(attributes: &[Attribute]) -> Finding {
    const CHECK: &str = "claim-attributes";
    const OURS: [&str; 2] = [CLAIM, CHALLENGE];
    let defined = OURS.map(|name| attributes.iter().find(|attribute| attribute.name == name));
    let missing: Vec<_> =
        OURS.iter().zip(&defined).filter(|(_, found)| found.is_none()).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        let missing = listed(missing);
        return Finding::warning(
            CHECK,
            format!(
                "{missing} is not defined: whose a record is stands in its comment, which anybody may edit"
            ),
            format!(
                "have a superuser add {missing} of type String at {ATTRIBUTES}, neither required nor restricted to object types"
            ),
        );
    }
    let flawed = defined.into_iter().flatten().find_map(|attribute| {
        if attribute.kind == "STRING" {
            return restricted(CHECK, attribute, "records");
        }
        let Attribute { name, kind, .. } = attribute;
        Some(Finding::error(
            CHECK,
            format!("{name} is of type {kind}, which refuses the values that records would get"),
            format!("have a superuser delete it and add it anew with type String at {ATTRIBUTES}"),
        ))
    });
    flawed.unwrap_or_else(|| {
        Finding::ok(
            CHECK,
            format!("{CLAIM} and {CHALLENGE} are defined, so no comment says whose a record is"),
        )
    })
}

/// Whether the grid asks for attributes that we do not set. Which object types mean zones is not documented, so one that
/// has the word in it is taken for one. `records`: whether records are made too.
fn mandatory(attributes: &[Attribute], records: bool) -> Finding {
    const CHECK: &str = "mandatory-attributes";
    let (words, objects): (&[&str], _) = match records {
        true => (&["zone", "record"], "zones or records"),
        false => (&["zone"], "zones"),
    };
    let is_ours = |attribute: &Attribute| {
        let mut types =
            attribute.allowed_object_types.iter().map(|name| name.to_ascii_lowercase()).peekable();
        types.peek().is_none() || types.any(|name| words.iter().any(|word| name.contains(word)))
    };
    let is_mandatory =
        |attribute: &&Attribute| attribute.flags.as_deref().is_some_and(|flags| flags.contains('M'));
    let names = attributes.iter().filter(is_mandatory).filter(|attribute| is_ours(attribute));
    let ours = [REVISION, CLAIM, CHALLENGE];
    let names = listed(names.map(|attribute| attribute.name.as_str()).filter(|name| !ours.contains(name)));
    if names.is_empty() {
        return Finding::ok(CHECK, format!("no attribute has to be set on {objects}"));
    }
    Finding::warning(
        CHECK,
        format!(
            "{names} must be set on {objects}, and gslb-bridge does not set it; NIOS 9.0 asks for that in Grid Manager only, older releases may refuse what is new"
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
