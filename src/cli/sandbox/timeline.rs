//! What happened, in order, for people or as JSON lines.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::topology::Site;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Happening {
    /// Where; nothing for the parent and the sandbox itself.
    pub(super) site: Option<Site>,
    /// Stable word for its kind.
    pub(super) kind: &'static str,
    /// For people.
    pub(super) text: String,
    /// For programs.
    pub(super) data: Value,
}

impl Happening {
    /// Something at a site.
    pub(super) fn at(site: Site, kind: &'static str, text: impl Into<String>) -> Self {
        Self { site: Some(site), kind, text: text.into(), data: Value::Null }
    }

    /// Something at the parent, or of the sandbox.
    pub(super) fn overall(kind: &'static str, text: impl Into<String>) -> Self {
        Self { site: None, kind, text: text.into(), data: Value::Null }
    }

    /// The same as values.
    pub(super) fn with(mut self, data: Value) -> Self {
        self.data = data;
        self
    }
}

/// How the timeline is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// For people.
    Text,
    /// One object per line.
    Json,
}

/// Prints what happens, as it happens.
#[derive(Debug)]
pub(super) struct Timeline {
    start: Instant,
    style: Style,
    sink: Mutex<Sink>,
}

#[derive(Debug)]
enum Sink {
    Stdout,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests read the timeline back"))]
    Recorded(Arc<Mutex<Vec<Happening>>>),
}

impl Timeline {
    /// To standard output; time counts from now.
    pub(super) fn to_stdout(style: Style) -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), style, sink: Mutex::new(Sink::Stdout) })
    }

    #[cfg(test)]
    pub(super) fn recorded() -> (Arc<Self>, Arc<Mutex<Vec<Happening>>>) {
        let record = Arc::new(Mutex::new(Vec::new()));
        let sink = Mutex::new(Sink::Recorded(Arc::clone(&record)));
        (Arc::new(Self { start: Instant::now(), style: Style::Text, sink }), record)
    }

    /// Seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Says what happened now.
    pub(super) fn tell(&self, happening: Happening) {
        let mut sink = self.sink.lock().expect("no panic while the timeline is locked");
        match &mut *sink {
            Sink::Stdout => {
                let line = render(self.style, self.seconds(), &happening);
                let mut out = std::io::stdout().lock();
                // Nobody reads any more: the sandbox goes on all the same.
                writeln!(out, "{line}").and_then(|()| out.flush()).ok();
            }
            Sink::Recorded(record) => {
                record.lock().expect("no panic while the record is locked").push(happening)
            }
        }
    }

    /// Prints text that only people need.
    pub(super) fn explain(&self, text: &str) {
        if self.style == Style::Text {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{text}").and_then(|()| out.flush()).ok();
        }
    }
}

fn render(style: Style, seconds: f64, happening: &Happening) -> String {
    let Happening { site, kind, text, data } = happening;
    match style {
        Style::Text => {
            let site = site.map_or("--", Site::tag);
            format!("{seconds:>8.3}  {site}  {text}")
        }
        Style::Json => {
            let seconds = (seconds * 1000.0).round() / 1000.0;
            let mut line = json!({"seconds": seconds, "event": kind, "site": site, "text": text});
            if !data.is_null() {
                line["data"] = data.clone();
            }
            line.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_readable_by_people_and_programs() {
        let happening = Happening::at(Site::Eu, "answer", "answers nothing").with(json!({"addresses": []}));
        assert_eq!(render(Style::Text, 1.5, &happening), "   1.500  eu  answers nothing");
        let line: Value = serde_json::from_str(&render(Style::Json, 1.5, &happening)).unwrap();
        let expected = json!({
            "seconds": 1.5, "event": "answer", "site": "eu", "text": "answers nothing", "data": {"addresses": []},
        });
        assert_eq!(line, expected);
    }
}
