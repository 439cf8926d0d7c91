//! `done`, `pending` and `keep` -> tests of one column each.

use config::ValueKind;

use super::reader::{Node, Section, mismatch};
use super::{decode, known};
use crate::plan::{Done, StateTest};

/// SQLite refuses an expression that is too deep; no state column has so many values.
const MOST_VALUES: usize = 100;

/// A test, and where it stands.
pub(super) struct Placed<'a> {
    pub(super) test: StateTest,
    section: Section<'a>,
}

/// One test or a list of them, any of which is enough. Nothing where one of them is wrong.
pub(super) fn tests<'a>(section: &Section<'a>, key: &str) -> Option<Vec<Placed<'a>>> {
    let sections = section.one_or_more(key, known::STATE)?;
    // Collected in between: every test is looked at, also behind a wrong one.
    let tests: Vec<Option<Placed<'a>>> = sections.into_iter().map(placed).collect();
    tests.into_iter().collect()
}

fn placed(section: Section<'_>) -> Option<Placed<'_>> {
    let test = test(&section)?;
    Some(Placed { test, section })
}

fn test(section: &Section<'_>) -> Option<StateTest> {
    let column = section.require("column", decode::column);
    if section.has("is") {
        if section.has("in") {
            section.refuse("is", "expected `in` or `is`, found both");
        }
        let is_null = section.read("is", decode::nullness)?;
        return column.map(if is_null { StateTest::Null } else { StateTest::NotNull });
    }
    let values = section.require_list("in", decode::literal);
    if values.as_ref().is_some_and(|values| values.len() > MOST_VALUES) {
        section.refuse("in", format!("expected at most {MOST_VALUES} values"));
    }
    Some(StateTest::OneOf { column: column?, values: values? })
}

/// The tests alone.
pub(super) fn plain(placed: &[Placed<'_>]) -> Vec<StateTest> {
    placed.iter().map(|placed| placed.test.clone()).collect()
}

/// What `done` says; the tests are empty for `"every-row"`.
pub(super) fn done<'a>(section: &Section<'a>) -> Option<(Done, Vec<Placed<'a>>)> {
    match section.get("done") {
        Some(Node { value, .. }) if matches!(&value.kind, ValueKind::String(text) if text == "every-row") => {
            Some((Done::EveryRow, Vec::new()))
        }
        Some(node @ Node { .. }) if matches!(node.value.kind, ValueKind::String(_)) => {
            let expected = "a test { column, in } or { column, is }, a list of tests, or \"every-row\"";
            section.refuse("done", mismatch(expected, node.value));
            None
        }
        _ => tests(section, "done").map(|tests| (Done::Any(plain(&tests)), tests)),
    }
}

/// Refuse what these tests share with others by this measure: `why` says what is wrong with it.
pub(super) fn refuse_shared(
    tests: &[Placed<'_>],
    others: &[StateTest],
    shares: fn(&StateTest, &StateTest) -> bool,
    why: &str,
) {
    for Placed { test, section } in tests {
        for other in others.iter().filter(|other| shares(test, other)) {
            match (test, other) {
                (StateTest::OneOf { values, .. }, StateTest::OneOf { values: taken, .. }) => {
                    let nodes = section.get("in").and_then(|node| node.elements()).unwrap_or_default();
                    for (node, _) in nodes.iter().zip(values).filter(|(_, value)| taken.contains(value)) {
                        section.reader.refuse(node, why);
                    }
                }
                _ => section.refuse(if section.has("is") { "is" } else { "in" }, why),
            }
        }
    }
}
