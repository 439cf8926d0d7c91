//! What a sweep does with the write-ahead log, which it shares with the application.

/// When our connection moves the log into the database. It does so between two batches, outside the
/// write lock, and waits for nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checkpoint {
    /// At SQLite's own threshold: never more often than the application's connections do.
    #[default]
    Auto,
    /// Never: somebody else, such as Litestream, owns the log.
    Never,
    /// At a quarter of that, so that the application's commits seldom meet the threshold and pay for it.
    Early,
}

impl Checkpoint {
    const ALL: [Self; 3] = [Self::Auto, Self::Never, Self::Early];

    /// The word in config.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Never => "never",
            Self::Early => "early",
        }
    }

    /// The words that config knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }

    /// What config calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|checkpoint| checkpoint.name() == name)
    }

    /// The pages in the log from which on it is moved, where it is (sqlite.org/wal.html, 3.2: 1000).
    #[must_use]
    pub fn threshold(self) -> Option<i32> {
        match self {
            Self::Auto => Some(1_000),
            Self::Never => None,
            Self::Early => Some(250),
        }
    }
}

/// What a sweep does with the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalPolicy {
    /// When it is moved into the database.
    pub checkpoint: Checkpoint,
    /// A sweep ends for this tick while the log is larger than so many bytes and cannot be moved.
    pub max: u64,
}

impl WalPolicy {
    /// 256 MiB.
    pub const DEFAULT_MAX: u64 = 256 << 20;
}

impl Default for WalPolicy {
    fn default() -> Self {
        Self { checkpoint: Checkpoint::Auto, max: Self::DEFAULT_MAX }
    }
}
