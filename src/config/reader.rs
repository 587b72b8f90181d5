//! Typed reading of raw values. Each method reports what is wrong and goes on, so that all problems are found.

use std::path::PathBuf;
use std::time::Duration;

use super::catalog::{Readers, variable};
use super::file::{ConfigFile, Instance, ZoneEntry};
use super::place::{Place, Position};
use super::problem::{Problem, Problems, Warning};
use super::raw::{RawConfig, Source};
use super::value::flag;

/// Longest period or age that may be configured: a year. Beyond it a number is a typing error.
const LONGEST_SECONDS: i64 = 365 * 24 * 3600;

/// Reads values and collects what is wrong with them.
pub(super) struct Reader<'a> {
    raw: &'a RawConfig,
    /// Who reads.
    process: Readers,
    /// Everything wrong so far.
    problems: Vec<Problem>,
    /// Everything doubtful so far.
    warnings: Vec<Warning>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(raw: &'a RawConfig, process: Readers) -> Self {
        let of_file = raw.file().map(ConfigFile::problems).unwrap_or_default();
        Self { raw, process, problems: of_file.to_vec(), warnings: Vec::new() }
    }

    /// What was read and everything doubtful about it, or everything wrong.
    pub(super) fn end<T>(self, read: Option<T>) -> Result<(T, Vec<Warning>), Problems> {
        match read {
            Some(read) if self.problems.is_empty() => Ok((read, self.warnings)),
            Some(_) | None => Err(Problems::sorted(self.problems)),
        }
    }

    /// The problem is told at the place where the setting stands, unless that is told already.
    pub(super) fn report(&mut self, problem: Problem) {
        self.problems.extend(self.raw.placed(problem));
    }

    /// The problem, told in words at a place of the file.
    pub(super) fn report_at(
        &mut self,
        place: Option<Place>,
        told: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.problems.extend(place.map(|place| Problem::told(place, told, fix)));
    }

    /// The listed providers, each with a reader of its own for what it says; nothing if none are listed.
    pub(super) fn instances(&self) -> Option<Vec<(&'a Instance, RawConfig)>> {
        self.raw.instances()
    }

    /// What is read.
    pub(super) fn raw(&self) -> &'a RawConfig {
        self.raw
    }

    /// Reads what one listed provider says.
    pub(super) fn within<T>(&mut self, raw: &RawConfig, read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let mut reader = Reader { raw, process: self.process, problems: Vec::new(), warnings: Vec::new() };
        let value = read(&mut reader);
        self.problems.append(&mut reader.problems);
        self.warnings.append(&mut reader.warnings);
        value
    }

    /// Whether this reads what one listed provider says.
    pub(super) fn is_instance(&self) -> bool {
        self.raw.is_instance()
    }

    /// The place of a key of the file that is none of a variable.
    pub(super) fn place_at(&self, key: impl Into<String>, at: Position) -> Option<Place> {
        Some(self.raw.file()?.place_at(key, at))
    }

    pub(super) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    pub(super) fn warn(&mut self, variable: &'static str, text: impl Into<String>) {
        self.warnings.push(Warning { place: self.raw.place(variable), text: text.into() });
    }

    pub(super) fn warn_at(&mut self, place: Place, text: impl Into<String>) {
        self.warnings.push(Warning { place, text: text.into() });
    }

    /// What the author calls a setting.
    pub(super) fn called(&self, name: &'static str) -> &'static str {
        self.raw.called(name)
    }

    /// Where a setting stands, or may stand.
    pub(super) fn place(&self, name: &'static str) -> Place {
        self.raw.place(name)
    }

    /// Where the setting stands in the file, if it does and no variable wins over it.
    pub(super) fn place_in_file(&self, name: &'static str) -> Option<Place> {
        matches!(self.source(name), Source::File(_)).then(|| self.raw.place(name))
    }

    /// Whether the file says anything below a section.
    pub(super) fn is_section_used(&self, section: &str) -> bool {
        self.section(section).is_some()
    }

    /// Where the file says something below a section.
    pub(super) fn section(&self, section: &str) -> Option<Place> {
        let file = self.raw.file()?;
        Some(file.place_at(section, file.section(section)?))
    }

    /// Whether the process reads a setting at all.
    pub(super) fn reads(&self, name: &'static str) -> bool {
        variable(name).readers.include(self.process)
    }

    fn source(&self, name: &'static str) -> Source<'a> {
        debug_assert!(variable(name).readers.include(self.process), "{name}: the catalog says who reads it");
        self.raw.source(name)
    }

    /// Whether the user set it, also to nothing.
    pub(super) fn is_set(&self, name: &'static str) -> bool {
        !matches!(self.source(name), Source::Default(_))
    }

    /// Whether it is set by its variable.
    pub(super) fn is_variable(&self, name: &'static str) -> bool {
        matches!(self.source(name), Source::Variable(_))
    }

    /// Value or default, as it is.
    pub(super) fn verbatim(&self, name: &'static str) -> &'a str {
        match self.source(name) {
            Source::Variable(text) | Source::Default(text) => text,
            Source::File(value) => value.text().unwrap_or(variable(name).default),
        }
    }

    /// Value or default without blanks around it.
    pub(super) fn text(&self, name: &'static str) -> &'a str {
        self.verbatim(name).trim()
    }

    /// A path; nothing if empty.
    pub(super) fn path(&self, name: &'static str) -> Option<PathBuf> {
        Some(self.text(name)).filter(|text| !text.is_empty()).map(PathBuf::from)
    }

    /// A value that `parse` understands; its error is the limit of the problem.
    pub(super) fn parsed<T>(
        &mut self,
        name: &'static str,
        fix: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(name);
        match parse(text) {
            Ok(value) => Some(value),
            Err(limit) => {
                self.report(Problem::with_value(name, text, limit, fix));
                None
            }
        }
    }

    /// `true`, `1`, `yes`, `false`, `0`, `no`, in any case (contract §7.1).
    pub(super) fn boolean(&mut self, name: &'static str) -> bool {
        let parse = |text: &str| flag(text).ok_or("it is neither true nor false".to_owned());
        self.parsed(name, "write true or false", parse).unwrap_or_default()
    }

    /// A whole number within both limits; the lower limit if a problem was reported.
    pub(super) fn whole(&mut self, name: &'static str, least: i64, most: i64) -> i64 {
        let limit = format!("it must be a whole number from {least} to {most}");
        let parse =
            |text: &str| text.parse().ok().filter(|value| (least..=most).contains(value)).ok_or(limit);
        let fix = format!("write for example {}", variable(name).default);
        self.parsed(name, &fix, parse).unwrap_or(least)
    }

    /// Whole seconds, at least `least`.
    pub(super) fn seconds(&mut self, name: &'static str, least: i64) -> Duration {
        let seconds = self.whole(name, least, LONGEST_SECONDS);
        Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
    }

    /// Whole seconds where 0 means "on events only".
    pub(super) fn period(&mut self, name: &'static str) -> Option<Duration> {
        Some(self.seconds(name, 0)).filter(|period| !period.is_zero())
    }

    /// A decimal number within both limits; the lower limit if a problem was reported.
    pub(super) fn decimal(&mut self, name: &'static str, least: f64, most: f64) -> f64 {
        let limit = format!("it must be a number from {least} to {most}");
        let parse =
            |text: &str| text.parse().ok().filter(|value| (least..=most).contains(value)).ok_or(limit);
        let fix = format!("write for example {}", variable(name).default);
        self.parsed(name, &fix, parse).unwrap_or(least)
    }

    /// A list, each element parsed, none twice.
    pub(super) fn list<T: Ord + Clone>(
        &mut self,
        name: &'static str,
        fix: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let mut items: Vec<T> = Vec::new();
        for (place, element) in self.elements(name) {
            let limit = match parse(&element) {
                Ok(item) if !items.contains(&item) => {
                    items.push(item);
                    continue;
                }
                Ok(_) => "it is listed twice".to_owned(),
                Err(limit) => limit,
            };
            self.report(Problem::with_value(place, element, limit, fix));
        }
        items
    }

    /// The elements of a list without blanks around them: separated by commas in a variable, of their own in the file.
    fn elements(&self, name: &'static str) -> Vec<(Place, String)> {
        match (self.source(name), self.raw.file()) {
            (Source::File(value), Some(file)) => {
                let elements = value.elements().iter();
                let placed = elements.map(|element| {
                    (file.place_in(name, element.index, element.at), element.text.trim().to_owned())
                });
                placed.collect()
            }
            _ => split(self.verbatim(name)).into_iter().map(|element| (name.into(), element)).collect(),
        }
    }

    /// The zones of the file, with the places at which they are published; none if the variable wins.
    pub(super) fn listed_zones(&self, name: &'static str) -> &'a [ZoneEntry] {
        match self.source(name) {
            Source::File(value) => value.zones(),
            Source::Variable(_) | Source::Default(_) => &[],
        }
    }

    /// Place, text and the three parts of each zone, or how many parts it has instead.
    pub(super) fn zones(&self, name: &'static str) -> Vec<(Place, String, Result<[String; 3], usize>)> {
        if let (Source::File(value), Some(file)) = (self.source(name), self.raw.file()) {
            let zones = value.zones().iter();
            let placed = zones.map(|zone| {
                let fields = zone.fields.clone().map(|field| field.trim().to_owned());
                (file.place_in(name, zone.index, zone.at), zone.shown(), Ok(fields))
            });
            return placed.collect();
        }
        let parts = self.text(name).split(';').map(str::trim).filter(|part| !part.is_empty());
        let placed = parts.map(|part| {
            let fields: Vec<_> = part.split(':').map(|field| field.trim().to_owned()).collect();
            let fields = fields.try_into().map_err(|fields: Vec<String>| fields.len());
            (name.into(), part.to_owned(), fields)
        });
        placed.collect()
    }

    /// Where a zone of the file stands.
    pub(super) fn place_of_zone(&self, name: &'static str, zone: &ZoneEntry) -> Option<Place> {
        Some(self.raw.file()?.place_in(name, zone.index, zone.at))
    }
}

/// Splits at commas; `\,` is a comma inside an element. As in k8gb, nothing behind the last comma is no
/// element; unlike there, blanks around elements are dropped.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut elements = vec![String::new()];
    let mut rest = text.trim().chars().peekable();
    while let Some(letter) = rest.next() {
        match (letter, elements.last_mut()) {
            ('\\', Some(element)) if rest.next_if_eq(&',').is_some() => element.push(','),
            (',', _) => elements.push(String::new()),
            (_, Some(element)) => element.push(letter),
            (_, None) => {}
        }
    }
    if elements.last().is_some_and(|last| last.trim().is_empty()) {
        elements.pop();
    }
    elements.into_iter().map(|element| element.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn lists_are_split_as_in_k8gb_but_blanks_are_dropped() {
        assert_eq!(split(""), Vec::<String>::new());
        assert_eq!(split("eu"), ["eu"]);
        assert_eq!(split(" eu , us "), ["eu", "us"]);
        assert_eq!(split("eu,us,"), ["eu", "us"]);
        assert_eq!(split(",eu"), ["", "eu"]);
        assert_eq!(split("eu,,us"), ["eu", "", "us"]);
        assert_eq!(split("a\\,b,c\\d"), ["a,b", "c\\d"]);
    }
}
