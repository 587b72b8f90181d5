//! What the daemons of a cluster are started with: the environment that the chart would set (contract §7.1).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::children::Role;
use super::grid::{Files, VERSION, VIEW};
use super::orphan;
use super::topology::{Mode, NEGATIVE_TTL, OWN_NAMESPACE, PARENT, PARENT_ZONE, Ports, Site, ZONE};

/// Variables of the surrounding environment that the daemons may see; all others could change what they do.
const INHERITED: [&str; 6] =
    ["PATH", "HOME", "TMPDIR", "RUST_BACKTRACE", "LLVM_PROFILE_FILE", "LD_LIBRARY_PATH"];

/// What all environments are made from.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) folder: &'a Path,
    pub(super) ports: &'a Ports,
    /// Nothing if external-dns is the provider.
    pub(super) grid: Option<&'a Files>,
    pub(super) mode: Mode,
}

impl Surroundings<'_> {
    /// A site's own folder.
    pub(super) fn folder_of(&self, site: Site) -> PathBuf {
        self.folder.join(site.tag())
    }

    /// The kubeconfig whose current context is the site's.
    pub(super) fn kubeconfig_of(&self, site: Site) -> PathBuf {
        self.folder_of(site).join("kubeconfig")
    }

    /// Writes the configuration file, if there is one: the mode of a zone has no variable.
    pub(super) fn write_file(&self) -> anyhow::Result<()> {
        match self.mode {
            Mode::Delegation => Ok(()),
            Mode::Records => super::grid::write(&self.file(), &records_mode()),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("gslb-bridge.yaml")
    }

    /// The environment of one process.
    pub(super) fn of(&self, site: Site, role: Role) -> BTreeMap<String, String> {
        let inherited =
            INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let mut all: BTreeMap<String, String> = inherited.collect();
        let mut set = |name: &str, value: String| drop(all.insert(name.to_owned(), value));
        let private = self.ports.private_of(site);
        let pages = match role {
            Role::Controller => private.controller_pages,
            Role::Dns => private.dns_pages,
        };
        let path = |path: &Path| path.display().to_string();
        set(orphan::VARIABLE, "1".to_owned());
        set("KUBECONFIG", path(&self.kubeconfig_of(site)));
        set("POD_NAMESPACE", OWN_NAMESPACE.to_owned());
        set("POD_NAME", format!("gslb-bridge-{site}"));
        set("CLUSTER_GEO_TAG", site.to_string());
        set("EXT_GSLB_CLUSTERS_GEO_TAGS", Site::ALL.map(Site::tag).join(","));
        match self.mode {
            Mode::Delegation => set("DNS_ZONES", format!("{PARENT_ZONE}:{ZONE}:{NEGATIVE_TTL}")),
            Mode::Records => set("CONFIG_FILE", path(&self.file())),
        }
        set("EDGE_DNS_SERVERS", self.ports.parent_dns().to_string());
        set("METRICS_ADDRESS", format!("{}:{pages}", site.dns()));
        set("COREDNS_SERVICE_TYPE", "LoadBalancer".to_owned());
        set("LOG_FORMAT", "json".to_owned());
        match role {
            Role::Controller => self.controller(site, set),
            Role::Dns => {
                set("DNS_LISTEN", format!("{}:{}", site.dns(), private.dns));
                set("DNS_STOP_SECONDS", "0".to_owned());
                set("DNS_SNAPSHOT_FILE", path(&self.folder_of(site).join("dns-snapshot")));
            }
        }
        all
    }

    fn controller(&self, site: Site, mut set: impl FnMut(&str, String)) {
        let path = |path: &Path| path.display().to_string();
        set("RECONCILE_REQUEUE_SECONDS", "30".to_owned());
        set("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "5".to_owned());
        set("PEER_SWEEP_SECONDS", "1".to_owned());
        set("DNS_SOURCE_ADDRESS", site.dns().to_string());
        set("CHANGE_LOG_FILE", path(&change_log_in(self.folder, site)));
        let Some(grid) = self.grid else {
            set("EXTDNS_ENABLED", "true".to_owned());
            return;
        };
        set("INFOBLOX_GRID_HOST", PARENT.to_string());
        set("INFOBLOX_WAPI_PORT", self.ports.wapi_of(site).to_string());
        set("INFOBLOX_WAPI_VERSION", VERSION.to_owned());
        set("INFOBLOX_WAPI_USERNAME_FILE", path(&grid.username));
        set("INFOBLOX_WAPI_PASSWORD_FILE", path(&grid.password));
        set("INFOBLOX_CA_FILE", path(&grid.ca));
        set("INFOBLOX_DNS_VIEW", VIEW.to_owned());
        // On a cut link nothing answers; the default of 20 s would make every trial of that last. A killed
        // controller's request is waited for as long, too.
        set("INFOBLOX_HTTP_REQUEST_TIMEOUT", "5".to_owned());
    }
}

/// A configuration file with the zone in records mode.
fn records_mode() -> String {
    format!(
        "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\nzones:\n- {{zone: {ZONE}, parentZone: {PARENT_ZONE}, negativeTtlSeconds: {NEGATIVE_TTL}, mode: records}}\n"
    )
}

/// The shipped lines of a site's change log, which `changes verify --against` takes.
pub(super) fn change_log_in(folder: &Path, site: Site) -> PathBuf {
    folder.join(site.tag()).join("changes.jsonl")
}

#[cfg(test)]
mod tests {
    use super::super::topology::PrivatePorts;
    use super::*;
    use crate::config::{RawConfig, Settings};

    #[test]
    fn the_file_of_records_mode_is_accepted_as_settings() {
        let environment = [
            ("CLUSTER_GEO_TAG", "eu"),
            ("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu,us"),
            ("EDGE_DNS_SERVERS", "127.0.0.1"),
            ("INFOBLOX_GRID_HOST", "127.0.0.1"),
            ("INFOBLOX_WAPI_USERNAME", "x"),
            ("INFOBLOX_WAPI_PASSWORD", "x"),
        ];
        let lookup = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let raw = RawConfig::read(lookup).and_text("gslb-bridge.yaml", &records_mode());
        let settings = Settings::resolve(&raw).unwrap();
        assert_eq!(settings.records_zones.iter().map(ToString::to_string).collect::<Vec<_>>(), [ZONE]);
    }

    #[test]
    fn the_controllers_environment_is_accepted_as_settings() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name| folder.path().join(name);
        for name in ["user", "password", "ca"] {
            std::fs::write(file(name), "x").unwrap();
        }
        let private = PrivatePorts { dns: 1, controller_pages: 2, dns_pages: 3 };
        let private = Site::ALL.map(|site| (site, private)).into();
        let wapi = [(Site::Eu, 1443), (Site::Us, 2443), (Site::Za, 3443)].into();
        let ports = Ports { dns: 1053, wapi, application: 8080, private };
        let grid = Files { ca: file("ca"), username: file("user"), password: file("password") };
        let mode = Mode::Delegation;
        let around = Surroundings { folder: folder.path(), ports: &ports, grid: Some(&grid), mode };
        let environment = around.of(Site::Us, Role::Controller);
        let settings = Settings::resolve(&RawConfig::read(|name| environment.get(name).cloned())).unwrap();
        assert_eq!(settings.geo_tag.as_str(), "us");
        assert_eq!(settings.dns_source_address, Some("127.0.2.53".parse().unwrap()));
        assert_eq!(settings.peer_ports(), [1053, 53]);
        assert_eq!(environment["INFOBLOX_GRID_HOST"], "127.0.0.1", "no address of a cluster's DNS server");
        assert_eq!(environment["INFOBLOX_WAPI_PORT"], "2443", "the way of the site itself");
        assert_eq!(settings.warnings.len(), 0, "{:?}", settings.warnings);

        let around = Surroundings { grid: None, ..around };
        let environment = around.of(Site::Us, Role::Controller);
        let settings = Settings::resolve(&RawConfig::read(|name| environment.get(name).cloned())).unwrap();
        assert_eq!(settings.provider.name(), "external-dns");
        assert!(environment.keys().all(|name| !name.starts_with("INFOBLOX_")), "{environment:?}");
    }
}
