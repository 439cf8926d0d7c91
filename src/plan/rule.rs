//! What a table means: its key, its states, its clock column.

use std::time::Duration;

use super::state::any;
use super::{
    Clock, ClockColumn, Cutoff, Done, Identifier, Judge, KeyColumns, Literal, Predicate, References, State,
    StateTest, TableLabel, Unit, UnixTime, Value,
};

/// When a pending row counts as abandoned: so long after the column's instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    /// The column.
    pub on: ClockColumn,
    /// How long after it.
    pub after: Duration,
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
    /// Whether every row that no rule of the table calls done is pending.
    pub rest_is_pending: bool,
    /// Rows that no rule of the table deletes, finished or not: any of these.
    pub keep: Vec<StateTest>,
    /// Which column retention counts from. Without one nothing ever expires: the table is only counted.
    pub clock: Option<Clock>,
    /// When a pending row is abandoned; nothing where no column tells.
    pub abandoned: Option<Abandoned>,
    /// What to do where foreign keys or delete triggers hang on the table.
    pub references: References,
    /// What the table's other rules call done.
    pub beside: Beside,
}

/// What the other rules of a table call done. See [`side_by_side`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beside {
    before: Vec<Done>,
    after: Vec<Done>,
}

/// Make the rules of one database know of each other: those of one table share what is pending and
/// what is kept, and each row of it is counted once.
#[must_use]
pub fn side_by_side(mut rules: Vec<Rule>) -> Vec<Rule> {
    let alone = rules.clone();
    for (at, rule) in rules.iter_mut().enumerate() {
        for (other_at, other) in alone.iter().enumerate().filter(|(other_at, _)| *other_at != at) {
            // SQLite takes `Keys` and `keys` for one table.
            if !other.table.as_str().eq_ignore_ascii_case(rule.table.as_str()) {
                continue;
            }
            join(&mut rule.pending, &other.pending);
            join(&mut rule.keep, &other.keep);
            rule.rest_is_pending |= other.rest_is_pending;
            let side = if other_at < at { &mut rule.beside.before } else { &mut rule.beside.after };
            side.push(other.done.clone());
        }
    }
    rules
}

fn join(own: &mut Vec<StateTest>, others: &[StateTest]) {
    for test in others {
        if !own.contains(test) {
            own.push(test.clone());
        }
    }
}

impl Rule {
    /// The key table of the contract: `keys(id, fingerprint, status, response, expires)`.
    #[must_use]
    pub fn key_table(grace: Duration) -> Self {
        let known = |name| match Identifier::new(name) {
            Ok(name) => name,
            Err(_) => unreachable!("the names below are not empty and hold no control character"),
        };
        let status = |value: &str| StateTest::OneOf {
            column: known("status"),
            values: vec![Literal::Text(value.into())],
        };
        let expires = ClockColumn::new(known("expires"), Unit::UnixSeconds);
        Self {
            label: match TableLabel::new("keys") {
                Ok(label) => label,
                Err(_) => unreachable!("`keys` is a name"),
            },
            table: known("keys"),
            key: KeyColumns::of(known("id")),
            done: Done::Any(vec![status("done")]),
            pending: vec![status("pending")],
            rest_is_pending: false,
            keep: Vec::new(),
            clock: Some(Clock::expires(expires.clone(), grace)),
            abandoned: Some(Abandoned { on: expires, after: Duration::ZERO }),
            beside: Beside::default(),
            references: References::Refuse,
        }
    }

    /// The same table as its library sees it, whose caller says what time it is: every number is an
    /// instant by the caller's clock.
    #[must_use]
    pub fn callers_key_table() -> Self {
        let mut rule = Self::key_table(Duration::ZERO);
        let column = rule.clock.as_ref().map(|clock| clock.column().clone());
        let on = column.map(|column| ClockColumn::new(column, Unit::CallersSeconds));
        rule.clock = on.map(|on| Clock::expires(on, Duration::ZERO));
        rule
    }

    /// Whether another rule is for the same table and calls the same rows done by a test of one column:
    /// the later of the two would never have them.
    #[must_use]
    pub fn clashes_with(&self, other: &Self) -> bool {
        self.table.as_str().eq_ignore_ascii_case(other.table.as_str()) && self.done.overlaps(&other.done)
    }

    /// Every column that the rule reads, some of them more than once.
    pub fn columns(&self) -> impl Iterator<Item = &Identifier> {
        let beside = self.beside.before.iter().chain(&self.beside.after);
        let tests =
            beside.flat_map(Done::tests).chain(self.done.tests()).chain(&self.pending).chain(&self.keep);
        let clocks = self.clock.as_ref().map(Clock::column).into_iter();
        let clocks = clocks.chain(self.abandoned.as_ref().map(|abandoned| &abandoned.on.column));
        self.key.columns().iter().chain(tests.map(StateTest::column)).chain(clocks)
    }

    /// Whether this is the first rule of its table, which counts what belongs to no one rule.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.beside.before.is_empty()
    }

    /// The row is pending, whatever else it is.
    #[must_use]
    pub fn is_pending(&self) -> Predicate {
        let tests = any(&self.pending);
        if self.rest_is_pending { Predicate::Any(vec![tests, self.is_claimed().negated()]) } else { tests }
    }

    /// Some rule of the table calls the row done.
    fn is_claimed(&self) -> Predicate {
        let beside = self.beside.before.iter().chain(&self.beside.after).map(Done::predicate);
        Predicate::Any(beside.chain([self.done.predicate()]).collect())
    }

    /// The row is done: finished, not pending as well, and not done under an earlier rule of the table,
    /// which alone then says how long it is kept.
    #[must_use]
    pub fn is_done(&self) -> Predicate {
        let before = Predicate::Any(self.beside.before.iter().map(Done::predicate).collect());
        self.done.predicate().and(self.is_pending().negated()).and(before.negated())
    }

    /// No rule of the table says what the row is.
    #[must_use]
    pub fn is_unknown(&self) -> Predicate {
        Predicate::Any(vec![self.is_pending(), self.is_claimed()]).negated()
    }

    /// The cutoff of a tick that read `now`, where a clock column tells.
    #[must_use]
    pub fn cutoff(&self, now: UnixTime) -> Option<Cutoff> {
        self.clock.as_ref().map(|clock| clock.cutoff(now))
    }

    /// The row is done, nothing keeps it, and its time has come.
    #[must_use]
    pub fn is_expired(&self, cutoff: Cutoff) -> Predicate {
        match &self.clock {
            Some(clock) => self.is_done().and(any(&self.keep).negated()).and(clock.reached(cutoff)),
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
        Some(self.is_pending().and(abandoned.on.reached(instant)))
    }

    /// Retention should count from this row and cannot: a done row, or any row with an expiry of its own.
    #[must_use]
    pub fn is_unreadable(&self) -> Predicate {
        let Some(clock) = &self.clock else { return Predicate::Any(Vec::new()) };
        let counted = if clock.is_expiry() && self.is_first() {
            Predicate::Any(vec![self.done.predicate(), self.is_pending()])
        } else {
            self.is_done()
        };
        counted.and(clock.readable().negated())
    }

    /// What says of rows in memory whether they may be deleted, made once for many of them.
    #[must_use]
    pub fn judge(&self, cutoff: Cutoff) -> Judge {
        Judge::new(self.is_pending(), self.done.predicate(), self.is_deletable(cutoff))
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
        rule.pending = rule.pending.into_iter().chain(rule.done.tests().to_vec()).collect();
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

    fn name(text: &str) -> Identifier {
        Identifier::new(text).unwrap()
    }

    /// `finished` and `cancelled` under a rule each, whose pending is the rest.
    fn pair() -> Vec<Rule> {
        let rule = |column: &str| Rule {
            done: Done::Any(vec![StateTest::NotNull(name(column))]),
            pending: Vec::new(),
            rest_is_pending: true,
            ..Rule::key_table(Duration::ZERO)
        };
        side_by_side(vec![rule("finished"), rule("cancelled")])
    }

    #[test]
    fn a_row_that_one_rule_of_a_table_calls_done_is_pending_under_none() {
        let there = Value::Integer(1);
        let rules = pair();
        let states = |finished: &Value, cancelled: &Value| {
            let (finished, cancelled) = (finished.clone(), cancelled.clone());
            rules
                .iter()
                .map(|rule| {
                    let read = |column: &Identifier| match column.as_str() {
                        "finished" => &finished,
                        _ => &cancelled,
                    };
                    (rule.state_of(&read), rule.is_done().holds(&read), rule.is_unknown().holds(&read))
                })
                .collect::<Vec<_>>()
        };
        let (done, unknown, pending) = (State::Done, State::Unknown, State::Pending);
        assert_eq!(states(&there, &Value::Null), [(done, true, false), (unknown, false, false)]);
        assert_eq!(states(&Value::Null, &there), [(unknown, false, false), (done, true, false)]);
        // Both: the first one's.
        assert_eq!(states(&there, &there), [(done, true, false), (done, false, false)]);
        assert_eq!(states(&Value::Null, &Value::Null), [(pending, false, false), (pending, false, false)]);
    }

    #[test]
    fn a_kept_row_is_done_and_never_expires() {
        let rule =
            Rule { keep: vec![StateTest::NotNull(name("response"))], ..Rule::key_table(Duration::ZERO) };
        let cutoff = rule.cutoff(UnixTime::from_millis(1_000)).unwrap();
        let (status, expires) = (text("done"), Value::Integer(1));
        let kept = |response: &Value| {
            let response = response.clone();
            let read = |column: &Identifier| match column.as_str() {
                "status" => &status,
                "response" => &response,
                _ => &expires,
            };
            (rule.is_done().holds(&read), rule.is_deletable(cutoff).holds(&read))
        };
        assert_eq!(kept(&text("{}")), (true, false));
        assert_eq!(kept(&Value::Null), (true, true));
    }
}
