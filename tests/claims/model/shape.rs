//! A random table: its key, its columns, its indexes.

use fastrand::Rng;

/// Names that SQL would misread without quotes, or that mean something to SQLite.
const NAMES: [&str; 18] = [
    "rowid",
    "order",
    "wann fällig",
    "a\"b",
    "it's",
    "se?lect",
    "[x]",
    "a.b",
    "t",
    "value",
    "Locked",
    "phase",
    "typeof",
    "oid",
    "--",
    "key",
    "ended_at",
    "null",
];
const TABLES: [&str; 8] = ["keys", "order", "tä\"ble", "main", "t", "it's; --", "Inbox", "select"];
const TYPES: [&str; 11] = [
    "",
    "TEXT",
    "INTEGER",
    "REAL",
    "NUMERIC",
    "BLOB",
    "TEXT COLLATE NOCASE",
    "DATETIME",
    "VARCHAR(20)",
    "BOOLEAN",
    "TEXT COLLATE RTRIM",
];
const STRICT_TYPES: [&str; 6] = ["ANY", "TEXT", "INTEGER", "REAL", "BLOB", "ANY"];
const KEY_TYPES: [&str; 8] =
    ["TEXT", "INTEGER", "BLOB", "", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "NUMERIC", "REAL"];
const STRICT_KEY_TYPES: [&str; 5] = ["TEXT", "INTEGER", "BLOB", "ANY", "TEXT COLLATE NOCASE"];

#[derive(Debug, Clone)]
pub struct Shape {
    pub tables: Vec<String>,
    pub key: Vec<String>,
    /// Another key that is unique as well, where the table has one.
    pub other_key: Option<Vec<String>>,
    pub states: Vec<String>,
    pub clocks: Vec<String>,
    /// Every column; the last one numbers the rows for the test.
    pub columns: Vec<String>,
    /// What makes the tables, one statement each.
    pub ddl: Vec<String>,
}

impl Shape {
    pub fn new(rng: &mut Rng) -> Self {
        let mut names: Vec<String> = NAMES.map(String::from).into();
        rng.shuffle(&mut names);
        let mut name = || names.pop().unwrap();
        let key: Vec<String> = (0..[1, 1, 1, 2, 3][rng.usize(..5)]).map(|_| name()).collect();
        let status = if rng.u8(..5) < 3 { "status".into() } else { name() };
        let states = vec![status, name()];
        let clocks = vec![name(), name()];
        let mut tables: Vec<String> = TABLES.map(String::from).into();
        rng.shuffle(&mut tables);
        tables.truncate(if rng.u8(..8) == 0 { 2 } else { 1 });
        let columns: Vec<String> = [&key[..], &states, &clocks, &["mark of the test".into()]].concat();
        let mut shape = Self { tables, key, other_key: None, states, clocks, columns, ddl: Vec::new() };
        shape.ddl = shape.statements(rng);
        shape
    }

    fn statements(&mut self, rng: &mut Rng) -> Vec<String> {
        let strict = rng.u8(..5) == 0;
        let without_rowid = rng.u8(..4) == 0;
        let (types, key_types): (&[&str], &[&str]) =
            if strict { (&STRICT_TYPES, &STRICT_KEY_TYPES) } else { (&TYPES, &KEY_TYPES) };
        let mut pick = |types: &[&str]| types[rng.usize(..types.len())].to_owned();
        let mut lines: Vec<String> = Vec::new();
        for column in &self.columns {
            let declared = if self.key.contains(column) {
                pick(key_types)
            } else if self.columns.last() == Some(column) {
                "INTEGER".into()
            } else {
                pick(types)
            };
            lines.push(format!("{} {declared}", quoted(column)));
        }
        let descending = if self.key.len() == 1 && rng.u8(..6) == 0 { " DESC" } else { "" };
        let key = self.key.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ") + descending;
        let unique = rng.u8(..4);
        let of_the_test = quoted(&self.columns[self.columns.len() - 1]);
        let indexed = unique == 1 && (!without_rowid || rng.bool());
        match unique {
            0 if !without_rowid => lines.push(format!("UNIQUE ({key})")),
            1 if indexed && (without_rowid || rng.bool()) => {
                lines.push(format!("PRIMARY KEY ({of_the_test})"));
                self.other_key = Some(self.columns[self.columns.len() - 1..].into());
            }
            1 if indexed => {}
            _ => lines.push(format!("PRIMARY KEY ({key})")),
        }
        let options = match (strict, without_rowid) {
            (true, true) => " STRICT, WITHOUT ROWID",
            (true, false) => " STRICT",
            (false, true) => " WITHOUT ROWID",
            (false, false) => "",
        };
        let mut ddl = Vec::new();
        for (at, table) in self.tables.iter().enumerate() {
            ddl.push(format!("CREATE TABLE {} ({}){options}", quoted(table), lines.join(", ")));
            if indexed {
                ddl.push(format!("CREATE UNIQUE INDEX u{at} ON {}({key})", quoted(table)));
            }
            ddl.extend(self.indexes(rng, at, table));
        }
        ddl
    }

    fn indexes(&self, rng: &mut Rng, at: usize, table: &str) -> Vec<String> {
        let (table, state, clock) = (quoted(table), quoted(&self.states[0]), quoted(&self.clocks[0]));
        let all = [
            format!("CREATE INDEX c{at} ON {table}({clock})"),
            format!("CREATE INDEX s{at} ON {table}({state}, {clock})"),
            format!("CREATE INDEX p{at} ON {table}({clock}) WHERE {state} = 'done'"),
            format!("CREATE INDEX d{at} ON {table}({clock} COLLATE NOCASE DESC)"),
        ];
        all.into_iter().filter(|_| rng.u8(..3) == 0).collect()
    }
}

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
