//! A lock that another process holds.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The distribution's `sqlite3` in the middle of a transaction; it ends when this is dropped.
#[derive(Debug)]
pub struct Lock {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Lock {
    /// Nobody else may write.
    pub fn immediate(path: &Path) -> Self {
        Self::held(path, "BEGIN IMMEDIATE;")
    }

    /// Nobody else may write, nor read where there is a rollback journal.
    pub fn exclusive(path: &Path) -> Self {
        Self::held(path, "BEGIN EXCLUSIVE;")
    }

    fn held(path: &Path, begin: &str) -> Self {
        let mut child = Command::new("/usr/bin/sqlite3")
            .args(["-batch", "-bail", "-cmd", ".timeout 10000"])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{begin}\n.print held").unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(answers.any(|line| line == "held"), "{begin} failed");
        Self { child, stdin: Some(stdin) }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
