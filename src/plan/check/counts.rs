//! What the counts of a table show.

use super::super::{Counts, Finding};

/// What an owner would want to know of a table's counts. `undated` of the unreadable rows hold NULL.
#[must_use]
pub fn count_findings(counts: &Counts, undated: u64) -> Vec<Finding> {
    let unknown = counts.unfinished.map_or(0, |rows| rows.unknown);
    let abandoned = counts.abandoned.as_ref().map_or(0, |abandoned| abandoned.older_than[0]);
    let unreadable = counts.unreadable.saturating_sub(undated);
    let said = [
        (
            unknown,
            "rows are in a state that neither `done` nor `pending` names",
            "they are never deleted; if they are finished, add their value to `done`",
        ),
        (
            undated,
            "rows have NULL in the clock column",
            "they never expire; let the application write the instant when it finishes a row",
        ),
        (
            unreadable,
            "rows have a clock column that cannot be read in its unit",
            "they never expire; check `unit`, and what else the application writes there; values that mean \"never\" belong in `never`",
        ),
        (
            abandoned,
            "pending rows are abandoned",
            "keysweep never deletes them; `keysweep pending` lists them for whoever must settle them",
        ),
    ];
    let seen = said.into_iter().filter(|(rows, ..)| *rows > 0);
    seen.map(|(rows, what, remedy)| Finding::advice(&format!("{rows} {what}"), remedy)).collect()
}
