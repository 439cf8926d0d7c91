//! What was deleted and what was left in the last hours, for a plot: bounded, and told by events.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::plan::{DatabaseName, Event, TableLabel};

/// Six hours of five minutes each.
pub(super) const SPANS: usize = 72;
pub(super) const SPAN: Duration = Duration::from_secs(300);

/// What happened to a table in one span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    /// Rows deleted.
    pub(super) deleted: u32,
    /// Expired rows at the last census in it, where there was one.
    pub(super) expired: Option<u32>,
}

/// The past of one table, by its label: the last span is the present one.
pub(super) type Past = BTreeMap<String, Vec<Span>>;

/// The past of every table of which something was told. Spans count from the start, by a clock that
/// nobody sets: a wall clock that jumps tears no hole.
pub(super) struct Histories {
    begun: Instant,
    databases: HashMap<DatabaseName, HashMap<TableLabel, History>>,
}

#[derive(Default)]
struct History {
    spans: VecDeque<Span>,
    /// Which span the last one is, counted from the start.
    latest: u64,
}

impl Histories {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), databases: HashMap::new() }
    }

    pub(super) fn tell(&mut self, event: &Event) {
        self.tell_at(self.present(), event);
    }

    /// Forget every table of a database but these.
    pub(super) fn keep(&mut self, database: &DatabaseName, keep: impl Fn(&TableLabel) -> bool) {
        if let Some(tables) = self.databases.get_mut(database) {
            tables.retain(|label, _| keep(label));
        }
    }

    pub(super) fn forget(&mut self, database: &DatabaseName) {
        self.databases.remove(database);
    }

    pub(super) fn past(&self, database: &str) -> Past {
        self.past_at(self.present(), database)
    }

    fn present(&self) -> u64 {
        self.begun.elapsed().as_secs() / SPAN.as_secs()
    }

    fn tell_at(&mut self, present: u64, event: &Event) {
        match event {
            Event::BatchCommitted { database, table, deleted, .. } => {
                let span = self.span(present, database, table);
                span.deleted = span.deleted.saturating_add(bounded(*deleted));
            }
            Event::Counted { database, table, counts: Ok(counts) } => {
                self.span(present, database, table).expired = Some(bounded(counts.expired));
            }
            _ => {}
        }
    }

    /// The names are shared texts: to clone one copies a pointer.
    fn span(&mut self, present: u64, database: &DatabaseName, table: &TableLabel) -> &mut Span {
        let tables = self.databases.entry(database.clone()).or_default();
        tables.entry(table.clone()).or_default().at(present)
    }

    fn past_at(&self, present: u64, database: &str) -> Past {
        let found = self.databases.iter().find(|(name, _)| name.as_str() == database);
        let tables = found.into_iter().flat_map(|(_, tables)| tables);
        tables.map(|(label, history)| (label.as_str().to_owned(), history.until(present))).collect()
    }
}

impl History {
    fn at(&mut self, present: u64) -> &mut Span {
        let missing = if self.spans.is_empty() { 1 } else { present.saturating_sub(self.latest) };
        let missing = missing.min(SPANS as u64) as usize;
        self.spans.extend(std::iter::repeat_n(Span::default(), missing));
        self.latest = self.latest.max(present);
        let surplus = self.spans.len().saturating_sub(SPANS);
        self.spans.drain(..surplus);
        let last = self.spans.len() - 1;
        &mut self.spans[last]
    }

    /// Spans in which nothing was told are there too.
    fn until(&self, present: u64) -> Vec<Span> {
        let silent = present.saturating_sub(self.latest).min(SPANS as u64) as usize;
        let told = self.spans.iter().copied();
        let all: Vec<_> = told.chain(std::iter::repeat_n(Span::default(), silent)).collect();
        all[all.len().saturating_sub(SPANS)..].to_vec()
    }
}

fn bounded(rows: u64) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::sample::*;
    use crate::plan::{Counts, Skips};

    fn told(events: &[(u64, Event)]) -> Histories {
        let mut histories = Histories::new();
        events.iter().for_each(|(present, event)| histories.tell_at(*present, event));
        histories
    }

    fn expired(rows: u64) -> Event {
        counted(Ok(Counts { expired: rows, ..counts(0) }))
    }

    #[test]
    fn what_is_deleted_adds_up_within_a_span_and_the_last_census_of_it_counts() {
        let batch = |rows| batch(rows, Skips::default());
        let histories =
            told(&[(3, batch(40)), (3, expired(9)), (3, batch(2)), (3, expired(7)), (5, batch(1))]);
        let past = &histories.past_at(6, "app")["keys"];
        let span = |deleted, expired| Span { deleted, expired };
        assert_eq!(past, &[span(42, Some(7)), span(0, None), span(1, None), span(0, None)]);
    }

    #[test]
    fn it_holds_six_hours_and_no_more_however_long_the_silence() {
        let last = 10 * SPANS as u64;
        let histories = told(&[(0, expired(9)), (last, expired(5))]);
        let past = &histories.past_at(last, "app")["keys"];
        assert_eq!(past.len(), SPANS);
        assert_eq!(past.iter().filter_map(|span| span.expired).collect::<Vec<_>>(), [5]);
        let later = &histories.past_at(last + 9 * SPANS as u64, "app")["keys"];
        assert_eq!(later, &vec![Span::default(); SPANS]);
    }

    #[test]
    fn what_is_no_longer_watched_is_forgotten() {
        let mut histories = told(&[(0, expired(9))]);
        histories.keep(&database("app"), |label| label.as_str() != "keys");
        assert!(histories.past_at(0, "app").is_empty());
        let mut histories = told(&[(0, expired(9))]);
        histories.forget(&database("app"));
        assert!(histories.past_at(0, "app").is_empty());
    }
}
