//! The way into a running sandbox: a socket in its folder, which only this user can enter.
//!
//! A request is one line, a JSON list of words as on the command line; so is the reply, an object.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::apply;
use super::fault::Injection;
use super::world::{World, control_in};

/// What the folders of sandboxes are called, before something random.
pub(super) const FOLDER_PREFIX: &str = "gslb-bridge-sandbox-";
/// Folders younger than this are left alone: their sandbox may just be starting.
const YOUNG: Duration = Duration::from_secs(60);
/// No request is longer.
const LONGEST: u64 = 4096;

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Reply {
    /// Whether it was done and led to what it must lead to.
    pub(super) ok: bool,
    /// The injection, in its words.
    pub(super) injection: String,
    /// One sentence.
    pub(super) text: String,
    /// The same as values.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) data: Value,
}

/// Opens the socket.
///
/// # Errors
/// The folder cannot hold one.
pub(super) fn open(world: &World) -> anyhow::Result<UnixListener> {
    let path = world.control();
    UnixListener::bind(&path).with_context(|| format!("cannot listen at {}", path.display()))
}

/// Serves requests until it is aborted. Injections come one after the other.
pub(super) async fn serve(world: Arc<World>, listener: UnixListener) {
    let turn = Arc::new(Mutex::new(()));
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let (world, turn) = (Arc::clone(&world), Arc::clone(&turn));
                    // Whoever hangs up does not want to know.
                    open.spawn(async move { answer(&world, &turn, stream).await.unwrap_or_default() });
                }
            }
            Some(_) = open.join_next() => {}
        }
    }
}

async fn answer(world: &World, turn: &Mutex<()>, stream: UnixStream) -> anyhow::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    BufReader::new(read.take(LONGEST)).read_line(&mut line).await?;
    let words: Vec<String> = serde_json::from_str(&line)?;
    let reply = match Injection::parse(&words) {
        Ok(injection) => {
            let _turn = turn.lock().await;
            let (ok, text, data) = match apply::apply(world, injection).await {
                Ok(report) => (true, report.text, report.data),
                Err(error) => (false, format!("{error:#}"), Value::Null),
            };
            Reply { ok, injection: injection.to_string(), text, data }
        }
        Err(text) => Reply { ok: false, injection: words.join(" "), text, data: Value::Null },
    };
    write.write_all(format!("{}\n", serde_json::to_string(&reply)?).as_bytes()).await?;
    Ok(())
}

/// Asks a running sandbox.
///
/// # Errors
/// It does not listen any more, or ended before it answered.
pub(super) async fn ask(stream: UnixStream, injection: Injection) -> anyhow::Result<Reply> {
    let (read, mut write) = stream.into_split();
    write.write_all(format!("{}\n", serde_json::to_string(&injection.words())?).as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(read).read_line(&mut line).await?;
    serde_json::from_str(&line).context("the sandbox ended before it answered")
}

/// Connects to the newest sandbox of this user that is still running; gives its folder too.
///
/// # Errors
/// There is none.
pub(super) async fn newest() -> anyhow::Result<(UnixStream, PathBuf)> {
    for socket in sockets(&std::env::temp_dir()).context("cannot look for running sandboxes")? {
        // A socket that nobody listens at was left by a sandbox that was killed.
        if let Ok(stream) = UnixStream::connect(&socket).await {
            return Ok((stream, socket.parent().unwrap_or(&socket).to_owned()));
        }
    }
    anyhow::bail!("no sandbox of this user is running; start one with `gslb-bridge sandbox`")
}

/// Removes the folders of sandboxes that were killed: nobody listens at their sockets any more.
pub(super) async fn sweep() {
    for socket in sockets(&std::env::temp_dir()).unwrap_or_default() {
        let age = socket.metadata().and_then(|socket| socket.modified()).map(|made| made.elapsed());
        let old = matches!(age, Ok(Ok(age)) if age > YOUNG);
        if old
            && UnixStream::connect(&socket).await.is_err()
            && let Some(folder) = socket.parent()
        {
            // What cannot be removed is in nobody's way.
            std::fs::remove_dir_all(folder).ok();
        }
    }
}

/// The sockets of this user's sandboxes, the newest first.
fn sockets(place: &Path) -> std::io::Result<Vec<PathBuf>> {
    // A file of our own tells who we are.
    let user = tempfile::tempfile()?.metadata()?.uid();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place)?.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(FOLDER_PREFIX));
        let socket = control_in(&entry.path());
        let folder = entry.metadata().ok().filter(|folder| ours && folder.is_dir() && folder.uid() == user);
        let made = folder.and_then(|_| socket.metadata().ok()?.modified().ok());
        found.extend(made.map(|made| (made, socket)));
    }
    found.sort();
    Ok(found.into_iter().rev().map(|(_, socket)| socket).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_sandbox_comes_first() {
        let place = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            let folder = place.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            let socket = control_in(&folder);
            (std::os::unix::net::UnixListener::bind(&socket).unwrap(), socket)
        };
        let first = made(&format!("{FOLDER_PREFIX}1"));
        let _other = made("something-else");
        let mut second = made(&format!("{FOLDER_PREFIX}0"));
        // Files of one tick of the clock have one time; then the name decides, which is as good.
        while second.1.metadata().unwrap().modified().unwrap()
            == first.1.metadata().unwrap().modified().unwrap()
        {
            std::fs::remove_dir_all(second.1.parent().unwrap()).unwrap();
            second = made(&format!("{FOLDER_PREFIX}0"));
        }
        assert_eq!(sockets(place.path()).unwrap(), [second.1, first.1]);
    }
}
