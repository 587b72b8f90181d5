//! Where the settings of a daemon come from, and printing them.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::config::{BadConfiguration, Problems, RawConfig, Readers, Warning};

#[derive(Debug, Args)]
pub(super) struct Configuration {
    /// File with settings; the environment wins over it [default: CONFIG_FILE]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check the settings, print those in force as a configuration file without secrets, and end.
    #[arg(long)]
    pub(super) print_config: bool,
}

impl Configuration {
    /// What the user wrote.
    pub(super) fn read(&self) -> RawConfig {
        RawConfig::read(|name| std::env::var(name).ok()).and_file(self.config.as_deref())
    }
}

/// The settings, or all that is wrong with them at once.
pub(super) fn settled<T>(settings: Result<T, Problems>) -> anyhow::Result<T> {
    match settings {
        Ok(settings) => Ok(settings),
        Err(problems) => {
            writeln!(io::stderr(), "{problems}").context("cannot print")?;
            Err(BadConfiguration("the settings are wrong; every problem is listed above").into())
        }
    }
}

/// Prints what is in force, and what may surprise.
pub(super) fn print(
    raw: &RawConfig,
    process: Readers,
    warnings: &[Warning],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    out.write_all(raw.print(process).as_bytes()).context("cannot print")?;
    for warning in warnings {
        writeln!(io::stderr(), "warning: {warning}").context("cannot print")?;
    }
    Ok(())
}

pub(super) fn warn(warnings: &[Warning]) {
    for warning in warnings {
        tracing::warn!(variable = warning.place.variable(), "{warning}");
    }
}
