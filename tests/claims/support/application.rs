//! An application: another process with another SQLite, asked one statement at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Reads a statement a line, and answers as [`Application::shell`] does.
const PYTHON: &str = "
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=float(sys.argv[2]) / 1000, isolation_level=None)
for line in sys.stdin:
    try:
        for row in connection.execute(line).fetchall():
            print('|'.join(map(str, row)))
    except sqlite3.Error as error:
        print('error:', error)
    print('answer', connection.execute('SELECT changes()').fetchone()[0], flush=True)
";

/// A connection in a process of its own; killed when dropped.
#[derive(Debug)]
pub struct Application {
    child: Child,
    /// What follows each statement, so that its answer ends in a line that is known.
    then: &'static str,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What one statement gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    pub rows: Vec<String>,
    /// Rows that the last INSERT, UPDATE or DELETE changed.
    pub changes: u64,
    pub errors: Vec<String>,
}

impl Application {
    /// The distribution's `sqlite3`.
    pub fn shell(database: &Path, busy_timeout: Duration) -> Self {
        let timeout = format!(".timeout {}", busy_timeout.as_millis());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec /usr/bin/sqlite3 -batch -cmd \"$1\" \"$0\" 2>&1"]);
        Self::start(command.arg(database).arg(timeout), "SELECT 'answer ' || changes();\n")
    }

    /// Python's `sqlite3`.
    pub fn python(database: &Path, busy_timeout: Duration) -> Self {
        let timeout = busy_timeout.as_millis().to_string();
        let mut command = Command::new("/usr/bin/python3");
        Self::start(command.args(["-c", PYTHON]).arg(database).arg(timeout), "")
    }

    fn start(command: &mut Command, then: &'static str) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, then, input, output }
    }

    /// Run one statement, on one line, whatever becomes of it.
    pub fn ask(&mut self, sql: &str) -> Said {
        assert!(!sql.contains('\n'), "{sql}");
        write!(self.input, "{sql};\n{}", self.then).unwrap();
        let mut said = Said::default();
        loop {
            let line = self.line(sql);
            if let Some(changes) = line.strip_prefix("answer ") {
                said.changes = changes.parse().unwrap();
                return said;
            }
            let error = ["error:", "Error:", "Runtime error", "Parse error"];
            let lines = if error.iter().any(|error| line.starts_with(error)) {
                &mut said.errors
            } else {
                &mut said.rows
            };
            lines.push(line);
        }
    }

    /// Run one statement that must not fail.
    pub fn run(&mut self, sql: &str) -> Said {
        let said = self.ask(sql);
        assert!(said.errors.is_empty(), "{:?} to {sql}", said.errors);
        said
    }

    fn line(&mut self, sql: &str) -> String {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).unwrap();
        assert!(length > 0, "the application ended at {sql}");
        line.trim_end_matches('\n').into()
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
