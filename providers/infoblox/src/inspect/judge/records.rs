//! A zone in records mode: whether the grid serves it, and what stands in the way of its hosts' records.

use std::collections::BTreeSet;

use gslb_core::name::DomainName;
use gslb_core::records::{HostObstacle, ObservedHost};
use gslb_provider_contract::{Finding, Severity};

use super::super::facts::{Facts, Holder, RecordsFacts, ZoneKind};
use super::zone::{Content, unfit};
use super::{listed, unread};

const ZONE: &str = "records-zone";
const HOSTS: &str = "host-records";

pub(super) fn findings(facts: &Facts, zone: &RecordsFacts) -> Vec<Finding> {
    if let Err(error) = &zone.around {
        let around = unread(ZONE, "the zones around it, in this and other views,", error);
        return [around].into_iter().chain(hosts(facts, zone)).collect();
    }
    let Some(holder) = zone.holders(&facts.view).first().copied() else { return vec![no_zone(facts, zone)] };
    if holder.kind != ZoneKind::Auth {
        return vec![not_served(facts, zone, holder)];
    }
    let mut findings = unfit(ZONE, &facts.view, holder, Content::Records);
    if findings.is_empty() {
        let found = format!(
            "{} is an authoritative zone in DNS view {}, served and unlocked",
            holder.fqdn, facts.view
        );
        findings.push(Finding::ok(ZONE, found));
    }
    findings.push(other_views(facts, zone, holder));
    findings.extend(hosts(facts, zone));
    findings
}

fn no_zone(facts: &Facts, zone: &RecordsFacts) -> Finding {
    let view = &facts.view;
    Finding::error(
        ZONE,
        format!("no zone in DNS view {view} holds {}, or the account may not see it", zone.zone),
        "create an authoritative zone there, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it",
    )
}

/// The closest zone takes no records.
fn not_served(facts: &Facts, zone: &RecordsFacts, holder: &Holder) -> Finding {
    let (fqdn, view, name) = (&holder.fqdn, &facts.view, &zone.zone);
    if holder.kind == ZoneKind::Delegated && holder.fqdn == name.as_str() {
        return Finding::error(
            ZONE,
            format!("{name} is delegated in DNS view {view}, so the grid does not serve its hosts"),
            format!(
                "have the delegation withdrawn or removed at Data Management > DNS > Zones, or set the mode of {name} to delegation"
            ),
        );
    }
    Finding::error(
        ZONE,
        format!(
            "the closest zone, {fqdn}, is {} in DNS view {view}, and takes no records of hosts",
            holder.kind.words()
        ),
        format!(
            "choose a zone that lies in an authoritative one, or have {fqdn} removed at Data Management > DNS > Zones"
        ),
    )
}

/// Records are made in one view.
fn other_views(facts: &Facts, zone: &RecordsFacts, holder: &Holder) -> Finding {
    const CHECK: &str = "other-views";
    let around = zone.around.as_deref().unwrap_or_default().iter();
    let others: BTreeSet<_> = around
        .filter(|other| other.kind == ZoneKind::Auth && other.fqdn == holder.fqdn && other.view != facts.view)
        .map(|other| other.view.as_str())
        .collect();
    let fqdn = &holder.fqdn;
    if others.is_empty() {
        return Finding::ok(CHECK, format!("no other view that the account sees holds {fqdn}"));
    }
    let others = listed(others);
    Finding::warning(
        CHECK,
        format!(
            "{fqdn} is also in DNS view {others}, where gslb-bridge makes no records: clients of that view find no host of {}",
            zone.zone
        ),
        format!("if they should, delegate {} instead, in each of the views", zone.zone),
    )
}

/// What stands at the hosts that are known.
fn hosts(facts: &Facts, zone: &RecordsFacts) -> Vec<Finding> {
    let records = match &zone.records {
        Ok(records) => records,
        Err(error) => return vec![unread(HOSTS, "the records of its hosts", error)],
    };
    let known = zone.hosts.iter().filter_map(|host| Some((host, records.get(host)?)));
    let mut findings: Vec<_> =
        known.flat_map(|(host, observed)| of_host(facts, zone, host, observed)).collect();
    if findings.iter().all(|finding| finding.severity == Severity::Ok) {
        let found = match zone.hosts.len() {
            0 => "no host in it is known yet, so none was looked at".to_owned(),
            1 => "nothing stands in the way of the records of 1 host".to_owned(),
            count => format!("nothing stands in the way of the records of {count} hosts"),
        };
        findings.push(Finding::ok(HOSTS, found));
    }
    findings
}

fn of_host(facts: &Facts, zone: &RecordsFacts, host: &DomainName, observed: &ObservedHost) -> Vec<Finding> {
    let menu = zone.holders(&facts.view).first().map_or_else(
        || "Data Management > DNS > Zones".to_owned(),
        |holder| format!("Data Management > DNS > Zones > {} > Records", holder.fqdn),
    );
    let fix =
        |what: &str| format!("remove the {what} {host} at {menu}, or give the application another host name");
    let excluded = observed.obstacles.iter().map(|obstacle| match obstacle {
        HostObstacle::Cname { target } => Finding::error(
            HOSTS,
            format!("{host} is an alias of {target}, so it cannot have address records"),
            fix("CNAME record"),
        ),
        HostObstacle::HostRecord => Finding::error(
            HOSTS,
            format!("a host record of the name {host} exists, so it gets no address records"),
            fix("host record"),
        ),
    });
    let foreign = observed.records.values().filter(|record| record.holder(&zone.zone).is_none());
    let foreign = listed(
        foreign.map(|record| record.address.to_string()).collect::<Vec<_>>().iter().map(String::as_str),
    );
    let strangers = (!foreign.is_empty()).then(|| {
        Finding::warning(
            HOSTS,
            format!("{host} has {foreign}, which no cluster of the fleet made; they are left alone, and answered beside ours"),
            format!("if they do not serve {host}, remove them at {menu}"),
        )
    });
    let disabled =
        observed.records.values().filter(|record| record.disabled && record.holder(&zone.zone).is_some());
    let disabled = disabled.map(|record| {
        Finding::warning(
            HOSTS,
            format!("the record {} of {host} is disabled, so it does not answer", record.address),
            format!("clear Disable of it at {menu}"),
        )
    });
    excluded.chain(strangers).chain(disabled).collect()
}
