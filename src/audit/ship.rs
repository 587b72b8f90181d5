//! Sends each line of the chain out of the cluster as it is written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use gslb_core::changelog::Line;
use tracing::error;

/// Where the lines go, besides the cluster.
///
/// A copy that cannot be written is reported and does not stop the change: the line is stored already, and
/// `changes verify --against` tells that it is missing in the copy.
///
/// A sink that neither takes a line nor refuses it, such as a full pipe, holds up the log and with it every change
/// at a provider. That is meant. With a queue in between, a crash would lose lines that others already build on,
/// and the writer after it repeats the last stored line only, so that the copy would have a gap; a queue that is
/// full would have to wait all the same. Little would be won, too: in the format `json` the process's own log
/// shares the pipe and waits just as long.
#[derive(Default)]
pub struct Shipper {
    sinks: Vec<(String, Box<dyn Write + Send>)>,
}

impl Shipper {
    /// Ships nowhere.
    pub fn none() -> Self {
        Self::default()
    }

    /// Ships to standard output, between the lines of the log.
    pub fn to_stdout() -> Self {
        Self::none().and_to("standard output", io::stdout())
    }

    /// Ships to a file too, which is created if it is not there and never cut.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn and_to_file(self, path: &Path) -> io::Result<Self> {
        let file: File = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(self.and_to(&path.display().to_string(), file))
    }

    /// Ships to a writer too.
    pub fn and_to(mut self, name: &str, sink: impl Write + Send + 'static) -> Self {
        self.sinks.push((name.to_owned(), Box::new(sink)));
        self
    }

    /// Ships a line that has just been stored.
    pub(super) fn ship(&mut self, line: &Line) {
        self.write(line.line, line.shipped());
    }

    /// Ships the line after which this writer goes on.
    pub(super) fn ship_resume(&mut self, line: &Line) {
        self.write(line.line, line.shipped_on_resume());
    }

    /// One call per line, so that lines of other threads cannot get in between.
    fn write(&mut self, number: u64, mut text: String) {
        text.push('\n');
        for (sink, writer) in &mut self.sinks {
            if let Err(cause) = writer.write_all(text.as_bytes()).and_then(|()| writer.flush()) {
                error!(%sink, line = number, error = %cause, "A line of the change log was not shipped.");
            }
        }
    }
}
