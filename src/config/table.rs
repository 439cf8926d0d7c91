//! `[[database.table]]` -> rules. What is left out is as in the key table.

use std::time::Duration;

use config::{Value, ValueKind};

use super::reader::{Node, Section};
use super::state::{Placed, plain, refuse_shared};
use super::{clock, decode, known, state};
use crate::plan::{Clock, Done, Rule, RuleBlock, RuleBook, StateTest, TableLabel, TableName};

/// What the tables of a database inherit from it.
#[derive(Clone, Copy)]
pub(super) struct Inherited {
    pub(super) retention: Option<Duration>,
    /// Where nothing is deleted, a table may go without a clock column.
    pub(super) enabled: bool,
}

/// The rules of a database.
pub(super) fn rules(database: &Section<'_>, inherited: Inherited) -> RuleBook {
    if !database.has("table") {
        return RuleBook::of(Rule::key_table(inherited.retention.unwrap_or_default()));
    }
    let sections = database.sections("table", "[[database.table]]", known::TABLE);
    let mut read = Read::default();
    for section in &sections {
        let pending_elsewhere =
            sections.iter().any(|other| other.has("pending") && share_a_table(section, other));
        read.block(section, inherited, pending_elsewhere);
    }
    RuleBook::new(read.blocks)
}

/// What was read so far.
#[derive(Default)]
struct Read {
    blocks: Vec<RuleBlock>,
    labels: Vec<TableLabel>,
}

impl Read {
    fn block(&mut self, section: &Section<'_>, inherited: Inherited, pending_elsewhere: bool) {
        let standard = Rule::key_table(Duration::ZERO);
        let exact = vec![TableName::Exact(standard.table.clone())];
        let tables = read_or(section, "table", decode::tables, &exact);
        let name =
            if section.has("name") { section.read("name", decode::label).map(Some) } else { Some(None) };
        let rule = rule(section, standard, inherited, pending_elsewhere);
        let (Some(tables), Some(name)) = (tables, name) else { return };
        if let Some((rule, done)) = rule {
            let block = RuleBlock { rule, name, tables };
            self.refuse_labels(section, &block);
            self.refuse_taken(section, &block, &done);
            self.blocks.push(block);
        }
    }

    /// What a pattern will match is not known yet.
    fn refuse_labels(&mut self, section: &Section<'_>, block: &RuleBlock) {
        for table in &block.tables {
            let TableName::Exact(table) = table else { continue };
            let Some(label) = block.label(table) else { continue };
            if self.labels.contains(&label) {
                section
                    .refuse("name", format!("another rule has the name `{label}`: set a `name` of its own"));
            }
            self.labels.push(label);
        }
    }

    /// What two rules of a table call done would be deleted by the shorter of the two.
    fn refuse_taken(&self, section: &Section<'_>, block: &RuleBlock, done: &[Placed<'_>]) {
        let same = |other: &&RuleBlock| {
            other.tables.iter().any(|table| block.tables.iter().any(|own| same_table(table, own)))
        };
        for other in self.blocks.iter().filter(same) {
            let why = "another rule of the same table calls this done as well";
            refuse_shared(done, other.rule.done.tests(), StateTest::overlaps, why);
            // What is a default, or every row, has no place of its own.
            if done.is_empty() && block.rule.done.overlaps(&other.rule.done) {
                section.refuse("done", why);
            }
        }
    }
}

fn same_table(one: &TableName, other: &TableName) -> bool {
    match (one, other) {
        (TableName::Exact(one), TableName::Exact(other)) => same_name(one.as_str(), other.as_str()),
        (TableName::Pattern(one), TableName::Pattern(other)) => one == other,
        _ => false,
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
        refuse_shared(&pending.placed, done.tests(), StateTest::asks_the_same, why);
        if pending.placed.is_empty() {
            refuse_shared(placed, &pending.tests, StateTest::asks_the_same, why);
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
    clock::refuse_broken_promise(section, clock.as_ref().and_then(Option::as_ref));
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
