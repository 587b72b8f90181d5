//! `gslb-bridge changes list`

use std::io::Write;

use gslb_core::changelog::Proposal;
use gslb_crds::ProviderChange;
use serde_json::{Value, json};

use super::{Stored, as_json, object_of, print_json, result_of};
use crate::cli::{Ending, Output, table};

const HEADERS: [&str; 8] = ["CHANGE", "AT", "WHO", "OBJECT", "ZONE", "ACTION", "OUTCOME", "WHY"];

pub(super) fn run(stored: Stored, output: Output, out: &mut impl Write) -> anyhow::Result<Ending> {
    let Stored { changes, unreadable } = stored;
    match output {
        Output::Json => {
            let changes: Vec<Value> = changes.iter().map(as_json).collect();
            print_json(out, &json!({ "changes": changes, "unreadable": unreadable }))?;
        }
        Output::Table => {
            let rows: Vec<_> = changes.iter().map(row).collect();
            table::print(out, HEADERS, &rows)?;
            for object in unreadable {
                writeln!(out, "{} cannot be read: {}", object.name, object.error)?;
            }
        }
    }
    Ok(Ending::Fine)
}

/// The zone, and which of several places of it.
fn zone_of(change: &Proposal) -> String {
    match &change.view {
        Some(view) => format!("{} (view {view} of {})", change.zone, change.provider),
        None => change.zone.clone(),
    }
}

fn row(change: &ProviderChange) -> [String; 8] {
    let intent = &change.spec.intent;
    [
        intent.sequence.to_string(),
        intent.at.to_string(),
        intent.change.who.actor.clone(),
        object_of(change),
        zone_of(&intent.change),
        intent.change.action.as_str().to_owned(),
        result_of(change).to_owned(),
        intent.change.why.clone(),
    ]
}
