//! An application that does not let go.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::Database;

/// The distribution's `sqlite3` inside a write transaction on the key table, which it takes back when dropped.
#[derive(Debug)]
pub struct Writer(Child);

impl Writer {
    pub fn begin(database: &Database) -> Self {
        let mut child = Command::new("/usr/bin/sqlite3")
            .args(["-cmd", ".timeout 10000"])
            .arg(database.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let sql = b"BEGIN IMMEDIATE;\nUPDATE keys SET fingerprint = 'x';\nSELECT 'begun';\n";
        child.stdin.as_mut().unwrap().write_all(sql).unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        Self(child)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
