//! A report as lines that a test can read and change.

use gslb_provider_contract::{Finding, Severity};

/// One line for each finding, in order: `severity check: found -> fix`, the zone before the check if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report(Vec<String>);

impl Report {
    pub(crate) fn of(findings: &[Finding]) -> Self {
        Self(findings.iter().map(line).collect())
    }

    pub(crate) fn lines(lines: &[&str]) -> Self {
        Self(lines.iter().map(|line| (*line).to_owned()).collect())
    }

    /// With these lines in the place of those of a check.
    pub(crate) fn but(&self, check: &str, lines: &[&str]) -> Self {
        let is_of = |line: &String| line.split(':').next().unwrap().rsplit(' ').next() == Some(check);
        let place = self.0.iter().position(is_of).unwrap();
        let mut kept: Vec<_> = self.0.iter().filter(|line| !is_of(line)).cloned().collect();
        kept.splice(place..place, lines.iter().map(|line| (*line).to_owned()));
        Self(kept)
    }

    /// Without what is said of zones.
    pub(crate) fn of_the_grid(&self) -> Self {
        Self(self.0.iter().filter(|line| !is_of_zone(line)).cloned().collect())
    }

    /// Only what is said of zones.
    pub(crate) fn of_zones(&self) -> Self {
        Self(self.0.iter().filter(|line| is_of_zone(line)).cloned().collect())
    }

    /// With more lines at the end.
    pub(crate) fn and(&self, more: &Self) -> Self {
        Self([self.0.as_slice(), &more.0].concat())
    }

    /// With another name for the zone.
    pub(crate) fn renamed(&self, zone: &str, name: &str) -> Self {
        Self(self.0.iter().map(|line| line.replace(zone, name)).collect())
    }
}

/// `severity zone check: …` instead of `severity check: …`.
fn is_of_zone(line: &str) -> bool {
    line.split(':').next().unwrap().matches(' ').count() == 2
}

fn line(finding: &Finding) -> String {
    let Finding { check, zone, severity, found, fix } = finding;
    let severity = match severity {
        Severity::Ok => "ok",
        Severity::Warning => "warning",
        Severity::Unknown => "unknown",
        Severity::Error => "error",
    };
    let zone = zone.as_ref().map(|zone| format!("{zone} ")).unwrap_or_default();
    let fix = fix.as_ref().map(|fix| format!(" -> {fix}")).unwrap_or_default();
    format!("{severity} {zone}{check}: {found}{fix}")
}

/// What is said of a grid as it should be.
pub(crate) fn healthy() -> Report {
    Report::lines(&[
        "ok reach: 127.0.0.1 answers",
        "ok tls: the certificate of 127.0.0.1 is trusted, names it and is valid",
        "ok login: the user name and the password are accepted, and the API is open to the account",
        "ok version: the grid has WAPI 2.12.3; the newest is 2.12.3",
        "ok account: the account is no superuser (group svc-dns-group)",
        "ok permissions: the account may write nothing beyond the zones that it works in",
        "ok view: DNS view default is there; the account sees no other",
        "ok revision-attribute: GslbBridgeRevision is defined, so the slower of two writers writes nothing",
        "ok mandatory-attributes: no attribute has to be set on zones",
        "ok restart: no restart of the DNS service is waiting; gslb-bridge never does it (INFOBLOX_RESTART_POLICY=never), so a new delegation is served after the next restart by others",
        "ok cloud.example.com parent-zone: example.com is an authoritative zone in DNS view default, served and unlocked",
        "ok cloud.example.com other-views: no other view that the account sees holds example.com",
        "ok cloud.example.com dnssec: example.com is not signed, and holds no DS record for cloud.example.com",
        "ok cloud.example.com delegation: there is none in DNS view default yet; gslb-bridge run makes it",
        "ok cloud.example.com hidden-records: nothing stands at or beneath the name that a delegation would hide",
        "ok cloud.example.com write-permission: the account may write the delegation",
    ])
}
