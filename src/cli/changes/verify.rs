//! `gslb-bridge changes verify`

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use gslb_core::changelog::{Line, Proof, Report, SealKey, verify_against_from, verify_from};
use gslb_crds::ProviderChange;
use gslb_crds::provider_change::LogName;
use kube::ResourceExt;
use serde::Serialize;

use super::{Stored, Unreadable, print_json};
use crate::audit::read_seal_key;
use crate::cli::{Ending, Output};
use crate::config::BadConfiguration;

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The daemon's output, or its change-log file, from the first line on: compare the log with it
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The key that the daemon seals lines with
    #[arg(long, value_name = "FILE")]
    hmac_key_file: Option<PathBuf>,
}

/// What to verify with.
pub(super) struct Verification {
    shipped: Option<Vec<u8>>,
    key: Option<SealKey>,
}

/// The verdict as printed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Findings {
    #[serde(flatten)]
    report: Report,
    /// Objects that are no change any more; their lines are missing in the chain.
    unreadable: Vec<Unreadable>,
    /// Objects whose name is not their sequence.
    misnamed: Vec<String>,
}

impl VerifyArgs {
    pub(super) fn prepare(self) -> anyhow::Result<Verification> {
        let read = |path: PathBuf| fs::read(&path).with_context(|| format!("cannot read {}", path.display()));
        let shipped = self.against.map(read).transpose()?;
        let key = self.hmac_key_file.map(|path| read_seal_key(&path)).transpose();
        Ok(Verification { shipped, key: key.context(BadConfiguration("cannot use --hmac-key-file"))? })
    }
}

impl Verification {
    pub(super) fn run(
        self,
        log: &LogName,
        stored: Stored,
        output: Output,
        out: &mut impl Write,
    ) -> anyhow::Result<Ending> {
        let Stored { changes, unreadable } = stored;
        let lines = in_order(&changes);
        let report = match &self.shipped {
            Some(file) => verify_against_from(&log.start(), &lines, self.key.as_ref(), file),
            None => verify_from(&log.start(), &lines, self.key.as_ref()),
        };
        let is_misnamed =
            |change: &&ProviderChange| change.name_any() != log.object_name(change.spec.intent.sequence);
        let misnamed = changes.iter().filter(is_misnamed).map(ResourceExt::name_any).collect();
        let findings = Findings { report, unreadable, misnamed };
        match output {
            Output::Json => print_json(out, &findings)?,
            Output::Table => findings.print(out)?,
        }
        Ok(if findings.are_none() { Ending::Fine } else { Ending::Findings })
    }
}

/// The lines of all objects by number. The order of objects proves nothing: each holds two lines.
fn in_order(changes: &[ProviderChange]) -> Vec<Line> {
    let mut lines: Vec<Line> = changes.iter().flat_map(ProviderChange::lines).collect();
    lines.sort_by_key(|line| line.line);
    lines
}

impl Findings {
    fn are_none(&self) -> bool {
        let Self { report, unreadable, misnamed } = self;
        report.is_clean() && unreadable.is_empty() && misnamed.is_empty()
    }

    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let Self { report, unreadable, misnamed } = self;
        let Report { lines, changes, consistency, seal, shipped, unsettled, faults } = report;
        writeln!(out, "{}, {}", counted(*changes, "change"), counted(*lines, "line"))?;
        writeln!(out, "consistency  {:<12} the lines agree with each other", text(*consistency))?;
        writeln!(out, "seal         {:<12} a holder of the key wrote them (--hmac-key-file)", text(*seal))?;
        writeln!(out, "shipped      {:<12} they are what left the cluster (--against)", text(*shipped))?;
        if *shipped == Proof::NotChecked {
            let unseen =
                if *seal == Proof::NotChecked { "rewritten or cut at its end" } else { "cut at its end" };
            writeln!(out, "A log that was {unseen} passes; --against FILE would tell.")?;
        }
        for sequence in unsettled {
            writeln!(
                out,
                "change {sequence} has no outcome: it is under way, or waits until the provider is read"
            )?;
        }
        for object in unreadable {
            writeln!(out, "FAULT object {} cannot be read: {}", object.name, object.error)?;
        }
        for name in misnamed {
            writeln!(out, "FAULT object {name} does not have its change's number as name")?;
        }
        for fault in faults {
            writeln!(out, "FAULT {fault}")?;
        }
        Ok(())
    }
}

/// A number and its noun.
fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

fn text(proof: Proof) -> &'static str {
    match proof {
        Proof::Proved => "proved",
        Proof::Broken => "BROKEN",
        Proof::NotChecked => "not checked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "change")), ["0 changes", "1 change", "2 changes"]);
    }
}
