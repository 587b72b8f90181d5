//! `gslb-bridge dns`: our authoritative DNS server as a process.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{BadConfiguration, Connection, Ending};
use crate::dns::daemon::{Daemon, StartError};
use crate::dns::settings::DnsSettings;
use crate::telemetry::{self, LogFormat};

/// The port of a METRICS_ADDRESS that names only a host (contract §7.1).
const METRICS_PORT: u16 = 8080;

/// Settings as written. Everything is text, so that all mistakes are found at once.
#[derive(Debug, Args)]
pub(super) struct DnsArgs {
    /// Where questions come in: a comma list of ip:port, each bound for UDP and TCP.
    #[arg(long, env = "DNS_LISTEN", default_value = "0.0.0.0:5353")]
    listen: String,
    /// Where /livez, /readyz and /metrics are: host:port or host.
    #[arg(long, env = "METRICS_ADDRESS", default_value = "0.0.0.0:8080")]
    metrics_address: String,
    /// File that keeps the last snapshot for a restart without an API server. Empty: none.
    #[arg(long, env = "DNS_SNAPSHOT_FILE", default_value = "")]
    snapshot_file: String,
    /// Seconds for which questions are still answered after SIGTERM.
    #[arg(long, env = "DNS_DRAIN_SECONDS", default_value = "10")]
    drain_seconds: String,
    /// Zones that are served before their ZoneDelegation is seen: parent:zone:negativeTTL;…
    #[arg(long, env = "DNS_ZONES", default_value = "")]
    dns_zones: String,
    /// This cluster's tag.
    #[arg(long, env = "CLUSTER_GEO_TAG", default_value = "")]
    cluster_geo_tag: String,
    /// The other clusters' tags, comma separated.
    #[arg(long, env = "EXT_GSLB_CLUSTERS_GEO_TAGS", default_value = "")]
    ext_gslb_clusters_geo_tags: String,
    /// What every name server name of the fleet starts with.
    #[arg(long, env = "GLUEA_PREFIX", default_value = "gslb-ns-")]
    gluea_prefix: String,
    /// error, warn, info, debug or trace.
    #[arg(long, env = "LOG_LEVEL", default_value = "info")]
    log_level: String,
    /// simple or json.
    #[arg(long, env = "LOG_FORMAT", default_value = "simple")]
    log_format: String,
    #[command(flatten)]
    connection: Connection,
}

/// Runs until SIGTERM or SIGINT; a second one ends the drain time.
pub(super) async fn run(arguments: DnsArgs) -> anyhow::Result<Ending> {
    let (settings, format) = settle(&arguments)
        .map_err(|problems| anyhow!(problems.join("; ")))
        .context(BadConfiguration("these settings are wrong"))?;
    telemetry::init(&arguments.log_level, format);
    let daemon = Daemon::start(settings).await.map_err(|error| match error {
        StartError::Pages { .. } => {
            anyhow::Error::from(error).context(BadConfiguration("METRICS_ADDRESS is wrong"))
        }
        StartError::Bind(_) | StartError::Serve(_) => error.into(),
    })?;
    let client = arguments.connection.client().await?;
    let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let (first, second) = (stop.clone(), hurry.clone());
    tokio::spawn(async move {
        for token in [first, second] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            token.cancel();
        }
    });
    daemon.run(client, stop, hurry).await;
    Ok(Ending::Fine)
}

/// All settings, or all that is wrong with them.
fn settle(arguments: &DnsArgs) -> Result<(DnsSettings, LogFormat), Vec<String>> {
    let mut problems = Vec::new();
    let settings = DnsSettings {
        listen: list("DNS_LISTEN", &arguments.listen, &mut problems, |text| {
            text.parse::<SocketAddr>().map_err(|_| "not ip:port, for example 192.0.2.53:53")
        }),
        metrics_address: metrics_address(&arguments.metrics_address, &mut problems),
        zones: list_by(';', "DNS_ZONES", &arguments.dns_zones, &mut problems, zone),
        ns_prefix: NsPrefix::new(&arguments.gluea_prefix),
        own_tag: list("CLUSTER_GEO_TAG", &arguments.cluster_geo_tag, &mut problems, GeoTag::parse).pop(),
        peer_tags: BTreeSet::from_iter(list(
            "EXT_GSLB_CLUSTERS_GEO_TAGS",
            &arguments.ext_gslb_clusters_geo_tags,
            &mut problems,
            GeoTag::parse,
        )),
        snapshot_file: Some(&arguments.snapshot_file).filter(|path| !path.is_empty()).map(Into::into),
        drain: arguments.drain_seconds.parse().map(Duration::from_secs).unwrap_or_else(|_| {
            problems.push(format!(
                "DNS_DRAIN_SECONDS {:?} is no whole number of seconds",
                arguments.drain_seconds
            ));
            Duration::ZERO
        }),
    };
    if settings.listen.is_empty() && problems.is_empty() {
        problems.push("DNS_LISTEN is empty; give at least one ip:port".to_owned());
    }
    let format = log_format(arguments, &mut problems);
    match format {
        Some(format) if problems.is_empty() => Ok((settings, format)),
        Some(_) | None => Err(problems),
    }
}

fn log_format(arguments: &DnsArgs, problems: &mut Vec<String>) -> Option<LogFormat> {
    let level = arguments.log_level.as_str();
    if !["error", "warn", "info", "debug", "trace"].contains(&level) {
        problems.push(format!("LOG_LEVEL {level:?} is none of error, warn, info, debug and trace"));
    }
    match arguments.log_format.as_str() {
        "simple" => {
            let ansi = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            Some(LogFormat::Simple { ansi })
        }
        "json" => Some(LogFormat::Json),
        other => {
            problems.push(format!("LOG_FORMAT {other:?} is none of simple and json"));
            None
        }
    }
}

fn list<T, E: Display>(
    variable: &str,
    text: &str,
    problems: &mut Vec<String>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Vec<T> {
    list_by(',', variable, text, problems, parse)
}

/// The parsed parts of a list; blanks around a part and empty parts do not count.
fn list_by<T, E: Display>(
    separator: char,
    variable: &str,
    text: &str,
    problems: &mut Vec<String>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Vec<T> {
    let parts = text.split(separator).map(str::trim).filter(|part| !part.is_empty());
    let mut values = Vec::new();
    for part in parts {
        match parse(part) {
            Ok(value) => values.push(value),
            Err(problem) => problems.push(format!("{variable} {part:?}: {problem}")),
        }
    }
    values
}

/// `parent:zone:negativeTTL` (contract §5.1).
fn zone(text: &str) -> Result<Zone, String> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let [parent, zone, negative_ttl] = parts[..] else {
        return Err("not parent:zone:negativeTTL, for example example.com:cloud.example.com:300".to_owned());
    };
    let name = |text| DomainName::parse(text).map_err(|problem| problem.to_string());
    let seconds: i64 =
        negative_ttl.parse().map_err(|_| format!("{negative_ttl:?} is no number of seconds"))?;
    let ttl = Ttl::from_secs(seconds).map_err(|problem| problem.to_string())?;
    Zone::new(name(zone)?, name(parent)?, ttl).map_err(|problem| problem.to_string())
}

fn metrics_address(text: &str, problems: &mut Vec<String>) -> String {
    let (host, port) = text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let port = port.map_or(Ok(METRICS_PORT), str::parse);
    match port {
        Ok(port) if !host.is_empty() => format!("{host}:{port}"),
        Ok(_) | Err(_) => {
            problems
                .push(format!("METRICS_ADDRESS {text:?} is not host:port or host, for example 0.0.0.0:8080"));
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        arguments: DnsArgs,
    }

    fn settled(flags: &[&str]) -> Result<(DnsSettings, LogFormat), Vec<String>> {
        settle(&Only::parse_from(["dns"].iter().chain(flags)).arguments)
    }

    #[test]
    fn settings_are_read_as_k8gb_reads_them() {
        let (settings, _) = settled(&[
            "--listen=192.0.2.53:53, [2001:db8::53]:53",
            "--metrics-address=127.0.0.1",
            "--dns-zones=example.com:cloud.example.com:17; example.org : glb.example.org : 30;",
            "--cluster-geo-tag=EU",
            "--ext-gslb-clusters-geo-tags=us,za",
            "--gluea-prefix=",
            "--drain-seconds=0",
        ])
        .unwrap();
        assert_eq!(settings.listen.len(), 2);
        assert_eq!(settings.metrics_address, "127.0.0.1:8080");
        assert_eq!(settings.zones[1].name().as_str(), "glb.example.org");
        assert_eq!(settings.zones[0].negative_ttl().as_secs(), 17);
        assert_eq!(settings.own_tag.unwrap().as_str(), "eu");
        assert_eq!(settings.peer_tags.len(), 2);
        assert_eq!(settings.ns_prefix, NsPrefix::new(""));
        assert_eq!((settings.snapshot_file, settings.drain), (None, Duration::ZERO));
    }

    #[test]
    fn every_wrong_setting_is_named_at_once() {
        let problems = settled(&[
            "--listen=localhost:53",
            "--metrics-address=:8080",
            "--dns-zones=cloud.example.com:300;example.com:example.net:30",
            "--cluster-geo-tag=e_u",
            "--ext-gslb-clusters-geo-tags=us,z a",
            "--drain-seconds=",
            "--log-level=loud",
            "--log-format=xml",
        ])
        .unwrap_err();
        let named = [
            "DNS_LISTEN",
            "METRICS_ADDRESS",
            "DNS_ZONES",
            "DNS_ZONES",
            "CLUSTER_GEO_TAG",
            "EXT_GSLB_CLUSTERS_GEO_TAGS",
            "DNS_DRAIN_SECONDS",
            "LOG_LEVEL",
            "LOG_FORMAT",
        ];
        assert_eq!(problems.len(), named.len(), "{problems:#?}");
        for (problem, name) in problems.iter().zip(named) {
            assert!(problem.starts_with(name), "{problem}");
        }
    }
}
