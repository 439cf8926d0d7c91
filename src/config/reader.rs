//! Reads the layered values strictly: nothing is coerced, and reading goes on after a problem, so
//! that all of them are shown at once.

use std::cell::RefCell;

use config::{Map, Value, ValueKind};

use super::known;
use super::places::{Places, Site, child, element};
use super::problem::{Place, Problem};

/// Where problems are gathered.
pub(super) struct Reader<'a> {
    file: &'a str,
    places: Places,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, places: Places, problems: Vec<Problem>) -> Self {
        Self { file, places, problems: RefCell::new(problems) }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    fn place(&self, node: &Node<'_>, of: fn(&Site) -> super::Position) -> Place {
        if node.path.is_empty() {
            return Place::File;
        }
        match self.places.get(&node.path) {
            Some(site) if node.value.origin().is_none_or(|origin| origin == self.file) => Place::At(of(site)),
            _ => variable(node.value).map_or(Place::File, Place::Variable),
        }
    }

    fn add(&self, place: Place, key: &str, message: impl Into<String>) {
        self.problems.borrow_mut().push(Problem::new(self.file, place, key, message));
    }

    /// What may turn out to be wrong with the value of this node, but for the words.
    pub(super) fn problem(&self, node: &Node<'_>) -> Problem {
        Problem::new(self.file, self.place(node, |site| site.value), &node.path, "")
    }

    /// The value of this node is wrong.
    pub(super) fn refuse(&self, node: &Node<'_>, message: impl Into<String>) {
        self.add(self.place(node, |site| site.value), &node.path, message);
    }

    fn refuse_key(&self, node: &Node<'_>, message: impl Into<String>) {
        self.add(self.place(node, |site| site.key), &node.path, message);
    }
}

/// The variable that set this value, or one below it.
fn variable(value: &Value) -> Option<String> {
    match (&value.kind, value.origin()) {
        (ValueKind::Table(table), None) => table.values().filter_map(variable).min(),
        (_, origin) => origin.map(str::to_owned),
    }
}

/// A value and its key path.
#[derive(Clone)]
pub(super) struct Node<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { path: String::new(), value }
    }

    /// A key of this table.
    pub(super) fn child(&self, key: &str) -> Option<Self> {
        let ValueKind::Table(table) = &self.value.kind else { return None };
        table.get(key).map(|value| Self { path: child(&self.path, key), value })
    }

    /// The elements of this array.
    pub(super) fn elements(&self) -> Option<Vec<Self>> {
        let ValueKind::Array(array) = &self.value.kind else { return None };
        let node = |(index, value)| Self { path: element(&self.path, index), value };
        Some(array.iter().enumerate().map(node).collect())
    }
}

/// A table of the config, whose keys are all known.
pub(super) struct Section<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) node: Node<'a>,
}

impl<'a> Section<'a> {
    /// Reports what is no table, and every key that is not known.
    pub(super) fn open(reader: &'a Reader<'a>, node: Node<'a>, known: &[&str]) -> Option<Self> {
        let ValueKind::Table(table) = &node.value.kind else {
            reader.refuse(&node, mismatch(&format!("a table of {}", known.join(", ")), node.value));
            return None;
        };
        report_unknown(reader, &node, table, known);
        Some(Self { reader, node })
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.node.child(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// A value, decoded. Nothing where it is absent, and where it is wrong, which is reported.
    pub(super) fn read<T>(&self, key: &str, decode: impl Fn(&Value) -> Result<T, String>) -> Option<T> {
        self.decode(&self.get(key)?, decode)
    }

    /// A value that must be there.
    pub(super) fn require<T>(&self, key: &str, decode: impl Fn(&Value) -> Result<T, String>) -> Option<T> {
        if !self.has(key) {
            self.reader.refuse(&self.node, format!("`{key}` is missing: it must be set"));
        }
        self.read(key, decode)
    }

    /// A list of at least one value that must be there.
    pub(super) fn require_list<T>(
        &self,
        key: &str,
        decode: impl Fn(&Value) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let list = |value: &Value| match &value.kind {
            ValueKind::Array(array) if !array.is_empty() => Ok(()),
            ValueKind::Array(_) => Err("expected at least one value".into()),
            _ => Err(mismatch("a list of values", value)),
        };
        self.require(key, list)?;
        let elements = self.get(key)?.elements()?;
        // Collected in between: every element is looked at, also behind a wrong one.
        let values: Vec<Option<T>> = elements.iter().map(|node| self.decode(node, &decode)).collect();
        values.into_iter().collect()
    }

    /// A list of values, empty where the key is absent. Nothing where one of them is wrong.
    pub(super) fn read_list<T>(
        &self,
        key: &str,
        decode: impl Fn(&Value) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        if self.has(key) { self.require_list(key, decode) } else { Some(Vec::new()) }
    }

    fn decode<T>(&self, node: &Node<'_>, decode: impl Fn(&Value) -> Result<T, String>) -> Option<T> {
        decode(node.value).map_err(|message| self.reader.refuse(node, message)).ok()
    }

    /// A table in this one.
    pub(super) fn section(&self, key: &str, known: &[&str]) -> Option<Self> {
        Self::open(self.reader, self.get(key)?, known)
    }

    /// A table in this one, or a list of at least one. Nothing where one of them is none.
    pub(super) fn one_or_more(&self, key: &str, known: &[&str]) -> Option<Vec<Self>> {
        let node = self.get(key)?;
        let Some(elements) = node.elements() else {
            return Self::open(self.reader, node, known).map(|section| vec![section]);
        };
        if elements.is_empty() {
            self.reader.refuse(&node, "expected at least one test");
            return None;
        }
        let sections: Vec<Option<Self>> =
            elements.into_iter().map(|node| Self::open(self.reader, node, known)).collect();
        sections.into_iter().collect()
    }

    /// The tables of a key, written under this header: at least one where the key is there.
    pub(super) fn sections(&self, key: &str, header: &str, known: &[&str]) -> Vec<Self> {
        let Some(node) = self.get(key) else { return Vec::new() };
        match node.elements() {
            Some(elements) if elements.is_empty() => {
                self.reader.refuse(&node, format!("expected at least one {header}, found an empty list"));
                Vec::new()
            }
            Some(elements) => {
                elements.into_iter().filter_map(|node| Self::open(self.reader, node, known)).collect()
            }
            None => {
                self.reader.refuse(&node, mismatch(&format!("tables {header}"), node.value));
                Vec::new()
            }
        }
    }

    /// The value of a key, or this table where the key is not there, is wrong.
    pub(super) fn refuse(&self, key: &str, message: impl Into<String>) {
        self.reader.refuse(&self.get(key).unwrap_or_else(|| self.node.clone()), message);
    }
}

fn report_unknown(reader: &Reader<'_>, node: &Node<'_>, table: &Map<String, Value>, known: &[&str]) {
    for key in table.keys().filter(|key| !known.contains(&key.as_str())) {
        if let Some(node) = node.child(key) {
            reader.refuse_key(&node, known::unknown(key, known));
        }
    }
}

/// `expected so and so, found such and such`.
pub(super) fn mismatch(expected: &str, found: &Value) -> String {
    let found = match &found.kind {
        ValueKind::Boolean(flag) => format!("the boolean {flag}"),
        ValueKind::I64(number) => format!("the integer {number}"),
        ValueKind::Float(number) => format!("the float {number:?}"),
        ValueKind::String(text) => format!("the text {text:?}"),
        ValueKind::Table(_) => "a table".into(),
        ValueKind::Array(_) => "a list".into(),
        ValueKind::Nil => "a date or time".into(),
        _ => "an integer of more than 64 bits".into(),
    };
    format!("expected {expected}, found {found}")
}
