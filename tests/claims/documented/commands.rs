//! Commands, flags, exit statuses and variables of the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::{same, spans};
use crate::support::{Database, Journal, document, keysweep};

/// Every command by its words, with its flags, as `--help` tells from the top down.
fn commands() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![String::new()];
    while let Some(command) = waiting.pop() {
        let help = help(&command);
        let below = section(&help, "Commands:").into_iter().filter(|name| name != "help");
        waiting.extend(below.map(|name| format!("{command} {name}").trim().to_owned()));
        found.insert(command, flags(&help));
    }
    found
}

fn help(command: &str) -> String {
    let answer = keysweep(command.split_whitespace().chain(["--help"]));
    assert_eq!(answer.status, 0, "{command}: {answer:?}");
    answer.stdout
}

/// The first words of the entries of a section: of lines that are indented by two.
fn section(help: &str, title: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != title).skip(1).take_while(|line| !line.is_empty());
    let entries = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    entries.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn flags(help: &str) -> BTreeSet<String> {
    let options = help.split("\nOptions:\n").nth(1).unwrap_or_default();
    let options = options.split("\n\n").next().unwrap();
    let words = options.lines().filter(|line| line.trim_start().starts_with('-'));
    words.flat_map(str::split_whitespace).filter(|word| word.starts_with("--")).map(str::to_owned).collect()
}

#[test]
fn each_command_has_an_example_that_it_accepts_and_says_how_it_ends() {
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands.keys() {
        let help = help(command);
        assert!(help.contains("\nExit status:\n"), "{command} does not say how it ends");
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command} has none"));
        let examples = examples.split("\n\n").next().unwrap();
        assert!(examples.contains(&format!("keysweep {command}")), "{command}: {examples}");
        examples.lines().for_each(|line| assert_exists(line.trim(), &commands));
    }
}

/// What a line of a shell calls of keysweep is there: the command, and each of its flags.
#[track_caller]
fn assert_exists(line: &str, commands: &BTreeMap<String, BTreeSet<String>>) {
    let line = line.split(['#', '`', ',']).next().unwrap();
    let Some((_, call)) = line.split_once("keysweep ").filter(|(before, _)| !before.contains('/')) else {
        return;
    };
    let call: Vec<&str> = call.split([';', '|', '>', '&']).next().unwrap().split_whitespace().collect();
    let is_flag = |word: &str| word.starts_with("--");
    let words: Vec<&str> = call.iter().copied().filter(|word| !word.starts_with('-')).collect();
    // Values of flags may stand before the command, such as `--config FILE sweep`.
    let named = |start: usize, end: usize| commands.get(&words[start..end].join(" "));
    let longest = |start: usize| (start + 1..=words.len()).rev().find_map(|end| named(start, end));
    let known = (0..words.len()).find_map(longest).or_else(|| commands.get("").filter(|_| words.is_empty()));
    let Some(known) = known else { panic!("no such command: {line}") };
    let is_known = |flag: &str| known.contains(flag.split('=').next().unwrap());
    let unknown: Vec<&str> = call.iter().copied().filter(|word| is_flag(word) && !is_known(word)).collect();
    assert_eq!(unknown, [""; 0], "no such flag: {line}");
}

#[test]
fn the_readme_calls_no_command_and_no_flag_that_is_not_there() {
    let commands = commands();
    let readme = document("README.md");
    let is_command = |word: &str| word.starts_with('-') || commands.contains_key(word);
    let second = |call: &str| call.split(' ').nth(1).unwrap_or_default().to_owned();
    // In backticks each must be one; a line that begins so may also be prose.
    let quoted = spans(&readme).filter(|call| !second(call).chars().all(char::is_uppercase));
    let lines = readme.lines().filter(|line| is_command(&second(line)));
    let calls: Vec<&str> = quoted.chain(lines).filter(|call| call.starts_with("keysweep ")).collect();
    assert!(calls.len() > 8, "{calls:?}");
    calls.iter().for_each(|call| assert_exists(call, &commands));
    let list = readme.split("\n## Commands\n\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let first = |span: &str| span.split(' ').next().unwrap().to_owned();
    let documented: BTreeSet<String> = spans(list.split(". Answers").next().unwrap()).map(first).collect();
    let tops = commands.keys().filter(|name| !name.is_empty()).map(|name| first(name)).collect();
    same("commands in README.md", &tops, &documented);
}

/// The man page as a terminal shows it, without bold and underline.
fn man_page() -> String {
    let page = "\"$0\" man | groff -man -Tutf8 -rLL=110n -P-cbou -ww 2>&1";
    let shown = Command::new("bash").args(["-c", page, crate::support::command::BINARY]).output().unwrap();
    assert!(shown.status.success(), "{shown:?}");
    // groff breaks lines where it likes, and its hyphens and dashes are not those of a keyboard.
    let text = String::from_utf8(shown.stdout).unwrap();
    text.replace(['\u{2010}', '\u{2212}'], "-")
}

#[test]
fn the_man_page_has_every_command_and_flag_and_what_a_person_looks_for() {
    let page = man_page();
    for (command, flags) in commands() {
        let heading = format!("keysweep {command}");
        let has = |word: &str| page.contains(word);
        assert!(has(heading.trim()), "the man page does not have {heading}");
        let missing: Vec<String> = flags.into_iter().filter(|flag| !has(flag)).collect();
        assert_eq!(missing, [""; 0], "flags of {command}");
    }
    for variable in ["KEYSWEEP_CONFIG", "KEYSWEEP_PASSWORD", "KEYSWEEP__", "STATE_DIRECTORY", "NO_COLOR"] {
        assert!(page.contains(variable), "the man page does not have {variable}");
    }
    for section in [
        "NAME",
        "SYNOPSIS",
        "OPTIONS",
        "COMMANDS",
        "EXIT STATUS",
        "ENVIRONMENT",
        "FILES",
        "SIGNALS",
        "EXAMPLES",
        "SEE ALSO",
    ] {
        assert!(page.lines().any(|line| line == section), "the man page has no section {section}");
    }
}

/// The numbers at the start of lines, in a row.
fn statuses<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let first = |line: &str| line.trim_start_matches('|').split_whitespace().next().map(str::to_owned);
    lines
        .filter_map(first)
        .filter(|word| word.len() == 1 && word.chars().all(|c| c.is_ascii_digit()))
        .collect()
}

#[test]
fn every_exit_status_is_seen_and_documented_and_no_other() {
    let database = Database::with_keys(Journal::Wal, []);
    let path = database.path();
    let path = path.to_str().unwrap();
    let calls: [&[&str]; 4] = [
        &["keys", "counts", "--db", path],
        &["keys", "fetch", "--db", path, "--key", "none"],
        &["--explode"],
        &["status", "--url", "http://127.0.0.1:1"],
    ];
    let seen = calls.iter().map(|call| keysweep(*call).status.to_string()).collect();
    let after =
        |text: &'static str, from: &str| text.split(from).nth(1).unwrap_or_else(|| panic!("no {from}"));
    let readme: &'static str = document("README.md").leak();
    same(
        "exit statuses in README.md",
        &seen,
        &statuses(after(readme, "| exit status | meaning |").split("\n\n").next().unwrap().lines()),
    );
    let help: &'static str = help("").leak();
    same(
        "exit statuses in --help",
        &seen,
        &statuses(after(help, "Exit status:\n").split("\n\n").next().unwrap().lines()),
    );
    let man: &'static str = man_page().leak();
    same(
        "exit statuses in the man page",
        &seen,
        &statuses(after(man, "\nEXIT STATUS\n").split("\nENVIRONMENT").next().unwrap().lines()),
    );
}
