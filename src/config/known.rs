//! The keys that there are, and what is said of one that there is not.

pub(super) const TOP: &[&str] = &["state_dir", "http", "defaults", "database"];
/// Values at the top, outside any section.
pub(super) const SINGLE: &[&str] = &["state_dir"];
pub(super) const HTTP: &[&str] = &["listen", "tls", "users"];
pub(super) const TLS: &[&str] = &["cert", "key"];
/// Tables below a table, whose values the environment sets too.
pub(super) const NESTED: [[&str; 2]; 2] = [["http", "tls"], ["http", "users"]];
pub(super) const DEFAULTS: &[&str] = &[
    "schedule",
    "every",
    "window",
    "budget",
    "batch",
    "share",
    "busy_timeout",
    "census",
    "max_share",
    "settle",
    "checkpoint",
    "max_wal",
    "enabled",
    "retention",
];
pub(super) const DATABASE: &[&str] = &[
    "name",
    "path",
    "glob",
    "schedule",
    "every",
    "window",
    "budget",
    "batch",
    "share",
    "busy_timeout",
    "census",
    "max_share",
    "settle",
    "checkpoint",
    "max_wal",
    "enabled",
    "retention",
    "table",
];
pub(super) const TABLE: &[&str] = &[
    "table",
    "name",
    "key",
    "done",
    "pending",
    "keep",
    "expires",
    "since",
    "retention",
    "promise",
    "abandoned",
    "references",
];
pub(super) const STATE: &[&str] = &["column", "in", "is"];
pub(super) const CLOCK: &[&str] = &["column", "unit", "never"];
pub(super) const ABANDONED: &[&str] = &["column", "unit", "never", "after"];

/// Keys of the documented config that a later version reads. Most are guards: whoever sets one must
/// learn that it does not guard yet.
const LATER: [&str; 4] = ["max_lag", "url", "url_file", "zone"];

/// Units that a later version reads.
pub(super) const LATER_UNITS: [&str; 2] = ["timestamp", "timestamptz"];

pub(super) fn is_later(key: &str) -> bool {
    LATER.contains(&key)
}

/// The words that tell a missing feature from a mistake.
pub(super) const LATER_WORDS: &str = "is not in this version";

pub(super) fn later(what: &str) -> String {
    format!("`{what}` {LATER_WORDS}")
}

/// What is said of a key that a section does not have.
pub(super) fn unknown(key: &str, known: &[&str]) -> String {
    let choice = format!("expected one of {}", known.join(", "));
    if is_later(key) {
        return format!("{}; {choice}", later(key));
    }
    match near(key, known) {
        Some(near) => format!("unknown key, did you mean `{near}`? {choice}"),
        None => format!("unknown key, {choice}"),
    }
}

fn near<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let key = key.to_lowercase().replace('-', "_");
    let close = |word: &str| if word.len() < 5 { 1 } else { 2 };
    known
        .iter()
        .map(|word| (distance(&key, word), *word))
        .filter(|(distance, word)| *distance <= close(word))
        .min()
        .map(|(_, word)| word)
}

/// Characters to insert, delete, replace or swap with their neighbour to come from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut cost = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                cost = cost.min(rows[i - 2][j - 2] + 1);
            }
            row.push(cost);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_answered_with_the_word_that_was_meant() {
        for (typed, meant) in [
            ("bacth", "batch"),
            ("Batch", "batch"),
            ("busy-timeout", "busy_timeout"),
            ("retenton", "retention"),
        ] {
            assert_eq!(near(typed, DEFAULTS), Some(meant));
        }
        assert_eq!(near("colour", DEFAULTS), None);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn a_database_takes_every_key_of_the_defaults() {
        assert!(DEFAULTS.iter().all(|key| DATABASE.contains(key)));
    }

    #[test]
    fn no_key_is_both_known_and_later() {
        let all = [TOP, HTTP, DATABASE, TABLE, STATE, CLOCK, ABANDONED].concat();
        assert!(!all.into_iter().any(is_later));
    }
}
