//! `gslb-bridge sandbox inject`: faults into a running sandbox.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use tokio::net::UnixStream;

use super::control;
use super::fault::Injection;
use super::ready::ReadyFile;
use crate::cli::{Ending, Output};

/// Arguments of `sandbox inject`.
#[derive(Debug, Args)]
pub(in crate::cli) struct InjectArgs {
    /// The ready file of the sandbox [default: the newest running sandbox of this user]
    #[arg(long, global = true, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// How to print what happened
    #[arg(long, short, global = true, value_enum, default_value_t)]
    output: Output,
    #[command(subcommand)]
    injection: Injection,
}

/// Returns once the fault is in force; `kill-controller` once everything is right again.
pub(super) async fn run(arguments: InjectArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let InjectArgs { ready_file, output, injection } = arguments;
    let (stream, found) = match ready_file {
        Some(path) => (connect(&path).await?, None),
        None => control::newest().await.map(|(stream, folder)| (stream, Some(folder)))?,
    };
    let reply = control::ask(stream, injection).await?;
    match output {
        Output::Json => writeln!(out, "{}", serde_json::to_string(&reply)?)?,
        Output::Table if reply.ok => {
            writeln!(out, "{}", reply.text)?;
            if let Some(folder) = found {
                writeln!(out, "It was the newest sandbox, that of {}.", folder.display())?;
            }
        }
        Output::Table => {}
    }
    anyhow::ensure!(reply.ok, "{}", reply.text);
    Ok(Ending::Fine)
}

async fn connect(ready_file: &Path) -> anyhow::Result<UnixStream> {
    let control = ReadyFile::read(ready_file)?.control;
    let connected = UnixStream::connect(&control).await;
    connected.with_context(|| format!("the sandbox of {} is not running any more", ready_file.display()))
}
