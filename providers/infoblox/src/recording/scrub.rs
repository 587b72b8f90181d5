//! Replaces everything that is not WAPI's own vocabulary: what is not known to be harmless goes. The same word always
//! becomes the same other word, so that a name server's name still lies in its zone and two equal addresses stay equal.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use serde_json::{Map, Value};

use super::words;
use crate::provider::query;
use crate::swap::REVISION;

/// Shorter parts of a password are no words: hiding each letter would hide nothing else.
const SHORTEST_HIDDEN: usize = 4;
/// Numbers under these keys say how a grid behaves, and not whose it is.
const KEPT_NUMBERS: [&str; 1] = ["delegated_ttl"];
/// Extensible attributes by their names.
const ATTRIBUTES: &str = "extattrs";
/// Members of a batch that are ours, word for word.
const OUR_OWN: [&str; 5] = ["method", "object", "args", "assign_state", "enable_substitution"];

/// Remembers what stands for what.
#[derive(Default)]
pub(super) struct Scrubber {
    /// Never kept, though they may be words of WAPI.
    hidden: BTreeSet<String>,
    words: BTreeMap<String, String>,
    addresses: BTreeMap<IpAddr, IpAddr>,
}

impl Scrubber {
    /// Nothing of this may appear.
    pub(super) fn hide(&mut self, text: &str) {
        let long = tokens(text).filter(|word| word.chars().count() >= SHORTEST_HIDDEN).map(str::to_lowercase);
        self.hidden.extend(long);
    }

    /// A name, whose last label becomes `example` (RFC 2606).
    pub(super) fn hide_name(&mut self, name: &str) {
        self.hidden.extend(tokens(name).map(str::to_lowercase));
        if let Some(last) = name.rsplit('.').next().filter(|label| tokens(label).count() == 1) {
            self.words.entry(last.to_lowercase()).or_insert_with(|| "example".to_owned());
        }
    }

    /// A text, word by word.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut scrubbed = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((address, length)) = self.address(rest) {
                scrubbed.push_str(&address);
                rest = &rest[length..];
                continue;
            }
            let length = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            match length {
                0 => scrubbed.push(first),
                _ => scrubbed.push_str(&self.word(&rest[..length])),
            }
            rest = &rest[length.max(first.len_utf8())..];
        }
        scrubbed
    }

    /// What is no JSON: the status of a web server's page stays.
    pub(super) fn page(&mut self, text: &str, status: u16) -> String {
        let status = status.to_string();
        let parts: Vec<_> = text.split(&status).map(|part| self.text(part)).collect();
        parts.join(&status)
    }

    /// A request's target: what is searched for is scrubbed, in which way is ours.
    pub(super) fn target(&mut self, target: &str) -> String {
        let Some((kind, _)) = target.split_once('?') else { return target.to_owned() };
        let Ok(url) = Url::parse(&format!("https://grid.invalid/{target}")) else { return self.text(target) };
        let arguments: Vec<_> = url
            .query_pairs()
            .map(|(key, value)| {
                let ours = key.starts_with('_') && key != "_page_id";
                (key.clone().into_owned(), if ours { value.into_owned() } else { self.text(&value) })
            })
            .collect();
        let arguments: Vec<_> = arguments.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        query(kind, &arguments)
    }

    /// A request's body.
    pub(super) fn sent(&mut self, body: &Value) -> Value {
        match body {
            Value::Array(operations) => operations.iter().map(|operation| self.sent(operation)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, member)| {
                    let ours = OUR_OWN.contains(&key.as_str());
                    (key.clone(), if ours { member.clone() } else { self.answered(member) })
                })
                .collect::<Map<_, _>>()
                .into(),
            other => self.answered(other),
        }
    }

    /// A reply's body.
    pub(super) fn answered(&mut self, body: &Value) -> Value {
        self.value("", body)
    }

    fn value(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(elements) => elements.iter().map(|element| self.value(key, element)).collect(),
            Value::Object(members) => {
                // The names of attributes are the grid's owner's, unlike all others.
                let named = key == ATTRIBUTES;
                let scrubbed = members.iter().map(|(key, member)| {
                    let kept = words::is_key(key) && (!named || key == REVISION);
                    (if kept { key.clone() } else { self.text(key) }, self.value(key, member))
                });
                scrubbed.collect::<Map<_, _>>().into()
            }
            Value::Number(number) if !KEPT_NUMBERS.contains(&key) => {
                // The word that stands for it has its own number, which is told from all others too.
                let word = self.word(&number.to_string());
                word.trim_start_matches('w').parse::<u64>().unwrap_or_default().into()
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        }
    }

    fn word(&mut self, word: &str) -> String {
        let known = word.to_lowercase();
        if words::is_known(&known) && !self.hidden.contains(&known) {
            return word.to_owned();
        }
        let next = format!("w{}", self.words.len() + 1);
        let other = self.words.entry(known).or_insert(next).clone();
        let loud = word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase);
        if loud { other.to_uppercase() } else { other }
    }

    /// The address that a text begins with, under its other name, and how long it was.
    fn address(&mut self, text: &str) -> Option<(String, usize)> {
        let run = text.find(|c: char| !(c.is_ascii_hexdigit() || c == '.' || c == ':')).unwrap_or(text.len());
        let run = text[..run].trim_end_matches(['.', ':']);
        let followed = text[run.len()..].chars().next().is_some_and(char::is_alphanumeric);
        if followed {
            return None;
        }
        if let Ok(address) = run.parse::<IpAddr>() {
            return Some((self.other(address).to_string(), run.len()));
        }
        let socket: SocketAddr = run.parse().ok()?;
        Some((SocketAddr::new(self.other(socket.ip()), socket.port()).to_string(), run.len()))
    }

    fn other(&mut self, address: IpAddr) -> IpAddr {
        let count = self.addresses.keys().filter(|known| known.is_ipv4() == address.is_ipv4()).count();
        *self.addresses.entry(address).or_insert_with(|| documentation(address.is_ipv4(), count))
    }
}

/// Addresses of RFC 5737, then those for benchmarks (RFC 2544), and of RFC 3849.
fn documentation(is_v4: bool, count: usize) -> IpAddr {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    if !is_v4 {
        let base = u128::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
        return Ipv6Addr::from(base + u128::from(count)).into();
    }
    let blocks = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(203, 0, 113, 1)];
    let (block, within) = (count / 254, count % 254);
    let further = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + (count % (1 << 17));
    let base = usize::try_from(block).ok().and_then(|block| blocks.get(block));
    Ipv4Addr::from(base.map_or(further, |base| u32::from(*base) + within)).into()
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "scrub_tests.rs"]
mod tests;
