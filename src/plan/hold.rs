//! Why nothing is deleted from a table.

use super::FailureKind;

/// Why nothing is deleted: the label `reason` of `keysweep_held`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldReason {
    /// A person wants nothing to be deleted for now.
    Paused,
    /// The wall clock is ahead of the time that has passed.
    Clock,
    /// The table was never seen before, or its retention was made shorter.
    Horizon,
    /// A sweep would take more of the finished rows than was said to be likely.
    Share,
    /// Foreign keys or delete triggers hang on the table.
    References,
    /// Files that we create would lock the application out.
    Ownership,
    /// The table is not as configured.
    Schema,
    /// A batch was about to delete what it must not. Until a restart.
    Invariant,
}

impl HoldReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Paused,
        Self::Clock,
        Self::Horizon,
        Self::Share,
        Self::References,
        Self::Ownership,
        Self::Schema,
        Self::Invariant,
    ];

    /// The word in metrics, reports and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Clock => "clock",
            Self::Horizon => "horizon",
            Self::Share => "share",
            Self::References => "references",
            Self::Ownership => "ownership",
            Self::Schema => "schema",
            Self::Invariant => "invariant",
        }
    }

    /// The hold that a failure of this kind is, where it is one: such a failure lasts until someone
    /// acts. Guards come with their reason, before there is a failure.
    #[must_use]
    pub fn of(kind: FailureKind) -> Option<Self> {
        match kind {
            FailureKind::Ownership => Some(Self::Ownership),
            FailureKind::Schema => Some(Self::Schema),
            FailureKind::References => Some(Self::References),
            FailureKind::Invariant => Some(Self::Invariant),
            _ => None,
        }
    }
}
