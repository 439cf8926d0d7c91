//! What a look at the schema found, for as long as the schema says the same.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use super::inspect::{Looked, schema_version};
use super::known::Known;
use crate::plan::{Rule, TableFacts};

/// What is learnt of the tables of one database by one look and believed by the next. A clone is the same one.
///
/// What a look finds follows from the text of the schema and the engine's statistics, and from nothing
/// else. These are read each time; a file's place or a number that rises with each change would not do, because
/// a copy of another database may be laid over a file with both unchanged.
#[derive(Debug, Clone, Default)]
pub struct Learnt(Arc<Mutex<Option<Lesson>>>);

#[derive(Debug)]
struct Lesson {
    schema: Fingerprint,
    rules: Vec<Rule>,
    facts: Vec<TableFacts>,
    known: Vec<Known>,
    /// Whether the tables were worked on, so that what we create beside the file was created.
    used: bool,
}

/// Of everything that a look's findings follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint([u8; 32]);

impl Learnt {
    /// What the schema says of each rule's table.
    pub(super) fn look(
        &self,
        connection: &Connection,
        path: &Path,
        rules: &[Rule],
    ) -> rusqlite::Result<Looked> {
        // In this order: where the schema changes in between, the version is the older one, and a batch refuses it.
        let version = schema_version(connection)?;
        let schema = Fingerprint::of(connection)?;
        if let Some((facts, known)) = self.recall(schema, rules) {
            return Ok(Looked { facts, known, version });
        }
        let looked = Looked::at(connection, path, rules)?;
        // Of a schema that changed meanwhile a part may have been looked at before, and a part after.
        if looked.version == version && schema_version(connection)? == version {
            let (facts, known) = (looked.facts.clone(), looked.known.clone());
            *self.lesson() = Some(Lesson { schema, rules: rules.to_vec(), facts, known, used: false });
        }
        Ok(looked)
    }

    /// The tables are worked on by what was learnt.
    pub(super) fn note_use(&self) {
        if let Some(lesson) = self.lesson().as_mut() {
            lesson.used = true;
        }
    }

    /// Whether they were, so that a look need not be careful to leave no trace.
    pub(super) fn was_used(&self) -> bool {
        self.lesson().as_ref().is_some_and(|lesson| lesson.used)
    }

    fn recall(&self, schema: Fingerprint, rules: &[Rule]) -> Option<(Vec<TableFacts>, Vec<Known>)> {
        let lesson = self.lesson();
        let lesson = lesson.as_ref().filter(|lesson| lesson.schema == schema && lesson.rules == rules)?;
        Some((lesson.facts.clone(), lesson.known.clone()))
    }

    fn lesson(&self) -> std::sync::MutexGuard<'_, Option<Lesson>> {
        // A lesson is replaced as a whole: a panic leaves none half-learnt.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fingerprint {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let (mut digest, mut has_statistics, mut has_samples) = (Sha256::new(), false, false);
        add(&mut digest, connection, "PRAGMA main.encoding", |_| {})?;
        add(&mut digest, connection, "SELECT type, name, tbl_name, sql FROM main.sqlite_schema", |text| {
            has_statistics |= text == b"sqlite_stat1";
            has_samples |= text == b"sqlite_stat4";
        })?;
        // By them the engine chooses between indexes.
        if has_statistics {
            add(&mut digest, connection, "SELECT tbl, idx, stat FROM main.sqlite_stat1", |_| {})?;
        }
        if has_samples {
            let samples = "SELECT tbl, idx, neq, nlt, ndlt, sample FROM main.sqlite_stat4";
            add(&mut digest, connection, samples, |_| {})?;
        }
        Ok(Self(digest.finalize().into()))
    }
}

/// Add all rows, each value with its kind and its length: two different answers never run together.
fn add(
    digest: &mut Sha256,
    connection: &Connection,
    sql: &str,
    mut see: impl FnMut(&[u8]),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            let (kind, bytes): (u8, &[u8]) = match row.get_ref(column)? {
                ValueRef::Text(text) => (1, text),
                ValueRef::Blob(bytes) => (2, bytes),
                // None of these columns holds a number.
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => (0, &[]),
            };
            see(bytes);
            digest.update([kind]);
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
    }
    digest.update([u8::MAX]);
    Ok(())
}
