//! Where a sweep is: its walk, what it nominated, and how far everything is dealt with.

use std::collections::VecDeque;

use crate::plan::Key;
use crate::store::{Leg, Place, Step, Walk};

/// A walk by the clock column meets the keys in no order of theirs: so many steps, so many bytes of keys, or
/// as many rows as the tick will deal with, are gathered and sorted before the first batch of them.
const GATHERED_STEPS: usize = 50;
const GATHERED_BYTES: usize = 8 << 20;

/// A walk in hand. It begins where the last one was cut, goes round once and ends there.
#[derive(Debug)]
pub(super) struct Course {
    leg: Leg,
    began_at: Option<Place>,
    searching: bool,
    /// Nominated and not yet in a batch: at most one gathering and one batch.
    queue: VecDeque<Key>,
    is_sorted: bool,
    /// What was gathered since the queue was last empty.
    steps: usize,
    bytes: usize,
    /// The most rows to gather.
    most: usize,
    /// Everything up to here is dealt with.
    position: Option<Place>,
}

impl Course {
    /// From the start, or from where the last walk in the same order was cut.
    pub fn new(walk: Walk, position: Option<&(Walk, Place)>, without_referenced: bool, most: usize) -> Self {
        let began_at = position.filter(|(of, _)| *of == walk).map(|(_, place)| place.clone());
        Self {
            leg: Leg { walk, after: began_at.clone(), until: None, without_referenced },
            position: began_at.clone(),
            began_at,
            searching: true,
            queue: VecDeque::new(),
            is_sorted: true,
            steps: 0,
            bytes: 0,
            most,
        }
    }

    /// What the next step of the search should read; nothing once a batch of so many rows should be made.
    pub fn wanted(&self, rows: usize) -> Option<&Leg> {
        (self.searching && !self.is_full(rows)).then_some(&self.leg)
    }

    fn is_full(&self, rows: usize) -> bool {
        match self.leg.walk {
            Walk::Keys => self.queue.len() >= rows,
            Walk::Clock => {
                let is_enough = self.steps >= GATHERED_STEPS
                    || self.bytes >= GATHERED_BYTES
                    || self.queue.len() >= self.most;
                !self.queue.is_empty() && is_enough
            }
        }
    }

    /// Take what a step found.
    pub fn found(&mut self, step: Step) {
        self.steps += 1;
        self.bytes += step.nominated.iter().map(Key::size).sum::<usize>();
        self.queue.extend(step.nominated);
        self.is_sorted &= self.leg.walk == Walk::Keys;
        if step.read_to.is_none() {
            self.next_leg();
        } else {
            self.leg.after = step.read_to;
        }
        self.reached();
    }

    /// A walk that began in the middle goes on from the start to where it began.
    fn next_leg(&mut self) {
        match self.began_at.take() {
            Some(began_at) => {
                self.leg.after = None;
                self.leg.until = Some(began_at);
            }
            None => self.searching = false,
        }
    }

    /// The first so many nominated keys, ascending.
    pub fn first(&mut self, rows: usize) -> Vec<Key> {
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.queue.make_contiguous().sort_by(Key::order);
        }
        self.queue.iter().take(rows).cloned().collect()
    }

    /// So many of them are dealt with.
    pub fn dealt_with(&mut self, rows: usize) {
        let last = self.queue.drain(..rows.min(self.queue.len())).next_back();
        if let (Walk::Keys, Some(last)) = (self.leg.walk, last) {
            self.position = Some(Place::new(last.values().to_vec()));
        }
        if self.leg.walk == Walk::Clock {
            self.reached();
        }
    }

    /// The time is used up: with an empty queue, what was read need not be read again.
    pub fn cut(&mut self) {
        self.reached();
    }

    /// With an empty queue everything that was read is dealt with.
    fn reached(&mut self) {
        if self.queue.is_empty() {
            self.position.clone_from(&self.leg.after);
            (self.steps, self.bytes) = (0, 0);
        }
    }

    /// Whether it walks in this order.
    pub fn is_in(&self, walk: Walk) -> bool {
        self.leg.walk == walk
    }

    /// Whether the walk is at its end and everything is dealt with.
    pub fn is_over(&self) -> bool {
        !self.searching && self.queue.is_empty()
    }

    /// Whether nothing nominated is left.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Where the next sweep should go on.
    pub fn position(&self) -> Option<(Walk, Place)> {
        Some((self.leg.walk, self.position.clone()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value;

    fn place(at: i64) -> Place {
        Place::new(vec![Value::Integer(at)])
    }

    fn step(keys: impl IntoIterator<Item = i64>, read_to: Option<i64>) -> Step {
        let key = |at| Key::new(vec![Value::Integer(at)]);
        let nominated = keys.into_iter().map(key).collect();
        Step { nominated, read_to: read_to.map(place), held: std::time::Duration::ZERO }
    }

    #[test]
    fn a_walk_by_clock_stays_where_it_was_until_all_that_it_gathered_is_dealt_with() {
        let mut course = Course::new(Walk::Clock, None, false, usize::MAX);
        for at in 0..GATHERED_STEPS as i64 {
            assert!(course.wanted(1).is_some(), "step {at}");
            course.found(step([100 - at], Some(at)));
        }
        assert!(course.wanted(1).is_none());
        assert!(course.first(100).is_sorted());
        course.dealt_with(GATHERED_STEPS - 1);
        assert_eq!(course.position(), None);
        course.dealt_with(1);
        assert_eq!(course.position(), Some((Walk::Clock, place(GATHERED_STEPS as i64 - 1))));
        assert!(course.wanted(1).is_some());
    }

    #[test]
    fn steps_that_find_nothing_move_the_position_on() {
        let mut course = Course::new(Walk::Clock, None, false, usize::MAX);
        course.found(step([], Some(7)));
        assert_eq!(course.position(), Some((Walk::Clock, place(7))));
    }

    #[test]
    fn a_place_of_another_walk_is_forgotten() {
        let position = (Walk::Keys, place(7));
        let began =
            |walk| Course::new(walk, Some(&position), false, usize::MAX).wanted(1).unwrap().after.clone();
        assert_eq!(began(Walk::Keys), Some(place(7)));
        assert_eq!(began(Walk::Clock), None);
    }

    #[test]
    fn a_cut_walk_goes_round_once() {
        let mut course = Course::new(Walk::Clock, Some(&(Walk::Clock, place(7))), false, usize::MAX);
        course.found(step([1], None));
        let leg = course.wanted(1).unwrap().clone();
        assert_eq!((leg.after, leg.until), (None, Some(place(7))));
        course.found(step([0], None));
        assert!(course.wanted(1).is_none());
        assert_eq!(course.first(9).len(), 2);
        assert!(course.first(9).is_sorted());
    }
}
