//! One value of the config -> one valid type, or what is expected instead.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{Value, ValueKind};

use super::reader::mismatch;
use super::{Glob, Schedule, known};
use crate::plan::{
    Checkpoint, DatabaseName, Identifier, KeyColumns, Limit, Literal, NameError, References, Share,
    TableLabel, TableName, TablePattern, Unit, Window,
};

const SHORTEST_TICK: Duration = Duration::from_millis(100);
const A_DURATION: &str =
    "a duration: text of one whole number and one unit (ms, s, m, h or d), such as \"30s\"";

fn text<'a>(value: &'a Value, expected: &str) -> Result<&'a str, String> {
    match &value.kind {
        ValueKind::String(text) => Ok(text),
        _ => Err(mismatch(expected, value)),
    }
}

pub(super) fn flag(value: &Value) -> Result<bool, String> {
    match value.kind {
        ValueKind::Boolean(flag) => Ok(flag),
        _ => Err(mismatch("true or false", value)),
    }
}

pub(super) fn limit(value: &Value) -> Result<Limit, String> {
    let wrong = || mismatch("an integer from 1 to 100", value);
    match value.kind {
        ValueKind::I64(rows) => Limit::new(rows).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

pub(super) fn share(value: &Value) -> Result<Share, String> {
    let wrong = || mismatch("a number above 0 and at most 1", value);
    match value.kind {
        ValueKind::Float(share) => Share::new(share).map_err(|_| wrong()),
        ValueKind::I64(share) => Share::new(share as f64).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

pub(super) fn duration(value: &Value) -> Result<Duration, String> {
    let text = text(value, A_DURATION)?;
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(unit_at);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(mismatch(A_DURATION, value)),
    };
    if count.is_empty() {
        return Err(mismatch(A_DURATION, value));
    }
    let millis = count.parse::<u64>().ok().and_then(|count| count.checked_mul(millis));
    millis.map(Duration::from_millis).ok_or_else(|| mismatch("a shorter duration", value))
}

pub(super) fn window(value: &Value) -> Result<Window, String> {
    let text = text(value, "a window of the day in UTC, such as \"01:00-05:00\"")?;
    Window::parse(text).map_err(|error| mismatch(&error.to_string(), value))
}

/// A duration above 0.
pub(super) fn some_time(value: &Value) -> Result<Duration, String> {
    match duration(value)? {
        Duration::ZERO => Err(mismatch("a duration above 0", value)),
        duration => Ok(duration),
    }
}

/// The time from one tick to the next.
pub(super) fn interval(value: &Value) -> Result<Duration, String> {
    match duration(value)? {
        short if short < SHORTEST_TICK => Err(mismatch("a duration of at least 100ms", value)),
        duration => Ok(duration),
    }
}

pub(super) fn schedule(value: &Value) -> Result<Schedule, String> {
    Schedule::parse(text(value, "a cron schedule, such as \"0 * * * * *\"")?)
}

/// An address to listen on; nothing where the text is empty.
pub(super) fn address(value: &Value) -> Result<Option<SocketAddr>, String> {
    const EXPECTED: &str =
        "an IP address and a port, such as \"127.0.0.1:9925\" or \"[::1]:9925\", or \"\" for none";
    match text(value, EXPECTED)? {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| mismatch(EXPECTED, value)),
    }
}

pub(super) fn path(value: &Value) -> Result<PathBuf, String> {
    let path = text(value, "an absolute path")?;
    if Path::new(path).is_absolute() && !path.contains('\0') {
        Ok(path.into())
    } else {
        Err(mismatch("an absolute path", value))
    }
}

pub(super) fn glob(value: &Value) -> Result<Glob, String> {
    Glob::parse(text(value, "an absolute path with wildcards")?)
}

fn name<T>(value: &Value, new: fn(&str) -> Result<T, NameError>) -> Result<T, String> {
    new(text(value, "a name: text")?).map_err(|error| error.to_string())
}

pub(super) fn database_name(value: &Value) -> Result<DatabaseName, String> {
    name(value, DatabaseName::new)
}

pub(super) fn label(value: &Value) -> Result<TableLabel, String> {
    name(value, TableLabel::new)
}

pub(super) fn column(value: &Value) -> Result<Identifier, String> {
    name(value, Identifier::new)
}

/// A table's name or a pattern of names, or a list of them.
pub(super) fn tables(value: &Value) -> Result<Vec<TableName>, String> {
    match &value.kind {
        ValueKind::Array(tables) if tables.is_empty() => Err("expected at least one table".into()),
        ValueKind::Array(tables) => tables.iter().map(table).collect(),
        _ => table(value).map(|table| vec![table]),
    }
}

fn table(value: &Value) -> Result<TableName, String> {
    match &value.kind {
        ValueKind::String(text) if text.contains(['*', '?']) => TablePattern::new(text)
            .map(TableName::Pattern)
            .map_err(|error| format!("{error}, found {text:?}")),
        _ => column(value).map(TableName::Exact),
    }
}

/// A text, or a list of them.
pub(super) fn key(value: &Value) -> Result<KeyColumns, String> {
    let columns = match &value.kind {
        ValueKind::Array(columns) => columns.iter().map(column).collect::<Result<Vec<_>, _>>()?,
        _ => vec![column(value)?],
    };
    KeyColumns::new(columns).map_err(|error| format!("{error}: expected the names of the key columns"))
}

pub(super) fn unit(value: &Value) -> Result<Unit, String> {
    let expected = format!("one of the units {}", Unit::all().map(Unit::name).collect::<Vec<_>>().join(", "));
    let name = text(value, &expected)?;
    if known::LATER_UNITS.contains(&name) {
        return Err(format!("`{name}` {}; expected {expected}", known::LATER_WORDS));
    }
    Unit::from_name(name).ok_or_else(|| mismatch(&expected, value))
}

/// Whether a column is tested for being NULL, or for not being it.
pub(super) fn nullness(value: &Value) -> Result<bool, String> {
    const EXPECTED: &str = "\"null\" or \"not null\"";
    match text(value, EXPECTED)? {
        "null" => Ok(true),
        "not null" => Ok(false),
        _ => Err(mismatch(EXPECTED, value)),
    }
}

pub(super) fn checkpoint(value: &Value) -> Result<Checkpoint, String> {
    let expected = format!("one of {}", Checkpoint::names().collect::<Vec<_>>().join(", "));
    Checkpoint::from_name(text(value, &expected)?).ok_or_else(|| mismatch(&expected, value))
}

/// A size in bytes, above 0.
pub(super) fn size(value: &Value) -> Result<u64, String> {
    const EXPECTED: &str =
        "a size: text of one whole number above 0 and one unit (KiB, MiB or GiB), such as \"256MiB\"";
    let text = text(value, EXPECTED)?;
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(unit_at);
    let unit: u64 = match unit {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(mismatch(EXPECTED, value)),
    };
    let size = count.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
    size.filter(|size| *size > 0).ok_or_else(|| mismatch(EXPECTED, value))
}

pub(super) fn references(value: &Value) -> Result<References, String> {
    let expected = format!("one of {}", References::names().collect::<Vec<_>>().join(", "));
    References::from_name(text(value, &expected)?).ok_or_else(|| mismatch(&expected, value))
}

/// A value of a state column.
pub(super) fn literal(value: &Value) -> Result<Literal, String> {
    match &value.kind {
        ValueKind::String(text) if text.contains('\0') => Err(mismatch("text without NUL", value)),
        ValueKind::String(text) => Ok(Literal::Text(text.clone())),
        ValueKind::I64(number) => Ok(Literal::Integer(*number)),
        _ => Err(mismatch("text or an integer", value)),
    }
}
