//! The last snapshot on disk: a restart while the API server is away still answers.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::input::{HostInput, Inputs, ZoneInput};
use super::metrics::Metrics;
use super::status::Status;

/// Shape of the file. Another number is another shape, which this version does not read.
const VERSION: u32 = 1;
/// Addresses older than this are more likely wrong than right; no outside reference.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// At most one write in this time, so that a storm of changes does not become a storm of writes.
const PAUSE: Duration = Duration::from_secs(1);
/// An unchanged file is written again after this time while the watches are well: its age says how old the
/// knowledge is, not how long nothing happened.
const CONFIRM: Duration = Duration::from_secs(600);

#[derive(Serialize)]
struct Writing<'a> {
    version: u32,
    written_at: Timestamp,
    zones: &'a [ZoneInput],
    hosts: Vec<&'a HostInput>,
}

#[derive(Deserialize)]
struct Reading {
    written_at: Timestamp,
    zones: Vec<ZoneInput>,
    hosts: Vec<HostInput>,
}

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// Not there, or not for this user.
    #[error("cannot read the snapshot file")]
    Unreadable(#[source] io::Error),
    /// Damaged, or of another version.
    #[error("the snapshot file is not of version {VERSION} or is damaged")]
    Malformed(#[source] serde_json::Error),
    /// Of another version.
    #[error("the snapshot file has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// Beyond the limit.
    #[error("the snapshot file is from {0}, more than 24 hours ago")]
    TooOld(Timestamp),
}

/// Reads what an earlier run served, and when it wrote it.
///
/// # Errors
/// The file cannot or must not be used.
pub fn read(path: &Path, now: Timestamp) -> Result<(Inputs, Timestamp), FileProblem> {
    #[derive(Deserialize)]
    struct VersionOnly {
        version: u32,
    }
    let bytes = std::fs::read(path).map_err(FileProblem::Unreadable)?;
    let VersionOnly { version } = serde_json::from_slice(&bytes).map_err(FileProblem::Malformed)?;
    if version != VERSION {
        return Err(FileProblem::Version(version));
    }
    let Reading { written_at, zones, hosts } =
        serde_json::from_slice(&bytes).map_err(FileProblem::Malformed)?;
    if Duration::try_from(now.duration_since(written_at)).is_ok_and(|age| age > MAX_AGE) {
        return Err(FileProblem::TooOld(written_at));
    }
    Ok((Inputs { zones, hosts: hosts.into_iter().map(Arc::new).collect() }, written_at))
}

/// Replaces the file: a reader finds the old one or the new one, never a part.
///
/// # Errors
/// The directory does not take a file.
pub fn write(path: &Path, inputs: &Inputs, now: Timestamp) -> io::Result<()> {
    let hosts = inputs.hosts.iter().map(AsRef::as_ref).collect();
    let content = Writing { version: VERSION, written_at: now, zones: &inputs.zones, hosts };
    let bytes = serde_json::to_vec(&content)?;
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let mut file = File::create(&temporary)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

/// Writes the file after every change of `inputs`, at once and then at most once a second, until `stop`; a
/// change that is not written by then is written last.
pub async fn keep(
    path: PathBuf,
    mut inputs: watch::Receiver<Arc<Inputs>>,
    status: Arc<Status>,
    metrics: Metrics,
    stop: CancellationToken,
) {
    loop {
        let changed = tokio::select! {
            () = stop.cancelled() => break,
            changed = timeout(CONFIRM, inputs.changed()) => changed,
        };
        match changed {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) if status.watching() => {}
            Err(_) => continue,
        }
        let current = Arc::clone(&inputs.borrow_and_update());
        write_reported(&path, current, &metrics).await;
        tokio::select! {
            () = stop.cancelled() => break,
            () = sleep(PAUSE) => {}
        }
    }
    if inputs.has_changed().unwrap_or(false) {
        let current = Arc::clone(&inputs.borrow_and_update());
        write_reported(&path, current, &metrics).await;
    }
}

async fn write_reported(path: &Path, inputs: Arc<Inputs>, metrics: &Metrics) {
    let target = path.to_owned();
    let written = tokio::task::spawn_blocking(move || write(&target, &inputs, Timestamp::now())).await;
    if let Err(error) = written.unwrap_or_else(|error| Err(io::Error::other(error))) {
        metrics.count_file_error();
        tracing::warn!(path = %path.display(), %error, "Could not write the snapshot file.");
    }
}

#[cfg(test)]
mod tests {
    use super::super::builders::*;
    use super::*;
    use gslb_core::published::EmptyAnswer;

    fn some_inputs() -> Inputs {
        inputs(
            [zone("cloud.example.com", &["gslb-ns-eu-cloud.example.com"], 30)],
            [
                a("app.cloud.example.com", addresses(2)),
                empty("b.cloud.example.com", EmptyAnswer::ServFail, 5),
            ],
        )
    }

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + hours * 3600).unwrap()
    }

    #[test]
    fn what_was_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshot.json");
        write(&path, &some_inputs(), at(0)).unwrap();
        write(&path, &some_inputs(), at(1)).unwrap();
        assert_eq!(read(&path, at(25)).unwrap(), (some_inputs(), at(1)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_file_that_is_too_old_or_damaged_or_of_another_version_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshot.json");
        assert!(matches!(read(&path, at(0)), Err(FileProblem::Unreadable(_))));
        write(&path, &some_inputs(), at(0)).unwrap();
        assert!(matches!(read(&path, at(25)), Err(FileProblem::TooOld(_))));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert!(matches!(read(&path, at(1)), Err(FileProblem::Malformed(_))));
        std::fs::write(&path, text.replace("\"version\":1", "\"version\":2")).unwrap();
        assert!(matches!(read(&path, at(1)), Err(FileProblem::Version(2))));
    }

    #[tokio::test]
    async fn the_last_change_is_written_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshot.json");
        let (sender, receiver) = watch::channel(Arc::new(Inputs::default()));
        sender.send_replace(Arc::new(some_inputs()));
        let stop = CancellationToken::new();
        stop.cancel();
        keep(path.clone(), receiver, Arc::default(), Metrics::default(), stop).await;
        assert_eq!(read(&path, Timestamp::now()).unwrap().0, some_inputs());
    }
}
