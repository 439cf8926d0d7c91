//! Terms that let the planner see what an index is good for.

use super::render::{Sql, column, render};
use crate::plan::{Literal, Predicate};

/// Terms that follow from the predicate, said as an index wants to hear them: a number at or before a
/// bound, and, where asked for, a column that has a value, or one of some values.
pub(super) fn plain_terms(predicate: &Predicate, with_states: bool) -> Vec<Sql> {
    match predicate {
        Predicate::AtOrBefore { .. } => vec![render(predicate)],
        Predicate::Present { .. } if with_states => vec![render(predicate)],
        Predicate::Not(part) if with_states && matches!(**part, Predicate::Present { .. }) => {
            part.columns().iter().map(|name| Sql::new(&format!("{} IS NULL", column(name)))).collect()
        }
        Predicate::All(parts) => parts.iter().flat_map(|part| plain_terms(part, with_states)).collect(),
        Predicate::Any(parts) if with_states => match parts.as_slice() {
            [part] => plain_terms(part, with_states),
            parts => one_of(parts).into_iter().collect(),
        },
        Predicate::Is { column: name, value } if with_states => {
            let value = plain(value).map(|value| Sql::new(&format!("{} = {value}", column(name))));
            value.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// `column IN (…)` where all of these test one column for a value.
fn one_of(parts: &[Predicate]) -> Option<Sql> {
    let Predicate::Is { column: name, .. } = parts.first()? else { return None };
    let values = parts.iter().map(|part| match part {
        Predicate::Is { column, value } if column == name => plain(value),
        _ => None,
    });
    let values = values.collect::<Option<Vec<String>>>()?;
    Some(Sql::new(&format!("{} IN ({})", column(name), values.join(", "))))
}

fn plain(value: &Literal) -> Option<String> {
    match value {
        Literal::Text(text) if text.contains('\0') => None,
        Literal::Text(text) => Some(format!("'{}'", text.replace('\'', "''"))),
        Literal::Integer(integer) => Some(integer.to_string()),
    }
}
