//! What a random table means, and the config that says so.

use std::fmt::Write;

use fastrand::Rng;

use super::instants::{UNITS, Unit};
use super::shape::Shape;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    Text(String),
    Integer(i64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    OneOf(Vec<Literal>),
    Null,
    NotNull,
}

#[derive(Debug, Clone)]
pub struct Test {
    pub column: String,
    pub says: Says,
}

#[derive(Debug, Clone)]
pub struct ClockColumn {
    pub column: String,
    pub unit: Unit,
    pub never: Vec<Literal>,
}

/// One block `[[database.table]]`.
#[derive(Debug, Clone)]
pub struct Block {
    pub name: String,
    pub key: Vec<String>,
    /// Nothing: every row.
    pub done: Option<Vec<Test>>,
    /// Nothing: left out.
    pub pending: Option<Vec<Test>>,
    pub keep: Vec<Test>,
    pub expires: bool,
    pub clock: ClockColumn,
    /// In milliseconds.
    pub retention: i128,
    pub abandoned: Option<(ClockColumn, i128)>,
}

const DONE: [&str; 5] = ["done", "failed", "it's \"done\"", "1", "erledigt ä"];
const PENDING: [&str; 3] = ["pending", "running", ""];
const DONE_NUMBERS: [i64; 5] = [1, 1, 2, -7, i64::MIN];
const PENDING_NUMBERS: [i64; 3] = [0, 3, i64::MAX];

/// Whole eighths of a second, which a double holds exactly.
const LENGTHS: [i128; 8] =
    [125, 1_000, 1_375, 90_000, 3_600_000, 86_400_000, 2_592_000_000, 8_639_913_600_000];

pub fn blocks(rng: &mut Rng, shape: &Shape) -> Vec<Block> {
    let first = block(rng, shape, 0);
    if rng.u8(..10) < 6 || first.done.is_none() {
        return vec![first];
    }
    let mut second = block(rng, shape, 1);
    for _ in 0..50 {
        if agree(&first, &second) {
            return vec![first, second];
        }
        second = block(rng, shape, 1);
    }
    vec![first]
}

/// Config refuses two rules that call the same rows done, and a second rule may leave pending out.
fn agree(first: &Block, second: &Block) -> bool {
    let (Some(one), Some(other)) = (&first.done, &second.done) else { return false };
    !one.iter().any(|test| other.iter().any(|other| test.overlaps(other)))
}

impl Test {
    fn shares_a_value(&self, other: &Self) -> bool {
        let (Says::OneOf(one), Says::OneOf(two)) = (&self.says, &other.says) else { return false };
        self.column == other.column && one.iter().any(|value| two.contains(value))
    }

    fn clashes(&self, other: &Self) -> bool {
        let same = self.column == other.column && self.says == other.says;
        self.shares_a_value(other) || (same && !matches!(self.says, Says::OneOf(_)))
    }

    /// Every value that a column can be tested for is not NULL.
    fn overlaps(&self, other: &Self) -> bool {
        let is_null = |test: &Self| matches!(test.says, Says::Null);
        let one_of = |test: &Self| matches!(test.says, Says::OneOf(_));
        let alike = is_null(self) == is_null(other) && !(one_of(self) && one_of(other));
        self.shares_a_value(other) || (self.column == other.column && alike)
    }
}

fn block(rng: &mut Rng, shape: &Shape, at: usize) -> Block {
    let which = if rng.bool() { 0 } else { at };
    let clock = clock(rng, &shape.clocks[which]);
    let done = if rng.u8(..8) == 0 { None } else { Some(tests(rng, shape, &DONE, &DONE_NUMBERS)) };
    let mut pending = match &done {
        None if rng.bool() => None,
        // The default is a value of a column `status`.
        Some(done) if left_out(rng, shape, done) => None,
        _ => Some(tests(rng, shape, &PENDING, &PENDING_NUMBERS)),
    };
    while let (Some(done), Some(some)) = (&done, &mut pending)
        && some.iter().any(|test| done.iter().any(|done| test.clashes(done)))
    {
        *some = tests(rng, shape, &PENDING, &PENDING_NUMBERS);
    }
    let keep = if rng.u8(..3) == 0 { tests(rng, shape, &["hold", "done"], &[1, 9]) } else { Vec::new() };
    let expires = rng.bool();
    let retention = if expires && rng.bool() { 0 } else { LENGTHS[rng.usize(..LENGTHS.len())] };
    let abandoned = (rng.u8(..3) == 0)
        .then(|| (self::clock(rng, &shape.clocks[1]), [0, 125, 60_000, 86_400_000][rng.usize(..4)]));
    let key = shape.other_key.clone().filter(|_| rng.bool()).unwrap_or_else(|| shape.key.clone());
    Block { name: format!("r{at}"), key, done, pending, keep, expires, clock, retention, abandoned }
}

fn left_out(rng: &mut Rng, shape: &Shape, done: &[Test]) -> bool {
    let only_of_null = done.iter().all(|test| !matches!(test.says, Says::OneOf(_)));
    (only_of_null || shape.states.iter().any(|state| state == "status")) && rng.u8(..3) > 0
}

fn clock(rng: &mut Rng, column: &str) -> ClockColumn {
    let unit = UNITS[rng.usize(..UNITS.len())];
    let never = match rng.u8(..6) {
        0 => vec![Literal::Integer(0)],
        1 => vec![Literal::Text("never".into()), Literal::Text("9999-12-31T00:00:00Z".into())],
        // An instant that is long past, and would be due.
        2 => vec![Literal::Integer(-1), Literal::Text("1970-01-01 00:00:00".into()), Literal::Integer(12)],
        3 => vec![Literal::Integer(i64::MAX), Literal::Integer(i64::MIN), Literal::Text(String::new())],
        _ => Vec::new(),
    };
    ClockColumn { column: column.into(), unit, never }
}

fn tests(rng: &mut Rng, shape: &Shape, texts: &[&str], numbers: &[i64]) -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for _ in 0..1 + rng.usize(..3) / 2 {
        let columns = match rng.u8(..16) {
            0 => &shape.key,
            1..4 => &shape.clocks,
            _ => &shape.states,
        };
        let column = columns[rng.usize(..columns.len())].clone();
        let says = match rng.u8(..6) {
            0 => Says::Null,
            1 => Says::NotNull,
            _ => Says::OneOf(values(rng, texts, numbers)),
        };
        // A column that is NULL or not is every row.
        let every_row = tests.iter().any(|test| test.column == column && test.says != says);
        if !every_row {
            tests.push(Test { column, says });
        }
    }
    tests
}

fn values(rng: &mut Rng, texts: &[&str], numbers: &[i64]) -> Vec<Literal> {
    let mut values: Vec<Literal> = texts.iter().map(|text| Literal::Text((*text).into())).collect();
    values.extend(numbers.iter().copied().map(Literal::Integer));
    rng.shuffle(&mut values);
    values.truncate(1 + rng.usize(..3));
    if !values.contains(&Literal::Text(texts[0].into())) && rng.bool() {
        values.push(Literal::Text(texts[0].into()));
    }
    values
}

/// The blocks as an operator would write them.
pub fn config(rng: &mut Rng, shape: &Shape, blocks: &[Block], path: &std::path::Path, batch: u32) -> String {
    let mut text = format!("[[database]]\nname = \"app\"\npath = {path:?}\nbatch = {batch}\n");
    let list = |names: &[String]| if let [one] = names { format!("{one:?}") } else { format!("{names:?}") };
    for block in blocks {
        let mut line = |key: &str, value: String| writeln!(text, "{key} = {value}").unwrap();
        writeln_table(&mut line, shape, block, &list);
        let clock = if block.expires { "expires" } else { "since" };
        line(clock, clock_table(&block.clock, None));
        let retention = duration(rng, block.retention);
        if block.retention > 0 || rng.bool() {
            line("retention", format!("{retention:?}"));
        }
        if let Some((on, after)) = &block.abandoned {
            line("abandoned", clock_table(on, Some(*after)));
        }
    }
    text
}

fn writeln_table(
    line: &mut impl FnMut(&str, String),
    shape: &Shape,
    block: &Block,
    list: &impl Fn(&[String]) -> String,
) {
    line("[[database.table]]\ntable", list(&shape.tables));
    line("name", format!("{:?}", block.name));
    line("key", list(&block.key));
    match &block.done {
        None => line("done", "\"every-row\"".into()),
        Some(done) => line("done", test_tables(done)),
    }
    if let Some(pending) = &block.pending {
        line("pending", test_tables(pending));
    }
    if !block.keep.is_empty() {
        line("keep", test_tables(&block.keep));
    }
}

fn test_tables(tests: &[Test]) -> String {
    let test = |test: &Test| {
        let column = &test.column;
        match &test.says {
            Says::Null => format!("{{ column = {column:?}, is = \"null\" }}"),
            Says::NotNull => format!("{{ column = {column:?}, is = \"not null\" }}"),
            Says::OneOf(values) => format!("{{ column = {column:?}, in = [{}] }}", literals(values)),
        }
    };
    let tests: Vec<String> = tests.iter().map(test).collect();
    if let [one] = &tests[..] { one.clone() } else { format!("[{}]", tests.join(", ")) }
}

fn literals(values: &[Literal]) -> String {
    let literal = |value: &Literal| match value {
        Literal::Text(text) => format!("{text:?}"),
        Literal::Integer(integer) => integer.to_string(),
    };
    values.iter().map(literal).collect::<Vec<_>>().join(", ")
}

fn clock_table(on: &ClockColumn, after: Option<i128>) -> String {
    let never =
        if on.never.is_empty() { String::new() } else { format!(", never = [{}]", literals(&on.never)) };
    let after = after.map_or(String::new(), |after| format!(", after = \"{after}ms\""));
    format!("{{ column = {:?}, unit = {:?}{never}{after} }}", on.column, on.unit.name())
}

/// In any unit that it is a whole number of.
fn duration(rng: &mut Rng, millis: i128) -> String {
    let units = [(1, "ms"), (1_000, "s"), (60_000, "m"), (3_600_000, "h"), (86_400_000, "d")];
    let fitting: Vec<_> = units.into_iter().filter(|(unit, _)| millis % unit == 0).collect();
    let (unit, name) = fitting[rng.usize(..fitting.len())];
    format!("{}{name}", millis / unit)
}
