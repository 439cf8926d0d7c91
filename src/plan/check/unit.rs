//! Whether the clock column is in the unit that is configured: its values under every unit.

use std::time::Duration;

use super::super::{ClockColumn, Finding, Rule, Unit, UnixTime, Value};
use super::Sampled;

/// 2001-01-01T00:00:00Z in unix seconds: no record that is swept is older.
const YEAR_2001: f64 = 978_307_200.0;
/// Ten years: nobody retains a key for longer.
const FAR: Duration = Duration::from_secs(10 * 31_557_600);

/// What sampled values say of the unit.
pub(super) fn unit_findings(rule: &Rule, sample: &[Sampled], now: UnixTime) -> Vec<Finding> {
    let Some(clock) = &rule.clock else { return Vec::new() };
    let on = clock.on();
    let never = on.says_never();
    let says_when = |sampled: &&Sampled| sampled.clock != Value::Null && !never.holds(&|_| &sampled.clock);
    let dated: Vec<&Sampled> = sample.iter().filter(says_when).collect();
    let values: Vec<&Value> = dated.iter().map(|sampled| &sampled.clock).collect();
    if let Some(fault) = wrong_unit(on, &values, now) {
        return vec![fault];
    }
    let done: Vec<&Value> =
        dated.iter().filter(|sampled| sampled.is_done).map(|sampled| &sampled.clock).collect();
    [all_old(on, &done), far(on, &values, now)].into_iter().flatten().collect()
}

/// Most values make sense under another unit, and not under this one.
fn wrong_unit(on: &ClockColumn, values: &[&Value], now: UnixTime) -> Option<Finding> {
    let most = |count: usize| count * 2 > values.len();
    let fitting = |unit: Unit| values.iter().filter(|value| makes_sense(unit, value, now)).count();
    if most(fitting(on.unit)) {
        return None;
    }
    let (column, name, all) = (&on.column, on.unit.name(), values.len());
    if let Some(unit) = Unit::all().find(|unit| most(fitting(*unit))) {
        let (there, other) = (fitting(unit), unit.name());
        let example = values.iter().find_map(|value| unit.decode(value))?;
        let what = format!(
            "column `{column}` is not in {name}: of {all} sampled values {there} are instants of this age in \
             {other}, such as {example}, and {} in {name}",
            fitting(on.unit)
        );
        return Some(Finding::fault(&what, &format!("set `unit = \"{other}\"` for column `{column}`")));
    }
    let digits: Vec<Value> = values.iter().filter_map(|value| number_in(value)).collect();
    let meant = Unit::all()
        .find(|unit| most(digits.iter().filter(|value| makes_sense(*unit, value, now)).count()))?;
    let what = format!(
        "column `{column}` holds digits as text, which are no instants: {} of {all} sampled values are numbers in {}",
        digits.len(),
        meant.name()
    );
    let remedy = format!(
        "let the application store numbers, in a column that is not declared as text, and set `unit = \"{}\"`",
        meant.name()
    );
    Some(Finding::fault(&what, &remedy))
}

/// The value is an instant between 2001 and ten years from now.
fn makes_sense(unit: Unit, value: &Value, now: UnixTime) -> bool {
    let latest = now.after(FAR);
    unit.decode(value).is_some_and(|at| at.seconds() >= YEAR_2001 && latest.is_none_or(|latest| at <= latest))
}

/// The number that a text writes in digits.
fn number_in(value: &Value) -> Option<Value> {
    let Value::Text(text) = value else { return None };
    let text = std::str::from_utf8(text).ok()?.trim();
    let integer = text.parse().ok().map(Value::Integer);
    integer.or_else(|| text.parse().ok().filter(|real: &f64| real.is_finite()).map(Value::Real))
}

/// The first sweep would take them all, which is right only if they are.
fn all_old(on: &ClockColumn, done: &[&Value]) -> Option<Finding> {
    let read: Vec<UnixTime> = done.iter().filter_map(|value| on.unit.decode(value)).collect();
    let latest = read.iter().copied().reduce(|one, other| if other > one { other } else { one })?;
    let what = format!(
        "column `{}` puts every one of {} sampled finished rows before 2001, the latest at {latest}: a length of \
         time, or a count from another epoch, taken for an instant? The first sweep would delete them all",
        on.column,
        read.len()
    );
    let remedy = "name the column that holds an instant, or correct its `unit`; rows that are really so old, delete yourself";
    (latest.seconds() < YEAR_2001).then(|| Finding::fault(&what, remedy))
}

fn far(on: &ClockColumn, values: &[&Value], now: UnixTime) -> Option<Finding> {
    let latest = now.after(FAR)?;
    let read = values.iter().filter_map(|value| on.unit.decode(value));
    let far: Vec<UnixTime> = read.filter(|at| *at > latest).collect();
    let example = far.first()?;
    let what = format!(
        "column `{}` puts {} of {} sampled rows more than 10 years ahead, such as at {example}: they stay",
        on.column,
        far.len(),
        values.len()
    );
    let remedy =
        "if that means \"never\", list the value in `never`; if not, correct what the application writes";
    Some(Finding::advice(&what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Clock, Identifier, Literal, Severity};

    const NOW: f64 = 1_790_000_000.0;

    fn found(unit: Unit, values: &[Value]) -> Vec<(Severity, String)> {
        let never = vec![Literal::Integer(0)];
        let on = ClockColumn { never, ..ClockColumn::new(Identifier::new("at").unwrap(), unit) };
        let clock = Some(Clock::expires(on, Duration::ZERO));
        let rule = Rule { clock, ..Rule::key_table(Duration::ZERO) };
        let sample: Vec<Sampled> =
            values.iter().map(|value| Sampled { is_done: true, clock: value.clone() }).collect();
        let findings = unit_findings(&rule, &sample, UnixTime::new(NOW).unwrap());
        findings.into_iter().map(|finding| (finding.severity, finding.remedy)).collect()
    }

    /// An instant of these days, as each unit writes it.
    fn written(unit: Unit) -> Value {
        match unit {
            Unit::Iso8601 => Value::Text(b"2026-09-21T14:13:20Z".to_vec()),
            Unit::Julian => Value::Real(2_461_305.0),
            Unit::DotnetTicks => Value::Integer(639_255_968_000_000_000),
            Unit::Millis => Value::Integer(1_790_000_000_000),
            Unit::Micros => Value::Integer(1_790_000_000_000_000),
            Unit::Nanos => Value::Integer(1_790_000_000_000_000_000),
            Unit::UnixSeconds | Unit::CallersSeconds => Value::Integer(1_790_000_000),
        }
    }

    #[test]
    fn each_unit_called_by_any_other_name_is_a_fault_that_names_the_right_one() {
        for configured in Unit::all() {
            for real in Unit::all() {
                let found = found(configured, &[written(real), Value::Null, Value::Integer(0)]);
                if configured == real {
                    assert_eq!(found, [], "{configured:?}");
                } else {
                    let remedy = format!("set `unit = \"{}\"` for column `at`", real.name());
                    assert_eq!(found, [(Severity::Fault, remedy)], "{real:?} called {configured:?}");
                }
            }
        }
    }

    #[test]
    fn digits_as_text_are_a_fault_under_every_unit() {
        for unit in Unit::all() {
            let found = found(unit, &[Value::Text(b"1790000000".to_vec())]);
            assert!(found[0].0 == Severity::Fault && found[0].1.contains("`unit = \"unix_s\"`"), "{found:?}");
        }
    }

    #[test]
    fn a_few_strange_values_are_no_wrong_unit() {
        let good = || written(Unit::UnixSeconds);
        assert_eq!(found(Unit::UnixSeconds, &[good(), good(), written(Unit::Iso8601)]), []);
        let far = found(Unit::UnixSeconds, &[good(), good(), Value::Integer(253_402_300_799)]);
        assert_eq!(far[0].0, Severity::Advice);
    }

    #[test]
    fn lengths_of_time_taken_for_instants_are_a_fault() {
        let found = found(Unit::UnixSeconds, &[Value::Integer(86_400), Value::Integer(3_600)]);
        assert_eq!(found[0].0, Severity::Fault);
        assert!(found[0].1.contains("name the column that holds an instant"), "{found:?}");
    }
}
