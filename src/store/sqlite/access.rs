//! Whether we may open a database file at all, found out by `stat` alone, and how we open it.
//!
//! Never a plain open, read or copy of a target: closing such a descriptor drops every POSIX lock
//! that SQLite holds on the file in this process (sqlite.org/howtocorrupt.html, 2.2).

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio_util::sync::CancellationToken;

use super::failure::{explain, remedy};
use super::render::add_functions;
use super::rights::{check_rights, us};
use crate::plan::{Failure, FailureKind, FileFacts, Journal, may_share_files};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Searches and counts.
    Read,
    /// Deletes as well.
    Write,
}

/// Which file a path meant when it was opened: a restore or a deploy puts another one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// A database file that may be opened.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    /// Where the file really is: SQLite names its journals after this.
    pub path: PathBuf,
    pub identity: Identity,
    /// A `-wal` or `-journal` is there, so that the main file alone is not the whole truth.
    pub has_journal: bool,
    /// The size of the main file in bytes.
    pub size: u64,
    /// The size of the `-wal` in bytes, 0 where there is none.
    pub wal_size: u64,
}

/// One page of the smallest size, in bytes.
const SMALLEST_DATABASE: u64 = 512;

/// Look at the file without opening it, and refuse what must not be opened.
pub(crate) fn admit(path: &Path, access: Access) -> Result<Admitted, Failure> {
    let real = path.canonicalize().map_err(|error| unreachable_file(path, &error))?;
    let file = real.metadata().map_err(|error| unreachable_file(path, &error))?;
    let shown = path.display();
    if !file.is_file() {
        let kind = if file.is_dir() { "a directory" } else { "no regular file" };
        return Err(refuse(FailureKind::NotADatabase, format!("{shown} is {kind}")));
    }
    if file.size() == 0 {
        let what = format!("{shown} is empty: the application has not created its tables yet");
        return Err(refuse(FailureKind::NotADatabase, what));
    }
    if file.size() < SMALLEST_DATABASE {
        // SQLite would take it for an empty database, and a writer would overwrite it.
        let what = format!("{shown} is not a database: it is {} bytes long", file.size());
        return Err(refuse(FailureKind::NotADatabase, what));
    }
    if file.nlink() > 1 {
        // SQLite names a journal after the path, so that each name would have one of its own.
        let what = format!("{shown} has {} names (hard links), and so as many journals", file.nlink());
        let remedy = "leave it one name: the database is damaged when two programs write it by two";
        return Err(Failure::new(FailureKind::Ownership, what, remedy));
    }
    let folder = real.parent().unwrap_or(Path::new("/"));
    check_rights(path, &real, folder, access)?;
    let folder = folder.metadata().map_err(|error| unreachable_file(path, &error))?;
    let facts = FileFacts {
        path: shown.to_string(),
        uid: file.uid(),
        gid: file.gid(),
        mode: file.mode(),
        folder_gid: folder.gid(),
        folder_mode: folder.mode(),
    };
    may_share_files(&facts, us())?;
    let wal = beside(&real, "-wal").metadata();
    Ok(Admitted {
        identity: Identity { device: file.dev(), inode: file.ino() },
        has_journal: wal.is_ok() || beside(&real, "-journal").exists(),
        size: file.size(),
        wal_size: wal.map_or(0, |wal| wal.size()),
        path: real,
    })
}

fn unreachable_file(path: &Path, error: &io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => FailureKind::Missing,
        io::ErrorKind::PermissionDenied => FailureKind::Permission,
        _ => FailureKind::Io,
    };
    let what = match kind {
        FailureKind::Missing => format!("there is no file {}", path.display()),
        _ => format!("cannot reach {}: {error}", path.display()),
    };
    refuse(kind, what)
}

pub(super) fn refuse(kind: FailureKind, what: String) -> Failure {
    Failure::new(kind, what, remedy(kind))
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The file is still the one that was opened.
pub(crate) fn check_identity(admitted: &Admitted) -> Result<(), Failure> {
    let now = admitted.path.metadata().ok();
    let now = now.map(|file| Identity { device: file.dev(), inode: file.ino() });
    if now == Some(admitted.identity) { Ok(()) } else { Err(replaced(admitted)) }
}

/// Another file is there than the one that was opened before.
pub(super) fn replaced(admitted: &Admitted) -> Failure {
    let what = format!("{} was replaced by another file since it was opened", admitted.path.display());
    refuse(FailureKind::Replaced, what)
}

/// An open database.
#[derive(Debug)]
pub(super) struct Open {
    pub connection: Connection,
    pub journal: Journal,
    /// Pages in the write-ahead log after our last COMMIT.
    pub wal_pages: Arc<AtomicI32>,
}

/// Open an admitted file. A missing one is not created, a lock is not waited for, closing does
/// not checkpoint, and what the schema brings along is not trusted.
pub(super) fn open(admitted: &Admitted, access: Access, stop: CancellationToken) -> Result<Open, Failure> {
    let flags = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let failed = |error: rusqlite::Error| explain(&admitted.path, "open the database", &error);
    let mut connection = Connection::open_with_flags(&admitted.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(failed)?;
    let wal_pages = prepare(&mut connection, stop).map_err(failed)?;
    Ok(Open { connection, journal: Journal::Rollback, wal_pages })
}

fn prepare(connection: &mut Connection, stop: CancellationToken) -> rusqlite::Result<Arc<AtomicI32>> {
    connection.busy_timeout(Duration::ZERO)?;
    // A statement that was told to stop ends within microseconds; a transaction around it rolls back.
    connection.progress_handler(10_000, Some(move || stop.is_cancelled()))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    understand(connection)?;
    // A few for each of many tables that take turns; the default is 16.
    connection.set_prepared_statement_cache_capacity(64);
    // What a batch notes beside its deletions stays in memory.
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    let pages = Arc::new(AtomicI32::new(0));
    // Instead of SQLite's automatic checkpoint, which would run inside our COMMIT.
    let seen = Arc::clone(&pages);
    connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
        seen.store(pages, Ordering::Relaxed);
        Ok(())
    }))?;
    Ok(pages)
}

/// How a connection understands the schema and our statements: the same for every look and for the work after it.
fn understand(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Builds differ in their default. With it on, a reference that appears under us is refused, not orphaned.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    // A statement is planned once, without the values that are bound: else each new key plans it anew.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    add_functions(connection)
}

impl Open {
    /// Learn how transactions are kept; the first statement that reads the file, so it may find it locked.
    pub fn learn_journal(&mut self) -> rusqlite::Result<()> {
        let mode: String = self.connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        // A lost deletion after a power cut is swept again, so the log need not be synced at each
        // COMMIT; in rollback-journal mode the sync also protects the file itself.
        if mode.eq_ignore_ascii_case("wal") {
            self.journal = Journal::Wal;
            self.connection.execute_batch("PRAGMA synchronous = NORMAL")?;
        } else {
            self.journal = Journal::Rollback;
            self.connection.execute_batch("PRAGMA synchronous = FULL")?;
        }
        Ok(())
    }
}

/// A look at a file that nobody has open in WAL mode and that has no journal to apply: as it lies
/// on disk, taking no lock and creating nothing beside it.
pub(super) fn open_untouched(admitted: &Admitted) -> Result<Connection, Failure> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(immutable_uri(&admitted.path), flags)?;
        understand(&connection)?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| explain(&admitted.path, "open the database", &error))
}

fn immutable_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            uri.push(byte.into());
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_end_the_uri_early() {
        let path = Path::new("/srv/a?b#c d%20/app.db");
        assert_eq!(immutable_uri(path), "file:/srv/a%3Fb%23c%20d%2520/app.db?mode=ro&immutable=1");
    }
}
