//! The arguments of a request: what to search for, and what to show.

use super::error::WapiError;
use super::reference::percent_decode;
use super::schema::{Field, Kind, ObjectType};
use regex::RegexBuilder;
use serde_json::Value;

/// Results before a search is refused, unless the client says otherwise.
const DEFAULT_MAX_RESULTS: i64 = -1000;
/// Arguments that are accepted and have no effect here.
const IGNORED: [&str; 6] =
    ["_proxy_search", "_return_type", "_inheritance", "_schema_version", "_schema_searchable", "_get_doc"];

/// The arguments of one request, options and search filters apart.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) return_fields: Option<Vec<String>>,
    pub(crate) more_fields: Vec<String>,
    pub(crate) max_results: i64,
    pub(crate) paging: bool,
    pub(crate) page_id: Option<String>,
    pub(crate) as_object: bool,
    pub(crate) schema: bool,
    pub(crate) function: Option<String>,
    pub(crate) scheduled_time: Option<u64>,
    filters: Vec<(String, String)>,
}

/// Splits a query string and decodes its parts.
pub(crate) fn split(query: &str) -> Vec<(String, String)> {
    let decode = |part: &str| percent_decode(&part.replace('+', " "));
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(key, value)| (decode(key), decode(value)))
        .collect()
}

/// Arguments given as a JSON object instead of a query string.
pub(crate) fn from_object(body: Option<&Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let members = body.and_then(Value::as_object);
    members.into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

impl Query {
    pub(crate) fn parse(pairs: Vec<(String, String)>) -> Result<Self, WapiError> {
        let mut query = Self {
            return_fields: None,
            more_fields: Vec::new(),
            max_results: DEFAULT_MAX_RESULTS,
            paging: false,
            page_id: None,
            as_object: false,
            schema: false,
            function: None,
            scheduled_time: None,
            filters: Vec::new(),
        };
        for (key, value) in pairs {
            if key.starts_with('_') {
                query.set_option(&key, value)?;
            } else {
                query.filters.push((key, value));
            }
        }
        if query.paging && !query.as_object {
            return Err(WapiError::Proto(
                "_return_as_object needs to be enabled for paging requests.".to_owned(),
            ));
        }
        Ok(query)
    }

    fn set_option(&mut self, key: &str, value: String) -> Result<(), WapiError> {
        let names = || value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        match key {
            "_return_fields" => self.return_fields = Some(names()),
            "_return_fields+" => self.more_fields = names(),
            "_return_as_object" => self.as_object = is_true(&value),
            "_max_results" => {
                self.max_results = value.parse().map_err(|_| WapiError::invalid_value("_max_results"))?;
            }
            "_paging" => self.paging = is_true(&value),
            "_page_id" => self.page_id = Some(value),
            "_schema" => self.schema = value.is_empty() || is_true(&value),
            "_function" => self.function = Some(value),
            "_schedinfo.scheduled_time" => {
                let time =
                    value.parse().map_err(|_| WapiError::invalid_value("_schedinfo.scheduled_time"))?;
                self.scheduled_time = Some(time);
            }
            _ if IGNORED.contains(&key) => {}
            _ if key.starts_with("_schedinfo.") || key.starts_with("_approvalinfo.") => {}
            _ => return Err(WapiError::unknown_field(key)),
        }
        Ok(())
    }

    /// The search filters, checked against what the type allows.
    pub(crate) fn filters(&self, kind: &ObjectType) -> Result<Vec<Filter>, WapiError> {
        self.filters.iter().map(|(key, value)| Filter::parse(kind, key, value)).collect()
    }

    /// The value of an exact filter on a field.
    pub(crate) fn exact(&self, field: &str) -> Option<&str> {
        self.filters.iter().find(|(key, _)| key == field).map(|(_, value)| value.as_str())
    }

    /// The fields to show, with sub-fields as `list.member`.
    pub(crate) fn shown_fields(&self, kind: &ObjectType) -> Result<Vec<String>, WapiError> {
        let base =
            || kind.fields.iter().filter(|field| field.base).map(|field| field.name.to_owned()).collect();
        let mut names: Vec<String> = self.return_fields.clone().unwrap_or_else(base);
        names.extend(self.more_fields.iter().cloned());
        for name in &names {
            let top = name.split('.').next().unwrap_or(name);
            if !kind.field(top).is_some_and(|field| field.supports('r')) {
                return Err(WapiError::unknown_field(name));
            }
        }
        Ok(names)
    }

    /// Whether the reply of a write is the object instead of its reference.
    pub(crate) fn wants_object(&self) -> bool {
        self.return_fields.is_some() || !self.more_fields.is_empty()
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "1" | "true" | "True")
}

/// One search condition.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) target: Target,
    test: Test,
}

/// What a condition looks at.
#[derive(Debug)]
pub(crate) enum Target {
    Field(&'static Field),
    Attribute(String),
}

#[derive(Debug)]
enum Test {
    Equal(String),
    EqualIgnoringCase(String),
    Pattern(regex::Regex),
    NotEqual(String),
    AtMost(String),
    AtLeast(String),
}

impl Filter {
    fn parse(kind: &ObjectType, key: &str, value: &str) -> Result<Self, WapiError> {
        let name = key.trim_end_matches(['!', ':', '~', '<', '>']);
        let modifiers = &key[name.len()..];
        let target = match name.strip_prefix('*') {
            Some(attribute) if kind.field("extattrs").is_some() => Target::Attribute(attribute.to_owned()),
            _ => Target::Field(searchable(kind, name, modifiers)?),
        };
        let value = match &target {
            Target::Field(Field { kind: Kind::CharacterStrings, .. }) if modifiers.is_empty() => {
                super::txt::canonical(value)
            }
            _ => value.to_owned(),
        };
        let test = match modifiers {
            "" => Test::Equal(value),
            ":" => Test::EqualIgnoringCase(value.to_lowercase()),
            "~" | ":~" | "~:" => {
                let pattern = RegexBuilder::new(&value).case_insensitive(modifiers.len() == 2).build();
                Test::Pattern(pattern.map_err(|_| WapiError::invalid_value(name))?)
            }
            "!" => Test::NotEqual(value),
            "<" => Test::AtMost(value),
            ">" => Test::AtLeast(value),
            other => return Err(modifier_refused(other, name)),
        };
        Ok(Self { target, test })
    }

    /// Whether any of the values passes; a field without value passes only `!=`.
    pub(crate) fn accepts(&self, values: &[String]) -> bool {
        match &self.test {
            Test::NotEqual(wanted) => values.iter().all(|value| value != wanted),
            test => values.iter().any(|value| test.passes(value)),
        }
    }
}

impl Test {
    fn passes(&self, value: &str) -> bool {
        let order = |wanted: &str| match (value.parse::<i64>(), wanted.parse::<i64>()) {
            (Ok(value), Ok(wanted)) => value.cmp(&wanted),
            _ => value.cmp(wanted),
        };
        match self {
            Self::Equal(wanted) => value == wanted,
            Self::EqualIgnoringCase(wanted) => value.to_lowercase() == *wanted,
            Self::Pattern(pattern) => pattern.is_match(value),
            Self::NotEqual(wanted) => value != wanted,
            Self::AtMost(wanted) => order(wanted).is_le(),
            Self::AtLeast(wanted) => order(wanted).is_ge(),
        }
    }
}

fn searchable(kind: &ObjectType, name: &str, modifiers: &str) -> Result<&'static Field, WapiError> {
    let field = kind.field(name).ok_or_else(|| WapiError::unknown_field(name))?;
    if !field.supports('s') {
        return Err(WapiError::Proto(format!("Field is not searchable: {name}")));
    }
    match modifiers.chars().find(|modifier| !field.searchable_by.contains(*modifier)) {
        Some(modifier) => Err(modifier_refused(&modifier.to_string(), name)),
        None => Ok(field),
    }
}

fn modifier_refused(modifier: &str, name: &str) -> WapiError {
    WapiError::Proto(format!("Search modifier '{modifier}' not allowed for field: {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wapi::types::object_type;

    fn filter(query: &str) -> Result<Filter, WapiError> {
        let kind = object_type("zone_delegated").unwrap();
        Query::parse(split(query)).unwrap().filters(kind).map(|mut filters| filters.remove(0))
    }

    fn accepts(query: &str, value: &str) -> bool {
        filter(query).unwrap().accepts(&[value.to_owned()])
    }

    #[test]
    fn equality_minds_case_and_the_colon_ignores_it() {
        assert!(accepts("fqdn=gslb.example.com", "gslb.example.com"));
        assert!(!accepts("fqdn=GSLB.example.com", "gslb.example.com"));
        assert!(accepts("fqdn%3A=GSLB.example.com", "gslb.example.com"));
    }

    #[test]
    fn patterns_are_unanchored() {
        assert!(accepts("fqdn~=slb", "gslb.example.com"));
        assert!(accepts("fqdn%7E=%5Egslb", "gslb.example.com"));
        assert!(!accepts("fqdn~=SLB", "gslb.example.com"));
        assert!(accepts("fqdn%3A~=SLB", "gslb.example.com"));
    }

    #[test]
    fn attribute_names_may_contain_encoded_blanks() {
        let filter = filter("*Tenant%20ID=blue").unwrap();
        assert!(matches!(filter.target, Target::Attribute(name) if name == "Tenant ID"));
    }

    #[test]
    fn unknown_fields_unsearchable_fields_and_wrong_modifiers_are_refused() {
        let text = |query| filter(query).unwrap_err().to_string();
        assert_eq!(text("nosuch=1"), "Unknown argument/field: 'nosuch'");
        assert_eq!(text("disable=true"), "Field is not searchable: disable");
        assert_eq!(text("view:=default"), "Search modifier ':' not allowed for field: view");
    }
}
