//! `gslb-bridge changes show`

use std::io::Write;

use anyhow::bail;
use gslb_crds::ProviderChange;
use serde_json::Value;

use super::{Stored, as_json, object_of, print_json, result_of};
use crate::cli::{Ending, Output};

pub(super) fn run(
    stored: &Stored,
    wanted: &str,
    output: Output,
    out: &mut impl Write,
) -> anyhow::Result<Ending> {
    let number: Option<u64> = wanted.parse().ok();
    let is_wanted = |change: &&ProviderChange| {
        let intent = &change.spec.intent;
        number == Some(intent.sequence) || intent.change.change_id == wanted
    };
    let Some(change) = stored.changes.iter().find(is_wanted) else {
        bail!("there is no change {wanted}; `gslb-bridge changes list` lists all");
    };
    match output {
        Output::Json => print_json(out, &as_json(change))?,
        Output::Table => print(change, out)?,
    }
    Ok(Ending::Fine)
}

fn print(change: &ProviderChange, out: &mut impl Write) -> anyhow::Result<()> {
    let intent = &change.spec.intent;
    let proposal = &intent.change;
    let who = &proposal.who;
    let object = &proposal.object;
    let mut lines = vec![
        ("change", intent.sequence.to_string()),
        ("change id", proposal.change_id.clone()),
        ("plan id", proposal.plan_id.clone()),
        ("at", intent.at.to_string()),
        ("who", format!("{} in cluster {}, pod {}", who.actor, who.cluster, who.pod)),
        ("object", format!("{}, generation {}, uid {}", object_of(change), object.generation, object.uid)),
        ("why", proposal.why.clone()),
        ("provider", proposal.provider.clone()),
    ];
    lines.extend(proposal.view.clone().map(|view| ("view", view)));
    lines.extend([
        ("zone", proposal.zone.clone()),
        ("action", proposal.action.as_str().to_owned()),
        ("outcome", result_of(change).to_owned()),
    ]);
    if let Some(status) = &change.status {
        let verdict = &status.outcome.verdict;
        let settled = if verdict.settled_by_reading { "by reading the provider later" } else { "at once" };
        lines.push(("settled", format!("{settled}, {}", status.outcome.at)));
        lines.push(("took", format!("{} ms", verdict.duration_millis)));
        lines.extend(verdict.reference.clone().map(|reference| ("reference", reference)));
        lines.extend(verdict.error.clone().map(|error| ("error", error)));
        for amends in &verdict.amends {
            let became =
                amends.error.as_deref().map_or("put back".to_owned(), |error| format!("not back: {error}"));
            lines.push(("of others", format!("{}, {became}", amends.lost)));
        }
    }
    for (name, value) in lines {
        writeln!(out, "{name:<10} {value}")?;
    }
    for (name, value) in [("before", &proposal.before), ("after", &proposal.after)] {
        writeln!(out, "{name}")?;
        let value = value.as_ref().unwrap_or(&Value::Null);
        for line in serde_json::to_string_pretty(value)?.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
