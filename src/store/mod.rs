//! What touches a database: look at it, count it, search it, delete a batch from it.
//!
//! One folder an engine. A store takes `plan`'s predicates and renders them itself; it decides
//! nothing, and it never meets `observe`.

pub mod sqlite;

use std::future::Future;
use std::time::Duration;

use crate::plan::{
    BatchBound, BatchCost, Counts, Cutoff, Failure, Identifier, Key, Rule, RuleBook, SkipReason, SpaceUsed,
    Surroundings, Survey, TableFacts, UnixTime, Value,
};

/// The order in which a table is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Walk {
    /// Every row, by ascending key.
    #[default]
    Keys,
    /// Only rows at or before the cutoff, by the clock column, through an index.
    Clock,
}

/// Where a walk is. It means nothing to a walk of another order.
#[derive(Debug, Clone, PartialEq)]
pub struct Place(Vec<Value>);

impl Place {
    /// A place of these values: those of the columns that the walk ascends by.
    #[must_use]
    pub fn new(values: Vec<Value>) -> Self {
        Self(values)
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.0
    }
}

/// One walk through a table, or the rest of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Leg {
    /// In which order.
    pub walk: Walk,
    /// Only rows behind this place.
    pub after: Option<Place>,
    /// Only rows up to this place.
    pub until: Option<Place>,
    /// Rows that stay because others refer to them are not nominated, which a dry run wants to know; a
    /// batch finds out by itself.
    pub without_referenced: bool,
}

/// What one step of a search read.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The keys of the rows that may be deleted, in the order of the walk.
    pub nominated: Vec<Key>,
    /// The last place that was read; nothing when the leg is at its end.
    pub read_to: Option<Place>,
    /// How long a writer may have had to wait for us.
    pub held: Duration,
}

/// What one batch did, once its COMMIT had succeeded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The keys that are gone, ascending.
    pub deleted: Vec<Key>,
    /// Expired rows that are still there.
    pub skipped: Vec<(Key, SkipReason)>,
    /// What it cost, and how many of the nominated keys were looked at, from the first on.
    pub cost: BatchCost,
    /// How long the write lock was held in vain, by tries whose COMMIT found a reader in its way.
    pub held_in_vain: Duration,
    /// How long we waited for it.
    pub waited: Duration,
}

impl Batch {
    /// How long the write lock was held.
    #[must_use]
    pub fn held(&self) -> Duration {
        self.cost.work + self.cost.commit
    }
}

/// An engine at work on one database. Calls follow one another; a rest between them costs no thread.
pub trait Store: Send {
    /// The rules of the book as the schema stands, which is looked at only where the book has patterns.
    fn rules(&mut self, book: &RuleBook) -> impl Future<Output = Result<Vec<Rule>, Failure>> + Send;

    /// What the schema says of each rule's table. It creates nothing beside the database.
    fn inspect(&mut self, rules: &[Rule]) -> impl Future<Output = Result<Vec<TableFacts>, Failure>> + Send;

    /// Each rule of the book with what the schema says of its table.
    fn look(
        &mut self,
        book: &RuleBook,
    ) -> impl Future<Output = Result<Vec<(Rule, TableFacts)>, Failure>> + Send {
        async {
            let rules = self.rules(book).await?;
            let facts = self.inspect(&rules).await?;
            Ok(rules.into_iter().zip(facts).collect())
        }
    }

    /// Read a bounded number of rows in the order of the leg's walk, outside the write lock.
    fn search(
        &mut self,
        rule: &Rule,
        cutoff: Cutoff,
        leg: &Leg,
    ) -> impl Future<Output = Result<Step, Failure>> + Send;

    /// Select these keys again with every guard and delete them, in one transaction.
    fn delete_batch(
        &mut self,
        rule: &Rule,
        cutoff: Cutoff,
        keys: &[Key],
        bound: BatchBound,
    ) -> impl Future<Output = Result<Batch, Failure>> + Send;

    /// A rest of this length begins: what others may be waiting for, such as open files, is given back where
    /// they are, and taken again by the next call.
    fn rest(&mut self, length: Duration) -> impl Future<Output = ()> + Send;

    /// Count one table by state under each of its rules, in one pass.
    fn count(
        &mut self,
        rules: &[Rule],
        now: UnixTime,
    ) -> impl Future<Output = Result<Vec<Counts>, Failure>> + Send;

    /// What the database takes on disk.
    fn space(&mut self) -> impl Future<Output = Result<SpaceUsed, Failure>> + Send;

    /// The abandoned rows, oldest first, at most `most`, with the instant that each counts from.
    fn abandoned(
        &mut self,
        rule: &Rule,
        now: UnixTime,
        most: usize,
    ) -> impl Future<Output = Result<Vec<(Key, UnixTime)>, Failure>> + Send;
}

/// A closer look than a tick can afford, for `check` and `explain`. It changes nothing, takes no write lock,
/// and creates nothing but what a read does. The tables were inspected before.
pub trait Examine: Store {
    /// What lies around the file.
    fn surroundings(&mut self) -> impl Future<Output = Result<Surroundings, Failure>> + Send;

    /// A closer look at a table: rows counted, values sampled, `candidates` tried as its indexes, on a copy.
    fn survey(
        &mut self,
        rule: &Rule,
        now: UnixTime,
        candidates: &[String],
    ) -> impl Future<Output = Result<Survey, Failure>> + Send;

    /// The rows with these keys, with the value of each column that the rule reads.
    fn rows(
        &mut self,
        rule: &Rule,
        keys: &[Key],
    ) -> impl Future<Output = Result<Vec<(Key, Row)>, Failure>> + Send;
}

/// What was read of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The value of each column that was read.
    pub values: Vec<(Identifier, Value)>,
    /// Whether it must stay because another row refers to it.
    pub is_referenced: bool,
}

impl Row {
    /// The value of a column; NULL where it was not read.
    #[must_use]
    pub fn value(&self, column: &Identifier) -> &Value {
        self.values.iter().find(|(name, _)| name == column).map_or(&Value::Null, |(_, value)| value)
    }
}
