//! `gslb-bridge run`: the controller of one cluster.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;

use super::signals::Signals;
use super::{Connection, Ending};
use crate::config::{self, BadConfiguration, RawConfig, Settings};
use crate::{daemon, telemetry};

/// Settings come from the environment.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    connection: Connection,
    /// Check the settings, print them with secrets masked, and end.
    #[arg(long)]
    print_config: bool,
}

/// Runs until SIGTERM or SIGINT.
pub(super) async fn run(arguments: RunArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let raw = RawConfig::read(|name| std::env::var(name).ok());
    let settings = settings(&raw)?;
    if arguments.print_config {
        out.write_all(raw.render().as_bytes()).context("cannot print")?;
        for warning in &settings.warnings {
            writeln!(io::stderr(), "warning: {warning}").context("cannot print")?;
        }
        return Ok(Ending::Fine);
    }
    telemetry::init(&settings.log).context("cannot start the log")?;
    for warning in &settings.warnings {
        tracing::warn!(variable = warning.variable, "{warning}");
    }
    let client = arguments.connection.client().await?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    daemon::run(settings, client, async move { signals.next().await }).await?;
    Ok(Ending::Fine)
}

/// The settings, or all that is wrong with them at once.
fn settings(raw: &RawConfig) -> anyhow::Result<Settings> {
    match config::load(raw) {
        Ok(settings) => Ok(settings),
        Err(problems) => {
            writeln!(io::stderr(), "{problems}").context("cannot print")?;
            Err(BadConfiguration("the environment is wrong; every problem is listed above").into())
        }
    }
}
