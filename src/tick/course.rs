//! Where a sweep is: its walk, what it nominated, and how far everything is dealt with.

use std::collections::VecDeque;

use crate::plan::Key;
use crate::store::{Leg, Place, Step, Walk};

/// A walk in hand. It begins where the last one was cut, goes round once and ends there.
#[derive(Debug)]
pub(super) struct Course {
    leg: Leg,
    began_at: Option<Place>,
    searching: bool,
    /// Nominated and not yet in a batch: at most what one step finds, and one batch.
    queue: VecDeque<Key>,
    is_sorted: bool,
    /// Everything up to here is dealt with.
    position: Option<Place>,
}

impl Course {
    /// From the start, or from where the last walk in the same order was cut.
    pub fn new(walk: Walk, position: Option<&(Walk, Place)>, without_referenced: bool) -> Self {
        let began_at = position.filter(|(of, _)| *of == walk).map(|(_, place)| place.clone());
        Self {
            leg: Leg { walk, after: began_at.clone(), until: None, without_referenced },
            position: began_at.clone(),
            began_at,
            searching: true,
            queue: VecDeque::new(),
            is_sorted: true,
        }
    }

    /// What the next step of the search should read; nothing once a batch of so many rows should be made.
    pub fn wanted(&self, rows: usize) -> Option<&Leg> {
        (self.searching && !self.is_full(rows)).then_some(&self.leg)
    }

    /// A walk by the clock column meets the keys in no order of theirs. What one step finds is sorted and dealt with
    /// before the next: its rows lie together in the index, and to sort more of them spreads each batch over more
    /// pages of it than it saves elsewhere (measured with random keys: 1.9 pages a row for 100,000 sorted at once,
    /// 1.4 for 2,000).
    fn is_full(&self, rows: usize) -> bool {
        match self.leg.walk {
            Walk::Keys => self.queue.len() >= rows,
            Walk::Clock => !self.queue.is_empty(),
        }
    }

    /// Take what a step found.
    pub fn found(&mut self, step: Step) {
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
    fn a_walk_by_clock_stays_where_it_was_until_all_that_a_step_found_is_dealt_with() {
        let mut course = Course::new(Walk::Clock, None, false);
        course.found(step([3, 1, 2], Some(7)));
        assert!(course.wanted(100).is_none());
        assert!(course.first(100).is_sorted());
        course.dealt_with(2);
        assert_eq!(course.position(), None);
        course.dealt_with(1);
        assert_eq!(course.position(), Some((Walk::Clock, place(7))));
        assert!(course.wanted(1).is_some());
    }

    #[test]
    fn steps_that_find_nothing_move_the_position_on() {
        let mut course = Course::new(Walk::Clock, None, false);
        course.found(step([], Some(7)));
        assert_eq!(course.position(), Some((Walk::Clock, place(7))));
    }

    #[test]
    fn a_place_of_another_walk_is_forgotten() {
        let position = (Walk::Keys, place(7));
        let began = |walk| Course::new(walk, Some(&position), false).wanted(1).unwrap().after.clone();
        assert_eq!(began(Walk::Keys), Some(place(7)));
        assert_eq!(began(Walk::Clock), None);
    }

    #[test]
    fn a_cut_walk_goes_round_once() {
        let mut course = Course::new(Walk::Clock, Some(&(Walk::Clock, place(7))), false);
        course.found(step([1], None));
        course.dealt_with(1);
        let leg = course.wanted(1).unwrap().clone();
        assert_eq!((leg.after, leg.until), (None, Some(place(7))));
        assert!(!course.is_over());
        course.found(step([0], None));
        assert!(course.wanted(1).is_none() && !course.is_over());
        course.dealt_with(1);
        assert!(course.is_over());
    }
}
