//! The file as a source of `config`: TOML in, values and their places out.

use std::ops::Range;

use config::{Map, Source, Value, ValueKind};
use toml::de::{DeInteger, DeTable, DeValue};

use super::places::{Lines, Places, child, element};
use super::problem::{ConfigError, Place, Problem};

/// The one root of every source. `config` reads a key at the top as a path (`a.b`, `a[0]`), a key
/// below it as it is; so everything lies below this one, which the prefix of the variables names too.
pub(super) const ROOT: &str = "keysweep";

/// A file that is TOML.
#[derive(Debug, Clone)]
pub(super) struct Document {
    values: Value,
    pub(super) places: Places,
}

impl Document {
    /// # Errors
    /// Bytes that are not UTF-8, and every fault of TOML's syntax.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, ConfigError> {
        let text = utf8(file, bytes)?;
        let lines = Lines::new(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(ConfigError::new(errors.iter().map(|error| syntax(file, &lines, error)).collect()));
        }
        let mut import = Import { origin: file.to_owned(), lines: &lines, places: Places::new() };
        let values = import.table(table.get_ref(), "");
        Ok(Self { values: Value::new(Some(&import.origin), values), places: import.places })
    }
}

impl Source for Document {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        Ok(Map::from([(ROOT.to_owned(), self.values.clone())]))
    }
}

fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ConfigError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let good = String::from_utf8_lossy(good);
        let place = Place::At(Lines::new(&good).position(good.len()));
        ConfigError::new(vec![Problem::new(file, place, "", "not UTF-8: the file must be UTF-8 text")])
    })
}

fn syntax(file: &str, lines: &Lines<'_>, error: &toml::de::Error) -> Problem {
    let place = error.span().map_or(Place::File, |span| Place::At(lines.position(span.start)));
    Problem::new(file, place, "", format!("not TOML: {}", error.message().escape_debug()))
}

/// A value of a variable that reads as TOML; nothing where it does not.
pub(super) fn single(name: &str, text: &str) -> Option<Value> {
    let value = DeValue::parse(text).ok()?;
    let mut import = Import { origin: name.to_owned(), lines: &Lines::new(text), places: Places::new() };
    Some(import.value(value.get_ref(), ""))
}

struct Import<'a> {
    origin: String,
    lines: &'a Lines<'a>,
    places: Places,
}

impl Import<'_> {
    fn value(&mut self, value: &DeValue<'_>, path: &str) -> Value {
        let kind = match value {
            DeValue::String(text) => ValueKind::String(text.to_string()),
            DeValue::Integer(number) => integer(number),
            DeValue::Float(number) => ValueKind::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => ValueKind::Boolean(*flag),
            // `config` has no kind for dates, and no key of ours takes one.
            DeValue::Datetime(_) => ValueKind::Nil,
            DeValue::Array(array) => self.array(array, path),
            DeValue::Table(table) => self.table(table, path),
        };
        Value::new(Some(&self.origin), kind)
    }

    fn table(&mut self, table: &DeTable<'_>, path: &str) -> ValueKind {
        let entries = table.iter().map(|(key, value)| {
            let path = child(path, key.get_ref());
            self.note(&path, &key.span(), &value.span());
            (key.get_ref().to_string(), self.value(value.get_ref(), &path))
        });
        ValueKind::Table(entries.collect())
    }

    fn array(&mut self, array: &toml::de::DeArray<'_>, path: &str) -> ValueKind {
        let elements = array.iter().enumerate().map(|(index, value)| {
            let path = element(path, index);
            self.note(&path, &value.span(), &value.span());
            self.value(value.get_ref(), &path)
        });
        ValueKind::Array(elements.collect())
    }

    fn note(&mut self, path: &str, key: &Range<usize>, value: &Range<usize>) {
        self.places.insert(path.to_owned(), self.lines.site(key, value));
    }
}

/// An integer that 64 bits cannot hold stays one, so that it is refused as such.
fn integer(number: &DeInteger<'_>) -> ValueKind {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => ValueKind::I64(number),
        Err(_) => ValueKind::I128(i128::MAX),
    }
}
