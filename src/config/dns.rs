//! The part of the settings that `gslb-bridge dns` reads: what the controller needs beyond it may be missing.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use gslb_core::name::GeoTag;

use super::catalog::Readers;
use super::problem::Problems;
use super::raw::RawConfig;
use super::reader::Reader;
use super::settings::{METRICS_PORT, parse_prefix, parse_tag};
use super::{LogSettings, ServerAddress, zones};
use crate::dns::settings::DnsSettings;

/// Port of `gslb-bridge dns` if only its address is given: as k8gb's CoreDNS, which runs without root.
const LISTEN_PORT: u16 = 5353;

impl DnsSettings {
    /// Turns what the user wrote into what the DNS server may use.
    ///
    /// # Errors
    /// Everything that is wrong, at once. The caller prints it and exits with [`super::EXIT_CODE`].
    pub fn resolve(raw: &RawConfig) -> Result<(Self, LogSettings), Problems> {
        let mut reader = Reader::new(raw, Readers::Dns);
        let settings = read(&mut reader);
        reader.end(settings).map(|(settings, _)| settings)
    }
}

fn read(reader: &mut Reader<'_>) -> Option<(DnsSettings, LogSettings)> {
    let own_tag: Option<GeoTag> = if reader.text("CLUSTER_GEO_TAG").is_empty() {
        None
    } else {
        reader.parsed("CLUSTER_GEO_TAG", "write for example eu or us-west-1", parse_tag)
    };
    let peer_tags = reader.list("EXT_GSLB_CLUSTERS_GEO_TAGS", "list tags such as eu,us", parse_tag);
    let zones = zones::read(reader);
    let ns_prefix = reader.parsed("GLUEA_PREFIX", "write for example gslb-ns-", parse_prefix);
    let listen = reader.list("DNS_LISTEN", "list addresses such as 192.0.2.53:53", parse_listen);
    let metrics_address = reader.parsed("METRICS_ADDRESS", "write for example 0.0.0.0:8080", |text| {
        ServerAddress::parse(text, METRICS_PORT, true)
    });
    let log = LogSettings::read(reader);
    let settings = DnsSettings {
        listen,
        metrics_address: metrics_address?.to_string(),
        zones: zones.into_iter().map(|(zone, _)| zone).collect(),
        ns_prefix: ns_prefix?,
        own_tag,
        peer_tags: peer_tags.into_iter().collect::<BTreeSet<_>>(),
        snapshot_file: reader.path("DNS_SNAPSHOT_FILE"),
        drain: reader.seconds("DNS_STOP_SECONDS", 0),
    };
    Some((settings, log?))
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let bare = || text.parse().map(|address: IpAddr| SocketAddr::new(address, LISTEN_PORT));
    text.parse().or_else(|_| bare()).map_err(|_| "it is no address with a port".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(pairs: &[(&str, &str)]) -> Result<DnsSettings, String> {
        let find =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        DnsSettings::resolve(&RawConfig::read(find)).map(|(settings, _)| settings).map_err(|p| p.to_string())
    }

    #[test]
    fn the_dns_server_needs_no_setting_at_all() {
        let settings = resolve(&[]).unwrap();
        assert_eq!(settings.listen, ["0.0.0.0:5353".parse().unwrap()]);
        assert_eq!((settings.own_tag, settings.drain.as_secs()), (None, 10));
    }

    #[test]
    fn several_addresses_are_listened_on() {
        let settings = resolve(&[("DNS_LISTEN", "192.0.2.53:53, 192.0.2.54")]).unwrap();
        assert_eq!(
            settings.listen,
            ["192.0.2.53:53".parse().unwrap(), "192.0.2.54:5353".parse::<SocketAddr>().unwrap()]
        );
    }

    #[test]
    fn every_wrong_setting_is_told_at_once() {
        let told = resolve(&[("DNS_LISTEN", "here"), ("CLUSTER_GEO_TAG", "e u"), ("LOG_LEVEL", "loud")])
            .unwrap_err();
        for name in ["DNS_LISTEN", "CLUSTER_GEO_TAG", "LOG_LEVEL"] {
            assert!(told.contains(name), "{name} is missing in {told}");
        }
    }
}
