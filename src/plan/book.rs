//! The rules of a database as config has them: a block may name several tables, or a pattern of them.

use super::{Identifier, Rule, TableLabel, side_by_side};

/// A pattern of table names: `*` is any text, `?` any one character, everything else itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePattern(glob::Pattern);

/// The text is no pattern of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a pattern of tables knows `*` and `?` alone")]
pub struct TablePatternError;

impl TablePattern {
    /// # Errors
    /// [`TablePatternError`] for `**` and `[`, which a pattern of files would know.
    pub fn new(text: &str) -> Result<Self, TablePatternError> {
        if text.contains("**") || text.contains('[') {
            return Err(TablePatternError);
        }
        glob::Pattern::new(text).map(Self).map_err(|_| TablePatternError)
    }

    /// Whether the table's name is meant, as the schema spells it.
    #[must_use]
    pub fn matches(&self, table: &Identifier) -> bool {
        self.0.matches(table.as_str())
    }

    /// The pattern as config has it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Which table a block is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableName {
    /// This one.
    Exact(Identifier),
    /// Every one that matches, unless a block names it.
    Pattern(TablePattern),
}

/// One block: a rule, and the tables that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleBlock {
    /// The rule; its table and label are those of any one of the tables.
    pub rule: Rule,
    /// The block's own name.
    pub name: Option<TableLabel>,
    /// Its tables, at least one.
    pub tables: Vec<TableName>,
}

/// The rules of one database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleBook(Vec<RuleBlock>);

impl RuleBook {
    /// A book of these blocks.
    #[must_use]
    pub fn new(mut blocks: Vec<RuleBlock>) -> Self {
        for block in &mut blocks {
            if let [TableName::Exact(table)] = block.tables.as_slice() {
                // A table's own name says nothing.
                block.name = block.name.take().filter(|name| name.as_str() != table.as_str());
            }
        }
        Self(blocks)
    }

    /// A book of one rule for the table that it names.
    #[must_use]
    pub fn of(rule: Rule) -> Self {
        let tables = vec![TableName::Exact(rule.table.clone())];
        Self(vec![RuleBlock { rule, name: None, tables }])
    }

    /// The patterns, for which it must be known what tables there are.
    pub fn patterns(&self) -> impl Iterator<Item = &TablePattern> {
        self.0.iter().flat_map(|block| &block.tables).filter_map(|table| match table {
            TableName::Exact(_) => None,
            TableName::Pattern(pattern) => Some(pattern),
        })
    }

    /// The rules where these tables are there, in the order of the blocks. Where two patterns match
    /// one table and call the same rows done, the first block has it.
    #[must_use]
    pub fn rules(&self, there: &[Identifier]) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        for block in &self.0 {
            for table in block.tables.iter().flat_map(|table| self.meant(table, there)) {
                let Some(label) = block.label(&table) else { continue };
                let rule = Rule { table, label, ..block.rule.clone() };
                if !rules.iter().any(|other| other.label == rule.label || other.clashes_with(&rule)) {
                    rules.push(rule);
                }
            }
        }
        side_by_side(rules)
    }

    /// The rules under the names that config has, a pattern taken for a table's name: for the reports
    /// where it is not known which tables there are.
    #[must_use]
    pub fn as_written(&self) -> Vec<Rule> {
        let patterns = self.patterns().filter_map(|pattern| Identifier::new(pattern.as_str()).ok());
        self.rules(&patterns.collect::<Vec<_>>())
    }

    fn meant(&self, table: &TableName, there: &[Identifier]) -> Vec<Identifier> {
        match table {
            TableName::Exact(table) => vec![table.clone()],
            TableName::Pattern(pattern) => {
                let free = |table: &&Identifier| pattern.matches(table) && !self.names(table);
                there.iter().filter(free).cloned().collect()
            }
        }
    }

    /// SQLite takes `Keys` and `keys` for one table.
    fn names(&self, table: &Identifier) -> bool {
        self.0.iter().flat_map(|block| &block.tables).any(|named| match named {
            TableName::Exact(named) => named.as_str().eq_ignore_ascii_case(table.as_str()),
            TableName::Pattern(_) => false,
        })
    }
}

impl RuleBlock {
    /// The table's own name, the block's, or both where the block may be about several tables.
    #[must_use]
    pub fn label(&self, table: &Identifier) -> Option<TableLabel> {
        match (&self.name, self.tables.as_slice()) {
            (None, _) => TableLabel::new(table.as_str()).ok(),
            (Some(name), [TableName::Exact(_)]) => Some(name.clone()),
            (Some(name), _) => TableLabel::new(&format!("{name}/{table}")).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::{Done, StateTest};

    fn table(name: &str) -> Identifier {
        Identifier::new(name).unwrap()
    }

    fn block(name: Option<&str>, tables: Vec<TableName>) -> RuleBlock {
        let name = name.map(|name| TableLabel::new(name).unwrap());
        RuleBlock { rule: Rule::key_table(Duration::ZERO), name, tables }
    }

    fn pattern(text: &str) -> TableName {
        TableName::Pattern(TablePattern::new(text).unwrap())
    }

    fn labels(blocks: Vec<RuleBlock>, there: &[&str]) -> Vec<(String, String)> {
        let there: Vec<Identifier> = there.iter().map(|name| table(name)).collect();
        let rules = RuleBook::new(blocks).rules(&there);
        rules.into_iter().map(|rule| (rule.label.to_string(), rule.table.to_string())).collect()
    }

    fn pair(label: &str, table: &str) -> (String, String) {
        (label.into(), table.into())
    }

    #[test]
    fn a_pattern_is_every_table_that_no_block_names() {
        let blocks = vec![
            block(Some("box"), vec![pattern("*box"), TableName::Exact(table("Inbox"))]),
            block(None, vec![pattern("out*"), pattern("k?ys")]),
        ];
        let there = ["inbox", "keys", "other", "outbox", "outfit"];
        let expected = [
            pair("box/outbox", "outbox"),
            pair("box/Inbox", "Inbox"),
            pair("outfit", "outfit"),
            pair("keys", "keys"),
        ];
        assert_eq!(labels(blocks, &there), expected);
    }

    #[test]
    fn where_two_patterns_match_one_table_the_first_block_has_what_both_call_done() {
        let mut settled = block(Some("settled"), vec![pattern("*b")]);
        settled.rule.done = Done::Any(vec![StateTest::NotNull(table("settled"))]);
        let blocks = vec![block(None, vec![pattern("a*")]), block(Some("x"), vec![pattern("*b")]), settled];
        assert_eq!(labels(blocks, &["ab"]), [pair("ab", "ab"), pair("settled/ab", "ab")]);
    }

    #[test]
    fn a_pattern_knows_two_wildcards_alone() {
        for text in ["a**", "[ab]", "***"] {
            assert_eq!(TablePattern::new(text), Err(TablePatternError), "{text}");
        }
        assert!(TablePattern::new("x{y}*").unwrap().matches(&table("x{y}z")));
    }
}
