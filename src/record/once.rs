//! Look up, or change and retain: the one transaction beneath every durable operation.

use rusqlite::Transaction;

use super::ledger::Ledger;
use super::{Fingerprint, OperationError};

/// A request under its idempotency key. The scope comes from an authenticated identity, so that one
/// caller cannot replay another's responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<F = Fingerprint> {
    scope: String,
    key: String,
    fingerprint: F,
    older: Vec<F>,
}

/// Scope and key must not be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid argument: {0}")]
pub struct EmptyName(&'static str);

impl EmptyName {
    pub(super) fn why(self) -> &'static str {
        self.0
    }
}

impl<F> Request<F> {
    /// # Errors
    /// [`EmptyName`] when scope or key is empty.
    pub fn new(scope: &str, key: &str, fingerprint: F) -> Result<Self, EmptyName> {
        for (text, why) in [(scope, "a scope cannot be empty"), (key, "a key cannot be empty")] {
            if text.is_empty() {
                return Err(EmptyName(why));
            }
        }
        Ok(Self { scope: scope.into(), key: key.into(), fingerprint, older: Vec::new() })
    }

    /// The same request as an older version of its scheme would print it: a response that was
    /// retained then is still this request's.
    #[must_use]
    pub fn or(mut self, older: F) -> Self {
        self.older.push(older);
        self
    }

    /// Whose key it is.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// The idempotency key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What it is retained under.
    #[must_use]
    pub fn fingerprint(&self) -> &F {
        &self.fingerprint
    }
}

impl<F: PartialEq> Request<F> {
    fn is_retained_as(&self, fingerprint: &F) -> bool {
        self.fingerprint == *fingerprint || self.older.contains(fingerprint)
    }
}

/// The response of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<R> {
    /// The change was made now.
    Fresh(R),
    /// It was made before; this is its response.
    Retained(R),
}

impl<R> Answer<R> {
    /// The response, whenever it was made.
    pub fn into_response(self) -> R {
        match self {
            Self::Fresh(response) | Self::Retained(response) => response,
        }
    }
}

/// Where requests of one kind are retained with their responses.
pub(super) trait Retained {
    type Fingerprint: PartialEq;
    type Response;

    fn find(
        &self,
        transaction: &Transaction<'_>,
        request: &Request<Self::Fingerprint>,
    ) -> rusqlite::Result<Option<(Self::Fingerprint, Self::Response)>>;

    fn retain(
        &self,
        transaction: &Transaction<'_>,
        request: &Request<Self::Fingerprint>,
        response: &Self::Response,
    ) -> rusqlite::Result<()>;
}

pub(super) fn once<R: Retained, E: std::error::Error + 'static>(
    ledger: &Ledger,
    retained: &R,
    request: &Request<R::Fingerprint>,
    change: impl FnOnce(&Transaction<'_>) -> Result<R::Response, E>,
) -> Result<Answer<R::Response>, OperationError<E>> {
    ledger.transact("run an operation", |transaction| {
        let failed = |error: rusqlite::Error| ledger.failed("run an operation", &error);
        match retained.find(transaction, request).map_err(failed)? {
            Some((fingerprint, response)) if request.is_retained_as(&fingerprint) => {
                Ok(Answer::Retained(response))
            }
            Some(_) => Err(OperationError::KeyConflict),
            None => {
                let said = ledger.change(transaction, change)?;
                let response = said.map_err(OperationError::Refused)?;
                retained.retain(transaction, request, &response).map_err(failed)?;
                Ok(Answer::Fresh(response))
            }
        }
    })
}
