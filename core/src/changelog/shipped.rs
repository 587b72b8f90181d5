//! The copy of the chain that leaves the cluster line by line, and the comparison with it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::chain::{Line, SealKey, Tail};
use super::verify::{Fault, Report, by_number, verify_from};

/// Key of a shipped line of the chain.
const LINE_KEY: &str = "changeLog";
/// Key of a line that a writer ships when it starts: the last line of the chain that it found.
const RESUME_KEY: &str = "chainResumesAfter";

impl Line {
    /// The line as it is shipped: `{"changeLog":<line>}` in canonical JSON, without a line break.
    pub fn shipped(&self) -> String {
        format!("{{\"{LINE_KEY}\":{}}}", self.canonical())
    }

    /// What a writer ships when it starts and this line is the last one: `{"chainResumesAfter":<line>}`.
    ///
    /// A writer that is killed between storing a line and shipping it leaves a hole in the shipped copy; only
    /// the last line can be such a hole, and this fills it. Where there is no hole it is a second copy, which proves
    /// nothing of its own: that it is there depends on how often writers start, which the chain does not tell.
    pub fn shipped_on_resume(&self) -> String {
        format!("{{\"{RESUME_KEY}\":{}}}", self.canonical())
    }
}

/// Checks the chain as [`verify`](super::verify()) does, and compares it with what a file holds.
///
/// Lines of the file that are not of the change log are passed over. That is safe: a line that was damaged
/// so much that it is passed over leaves a number that is missing. Every line of the chain must be there; of one
/// that a writer shipped again when it started, one copy is enough.
pub fn verify_against(lines: &[Line], key: Option<&SealKey>, file: &[u8]) -> Report {
    verify_against_from(&Tail::START, lines, key, file)
}

/// The same for a chain that begins behind `start`.
pub fn verify_against_from(start: &Tail, lines: &[Line], key: Option<&SealKey>, file: &[u8]) -> Report {
    let report = verify_from(start, lines, key);
    let mut comparison = Comparison { chain: by_number(lines), last: 0, faults: Vec::new() };
    for (index, text) in file.split(|byte| *byte == b'\n').enumerate() {
        comparison.step(index as u64 + 1, text);
    }
    report.with_shipped(comparison.finish())
}

/// What a line of the file is, as far as it still says so.
enum Kind {
    /// Something else's.
    Other,
    /// It names our key but cannot be read.
    Damaged,
    /// A line of the chain.
    Line(u64),
    /// A writer's start.
    Resume(u64),
}

fn kind_of(text: &[u8]) -> Kind {
    #[derive(Deserialize)]
    struct Numbered {
        line: u64,
    }
    #[derive(Deserialize)]
    struct Shipped {
        #[serde(rename = "changeLog")]
        line: Option<Numbered>,
        #[serde(rename = "chainResumesAfter")]
        resume: Option<Numbered>,
    }
    match serde_json::from_slice::<Shipped>(text) {
        Ok(Shipped { line: Some(found), resume: None }) => Kind::Line(found.line),
        Ok(Shipped { line: None, resume: Some(found) }) => Kind::Resume(found.line),
        Ok(Shipped { line: None, resume: None }) => Kind::Other,
        Ok(Shipped { line: Some(_), resume: Some(_) }) => Kind::Damaged,
        Err(_) if names_our_key(text) => Kind::Damaged,
        Err(_) => Kind::Other,
    }
}

fn names_our_key(text: &[u8]) -> bool {
    [LINE_KEY, RESUME_KEY]
        .iter()
        .any(|key| text.strip_prefix(b"{\"").is_some_and(|rest| rest.starts_with(key.as_bytes())))
}

struct Comparison<'a> {
    chain: BTreeMap<u64, &'a Line>,
    /// The highest line of the chain seen in the file so far.
    last: u64,
    faults: Vec<Fault>,
}

impl Comparison<'_> {
    fn step(&mut self, position: u64, text: &[u8]) {
        match kind_of(text) {
            Kind::Other => {}
            Kind::Damaged => self.faults.push(Fault::ShippedDamaged { position }),
            Kind::Line(line) => self.compare(position, line, text, Line::shipped),
            // A writer's start repeats the last line, or brings it if it never left the cluster.
            Kind::Resume(line) if line == self.last => {
                let _intact = self.compare_bytes(position, line, text, Line::shipped_on_resume);
            }
            Kind::Resume(line) => self.compare(position, line, text, Line::shipped_on_resume),
        }
    }

    fn compare(&mut self, position: u64, line: u64, text: &[u8], render: fn(&Line) -> String) {
        if line <= self.last {
            self.faults.push(Fault::ShippedOutOfOrder { line, after: self.last, position });
            return;
        }
        let intact = self.compare_bytes(position, line, text, render);
        // A line whose number was damaged must not make all that follow look misplaced.
        if intact || line == self.last + 1 {
            self.skip_to(line);
            self.last = line;
        }
    }

    fn compare_bytes(&mut self, position: u64, line: u64, text: &[u8], render: fn(&Line) -> String) -> bool {
        match self.chain.get(&line) {
            Some(stored) if render(stored).as_bytes() == text => return true,
            Some(_) => self.faults.push(Fault::DiffersFromShipped { line, position }),
            None => self.faults.push(Fault::MissingInCluster { line, position }),
        }
        false
    }

    /// Everything between the last line seen and this one is missing in the file.
    fn skip_to(&mut self, line: u64) {
        let mut missing = self.chain.range(self.last + 1..line).map(|(number, _)| *number);
        if let Some(first) = missing.next() {
            self.faults.push(Fault::MissingInFile { first, last: missing.next_back().unwrap_or(first) });
        }
    }

    fn finish(mut self) -> Vec<Fault> {
        let end = self.chain.keys().next_back().map_or(0, |last| last.saturating_add(1));
        if end > self.last {
            self.skip_to(end);
        }
        self.faults
    }
}
