//! The commands, one file each.

mod dns;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Global load balancing for Kubernetes over the DNS that a company already runs.
#[derive(Debug, Parser)]
#[command(name = "gslb-bridge", version, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer DNS questions for the zones of this cluster.
    Dns(Box<dns::DnsArgs>),
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

/// How a command ended. The numbers are documented and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Nothing to report.
    Fine,
}

/// What stands in the way is what the user configured, not what the command met.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BadConfiguration(&'static str);

const FAILED: u8 = 1;
/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;
/// `EX_CONFIG` of sysexits.h.
const CONFIGURATION: u8 = 78;

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
        Err(error) => {
            let _printed = writeln!(io::stderr(), "gslb-bridge: {error:#}");
            let configuration = error.is::<BadConfiguration>();
            ExitCode::from(if configuration { CONFIGURATION } else { FAILED })
        }
    }
}

fn run(command: Command) -> anyhow::Result<Ending> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    match command {
        // Standard output must not be locked here: the log may go there.
        Command::Dns(arguments) => runtime.block_on(dns::run(*arguments)),
    }
}

impl Connection {
    async fn client(self) -> anyhow::Result<Client> {
        let config = self.config().await.context(BadConfiguration("cannot use the kubeconfig"))?;
        Client::try_from(config).context(BadConfiguration("cannot use the kubeconfig"))
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
