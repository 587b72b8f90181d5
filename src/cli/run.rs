//! `gslb-bridge run`: the controller of one cluster.

use std::io::Write;

use anyhow::Context;
use clap::Args;

use super::configuration::{self, Configuration};
use super::signals::Signals;
use super::{Connection, Ending};
use crate::config::{self, Readers};
use crate::{daemon, telemetry};

/// Settings come from the environment, and from a file if one is named.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    configuration: Configuration,
}

/// Runs until SIGTERM or SIGINT.
pub(super) async fn run(arguments: RunArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let raw = arguments.configuration.read();
    let settings = configuration::settled(config::load(&raw))?;
    if arguments.configuration.print_config {
        configuration::print(&raw, Readers::Run, &settings.warnings, out)?;
        return Ok(Ending::Fine);
    }
    telemetry::init(&settings.log).context("cannot start the log")?;
    configuration::warn(&settings.warnings);
    let client = arguments.connection.client().await?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    daemon::run(settings, client, async move { signals.next().await }).await?;
    Ok(Ending::Fine)
}
