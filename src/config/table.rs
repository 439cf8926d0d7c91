//! `[[database.table]]` -> rules. What is left out is as in the key table.

use std::time::Duration;

use config::{Value, ValueKind};

use super::reader::Section;
use super::{decode, known};
use crate::plan::{Abandoned, Clock, Done, Identifier, Rule, StateTest, TableLabel, Unit};

/// SQLite refuses an expression that is too deep; no state column has so many values.
const MOST_VALUES: usize = 100;

/// The rules of a database, whose tables inherit this retention. Where nothing is deleted, a table
/// may go without a clock column.
pub(super) fn rules(database: &Section<'_>, inherited: Option<Duration>, enabled: bool) -> Vec<Rule> {
    if !database.has("table") {
        return vec![Rule::key_table(inherited.unwrap_or_default())];
    }
    let sections = database.sections("table", "[[database.table]]", known::TABLE);
    let mut seen = Vec::new();
    let mut rules: Vec<Rule> =
        sections.iter().filter_map(|section| rule(section, inherited, enabled, &mut seen)).collect();
    share_pending(&mut rules);
    rules
}

/// A row that one rule of a table calls pending is pending under its other rules too.
fn share_pending(rules: &mut [Rule]) {
    let own: Vec<(Identifier, Vec<StateTest>)> =
        rules.iter().map(|rule| (rule.table.clone(), rule.pending.clone())).collect();
    for rule in rules {
        for (_, pending) in
            own.iter().filter(|(table, _)| table.as_str().eq_ignore_ascii_case(rule.table.as_str()))
        {
            let new = pending.iter().filter(|test| !rule.pending.contains(test)).cloned();
            let new: Vec<StateTest> = new.collect();
            rule.pending.extend(new);
        }
    }
}

fn rule(
    section: &Section<'_>,
    inherited: Option<Duration>,
    enabled: bool,
    seen: &mut Vec<TableLabel>,
) -> Option<Rule> {
    let standard = Rule::key_table(Duration::ZERO);
    let table = read_or(section, "table", decode::table, &standard.table);
    let label = label(section, table.as_ref(), seen);
    let key = read_or(section, "key", decode::key, &standard.key);
    let done = done(section, &standard.done);
    let every_row = done == Some(Done::EveryRow);
    let pending = pending(section, if every_row { Vec::new() } else { standard.pending });
    if let (Some(Done::Test(done)), Some([pending])) = (&done, pending.as_deref()) {
        refuse_overlap(section, done, pending);
    }
    let clock = if every_row && !section.has("expires") && !section.has("since") {
        no_clock(section, enabled)
    } else {
        clock(section, inherited, standard.clock.as_ref()).map(Some)
    };
    let may_be_pending = pending.as_ref().is_some_and(|pending| !pending.is_empty());
    let abandoned = abandoned(section, clock.as_ref().and_then(Option::as_ref).filter(|_| may_be_pending));
    let references = read_or(section, "references", decode::references, &standard.references);
    Some(Rule {
        label: label?,
        table: table?,
        key: key?,
        done: done?,
        pending: pending?,
        clock: clock?,
        abandoned: abandoned?,
        references: references?,
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

fn label(
    section: &Section<'_>,
    table: Option<&Identifier>,
    seen: &mut Vec<TableLabel>,
) -> Option<TableLabel> {
    let label = if section.has("name") {
        section.read("name", decode::label)?
    } else {
        TableLabel::new(table?.as_str()).ok()?
    };
    if seen.contains(&label) {
        section.refuse("name", format!("another rule has the name `{label}`: set a `name` of its own"));
    }
    seen.push(label.clone());
    Some(label)
}

fn done(section: &Section<'_>, standard: &Done) -> Option<Done> {
    if !section.has("done") {
        return Some(standard.clone());
    }
    let node = section.get("done")?;
    match &node.value.kind {
        ValueKind::String(text) if text == "every-row" => Some(Done::EveryRow),
        _ => state(section, "done").map(Done::Test),
    }
}

fn pending(section: &Section<'_>, standard: Vec<StateTest>) -> Option<Vec<StateTest>> {
    if section.has("pending") { state(section, "pending").map(|test| vec![test]) } else { Some(standard) }
}

fn state(section: &Section<'_>, key: &str) -> Option<StateTest> {
    let node = section.get(key)?;
    if matches!(node.value.kind, ValueKind::Array(_)) {
        section.refuse(key, format!("a list of tests {}: expected {{ column, in }}", known::LATER_WORDS));
        return None;
    }
    let test = section.section(key, known::STATE)?;
    let column = test.require("column", decode::column);
    // A test by NULL is a form of a later version, and that was said: `in` is not missing beside it.
    let values = if test.has("is") { None } else { test.require_list("in", decode::literal) };
    if values.as_ref().is_some_and(|values| values.len() > MOST_VALUES) {
        test.refuse("in", format!("expected at most {MOST_VALUES} values"));
    }
    Some(StateTest { column: column?, values: values? })
}

/// A row whose value means both is pending, so that half of the rule would never be true.
fn refuse_overlap(section: &Section<'_>, done: &StateTest, pending: &StateTest) {
    // SQLite takes `Status` and `status` for one column.
    if !done.column.as_str().eq_ignore_ascii_case(pending.column.as_str()) {
        return;
    }
    let (key, given, other) =
        if section.has("pending") { ("pending", pending, done) } else { ("done", done, pending) };
    let elements = section.get(key).and_then(|node| node.child("in")?.elements()).unwrap_or_default();
    for (node, _) in elements.iter().zip(&given.values).filter(|(_, value)| other.values.contains(value)) {
        section.reader.refuse(node, "this value is in both `done` and `pending`: a row is one or the other");
    }
}

fn clock(section: &Section<'_>, inherited: Option<Duration>, standard: Option<&Clock>) -> Option<Clock> {
    if section.has("expires") && section.has("since") {
        section.refuse("since", "expected `expires` or `since`, found both");
        return None;
    }
    let retention = read_or(section, "retention", |value| decode::duration(value).map(Some), &inherited);
    if section.has("since") {
        let (column, unit) = instant(&section.section("since", known::CLOCK)?)?;
        return since(section, column, unit, retention?);
    }
    let (column, unit) = if section.has("expires") {
        instant(&section.section("expires", known::CLOCK)?)?
    } else {
        standard.map(|clock| (clock.column().clone(), clock.unit()))?
    };
    Some(Clock::expires(column, unit, retention?.unwrap_or_default()))
}

fn since(
    section: &Section<'_>,
    column: Identifier,
    unit: Unit,
    retention: Option<Duration>,
) -> Option<Clock> {
    let clock = Clock::since(column, unit, retention.unwrap_or_default());
    let place = if section.has("retention") { "retention" } else { "since" };
    clock
        .map_err(|error| section.refuse(place, format!("{error}: here, in the database or in [defaults]")))
        .ok()
}

fn instant(section: &Section<'_>) -> Option<(Identifier, Unit)> {
    let column = section.require("column", decode::column);
    let unit = section.require("unit", decode::unit);
    Some((column?, unit?))
}

/// The outer option: whether it could be read; the inner: whether a column tells.
fn abandoned(section: &Section<'_>, clock: Option<&Clock>) -> Option<Option<Abandoned>> {
    if section.has("abandoned") {
        let section = section.section("abandoned", known::ABANDONED)?;
        let instant = instant(&section);
        let after = section.require("after", decode::duration)?;
        let (column, unit) = instant?;
        return Some(Some(Abandoned { column, unit, after }));
    }
    let Some(clock) = clock else { return Some(None) };
    let at_once = || Abandoned { column: clock.column().clone(), unit: clock.unit(), after: Duration::ZERO };
    Some(clock.is_expiry().then(at_once))
}
