//! Which index would find the expired rows of a table.

use super::super::{Finding, Identifier, Literal, Rule, StateTest};
use super::Survey;

/// Below so many rows a walk through the whole table costs nothing that anyone would notice.
const LARGE: u64 = 10_000;

/// Statements that may help the search, the smallest index first. The engine decides whether one does.
#[must_use]
pub fn index_candidates(rule: &Rule) -> Vec<String> {
    let Some(clock) = &rule.clock else { return Vec::new() };
    let (table, column) = (rule.table.as_str(), clock.column().as_str());
    let partial = finished(rule).into_iter().map(Some).chain([None]);
    let mut statements = Vec::new();
    for condition in partial {
        let condition = condition.map_or(String::new(), |condition| format!(" WHERE {condition}"));
        // The owner may have used the first name for something else.
        for number in ["", "_2", "_3"] {
            let name = quoted(&format!("keysweep_{table}_{column}{number}"));
            statements.push(format!(
                "CREATE INDEX {name} ON {} ({}){condition}",
                quoted(table),
                quoted(column)
            ));
        }
    }
    statements
}

/// `done` as the condition of a partial index, in the forms that a planner may take.
fn finished(rule: &Rule) -> Vec<String> {
    match rule.done.tests() {
        [StateTest::OneOf { column, values }] => {
            let texts: Option<Vec<String>> = values.iter().map(literal).collect();
            texts.map_or_else(Vec::new, |texts| one_of(column, &texts))
        }
        [StateTest::NotNull(column)] => vec![format!("{} IS NOT NULL", quoted(column.as_str()))],
        [StateTest::Null(column)] => vec![format!("{} IS NULL", quoted(column.as_str()))],
        _ => Vec::new(),
    }
}

fn one_of(column: &Identifier, texts: &[String]) -> Vec<String> {
    let column = quoted(column.as_str());
    match texts {
        [] => Vec::new(),
        [single] => vec![format!("{column} = {single}")],
        several => vec![format!("{column} IN ({})", several.join(", "))],
    }
}

/// A value as SQL; nothing where an SQL text could not hold it on one line.
fn literal(value: &Literal) -> Option<String> {
    match value {
        Literal::Text(text) if text.chars().any(char::is_control) => None,
        Literal::Text(text) => Some(format!("'{}'", text.replace('\'', "''"))),
        Literal::Integer(integer) => Some(integer.to_string()),
    }
}

/// A name in double quotes, whatever it holds.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A walk through a large table that an index would spare. Only an index that was tried is advised.
pub(super) fn index_finding(rule: &Rule, survey: &Survey) -> Option<Finding> {
    let fitting = survey.fitting_index.as_ref().filter(|_| survey.rows > LARGE && !survey.has_index)?;
    let what = format!(
        "no index finds the expired rows: each tick reads all {} rows of table `{}`",
        survey.rows, rule.table
    );
    Some(Finding::advice(&what, &format!("{fitting};")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Done;
    use std::time::Duration;

    fn candidates(done: Done) -> Vec<String> {
        let rule = Rule { done, ..Rule::key_table(Duration::ZERO) };
        index_candidates(&rule).into_iter().filter(|sql| !sql.contains("_2") && !sql.contains("_3")).collect()
    }

    #[test]
    fn the_smallest_index_is_tried_first_and_names_are_quoted() {
        let column = Identifier::new("sta\"tus").unwrap();
        let text = |text: &str| Literal::Text(text.into());
        let one = Done::Any(vec![StateTest::OneOf { column: column.clone(), values: vec![text("it's")] }]);
        let plain = "CREATE INDEX \"keysweep_keys_expires\" ON \"keys\" (\"expires\")";
        assert_eq!(candidates(one), [format!("{plain} WHERE \"sta\"\"tus\" = 'it''s'"), plain.into()]);
        let several = vec![Literal::Integer(1), text("b")];
        let two = Done::Any(vec![StateTest::OneOf { column: column.clone(), values: several }]);
        assert_eq!(candidates(two)[0], format!("{plain} WHERE \"sta\"\"tus\" IN (1, 'b')"));
        assert_eq!(
            candidates(Done::Any(vec![StateTest::NotNull(column)]))[0],
            format!("{plain} WHERE \"sta\"\"tus\" IS NOT NULL")
        );
        assert_eq!(candidates(Done::EveryRow), [plain]);
    }

    #[test]
    fn nothing_is_advised_that_was_not_tried_or_not_needed() {
        let rule = Rule::key_table(Duration::ZERO);
        let slow =
            Survey { rows: LARGE + 1, fitting_index: Some("CREATE INDEX x".into()), ..Survey::default() };
        assert_eq!(index_finding(&rule, &slow).unwrap().remedy, "CREATE INDEX x;");
        for fine in [
            Survey { rows: LARGE, ..slow.clone() },
            Survey { has_index: true, ..slow.clone() },
            Survey { fitting_index: None, ..slow },
        ] {
            assert_eq!(index_finding(&rule, &fine), None);
        }
    }
}
