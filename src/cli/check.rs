//! `gslb-bridge check`: looks whether what lies outside is as the daemon needs it, and changes nothing.

mod hosts;
mod parts;
mod report;
mod zones;

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use gslb_provider_infoblox::install_crypto_provider;

use self::report::Report;
use super::configuration::{self, Configuration};
use super::{Connection, Ending, Output};
use crate::config::{self, Readers, Settings};

/// Settings come from the environment, and from a file if one is named, as those of `run`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    configuration: Configuration,
    /// How to print
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
}

pub(super) async fn run(arguments: CheckArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let raw = arguments.configuration.read();
    let settings = configuration::settled(config::load(&raw))?;
    if arguments.configuration.print_config {
        configuration::print(&raw, Readers::Run, &settings.warnings, out)?;
        return Ok(Ending::Fine);
    }
    for warning in &settings.warnings {
        writeln!(io::stderr(), "warning: {warning}").context("cannot print")?;
    }
    let report = look(&settings, arguments.connection).await?;
    match arguments.output {
        Output::Json => report.print_json(out)?,
        Output::Table => report.print(out)?,
    }
    Ok(if report.is_fine() { Ending::Fine } else { Ending::Findings })
}

/// Every part adds its findings. One that cannot be looked at says so, and keeps no other from being looked at.
async fn look(settings: &Settings, connection: Connection) -> anyhow::Result<Report> {
    let mut report = Report::default();
    if let Some(finding) = parts::without_provider(settings) {
        report.add("provider", vec![finding]);
        return Ok(report);
    }
    install_crypto_provider();
    let client = connection.client().await?;
    let (zones, findings) = zones::of(settings, &client).await;
    report.add("cluster", findings);
    let providers = parts::providers(settings, &client)?;
    for (outlet, (provider, zones)) in parts::places(settings, &providers, zones) {
        report.add(&outlet.to_string(), provider.inspect(&zones).await);
    }
    // The report is what counts; a session that is not ended ends by itself.
    drop(providers.close().await);
    Ok(report)
}
