//! The daemons as child processes: started, killed on demand, and started again when they end.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::timeline::{Happening, Timeline};
use super::topology::Site;

/// Pause before a process that ended is started again: long enough for people to see that it was away.
pub(super) const RESTART_PAUSE: Duration = Duration::from_secs(2);
/// A process that ends sooner than this after its start did not really start.
const EARLY: Duration = Duration::from_secs(3);
/// Starts in a row that may fail.
const FAILED_STARTS: u32 = 3;
/// Lines of a log that are shown when its process cannot be started.
const TAIL: usize = 8;

/// What a child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// `gslb-bridge run`
    Controller,
    /// `gslb-bridge dns`
    Dns,
}

impl Role {
    pub(super) const ALL: [Self; 2] = [Self::Controller, Self::Dns];

    fn command(self) -> &'static str {
        match self {
            Self::Controller => "run",
            Self::Dns => "dns",
        }
    }

    /// Name of its log in the folder of its site.
    pub(super) fn log_name(self) -> &'static str {
        match self {
            Self::Controller => "controller.log",
            Self::Dns => "dns.log",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Controller => "controller",
            Self::Dns => "DNS server",
        })
    }
}

/// How one child is started.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) site: Site,
    pub(super) role: Role,
    pub(super) executable: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
    /// Pause before the first start.
    pub(super) delay: Duration,
    /// Pause before every other one.
    pub(super) pause: Duration,
    /// Takes its standard output and error.
    pub(super) log: PathBuf,
}

/// A child that is kept running.
#[derive(Debug)]
pub(super) struct Process {
    orders: mpsc::Sender<(Order, oneshot::Sender<()>)>,
    pid: watch::Receiver<Option<u32>>,
}

/// What a supervisor is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Kill it; it is started again after the pause.
    Kill,
    /// Kill it and leave it so.
    Stop,
    /// Start it again.
    Start,
}

impl Process {
    /// Starts a child and its supervisor. `failures` hears of a child that cannot be started.
    pub(super) fn start(
        tasks: &mut JoinSet<()>,
        recipe: Recipe,
        timeline: &Arc<Timeline>,
        failures: mpsc::Sender<anyhow::Error>,
    ) -> Self {
        let (orders, ordered) = mpsc::channel(1);
        let (tell_pid, pid) = watch::channel(None);
        let timeline = Arc::clone(timeline);
        tasks.spawn(async move {
            let supervisor = Supervisor { recipe, timeline, pid: tell_pid, orders: ordered };
            if let Err(error) = supervisor.run().await {
                // Nobody listens: then the sandbox is ending.
                failures.send(error).await.ok();
            }
        });
        Self { orders, pid }
    }

    /// Its process id while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        *self.pid.borrow()
    }

    /// Completes with the process id once it runs.
    pub(super) async fn running(&self) -> Option<u32> {
        self.pid.clone().wait_for(Option::is_some).await.ok().and_then(|pid| *pid)
    }

    /// Kills it (SIGKILL), so that it starts again after the pause. Returns once it is dead.
    pub(super) async fn kill(&self) {
        self.order(Order::Kill).await;
    }

    /// Kills it (SIGKILL) until [`Self::resume`]. Returns once it is dead.
    pub(super) async fn stop(&self) {
        self.order(Order::Stop).await;
    }

    /// Starts it again after [`Self::stop`].
    pub(super) async fn resume(&self) {
        self.order(Order::Start).await;
    }

    async fn order(&self, order: Order) {
        let (done, wait) = oneshot::channel();
        if self.orders.send((order, done)).await.is_ok() {
            // A supervisor that ended has told why.
            wait.await.ok();
        }
    }
}

struct Supervisor {
    recipe: Recipe,
    timeline: Arc<Timeline>,
    pid: watch::Sender<Option<u32>>,
    orders: mpsc::Receiver<(Order, oneshot::Sender<()>)>,
}

impl Supervisor {
    async fn run(mut self) -> anyhow::Result<()> {
        let mut failed = 0;
        tokio::time::sleep(self.recipe.delay).await;
        loop {
            let mut child = self.recipe.spawn()?;
            // Waiting would close it.
            let _held = child.stdin.take();
            let started = Instant::now();
            self.pid.send_replace(child.id());
            self.tell("started", child.id());
            let ending = self.live(&mut child).await?;
            self.pid.send_replace(None);
            match ending {
                Ending::Itself(status) => {
                    let early = started.elapsed() < EARLY && status.code().is_some();
                    failed = if early { failed + 1 } else { 0 };
                    self.tell(&format!("ended ({status})"), None);
                    anyhow::ensure!(failed < FAILED_STARTS, self.recipe.complaint(status));
                    tokio::time::sleep(self.recipe.pause).await;
                }
                Ending::Killed(done) => {
                    self.tell("killed", None);
                    done.send(()).ok();
                    tokio::time::sleep(self.recipe.pause).await;
                }
                Ending::Stopped(done) => {
                    self.tell("killed and left so", None);
                    done.send(()).ok();
                    if !self.wait_for_start().await {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn live(&mut self, child: &mut Child) -> anyhow::Result<Ending> {
        loop {
            let (order, done) = tokio::select! {
                status = child.wait() => return Ok(Ending::Itself(status?)),
                Some(order) = self.orders.recv() => order,
            };
            match order {
                Order::Start => drop(done.send(())),
                Order::Kill => {
                    child.kill().await?;
                    return Ok(Ending::Killed(done));
                }
                Order::Stop => {
                    child.kill().await?;
                    return Ok(Ending::Stopped(done));
                }
            }
        }
    }

    /// `false` if there is nobody left to give the order.
    async fn wait_for_start(&mut self) -> bool {
        while let Some((order, done)) = self.orders.recv().await {
            done.send(()).ok();
            if order == Order::Start {
                return true;
            }
        }
        false
    }

    fn tell(&self, what: &str, pid: Option<u32>) {
        let Recipe { site, role, .. } = &self.recipe;
        let text = match pid {
            Some(pid) => format!("{role} {what}, pid {pid}"),
            None => format!("{role} {what}"),
        };
        let data = json!({"role": role.to_string(), "pid": pid});
        self.timeline.tell(Happening::at(*site, "process", text).with(data));
    }
}

enum Ending {
    Itself(ExitStatus),
    Killed(oneshot::Sender<()>),
    Stopped(oneshot::Sender<()>),
}

impl Recipe {
    fn spawn(&self) -> anyhow::Result<Child> {
        let log = || OpenOptions::new().create(true).append(true).open(&self.log);
        let spawn = || -> io::Result<Child> {
            Command::new(&self.executable)
                .arg(self.role.command())
                .env_clear()
                .envs(&self.environment)
                // Held open while the child shall live: its end is the child's (see `orphan`).
                .stdin(Stdio::piped())
                .stdout(log()?)
                .stderr(log()?)
                // Ctrl-C at the terminal is for the sandbox, which then ends its children.
                .process_group(0)
                .kill_on_drop(true)
                .spawn()
        };
        spawn().with_context(|| format!("the {} of {} cannot be started", self.role, self.site))
    }

    fn complaint(&self, status: ExitStatus) -> String {
        let Self { role, site, log, .. } = self;
        let tail = tail(log).unwrap_or_default();
        format!("the {role} of {site} does not start ({status}); the end of its log:\n{tail}")
    }
}

fn tail(log: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(log)?;
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::timeline::Timeline;
    use super::*;

    fn recipe(folder: &Path, script: &str) -> Recipe {
        use std::os::unix::fs::PermissionsExt;
        let executable = folder.join("daemon");
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o700)).unwrap();
        let log = folder.join("log");
        Recipe {
            site: Site::Eu,
            role: Role::Dns,
            executable,
            environment: BTreeMap::new(),
            delay: Duration::ZERO,
            pause: Duration::from_millis(10),
            log,
        }
    }

    #[tokio::test]
    async fn a_stopped_child_stays_away_until_it_is_wanted_again() {
        let folder = tempfile::tempdir().unwrap();
        let (timeline, _) = Timeline::recorded();
        let (failures, _failed) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        // The child waits for the end of its input, as daemons do.
        let process = Process::start(&mut tasks, recipe(folder.path(), "read line"), &timeline, failures);
        let first = process.running().await;
        process.stop().await;
        assert_eq!(process.pid(), None);
        process.resume().await;
        let second = process.running().await;
        assert_ne!(first, second);
        process.stop().await;
    }

    #[tokio::test]
    async fn a_child_that_does_not_start_is_given_up_with_the_end_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let (timeline, _) = Timeline::recorded();
        let (failures, mut failed) = mpsc::channel(1);
        let mut tasks = JoinSet::new();
        let recipe = recipe(folder.path(), "echo wrong environment; exit 78");
        let _process = Process::start(&mut tasks, recipe, &timeline, failures);
        let text = failed.recv().await.unwrap().to_string();
        assert!(text.contains("does not start") && text.ends_with("wrong environment"), "{text}");
    }
}
