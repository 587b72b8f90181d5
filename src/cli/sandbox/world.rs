//! Everything that the sandbox runs, put together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use gslb_mocks::kube::kubeconfig;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::application::Application;
use super::children::{Process, RESTART_PAUSE, Recipe, Role};
use super::cluster::{Cluster, is_true};
use super::environment::Surroundings;
use super::external_dns::ExternalDns;
use super::gate::{End, Gate};
use super::grid::{self, SimulatedGrid};
use super::loopback::{self, GridSockets, Sockets};
use super::objects::Strategy;
use super::parent::Parent;
use super::ready::{Facts, Pids, ReadyFile};
use super::relay;
use super::timeline::Timeline;
use super::topology::{Mode, Ports, Provider, Site};
use super::witness::Witness;

/// How a sandbox is started.
#[derive(Debug)]
pub(super) struct Plan {
    /// An empty folder for everything that is written.
    pub(super) folder: PathBuf,
    /// 0: a free one.
    pub(super) dns_port: u16,
    pub(super) strategy: Strategy,
    pub(super) provider: Provider,
    pub(super) mode: Mode,
    pub(super) ready_file: Option<PathBuf>,
}

/// The clusters, the parent zone, and all ways between them.
#[derive(Debug)]
pub(super) struct World {
    pub(super) timeline: Arc<Timeline>,
    pub(super) ports: Ports,
    pub(super) clusters: BTreeMap<Site, Cluster>,
    pub(super) parent: Parent,
    pub(super) gate: Arc<Gate>,
    pub(super) applications: BTreeMap<Site, Application>,
    pub(super) witness: Witness,
    pub(super) mode: Mode,
    processes: BTreeMap<(Site, Role), Process>,
    folder: PathBuf,
    ready_file: Option<PathBuf>,
    published: Mutex<Published>,
    strategy: Mutex<Strategy>,
}

/// The process ids of the ready file.
#[derive(Debug, Default)]
struct Published {
    pids: BTreeMap<(Site, Role), u32>,
    written: bool,
}

impl World {
    /// Starts everything. It lives in `tasks`; `failures` hears of a child that cannot be started.
    ///
    /// # Errors
    /// An address is not local, a port is taken, a file cannot be written.
    pub(super) async fn start(
        plan: Plan,
        timeline: Arc<Timeline>,
        tasks: &mut JoinSet<()>,
        failures: &mpsc::Sender<anyhow::Error>,
    ) -> anyhow::Result<Arc<Self>> {
        let Plan { folder, dns_port, strategy, provider, mode, ready_file } = plan;
        let (ports, sockets) = loopback::bind(dns_port, provider).await?;
        let Sockets { parent_dns, dns, grid, applications } = sockets;
        let gate = Arc::new(Gate::default());
        let mut clusters = BTreeMap::new();
        for site in Site::ALL {
            clusters.insert(site, Cluster::start(site, strategy).await?);
        }
        let parent = match grid {
            Some(sockets) => Parent::Grid(start_grid(tasks, &gate, &folder, sockets, mode).await?),
            None => Parent::ExternalDns(ExternalDns::start(&clusters, &gate).await?),
        };
        relay::dns(tasks, &gate, parent_dns, End::Parent, parent.dns()?);
        for (site, pair) in dns {
            let private = (site.dns(), ports.private_of(site).dns).into();
            relay::dns(tasks, &gate, pair, End::Site(site), private);
        }
        let applications =
            applications.into_iter().map(|(site, listener)| Ok((site, Application::start(site, listener)?)));
        let applications = applications.collect::<std::io::Result<_>>()?;
        write_kubeconfigs(&folder, &clusters)?;
        let around = Surroundings {
            folder: &folder,
            ports: &ports,
            grid: parent.grid().ok().map(SimulatedGrid::files),
            mode,
        };
        around.write_file()?;
        let processes = start_processes(tasks, &around, &timeline, failures)?;
        let witness = Witness::new(ports.clone());
        let (published, strategy) = (Mutex::default(), Mutex::new(strategy));
        Ok(Arc::new(Self {
            timeline,
            ports,
            clusters,
            parent,
            gate,
            applications,
            witness,
            mode,
            processes,
            folder,
            ready_file,
            published,
            strategy,
        }))
    }

    pub(super) fn cluster(&self, site: Site) -> &Cluster {
        self.clusters.get(&site).expect("every site has its cluster")
    }

    pub(super) fn process(&self, site: Site, role: Role) -> &Process {
        self.processes.get(&(site, role)).expect("every site has both processes")
    }

    pub(super) fn application(&self, site: Site) -> &Application {
        self.applications.get(&site).expect("every site has its application")
    }

    /// The socket of the control channel.
    pub(super) fn control(&self) -> PathBuf {
        control_in(&self.folder)
    }

    /// The kubeconfig with all contexts.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives all clusters' Gslbs a strategy.
    ///
    /// # Errors
    /// An API refuses it.
    pub(super) fn set_strategy(&self, strategy: Strategy) -> anyhow::Result<()> {
        for cluster in self.clusters.values() {
            cluster.set_strategy(strategy)?;
        }
        *self.strategy.lock().expect("no panic while the strategy is locked") = strategy;
        Ok(())
    }

    /// What every cluster answers when each of them sees all others (rows R2, R3, F1, F2, F4, F6, F7 of the
    /// contract's truth table).
    pub(super) fn expected(&self) -> BTreeSet<Site> {
        let healthy = |site: &Site| self.cluster(*site).is_ready();
        let healthy: BTreeSet<Site> = Site::ALL.into_iter().filter(healthy).collect();
        match *self.strategy.lock().expect("no panic while the strategy is locked") {
            Strategy::Failover(primary) if healthy.contains(&primary) => BTreeSet::from([primary]),
            Strategy::Failover(_) | Strategy::RoundRobin => healthy,
        }
    }

    /// What is still missing before everything answers right; nothing if the sandbox is ready.
    pub(super) async fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let expected = self.expected();
        for site in Site::ALL {
            let answer = self.witness.answer_of(site).await;
            if !answer.is_from(&expected) {
                missing.push(format!("{site} answers: {answer}"));
            }
            let cluster = self.cluster(site);
            let (gslb, delegation) = (cluster.gslb_conditions(), cluster.delegation_conditions());
            let published = match self.mode {
                Mode::Delegation => ("ZoneDelegation", &delegation, "Ready"),
                Mode::Records => ("Gslb", &gslb, "InSync"),
            };
            let needed = [("Gslb", &gslb, "Ready"), ("Gslb", &gslb, "PeersReachable"), published];
            for (kind, conditions, condition) in needed {
                if !is_true(conditions, condition) {
                    missing.push(format!("the {kind} of {site} is not {condition}: {conditions:?}"));
                }
            }
        }
        match self.mode {
            Mode::Delegation => {
                let referred = self.witness.referred().await;
                if referred.len() < Site::ALL.len() {
                    missing.push(format!("the parent refers to {referred:?} only"));
                }
            }
            Mode::Records => {
                let answer = self.witness.answer_of_parent().await;
                if !answer.is_from(&expected) {
                    missing.push(format!("the grid answers: {answer}"));
                }
            }
        }
        missing
    }

    /// Writes the ready file again if a process id in it is not right any more. Before [`Self::publish`] nothing.
    pub(super) fn refresh(&self) -> anyhow::Result<()> {
        let mut published = self.published.lock().expect("no panic while the ready file is locked");
        if !published.written {
            return Ok(());
        }
        self.write_ready_file(&mut published)
    }

    /// Writes the ready file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn publish(&self) -> anyhow::Result<()> {
        let mut published = self.published.lock().expect("no panic while the ready file is locked");
        self.write_ready_file(&mut published)
    }

    fn write_ready_file(&self, published: &mut Published) -> anyhow::Result<()> {
        let mut changed = !published.written;
        for (key, process) in &self.processes {
            if let Some(pid) = process.pid() {
                changed |= published.pids.insert(*key, pid) != Some(pid);
            }
        }
        if !changed {
            return Ok(());
        }
        let pid = |site, role| published.pids.get(&(site, role)).copied().unwrap_or_default();
        let pids_of = |site| Pids { controller: pid(site, Role::Controller), dns: pid(site, Role::Dns) };
        let file = ReadyFile::of(&Facts {
            ports: &self.ports,
            kubeconfig: &self.kubeconfig(),
            wapi: self.parent.wapi(),
            control: &self.control(),
            pids: &Site::ALL.map(|site| (site, pids_of(site))).into(),
        });
        if let Some(path) = &self.ready_file {
            file.write(path)?;
        }
        published.written = true;
        Ok(())
    }
}

/// The control channel's socket in a sandbox's folder.
pub(super) fn control_in(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// Starts a grid, with each site's way to it.
async fn start_grid(
    tasks: &mut JoinSet<()>,
    gate: &Arc<Gate>,
    folder: &Path,
    sockets: GridSockets,
    mode: Mode,
) -> anyhow::Result<SimulatedGrid> {
    let grid = SimulatedGrid::start(folder, sockets.own, mode).await?;
    for (site, listener) in sockets.ways {
        relay::wapi(tasks, gate, listener, (End::Site(site), site.dns()), grid.https());
    }
    Ok(grid)
}

/// One file with all contexts for people, and one for each cluster's own daemons.
fn write_kubeconfigs(folder: &Path, clusters: &BTreeMap<Site, Cluster>) -> anyhow::Result<()> {
    let urls: Vec<(Site, String)> = clusters.iter().map(|(site, cluster)| (*site, cluster.url())).collect();
    let all = kubeconfig(urls.iter().map(|(site, url)| (site.tag(), url.as_str())));
    grid::write(&folder.join("kubeconfig"), &all)?;
    for (site, url) in &urls {
        let own = folder.join(site.tag());
        std::fs::create_dir(&own).with_context(|| format!("cannot make the folder {}", own.display()))?;
        grid::write(&own.join("kubeconfig"), &kubeconfig([(site.tag(), url.as_str())]))?;
    }
    Ok(())
}

/// No two clusters are installed in the same instant; then their first writes at the grid do not meet either.
fn delay_of(site: Site, role: Role) -> Duration {
    match (role, site) {
        (Role::Dns, _) | (Role::Controller, Site::Eu) => Duration::ZERO,
        (Role::Controller, Site::Us) => Duration::from_millis(200),
        (Role::Controller, Site::Za) => Duration::from_millis(400),
    }
}

fn start_processes(
    tasks: &mut JoinSet<()>,
    around: &Surroundings<'_>,
    timeline: &Arc<Timeline>,
    failures: &mpsc::Sender<anyhow::Error>,
) -> anyhow::Result<BTreeMap<(Site, Role), Process>> {
    let executable = std::env::current_exe().context("cannot find this executable")?;
    let mut processes = BTreeMap::new();
    for site in Site::ALL {
        for role in Role::ALL {
            let recipe = Recipe {
                site,
                role,
                executable: executable.clone(),
                environment: around.of(site, role),
                delay: delay_of(site, role),
                pause: RESTART_PAUSE,
                log: around.folder_of(site).join(role.log_name()),
            };
            processes.insert((site, role), Process::start(tasks, recipe, timeline, failures.clone()));
        }
    }
    Ok(processes)
}
