//! What hangs on a table, and what its rule says to do about it.

use super::{Finding, HoldReason, Rule, Severity, TableFacts};

/// What to do where foreign keys or delete triggers hang on the table: the key `references`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum References {
    /// Nothing is deleted from the table.
    #[default]
    Refuse,
    /// A row that another row refers to stays; triggers fire.
    Skip,
    /// The actions that the foreign keys declare run, and triggers fire. A row stays where the declared
    /// action is to refuse.
    Cascade,
}

impl References {
    const ALL: [Self; 3] = [Self::Refuse, Self::Skip, Self::Cascade];

    /// The word in config.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Skip => "skip",
            Self::Cascade => "cascade",
        }
    }

    /// What config calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|references| references.name() == name)
    }

    /// The names that config knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }
}

/// A foreign key that points at a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// The table that refers.
    pub child: String,
    /// Each of its columns, with the column that it refers to.
    pub columns: Vec<(String, String)>,
    /// Whether a deletion is refused while a row refers, at once or at the COMMIT: NO ACTION or RESTRICT.
    pub refuses: bool,
    /// Whether an index finds the rows that refer; without one each deletion reads the whole child.
    pub is_indexed: bool,
}

impl ForeignKey {
    /// Whether a row stays that is referred to through this key.
    #[must_use]
    pub fn keeps_rows(&self, references: References) -> bool {
        match references {
            References::Refuse => false,
            References::Skip => true,
            References::Cascade => self.refuses,
        }
    }
}

/// A hold where the rule refuses them; else what makes them slow.
pub(super) fn reference_findings(rule: &Rule, facts: &TableFacts, place: &str) -> Vec<Finding> {
    let held = |what: String, remedy: &str| Finding {
        severity: Severity::Hold(HoldReason::References),
        what,
        remedy: remedy.into(),
    };
    if rule.references != References::Refuse {
        let mut findings: Vec<Finding> =
            facts.referenced_by.iter().filter_map(|key| slow_child(key, place)).collect();
        let goes_on = !facts.referenced_by.is_empty() || !facts.delete_triggers.is_empty();
        if goes_on && !facts.replacing.is_empty() {
            let replacing = facts.replacing.join(", ");
            findings.push(held(
                format!("{place}: a deletion may set off {replacing}, where REPLACE deletes rows that nobody sees go"),
                "let it delete what it replaces by a DELETE, or clean this table in the application",
            ));
        }
        return findings;
    }
    let mut findings = Vec::new();
    if !facts.referenced_by.is_empty() {
        let mut children: Vec<&str> = facts.referenced_by.iter().map(|key| key.child.as_str()).collect();
        children.dedup();
        let children = children.join(", ");
        findings.push(held(
            format!("{place} is referenced by foreign keys of {children}"),
            "set `references = \"skip\"` to keep the rows that are referred to, or `\"cascade\"` to run the declared actions, or drop the reference",
        ));
    }
    if !facts.delete_triggers.is_empty() {
        let triggers = facts.delete_triggers.join(", ");
        findings.push(held(
            format!("{place} has triggers that fire on DELETE: {triggers}"),
            "set `references = \"skip\"` or `\"cascade\"` to let it fire, or drop the trigger",
        ));
    }
    findings
}

/// Every deletion looks for the rows that refer.
fn slow_child(key: &ForeignKey, place: &str) -> Option<Finding> {
    let columns: Vec<String> = key.columns.iter().map(|(from, _)| quoted(from)).collect();
    let columns = columns.join(", ");
    let what =
        format!("{place}: no index finds the rows of `{}` that refer to a row by {columns}", key.child);
    let index = quoted(&format!("{}_references", key.child));
    let remedy = format!("CREATE INDEX {index} ON {} ({columns})", quoted(&key.child));
    (!key.is_indexed).then_some(Finding { severity: Severity::Advice, what, remedy })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
