//! A folder of database files, one for each tenant.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::database::{KEY_TABLE, shell};

/// `NAME/app.db` below a folder, which is gone when this is dropped.
#[derive(Debug)]
pub struct Tenants {
    folder: tempfile::TempDir,
}

impl Tenants {
    /// One tenant of each name, each with a due row and a pending one.
    pub fn new(names: &[&str]) -> Self {
        let tenants = Self { folder: tempfile::tempdir().unwrap() };
        names.iter().for_each(|name| tenants.add(name));
        tenants
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name).join("app.db")
    }

    /// One more tenant, which appears as a whole.
    pub fn add(&self, name: &str) {
        let made = tempfile::tempdir_in(self.folder()).unwrap();
        let rows =
            "INSERT INTO keys VALUES ('due', 'v1', 'done', '{}', 1), ('open', 'v1', 'pending', NULL, 1);";
        shell(&made.path().join("app.db"), &format!("PRAGMA journal_mode = wal;\n{KEY_TABLE}\n{rows}"));
        std::fs::rename(made.keep(), self.folder().join(name)).unwrap();
    }

    /// One more due row.
    pub fn insert(&self, name: &str, id: &str) {
        shell(&self.path(name), &format!("INSERT INTO keys VALUES ('{id}', 'v1', 'done', '{{}}', 1)"));
    }

    /// A tenant whose file is a symbolic link to another's.
    pub fn link(&self, name: &str, to: &str) {
        std::fs::create_dir(self.folder().join(name)).unwrap();
        symlink(self.path(to), self.path(name)).unwrap();
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_dir_all(self.folder().join(name)).unwrap();
    }

    /// Every id of a tenant, ascending.
    pub fn ids(&self, name: &str) -> Vec<String> {
        let ids = shell(&self.path(name), "SELECT id FROM keys ORDER BY id;");
        ids.lines().map(String::from).collect()
    }

    /// A block `t` for all of them, with these further lines.
    pub fn block(&self, lines: &str) -> String {
        format!("[[database]]\nname = 't'\nglob = {:?}\n{lines}\n", self.folder().join("*/app.db"))
    }

    /// A block for one of them by its path, with these further lines.
    pub fn block_of(&self, name: &str, lines: &str) -> String {
        format!("[[database]]\nname = '{name}'\npath = {:?}\n{lines}\n", self.path(name))
    }

    /// Write the config file.
    pub fn config(&self, text: &str) -> PathBuf {
        let path = self.folder().join("keysweep.toml");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// A counter of deleted rows.
pub fn deleted(label: &str) -> String {
    format!(r#"keysweep_deleted_rows_total{{database="{label}",table="keys"}}"#)
}

/// Whether a database is up.
pub fn up(label: &str) -> String {
    format!(r#"keysweep_database_up{{database="{label}"}}"#)
}
