//! `gslb-bridge sandbox`: three clusters, the parent zone and their daemons on this machine.
//!
//! The stand-ins of the outside world (Kubernetes APIs, the grid or each cluster's external-dns, the parent's DNS, the
//! sample applications) live in this process; the daemons are the real ones, as child processes of the same executable. Everything between them
//! passes a relay of this process, so that links can be cut without root.
//!
//! Reading order: [`topology`] (who is where), [`parent`] with [`grid`] and [`external_dns`] (who holds the parent zone),
//! [`world`] (everything put together), [`children`], [`relay`] and
//! [`gate`] (processes and links), [`observe`] and [`timeline`] (what is told), [`fault`] and [`apply`] (what can be
//! injected), [`kill`], [`scenario`] and [`play`], [`control`] and [`inject`] (the second terminal).

mod application;
mod apply;
mod children;
mod cluster;
mod control;
mod entry;
mod environment;
mod external_dns;
mod fault;
mod gate;
mod grid;
mod inject;
mod intro;
mod kill;
mod loopback;
mod objects;
mod observe;
pub(super) mod orphan;
mod parent;
mod play;
mod ready;
mod relay;
mod scenario;
mod timeline;
mod topology;
mod witness;
mod world;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::objects::Strategy;
use self::scenario::Scenario;
use self::timeline::{Happening, Style, Timeline};
use self::topology::{Mode, Provider};
use self::world::{Plan, World};
use super::signals::Signals;
use super::{Ending, Output};

/// Pause between two looks whether everything answers.
const PAUSE: Duration = Duration::from_millis(30);
/// After this time the sandbox says what it still waits for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Arguments of `sandbox`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct SandboxArgs {
    #[command(subcommand)]
    command: Option<SandboxCommand>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    /// Inject a fault into a running sandbox.
    Inject(inject::InjectArgs),
}

#[derive(Debug, Args)]
struct Options {
    /// Write this file, as JSON, once everything answers: how to reach all parts
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Play a scenario once everything answers, then end: 0 if it passed
    #[arg(long, value_name = "FILE", conflicts_with = "duration")]
    scenario: Option<PathBuf>,
    /// End by itself after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// Port of all DNS servers; 53 lets real resolvers follow the delegation [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    dns_port: u16,
    /// Strategy of the sample's Gslb: roundRobin, or for example "failover eu"
    #[arg(long, value_name = "STRATEGY", default_value = "roundRobin", value_parser = strategy)]
    strategy: Strategy,
    /// What takes the zone to its parent: the clusters themselves, at a grid, or their external-dns
    #[arg(long, value_enum, default_value_t)]
    provider: Provider,
    /// What the clusters keep at the grid: the zone's delegation, or the records of its hosts
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Keep the folder with logs and change logs
    #[arg(long)]
    keep: bool,
    /// How to print the timeline; json: one object per line
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
}

/// Runs the sandbox until Ctrl-C, or injects a fault into one that runs.
pub(super) async fn run(arguments: SandboxArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    match arguments.command {
        Some(SandboxCommand::Inject(arguments)) => inject::run(arguments, out).await,
        None => sandbox(arguments.options).await,
    }
}

async fn sandbox(options: Options) -> anyhow::Result<Ending> {
    // What the user named is looked at before anything is started.
    let scenario = options.scenario.as_deref().map(Scenario::read).transpose()?;
    if let Some(scenario) = &scenario {
        scenario.check(options.provider)?;
    }
    anyhow::ensure!(
        (options.provider, options.mode) != (Provider::ExternalDns, Mode::Records),
        "--mode records needs --provider infoblox: with external-dns a zone is delegated"
    );
    let ready_file = options.ready_file.as_deref().map(fresh).transpose()?;
    let timeline = Timeline::to_stdout(match options.output {
        Output::Table => Style::Text,
        Output::Json => Style::Json,
    });
    control::sweep().await;
    let mut folder = tempfile::Builder::new();
    let mut folder = folder.prefix(control::FOLDER_PREFIX).tempdir().context("cannot make a folder")?;
    folder.disable_cleanup(options.keep);
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let mut tasks = JoinSet::new();
    let (failed, mut failures) = mpsc::channel(1);
    let plan = Plan {
        folder: folder.path().to_owned(),
        dns_port: options.dns_port,
        strategy: options.strategy,
        provider: options.provider,
        mode: options.mode,
        ready_file: ready_file.clone(),
    };
    let life = async {
        let world = World::start(plan, Arc::clone(&timeline), &mut tasks, &failed).await?;
        tasks.spawn(control::serve(Arc::clone(&world), control::open(&world)?));
        tasks.spawn(observe::run(Arc::clone(&world)));
        live(&world, scenario, ready_file.as_deref()).await
    };
    let ending = tokio::select! {
        ending = life => ending,
        Some(failure) = failures.recv() => Err(failure),
        () = over(options.duration) => Ok(Ending::Fine),
        () = signals.next() => Ok(Ending::Fine),
    };
    timeline.tell(Happening::overall("sandbox", "ending"));
    tasks.shutdown().await;
    if let Some(path) = ready_file {
        // It was removed by its reader, or never written.
        std::fs::remove_file(path).ok();
    }
    if options.keep {
        // Without it the folder is no sandbox's any more.
        std::fs::remove_file(world::control_in(folder.path())).ok();
        timeline.explain(&format!("Kept: {}", folder.path().display()));
    }
    ending
}

/// Waits for everything to answer, says how to use it, and plays the scenario or waits for the end.
async fn live(
    world: &World,
    scenario: Option<Scenario>,
    ready_file: Option<&Path>,
) -> anyhow::Result<Ending> {
    world.timeline.explain(&intro::starting(world));
    until_ready(world).await;
    world.publish()?;
    let text = format!("ready after {:.2} s", world.timeline.seconds());
    world.timeline.tell(Happening::overall("ready", text).with(serde_json::json!({"file": ready_file})));
    match scenario {
        Some(scenario) => play::run(world, &scenario).await.map(|()| Ending::Fine),
        None => {
            world.timeline.explain(&intro::ready(world, ready_file));
            std::future::pending().await
        }
    }
}

async fn until_ready(world: &World) {
    let mut complained = false;
    loop {
        let missing = world.missing().await;
        if missing.is_empty() {
            return;
        }
        if !complained && world.timeline.seconds() > PATIENCE.as_secs_f64() {
            complained = true;
            let text =
                format!("not ready yet: {}; logs are in {}", missing.join("; "), world.folder().display());
            world.timeline.tell(Happening::overall("sandbox", text));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn over(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

/// A ready file of an earlier sandbox would tell its readers a lie.
fn fresh(path: &Path) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(path).context("cannot use the path of the ready file")?;
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(path),
        Err(error) => Err(error).with_context(|| format!("cannot replace {}", path.display())),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse::<f64>().map_err(|error| error.to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn strategy(text: &str) -> Result<Strategy, String> {
    scenario::parse_strategy(text).map_err(|error| error.to_string())
}
