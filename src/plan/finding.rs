//! What a look at a table shows: a reason, a severity, a remedy. Made here once, from facts.

use super::failure::one_line;
use super::references::reference_findings;
use super::{Failure, FailureKind, ForeignKey, HoldReason, Identifier, References, Rule};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is deleted from the table until it is mended.
    Hold(HoldReason),
    /// What is configured cannot be what is meant, or may harm the data. It does not hold the table, and
    /// `check` answers no.
    Fault,
    /// It works; an owner would want to know.
    Advice,
}

/// One thing that a look at a table showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was seen.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Finding {
    /// Something that is wrong and holds nothing. One line, whatever a schema holds.
    pub(super) fn fault(what: &str, remedy: &str) -> Self {
        Self { severity: Severity::Fault, what: one_line(what), remedy: one_line(remedy) }
    }

    /// Something that an owner would want to know. One line, whatever a schema holds.
    pub(super) fn advice(what: &str, remedy: &str) -> Self {
        Self { severity: Severity::Advice, what: one_line(what), remedy: one_line(remedy) }
    }

    fn schema(what: String, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Hold(HoldReason::Schema), what, remedy: remedy.into() }
    }

    /// The finding as the error of a report that it holds.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let kind = match self.severity {
            Severity::Hold(HoldReason::References) => FailureKind::References,
            _ => FailureKind::Schema,
        };
        Failure::new(kind, self.what.as_str(), self.remedy.as_str())
    }
}

/// What kind of thing has the table's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// A table of rows.
    Table,
    /// A view.
    View,
    /// A virtual table or a shadow of one.
    Virtual,
}

/// What the schema says of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFacts {
    /// The path or server, for messages.
    pub database: String,
    /// What has the name; nothing where there is no such name.
    pub kind: Option<TableKind>,
    /// Its columns, generated ones too.
    pub columns: Vec<String>,
    /// The columns of the primary key and of each full unique index.
    pub unique: Vec<Vec<String>>,
    /// Whether an index gives the rows in the order of the rule's key, so that a walk need not sort.
    pub in_key_order: bool,
    /// Foreign keys that point here, also those of the table itself.
    pub referenced_by: Vec<ForeignKey>,
    /// Why no DELETE from it can be prepared, if none can.
    pub undeletable: Option<String>,
    /// Whether its text is kept as UTF-8.
    pub is_utf8: bool,
    /// Triggers that fire on a delete here.
    pub delete_triggers: Vec<String>,
    /// Triggers and tables of the database whose statements replace rows: no trigger sees those go.
    pub replacing: Vec<String>,
    /// Tables that do exist, to help with a misspelt name.
    pub tables: Vec<String>,
    /// The name by which the engine numbers the rows, where it does.
    pub rowid: Option<String>,
    /// Whether an index finds the expired rows in the order of the clock column.
    pub in_clock_order: bool,
}

/// Everything that is worth saying of a table under its rule, the severe first.
#[must_use]
pub fn table_findings(rule: &Rule, facts: &TableFacts) -> Vec<Finding> {
    let one_line = |finding: Finding| Finding {
        what: one_line(&finding.what),
        remedy: one_line(&finding.remedy),
        ..finding
    };
    everything(rule, facts).into_iter().map(one_line).collect()
}

fn everything(rule: &Rule, facts: &TableFacts) -> Vec<Finding> {
    let table = &rule.table;
    let place = format!("table `{table}` of {}", facts.database);
    match facts.kind {
        None => {
            let there = or_none(&facts.tables);
            let remedy =
                format!("set `table` to one that is there ({there}), or let the application create it");
            return vec![Finding::schema(format!("there is no {place}"), remedy)];
        }
        Some(TableKind::View) => {
            return vec![Finding::schema(
                format!("{place} is a view"),
                "name the table that its rows live in",
            )];
        }
        Some(TableKind::Virtual) => {
            return vec![Finding::schema(format!("{place} is a virtual table"), "name an ordinary table")];
        }
        Some(TableKind::Table) => {}
    }
    let mut findings = column_findings(rule, facts, &place);
    if findings.is_empty() {
        findings.extend(key_findings(rule, facts, &place));
        findings.extend(reference_findings(rule, facts, &place));
        findings.extend(engine_findings(rule, facts, &place));
    }
    findings
}

/// Why the table cannot even be counted: it is not as configured. References hold deletes, not counts.
#[must_use]
pub fn schema_failure(rule: &Rule, facts: &TableFacts) -> Option<Failure> {
    let findings = table_findings(rule, facts);
    let schema = findings.iter().find(|finding| finding.severity == Severity::Hold(HoldReason::Schema));
    schema.map(Finding::failure)
}

/// A misspelt column must be caught here: in SQL it could turn into a text that equals every row.
fn column_findings(rule: &Rule, facts: &TableFacts, place: &str) -> Vec<Finding> {
    let mut missing: Vec<&str> = rule
        .columns()
        .map(|column| column.as_str())
        .filter(|column| !facts.columns.iter().any(|there| there == column))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    missing
        .into_iter()
        .map(|column| {
            let remedy =
                format!("correct the column in the config: the table has {}", or_none(&facts.columns));
            Finding::schema(format!("{place} has no column `{column}`"), remedy)
        })
        .collect()
}

/// A unique index may name the columns in any order, and fewer of them are unique all the more.
fn key_findings(rule: &Rule, facts: &TableFacts, place: &str) -> Option<Finding> {
    let key: Vec<&str> = rule.key.columns().iter().map(Identifier::as_str).collect();
    if facts.unique.iter().any(|index| index.iter().all(|column| key.contains(&column.as_str()))) {
        // Without such an index every step of a search would sort the whole table.
        let remedy = "name the key columns in the order of their PRIMARY KEY or UNIQUE index, \
                      which must have the collation of the columns";
        let what = format!("{place}: no index gives its rows in the order of key `{}`", key.join("`, `"));
        return (!facts.in_key_order).then(|| Finding::schema(what, remedy));
    }
    let key = key.join("`, `");
    let remedy = "set `key` to the columns of a PRIMARY KEY or of a UNIQUE index that has their collation";
    Some(Finding::schema(format!("{place}: key `{key}` is not unique"), remedy))
}

fn engine_findings(rule: &Rule, facts: &TableFacts, place: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Where triggers hold the table, one of them is the likely cause, and that was said.
    let was_said = rule.references == References::Refuse && !facts.delete_triggers.is_empty();
    if let Some(error) = facts.undeletable.as_ref().filter(|_| !was_said) {
        let remedy = "mend what it names, most likely a foreign key to or of this table, or a function that only the application has";
        findings.push(Finding::schema(format!("{place}: no row of it can be deleted: {error}"), remedy));
    }
    if !facts.is_utf8 {
        // Ill-formed UTF-16 comes back as another text: a walk by such a key would never end.
        let remedy = "keysweep walks only keys that it reads exactly as they are stored: clean this table in the application";
        findings.push(Finding::schema(format!("{place}: the database keeps its text as UTF-16"), remedy));
    }
    findings
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn facts() -> TableFacts {
        TableFacts {
            database: "/srv/app.db".into(),
            kind: Some(TableKind::Table),
            columns: ["id", "fingerprint", "status", "response", "expires"].map(String::from).into(),
            unique: vec![vec!["id".into()]],
            in_key_order: true,
            undeletable: None,
            is_utf8: true,
            referenced_by: vec![],
            delete_triggers: vec![],
            replacing: vec![],
            tables: vec!["keys".into()],
            rowid: Some("rowid".into()),
            in_clock_order: true,
        }
    }

    fn reference() -> ForeignKey {
        ForeignKey {
            child: "receipts".into(),
            columns: vec![("key".into(), "id".into())],
            refuses: true,
            is_indexed: false,
        }
    }

    #[test]
    fn where_references_are_allowed_for_only_a_child_without_an_index_is_advised() {
        let rule = Rule { references: References::Skip, ..Rule::key_table(Duration::ZERO) };
        let indexed = ForeignKey { is_indexed: true, ..reference() };
        let facts = TableFacts { referenced_by: vec![reference(), indexed], ..facts() };
        let found = table_findings(&rule, &facts);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Advice);
        assert_eq!(found[0].remedy, r#"CREATE INDEX "receipts_references" ON "receipts" ("key")"#);
    }

    fn found(facts: &TableFacts) -> Vec<(Severity, String)> {
        let rule = Rule::key_table(Duration::ZERO);
        let findings = table_findings(&rule, facts);
        findings.into_iter().map(|finding| (finding.severity, finding.what)).collect()
    }

    #[test]
    fn the_key_table_as_it_is_created_has_no_finding() {
        assert_eq!(found(&facts()), []);
    }

    #[test]
    fn a_table_that_is_not_as_configured_is_held() {
        let no_expires = facts().columns.into_iter().filter(|column| column != "expires");
        let wrong = [
            TableFacts { kind: None, ..facts() },
            TableFacts { kind: Some(TableKind::View), ..facts() },
            TableFacts { kind: Some(TableKind::Virtual), ..facts() },
            TableFacts { columns: no_expires.collect(), ..facts() },
            TableFacts { unique: vec![vec!["id".into(), "status".into()]], ..facts() },
            TableFacts { in_key_order: false, ..facts() },
            TableFacts { undeletable: Some("no such table".into()), ..facts() },
            TableFacts { is_utf8: false, ..facts() },
        ];
        for facts in wrong {
            let found = found(&facts);
            assert_eq!(found.len(), 1, "{facts:?}");
            assert_eq!(found[0].0, Severity::Hold(HoldReason::Schema));
            assert!(found[0].1.contains("`keys` of /srv/app.db"), "{}", found[0].1);
        }
    }

    #[test]
    fn foreign_keys_and_delete_triggers_are_each_a_hold() {
        let facts =
            TableFacts { referenced_by: vec![reference()], delete_triggers: vec!["audit".into()], ..facts() };
        let found = found(&facts);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(severity, _)| *severity == Severity::Hold(HoldReason::References)));
    }
}
