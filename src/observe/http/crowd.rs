//! Who is in: a bounded number of clients, of which the oldest goes when another one comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Everyone who is in. A clone is the same crowd.
///
/// Clients that stay and say nothing must not keep Prometheus out: so nobody waits at the door for one of them to
/// go. The one that goes has not been let in to an answer, or, where all have, began first.
#[derive(Clone)]
pub(super) struct Crowd {
    room: Arc<Semaphore>,
    members: Arc<Mutex<Members>>,
}

#[derive(Default)]
struct Members {
    next: u64,
    all: BTreeMap<u64, Member>,
}

struct Member {
    admitted: bool,
    leave: CancellationToken,
}

impl Members {
    /// The next one to make room is told to.
    fn dismiss(&mut self) {
        let oldest = |admitted| self.all.iter().find(|(_, it)| it.admitted == admitted).map(|(id, _)| *id);
        if let Some(member) = oldest(false).or_else(|| oldest(true)).and_then(|id| self.all.remove(&id)) {
            member.leave.cancel();
        }
    }
}

impl Crowd {
    /// Room for so many, at least one.
    pub(super) fn new(room: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(room)), members: Arc::default() }
    }

    /// A place for one more. Nothing where the crowd was closed, which it never is.
    pub(super) async fn enter(&self) -> Option<Place> {
        let room = match Arc::clone(&self.room).try_acquire_owned() {
            Ok(room) => room,
            Err(_) => {
                self.members().dismiss();
                Arc::clone(&self.room).acquire_owned().await.ok()?
            }
        };
        let leave = CancellationToken::new();
        let mut members = self.members();
        let id = members.next;
        members.next += 1;
        members.all.insert(id, Member { admitted: false, leave: leave.clone() });
        drop(members);
        Some(Place { id, crowd: self.clone(), leave, _room: room })
    }

    fn members(&self) -> std::sync::MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client's place; given back when it is dropped.
pub(super) struct Place {
    id: u64,
    crowd: Crowd,
    leave: CancellationToken,
    _room: OwnedSemaphorePermit,
}

impl Place {
    /// Its request is complete and will be answered.
    pub(super) fn admit(&self) {
        if let Some(member) = self.crowd.members().all.get_mut(&self.id) {
            member.admitted = true;
        }
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.crowd.members().all.get(&self.id).is_some_and(|member| member.admitted)
    }

    /// Until it must make room for another.
    pub(super) async fn dismissed(&self) {
        self.leave.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.members().all.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_dismissed(place: &Place) -> bool {
        place.leave.is_cancelled()
    }

    /// Enter while nobody goes: whoever is dismissed keeps its place until it is dropped.
    async fn knock(crowd: &Crowd) {
        let knock = tokio::time::timeout(std::time::Duration::from_millis(20), crowd.enter());
        assert!(knock.await.is_err(), "there was room");
    }

    #[tokio::test]
    async fn the_oldest_that_has_no_answer_yet_makes_room() {
        let crowd = Crowd::new(3);
        let places = [(); 3].map(|()| crowd.enter());
        let [first, second, third] = futures(places).await;
        first.admit();
        knock(&crowd).await;
        assert!(!is_dismissed(&first) && is_dismissed(&second) && !is_dismissed(&third));
        drop(second);
        let fourth = crowd.enter().await.unwrap();
        third.admit();
        fourth.admit();
        knock(&crowd).await;
        assert!(is_dismissed(&first) && !is_dismissed(&third) && !is_dismissed(&fourth));
    }

    async fn futures<const N: usize>(entering: [impl Future<Output = Option<Place>>; N]) -> [Place; N] {
        let mut places = Vec::new();
        for one in entering {
            places.push(one.await.unwrap());
        }
        places.try_into().ok().unwrap()
    }

    #[tokio::test]
    async fn a_place_that_was_left_is_free() {
        let crowd = Crowd::new(1);
        for _ in 0..3 {
            let place = crowd.enter().await.unwrap();
            assert!(!is_dismissed(&place));
        }
        assert!(crowd.members().all.is_empty());
    }
}
