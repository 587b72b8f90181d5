//! What a delegation would hide: records and zones at and beneath its name, in its view.
//!
//! All kinds are asked for in one `request` batch. A grid that refuses the batch as a whole (a kind that its version
//! does not know, more hits than a search may have) is asked kind by kind, page by page. An object that the account
//! may not read is missing from every search (reference.md §8), so the zone around the name must have been seen first:
//! the right to read a zone covers what is in it.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt, stream};
use gslb_core::beneath::Beneath;
use gslb_core::name::DomainName;
use gslb_core::text::quoted;
use gslb_provider_contract::ProviderError;
use reqwest::Method;
use serde_json::{Value, json};

use crate::absence::above;
use crate::answer::{Failure, Kind};
use crate::client::{BATCH, Request};
use crate::paging::{Gathered, Search};
use crate::provider::Infoblox;
use crate::wire::ZONE_DELEGATED;

/// A host, whose aliases are names too. They cannot be searched for, so all hosts of the zones around the name are read.
const HOST: &str = "record:host";
/// Hosts that are read in each zone around the name. No outside reference.
const MOST_HOSTS: usize = 50_000;
/// A load-balanced name of a DTC. Its own name is one for people; what it answers is a pattern, which may have `*` in it.
const LBDN: (&str, &str) = ("record:dtclbdn", "pattern");
/// Kinds of objects that stand at a name, and the field with that name. All of them can be searched for by pattern.
/// Shared records are not among them: they have no view, and names relative to the zones that share them.
const KINDS: [(&str, &str); 21] = [
    ("record:a", "name"),
    ("record:aaaa", "name"),
    ("record:alias", "name"),
    ("record:caa", "name"),
    ("record:cname", "name"),
    ("record:dname", "name"),
    LBDN,
    // Its addresses are no records of their own, so a search for records of type A does not find them.
    (HOST, "name"),
    ("record:https", "name"),
    ("record:mx", "name"),
    ("record:naptr", "name"),
    ("record:ns", "name"),
    ("record:ptr", "name"),
    ("record:srv", "name"),
    ("record:svcb", "name"),
    ("record:tlsa", "name"),
    ("record:txt", "name"),
    ("zone_auth", "fqdn"),
    (ZONE_DELEGATED, "fqdn"),
    ("zone_forward", "fqdn"),
    ("zone_stub", "fqdn"),
];
/// Hits of one kind that a batch may bring, as there is no paging in it. More are read page by page.
const MOST_IN_BATCH: i64 = 100;
/// The same for all hosts of one zone.
const MOST_HOSTS_IN_BATCH: i64 = 300;
/// Objects of one kind that are read: enough to know that nobody wants to lose them. No outside reference.
const MOST_OBJECTS: usize = 5000;
/// Objects on one page, of which a name is read, or a host's name and its aliases: some 500 bytes each.
const ON_PAGE: usize = 500;
/// Kinds that are read at once; the client sends no more anyway.
const AT_ONCE: usize = 4;

/// The names of the hits of one kind.
type Names = Gathered<BTreeSet<String>>;

impl Infoblox {
    /// What stands at and beneath the name, of all [`KINDS`].
    ///
    /// # Errors
    /// [`ProviderError::Stale`] if somebody, perhaps another cluster, delegated the zone since it was found absent.
    pub(crate) async fn look_beneath(&self, zone: &DomainName) -> Result<Beneath, Failure> {
        let (objects, more) = self.search_beneath(zone).await?;
        if objects.contains(&described(ZONE_DELEGATED, zone.as_str())) {
            return Err(Failure::last(ProviderError::Stale { zone: zone.clone() }));
        }
        Ok(Beneath::new(objects, more))
    }

    async fn search_beneath(&self, zone: &DomainName) -> Result<(BTreeSet<String>, bool), Failure> {
        match self.client.send(&batch(zone, self.view())).await {
            Ok(reply) => {
                let found: Vec<Vec<Value>> = self.parse(reply)?;
                if found.len() != KINDS.len() + above(zone).count() {
                    return Err(
                        self.unexpected("answered a batch of searches with another number of results")
                    );
                }
                let objects = found
                    .iter()
                    .zip(KINDS)
                    .flat_map(|(hits, kind)| hits.iter().map(move |hit| name_of(hit, kind)));
                let hosts = found.iter().skip(KINDS.len()).flatten();
                Ok((objects.chain(hosts.flat_map(|host| aliases(host, zone))).collect(), false))
            }
            Err(
                Failure { error: ProviderError::Refused { .. }, .. } | Failure { kind: Kind::TooLarge, .. },
            ) => self.look_kind_by_kind(zone).await,
            Err(failure) => Err(failure),
        }
    }

    async fn look_kind_by_kind(&self, zone: &DomainName) -> Result<(BTreeSet<String>, bool), Failure> {
        let reads = KINDS.map(|kind| self.look_for(zone, kind));
        let mut found: Vec<Names> = stream::iter(reads).buffer_unordered(AT_ONCE).try_collect().await?;
        let reads = above(zone).map(|holder| self.look_for_aliases(zone, holder));
        let aliases: Vec<Names> = stream::iter(reads).buffer_unordered(AT_ONCE).try_collect().await?;
        found.extend(aliases);
        let more = found.iter().any(|names| names.more);
        Ok((found.into_iter().flat_map(|names| names.made).collect(), more))
    }

    async fn look_for(&self, zone: &DomainName, kind: (&str, &str)) -> Result<Names, Failure> {
        match self.look_by_field(zone, kind).await {
            // What its pattern is called in old versions no reference says. People often call it like what it answers.
            Err(failure) if kind == LBDN && names_field(&failure, LBDN.1) => {
                self.look_by_field(zone, (LBDN.0, "name")).await
            }
            outcome => outcome,
        }
    }

    async fn look_by_field(&self, zone: &DomainName, kind: (&str, &str)) -> Result<Names, Failure> {
        let (name, field) = kind;
        let (key, pattern) = (format!("{field}~"), pattern(zone));
        let criteria = [(key.as_str(), pattern.as_str()), ("view", self.view()), ("_return_fields", field)];
        let search = Search { kind: name, criteria: &criteria, on_page: ON_PAGE, most: MOST_OBJECTS };
        self.names(zone, search, |hit| vec![name_of(hit, kind)]).await
    }

    async fn look_for_aliases(&self, zone: &DomainName, holder: DomainName) -> Result<Names, Failure> {
        let criteria = [("zone", holder.as_str()), ("view", self.view()), ("_return_fields", "name,aliases")];
        let search = Search { kind: HOST, criteria: &criteria, on_page: ON_PAGE, most: MOST_HOSTS };
        self.names(zone, search, |host| aliases(host, zone)).await
    }

    async fn names(
        &self,
        zone: &DomainName,
        search: Search<'_>,
        names: impl Fn(&Value) -> Vec<String>,
    ) -> Result<Names, Failure> {
        let add = |made: &mut BTreeSet<String>, page: Vec<Value>| {
            made.extend(page.iter().flat_map(&names));
            Ok(())
        };
        match self.gather(search, add).await {
            // This version has no objects of that kind.
            Err(failure) if is_unknown_kind(&failure, search.kind) => Ok(Names::default()),
            outcome => outcome.map_err(|failure| unreadable(zone, search.kind, failure)),
        }
    }
}

fn batch(zone: &DomainName, view: &str) -> Request {
    let searches = KINDS.map(|(kind, field)| {
        json!({
            "method": "GET", "object": kind,
            "data": {format!("{field}~"): pattern(zone), "view": view},
            // Negative: an error if there are more, never a list that is cut short.
            "args": {"_return_fields": field, "_max_results": -MOST_IN_BATCH},
        })
    });
    let hosts = above(zone).map(|holder| {
        json!({
            "method": "GET", "object": HOST, "data": {"zone": holder.as_str(), "view": view},
            "args": {"_return_fields": "name,aliases", "_max_results": -MOST_HOSTS_IN_BATCH},
        })
    });
    let all: Vec<Value> = searches.into_iter().chain(hosts).collect();
    Request { method: Method::POST, target: BATCH.to_owned(), body: Some(all.into()) }
}

/// The aliases of a host that stand at or beneath the name.
fn aliases(host: &Value, zone: &DomainName) -> Vec<String> {
    let aliases = host.get("aliases").and_then(Value::as_array).into_iter().flatten();
    let beneath = |alias: &&str| {
        let alias = alias.trim_end_matches('.').to_ascii_lowercase();
        alias == zone.as_str() || alias.ends_with(&format!(".{zone}"))
    };
    aliases
        .filter_map(Value::as_str)
        .filter(beneath)
        .map(|alias| described("alias of record:host", alias))
        .collect()
}

/// The name and all that ends with it. Of what a name is made of, only the dot means something in a pattern.
pub(crate) fn pattern(zone: &DomainName) -> String {
    format!(r"(^|\.){}$", zone.as_str().replace('.', r"\."))
}

fn name_of(hit: &Value, (kind, field): (&str, &str)) -> String {
    described(kind, hit.get(field).and_then(Value::as_str).unwrap_or("without a name"))
}

fn described(kind: &str, name: &str) -> String {
    format!("{kind} {}", quoted(name))
}

fn is_unknown_kind(failure: &Failure, kind: &str) -> bool {
    matches!(&failure.error, ProviderError::Refused { text } if text.contains(&format!("Unknown object type ({kind})")))
}

/// Whether the grid refused because of a field.
fn names_field(failure: &Failure, field: &str) -> bool {
    let refused = |text: &str| text.contains(&format!("'{field}'")) || text.contains(&format!(": {field}"));
    matches!(&failure.error, ProviderError::Refused { text } if refused(text))
}

/// What is said of a kind that may not be read. Other failures speak for themselves.
fn unreadable(zone: &DomainName, kind: &str, failure: Failure) -> Failure {
    let error = match failure.error {
        ProviderError::Refused { text } => ProviderError::Refused {
            text: format!(
                "{zone} is not delegated, because what that would hide cannot be read ({kind}): {text}; let the account read the parent zone"
            ),
        },
        other => other,
    };
    Failure { error, ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_searched_for_with_all_that_ends_with_it_and_nothing_that_only_looks_like_it() {
        let zone = DomainName::parse("cloud.example.com").unwrap();
        assert_eq!(pattern(&zone), r"(^|\.)cloud\.example\.com$");
        let body = batch(&zone, "Medium/High Trust").body.unwrap();
        assert_eq!(
            body[17],
            json!({"method": "GET", "object": "zone_auth",
                "data": {"fqdn~": r"(^|\.)cloud\.example\.com$", "view": "Medium/High Trust"},
                "args": {"_return_fields": "fqdn", "_max_results": -100}})
        );
    }
}
