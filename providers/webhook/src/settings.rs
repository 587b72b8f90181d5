//! What an operator gives, checked once.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gslb_core::name::DomainName;
use gslb_core::zone::NsPrefix;
use jiff::Timestamp;
use reqwest::Url;

/// Tells the time: injected, so that pauses can be tested.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Everything that the provider needs to know.
#[derive(Clone)]
pub struct Settings {
    /// Where the webhook is.
    pub url: WebhookUrl,
    /// The owner id in our TXT records: one for the whole fleet, as the NS set of a zone is.
    pub owner: String,
    /// Owner ids whose records count as ours, too.
    pub adopted_owners: BTreeSet<String>,
    /// What the names of TXT records begin with; may be empty.
    pub txt_prefix: TxtPrefix,
    /// By which name server names are known as the fleet's.
    pub ns_prefix: NsPrefix,
    /// Longest time for one request, from connecting to the last byte.
    pub request_timeout: Duration,
    /// Tells the time.
    pub clock: Clock,
}

/// Why the provider cannot be set up. Its text is the sentence that the user reads.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No TLS crypto provider is installed, without which no HTTP client is made.
    #[error("no TLS crypto provider is installed")]
    NoCryptoProvider,
    /// The HTTP client could not be built, for example because the system has no certificates at all.
    #[error("the HTTP client for the webhook could not be set up: {problem}")]
    Client {
        /// What is wrong.
        problem: String,
    },
}

/// Base of every request, whose path is kept: `http://localhost:8888`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// # Errors
    /// Why it is none, as it ends a sentence. The URL itself, which may have a password in it, is not in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|_| "it is no URL".to_owned())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err("a webhook is reached by http or https".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the protocol knows no user and no password".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the base of a webhook ends with its path".to_owned());
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    /// Where one call goes to; `path` begins with a slash, or is empty for the negotiation.
    pub(crate) fn join(&self, path: &str) -> String {
        let path = if path.is_empty() { "/" } else { path };
        format!("{}{path}", self.0)
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the name of a TXT record begins with (`--txt-prefix`), in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TxtPrefix(String);

impl TxtPrefix {
    /// # Errors
    /// Why it is none, as it ends a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let prefix = text.to_lowercase();
        if prefix.contains('%') {
            return Err("placeholders such as %{record_type} are not known here".to_owned());
        }
        match DomainName::parse(&format!("{prefix}ns-x")) {
            Ok(name) if !name.is_wildcard() => Ok(Self(prefix)),
            Ok(_) | Err(_) => Err("no name can begin with it".to_owned()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// An owner id, as it can stand in a TXT record.
///
/// # Errors
/// Why it is none, as it ends a sentence.
pub fn parse_owner(text: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_graphic() && !matches!(c, ',' | '=' | '"' | '\\');
    if text.is_empty() || text.len() > LONGEST_OWNER || !text.chars().all(legal) {
        return Err(format!(
            "an owner id has 1 to {LONGEST_OWNER} visible characters, without commas, equal signs, quotes and backslashes"
        ));
    }
    Ok(text.to_owned())
}

/// A string of a TXT record has 255 bytes, and the rest of the note needs some 150 of them with the longest zone.
const LONGEST_OWNER: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_keeps_its_path_and_has_no_password() {
        let parse = |text: &str| WebhookUrl::parse(text).map(|url| url.join("/records"));
        let is = |text: &str| Ok(text.to_owned());
        assert_eq!(parse("http://localhost:8888"), is("http://localhost:8888/records"));
        assert_eq!(parse("https://hook.example.com/dns/"), is("https://hook.example.com/dns/records"));
        assert_eq!(WebhookUrl::parse("http://[::1]:8888").unwrap().join(""), "http://[::1]:8888/");
        let refused = [
            ("", "it is no URL"),
            ("localhost:8888", "a webhook is reached by http or https"),
            ("ftp://localhost", "a webhook is reached by http or https"),
            ("http://user:hunter2@localhost", "the protocol knows no user and no password"),
            ("http://localhost/?token=a", "the base of a webhook ends with its path"),
        ];
        for (text, why) in refused {
            assert_eq!(parse(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_prefix_begins_a_name_and_an_owner_fits_into_a_text() {
        for prefix in ["", "extdns-", "External-DNS-", "note."] {
            assert_eq!(TxtPrefix::parse(prefix).unwrap().as_str(), prefix.to_lowercase());
        }
        for prefix in ["%{record_type}-", "a b", "*.", "..", "-"] {
            assert!(TxtPrefix::parse(prefix).is_err(), "{prefix}");
        }
        assert_eq!(parse_owner("fleet-1"), Ok("fleet-1".to_owned()));
        for owner in ["", "a,b", "a=b", "a b", "\"", &"x".repeat(64)] {
            assert!(parse_owner(owner).is_err(), "{owner}");
        }
    }
}
