//! What a table means: its key, its states, its clock column.

use std::time::Duration;

use super::{
    Clock, Cutoff, Identifier, Literal, Predicate, References, State, TableLabel, Unit, UnixTime, Value,
};

/// A state: the column holds one of these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateTest {
    /// The column.
    pub column: Identifier,
    /// Its values, by type and bytes.
    pub values: Vec<Literal>,
}

impl StateTest {
    fn predicate(&self) -> Predicate {
        let is = |value: &Literal| Predicate::Is { column: self.column.clone(), value: value.clone() };
        Predicate::Any(self.values.iter().map(is).collect())
    }
}

/// When a pending row counts as abandoned: so long after the column's instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    /// The column.
    pub column: Identifier,
    /// Its unit.
    pub unit: Unit,
    /// How long after it.
    pub after: Duration,
}

/// What finished means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// A state column says so.
    Test(StateTest),
    /// A row is there only once it is finished.
    EveryRow,
}

impl Done {
    fn predicate(&self) -> Predicate {
        match self {
            Self::Test(test) => test.predicate(),
            Self::EveryRow => Predicate::All(Vec::new()),
        }
    }
}

/// The columns of a key: at least one, none of them twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumns(Vec<Identifier>);

/// The columns are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key has at least one column, and none of them twice")]
pub struct KeyColumnsError;

impl KeyColumns {
    /// # Errors
    /// [`KeyColumnsError`] for no column, or one that stands twice.
    pub fn new(columns: Vec<Identifier>) -> Result<Self, KeyColumnsError> {
        let twice = columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column));
        if columns.is_empty() || twice { Err(KeyColumnsError) } else { Ok(Self(columns)) }
    }

    /// The columns, in the order in which keys ascend.
    #[must_use]
    pub fn columns(&self) -> &[Identifier] {
        &self.0
    }
}

/// One table under one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The label `table`.
    pub label: TableLabel,
    /// The table in the schema.
    pub table: Identifier,
    /// The key columns. Together they must be unique.
    pub key: KeyColumns,
    /// What finished means.
    pub done: Done,
    /// What pending means, under this rule or another one of the same table: any of these. It wins
    /// over `done`, so that no rule deletes what another one calls pending.
    pub pending: Vec<StateTest>,
    /// Which column retention counts from. Without one nothing ever expires: the table is only counted.
    pub clock: Option<Clock>,
    /// When a pending row is abandoned; nothing where no column tells.
    pub abandoned: Option<Abandoned>,
    /// What to do where foreign keys or delete triggers hang on the table.
    pub references: References,
}

impl Rule {
    /// The key table of the contract: `keys(id, fingerprint, status, response, expires)`.
    #[must_use]
    pub fn key_table(grace: Duration) -> Self {
        let known = |name| match Identifier::new(name) {
            Ok(name) => name,
            Err(_) => unreachable!("the names below are not empty and hold no control character"),
        };
        let status =
            |value: &str| StateTest { column: known("status"), values: vec![Literal::Text(value.into())] };
        Self {
            label: match TableLabel::new("keys") {
                Ok(label) => label,
                Err(_) => unreachable!("`keys` is a name"),
            },
            table: known("keys"),
            key: KeyColumns(vec![known("id")]),
            done: Done::Test(status("done")),
            pending: vec![status("pending")],
            clock: Some(Clock::expires(known("expires"), Unit::UnixSeconds, grace)),
            abandoned: Some(Abandoned {
                column: known("expires"),
                unit: Unit::UnixSeconds,
                after: Duration::ZERO,
            }),
            references: References::Refuse,
        }
    }

    /// The same table as its library sees it, whose caller says what time it is: every number is an
    /// instant by the caller's clock.
    #[must_use]
    pub fn callers_key_table() -> Self {
        let mut rule = Self::key_table(Duration::ZERO);
        let column = rule.clock.as_ref().map(|clock| clock.column().clone());
        rule.clock = column.map(|column| Clock::expires(column, Unit::CallersSeconds, Duration::ZERO));
        rule
    }

    /// The row is pending, whatever else it is.
    #[must_use]
    pub fn is_pending(&self) -> Predicate {
        Predicate::Any(self.pending.iter().map(StateTest::predicate).collect())
    }

    /// The row is done: finished, and not pending as well.
    #[must_use]
    pub fn is_done(&self) -> Predicate {
        self.done.predicate().and(self.is_pending().negated())
    }

    /// The cutoff of a tick that read `now`, where a clock column tells.
    #[must_use]
    pub fn cutoff(&self, now: UnixTime) -> Option<Cutoff> {
        self.clock.as_ref().map(|clock| clock.cutoff(now))
    }

    /// The row is done and its time has come.
    #[must_use]
    pub fn is_expired(&self, cutoff: Cutoff) -> Predicate {
        match &self.clock {
            Some(clock) => self.is_done().and(clock.reached(cutoff)),
            None => Predicate::Any(Vec::new()),
        }
    }

    /// No column of the key is NULL.
    #[must_use]
    pub fn has_key(&self) -> Predicate {
        let present = |column: &Identifier| Predicate::Present { column: column.clone() };
        Predicate::All(self.key.columns().iter().map(present).collect())
    }

    /// Every guard of a deletion: expired, and with a key to delete it by.
    #[must_use]
    pub fn is_deletable(&self, cutoff: Cutoff) -> Predicate {
        self.has_key().and(self.is_expired(cutoff))
    }

    /// The row is pending and was due to be finished this long ago. Nothing where no column tells.
    #[must_use]
    pub fn is_abandoned(&self, now: UnixTime, age: Duration) -> Option<Predicate> {
        let abandoned = self.abandoned.as_ref()?;
        let instant = now.before(abandoned.after).before(age);
        Some(self.is_pending().and(Predicate::reached(&abandoned.column, abandoned.unit, instant)))
    }

    /// Retention should count from this row and cannot: a done row, or any row with an expiry of its own.
    #[must_use]
    pub fn is_unreadable(&self) -> Predicate {
        let Some(clock) = &self.clock else { return Predicate::Any(Vec::new()) };
        let counted = if clock.is_expiry() {
            Predicate::Any(vec![self.done.predicate(), self.is_pending()])
        } else {
            self.is_done()
        };
        counted.and(clock.readable().negated())
    }

    /// The state of a row in memory.
    pub fn state_of<'a>(&self, read: &impl Fn(&Identifier) -> &'a Value) -> State {
        if self.is_pending().holds(read) {
            State::Pending
        } else if self.done.predicate().holds(read) {
            State::Done
        } else {
            State::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(status: &'a Value, expires: &'a Value) -> impl Fn(&Identifier) -> &'a Value {
        const KEY: &Value = &Value::Integer(1);
        move |column| match column.as_str() {
            "status" => status,
            "expires" => expires,
            "id" => KEY,
            other => panic!("asked for {other}"),
        }
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn only_a_done_row_at_or_before_the_cutoff_is_expired() {
        let rule = Rule::key_table(Duration::from_secs(5));
        let cutoff = rule.cutoff(UnixTime::new(15.0).unwrap()).unwrap();
        let expired =
            |status: &str, expires: Value| rule.is_expired(cutoff).holds(&row(&text(status), &expires));
        assert!(expired("done", Value::Real(9.0)));
        assert!(expired("done", Value::Integer(10)));
        assert!(!expired("done", Value::Real(10.000_001)));
        assert!(!expired("done", text("1")));
        assert!(!expired("done", Value::Null));
        for status in ["pending", "DONE", "done ", ""] {
            assert!(!expired(status, Value::Integer(-1_000_000_000)), "{status:?}");
        }
    }

    #[test]
    fn a_row_that_matches_both_rules_is_pending() {
        let mut rule = Rule::key_table(Duration::ZERO);
        rule.pending[0].values.push(Literal::Text("done".into()));
        let (status, expires) = (text("done"), Value::Integer(1));
        let row = row(&status, &expires);
        assert_eq!(rule.state_of(&row), State::Pending);
        assert!(!rule.is_done().holds(&row));
        let now = UnixTime::new(100.0).unwrap();
        assert!(!rule.is_expired(rule.cutoff(now).unwrap()).holds(&row));
    }

    #[test]
    fn a_pending_row_is_abandoned_from_its_expiry_on() {
        let rule = Rule::key_table(Duration::ZERO);
        let (pending, expires) = (text("pending"), Value::Integer(100));
        let abandoned = |now: f64, age| {
            let predicate = rule.is_abandoned(UnixTime::new(now).unwrap(), Duration::from_secs(age));
            predicate.unwrap().holds(&row(&pending, &expires))
        };
        assert!(!abandoned(99.0, 0));
        assert!(abandoned(100.0, 0));
        assert!(!abandoned(3_699.0, 3_600));
        assert!(abandoned(3_700.0, 3_600));
    }
}
