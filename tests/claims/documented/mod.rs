//! What exists is documented, and what is documented exists: the binary's own words beside the README, the man page
//! and the documented config.

mod commands;
mod config;
mod metrics;
mod words;

use std::collections::BTreeSet;

/// What stands between backticks on one line of a text.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The words of a text that begin so, of letters, digits and `_`.
fn words(text: &str, start: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(start)).map(str::to_owned).collect()
}

/// Nothing is on one side alone.
#[track_caller]
fn same(what: &str, exists: &BTreeSet<String>, documented: &BTreeSet<String>) {
    assert!(!exists.is_empty(), "no {what}: is it read right?");
    let alone = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>().join(", ");
    let (undocumented, invented) = (alone(exists, documented), alone(documented, exists));
    assert!(undocumented.is_empty(), "{what}: exists and is not documented: {undocumented}");
    assert!(invented.is_empty(), "{what}: is documented and does not exist: {invented}");
}
