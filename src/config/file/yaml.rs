//! YAML as a tree whose nodes know where they stand.
//!
//! Typed deserialisation ends at the first problem; of a tree, everything that is wrong can be told at once.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, Spanned};

use crate::config::place::Position;

/// Twice as deep as the format goes; what is deeper is refused before it costs a stack.
const MAX_DEPTH: usize = 8;
/// A file for a hundred zones has some 500 nodes.
const MAX_NODES: usize = 20_000;

/// A value and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) content: Content,
}

/// What stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing, `null` or `~`.
    Nothing,
    /// `true` or `false`.
    Flag(bool),
    /// A number as it is written: `2.10` is no `2.1` where it is a version.
    Number(String),
    /// Everything else that is no collection.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in the order of the file, with its keys as often as they are written.
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) at: Position,
    pub(super) name: String,
}

/// Why a text is no YAML that is taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: Option<Position>,
    pub(super) reason: String,
}

/// The one document of `text`.
pub(super) fn parse(text: &str) -> Result<Node, Malformed> {
    let found: Result<Spanned<Found>, _> = serde_saphyr::from_str_with_options(text, options());
    match found {
        Ok(found) => Ok(node(text, found)),
        Err(error) => {
            let at = error.location().map(|location| position(&location));
            Err(Malformed { at, reason: reason(&error) })
        }
    }
}

/// The parser's own words, without the lines of the file that it likes to show: a secret may stand there.
fn reason(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;
    match error.without_snippet() {
        Error::MultipleDocuments { .. } | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "it holds more than one document".to_owned()
        }
        Error::Budget { breach: BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. }, .. } => {
            "anchors and aliases are not taken".to_owned()
        }
        Error::Budget { .. } => "it is larger or deeper than any configuration".to_owned(),
        other => {
            let said = other.to_string();
            let line = said.lines().next().unwrap_or_default();
            line.split_once(" at line ").map_or(line, |(before, _)| before).to_owned()
        }
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        // No setting needs an alias, and without them no file unfolds to more than it is.
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
        },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        // As YAML 1.2: `no` is Norway.
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        emit_comments: false,
    }
}

/// As it comes from the parser: numbers are values here, and not yet what is written.
enum Found {
    Nothing,
    Flag(bool),
    Number,
    Text(String),
    List(Vec<Spanned<Self>>),
    Mapping(Vec<(Spanned<String>, Spanned<Self>)>),
}

fn node(text: &str, found: Spanned<Found>) -> Node {
    let content = match found.value {
        Found::Nothing => Content::Nothing,
        Found::Flag(flag) => Content::Flag(flag),
        Found::Number => Content::Number(written(text, &found.referenced)),
        Found::Text(value) => Content::Text(value),
        Found::List(items) => Content::List(items.into_iter().map(|item| node(text, item)).collect()),
        Found::Mapping(entries) => Content::Mapping(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let key = Key { at: position(&key.referenced), name: key.value };
                    (key, node(text, value))
                })
                .collect(),
        ),
    };
    Node { at: position(&found.referenced), content }
}

fn position(location: &serde_saphyr::Location) -> Position {
    Position { line: location.line(), column: location.column() }
}

/// The piece of the file at that place.
fn written(text: &str, location: &serde_saphyr::Location) -> String {
    let span = location.span();
    let piece = span.byte_offset().zip(span.byte_len()).and_then(|(offset, length)| {
        let (start, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        text.get(start..start.checked_add(length)?)
    });
    piece.unwrap_or_default().trim().to_owned()
}

impl<'de> Deserialize<'de> for Found {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FoundVisitor)
    }
}

struct FoundVisitor;

impl<'de> Visitor<'de> for FoundVisitor {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Nothing)
    }

    fn visit_none<E>(self) -> Result<Found, E> {
        Ok(Found::Nothing)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Found, E> {
        Ok(Found::Flag(flag))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Found, E> {
        Ok(Found::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Found, E> {
        Ok(Found::Number)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Found, E> {
        Ok(Found::Number)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Found, E> {
        Ok(Found::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Found, E> {
        Ok(Found::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Found, E> {
        Ok(Found::Text(text.to_owned()))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Found, E> {
        Err(E::custom("binary values are not taken"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Found, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Found::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Found, A::Error> {
        let mut mapping = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            mapping.push(entry);
        }
        Ok(Found::Mapping(mapping))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree on one line, each node with its place.
    fn shown(node: &Node) -> String {
        let Position { line, column } = node.at;
        let content = match &node.content {
            Content::Nothing => "nothing".to_owned(),
            Content::Flag(flag) => flag.to_string(),
            Content::Number(number) => format!("number {number}"),
            Content::Text(text) => format!("{text:?}"),
            Content::List(items) => {
                format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
            Content::Mapping(entries) => {
                let entry =
                    |(key, value): &(Key, Node)| format!("{}@{}: {}", key.name, key.at.column, shown(value));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        };
        format!("{line}:{column} {content}")
    }

    #[test]
    fn every_value_knows_its_kind_and_its_place() {
        let cases = [
            ("a: 1", "1:1 {a@1: 1:4 number 1}"),
            ("a: 2.10", "1:1 {a@1: 1:4 number 2.10}"),
            ("a: \"5\"", "1:1 {a@1: 1:4 \"5\"}"),
            ("a: true\nb: no", "1:1 {a@1: 1:4 true, b@1: 2:4 \"no\"}"),
            ("a: [x, -3] # why", "1:1 {a@1: 1:4 [1:5 \"x\", 1:8 number -3]}"),
            ("a:\n- x\n- .inf", "1:1 {a@1: 2:3 [2:3 \"x\", 3:3 number .inf]}"),
            ("a: é\nb: 7", "1:1 {a@1: 1:4 \"é\", b@1: 2:4 number 7}"),
            ("é: 0x1F", "1:1 {é@1: 1:4 number 0x1F}"),
            ("a: 1\na: 2", "1:1 {a@1: 1:4 number 1, a@1: 2:4 number 2}"),
            ("a:\n  <<: x", "1:1 {a@1: 2:3 {<<@3: 2:7 \"x\"}}"),
            ("5: x", "1:1 {5@1: 1:4 \"x\"}"),
            ("a: 99999999999999999999", "1:1 {a@1: 1:4 number 99999999999999999999}"),
            ("a: off", "1:1 {a@1: 1:4 \"off\"}"),
            ("a: !!str 5", "1:1 {a@1: 1:10 \"5\"}"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).as_ref().map(shown).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(
            parse("a:\nb: ~").map(|node| match node.content {
                Content::Mapping(entries) => entries.into_iter().map(|(_, value)| value.content).collect(),
                other => vec![other],
            }),
            Ok(vec![Content::Nothing, Content::Nothing])
        );
        assert_eq!(
            parse("\u{feff}a: 1\r\nb: x\r\n").as_ref().map(shown).as_deref(),
            Ok("1:1 {a@1: 1:4 number 1, b@1: 2:4 \"x\"}")
        );
        assert_eq!(parse("").map(|node| node.content), Ok(Content::Nothing));
        assert_eq!(parse("# nothing\n").map(|node| node.content), Ok(Content::Nothing));
    }

    #[test]
    fn what_is_no_yaml_or_too_much_of_it_is_refused_with_its_place() {
        let deep = format!("{}x{}", "[".repeat(40), "]".repeat(40));
        let cases = [
            ("a: [1", ""),
            ("a: b: c", ""),
            ("a: 'open", ""),
            ("a:\n\tb: 1", ""),
            ("a: \u{0}", ""),
            ("a: &x 1", "anchors and aliases are not taken"),
            ("a: &x 1\nb: *x", "anchors and aliases are not taken"),
            ("a: *x", ""),
            ("a: 1\n---\nb: 2", "it holds more than one document"),
            ("? [a]\n: 1", ""),
            (&deep, "it is larger or deeper than any configuration"),
        ];
        for (text, expected) in cases {
            let malformed = parse(text).unwrap_err();
            assert!(malformed.reason.contains(expected), "{text:.20}: {malformed:?}");
        }
    }
}
