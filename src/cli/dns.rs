//! `gslb-bridge dns`: our authoritative DNS server as a process.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::signals::Signals;
use super::{Connection, Ending};
use crate::config::{BadConfiguration, RawConfig};
use crate::dns::daemon::{Daemon, StartError};
use crate::dns::settings::DnsSettings;
use crate::telemetry;

/// Settings come from the environment.
#[derive(Debug, Args)]
pub(super) struct DnsArgs {
    #[command(flatten)]
    connection: Connection,
}

/// Runs until SIGTERM or SIGINT; a second one ends the time in which questions are still answered.
pub(super) async fn run(arguments: DnsArgs) -> anyhow::Result<Ending> {
    let raw = RawConfig::read(|name| std::env::var(name).ok());
    let (settings, log) = match DnsSettings::resolve(&raw) {
        Ok(settings) => settings,
        Err(problems) => {
            writeln!(io::stderr(), "{problems}").context("cannot print")?;
            return Err(BadConfiguration("the environment is wrong; every problem is listed above").into());
        }
    };
    telemetry::init(&log).context("cannot start the log")?;
    let daemon = Daemon::start(settings).await.map_err(|error| match error {
        StartError::Pages { .. } => {
            anyhow::Error::from(error).context(BadConfiguration("METRICS_ADDRESS is wrong"))
        }
        StartError::Bind(_) | StartError::Serve(_) => error.into(),
    })?;
    let client = arguments.connection.client().await?;
    let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let (first, second) = (stop.clone(), hurry.clone());
    tokio::spawn(async move {
        for token in [first, second] {
            signals.next().await;
            token.cancel();
        }
    });
    daemon.run(client, stop, hurry).await;
    Ok(Ending::Fine)
}
