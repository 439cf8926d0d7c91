//! Many processes and threads on one file: every key is applied once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use keysweep::record::DurableCounter;

use super::program;
use crate::support::database::shell;

const PROCESSES: u64 = 8;
const OPERATIONS: u64 = 2_000;
/// These are killed after so many answers.
const KILLED: [(u64, usize); 3] = [(1, 37), (4, 401), (6, 1_111)];

/// Every answer that anybody got, by key: equal, or somebody was told another sum.
#[derive(Default)]
struct Answers(HashMap<String, i64>);

impl Answers {
    fn note(&mut self, key: &str, value: i64) {
        let known = *self.0.entry(key.into()).or_insert(value);
        assert_eq!(known, value, "two answers for {key}");
    }

    /// Whatever was answered is retained, and the counter is the sum of the amounts retained.
    fn check(&self, path: &Path) {
        let sums = shell(path, "SELECT (SELECT value FROM business), (SELECT sum(amount) FROM requests);");
        let (value, sum) = sums.trim().split_once('|').unwrap();
        assert_eq!(value, sum);
        let rows = shell(path, "SELECT key, amount, response FROM requests;");
        let retained: HashMap<&str, (i64, i64)> = rows.lines().map(row).collect();
        for (key, value) in &self.0 {
            let (amount, response) = retained[key.as_str()];
            assert_eq!(response, *value, "{key}");
            assert_eq!(format!("k{}", amount - 1), *key, "the amount of {key}");
        }
        assert_eq!(shell(path, "PRAGMA integrity_check;"), "ok\n");
    }
}

fn row(line: &str) -> (&str, (i64, i64)) {
    let fields: Vec<&str> = line.split('|').collect();
    (fields[0], (fields[1].parse().unwrap(), fields[2].parse().unwrap()))
}

fn start(path: &Path, seed: u64) -> Child {
    let mut adder = Command::new(program("adder"));
    adder.arg(path).arg(OPERATIONS.to_string()).arg(seed.to_string());
    adder.stdout(Stdio::piped()).spawn().unwrap()
}

/// Read its answers to the end, or kill it after so many; the pipe still holds those that it gave.
fn follow(mut child: Child, kill_after: Option<usize>) -> Vec<(String, i64)> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answers = Vec::new();
    for line in lines.map_while(Result::ok) {
        if let Some((key, value)) = line.split_once(' ')
            && let Ok(value) = value.parse()
        {
            answers.push((key.to_owned(), value));
        }
        if kill_after == Some(answers.len()) {
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert_eq!(status.success(), kill_after.is_none(), "{status}");
    answers
}

#[test]
fn eight_processes_some_of_them_killed_apply_each_key_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    // Many commits, and each process crash is survived without a sync as well: WAL keeps this quick.
    shell(&path, "PRAGMA journal_mode = wal;");
    DurableCounter::open(&path).unwrap();
    let mut answers = Answers::default();
    let followed: Vec<_> = std::thread::scope(|scope| {
        let children = (0..PROCESSES).map(|seed| (seed, start(&path, seed)));
        let threads: Vec<_> = children
            .map(|(seed, child)| {
                let kill_after = KILLED.iter().find(|(killed, _)| *killed == seed).map(|(_, after)| *after);
                scope.spawn(move || follow(child, kill_after))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for (key, value) in &followed {
        answers.note(key, *value);
    }
    assert!(followed.len() as u64 > OPERATIONS * (PROCESSES - KILLED.len() as u64));
    answers.check(&path);
}

#[test]
fn threads_on_two_openers_apply_each_key_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    shell(&path, "PRAGMA journal_mode = wal;");
    let openers = [DurableCounter::open(&path).unwrap(), DurableCounter::open(&path).unwrap()];
    let followed: Vec<(String, i64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8_usize)
            .map(|thread| {
                let counter = &openers[thread % 2];
                scope.spawn(move || {
                    let key = |i: usize| (i * (thread + 3)) % 100;
                    let add = |i| {
                        let amount = i64::try_from(key(i) + 1).unwrap();
                        let name = format!("k{}", key(i));
                        let value = counter.add("scope", &name, amount).unwrap();
                        (name, value)
                    };
                    (0..200).map(add).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut answers = Answers::default();
    followed.iter().for_each(|(key, value)| answers.note(key, *value));
    assert_eq!(answers.0.len(), 100);
    answers.check(&path);
}
