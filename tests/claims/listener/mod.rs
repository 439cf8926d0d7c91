//! Who may speak with the listener, and what becomes of those who do not mean well.

mod certificate;
mod hostile;
mod status;
mod tls;
mod users;

use std::path::{Path, PathBuf};

use crate::support::{Database, Journal};

/// Hashes that the C library's `crypt` made, of `right` at two costs, and of another password.
pub const RIGHT: &str = "$2b$05$abcdefghijklmnopqrstuu8xaCxxL82bnl.UY74PMksDxIJShppPC";
pub const RIGHT_AND_SLOW: &str = "$2b$11$abcdefghijklmnopqrstuuD06ya1Nw2W31Tn1jG5w4.7wnwI3cNXm";
pub const OTHER: &str = "$2b$05$abcdefghijklmnopqrstuuVQd15VhR/oN1H3pzUR5lME0fZO6.qRW";

/// A database with nothing to do, and a listener with these further lines.
fn idle(database: &Database, lines: &str) -> PathBuf {
    database.config_text(&text(&database.path(), lines))
}

fn text(path: &Path, lines: &str) -> String {
    format!("{lines}\n[[database]]\nname = 'app'\npath = {path:?}\nevery = '1h'\ncensus = '1h'\n")
}

fn pending() -> Database {
    Database::with_keys(Journal::Wal, [("a", "pending", 1.0)])
}
