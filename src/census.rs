//! The counts by state, apart from the sweep: on their own interval, on their own read-only connection.

use crate::plan::{DatabaseName, Event, Failure, FailureKind, Rule, UnixTime, schema_failure};
use crate::store::Store;

/// Count every table of a database once and tell of each. Gives the failure, when it failed as a whole.
pub async fn census<S: Store>(
    database: &DatabaseName,
    now: UnixTime,
    store: &mut S,
    rules: &[Rule],
    tell: &(dyn Fn(&Event) + Sync),
) -> Option<Failure> {
    let mut failures = Vec::new();
    match store.inspect(rules).await {
        Ok(facts) => {
            for (rule, facts) in rules.iter().zip(&facts) {
                let counts = match schema_failure(rule, facts) {
                    Some(failure) => Err(failure),
                    None => store.count(rule, now).await,
                };
                failures.extend(counts.as_ref().err().cloned());
                if failures.last().is_some_and(|failure| failure.kind() == FailureKind::Interrupted) {
                    break;
                }
                let table = rule.label.clone();
                tell(&Event::Counted { database: database.clone(), table, counts });
            }
        }
        Err(failure) => failures = vec![failure; rules.len()],
    }
    if failures.iter().any(|failure| failure.kind() == FailureKind::Interrupted) {
        // Told to stop: what was not counted is no failure.
        return failures.pop();
    }
    let failed_as_a_whole = failures.len() == rules.len();
    let space = match failures.into_iter().next().filter(|_| failed_as_a_whole) {
        Some(failure) => Err(failure),
        None => store.space().await,
    };
    let failed = space.as_ref().err().cloned();
    tell(&Event::CensusTaken { database: database.clone(), at: now, space });
    failed
}
