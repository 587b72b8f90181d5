//! `gslb-bridge changes list|show|verify`

mod list;
mod show;
mod verify;

use std::io::Write;

use anyhow::Context;
use clap::{Args, Subcommand};
use gslb_crds::ProviderChange;
use gslb_crds::provider_change::LogName;
use kube::core::error_boundary::InvalidObject;
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Connection, Ending, Output};
use crate::audit::read::{self, Guarded};

/// Arguments of `changes`.
#[derive(Debug, Args)]
pub(super) struct ChangesArgs {
    #[command(flatten)]
    connection: Connection,
    /// Which log: that of the controller, or of a webhook, such as webhook-external-dns [default: the controller's]
    #[arg(long, global = true, value_name = "NAME", value_parser = LogName::new)]
    log: Option<LogName>,
    /// How to print
    #[arg(long, short, global = true, value_enum, default_value_t)]
    output: Output,
    #[command(subcommand)]
    command: ChangesCommand,
}

#[derive(Debug, Subcommand)]
enum ChangesCommand {
    /// List all changes, the oldest first.
    List,
    /// Show one change: who, why, before, after and what came of it.
    Show {
        /// Its number, or its change id
        change: String,
    },
    /// Prove that nobody altered the log; exit code 2 if somebody did.
    Verify(verify::VerifyArgs),
}

pub(super) async fn run(arguments: ChangesArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let ChangesArgs { connection, log, output, command } = arguments;
    let log = log.unwrap_or_default();
    // What the user named is looked at before anybody is asked.
    let command = match command {
        ChangesCommand::Verify(arguments) => Prepared::Verify(arguments.prepare()?),
        ChangesCommand::List => Prepared::List,
        ChangesCommand::Show { change } => Prepared::Show(change),
    };
    let api: Api<Guarded> = Api::all(connection.client().await?);
    match command {
        Prepared::List => list::run(stored(&api, &log).await?, output, out),
        Prepared::Show(change) => show::run(&stored(&api, &log).await?, &change, output, out),
        Prepared::Verify(verification) => verification.run(&log, stored(&api, &log).await?, output, out),
    }
}

enum Prepared {
    List,
    Show(String),
    Verify(verify::Verification),
}

/// The log as the cluster has it.
#[derive(Debug, Default)]
struct Stored {
    changes: Vec<ProviderChange>,
    unreadable: Vec<Unreadable>,
}

/// An object that is no change any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Unreadable {
    name: String,
    error: String,
}

async fn stored(api: &Api<Guarded>, log: &LogName) -> anyhow::Result<Stored> {
    let see = |stored: &mut Stored, object: Result<ProviderChange, InvalidObject>| match object {
        Ok(change) if log.number_of(&change.name_any()).is_some() => stored.changes.push(change),
        Ok(_) => {}
        Err(InvalidObject { error, metadata }) => {
            let name = metadata.name.unwrap_or_default();
            if log.number_of(&name).is_some() {
                stored.unreadable.push(Unreadable { name, error });
            }
        }
    };
    read::fold(api, Stored::default, see).await.context("cannot list providerchanges")
}

/// What came of a change. Without an outcome nobody knows.
fn result_of(change: &ProviderChange) -> &'static str {
    change.status.as_ref().map_or("Unknown", |status| status.outcome.verdict.result.as_str())
}

fn object_of(change: &ProviderChange) -> String {
    let object = &change.spec.intent.change.object;
    let namespace = object.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{} {namespace}{}", object.kind, object.name)
}

fn as_json(change: &ProviderChange) -> Value {
    json!({ "name": change.name_any(), "spec": change.spec, "status": change.status })
}

fn print_json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}
