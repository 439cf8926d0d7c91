//! What can go wrong with a key, in kinds that a caller can branch on.

use crate::plan::{Failure, FailureKind};

/// Why a call on the key table gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// The call itself is wrong. Nothing was changed.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// Another connection held the lock for longer than the busy timeout. Nothing was changed, and
    /// nothing is known of the key: ask again with the same one.
    #[error("{0}")]
    Busy(Failure),
    /// The path is no database with a key table that we may use.
    #[error("{0}")]
    NotAKeyTable(Failure),
    /// Reading or writing failed. Nothing was changed.
    #[error("{0}")]
    Storage(Failure),
    /// A COMMIT failed in a way that leaves its outcome open: ask again with the same key, assume nothing.
    #[error("{0}")]
    OutcomeUnknown(Failure),
}

impl From<Failure> for KeysError {
    fn from(failure: Failure) -> Self {
        match failure.kind() {
            FailureKind::Busy => Self::Busy(failure),
            FailureKind::CommitUnknown => Self::OutcomeUnknown(failure),
            FailureKind::Missing
            | FailureKind::Permission
            | FailureKind::Ownership
            | FailureKind::NotADatabase
            | FailureKind::Schema => Self::NotAKeyTable(failure),
            _ => Self::Storage(failure),
        }
    }
}
