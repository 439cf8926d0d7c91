//! The closer look of `check` and `explain`.

use super::Sqlite;
use super::around::surroundings;
use super::census::Pass;
use super::working::Working;
use super::{sample, trial};
use crate::plan::{Failure, Key, Predicate, Rule, Surroundings, Survey, UnixTime};
use crate::store::{Examine, Row};

/// What one look at a table's schema and a few of its rows gives.
struct Glance {
    sample: Vec<crate::plan::Sampled>,
    reuses_numbers: bool,
    fitting_index: Option<String>,
}

impl Examine for Sqlite {
    async fn surroundings(&mut self) -> Result<Surroundings, Failure> {
        Ok(self.lane.call("look at the file", surroundings).await?.0)
    }

    async fn survey(&mut self, rule: &Rule, now: UnixTime, candidates: &[String]) -> Result<Survey, Failure> {
        let known = self.known(rule);
        let has_index = known.by_clock.is_some();
        let candidates = if has_index { Vec::new() } else { candidates.to_vec() };
        let (owned, rowid) = (rule.clone(), known.rowid.clone());
        let glance = move |working: &Working| {
            working.read("look at a table", |connection| {
                Ok(Glance {
                    sample: sample::sample(connection, &owned, rowid.as_deref())?,
                    reuses_numbers: trial::reuses_numbers(connection, &owned)?,
                    fitting_index: trial::first_that_helps(connection, &owned, &candidates)?,
                })
            })
        };
        let glance = self.lane.call("look at a table", glance).await?.0;
        let every = Predicate::All(Vec::new());
        let flags = vec![every, rule.has_key().negated(), rule.is_undated(), rule.is_due_in_an_hour(now)];
        let journal = self.lane.call("read the database", |working| Ok(working.open.journal)).await?.0;
        let pass = Pass::of(rule, flags, now, known.rowid.as_deref(), journal);
        let sums = self.lane.walk("count", pass).await?.sums();
        let sum = |at: usize| sums.get(at).copied().unwrap_or(0);
        Ok(Survey {
            rows: sum(0),
            keyless: sum(1),
            undated: sum(2),
            due_in_an_hour: sum(3),
            sample: glance.sample,
            reuses_numbers: glance.reuses_numbers,
            has_index,
            fitting_index: glance.fitting_index,
        })
    }

    async fn rows(&mut self, rule: &Rule, keys: &[Key]) -> Result<Vec<(Key, Row)>, Failure> {
        let (known, rule, keys) = (self.known(rule), rule.clone(), keys.to_vec());
        let rows = move |working: &Working| {
            working.read("look for a row", |connection| {
                sample::rows(connection, &rule, known.referenced.as_deref(), &keys)
            })
        };
        Ok(self.lane.call("look for a row", rows).await?.0)
    }
}
