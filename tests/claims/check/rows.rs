//! What the rows of a table show.

use super::Checked;
use crate::support::database::KEY_TABLE;
use crate::support::{Database, Journal, keysweep};

/// A row, the words of its finding, the words of the remedy, and what an owner does about it.
struct Case {
    row: &'static str,
    what: &'static str,
    remedy: &'static str,
    mend: &'static str,
}

const CASES: [Case; 5] = [
    Case {
        row: "(NULL, 'v1', 'done', NULL, unixepoch())",
        what: "1 rows have NULL in a key column",
        remedy: "let the application give them one",
        mend: "UPDATE keys SET id = 'x' WHERE id IS NULL;",
    },
    Case {
        row: "('x', 'v1', 'DONE', NULL, unixepoch())",
        what: "1 rows are in a state that neither `done` nor `pending` names",
        remedy: "add their value to `done`",
        mend: "UPDATE keys SET status = 'done';",
    },
    Case {
        row: "('x', 'v1', 'done', NULL, NULL)",
        what: "1 rows have NULL in the clock column",
        remedy: "write the instant",
        mend: "UPDATE keys SET expires = unixepoch() WHERE expires IS NULL;",
    },
    Case {
        row: "('x', 'v1', 'done', NULL, 'soon')",
        what: "1 rows have a clock column that cannot be read in its unit",
        remedy: "`unit`",
        mend: "UPDATE keys SET expires = unixepoch() WHERE expires = 'soon';",
    },
    Case {
        row: "('x', 'v1', 'pending', NULL, unixepoch() - 60)",
        what: "1 pending rows are abandoned",
        remedy: "keysweep pending",
        mend: "UPDATE keys SET status = 'done';",
    },
];

#[test]
fn each_row_that_stays_for_ever_is_advised_on_until_it_is_mended() {
    for case in CASES {
        let table = KEY_TABLE.replace("expires REAL NOT NULL", "expires REAL");
        let good = "('a', 'v1', 'done', NULL, unixepoch()), ('b', 'v1', 'done', NULL, unixepoch())";
        let database =
            Database::new(Journal::Wal, &format!("{table} INSERT INTO keys VALUES {good}, {};", case.row));
        let checked = Checked::of(&database, "");
        let (severity, _, remedy) = checked.one(case.what);
        assert_eq!((checked.status, severity.as_str(), checked.all().len()), (0, "advice", 1), "{checked:?}");
        assert!(remedy.contains(case.remedy), "{remedy}");
        database.shell(case.mend);
        Checked::of(&database, "").assert_fine();
    }
}

#[test]
fn a_number_that_may_come_back_is_advised_on_unless_the_engine_remembers_it() {
    let rule = "[[database.table]]\ntable = 't'\nkey = 'id'\ndone = 'every-row'\n\
                since = { column = 'at', unit = 'unix_s' }\nretention = '7d'\n";
    let columns = |key: &str| Database::new(Journal::Wal, &format!("CREATE TABLE t({key}, at);"));
    let checked = Checked::of(&columns("id INTEGER PRIMARY KEY"), rule);
    let (severity, _, remedy) = checked.one("INTEGER PRIMARY KEY without AUTOINCREMENT");
    assert_eq!((checked.status, severity.as_str()), (0, "advice"));
    assert!(remedy.contains("create the table with AUTOINCREMENT"), "{remedy}");
    for key in [
        "id INTEGER PRIMARY KEY AUTOINCREMENT",
        "id INT PRIMARY KEY",
        "id TEXT PRIMARY KEY /* autoincrement */",
    ] {
        Checked::of(&columns(key), rule).assert_fine();
    }
}

/// 50 rows that become due within the hour, and 50 that do not.
fn fifty_an_hour() -> Database {
    Database::new(
        Journal::Delete,
        &format!(
            "{KEY_TABLE} INSERT INTO keys WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
             SELECT 'k' || n, 'v1', 'done', NULL, unixepoch() + CASE WHEN n <= 50 THEN 1800 ELSE 90000 END FROM c;"
        ),
    )
}

#[test]
fn a_sweep_that_cannot_keep_up_is_advised_on_until_what_it_names_is_raised() {
    let database = fifty_an_hour();
    // 50 ticks of 100 ms an hour, half of it locked, 10 ms a batch: 250 batches of one row.
    let slow = "every = '72s'\nbudget = '100ms'\nbatch = 1\nshare = 0.05\n";
    let checked = Checked::of(&database, slow);
    let (severity, what, remedy) = checked.one("become due within the next hour");
    assert_eq!((checked.status, severity.as_str()), (0, "advice"));
    assert!(what.starts_with("50 rows") && what.contains("about 25 can be deleted"), "{what}");
    for key in ["every", "budget", "batch", "share"] {
        assert!(remedy.contains(&format!("`{key}`")), "{remedy}");
    }
    for raised in ["every = '1s'", "budget = '1s'", "batch = 100", "share = 1.0"] {
        let key = raised.split(' ').next().unwrap();
        let kept = slow.lines().filter(|line| !line.starts_with(key)).collect::<Vec<_>>().join("\n");
        Checked::of(&database, &format!("{kept}\n{raised}\n")).assert_fine();
    }
}

#[test]
fn the_config_is_shown_as_it_is_understood() {
    let database = Database::with_keys(Journal::Wal, []);
    let config = database.config("schedule = '*/5 * * * *'\nbudget = '90s'\nretention = '72h'\nbatch = 7\n");
    let answer = keysweep(["--config", config.to_str().unwrap(), "check"]);
    for words in [
        "on schedule `0 */5 * * * *` (UTC)",
        "at most for 90s",
        "up to 7 rows",
        "25.0 % of the time",
        "waits 2s",
        "counted every 1m",
        "retention 3d past expires column `expires` (unix_s): the cutoff is 20",
    ] {
        assert!(answer.stdout.contains(words), "{words:?} in {answer:?}");
    }
}

#[test]
fn what_hangs_on_a_table_is_a_hold_until_it_is_allowed_and_then_its_index_is_advised() {
    let database = Database::new(
        Journal::Wal,
        &format!("{KEY_TABLE} CREATE TABLE receipts(id INTEGER PRIMARY KEY, key TEXT REFERENCES keys(id));"),
    );
    let held = Checked::of(&database, "");
    assert_eq!((held.status, held.one("referenced by foreign keys of receipts").0.as_str()), (1, "hold"));
    let skip = "[[database.table]]\nreferences = 'skip'\n";
    let allowed = Checked::of(&database, skip);
    let (severity, _, remedy) = allowed.one("no index finds the rows of `receipts`");
    assert_eq!((allowed.status, severity.as_str()), (0, "advice"));
    database.shell(&format!("{remedy};"));
    Checked::of(&database, skip).assert_fine();
}
