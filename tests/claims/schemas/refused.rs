//! Tables that cannot be swept, or not under this config: each is refused for its reason, and stays as it is.

use serde_json::json;

use super::{NOW, content};
use crate::support::frozen::keysweep_frozen_at;
use crate::support::{Answer, Database, Journal};

/// What an attempt says, with the rows untouched.
fn attempt(ddl: &str, config: &str) -> Answer {
    let database = Database::new(Journal::Wal, ddl);
    let before = content(&database.path());
    let config = database.config(config);
    let answer = keysweep_frozen_at(NOW, "UTC", ["--config", config.to_str().unwrap(), "sweep", "--json"]);
    assert_eq!(content(&database.path()), before, "{answer:?}");
    answer
}

fn is_held(ddl: &str, config: &str, reason: &str, telling: &[&str]) {
    let answer = attempt(ddl, config);
    let line = &answer.json_lines()[0];
    assert_eq!((answer.status, &line["held"]), (1, &json!(reason)), "{answer:?}");
    let error = line["error"].as_str().unwrap();
    assert!(telling.iter().all(|telling| error.contains(telling)), "{telling:?} is not in: {error}");
}

fn is_no_config(config: &str, telling: &str) {
    let answer = attempt("CREATE TABLE other(id);", config);
    assert_eq!(answer.status, 2, "{answer:?}");
    assert!(answer.stderr.contains(telling), "{telling:?} is not in: {answer:?}");
}

/// maragudk/goqite schema.sql, SQLite STRICT: an acknowledged message is deleted, every row is live.
const GOQITE: &str = "CREATE TABLE goqite(id TEXT PRIMARY KEY DEFAULT ('m_' || lower(hex(randomblob(16)))),
      created TEXT NOT NULL, updated TEXT NOT NULL, queue TEXT NOT NULL, body BLOB NOT NULL, timeout TEXT NOT NULL,
      received INTEGER NOT NULL DEFAULT 0) STRICT;
    INSERT INTO goqite VALUES ('m_1', '2006-09-21T12:00:00.000Z', '2006-09-21T12:00:00.000Z', 'q', x'00',
      '2006-09-21T12:00:00.000Z', 3);";

#[test]
fn a_queue_without_a_done_state_is_held_until_the_config_says_what_done_is() {
    let lines = "[[database.table]]\ntable = 'goqite'\nexpires = { column = 'timeout', unit = 'iso8601' }";
    is_held(GOQITE, lines, "schema", &["has no column `status`", "`created`", "`timeout`"]);
}

#[test]
fn a_queue_without_a_done_state_can_be_counted_and_is_not_swept() {
    let lines = "enabled = false\n[[database.table]]\ntable = 'goqite'\nkey = 'id'\ndone = 'every-row'";
    let answer = attempt(GOQITE, lines);
    assert_eq!((answer.status, &answer.json_lines()[0]["stop"]), (0, &json!("disabled")), "{answer:?}");
    let enabled = lines.replace("enabled = false", "");
    is_no_config(&enabled, "nothing tells when a row was recorded");
}

/// brandur/rocket-rides-atomic schema.sql, PostgreSQL: a deletion would change another table.
#[test]
fn a_table_that_another_one_refers_to_is_held() {
    let ddl = "CREATE TABLE idempotency_keys(id INTEGER PRIMARY KEY, created_at TEXT, recovery_point TEXT);
        CREATE TABLE rides(id INTEGER PRIMARY KEY,
          idempotency_key_id INTEGER REFERENCES idempotency_keys(id) ON DELETE SET NULL);
        INSERT INTO idempotency_keys VALUES (1, '2006-09-20 12:00:00', 'finished'), (2, '2006-09-20 12:00:00', 'finished');
        INSERT INTO rides VALUES (1, 1);";
    let lines = "[[database.table]]
        table = 'idempotency_keys'
        key = 'id'
        done = { column = 'recovery_point', in = ['finished'] }
        pending = { column = 'recovery_point', in = ['started'] }
        since = { column = 'created_at', unit = 'iso8601' }
        retention = '24h'";
    is_held(ddl, lines, "references", &["idempotency_keys", "rides"]);
}

/// n8n-io/n8n, SQLite: the data of an execution lies in a table of its own.
#[test]
fn a_table_whose_rows_own_others_is_held() {
    let ddl = "CREATE TABLE execution_entity(id INTEGER PRIMARY KEY, status TEXT, stoppedAt TEXT);
        CREATE TABLE execution_data(executionId INTEGER PRIMARY KEY REFERENCES execution_entity(id) ON DELETE CASCADE);
        INSERT INTO execution_entity VALUES (1, 'success', '2006-09-20 12:00:00');
        INSERT INTO execution_data VALUES (1);";
    let lines = "[[database.table]]
        table = 'execution_entity'
        key = 'id'
        done = { column = 'status', in = ['success'] }
        pending = { column = 'status', in = ['running'] }
        since = { column = 'stoppedAt', unit = 'iso8601' }
        retention = '24h'";
    is_held(ddl, lines, "references", &["execution_data"]);
}

/// alphagov/pay-connector, PostgreSQL: that every row is done is a choice to be made aloud.
#[test]
fn a_table_without_a_state_column_is_held_until_the_config_says_that_every_row_is_done() {
    let ddl = "CREATE TABLE idempotency(id INTEGER PRIMARY KEY, key TEXT UNIQUE, created_date TEXT);
        INSERT INTO idempotency VALUES (1, 'a', '2006-09-20 12:00:00');";
    let lines = "[[database.table]]
        table = 'idempotency'
        key = 'key'
        since = { column = 'created_date', unit = 'iso8601' }
        retention = '24h'";
    is_held(ddl, lines, "schema", &["no column `status`"]);
}

/// sabiraka1/crypto-ai-bot, SQLite: nothing but the config can say what an integer counts.
#[test]
fn a_clock_column_without_a_unit_is_no_config() {
    let lines = "[[database.table]]
        table = 'idempotency'
        key = 'key'
        done = 'every-row'
        expires = { column = 'expires_at' }";
    is_no_config(lines, "`unit` is missing");
}

/// laravel/framework batches.stub: beside an age nothing but the retention keeps a row.
#[test]
fn an_age_without_a_retention_is_no_config() {
    let lines = "[[database.table]]
        table = 'job_batches'
        key = 'id'
        done = { column = 'finished_at', is = 'not null' }
        since = { column = 'finished_at', unit = 'unix_s' }";
    is_no_config(lines, "a retention above 0 must be set");
}

/// JasperFx/wolverine, PostgreSQL: half of the key is not unique.
#[test]
fn half_of_a_key_is_held() {
    let ddl =
        "CREATE TABLE wolverine_incoming_envelopes(id TEXT, received_at TEXT, status TEXT, keep_until TEXT,
          PRIMARY KEY(id, received_at));
        INSERT INTO wolverine_incoming_envelopes VALUES ('e', 'a', 'Handled', '2006-01-01 00:00:00+00');";
    let lines = "[[database.table]]
        table = 'wolverine_incoming_envelopes'
        key = 'id'
        done = { column = 'status', in = ['Handled'] }
        pending = { column = 'status', in = ['Incoming'] }
        expires = { column = 'keep_until', unit = 'iso8601' }";
    is_held(ddl, lines, "schema", &["key `id` is not unique"]);
}

/// dotnetcore/CAP, PostgreSQL: a name is what the schema spells, case and all.
#[test]
fn a_column_in_another_case_is_held_and_named() {
    let ddl = r#"CREATE TABLE "received"("Id" INTEGER PRIMARY KEY, "StatusName" TEXT, "ExpiresAt" TEXT);
        INSERT INTO "received" VALUES (1, 'Succeeded', '2006-01-01 00:00:00');"#;
    let lines = "[[database.table]]
        table = 'received'
        key = 'Id'
        done = { column = 'statusname', in = ['Succeeded'] }
        pending = { column = 'statusname', in = ['Scheduled'] }
        expires = { column = 'ExpiresAt', unit = 'iso8601' }";
    is_held(ddl, lines, "schema", &["no column `statusname`", "`StatusName`"]);
}
