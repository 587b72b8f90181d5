//! What the user wrote, in the environment and in the configuration file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::catalog::{OUTDATED, Readers, VARIABLES, variable};
use super::file::{ConfigFile, FileValue, Instance};
use super::place::Place;
use super::problem::{Found, Problem, Warning};
use super::value::Value;

/// What the user wrote: only known variables and keys, only those that are set.
///
/// A variable that is set to nothing counts as set (`GLUEA_PREFIX=""` means no prefix), as in k8gb. A variable wins over
/// the file, one setting at a time (docs/adr/0012).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RawConfig {
    environment: BTreeMap<&'static str, String>,
    /// Numbers in [`OUTDATED`].
    outdated: BTreeSet<usize>,
    file: Option<ConfigFile>,
}

/// Who said what a setting is set to.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Variable(&'a str),
    File(&'a FileValue),
    Default(&'static str),
}

impl RawConfig {
    /// Asks `lookup` for every variable of [`VARIABLES`], for example
    /// `RawConfig::read(|name| std::env::var(name).ok())`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &'static str| Some((name, lookup(name)?));
        let is_set = |number: &usize| OUTDATED.get(*number).is_some_and(|(name, _)| lookup(name).is_some());
        Self {
            environment: VARIABLES.iter().filter_map(|known| set(known.name)).collect(),
            outdated: (0..OUTDATED.len()).filter(is_set).collect(),
            file: None,
        }
    }

    /// Reads the configuration file: the one that `argument` names, else that of `CONFIG_FILE`, else none. What is wrong
    /// with it is told with everything else.
    #[must_use]
    pub fn and_file(self, argument: Option<&Path>) -> Self {
        let named = self.environment.get("CONFIG_FILE").filter(|path| !path.is_empty()).map(PathBuf::from);
        let file = argument.map(Path::to_owned).or(named).map(|path| ConfigFile::open(&path));
        Self { file, ..self }
    }

    /// As [`Self::and_file`], with the text of the file at hand.
    #[must_use]
    pub fn and_text(self, name: &str, text: &str) -> Self {
        Self { file: Some(ConfigFile::parse(name, text)), ..self }
    }

    pub(super) fn file(&self) -> Option<&ConfigFile> {
        self.file.as_ref()
    }

    pub(super) fn source(&self, name: &'static str) -> Source<'_> {
        if let Some(text) = self.environment.get(name) {
            return Source::Variable(text);
        }
        match self.in_file(name) {
            Some(value) => Source::File(value),
            None => Source::Default(variable(name).default),
        }
    }

    fn in_file(&self, name: &'static str) -> Option<&FileValue> {
        self.file.as_ref()?.value(name)
    }

    /// The value as written, if the setting is made and is no list.
    pub fn written(&self, name: &'static str) -> Option<&str> {
        match self.source(name) {
            Source::Variable(text) => Some(text),
            Source::File(value) => value.text(),
            Source::Default(_) => None,
        }
    }

    /// The value as written, or the default.
    pub fn value(&self, name: &'static str) -> &str {
        self.written(name).unwrap_or_else(|| variable(name).default)
    }

    /// What the listed providers say, each as if it were the only one; nothing if none are listed. Of the environment
    /// they share what is no setting of a provider.
    pub(super) fn instances(&self) -> Option<Vec<(&Instance, Self)>> {
        let file = self.file.as_ref()?;
        let shared = |name: &&str| *name == "SSL_CERT_FILE";
        let environment: BTreeMap<_, _> =
            self.environment.iter().filter(|(name, _)| shared(name)).map(|(k, v)| (*k, v.clone())).collect();
        let of = |instance| {
            let raw = Self {
                environment: environment.clone(),
                outdated: BTreeSet::new(),
                file: Some(file.of_instance(instance)),
            };
            (instance, raw)
        };
        Some(file.instances()?.iter().map(of).collect())
    }

    /// Whether this is what one listed provider says.
    pub(super) fn is_instance(&self) -> bool {
        self.file.as_ref().is_some_and(ConfigFile::is_instance)
    }

    /// Where the setting stands, or may stand.
    pub(super) fn place(&self, name: &'static str) -> Place {
        if let (Source::Default(_), Some(place)) =
            (self.source(name), self.file.as_ref().and_then(|file| file.place_within(name)))
        {
            return place;
        }
        match (self.source(name), &self.file) {
            (Source::File(value), Some(file)) => file.place_of(name, value.at()),
            (Source::Default(_), Some(_)) => match variable(name).key {
                Some(key) => Place::Either { variable: name, key },
                None => Place::Variable(name),
            },
            _ => Place::Variable(name),
        }
    }

    /// What the author calls the setting: by its key where he wrote it as one.
    pub(super) fn called(&self, name: &'static str) -> &'static str {
        match (self.source(name), variable(name).key) {
            (_, Some(key)) if self.is_instance() => key.rsplit('.').next().unwrap_or(key),
            (Source::File(_), Some(key)) => key,
            _ => name,
        }
    }

    /// The problem at its place; nothing if something is missing only because it could not be read, which is told
    /// already.
    pub(super) fn placed(&self, problem: Problem) -> Option<Problem> {
        let Place::Variable(name) = problem.place else { return Some(problem) };
        let missing = matches!(problem.found, Found::NotSet { .. });
        let told_already = match self.source(name) {
            Source::Variable(_) => false,
            Source::File(value) => value.is_refused() || (missing && value.is_flawed()),
            Source::Default(_) => missing && self.file.as_ref().is_some_and(ConfigFile::is_unread),
        };
        (!told_already).then(|| Problem { place: self.place(name), ..problem })
    }

    /// What may surprise whoever wrote this, whatever it says.
    pub fn warnings(&self, process: Readers) -> Vec<Warning> {
        [self.overridden(process), self.outdated()].concat()
    }

    /// Variables that nothing reads any more.
    fn outdated(&self) -> Vec<Warning> {
        let known = self.outdated.iter().filter_map(|number| OUTDATED.get(*number));
        let told = |(name, fix): &(&'static str, &str)| Warning {
            place: (*name).into(),
            text: format!("is a variable of older versions and is not read; {fix}, and remove it"),
        };
        known.map(told).collect()
    }

    /// Variables that say something else than the file does: they are used, which may surprise who wrote the file.
    fn overridden(&self, process: Readers) -> Vec<Warning> {
        let read = VARIABLES.iter().filter(|known| known.readers.include(process));
        read.filter_map(|known| {
            let (file, in_file) = (self.file.as_ref()?, self.in_file(known.name)?);
            let told = Value::of_variable(known.form, self.environment.get(known.name)?);
            let place = file.place_of(known.name, in_file.at());
            let text = format!("is used, which says something else than {place}");
            let differs = in_file.value().is_some_and(|written| written != told);
            differs.then_some(Warning { place: known.name.into(), text })
        })
        .collect()
    }
}

impl fmt::Debug for RawConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, value): (&&'static str, &String)| (*name, variable(name).shown(value));
        f.debug_struct("RawConfig")
            .field("environment", &self.environment.iter().map(shown).collect::<BTreeMap<_, _>>())
            .field("file", &self.file)
            .finish()
    }
}
