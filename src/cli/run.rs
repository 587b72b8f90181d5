//! `gslb-bridge run`: the controller of one cluster.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;

use super::signals::Signals;
use super::{Connection, Ending};
use crate::config::{BadConfiguration, RawConfig, Settings};
use crate::{daemon, telemetry};

/// Settings come from the environment.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    connection: Connection,
}

/// Runs until SIGTERM or SIGINT.
pub(super) async fn run(arguments: RunArgs) -> anyhow::Result<Ending> {
    let settings = settings()?;
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
fn settings() -> anyhow::Result<Settings> {
    let raw = RawConfig::read(|name| std::env::var(name).ok());
    match Settings::resolve(&raw) {
        Ok(settings) => Ok(settings),
        Err(problems) => {
            writeln!(io::stderr(), "{problems}").context("cannot print")?;
            Err(BadConfiguration("the environment is wrong; every problem is listed above").into())
        }
    }
}
