//! Keys of the config: those that the binary names beside `config/keysweep.toml`.

use std::collections::{BTreeMap, BTreeSet};

use super::same;
use crate::support::{Database, Journal, document, keysweep};

/// Where a key that nobody knows is put, and the section in which the documented file has those beside it.
const PLACES: [(&str, &str); 9] = [
    ("", "zzzz = 1"),
    ("http", "[http]\nzzzz = 1"),
    ("http.tls", "[http.tls]\nzzzz = 1"),
    ("defaults", "[defaults]\nzzzz = 1"),
    ("database", "[[database]]\nzzzz = 1"),
    ("database.table", "[[database]]\n[[database.table]]\nzzzz = 1"),
    ("done", "[[database]]\n[[database.table]]\ndone = { zzzz = 1 }"),
    ("expires", "[[database]]\n[[database.table]]\nexpires = { zzzz = 1 }"),
    ("abandoned", "[[database]]\n[[database.table]]\nabandoned = { zzzz = 1 }"),
];

/// The keys that the binary expects beside the unknown one.
fn expected(config: &str) -> BTreeSet<String> {
    let database = Database::with_keys(Journal::Wal, []);
    let config = database.config_text(config);
    let said = keysweep(["--config", config.to_str().unwrap(), "check"]).stderr;
    let line =
        said.lines().find(|line| line.contains("expected one of ")).unwrap_or_else(|| panic!("{said}"));
    let keys = line.split("expected one of ").nth(1).unwrap();
    keys.split(", ").map(|key| key.trim().to_owned()).collect()
}

/// The keys of each section in the documented file, those in comments too.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in document("config/keysweep.toml").lines() {
        let line = line.strip_prefix("# ").unwrap_or(line);
        let is_header = line.starts_with('[') && line.ends_with(']') && !line.contains(' ');
        if is_header {
            section = line.trim_matches(['[', ']']).to_owned();
            // A table is a key of what it is in.
            let (above, name) = section.rsplit_once('.').unwrap_or(("", &section));
            found.entry(above.to_owned()).or_default().insert(name.to_owned());
        } else if let Some((key, value)) = line.split_once(" = ").filter(|(key, _)| is_key(key)) {
            found.entry(section.clone()).or_default().insert(key.to_owned());
            let inline =
                value.split(['{', ',']).filter_map(|part| part.split_once(" = ")).map(|(key, _)| key.trim());
            found
                .entry(key.to_owned())
                .or_default()
                .extend(inline.filter(|key| is_key(key)).map(str::to_owned));
        }
    }
    found
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[test]
fn every_key_is_in_the_documented_config_and_no_other() {
    let documented = documented();
    let of = |section: &str| documented.get(section).cloned().unwrap_or_default();
    for (section, config) in PLACES {
        let exists = expected(config);
        let there = match section {
            // Every key of the defaults may stand in a database, as is said there.
            "database" => &of("database") | &of("defaults"),
            // States and clocks are documented together, by several keys.
            "done" => &(&of("done") | &of("pending")) | &of("keep"),
            "expires" => &of("expires") | &of("since"),
            "abandoned" => &of("abandoned") | &of("expires"),
            section => of(section),
        };
        // A word about a key is enough where it is the same as elsewhere: `is`, `never`.
        let prose = document("config/keysweep.toml");
        let in_prose =
            |key: &String| prose.contains(&format!("{key} = ")) || prose.contains(&format!("`{key}`"));
        let there = if section.is_empty()
            || section.contains("database")
            || section.starts_with("http")
            || section == "defaults"
        {
            there
        } else {
            there.into_iter().chain(exists.iter().filter(|key| in_prose(key)).cloned()).collect()
        };
        same(&format!("keys of [{section}]"), &exists, &there);
    }
}
