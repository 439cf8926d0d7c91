//! Standard output: JSON lines for machines, tables for people.

use std::io::{self, IsTerminal, Write};

use comfy_table::{Table, presets};
use serde_json::{Value as Json, json};

use crate::plan::{Key, Value, hex};

/// Where answers go, and in which form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printer {
    json: bool,
}

impl Printer {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    pub fn is_json(self) -> bool {
        self.json
    }

    /// Whether a person watches, so that a progress bar helps and does not spoil a log.
    pub fn is_watched(self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// One line.
    pub fn line(self, line: impl std::fmt::Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{line}")
    }

    /// A text as it is.
    pub fn text(self, text: &[u8]) -> io::Result<()> {
        io::stdout().lock().write_all(text)
    }

    /// Columns for people, aligned, without frames so that they can be cut and copied.
    pub fn table(self, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(head);
        rows.iter().for_each(|row| {
            table.add_row(row);
        });
        self.line(table.trim_fmt())
    }
}

/// A line for people on standard error, where somebody may no longer listen.
pub(super) fn complain(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "keysweep: {line}");
}

/// A key as JSON: text as text, an integer as a number, and everything else by its bytes.
pub(super) fn key_json(key: &Key) -> Json {
    let value = |value: &Value| match value {
        Value::Null => Json::Null,
        Value::Integer(integer) => json!(integer),
        Value::Real(real) => json!(real),
        Value::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(_) => json!({ "hex": hex(bytes) }),
        },
        Value::Blob(bytes) => json!({ "hex": hex(bytes) }),
    };
    match key.values() {
        [single] => value(single),
        several => several.iter().map(value).collect(),
    }
}
