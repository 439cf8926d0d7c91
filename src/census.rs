//! The counts by state, apart from the sweep: on their own interval, on their own read-only connection.

use crate::plan::{
    Counts, DatabaseName, Event, Failure, FailureKind, Rule, RuleBook, TableFacts, UnixTime, schema_failure,
};
use crate::store::Store;

/// Count every table of a database once and tell of each. Gives the failure, when it failed as a whole.
pub async fn census<S: Store>(
    database: &DatabaseName,
    now: UnixTime,
    store: &mut S,
    book: &RuleBook,
    tell: &(dyn Fn(&Event) + Sync),
) -> Option<Failure> {
    let mut failures = Vec::new();
    let failed_as_a_whole = match store.look(book).await {
        Ok(looked) => {
            for group in by_table(&looked) {
                let counts = count(&group, now, store).await;
                if counts.as_ref().is_err_and(|failure| failure.kind() == FailureKind::Interrupted) {
                    return counts.err();
                }
                let each = match counts {
                    Ok(counts) => counts.into_iter().map(Ok).collect(),
                    Err(failure) => vec![Err(failure); group.len()],
                };
                for ((rule, _), counts) in group.iter().zip(each) {
                    failures.extend(counts.as_ref().err().cloned());
                    let (database, table) = (database.clone(), rule.label.clone());
                    tell(&Event::Counted { database, table, counts });
                }
            }
            failures.len() == looked.len()
        }
        Err(failure) => {
            failures.push(failure);
            true
        }
    };
    if failures.iter().any(|failure| failure.kind() == FailureKind::Interrupted) {
        // Told to stop: what was not counted is no failure.
        return failures.pop();
    }
    let space = match failures.into_iter().next().filter(|_| failed_as_a_whole) {
        Some(failure) => Err(failure),
        None => store.space().await,
    };
    let failed = space.as_ref().err().cloned();
    tell(&Event::CensusTaken { database: database.clone(), space });
    failed
}

type Looked<'a> = (&'a Rule, &'a TableFacts);

/// The rules of each table together, because one pass counts them all.
fn by_table(looked: &[(Rule, TableFacts)]) -> Vec<Vec<Looked<'_>>> {
    let mut groups: Vec<Vec<Looked<'_>>> = Vec::new();
    for (rule, facts) in looked {
        let same = groups.iter_mut().find(|group| group.iter().any(|(other, _)| other.table == rule.table));
        match same {
            Some(group) => group.push((rule, facts)),
            None => groups.push(vec![(rule, facts)]),
        }
    }
    groups
}

/// The counts of each rule of one table, in their order.
async fn count<S: Store>(group: &[Looked<'_>], now: UnixTime, store: &mut S) -> Result<Vec<Counts>, Failure> {
    if let Some(failure) = group.iter().find_map(|(rule, facts)| schema_failure(rule, facts)) {
        return Err(failure);
    }
    let rules: Vec<Rule> = group.iter().map(|(rule, _)| (*rule).clone()).collect();
    store.count(&rules, now).await
}
