//! What hangs on a table, and what its rule says to do about it.

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
