//! What can go wrong, in kinds that a caller can branch on.

use super::EmptyName;
use crate::plan::{Failure, FailureKind};

/// Why a call on the key table gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// The call itself is wrong. Nothing was changed.
    #[error("invalid argument: {0}")]
    InvalidArgument(&'static str),
    /// The database gave no answer.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why an operation gave no answer. `E` is what the change itself can fail with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError<E: std::error::Error + 'static> {
    /// The call itself is wrong. Nothing was changed.
    #[error("invalid argument: {0}")]
    InvalidArgument(&'static str),
    /// This key is retained for another request. Nothing was changed.
    #[error("the key is already used for another request")]
    KeyConflict,
    /// The change itself refused, and was rolled back with everything that it did.
    #[error("the change was refused: {0}")]
    Refused(#[source] E),
    /// The database gave no answer.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why a database gave no answer. Only [`Self::OutcomeUnknown`] may have changed something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Another connection held the lock for longer than the busy timeout. Nothing was changed, and
    /// nothing is known of the key: ask again with the **same** one. It is no permission to invent another.
    #[error("{0}")]
    Busy(Failure),
    /// The path is no database with the table that we need, or not ours to open.
    #[error("{0}")]
    NotOurTable(Failure),
    /// Reading or writing failed. Nothing was changed.
    #[error("{0}")]
    Storage(Failure),
    /// A COMMIT failed in a way that leaves its outcome open: ask again with the same key, assume nothing.
    #[error("{0}")]
    OutcomeUnknown(Failure),
}

impl From<Failure> for RecordError {
    fn from(failure: Failure) -> Self {
        match failure.kind() {
            FailureKind::Busy => Self::Busy(failure),
            FailureKind::CommitUnknown => Self::OutcomeUnknown(failure),
            FailureKind::Missing | FailureKind::Schema => {
                let remedy =
                    "make the tables first: `create` does, and so does `keysweep keys init --db FILE`";
                Self::NotOurTable(Failure::new(failure.kind(), failure.what(), remedy))
            }
            FailureKind::Permission
            | FailureKind::Ownership
            | FailureKind::NotADatabase
            | FailureKind::Replaced => Self::NotOurTable(failure),
            _ => Self::Storage(failure),
        }
    }
}

impl<E: std::error::Error + 'static> OperationError<E> {
    /// Turn what the change said into something else.
    pub(super) fn refused<F: std::error::Error + 'static>(
        self,
        other: impl FnOnce(E) -> OperationError<F>,
    ) -> OperationError<F> {
        match self {
            Self::Refused(error) => other(error),
            Self::InvalidArgument(why) => OperationError::InvalidArgument(why),
            Self::KeyConflict => OperationError::KeyConflict,
            Self::Record(error) => OperationError::Record(error),
        }
    }
}

impl<E: std::error::Error + 'static> From<EmptyName> for OperationError<E> {
    fn from(empty: EmptyName) -> Self {
        Self::InvalidArgument(empty.why())
    }
}
