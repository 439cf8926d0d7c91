//! Real database files, written and read by the distribution's `sqlite3`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use std::io::Write;

use super::command::{Answer, keysweep};

/// The table of the contract.
pub const KEY_TABLE: &str = "CREATE TABLE keys(id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, \
    status TEXT NOT NULL, response TEXT, expires REAL NOT NULL);";

/// How a database keeps its transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    Wal,
    Delete,
}

/// A folder with one database file in it, gone when dropped.
#[derive(Debug)]
pub struct Database {
    folder: tempfile::TempDir,
}

impl Database {
    /// A file that holds what this SQL makes.
    pub fn new(journal: Journal, sql: &str) -> Self {
        let database = Self { folder: tempfile::tempdir().unwrap() };
        let mode = match journal {
            Journal::Wal => "wal",
            Journal::Delete => "delete",
        };
        database.shell(&format!("PRAGMA journal_mode = {mode};\n{sql}"));
        database
    }

    /// A key table with these rows: id, status, expires.
    pub fn with_keys<'a>(journal: Journal, rows: impl IntoIterator<Item = (&'a str, &'a str, f64)>) -> Self {
        let insert = |(id, status, expires): (&str, &str, f64)| {
            format!("INSERT INTO keys VALUES ('{id}', 'v1', '{status}', '{{}}', {expires:?});\n")
        };
        let rows: String = rows.into_iter().map(insert).collect();
        Self::new(journal, &format!("{KEY_TABLE}\nBEGIN;\n{rows}COMMIT;"))
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> PathBuf {
        self.folder().join("app.db")
    }

    /// What the distribution's `sqlite3` says to this SQL, with a busy timeout of 10 s.
    pub fn shell(&self, sql: &str) -> String {
        shell(&self.path(), sql)
    }

    /// Every id that is there, ascending, `NULL` for one that is none.
    pub fn ids(&self) -> Vec<String> {
        let ids = self.shell("SELECT coalesce(id, 'NULL') FROM keys ORDER BY id;");
        ids.lines().map(String::from).collect()
    }

    /// The names in the folder, sorted.
    pub fn files(&self) -> Vec<String> {
        let name =
            |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = self.folder().read_dir().unwrap().map(name).collect();
        names.sort();
        names
    }

    /// A config for this database alone, named `app`, with these further lines for `[[database]]`.
    pub fn config(&self, lines: &str) -> PathBuf {
        self.config_text(&format!("[[database]]\nname = \"app\"\npath = {:?}\n{lines}\n", self.path()))
    }

    /// A config file beside the database.
    pub fn config_text(&self, text: &str) -> PathBuf {
        let path = self.folder().join("keysweep.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `keysweep --config ... sweep --json` under the config of these lines, with further arguments.
    pub fn sweep(&self, lines: &str, args: &[&str]) -> Answer {
        let config = self.config(lines);
        let config = config.to_str().unwrap();
        keysweep(["--config", config, "sweep", "--json"].iter().chain(args))
    }
}

/// What the distribution's `sqlite3` says to this SQL.
pub fn shell(path: &Path, sql: &str) -> String {
    let mut child = Command::new("/usr/bin/sqlite3")
        .args(["-batch", "-bail", "-cmd", ".timeout 10000"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "sqlite3 {path:?} said {errors} to {sql:.300}");
    String::from_utf8(output.stdout).unwrap()
}
