//! Severities of a finding, and the chapters of the README.

use std::collections::BTreeSet;
use std::path::Path;

use super::{same, spans};
use crate::support::{Database, Journal, document, keysweep};

/// The severities of everything that `check` finds under a config of these lines.
fn found(database: &Database, text: &str) -> Vec<String> {
    let config = database.config_text(text);
    let answer = keysweep(["--config", config.to_str().unwrap(), "--json", "check"]);
    let severity = |line: serde_json::Value| line["severity"].as_str().unwrap().to_owned();
    answer.json_lines().into_iter().map(severity).collect()
}

#[test]
fn every_severity_is_in_the_readme_and_no_other() {
    let now = crate::support::now();
    let database = Database::with_keys(Journal::Wal, [("a", "done", now), ("odd", "odd", now)]);
    // Instants in milliseconds that are called seconds, and a trigger that hangs on the table.
    let wrong = Database::with_keys(Journal::Wal, [("a", "done", now * 1e3), ("b", "done", now * 1e3)]);
    let held = Database::with_keys(Journal::Wal, [("a", "done", now)]);
    held.shell("CREATE TRIGGER hung AFTER DELETE ON keys BEGIN SELECT 1; END");
    let block = |name, path: &Path| format!("[[database]]\nname = '{name}'\npath = {path:?}\n");
    let text = block("odd", &database.path())
        + &block("wrong", &wrong.path())
        + &block("held", &held.path())
        + &block("gone", Path::new("/nowhere/app.db"));
    let seen: BTreeSet<String> = found(&database, &text).into_iter().collect();
    let readme = document("README.md");
    let table = readme.split("\n| severity | meaning |").nth(1).unwrap().split("\n\n").next().unwrap();
    let first = |line: &str| spans(line.split('|').nth(1)?).next().map(str::to_owned);
    same("severities in README.md", &seen, &table.lines().filter_map(first).collect());
}

/// The anchor that a forge makes of a heading.
fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase().replace(' ', "-");
    heading.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

#[test]
fn the_readme_lists_its_chapters_and_links_only_to_what_is_there() {
    let readme = document("README.md");
    let headings = readme.lines().filter(|line| line.starts_with("## ") || line.starts_with("### "));
    let anchors: BTreeSet<String> = headings.map(|line| anchor(line.trim_start_matches('#'))).collect();
    let links: BTreeSet<String> =
        readme.split("](#").skip(1).map(|rest| rest.split(')').next().unwrap().to_owned()).collect();
    let chapters = readme.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor);
    let unlisted: Vec<String> = chapters.filter(|chapter| !links.contains(chapter)).collect();
    assert_eq!(unlisted, [""; 0], "chapters that the list at the top does not have");
    let dead: Vec<&String> = links.difference(&anchors).collect();
    assert!(dead.is_empty(), "links to nowhere: {dead:?}");
    for link in readme.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        let is_file = !link.starts_with('#') && !link.contains("://");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(link.split('#').next().unwrap());
        assert!(!is_file || file.exists(), "a link to {link}, which is not there");
    }
}
