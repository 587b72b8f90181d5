//! Typed reading of raw values. Each method reports what is wrong and goes on, so that all problems are found.

use std::path::PathBuf;
use std::time::Duration;

use super::problem::{Problem, Warning};
use super::raw::RawConfig;

/// Longest period or age that may be configured: a year. Beyond it a number is a typing error.
const LONGEST_SECONDS: i64 = 365 * 24 * 3600;

/// Reads values and collects what is wrong with them.
pub(super) struct Reader<'a> {
    raw: &'a RawConfig,
    /// Everything wrong so far.
    pub(super) problems: Vec<Problem>,
    /// Everything doubtful so far.
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(raw: &'a RawConfig) -> Self {
        Self { raw, problems: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub(super) fn warn(&mut self, variable: &'static str, text: impl Into<String>) {
        self.warnings.push(Warning { variable, text: text.into() });
    }

    /// Whether the user set it, also to nothing.
    pub(super) fn is_set(&self, name: &'static str) -> bool {
        self.raw.written(name).is_some()
    }

    /// Value or default, as it is.
    pub(super) fn verbatim(&self, name: &'static str) -> &'a str {
        self.raw.value(name)
    }

    /// Value or default without blanks around it.
    pub(super) fn text(&self, name: &'static str) -> &'a str {
        self.raw.value(name).trim()
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
        let parse = |text: &str| match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Ok(true),
            "false" | "0" | "no" => Ok(false),
            _ => Err("it is neither true nor false".to_owned()),
        };
        self.parsed(name, "write true or false", parse).unwrap_or_default()
    }

    /// A whole number within both limits; the lower limit if a problem was reported.
    pub(super) fn whole(&mut self, name: &'static str, least: i64, most: i64) -> i64 {
        let limit = format!("it must be a whole number from {least} to {most}");
        let parse =
            |text: &str| text.parse().ok().filter(|value| (least..=most).contains(value)).ok_or(limit);
        let fix = format!("write for example {}", super::raw::variable(name).default);
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
        let fix = format!("write for example {}", super::raw::variable(name).default);
        self.parsed(name, &fix, parse).unwrap_or(least)
    }

    /// A comma list, each element parsed, none twice.
    pub(super) fn list<T: Ord + Clone>(
        &mut self,
        name: &'static str,
        fix: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let mut items: Vec<T> = Vec::new();
        for element in split(self.verbatim(name)) {
            let limit = match parse(&element) {
                Ok(item) if !items.contains(&item) => {
                    items.push(item);
                    continue;
                }
                Ok(_) => "it is listed twice".to_owned(),
                Err(limit) => limit,
            };
            self.report(Problem::with_value(name, element, limit, fix));
        }
        items
    }
}

/// Splits at commas; `\,` is a comma inside an element. As in k8gb, nothing behind the last comma is no
/// element; unlike there, blanks around elements are dropped.
fn split(text: &str) -> Vec<String> {
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
