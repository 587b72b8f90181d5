//! The domains that a provider is in charge of.

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Which names a provider takes. Nothing set: all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DomainFilter(Rules);

#[derive(Debug, Clone, Default)]
enum Rules {
    #[default]
    All,
    Lists {
        include: Vec<String>,
        exclude: Vec<String>,
    },
    Patterns {
        include: Option<Regex>,
        exclude: Option<Regex>,
    },
}

/// A filter that says nothing that could be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Lists and patterns exclude each other in external-dns too.
    #[error(
        "a domain filter has either include and exclude, or regexInclude and regexExclude, and this one has both"
    )]
    Mixed,
    /// A pattern that is none.
    #[error("{field} {pattern:?} is no regular expression: {why}")]
    Pattern {
        /// Its field.
        field: &'static str,
        /// As written.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The filter on the wire.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wire {
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exclude: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regex_include: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regex_exclude: Option<String>,
}

impl DomainFilter {
    /// These domains and all that lies below them; one that starts with a dot means only what lies below.
    pub fn of(domains: impl IntoIterator<Item = String>) -> Self {
        Self::lists(domains.into_iter().collect(), Vec::new())
    }

    /// Whether the provider takes the name. Case and a final dot are spellings.
    pub fn takes(&self, name: &str) -> bool {
        let name = stripped(name);
        match &self.0 {
            Rules::All => true,
            Rules::Lists { include, exclude } => {
                let lies_in = |domains: &[String]| domains.iter().any(|domain| is_or_is_below(&name, domain));
                (include.is_empty() || lies_in(include)) && !lies_in(exclude)
            }
            Rules::Patterns { include, exclude } => {
                let has = |pattern: &Option<Regex>| pattern.as_ref().map(|pattern| pattern.is_match(&name));
                has(include) != Some(false) && has(exclude) != Some(true)
            }
        }
    }

    fn lists(include: Vec<String>, exclude: Vec<String>) -> Self {
        let cleaned = |domains: Vec<String>| -> Vec<String> {
            domains.iter().map(|domain| stripped(domain)).filter(|domain| !domain.is_empty()).collect()
        };
        let (include, exclude) = (cleaned(include), cleaned(exclude));
        match include.is_empty() && exclude.is_empty() {
            true => Self(Rules::All),
            false => Self(Rules::Lists { include, exclude }),
        }
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        let text = |pattern: &Option<Regex>| pattern.as_ref().map(|pattern| pattern.as_str().to_owned());
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::Lists { include: a, exclude: b }, Self::Lists { include: c, exclude: d }) => {
                (a, b) == (c, d)
            }
            (Self::Patterns { include: a, exclude: b }, Self::Patterns { include: c, exclude: d }) => {
                (text(a), text(b)) == (text(c), text(d))
            }
            _ => false,
        }
    }
}

impl Eq for Rules {}

impl TryFrom<Wire> for DomainFilter {
    type Error = FilterError;

    fn try_from(wire: Wire) -> Result<Self, FilterError> {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (regex_include, regex_exclude) = (some(wire.regex_include), some(wire.regex_exclude));
        let lists = Self::lists(wire.include.unwrap_or_default(), wire.exclude.unwrap_or_default());
        if regex_include.is_none() && regex_exclude.is_none() {
            return Ok(lists);
        }
        if lists != Self::default() {
            return Err(FilterError::Mixed);
        }
        let include = pattern("regexInclude", regex_include)?;
        Ok(Self(Rules::Patterns { include, exclude: pattern("regexExclude", regex_exclude)? }))
    }
}

impl<'de> Deserialize<'de> for DomainFilter {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl Serialize for DomainFilter {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let list = |domains: &Vec<String>| Some(domains.clone()).filter(|domains| !domains.is_empty());
        let text = |pattern: &Option<Regex>| pattern.as_ref().map(ToString::to_string);
        let wire = match &self.0 {
            Rules::All => Wire::default(),
            Rules::Lists { include, exclude } => {
                Wire { include: list(include), exclude: list(exclude), ..Wire::default() }
            }
            Rules::Patterns { include, exclude } => {
                Wire { regex_include: text(include), regex_exclude: text(exclude), ..Wire::default() }
            }
        };
        wire.serialize(serializer)
    }
}

fn pattern(field: &'static str, text: Option<String>) -> Result<Option<Regex>, FilterError> {
    let Some(pattern) = text else { return Ok(None) };
    match Regex::new(&pattern) {
        Ok(pattern) => Ok(Some(pattern)),
        Err(why) => Err(FilterError::Pattern { field, pattern, why: why.to_string() }),
    }
}

fn is_or_is_below(name: &str, domain: &str) -> bool {
    match domain.strip_prefix('.') {
        Some(_) => name.ends_with(domain),
        None => name == domain || name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
    }
}

fn stripped(name: &str) -> String {
    let name = name.trim();
    name.strip_suffix('.').unwrap_or(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(json: Value) -> Result<DomainFilter, String> {
        serde_json::from_value(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_filter_takes_what_it_says() {
        let table = [
            (json!({}), "www.example.com", true),
            (json!({"include": null, "exclude": []}), "www.example.com", true),
            (json!({"include": ["example.com"]}), "example.com", true),
            (json!({"include": ["Example.com."]}), "WWW.example.com.", true),
            (json!({"include": ["example.com"]}), "badexample.com", false),
            (json!({"include": ["example.com"]}), "example.org", false),
            (json!({"include": [".example.com"]}), "example.com", false),
            (json!({"include": [".example.com"]}), "www.example.com", true),
            (json!({"include": [""]}), "www.example.com", true),
            (json!({"include": ["example.com"], "exclude": ["x.example.com"]}), "a.x.example.com", false),
            (json!({"exclude": ["x.example.com"]}), "y.example.com", true),
            (json!({"regexInclude": r"^(a|b)\.example\.com$"}), "a.example.com", true),
            (json!({"regexInclude": r"^(a|b)\.example\.com$"}), "c.example.com", false),
            (json!({"regexExclude": r"^a\."}), "a.example.com", false),
            (json!({"regexExclude": r"^a\."}), "b.example.com", true),
            (json!({"regexInclude": "example", "regexExclude": r"^a\."}), "a.example.com", false),
            // What its OpenAPI file promises is not what external-dns does.
            (json!({"filters": ["example.com"]}), "example.org", true),
        ];
        for (filter, name, wanted) in table {
            assert_eq!(read(filter.clone()).unwrap().takes(name), wanted, "{filter} {name}");
        }
    }

    #[test]
    fn a_filter_that_cannot_be_followed_is_refused() {
        assert_eq!(
            read(json!({"include": ["a"], "regexInclude": "b"})).unwrap_err(),
            "a domain filter has either include and exclude, or regexInclude and regexExclude, and this one has both"
        );
        assert!(
            read(json!({"regexInclude": "("})).unwrap_err().starts_with(r#"regexInclude "(" is no regular"#)
        );
        assert!(read(json!({"include": "example.com"})).is_err());
    }

    #[test]
    fn a_filter_is_written_as_it_was_read() {
        for filter in [
            json!({}),
            json!({"include": ["example.com"]}),
            json!({"include": ["example.com"], "exclude": ["x.example.com"]}),
            json!({"regexInclude": "a", "regexExclude": "b"}),
        ] {
            assert_eq!(serde_json::to_value(read(filter.clone()).unwrap()).unwrap(), filter);
        }
        assert_eq!(
            DomainFilter::of(["example.com".to_owned()]),
            read(json!({"include": ["example.com"]})).unwrap()
        );
    }
}
