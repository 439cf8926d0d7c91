//! What several predicates ask of a row, asked once.

use super::render::Sql;
use crate::plan::Predicate;

/// What a count needs to know of a row: the tests that its predicates are made of, and values. Each is a
/// column of a query below the count, so that it is answered once a row, however often it is mentioned.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    tests: Vec<Predicate>,
    values: Vec<String>,
}

impl Atoms {
    /// The predicate, by the names of what it is made of.
    pub fn test(&mut self, predicate: &Predicate) -> String {
        match predicate {
            Predicate::All(parts) => self.joined(parts, " AND ", "1"),
            Predicate::Any(parts) if !is_one_of(parts) => self.joined(parts, " OR ", "0"),
            Predicate::Not(part) => format!("NOT {}", self.test(part)),
            atom => format!("a{}", place(&mut self.tests, atom)),
        }
    }

    /// The name of what this expression gives.
    pub fn value(&mut self, expression: String) -> String {
        format!("v{}", place(&mut self.values, &expression))
    }

    fn joined(&mut self, parts: &[Predicate], word: &str, empty: &str) -> String {
        let parts: Vec<String> = parts.iter().map(|part| self.test(part)).collect();
        if parts.is_empty() { empty.into() } else { format!("({})", parts.join(word)) }
    }

    /// The list for the query below.
    pub fn columns(&self) -> Sql {
        let mut sql = Sql::new("1");
        for (at, test) in self.tests.iter().enumerate() {
            sql = sql.push(", ").predicate(test).push(&format!(" AS a{at}"));
        }
        for (at, value) in self.values.iter().enumerate() {
            sql = sql.push(&format!(", {value} AS v{at}"));
        }
        sql
    }
}

fn place<T: PartialEq + Clone>(known: &mut Vec<T>, one: &T) -> usize {
    known.iter().position(|other| other == one).unwrap_or_else(|| {
        known.push(one.clone());
        known.len() - 1
    })
}

/// A state of many values is one test: a query has no more than 2,000 columns.
fn is_one_of(parts: &[Predicate]) -> bool {
    parts.len() > 1
        && parts.iter().all(|part| matches!(part, Predicate::Is { .. } | Predicate::Equals { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Identifier, Literal};

    #[test]
    fn what_two_predicates_ask_is_asked_once() {
        let column = || Identifier::new("status").unwrap();
        let is = |value: &str| Predicate::Is { column: column(), value: Literal::Text(value.into()) };
        let present = || Predicate::Present { column: column() };
        let mut atoms = Atoms::default();
        assert_eq!(atoms.test(&is("done").and(present().negated())), "(a0 AND NOT a1)");
        assert_eq!(atoms.test(&Predicate::Any(vec![present(), is("done")])), "(a1 OR a0)");
        assert_eq!(atoms.test(&Predicate::Any(vec![is("done"), is("failed")])), "a2");
        assert_eq!(atoms.test(&Predicate::All(Vec::new())), "1");
        assert_eq!((atoms.value("t.id".into()), atoms.value("t.id".into())), ("v0".into(), "v0".into()));
        let columns = atoms.columns().text;
        assert_eq!(columns.matches(" AS ").count(), 4, "{columns}");
    }
}
