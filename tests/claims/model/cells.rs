//! What stands in the cells of random rows: instants a step either side of each boundary, and trash.

use fastrand::Rng;
use keysweep::plan::Value;

use super::instants::{TICKS_1970, UNITS, Unit, julian, seconds};
use super::meaning::{Block, ClockColumn, Literal, Says, Test};
use super::shape::Shape;

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

impl Literal {
    pub fn value(&self) -> Value {
        match self {
            Self::Text(some) => text(some),
            Self::Integer(integer) => Value::Integer(*integer),
        }
    }
}

/// A row that may or may not fit the table.
pub fn row(rng: &mut Rng, shape: &Shape, blocks: &[Block], now: i128, mark: i64) -> Vec<Value> {
    let cell = |column: &String| {
        if shape.key.contains(column) {
            key(rng)
        } else if shape.states.contains(column) {
            state(rng, blocks, column)
        } else if shape.clocks.contains(column) {
            clock(rng, blocks, column, now)
        } else {
            Value::Integer(mark)
        }
    };
    shape.columns.iter().map(cell).collect()
}

fn key(rng: &mut Rng) -> Value {
    let one = |rng: &mut Rng, of: &[&str]| text(of[rng.usize(..of.len())]);
    match rng.u8(..12) {
        0 => Value::Null,
        1 | 2 => Value::Integer(rng.i64(-3..300)),
        3 => Value::Real(rng.i32(-9..9).into()),
        4 => Value::Real(
            [f64::from(rng.i32(-9..9)) + 0.5, f64::INFINITY, -1e300][rng.usize(..10).saturating_sub(7)],
        ),
        5 => Value::Blob((0..[0, 1, 16][rng.usize(..3)]).map(|_| rng.u8(..)).collect()),
        6 => one(rng, &["", "a", "A", "a ", "b", "B", "1", "01", "1.0", "it's", "ä", "Ä", "a\nb", "%", "🦀"]),
        7 => Value::Text([&b"a\0b"[..], b"\xff", b"\0", b"a\xc3", b"a\0"][rng.usize(..5)].into()),
        8 => text(&format!("{:08x}-{:04X}-4000-8000-{:012x}", rng.u32(..), rng.u16(..), rng.u32(..))),
        9 => Value::Integer([i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1][rng.usize(..4)]),
        _ => text(&format!("{}{:05}", ["k", "K"][rng.usize(..2)], rng.u32(..500))),
    }
}

fn tests<'a>(block: &'a Block, column: &'a str) -> impl Iterator<Item = &'a Test> {
    let all = block.done.iter().flatten().chain(block.pending.iter().flatten()).chain(&block.keep);
    all.filter(move |test| test.column == column)
}

fn state(rng: &mut Rng, blocks: &[Block], column: &str) -> Value {
    let mut meant: Vec<Value> = vec![text("pending"), text("done")];
    for block in blocks {
        for test in tests(block, column) {
            match &test.says {
                Says::OneOf(values) => meant.extend(values.iter().map(Literal::value)),
                Says::Null | Says::NotNull => meant.extend([Value::Null, text("2026-01-01 00:00:00")]),
            }
        }
    }
    let one = meant[rng.usize(..meant.len())].clone();
    if rng.u8(..10) < 7 { one } else { nearly(rng, one) }
}

/// What somebody might take for this value.
fn nearly(rng: &mut Rng, value: Value) -> Value {
    match (value, rng.u8(..6)) {
        (_, 0) => Value::Null,
        (Value::Text(bytes), 1) => Value::Blob(bytes),
        (Value::Text(bytes), 2) => Value::Text(bytes.to_ascii_uppercase()),
        (Value::Text(bytes), 3) => Value::Text([&bytes[..], b" "].concat()),
        (Value::Text(bytes), _) => Value::Text([&bytes[..], b"\0"].concat()),
        (Value::Integer(integer), 1 | 2) => text(&integer.to_string()),
        (Value::Integer(integer), _) => Value::Real(integer as f64),
        (other, _) => other,
    }
}

/// Every instant at which something changes for a clock column, in microseconds.
fn boundaries(blocks: &[Block], column: &str, now: i128) -> Vec<(Unit, i128)> {
    let mut boundaries = Vec::new();
    for block in blocks {
        if block.clock.column == column {
            boundaries.extend([(block.clock.unit, now - block.retention * 1_000), (block.clock.unit, now)]);
        }
        let own = (block.clock.clone(), 0);
        let (on, after) = block.abandoned.as_ref().unwrap_or(&own);
        if on.column == column {
            let ages = [0, 3_600, 86_400, 604_800];
            boundaries.extend(ages.map(|age: i128| (on.unit, now - after * 1_000 - age * 1_000_000)));
        }
    }
    boundaries
}

fn nevers(blocks: &[Block], column: &str) -> Vec<Value> {
    let clocks = blocks.iter().map(|block| &block.clock);
    let clocks = clocks.chain(blocks.iter().filter_map(|block| block.abandoned.as_ref().map(|(on, _)| on)));
    let never = |on: &ClockColumn| on.never.iter().map(Literal::value).collect::<Vec<_>>();
    clocks.filter(|on| on.column == column).flat_map(never).collect()
}

fn clock(rng: &mut Rng, blocks: &[Block], column: &str, now: i128) -> Value {
    let boundaries = boundaries(blocks, column, now);
    let (unit, at) = if boundaries.is_empty() {
        (UNITS[rng.usize(..7)], now)
    } else {
        boundaries[rng.usize(..boundaries.len())]
    };
    match rng.u8(..20) {
        0 => Value::Null,
        1 => {
            let mut never = nevers(blocks, column);
            never.extend([0, 0, 12, -1].map(Value::Integer));
            let one = never[rng.usize(..never.len())].clone();
            match (one, rng.bool()) {
                (Value::Integer(integer), true) => Value::Real(integer as f64),
                (one, _) => one,
            }
        }
        // As another unit would write it.
        2 => {
            let other = UNITS[rng.usize(..7)];
            written(rng, other, at)
        }
        3 => trash(rng, at),
        4 => tests(&blocks[0], column).next().map_or(Value::Null, |test| match &test.says {
            Says::OneOf(values) => values[0].value(),
            _ => Value::Null,
        }),
        5 => {
            let days = i128::from(rng.i64(-100..100));
            written(rng, unit, at + days * 86_400_000_000)
        }
        _ => written(rng, unit, at),
    }
}

fn trash(rng: &mut Rng, at: i128) -> Value {
    let whole = at.div_euclid(1_000_000);
    match rng.u8(..10) {
        0 => Value::Real([f64::INFINITY, f64::NEG_INFINITY][rng.usize(..2)]),
        1 => Value::Real([1e300, -1e300, 1e19, -1e19, 9_223_372_036_854_775_808.0][rng.usize(..5)]),
        2 => Value::Integer([i64::MIN, i64::MAX][rng.usize(..2)]),
        3 => text(&whole.to_string()),
        4 => Value::Blob(whole.to_string().into_bytes()),
        5 => Value::Integer(rng.i64(-1_000..100_000)),
        _ => {
            let trash = [
                "",
                "now",
                "2026-01-01",
                "2026-02-30T00:00:00Z",
                "2026-01-01T24:00:00Z",
                "2026-01-01T00:00:00 UTC",
                "2026-01-01T00:00:00+24:00",
                "2026-01-01T00:00:00Z ",
                "20260101T000000Z",
                "2026-01-01T00:00:00.Z",
                "2026-01-01T00:00:61Z",
                "1998-12-31T23:59:60Z",
                "0000-01-01T00:00:00Z",
                "2026-01-01T00:00:00+01:02:03",
                "2026-01-01T00:00:00 -00:00:60",
                "9999-12-31T23:59:59.999-23:59",
                "2026-1-01T00:00:00Z",
            ];
            text(trash[rng.usize(..trash.len())])
        }
    }
}

/// An instant in a unit, at it or a step either side of it.
fn written(rng: &mut Rng, unit: Unit, micros: i128) -> Value {
    let step = i128::from(rng.i8(-1..=1));
    let count = |count: i128| match (i64::try_from(count), step) {
        (Ok(count), _) => Value::Integer(count),
        (Err(_), _) => Value::Real(count as f64),
    };
    let counted = |rng: &mut Rng, whole: i128| match rng.u8(..5) {
        0 => Value::Real((whole + step) as f64),
        // A fraction of what the unit counts in.
        1 => Value::Real(whole as f64 + step as f64 / 4.0),
        _ => count(whole + step),
    };
    match unit {
        Unit::Seconds => match rng.u8(..3) {
            0 => count(micros.div_euclid(1_000_000) + step),
            1 => Value::Real(seconds(micros) + step as f64 / 64.0),
            _ => {
                let exact = seconds(micros);
                Value::Real([exact.next_down(), exact, exact.next_up()][(step + 1) as usize])
            }
        },
        Unit::Millis => counted(rng, micros.div_euclid(1_000)),
        Unit::Micros => counted(rng, micros),
        Unit::Nanos => counted(rng, micros * 1_000),
        Unit::Ticks => counted(rng, micros * 10 + TICKS_1970),
        Unit::Julian => Value::Real(julian(micros + step * 1_000)),
        Unit::Iso => text(&iso(rng, micros, step)),
    }
}

/// Text of any precision and offset, so many of its last digits away.
fn iso(rng: &mut Rng, micros: i128, step: i128) -> String {
    let digits = [0, 0, 1, 3, 6, 7, 9, 10][rng.usize(..8)];
    let scale = 10_i128.pow(digits);
    let (minutes, zone) = zone(rng);
    let local = micros + i128::from(minutes) * 60_000_000;
    let count = (local * scale).div_euclid(1_000_000) + step;
    let whole = i64::try_from(count.div_euclid(scale)).unwrap();
    let fraction = count.rem_euclid(scale);
    let clock = chrono::DateTime::from_timestamp(whole, 0).unwrap();
    let separator = ["T", " ", "t"][rng.usize(..3)];
    let point = [".", ".", ","][rng.usize(..3)];
    let mut text = clock.format(&format!("%Y-%m-%d{separator}%H:%M")).to_string();
    if digits > 0 || whole % 60 != 0 || rng.bool() {
        text += &clock.format(":%S").to_string();
    }
    if digits > 0 {
        text += &format!("{point}{fraction:0width$}", width = digits as usize);
    }
    text + &zone
}

fn zone(rng: &mut Rng) -> (i32, String) {
    let minutes: i32 = [0, 60, -300, 330, 14 * 60, -12 * 60, 23 * 60 + 59, -(23 * 60 + 59)][rng.usize(..8)];
    let (sign, hour, minute) = (if minutes < 0 { '-' } else { '+' }, minutes.abs() / 60, minutes.abs() % 60);
    let text = match rng.u8(..6) {
        0 | 1 if minutes == 0 => ["Z", "z", "", " Z"][rng.usize(..4)].into(),
        0 => format!("{sign}{hour:02}{minute:02}"),
        1 => format!(" {sign}{hour:02}:{minute:02}"),
        2 if minute == 0 => format!("{sign}{hour:02}"),
        3 => format!("{sign}{hour:02}:{minute:02}:00"),
        _ => format!("{sign}{hour:02}:{minute:02}"),
    };
    (minutes, text)
}
