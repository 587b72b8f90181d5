//! Logs: one line per event, one dictionary of fields.
//!
//! A message is a constant sentence, everything else is a field: `info!(%zone, %provider, "Applied change.")`.
//! ERROR: act now. WARN: look today. INFO: the world changed. DEBUG: why.
//!
//! | Field | Meaning |
//! |---|---|
//! | `gslb` | namespace/name of a Gslb |
//! | `object` | kind and namespace/name of any object |
//! | `kind` | a kind of objects |
//! | `name` | name of an object in the own namespace |
//! | `key` | a key in the data of an object |
//! | `zone` | a load-balanced zone |
//! | `host` | a load-balanced name |
//! | `cluster` | geo tag of this cluster |
//! | `peer` | geo tag of another cluster |
//! | `state` | what is believed of a peer, as in `status.peers[]` |
//! | `server` | address of a DNS server |
//! | `provider` | `infoblox`, `external-dns` or `none`, as in metrics and the change log |
//! | `action`, `result` | of a change at the provider, as in metrics and the change log |
//! | `reason` | stable word for what happened, as in conditions and metrics |
//! | `error` | text of an error with its causes |
//! | `variable` | an environment variable |
//! | `path` | a file |
//!
//! The format `json` writes one object per line to stdout: `level`, `time`, `message`, `caller`, then fields.
//! The change log writes its lines to stdout too: objects with the one key `changeLog` or `chainResumesAfter`.
//! Each line is written in one piece, so that the two never mix. `simple` writes to stderr.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io::{self, IsTerminal};

use gslb_core::text::one_line;
use jiff::{Timestamp, Unit};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{JsonFields, Writer, debug_fn};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry};

use crate::config::{LogFormat, LogLevel, LogSettings};

/// Targets of our own crates start like this.
const OURS: &str = "gslb_";
/// Logs each answer of the Kubernetes API with a 5xx as an ERROR, also one that is expected. Whoever made the call tells
/// what failed, of which object, and how much that matters.
const KUBE_CALLS: &str = "kube_client::client::builder";

/// Installs the log of the process.
///
/// # Errors
/// There is one already.
pub fn init(settings: &LogSettings) -> Result<(), TryInitError> {
    match settings.format {
        LogFormat::Json => json(settings.level, io::stdout).try_init(),
        LogFormat::Simple => {
            simple(settings.level, settings.color && io::stderr().is_terminal(), io::stderr).try_init()
        }
    }
}

/// Console lines with RFC 3339 time.
fn simple<W>(level: LogLevel, color: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // A field may hold words of somebody else, who must not write lines of our log or turn a terminal over.
    let fields = debug_fn(|writer, field, value| {
        let text = format!("{value:?}");
        match field.name() {
            "message" => write!(writer, "{}", one_line(&text)),
            name => write!(writer, "{name}={}", one_line(&text)),
        }
    });
    let lines = tracing_subscriber::fmt::layer()
        .fmt_fields(fields.delimited(" "))
        .with_ansi(color)
        .with_writer(writer);
    Registry::default().with(lines.with_filter(filter(level)))
}

/// One object per line.
fn json<W>(level: LogLevel, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .fmt_fields(JsonFields::new())
        .event_format(JsonLines)
        .with_writer(writer);
    Registry::default().with(lines.with_filter(filter(level)))
}

/// `LOG_LEVEL` is for our own crates. Libraries are heard from WARN on at any level: they are noisy, and at
/// trace level some would write out headers and bodies, secrets included (F-68).
fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let libraries = level.min(LevelFilter::WARN);
    Targets::new().with_default(libraries).with_target(KUBE_CALLS, LevelFilter::OFF).with_target(OURS, level)
}

/// Formats an event as k8gb does: `level`, `time`, `message`, `caller`, then all fields at the top.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(formatted) = span.extensions().get::<FormattedFields<N>>() {
                fields.0.extend(parse_object(&formatted.fields));
            }
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        let message = fields.0.remove("message").unwrap_or_default();
        let caller = format!("{}:{}", metadata.target(), metadata.line().unwrap_or_default());
        write!(writer, "{{\"level\":\"{}\",\"time\":\"{}\"", level_name(*metadata.level()), now())?;
        write!(writer, ",\"message\":{message},\"caller\":{}", Value::from(caller))?;
        for (name, value) in fields.0 {
            if !["level", "time", "caller"].contains(&name.as_str()) {
                write!(writer, ",{}:{value}", Value::from(name))?;
            }
        }
        writeln!(writer, "}}")
    }
}

fn parse_object(text: &str) -> BTreeMap<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// Milliseconds are enough to order lines by eye.
fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// Fields of one event; a later value of the same name wins.
#[derive(Default)]
struct Fields(BTreeMap<String, Value>);

impl Fields {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value);
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value);
    }
    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        self.set(field, text);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use tracing::subscriber::with_default;

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Memory {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(octets)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Memory {
        fn maker(&self) -> impl Fn() -> Self + Send + Sync + 'static {
            let memory = self.clone();
            move || memory.clone()
        }
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn json_lines(level: LogLevel, act: impl FnOnce()) -> Vec<Value> {
        let memory = Memory::default();
        with_default(json(level, memory.maker()), act);
        memory.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_json_line_has_level_time_message_and_all_fields_at_the_top() {
        let lines = json_lines(LogLevel::Info, || {
            let span = tracing::info_span!("reconcile", gslb = "demo/app", host = "app.cloud.example.com");
            let _entered = span.enter();
            tracing::info!(zone = %"cloud.example.com", targets = 2, stale = false, gslb = "demo/other", "Said \"so\".");
        });
        let mut line = lines[0].clone();
        let object = line.as_object_mut().unwrap();
        let time = object.remove("time").unwrap();
        assert!(time.as_str().unwrap().parse::<Timestamp>().is_ok());
        let caller = object.remove("caller").unwrap();
        assert!(caller.as_str().unwrap().starts_with("gslb_bridge::telemetry::tests:"));
        assert_eq!(
            line,
            json!({
                "level": "info", "message": "Said \"so\".", "gslb": "demo/other",
                "host": "app.cloud.example.com",
                "zone": "cloud.example.com", "targets": 2, "stale": false,
            })
        );
    }

    #[test]
    fn an_error_is_written_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("outside")]
        struct Outside(#[source] io::Error);
        let lines = json_lines(LogLevel::Info, || {
            let error = Outside(io::Error::other("inside"));
            tracing::error!(error = &error as &(dyn Error + 'static), "It failed.");
        });
        assert_eq!((&lines[0]["level"], &lines[0]["error"]), (&json!("error"), &json!("outside: inside")));
    }

    #[test]
    fn a_field_cannot_pose_as_level_or_time() {
        let lines = json_lines(LogLevel::Info, || tracing::warn!(level = "info", time = 0, "Look."));
        assert_eq!(lines[0]["level"], json!("warn"));
        assert!(lines[0]["time"].is_string());
    }

    #[test]
    fn an_answer_of_the_kubernetes_api_is_no_error_by_itself() {
        for level in [LogLevel::Error, LogLevel::Trace] {
            assert!(!filter(level).would_enable(KUBE_CALLS, &Level::ERROR));
            assert!(filter(level).would_enable("kube_client::client", &Level::ERROR));
        }
    }

    #[test]
    fn the_level_is_ours_and_libraries_are_heard_from_warn_on() {
        let log = || {
            tracing::trace!("ours");
            tracing::debug!(target: "gslb_provider_infoblox::client", "ours");
            tracing::info!(target: "hickory_server::server", "theirs");
            tracing::trace!(target: "hyper::proto::h1", "theirs, with headers");
            tracing::warn!(target: "kube_client::client", "theirs, to look at");
        };
        let messages = |level| {
            let lines = json_lines(level, log);
            lines.iter().map(|line| line["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(messages(LogLevel::Trace), ["ours", "ours", "theirs, to look at"]);
        assert_eq!(messages(LogLevel::Debug), ["ours", "theirs, to look at"]);
        assert_eq!(messages(LogLevel::Info), ["theirs, to look at"]);
        assert_eq!(messages(LogLevel::Error), Vec::<String>::new());
    }

    #[test]
    fn words_of_somebody_else_stay_within_their_line() {
        let forged = "a\nINFO forged {\"changeLog\":1}\u{1b}[2J";
        let memory = Memory::default();
        let log = || tracing::info!(error = %forged, name = forged, "{forged}");
        with_default(simple(LogLevel::Info, false, memory.maker()), log);
        let text = memory.text();
        assert_eq!((text.lines().count(), text.contains('\u{1b}')), (1, false), "{text}");
        let lines = json_lines(LogLevel::Info, log);
        assert_eq!((lines.len(), &lines[0]["error"]), (1, &json!(forged)));
    }

    #[test]
    fn a_simple_line_has_colours_only_if_wanted() {
        let line = |color| {
            let memory = Memory::default();
            let log = || tracing::info!(zone = %"cloud.example.com", "Served.");
            with_default(simple(LogLevel::Info, color, memory.maker()), log);
            memory.text()
        };
        assert!(line(false).contains("INFO gslb_bridge::telemetry::tests: Served. zone=cloud.example.com"));
        assert!(!line(false).contains('\u{1b}'));
        assert!(line(true).contains('\u{1b}'));
    }
}
