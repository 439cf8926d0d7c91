//! What follows from a predicate in the words that a planner knows from an index.

use super::render::{Sql, column, render};
use crate::plan::{Literal, Predicate};

/// Terms that follow from the predicate, said as an index wants to hear them: a number at or before a
/// bound, and, where asked for, a column that has a value, or one of some values.
pub(super) fn plain_terms(predicate: &Predicate, with_states: bool) -> Vec<Sql> {
    let plain = |value: &Literal| match value {
        Literal::Text(text) if text.contains('\0') => None,
        Literal::Text(text) => Some(format!("'{}'", text.replace('\'', "''"))),
        Literal::Integer(integer) => Some(integer.to_string()),
    };
    match predicate {
        Predicate::AtOrBefore { .. } => vec![render(predicate)],
        Predicate::Present { .. } if with_states => vec![render(predicate)],
        Predicate::All(parts) => parts.iter().flat_map(|part| plain_terms(part, with_states)).collect(),
        Predicate::Any(parts) if parts.len() == 1 => {
            parts.iter().flat_map(|part| plain_terms(part, with_states)).collect()
        }
        Predicate::Is { column: name, value } if with_states => {
            plain(value).map(|value| Sql::new(&format!("{} = {value}", column(name)))).into_iter().collect()
        }
        Predicate::Any(parts) if with_states => {
            let Some(Predicate::Is { column: name, .. }) = parts.first() else { return Vec::new() };
            let values = parts.iter().map(|part| match part {
                Predicate::Is { column, value } if column == name => plain(value),
                _ => None,
            });
            let Some(values) = values.collect::<Option<Vec<String>>>() else { return Vec::new() };
            vec![Sql::new(&format!("{} IN ({})", column(name), values.join(", ")))]
        }
        _ => Vec::new(),
    }
}
