//! `gslb-bridge webhook`: external-dns writes the grid through us.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use gslb_provider_infoblox::install_crypto_provider;
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use super::configuration::{self, Configuration};
use super::signals::Signals;
use super::{Connection, Ending};
use crate::config::{self, BadConfiguration, Readers};
use crate::daemon::{change_log, shipper};
use crate::webhook::daemon::{Numbers, Webhook, World};
use crate::{health, provision, telemetry};

/// Settings come from the environment, and from a file if one is named.
#[derive(Debug, Args)]
pub(super) struct WebhookArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    configuration: Configuration,
}

/// Runs until SIGTERM or SIGINT.
pub(super) async fn run(arguments: WebhookArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let raw = arguments.configuration.read();
    let settings = configuration::settled(config::load_webhook(&raw))?;
    if arguments.configuration.print_config {
        configuration::print(&raw, Readers::Webhook, &settings.warnings, out)?;
        return Ok(Ending::Fine);
    }
    telemetry::init(&settings.log).context("cannot start the log")?;
    configuration::warn(&settings.warnings);
    install_crypto_provider();
    let listener = TcpListener::bind(settings.listen)
        .await
        .with_context(|| format!("cannot listen on {}", settings.listen))
        .context(BadConfiguration("WEBHOOK_LISTEN (webhook.listen in a file) is wrong"))?;
    let pages = health::bind(&settings.metrics_address)
        .await
        .context(BadConfiguration("METRICS_ADDRESS (metricsAddress in a file) is wrong"))?;
    let client = arguments.connection.client().await?;
    let mut registry = Registry::default();
    let numbers = Numbers::new(&mut registry);
    let calls = numbers.of_grid(&settings.provider);
    let grid = provision::infoblox(&settings.provider, &settings.grid, &client, &settings.namespace, calls)
        .context(BadConfiguration("the provider cannot be set up"))?;
    let shipper = shipper(&settings.change_log)?;
    let log = change_log(&settings.change_log, &settings.pod_name, &client, shipper, Timestamp::now())?;
    let world = World { client, sets: Arc::new(grid), log, clock: Arc::new(Timestamp::now) };
    let webhook = Webhook::new(&settings, world, numbers);
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let address = listener.local_addr().context("cannot listen")?;
    tracing::info!(%address, owner = %settings.owner, "Waiting for external-dns.");
    webhook.serve(listener, pages, registry, async move { signals.next().await }).await;
    tracing::info!("Stopped.");
    Ok(Ending::Fine)
}
