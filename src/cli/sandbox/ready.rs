//! The ready file: everything that another program needs to use the sandbox.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::grid;
use super::topology::{HOST, NAMESPACE, PARENT_ZONE, Ports, Site, ZONE};

/// Content of the file. Its keys are documented: others read them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadyFile {
    pub(super) kubeconfig: PathBuf,
    pub(super) zone: String,
    pub(super) parent_zone: String,
    pub(super) host: String,
    pub(super) clusters: BTreeMap<Site, ReadyCluster>,
    pub(super) parent_dns: String,
    /// Nothing if there is no grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wapi: Option<ReadyWapi>,
    /// The socket that `sandbox inject` talks to.
    pub(super) control: PathBuf,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadyCluster {
    pub(super) context: String,
    pub(super) namespace: String,
    pub(super) dns: String,
    pub(super) targets: Vec<Ipv4Addr>,
    pub(super) metrics: String,
    pub(super) pids: Pids,
}

/// Process ids: of the last process while none runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pids {
    pub(super) controller: u32,
    pub(super) dns: u32,
}

/// The grid, with the DNS team's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadyWapi {
    pub(super) url: String,
    pub(super) ca_file: PathBuf,
    pub(super) username: String,
    pub(super) password: String,
    pub(super) view: String,
}

/// What the file is made from.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) ports: &'a Ports,
    pub(super) kubeconfig: &'a Path,
    /// CA file and URL of the grid, if there is one.
    pub(super) wapi: Option<(&'a Path, String)>,
    pub(super) control: &'a Path,
    pub(super) pids: &'a BTreeMap<Site, Pids>,
}

impl ReadyFile {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let ports = facts.ports;
        let cluster = |(site, pids): (&Site, &Pids)| {
            let site = *site;
            let cluster = ReadyCluster {
                context: site.to_string(),
                namespace: NAMESPACE.to_owned(),
                dns: ports.dns_of(site).to_string(),
                targets: vec![site.target()],
                metrics: ports.metrics_of(site),
                pids: *pids,
            };
            (site, cluster)
        };
        Self {
            kubeconfig: facts.kubeconfig.to_owned(),
            zone: ZONE.to_owned(),
            parent_zone: PARENT_ZONE.to_owned(),
            host: HOST.to_owned(),
            clusters: facts.pids.iter().map(cluster).collect(),
            parent_dns: ports.parent_dns().to_string(),
            wapi: facts.wapi.as_ref().map(|(ca_file, url)| ReadyWapi {
                url: url.clone(),
                ca_file: (*ca_file).to_owned(),
                username: grid::ADMIN.to_owned(),
                password: grid::admin_password(false),
                view: grid::VIEW.to_owned(),
            }),
            control: facts.control.to_owned(),
        }
    }

    /// Writes it in one step: readers see the old file or the new one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("cannot describe the sandbox")?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || -> std::io::Result<()> {
            // It holds a password, so it is for this user only; that is what temporary files are.
            let mut draft = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut draft, text.as_bytes())?;
            draft.persist(path)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write the ready file {}", path.display()))
    }

    /// Reads a file that a sandbox wrote.
    ///
    /// # Errors
    /// There is no such file, or it is another one.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the ready file {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a ready file", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::topology::PrivatePorts;
    use super::*;

    #[test]
    fn the_ready_file_has_the_documented_keys() {
        let private = PrivatePorts { dns: 1, controller_pages: 9100, dns_pages: 3 };
        let private = Site::ALL.map(|site| (site, private)).into();
        let wapi = Site::ALL.map(|site| (site, 1443)).into();
        let ports = Ports { dns: 1053, wapi, application: 8080, private };
        let pids = Site::ALL.map(|site| (site, Pids { controller: 1, dns: 2 })).into();
        let file = ReadyFile::of(&Facts {
            ports: &ports,
            kubeconfig: Path::new("/tmp/kubeconfig"),
            wapi: Some((Path::new("/tmp/ca.pem"), "https://127.0.0.1:1443/wapi/v2.12/".to_owned())),
            control: Path::new("/tmp/control"),
            pids: &pids,
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        file.write(&path).unwrap();
        assert_eq!(ReadyFile::read(&path).unwrap(), file);
        let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let eu = value["clusters"]["eu"].take();
        let expected = json!({
            "context": "eu", "namespace": "demo", "dns": "127.0.1.53:1053", "targets": ["127.0.1.80"],
            "metrics": "http://127.0.1.53:9100/metrics", "pids": {"controller": 1, "dns": 2},
        });
        assert_eq!(eu, expected);
        assert_eq!(value["parent_dns"], "127.0.0.1:1053");
        assert_eq!(value["wapi"]["view"], "default");
    }
}
