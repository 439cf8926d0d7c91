//! What several predicates ask of a row, asked once.

use super::render::{Sql, render};
use crate::plan::Predicate;

/// The tests that a count's predicates are made of. Each is a column of a query below the count, so that
/// it is answered once a row, however many predicates mention it.
#[derive(Debug, Default)]
pub(super) struct Atoms(Vec<Sql>);

impl Atoms {
    /// The predicate, by the names of what it is made of.
    pub fn name(&mut self, predicate: &Predicate) -> String {
        match predicate {
            Predicate::All(parts) => self.joined(parts, " AND ", "1"),
            Predicate::Any(parts) if !is_one_of(parts) => self.joined(parts, " OR ", "0"),
            Predicate::Not(part) => format!("NOT {}", self.name(part)),
            atom => self.ask(render(atom)),
        }
    }

    /// The name of the answer to this.
    pub fn ask(&mut self, atom: Sql) -> String {
        let at = self.0.iter().position(|known| *known == atom).unwrap_or_else(|| {
            self.0.push(atom);
            self.0.len() - 1
        });
        format!("a{at}")
    }

    fn joined(&mut self, parts: &[Predicate], word: &str, empty: &str) -> String {
        let parts: Vec<String> = parts.iter().map(|part| self.name(part)).collect();
        if parts.is_empty() { empty.into() } else { format!("({})", parts.join(word)) }
    }

    /// The list for the query below.
    pub fn columns(self) -> Sql {
        let mut sql = Sql::default();
        for (at, atom) in self.0.into_iter().enumerate() {
            sql = sql.push(if at == 0 { "" } else { ", " }).append(atom).push(&format!(" AS a{at}"));
        }
        if sql.text.is_empty() { Sql::new("1") } else { sql }
    }
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
        assert_eq!(atoms.name(&is("done").and(present().negated())), "(a0 AND NOT a1)");
        assert_eq!(atoms.name(&Predicate::Any(vec![present(), is("done")])), "(a1 OR a0)");
        assert_eq!(atoms.name(&Predicate::Any(vec![is("done"), is("failed")])), "a2");
        assert_eq!(atoms.name(&Predicate::All(Vec::new())), "1");
        assert_eq!(atoms.columns().text.matches(" AS a").count(), 3);
    }
}
