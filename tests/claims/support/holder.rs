//! Another process that holds a lock for as long as the test wants.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Python, with a transaction open on a database; it ends when dropped.
#[derive(Debug)]
pub struct Holder {
    child: Child,
}

const PROGRAM: &str = "import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
for statement in sys.argv[2].split(';'):
    connection.execute(statement).fetchall()
print('held', flush=True)
sys.stdin.read()
";

impl Holder {
    /// Run these statements, the first of which begins a transaction, and stay there.
    pub fn start(path: &Path, statements: &str) -> Self {
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM])
            .arg(path)
            .arg(statements)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n", "python3 could not run {statements}");
        Self { child }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
