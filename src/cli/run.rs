//! `gslb-bridge run`: the controller of one cluster.

use std::future::Future;
use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::{BadConfiguration, Connection, Ending};
use crate::config::{RawConfig, Settings};
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
    let stop = terminated().context("cannot listen for signals")?;
    daemon::run(settings, client, stop).await?;
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

/// Completes at the first SIGTERM or SIGINT.
pub(super) fn terminated() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
