//! How things stand, in one line: what `systemctl status` shows.

use super::status::{Status, TableStatus};

impl Status {
    /// What is wrong, and what was done.
    pub(super) fn sentence(&self) -> String {
        let databases = self.databases.values();
        let tables = || databases.clone().flat_map(|database| database.tables.values());
        let down = databases.clone().filter(|database| database.up == Some(false)).count() as u64;
        let held = tables().filter(|table| table.is_held()).count() as u64;
        let abandoned: u64 = tables().filter_map(TableStatus::abandoned).sum();
        let deleted: u64 = tables().map(|table| table.deleted_total).sum();
        let mut parts = vec![many(self.databases.len() as u64, "database")];
        parts.extend((down > 0).then(|| format!("{down} down")));
        parts.extend((held > 0).then(|| format!("{} held", many(held, "table"))));
        parts.push(format!("{} deleted since the start", many(deleted, "row")));
        parts.extend((abandoned > 0).then(|| format!("{abandoned} abandoned")));
        parts.extend(self.config_refused.then(|| "the config that was last read is refused".into()));
        parts.join("; ")
    }
}

fn many(count: u64, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use crate::observe::sample::{self, failure, held, ticked};
    use crate::plan::HoldReason;

    #[test]
    fn nothing_wrong_is_not_mentioned() {
        assert_eq!(sample::observer().sentence(), "1 database; 0 rows deleted since the start");
    }

    #[test]
    fn what_needs_a_person_is() {
        let observer = sample::observer();
        observer.tell(&held(HoldReason::Clock));
        observer.tell(&ticked(Some(failure("gone"))));
        observer.config_read(None);
        let sentence = "1 database; 1 down; 1 table held; 0 rows deleted since the start; \
                        the config that was last read is refused";
        assert_eq!(observer.sentence(), sentence);
    }
}
