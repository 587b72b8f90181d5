//! What a cluster publishes about hosts that have no record at the moment.
//!
//! A DNSEndpoint lists records only, and k8gb's CoreDNS plugin must find nothing else in it (contract §8.3).
//! So the hosts of a Gslb that have no answer stand in an annotation of the same object, which that plugin
//! ignores (contract §8.2) and our own DNS server reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::DomainName;
use crate::ttl::Ttl;

/// What is answered for a host of a Gslb that has no record (design §2.2, last resort).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EmptyAnswer {
    /// Every site said that the application is down.
    NoData,
    /// The state of some site is not known, so nobody may conclude that the application is down.
    ServFail,
}

/// A host of a Gslb without a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnansweredHost {
    /// What is answered.
    pub answer: EmptyAnswer,
    /// The Gslb's `dnsTtlSeconds`: an upper limit of how long a resolver may keep the negative answer.
    pub ttl: Ttl,
}

/// The hosts of one Gslb that have no record: a JSON object from host to [`UnansweredHost`], such as
/// `{"app.cloud.example.com":{"answer":"NoData","ttl":30}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct UnansweredHosts(pub BTreeMap<DomainName, UnansweredHost>);

impl UnansweredHosts {
    /// Reads the annotation. What cannot be read is left out and returned as sentences, so that one bad entry
    /// takes no other host with it.
    pub fn parse(text: &str) -> (Self, Vec<String>) {
        let entries: BTreeMap<String, serde_json::Value> = match serde_json::from_str(text) {
            Ok(entries) => entries,
            Err(error) => {
                return (Self::default(), vec![format!("the list of hosts is no JSON object: {error}")]);
            }
        };
        let mut hosts = BTreeMap::new();
        let mut problems = Vec::new();
        for (host, value) in entries {
            match (DomainName::parse(&host), serde_json::from_value(value)) {
                (Ok(name), Ok(entry)) => _ = hosts.insert(name, entry),
                (Err(problem), _) => problems.push(format!("host {host:?} is left out: {problem}")),
                (Ok(_), Err(problem)) => problems.push(format!("host {host:?} is left out: {problem}")),
            }
        }
        (Self(hosts), problems)
    }

    /// The annotation's value: the same hosts give the same bytes.
    pub fn to_annotation(&self) -> String {
        serde_json::to_string(self).expect("names and numbers always serialise")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_is_read_back_as_it_was_written() {
        let host = |answer| UnansweredHost { answer, ttl: Ttl::DEFAULT };
        let name = |text: &str| DomainName::parse(text).unwrap();
        let hosts = UnansweredHosts(BTreeMap::from([
            (name("b.cloud.example.com"), host(EmptyAnswer::ServFail)),
            (name("a.cloud.example.com"), host(EmptyAnswer::NoData)),
        ]));
        let text = hosts.to_annotation();
        assert_eq!(
            text,
            r#"{"a.cloud.example.com":{"answer":"NoData","ttl":30},"b.cloud.example.com":{"answer":"ServFail","ttl":30}}"#
        );
        assert_eq!(UnansweredHosts::parse(&text), (hosts, vec![]));
    }

    #[test]
    fn a_bad_entry_is_reported_and_takes_no_other_host_with_it() {
        let (hosts, problems) = UnansweredHosts::parse(
            r#"{"a..b":{"answer":"NoData","ttl":30},"b.example.com":{"answer":"Maybe","ttl":30},
                "c.example.com":{"answer":"ServFail","ttl":5}}"#,
        );
        assert_eq!(hosts.0.len(), 1);
        assert_eq!(problems.len(), 2);
        assert!(problems[0].contains("a..b") && problems[1].contains("Maybe"), "{problems:?}");
    }

    #[test]
    fn a_text_that_is_no_object_gives_no_host() {
        let (hosts, problems) = UnansweredHosts::parse("[1]");
        assert!(hosts.0.is_empty());
        assert_eq!(problems.len(), 1);
    }
}
