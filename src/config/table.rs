//! `[[database.table]]` -> rules. What is left out is as in the key table.

use std::time::Duration;

use config::{Value, ValueKind};

use super::reader::{Node, Section};
use super::state::{Placed, plain, refuse_shared};
use super::{clock, decode, known, state};
use crate::plan::{Clock, Done, Identifier, Rule, StateTest, TableLabel, side_by_side};

/// What the tables of a database inherit from it.
#[derive(Clone, Copy)]
pub(super) struct Inherited {
    pub(super) retention: Option<Duration>,
    /// Where nothing is deleted, a table may go without a clock column.
    pub(super) enabled: bool,
}

/// The rules of a database.
pub(super) fn rules(database: &Section<'_>, inherited: Inherited) -> Vec<Rule> {
    if !database.has("table") {
        return vec![Rule::key_table(inherited.retention.unwrap_or_default())];
    }
    let sections = database.sections("table", "[[database.table]]", known::TABLE);
    let mut read = Read::default();
    for section in &sections {
        let pending_elsewhere =
            sections.iter().any(|other| other.has("pending") && share_a_table(section, other));
        read.block(section, inherited, pending_elsewhere);
    }
    side_by_side(read.rules)
}

/// The rules that were read so far.
#[derive(Default)]
struct Read {
    rules: Vec<Rule>,
    labels: Vec<TableLabel>,
}

impl Read {
    /// One block is a rule for each table that it names.
    fn block(&mut self, section: &Section<'_>, inherited: Inherited, pending_elsewhere: bool) {
        let standard = Rule::key_table(Duration::ZERO);
        let tables = read_or(section, "table", decode::tables, &vec![standard.table.clone()]);
        let labels: Vec<TableLabel> =
            tables.iter().flatten().filter_map(|table| self.label(section, table, tables.as_ref())).collect();
        let rule = rule(section, standard, inherited, pending_elsewhere);
        let (Some(tables), Some((rule, done))) = (tables, rule) else { return };
        self.refuse_taken(&tables, &done);
        let named = tables.into_iter().zip(labels);
        self.rules.extend(named.map(|(table, label)| Rule { table, label, ..rule.clone() }));
    }

    /// The table's own name, the block's, or both where the block names several tables.
    fn label(
        &mut self,
        section: &Section<'_>,
        table: &Identifier,
        tables: Option<&Vec<Identifier>>,
    ) -> Option<TableLabel> {
        let label = match (section.has("name"), tables.is_some_and(|tables| tables.len() > 1)) {
            (false, _) => TableLabel::new(table.as_str()).ok()?,
            (true, false) => section.read("name", decode::label)?,
            (true, true) => {
                TableLabel::new(&format!("{}/{table}", section.read("name", decode::label)?)).ok()?
            }
        };
        if self.labels.contains(&label) {
            section.refuse("name", format!("another rule has the name `{label}`: set a `name` of its own"));
        }
        self.labels.push(label.clone());
        Some(label)
    }

    /// A value that two rules of a table call done would be deleted by the shorter of the two.
    fn refuse_taken(&self, tables: &[Identifier], done: &[Placed<'_>]) {
        let same = |rule: &&Rule| tables.iter().any(|table| same_name(table.as_str(), rule.table.as_str()));
        for rule in self.rules.iter().filter(same) {
            let why = format!("rule `{}` of the same table calls this done as well", rule.label);
            let values: Vec<StateTest> =
                rule.done.tests().iter().filter(|test| !test.is_of_null()).cloned().collect();
            refuse_shared(done, &values, &why);
        }
    }
}

/// SQLite takes `Keys` and `keys` for one table.
fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn share_a_table(one: &Section<'_>, other: &Section<'_>) -> bool {
    let (one, other) = (table_texts(one), table_texts(other));
    one.iter().any(|table| other.iter().any(|other| same_name(table, other)))
}

fn table_texts(section: &Section<'_>) -> Vec<String> {
    let Some(Node { value, .. }) = section.get("table") else { return vec!["keys".into()] };
    match &value.kind {
        ValueKind::Array(tables) => tables.iter().map(|table| table.kind.to_string()).collect(),
        kind => vec![kind.to_string()],
    }
}

/// The block's rule, for any of its tables, and the tests of `done`.
fn rule<'a>(
    section: &Section<'a>,
    standard: Rule,
    inherited: Inherited,
    pending_elsewhere: bool,
) -> Option<(Rule, Vec<Placed<'a>>)> {
    let key = read_or(section, "key", decode::key, &standard.key);
    let done =
        if section.has("done") { state::done(section) } else { Some((standard.done.clone(), Vec::new())) };
    let pending = pending(section, done.as_ref().map(|(done, _)| done), standard.pending, pending_elsewhere);
    if let (Some((done, placed)), Some(pending)) = (&done, &pending) {
        let why = "this is in both `done` and `pending`: a row is one or the other";
        refuse_shared(&pending.placed, done.tests(), why);
        if pending.placed.is_empty() {
            refuse_shared(placed, &pending.tests, why);
        }
    }
    let keep = if section.has("keep") {
        state::tests(section, "keep").map(|tests| plain(&tests))
    } else {
        Some(vec![])
    };
    let every_row = done.as_ref().is_some_and(|(done, _)| *done == Done::EveryRow);
    let clock = if every_row && !section.has("expires") && !section.has("since") {
        no_clock(section, inherited.enabled)
    } else {
        clock::clock(section, inherited.retention, standard.clock.as_ref()).map(Some)
    };
    let may_be_pending = pending.as_ref().is_some_and(|pending| pending.is_own());
    let told_by = clock.as_ref().and_then(Option::as_ref).filter(|_| may_be_pending);
    let abandoned = clock::abandoned(section, told_by);
    let references = read_or(section, "references", decode::references, &standard.references);
    let ((done, placed), pending) = (done?, pending?);
    let rule = Rule {
        key: key?,
        done,
        pending: pending.tests,
        rest_is_pending: pending.rest,
        keep: keep?,
        clock: clock?,
        abandoned: abandoned?,
        references: references?,
        ..standard
    };
    Some((rule, placed))
}

/// What pending means under one rule.
#[derive(Default)]
struct Pending<'a> {
    tests: Vec<StateTest>,
    /// Every row that is not done.
    rest: bool,
    placed: Vec<Placed<'a>>,
}

impl Pending<'_> {
    fn is_own(&self) -> bool {
        self.rest || !self.tests.is_empty()
    }
}

fn pending<'a>(
    section: &Section<'a>,
    done: Option<&Done>,
    standard: Vec<StateTest>,
    elsewhere: bool,
) -> Option<Pending<'a>> {
    if section.has("pending") {
        let placed = state::tests(section, "pending")?;
        return Some(Pending { tests: plain(&placed), rest: false, placed });
    }
    let only_of_null = |done: &Done| done.tests().iter().all(StateTest::is_of_null);
    Some(match done {
        Some(Done::EveryRow) => Pending::default(),
        _ if elsewhere && section.has("done") => Pending::default(),
        Some(done) if only_of_null(done) => Pending { rest: true, ..Pending::default() },
        _ => Pending { tests: standard, ..Pending::default() },
    })
}

/// A table in which nothing tells when a row was recorded can be counted, and not swept.
fn no_clock(section: &Section<'_>, enabled: bool) -> Option<Option<Clock>> {
    if !enabled {
        return Some(None);
    }
    let why = "nothing tells when a row was recorded, so none can be retained for a stated time: \
               set `since` or `expires`, or `enabled = false` for the database to count its rows only";
    section.refuse("done", why);
    None
}

/// The default where the key is absent; nothing where its value is wrong.
fn read_or<T: Clone>(
    section: &Section<'_>,
    key: &str,
    decode: impl Fn(&Value) -> Result<T, String>,
    default: &T,
) -> Option<T> {
    if section.has(key) { section.read(key, decode) } else { Some(default.clone()) }
}
