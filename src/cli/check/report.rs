//! All findings, for people and for programs. Both are made of the same values.

use std::io::Write;

use gslb_provider_contract::{Finding, Severity};
use serde::Serialize;

use crate::cli::table;

/// What was found, in the order in which it was looked at.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    findings: Vec<Entry>,
}

/// A finding, and which part it is of.
#[derive(Debug, Serialize)]
struct Entry {
    part: String,
    #[serde(flatten)]
    finding: Finding,
}

impl Report {
    pub(super) fn add(&mut self, part: &str, findings: Vec<Finding>) {
        let entry = |finding| Entry { part: part.to_owned(), finding };
        self.findings.extend(findings.into_iter().map(entry));
    }

    /// What could not be told is not fine.
    pub(super) fn is_fine(&self) -> bool {
        self.findings.iter().all(|entry| entry.finding.severity == Severity::Ok)
    }

    pub(super) fn print_json(&self, out: &mut impl Write) -> anyhow::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)?;
        Ok(())
    }

    /// One row for each finding, and below it one for what to do.
    pub(super) fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let rows: Vec<_> = self.findings.iter().flat_map(rows).collect();
        table::print(out, ["RESULT", "PART", "CHECK", "ZONE", "FOUND"], &rows)?;
        let count = |wanted| self.findings.iter().filter(|entry| entry.finding.severity == wanted).count();
        writeln!(
            out,
            "\n{} ok, {} to look at, {} unknown, {} wrong",
            count(Severity::Ok),
            count(Severity::Warning),
            count(Severity::Unknown),
            count(Severity::Error)
        )?;
        Ok(())
    }
}

fn rows(Entry { part, finding }: &Entry) -> Vec<[String; 5]> {
    let Finding { check, zone, severity, found, fix } = finding;
    let zone = zone.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let row = [word(*severity).to_owned(), part.clone(), (*check).to_owned(), zone, found.clone()];
    let blank = String::new;
    let fix = fix.as_ref().map(|fix| [blank(), blank(), blank(), blank(), format!("fix: {fix}")]);
    std::iter::once(row).chain(fix).collect()
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Warning => "warning",
        Severity::Unknown => "unknown",
        Severity::Error => "ERROR",
    }
}
