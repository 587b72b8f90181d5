//! Records what a grid answers, so that somebody with an appliance can send it: the daemon's own reads, with everything
//! removed that tells whose grid it is.
//!
//! [`record`] makes the reads of [`survey`] and nothing else. What comes out is a folder that the strict player of the
//! tests plays: `scenario.yaml` says for which zones, and [`survey`] asks for them again.

mod scrub;
mod tape;
mod words;

use std::sync::Arc;

use gslb_core::delegation::Presence;
use gslb_provider_contract::{Observe, ProviderError, Scope, Service};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use self::scrub::Scrubber;
pub(crate) use self::tape::Tape;
use self::tape::{Taped, file_names};
use crate::login::ForgetfulMemory;
use crate::provider::Infoblox;
use crate::settings::{Settings, SetupError};

/// Where a reply comes from, in each file.
const SOURCE: &str = "captured: gslb-bridge record";
const README: &str = "README.md";
const SCENARIO: &str = "scenario.yaml";

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Name and content of each file, in the order of the exchanges.
    pub files: Vec<(String, String)>,
    /// What was found, one sentence for each question, with the real names: for the person who records.
    pub findings: Vec<String>,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A setting that cannot work.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The credentials cannot be read.
    #[error(transparent)]
    Credentials(ProviderError),
    /// The grid gave no reply to one of the requests, so there is nothing to play back.
    #[error("nothing is recorded, because a request had no reply: {0}")]
    NoReply(String),
}

/// Logs in once, makes the reads of [`survey`], logs out, and scrubs what came.
///
/// # Errors
/// See [`RecordError`]. A reply that is an error is none: it is recorded.
pub async fn record(settings: Settings, scopes: &[Scope]) -> Result<Recording, RecordError> {
    let mut scrubber = scrubber(&settings, scopes)?;
    let (view, version) =
        (settings.view.clone(), settings.grids.first().map(|grid| grid.version().to_owned()));
    let tape = Arc::new(Tape::default());
    let provider = Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(()))?;
    let provider = provider.taped(Arc::clone(&tape));
    let findings = survey(&provider, scopes).await;
    // The session ends by itself if this fails.
    drop(provider.logout().await);
    let taped = tape.exchanges().map_err(RecordError::NoReply)?;
    let base = format!("/wapi/v{}", version.unwrap_or_default());
    let mut files: Vec<_> = file_names(&taped)
        .into_iter()
        .zip(&taped)
        .map(|(name, exchange)| (name, file(exchange, &base, &mut scrubber)))
        .collect();
    let scenario = scenario(&base, &view, scopes, &mut scrubber);
    files.extend([(SCENARIO.to_owned(), scenario), (README.to_owned(), readme())]);
    Ok(Recording { files, findings })
}

/// The reads that the daemon makes: each zone, or what shows that it is absent and what its delegation would hide; the
/// definition of the revision attribute; and what waits for a restart. Ends at the first reply that rejects the
/// credential, because nothing is sent after it.
pub async fn survey(provider: &Infoblox, scopes: &[Scope]) -> Vec<String> {
    let mut findings = vec![];
    for scope in scopes {
        let zone = &scope.zone;
        match provider.observe(scope).await {
            Ok(Presence::Present(found)) => {
                findings.push(format!("{zone}: {} name servers", found.delegation.servers.len()));
            }
            Ok(Presence::Absent) => {
                let beneath = provider.beneath(scope).await;
                let beneath = beneath
                    .map(|found| if found.is_empty() { "nothing".to_owned() } else { found.to_string() });
                findings.push(format!("{zone}: absent; beneath it {}", beneath.unwrap_or_else(said)));
            }
            Err(error) => findings.push(format!("{zone}: {error}")),
        }
    }
    let revisions = provider.has_revisions().await;
    let revisions = revisions.map(|there| if there { "defined" } else { "not defined" }.to_owned());
    findings.push(format!("revision attribute: {}", revisions.unwrap_or_else(said)));
    let service = provider.service().await.map(|service| match service {
        Service::Untold => "does not say".to_owned(),
        Service::Current => "needs no restart".to_owned(),
        Service::NeedsRestart { text } => text,
    });
    findings.push(format!("DNS service: {}", service.unwrap_or_else(said)));
    findings
}

fn said(error: ProviderError) -> String {
    error.to_string()
}

/// Knows what may never appear, even where it is an ordinary word.
fn scrubber(settings: &Settings, scopes: &[Scope]) -> Result<Scrubber, RecordError> {
    let credential = settings.credentials.read().map_err(RecordError::Credentials)?;
    let mut scrubber = Scrubber::default();
    for scope in scopes {
        scrubber.hide_name(scope.parent.as_str());
        scrubber.hide_name(scope.zone.as_str());
    }
    settings.grids.iter().for_each(|grid| scrubber.hide(grid.host()));
    scrubber.hide(&credential.username);
    scrubber.hide(credential.password.expose_secret());
    if settings.view != "default" {
        scrubber.hide(&settings.view);
    }
    Ok(scrubber)
}

fn file(exchange: &Taped, base: &str, scrubber: &mut Scrubber) -> String {
    let mut request =
        json!({"method": exchange.method, "uri": format!("{base}/{}", scrubber.target(&exchange.target))});
    if let Some(body) = &exchange.body {
        request["headers"] = json!({"content-type": "application/json"});
        request["body"] = scrubber.sent(body);
    }
    let answer = &exchange.answer;
    let mut headers = serde_json::Map::new();
    if let Some(kind) = words::media_type(&answer.content_type) {
        headers.insert("Content-Type".to_owned(), kind.into());
    }
    if let Some(pause) = answer.retry_after {
        headers.insert("Retry-After".to_owned(), pause.as_secs().to_string().into());
    }
    if let Some(location) = &answer.location {
        headers.insert("Location".to_owned(), scrubber.text(location).into());
    }
    let body = match serde_json::from_str(&answer.body) {
        Ok(value) => pretty(&scrubber.answered(&value)),
        Err(_) => scrubber.page(&answer.body, answer.status.as_u16()),
    };
    let response = json!({"status": answer.status.as_u16(), "headers": headers, "body": body});
    pretty(&json!({"source": SOURCE, "request": request, "response": response})) + "\n"
}

fn pretty(value: &Value) -> String {
    // The alternate form of a value is JSON with line breaks, and cannot fail.
    format!("{value:#}")
}

fn scenario(base: &str, view: &str, scopes: &[Scope], scrubber: &mut Scrubber) -> String {
    // JSON is YAML.
    let zones: Vec<_> = scopes
        .iter()
        .map(|scope| {
            let [parent, zone] = [&scope.parent, &scope.zone].map(|name| scrubber.text(name.as_str()));
            json!({"parentZone": parent, "zone": zone})
        })
        .collect();
    let version = base.trim_start_matches("/wapi/v");
    pretty(&json!({"wapiVersion": version, "dnsView": scrubber.text(view), "zones": zones})) + "\n"
}

fn readme() -> String {
    format!(
        "# A recording of Infoblox WAPI\n\nMade by `gslb-bridge record` {}, which only read. Each file is one request and its reply.\n\nPasswords, user names, cookies and headers that are not listed in a file were never written. Every name, address,\nnumber and word that is not one of WAPI's own stands under another one (`w1`, `w2`, …; 192.0.2.0/24, 2001:db8::/32):\nthe same everywhere for the same, so that what belongs together still does. The layout of JSON is not the grid's.\n\nLook through the files before you send them.\n",
        env!("CARGO_PKG_VERSION")
    )
}
