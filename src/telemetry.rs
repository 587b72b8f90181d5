//! Where log lines go and which are kept.

use std::io::{stderr, stdout};

use tracing_subscriber::EnvFilter;

/// The DNS library writes two INFO lines for each question, and WARN lines that any stranger can cause.
const QUIET: &str = "hickory_server=error,hickory_net=error,hickory_proto=error";

/// How log lines look (contract §7.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people, on the standard error.
    Simple {
        /// With colours.
        ansi: bool,
    },
    /// One JSON object per line, on the standard output.
    Json,
}

/// Starts logging. `level` is one of `error`, `warn`, `info`, `debug` and `trace`.
pub fn init(level: &str, format: LogFormat) {
    let filter = EnvFilter::new(format!("{level},{QUIET}"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter);
    // A second call, as tests make it, keeps the first.
    let started = match format {
        LogFormat::Simple { ansi } => builder.with_ansi(ansi).with_writer(stderr).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_writer(stdout).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "Logging runs already.");
    }
}
