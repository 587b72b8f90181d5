//! Hosts, clusters and what they know, in few words.

use std::collections::BTreeSet;
use std::net::IpAddr;

use gslb_core::edit::Edit;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::ToldState;
use gslb_core::records::{
    ApprovedRecordPlan, Challenge, Challenges, DesiredHost, Evidence, HostRecord, HostWish, ObservedHost,
    PeerStanding, RecordChange, RecordClaim, RecordFinding, RecordLimits, RecordRefusal, ZoneRecords, plan,
};
use gslb_core::ttl::Ttl;
use jiff::{SignedDuration, Timestamp};

pub(crate) fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}
pub(crate) fn host() -> DomainName {
    name("app.cloud.example.com")
}
pub(crate) fn tag(text: &str) -> GeoTag {
    GeoTag::parse(text).unwrap()
}
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}
pub(crate) fn ttl(seconds: i64) -> Ttl {
    Ttl::from_secs(seconds).unwrap()
}
pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}
pub(crate) fn claim(tag_text: &str) -> RecordClaim {
    RecordClaim { fleet: name("cloud.example.com"), tag: tag(tag_text) }
}

/// The record of a cluster; of nobody for an empty tag, of another fleet for one with a slash.
pub(crate) fn record(of: &str, address: &str) -> HostRecord {
    let claim = match of {
        "" => None,
        of if of.contains('/') => Some(of.parse().unwrap()),
        of => Some(claim(of)),
    };
    HostRecord {
        host: host(),
        address: ip(address),
        ttl: Some(ttl(30)),
        claim,
        challenge: None,
        disabled: false,
    }
}
pub(crate) fn challenged(record: HostRecord, by: &str, second: i64) -> HostRecord {
    HostRecord { challenge: Some(Challenge { by: tag(by), at: at(second) }), ..record }
}
pub(crate) fn observed(records: &[HostRecord]) -> ObservedHost {
    let records = records.iter().map(|record| (record.address, record.clone())).collect();
    ObservedHost { records, obstacles: BTreeSet::new() }
}
pub(crate) fn zone(host: &ObservedHost) -> ZoneRecords {
    [(self::host(), host.clone())].into()
}

/// What cluster `own` wants: the host is answered by these sites, and these are its own addresses.
pub(crate) fn answered(own: &str, sites: &[&str], addresses: &[&str]) -> DesiredHost {
    let sites = sites.iter().map(|site| tag(site)).collect();
    let own_addresses = addresses.iter().map(|address| ip(address)).collect();
    let wish = HostWish::Answered { sites, own: own_addresses, ttl: ttl(30) };
    DesiredHost { host: host(), claim: claim(own), wish }
}
pub(crate) fn wish(own: &str, wish: HostWish) -> DesiredHost {
    DesiredHost { host: host(), claim: claim(own), wish }
}

/// A cluster that can serve the host and is not isolated, with the states of its peers since some second.
pub(crate) fn knows(peers: &[(&str, ToldState, i64)]) -> Evidence {
    let peer = |(peer, state, since): &(&str, ToldState, i64)| {
        (tag(peer), PeerStanding { state: *state, since: at(*since) })
    };
    Evidence {
        able: true,
        isolated: false,
        peers: peers.iter().map(peer).collect(),
        interval: SignedDuration::from_secs(30),
    }
}

/// What `own` remembers of its challenges after it saw the host like this at these seconds.
pub(crate) fn saw(own: &str, host: &ObservedHost, seconds: &[i64]) -> Challenges {
    seconds.iter().fold(Challenges::default(), |challenges, second| {
        challenges.seen(&tag(own), &zone(host), at(*second))
    })
}

/// What one round makes of it.
pub(crate) fn round(
    desired: &DesiredHost,
    observed: &ObservedHost,
    evidence: &Evidence,
    challenges: &Challenges,
    second: i64,
) -> Result<ApprovedRecordPlan, RecordRefusal> {
    let now = at(second);
    let limits = RecordLimits { desired, observed, evidence, challenges, now };
    plan(desired, observed, evidence, challenges, now).approve(&limits)
}

/// The changes of a round without any memory, as words, and its findings by reason.
pub(crate) fn words(
    desired: &DesiredHost,
    observed: &ObservedHost,
    evidence: &Evidence,
) -> (Vec<String>, Vec<&'static str>) {
    let approved = round(desired, observed, evidence, &Challenges::default(), 0).unwrap();
    let changes = approved.changes().iter().map(|change| short(change.change())).collect();
    (changes, approved.findings().iter().map(RecordFinding::reason).collect())
}

/// `+eu 192.0.2.1`, `-eu 192.0.2.1`, `?us 192.0.2.1` (challenged), `!eu 192.0.2.1` (refuted), `~eu 192.0.2.1` (TTL).
pub(crate) fn short(change: &RecordChange) -> String {
    let record = change.record();
    let tag = record.claim.as_ref().map_or("nobody", |claim| claim.tag.as_str());
    let sign = match &change.edit {
        Edit::Create { .. } => '+',
        Edit::Delete { .. } => '-',
        Edit::Replace { before, after } if before.challenge.is_none() && after.challenge.is_some() => '?',
        Edit::Replace { before, .. } if before.challenge.is_some() => '!',
        Edit::Replace { .. } => '~',
    };
    format!("{sign}{tag} {}", record.address)
}
