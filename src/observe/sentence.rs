//! How things stand, in one line: what `systemctl status` shows.

use super::status::{Status, TableStatus};

impl Status {
    /// The databases, what is wrong with them, and what was done.
    pub(super) fn sentence(&self) -> String {
        let databases = self.databases.values();
        let down = databases.clone().filter(|database| database.up == Some(false)).count();
        let tables = || databases.clone().flat_map(|database| database.tables.values());
        let held = tables().filter(|table| is_held(table)).count();
        let abandoned: u64 = tables().filter_map(abandoned).sum();
        let deleted: u64 = tables().map(|table| table.deleted_total).sum();
        let mut parts = vec![many(self.databases.len() as u64, "database")];
        let troubles = [(down as u64, "down"), (held as u64, "held")];
        parts.extend(troubles.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        parts.push(format!("{} deleted since the start", many(deleted, "row")));
        if abandoned > 0 {
            parts.push(format!("{abandoned} abandoned"));
        }
        parts.join("; ")
    }
}

fn is_held(table: &TableStatus) -> bool {
    table.last_sweep.as_ref().is_some_and(|sweep| sweep.held.is_some())
}

fn abandoned(table: &TableStatus) -> Option<u64> {
    table.census.as_ref()?.abandoned.as_ref()?.older_than.get("0s").copied()
}

fn many(count: u64, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use crate::observe::sample;

    #[test]
    fn nothing_wrong_is_not_mentioned() {
        assert_eq!(sample::observer().sentence(), "1 database; 0 rows deleted since the start");
    }
}
