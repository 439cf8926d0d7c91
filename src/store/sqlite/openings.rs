//! How many databases are open at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A bound on open databases, shared by all who work side by side: each has three files open, and a
/// process often may open 1,024. A clone is the same one.
#[derive(Debug, Clone)]
pub struct Openings(Arc<Semaphore>);

impl Openings {
    /// So many at once, at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Whether others may have to wait for one.
    pub(super) fn are_short(&self) -> bool {
        self.0.available_permits() == 0
    }

    /// One of them, in the order of asking. Nothing only if they were closed, which nobody does.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// Without a bound: for who works on one database.
impl Default for Openings {
    fn default() -> Self {
        Self::new(Semaphore::MAX_PERMITS)
    }
}
