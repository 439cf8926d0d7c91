//! Who reads an answer: so many at once, of whom those that stand still go while others wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long a reader may take nothing while others wait. Prometheus takes a piece each millisecond.
const STILL: Duration = Duration::from_millis(250);

/// All readers. A clone is the same.
///
/// An answer, or a part of it, is in memory while its reader takes it: hundreds that stand still would hold hundreds.
/// But to send the first of them away for the next would send away Prometheus as well. So whoever comes waits, and
/// only whoever does not read makes room.
#[derive(Clone)]
pub(super) struct Readers {
    seats: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

/// A reader's seat; given back when it is dropped.
pub(super) struct Seat {
    _seat: OwnedSemaphorePermit,
}

struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Readers {
    /// So many at once.
    pub(super) fn new(seats: usize) -> Self {
        Self { seats: Arc::new(Semaphore::new(seats)), waiting: Arc::default() }
    }

    /// A seat, in the order of asking. Nothing where the seats were closed, which they never are.
    pub(super) async fn sit(&self) -> Option<Seat> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Also where whoever waits gives up.
        let _waiting = Waiting(Arc::clone(&self.waiting));
        let seat = Arc::clone(&self.seats).acquire_owned().await.ok()?;
        Some(Seat { _seat: seat })
    }

    /// Until a seated reader, who counts here the pieces that it took, has stood still while others waited.
    pub(super) async fn stands_still(&self, took: &AtomicU64) {
        loop {
            let before = took.load(Ordering::Relaxed);
            tokio::time::sleep(STILL).await;
            if took.load(Ordering::Relaxed) == before && self.waiting.load(Ordering::Relaxed) > 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn only_who_stands_still_goes_and_only_while_somebody_waits() {
        let (readers, took) = (Readers::new(1), AtomicU64::new(0));
        let seat = readers.sit().await.unwrap();
        assert!(timeout(STILL * 100, readers.stands_still(&took)).await.is_err(), "nobody waits");
        let other = tokio::spawn({
            let readers = readers.clone();
            async move { readers.sit().await.is_some() }
        });
        tokio::task::yield_now().await;
        let reads = async {
            for _ in 0..100 {
                tokio::time::sleep(STILL / 2).await;
                took.fetch_add(1, Ordering::Relaxed);
            }
        };
        tokio::select! {
            () = reads => {}
            () = readers.stands_still(&took) => panic!("it reads"),
        }
        timeout(STILL * 3, readers.stands_still(&took)).await.expect("it stands still");
        drop(seat);
        assert!(other.await.unwrap());
        assert_eq!(readers.waiting.load(Ordering::Relaxed), 0);
    }
}
