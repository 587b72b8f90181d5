//! `gslb-bridge dns`: our authoritative DNS server as a process.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::configuration::{self, Configuration};
use super::signals::Signals;
use super::{Connection, Ending};
use crate::config::{BadConfiguration, Readers};
use crate::dns::daemon::{Daemon, StartError};
use crate::dns::settings::DnsSettings;
use crate::telemetry;

/// Settings come from the environment, and from a file if one is named.
#[derive(Debug, Args)]
pub(super) struct DnsArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    configuration: Configuration,
}

/// Runs until SIGTERM or SIGINT; a second one ends the time in which questions are still answered.
pub(super) async fn run(arguments: DnsArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let raw = arguments.configuration.read();
    let (settings, log) = configuration::settled(DnsSettings::resolve(&raw))?;
    let warnings = raw.warnings(Readers::Dns);
    if arguments.configuration.print_config {
        configuration::print(&raw, Readers::Dns, &warnings, out)?;
        return Ok(Ending::Fine);
    }
    telemetry::init(&log).context("cannot start the log")?;
    configuration::warn(&warnings);
    let daemon = Daemon::start(settings).await.map_err(|error| match error {
        StartError::Pages { .. } => anyhow::Error::from(error)
            .context(BadConfiguration("METRICS_ADDRESS (metricsAddress in a file) is wrong")),
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
