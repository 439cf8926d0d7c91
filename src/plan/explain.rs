//! Why one row is kept, or due.

use super::state::any;
use super::{Identifier, Key, Rule, State, UnixTime, Value};

/// What a tick at this moment would make of a row, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// It is not finished.
    Pending,
    /// Another rule of the table calls it done.
    Elsewhere,
    /// No rule of the table says what it is.
    Unknown,
    /// `keep` keeps it.
    Kept,
    /// No column tells when its retention ends.
    Undated,
    /// The clock column says that it never ends.
    Never,
    /// The clock column cannot be read under its unit.
    Unreadable,
    /// It becomes due at this instant.
    NotYet(UnixTime),
    /// Its time has come, and another row that refers to it keeps it.
    Referenced,
    /// The next sweep deletes it, unless the table is held.
    Due,
}

impl Fate {
    /// The word in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Elsewhere => "elsewhere",
            Self::Unknown => "unknown",
            Self::Kept => "kept",
            Self::Undated => "undated",
            Self::Never => "never",
            Self::Unreadable => "unreadable",
            Self::NotYet(_) => "not_yet",
            Self::Referenced => "referenced",
            Self::Due => "due",
        }
    }

    /// Whether a sweep at this moment may delete the row.
    #[must_use]
    pub fn is_due(self) -> bool {
        self == Self::Due
    }
}

/// For people.
impl std::fmt::Display for Fate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pending => "kept: it is pending, and a pending row is never deleted",
            Self::Elsewhere => "kept under this rule: another rule of the table calls it done",
            Self::Unknown => "kept: no rule says what its state is, so it is never deleted",
            Self::Kept => "kept: a test of `keep` matches it",
            Self::Undated => "kept: the rule has no clock column, so nothing of the table expires",
            Self::Never => "kept: its clock column holds a value of `never`",
            Self::Unreadable => "kept: its clock column cannot be read in its unit, so it never expires",
            Self::NotYet(due) => return write!(f, "kept for now: due at {due}"),
            Self::Referenced => "kept: its time has come, and another row refers to it",
            Self::Due => "due: the next sweep deletes it, unless the table is held",
        })
    }
}

/// Everything that there is to say of one row under one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Its state under the rule.
    pub state: State,
    /// The clock column as it is stored.
    pub clock: Option<Value>,
    /// The instant that it means, where it can be read and means one.
    pub instant: Option<UnixTime>,
    /// What happens to it.
    pub fate: Fate,
}

/// Explain a row. `read` gives a column's value. The answer is `Due` for exactly the rows that a sweep may take.
pub fn explain<'a>(
    rule: &Rule,
    now: UnixTime,
    is_referenced: bool,
    read: &impl Fn(&Identifier) -> &'a Value,
) -> Explanation {
    let clock = rule.clock.as_ref().map(|clock| read(clock.column()).clone());
    let says_never = rule.clock.as_ref().is_some_and(|clock| clock.on().says_never().holds(read));
    let instant = rule
        .clock
        .as_ref()
        .zip(clock.as_ref())
        .filter(|_| !says_never)
        .and_then(|(on, value)| on.unit().decode(value));
    let state = rule.state_of(read);
    let fate = match state {
        State::Pending => Fate::Pending,
        State::Unknown if rule.is_unknown().holds(read) => Fate::Unknown,
        State::Unknown => Fate::Elsewhere,
        State::Done if any(&rule.keep).holds(read) => Fate::Kept,
        State::Done if says_never => Fate::Never,
        State::Done => match finished(rule, now, instant, read) {
            Fate::Due if is_referenced => Fate::Referenced,
            fate => fate,
        },
    };
    Explanation { state, clock, instant, fate }
}

fn finished<'a>(
    rule: &Rule,
    now: UnixTime,
    instant: Option<UnixTime>,
    read: &impl Fn(&Identifier) -> &'a Value,
) -> Fate {
    let Some(clock) = &rule.clock else { return Fate::Undated };
    if rule.is_deletable(clock.cutoff(now)).holds(read) {
        return Fate::Due;
    }
    match instant.and_then(|instant| instant.after(clock.retention())) {
        Some(due) => Fate::NotYet(due),
        None => Fate::Unreadable,
    }
}

/// The values that a key on the command line may mean: text, an integer if it reads as one, and the
/// bytes of `x'6162'`; for several columns every combination.
#[must_use]
pub fn key_candidates(words: &[String]) -> Vec<Key> {
    let mut keys: Vec<Vec<Value>> = vec![Vec::new()];
    for word in words {
        let values = values(word);
        let longer = |key: &Vec<Value>| -> Vec<Vec<Value>> {
            values.iter().map(|value| key.iter().cloned().chain([value.clone()]).collect()).collect()
        };
        keys = keys.iter().flat_map(longer).collect();
    }
    keys.into_iter().map(Key::new).collect()
}

fn values(word: &str) -> Vec<Value> {
    let integer = word.parse().ok().map(Value::Integer);
    let bytes = word.strip_prefix(['x', 'X']).and_then(|rest| rest.strip_prefix('\'')?.strip_suffix('\''));
    let blob = bytes.and_then(unhex).map(Value::Blob);
    [Some(Value::Text(word.into())), integer, blob].into_iter().flatten().collect()
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        digits.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Clock, ClockColumn, Literal, StateTest, Unit};
    use std::time::Duration;

    fn fate(rule: &Rule, status: &str, expires: Value) -> Fate {
        let (status, id) = (Value::Text(status.into()), Value::Integer(1));
        let read = |column: &Identifier| match column.as_str() {
            "status" => &status,
            "expires" => &expires,
            _ => &id,
        };
        let now = UnixTime::new(1_000.0).unwrap();
        let explanation = explain(rule, now, false, &read);
        let deletable = rule.is_deletable(rule.cutoff(now).unwrap()).holds(&read);
        assert_eq!(explanation.fate.is_due(), deletable, "it must say what a sweep does");
        assert!(!explain(rule, now, true, &read).fate.is_due(), "a row that is referred to stays");
        explanation.fate
    }

    #[test]
    fn it_says_why_a_row_is_kept_and_when_it_is_due() {
        let rule = Rule::key_table(Duration::from_secs(60));
        assert_eq!(fate(&rule, "pending", Value::Integer(1)), Fate::Pending);
        assert_eq!(fate(&rule, "DONE", Value::Integer(1)), Fate::Unknown);
        assert_eq!(fate(&rule, "done", Value::Null), Fate::Unreadable);
        assert_eq!(fate(&rule, "done", Value::Integer(940)), Fate::Due);
        assert_eq!(fate(&rule, "done", Value::Integer(941)), Fate::NotYet(UnixTime::new(1_001.0).unwrap()));
    }

    #[test]
    fn keep_and_never_are_said_as_such() {
        let expires = Identifier::new("expires").unwrap();
        let on =
            ClockColumn { never: vec![Literal::Integer(0)], ..ClockColumn::new(expires, Unit::UnixSeconds) };
        let rule =
            Rule { clock: Some(Clock::expires(on, Duration::ZERO)), ..Rule::key_table(Duration::ZERO) };
        assert_eq!(fate(&rule, "done", Value::Integer(0)), Fate::Never);
        let keep = vec![StateTest::NotNull(Identifier::new("id").unwrap())];
        assert_eq!(fate(&Rule { keep, ..rule }, "done", Value::Integer(1)), Fate::Kept);
    }

    #[test]
    fn a_word_is_tried_as_text_as_an_integer_and_as_bytes() {
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(values("7"), [text("7"), Value::Integer(7)]);
        assert_eq!(values("x'6162'"), [text("x'6162'"), Value::Blob(b"ab".to_vec())]);
        assert_eq!(values("x'616'"), [text("x'616'")]);
        assert_eq!(key_candidates(&["7".into(), "8".into()]).len(), 4);
    }
}
