//! `LOG_LEVEL`, `LOG_FORMAT`, `NO_COLOR`.

use super::reader::Reader;

/// Logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSettings {
    /// From which level on.
    pub level: LogLevel,
    /// How a line looks, and where it goes.
    pub format: LogFormat,
    /// Colours in the simple format.
    pub color: bool,
}

/// From which level on lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Act now.
    Error,
    /// Look today.
    Warn,
    /// The world changed.
    Info,
    /// Why.
    Debug,
    /// Everything.
    Trace,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Console lines on stderr.
    Simple,
    /// One JSON object per line on stdout.
    Json,
}

impl LogSettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let level = reader.parsed("LOG_LEVEL", "write for example info", |text| match text {
            "error" => Ok(LogLevel::Error),
            "warn" => Ok(LogLevel::Warn),
            "info" => Ok(LogLevel::Info),
            "debug" => Ok(LogLevel::Debug),
            "trace" => Ok(LogLevel::Trace),
            _ => Err("it must be error, warn, info, debug or trace".to_owned()),
        });
        let format = reader.parsed("LOG_FORMAT", "write for example simple", |text| match text {
            "simple" => Ok(LogFormat::Simple),
            "json" => Ok(LogFormat::Json),
            _ => Err("it must be simple or json".to_owned()),
        });
        let color = !reader.boolean("NO_COLOR");
        Some(Self { level: level?, format: format?, color })
    }
}
