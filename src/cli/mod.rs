//! The commands, one file each.

mod changes;
mod check;
mod configuration;
mod crds;
mod dns;
mod evict;
mod printer;
mod record;
mod run;
#[cfg(feature = "sandbox")]
mod sandbox;
mod signals;
mod table;
mod webhook;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use self::printer::Printer;
use crate::config::{BadConfiguration, EXIT_CODE, masked_url};
use crate::kube_client;

/// Global load balancing for Kubernetes over the DNS that a company already runs.
#[derive(Debug, Parser)]
#[command(name = "gslb-bridge", version, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the CustomResourceDefinitions of all kinds as YAML.
    Crds(crds::CrdsArgs),
    /// Run the controller of this cluster. Settings come from the environment and a file.
    Run(run::RunArgs),
    /// Answer DNS questions for the zones of this cluster.
    Dns(Box<dns::DnsArgs>),
    /// Look whether the grid is as `run` needs it; changes nothing. Exit code 2 if something is to be looked at.
    Check(Box<check::CheckArgs>),
    /// Read and verify the log of changes at providers.
    Changes(changes::ChangesArgs),
    /// Take a lost cluster out of the delegation.
    Evict(evict::EvictArgs),
    /// Record what the grid answers to the daemon's reads, without secrets, names and addresses. Writes nothing there.
    Record(record::RecordArgs),
    /// Let external-dns write the grid: serve its webhook protocol.
    Webhook(Box<webhook::WebhookArgs>),
    /// Run three simulated clusters and a simulated grid on this machine.
    #[cfg(feature = "sandbox")]
    Sandbox(sandbox::SandboxArgs),
}

/// Which cluster a command talks to.
#[derive(Debug, Args)]
struct Connection {
    /// Kubeconfig file [default: KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,
}

/// How a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// How a command ended. The numbers are documented and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Nothing to report.
    Fine,
    /// There are findings.
    Findings,
}

const FAILED: u8 = 1;
const FINDINGS: u8 = 2;
/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

/// Runs the command that the arguments name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; nobody is left to tell if even this cannot be printed.
            let _printed = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    match run(cli.command) {
        Ok(Ending::Fine) => ExitCode::SUCCESS,
        Ok(Ending::Findings) => ExitCode::from(FINDINGS),
        Err(error) => {
            let _printed = writeln!(io::stderr(), "gslb-bridge: {}", told(&error));
            let configuration = error.is::<BadConfiguration>();
            ExitCode::from(if configuration { EXIT_CODE } else { FAILED })
        }
    }
}

/// The error and its causes. Some libraries say the cause in their own text too; then it is not said again.
fn told(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

/// The controller waits most of the time; each thread more would keep memory of its own on large machines.
const CONTROLLER_THREADS: usize = 2;

fn runtime(command: &Command) -> io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if matches!(command, Command::Run(_) | Command::Webhook(_)) {
        builder.worker_threads(CONTROLLER_THREADS);
    }
    builder.enable_all().build()
}

fn run(command: Command) -> anyhow::Result<Ending> {
    #[cfg(feature = "sandbox")]
    sandbox::orphan::watch();
    let runtime = runtime(&command).context("cannot start")?;
    // Standard output must not be locked here: the log of a daemon may go there.
    let mut out = io::BufWriter::new(Printer::new(io::stdout()));
    let ending = match command {
        Command::Crds(arguments) => crds::run(&arguments, &mut out),
        Command::Run(arguments) => runtime.block_on(run::run(arguments, &mut out)),
        Command::Dns(arguments) => runtime.block_on(dns::run(*arguments, &mut out)),
        Command::Check(arguments) => runtime.block_on(check::run(*arguments, &mut out)),
        Command::Changes(arguments) => runtime.block_on(changes::run(arguments, &mut out)),
        Command::Evict(arguments) => runtime.block_on(evict::run(arguments, &mut out)),
        Command::Record(arguments) => runtime.block_on(record::run(arguments, &mut out)),
        Command::Webhook(arguments) => runtime.block_on(webhook::run(*arguments, &mut out)),
        #[cfg(feature = "sandbox")]
        Command::Sandbox(arguments) => runtime.block_on(sandbox::run(arguments, &mut out)),
    }?;
    out.flush().context("cannot print")?;
    Ok(ending)
}

impl Connection {
    async fn client(self) -> anyhow::Result<Client> {
        let config = self.config().await.and_then(proxied);
        let config = config.context(BadConfiguration("cannot use the kubeconfig"))?;
        kube_client::client(config).context(BadConfiguration("cannot use the kubeconfig"))
    }

    async fn config(self) -> anyhow::Result<Config> {
        let options = KubeConfigOptions { context: self.context, ..KubeConfigOptions::default() };
        if let Some(path) = self.kubeconfig {
            return Ok(Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?);
        }
        if options.context.is_some() {
            return Ok(Config::from_kubeconfig(&options).await?);
        }
        Ok(Config::infer().await?)
    }
}

/// A proxy that the client takes, from the kubeconfig or from HTTPS_PROXY where NO_PROXY does not name the API's host. A
/// URL without a scheme is one of HTTP, as for requests to the grid; the client would show any other with its password.
fn proxied(mut config: Config) -> anyhow::Result<Config> {
    let Some(url) = config.proxy_url.as_ref() else { return Ok(config) };
    match url.scheme_str() {
        Some("http" | "https") => {}
        None => config.proxy_url = Some(format!("http://{url}").parse()?),
        Some(_) => bail!(
            "the proxy {} is no HTTP proxy, and the Kubernetes API is asked through no other; correct HTTPS_PROXY or the kubeconfig, or name the API's host in NO_PROXY",
            masked_url(&url.to_string())
        ),
    }
    Ok(config)
}
