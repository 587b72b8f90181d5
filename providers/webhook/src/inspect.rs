//! What a look at the webhook tells people. Reads only: what is asked with POST /adjustendpoints changes nothing.

use std::collections::BTreeSet;

use gslb_core::claim::{Claim, Claimant};
use gslb_core::name::DomainName;
use gslb_core::text::quoted;
use gslb_core::ttl::Ttl;
use gslb_provider_contract::{Delegated, Finding, Inspected, ProviderError};

use crate::claims::{Claims, Holder};
use crate::client::Client;
use crate::listing::{Listing, Unreadable};
use crate::lower::described;
use crate::protocol::{Endpoint, MEDIA_TYPE, RecordType};

/// An address of TEST-NET-1 (RFC 5737), to ask about.
const EXAMPLE: &str = "192.0.2.53";

pub(crate) async fn look(client: &Client, what: &Inspected) -> Vec<Finding> {
    let url = client.url();
    let filter = match client.negotiate().await {
        Ok(filter) => filter,
        Err(error) => return vec![unreached("webhook", &error)],
    };
    let mut findings = vec![Finding::ok("webhook", format!("{url} answers and speaks {MEDIA_TYPE}"))];
    let endpoints = match client.records().await {
        Ok(endpoints) => endpoints,
        Err(error) => {
            findings.push(unreached("records", &error));
            return findings;
        }
    };
    findings.push(Finding::ok("records", format!("{} sets of records are listed", endpoints.len())));
    let listing = Listing::new(filter, endpoints);
    for delegated in &what.delegations {
        let about = delegated.claimant.zone().name();
        let mut found = judge(client, &listing, delegated);
        found.push(kept(client, &delegated.claimant).await);
        findings.extend(found.into_iter().map(|finding| finding.about(about)));
    }
    findings
}

/// What the listing says about one zone.
fn judge(client: &Client, listing: &Listing, delegated: &Delegated) -> Vec<Finding> {
    let Delegated { claimant, adopts } = delegated;
    let zone = claimant.zone().name();
    let claims = Claims::of(client.settings());
    let mut findings = vec![taken(listing, claimant, &claims)];
    let found = match listing.delegation(zone) {
        Ok(found) => found,
        Err(error) => {
            findings.push(unreadable(&error));
            return findings;
        }
    };
    let Some(found) = found else {
        findings.push(Finding::ok("delegation", "it is not delegated yet"));
        let beneath = listing.beneath(zone);
        findings.push(match (beneath.is_empty(), adopts) {
            (true, _) => Finding::ok(
                "hidden-records",
                "nothing that the webhook lists stands at or beneath the name",
            ),
            (false, Some(by)) => Finding::warning(
                "hidden-records",
                format!("{beneath} would disappear from DNS, as {by} asks for"),
                "move or delete them if that is not what is wanted",
            ),
            (false, None) => Finding::error(
                "hidden-records",
                format!("{beneath} would disappear from DNS, so the zone is not delegated"),
                "move or delete them, or set the annotation gslb-bridge.io/adopt-hidden-records to \"true\" on the ZoneDelegation",
            ),
        });
        return findings;
    };
    let names: Vec<&str> = found.servers.keys().map(DomainName::as_str).collect();
    let ours = match claimant.claims(&found).iter().any(|claim| claim.claim == Claim::Ours) {
        true => "this cluster is among them",
        false => "this cluster is not among them yet",
    };
    findings.push(Finding::ok(
        "delegation",
        format!("it has name servers {}; {ours}", quoted(&names.join(", "))),
    ));
    findings.push(owner(client, listing, claimant, &claims, found.servers.keys().collect()));
    findings
}

/// Whether the webhook takes all that would be written.
fn taken(listing: &Listing, claimant: &Claimant, claims: &Claims<'_>) -> Finding {
    const CHECK: &str = "domains";
    let zone = claimant.zone().name();
    let notes = [(zone, RecordType::Ns), (claimant.ns_name(), RecordType::A)];
    let notes = notes.into_iter().filter_map(|(name, rtype)| claims.note_name(name, rtype));
    let written = [zone.clone(), claimant.ns_name().clone()].into_iter().chain(notes);
    let outside: Vec<String> =
        written.filter(|name| !listing.filter.takes(name.as_str())).map(|name| name.to_string()).collect();
    let filter = described(listing);
    match outside.is_empty() {
        true => Finding::ok(CHECK, format!("the webhook takes its names; its domains are {filter}")),
        false => Finding::error(
            CHECK,
            format!("the webhook does not take {}: its domains are {filter}", outside.join(", ")),
            format!("add {} to the domains of the webhook", claimant.zone().parent()),
        ),
    }
}

/// Whose its NS set is.
fn owner(
    client: &Client,
    listing: &Listing,
    claimant: &Claimant,
    claims: &Claims<'_>,
    names: BTreeSet<&DomainName>,
) -> Finding {
    const CHECK: &str = "owner";
    if let Some(why) = claims.bar(listing, claimant.zone(), names.into_iter()) {
        return Finding::error(CHECK, why, "let one owner of the whole fleet have the name servers");
    }
    let owner = &client.settings().owner;
    match claims.holder(listing, claimant.zone().name(), RecordType::Ns) {
        Holder::Ours => {
            Finding::ok(CHECK, format!("its TXT record names {owner} or an owner that counts as ours"))
        }
        Holder::Nobody | Holder::Other(_) => Finding::warning(
            CHECK,
            "its name servers have no TXT record, so an external-dns with another owner knows of no claim",
            "nothing, if no external-dns manages NS records there; the next change by a cluster adds it",
        ),
    }
}

/// Whether the webhook would keep an NS record of ours.
async fn kept(client: &Client, claimant: &Claimant) -> Finding {
    const CHECK: &str = "record-types";
    let ttl = Some(Ttl::DEFAULT.as_secs());
    let server = claimant.ns_name().to_string();
    let ns = Endpoint::new(claimant.zone().name(), RecordType::Ns, ttl, vec![server]);
    let glue = Endpoint::new(claimant.ns_name(), RecordType::A, ttl, vec![EXAMPLE.to_owned()]);
    let made = match client.adjust(&[ns, glue]).await {
        Ok(made) => made,
        Err(error) => return unreached(CHECK, &error),
    };
    let lost = [RecordType::Ns, RecordType::A]
        .into_iter()
        .filter(|rtype| made.iter().all(|set| set.known_type() != Some(*rtype)));
    let lost: Vec<&str> = lost.map(RecordType::as_str).collect();
    match lost.is_empty() {
        true => Finding::ok(CHECK, "the webhook says that it keeps NS and A records"),
        false => Finding::error(
            CHECK,
            format!("the webhook drops {} records when it is asked what it would keep", lost.join(" and ")),
            "use a webhook that keeps them, or allow that type in its settings",
        ),
    }
}

fn unreached(check: &'static str, error: &ProviderError) -> Finding {
    Finding::error(
        check,
        error.to_string(),
        "see to it that the webhook runs, and that WEBHOOK_PROVIDER_URL leads to it",
    )
}

fn unreadable(error: &Unreadable) -> Finding {
    Finding::error("delegation", error.to_string(), "correct the record at what is behind the webhook")
}
