//! Tables of idempotency keys, sessions and leases.

use super::{Case, Rows};

pub const CASES: &[&Case] = &[
    &ROCKET_RIDES,
    &PAY_CONNECTOR,
    &TOWER_SESSIONS,
    &TOWER_SESSIONS_AS_DECLARED,
    &CRYPTO_AI_BOT,
    &LEASES,
    &DRIZZLE,
];

/// Without the table that refers to it; with it, see `refused`.
const ROCKET_RIDES: Case = Case {
    name: "idempotency_keys",
    origin: "brandur/rocket-rides-atomic schema.sql, PostgreSQL",
    ddl: "CREATE TABLE idempotency_keys(id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL, last_run_at TIMESTAMP,
            idempotency_key TEXT NOT NULL, locked_at TIMESTAMP, recovery_point TEXT NOT NULL, user_id INTEGER NOT NULL);
          CREATE UNIQUE INDEX keys_by_user ON idempotency_keys(user_id, idempotency_key);",
    config: "[[database.table]]
        table = 'idempotency_keys'
        key = ['user_id', 'idempotency_key']
        done = { column = 'recovery_point', in = ['finished'] }
        pending = { column = 'recovery_point', in = ['started', 'ride_created', 'charge_created'] }
        keep = { column = 'locked_at', is = 'not null' }
        since = { column = 'created_at', unit = 'iso8601' }
        retention = '24h'
        abandoned = { column = 'locked_at', unit = 'iso8601', after = '90s' }",
    rows: &[Rows {
        rule: "idempotency_keys",
        into: "idempotency_keys(created_at, user_id, idempotency_key, recovery_point, locked_at)",
        goes: &[
            (r#"[1,"k"]"#, "'2026-09-20 12:00:00+00', 1, 'k', 'finished', NULL"),
            (r#"[2,"k"]"#, "'2026-09-20 11:59:59.999999+00', 2, 'k', 'finished', NULL"),
        ],
        stays: &[
            "'2026-09-20 12:00:00.000001+00', 3, 'k', 'finished', NULL",
            "'2016-09-20 12:00:00+00', 1, 'K', 'charge_created', NULL",
            "'2016-09-20 12:00:00+00', 4, 'k', 'started', '2016-09-20 12:00:00+00'",
            "'2016-09-20 12:00:00+00', 5, 'k', 'finished', '2016-09-20 12:00:00+00'",
            "'2016-09-20 12:00:00+00', 6, 'k', 'Finished', NULL",
        ],
    }],
    counts: (2, 1, 0),
};

/// No state column: whatever is there is done, which the config has to say.
const PAY_CONNECTOR: Case = Case {
    name: "idempotency",
    origin: "alphagov/pay-connector idempotency/model/IdempotencyEntity.java, PostgreSQL",
    ddl: "CREATE TABLE idempotency(id INTEGER PRIMARY KEY, gateway_account_id INTEGER, key TEXT, created_date TIMESTAMP,
            UNIQUE(gateway_account_id, key));",
    config: "[[database.table]]
        table = 'idempotency'
        key = ['gateway_account_id', 'key']
        done = 'every-row'
        since = { column = 'created_date', unit = 'iso8601' }
        retention = '24h'",
    rows: &[Rows {
        rule: "idempotency",
        into: "idempotency(gateway_account_id, key, created_date)",
        goes: &[(r#"[7,"a"]"#, "7, 'a', '2026-09-20 12:00:00'")],
        stays: &[
            "7, 'b', '2026-09-20 12:00:00.001'",
            "7, 'c', NULL",
            "7, NULL, '2006-09-20 12:00:00'",
            "NULL, 'd', '2006-09-20 12:00:00'",
            "7, 'e', '20 September 2006'",
        ],
    }],
    counts: (0, 0, 2),
};

/// Declared `integer`, and holds text.
const TOWER_SESSIONS: Case = Case {
    name: "tower_sessions",
    origin: "maxcountryman/tower-sessions-stores sqlx-store/src/sqlite_store.rs, SQLite",
    ddl: "CREATE TABLE tower_sessions(id TEXT PRIMARY KEY NOT NULL, data BLOB NOT NULL, expiry_date INTEGER NOT NULL);",
    config: "[[database.table]]
        table = 'tower_sessions'
        key = 'id'
        done = 'every-row'
        expires = { column = 'expiry_date', unit = 'iso8601' }",
    rows: &[Rows {
        rule: "tower_sessions",
        into: "tower_sessions",
        goes: &[
            (r#""a""#, "'a', x'00', '2026-09-21T12:00:00Z'"),
            (r#""b""#, "'b', x'00', '2026-09-21T11:59:59.999999999Z'"),
            (r#""c""#, "'c', x'00', '2026-09-21 13:00:00.5 +01:00:01'"),
        ],
        stays: &[
            "'d', x'00', '2026-09-21T12:00:00.000000001Z'",
            "'e', x'00', 1789992000",
            "'f', x'00', '1789992000'",
            "'g', x'00', ''",
        ],
    }],
    counts: (0, 0, 3),
};

/// Whoever believes the declaration deletes nothing.
const TOWER_SESSIONS_AS_DECLARED: Case = Case {
    name: "tower_sessions as it is declared",
    config: "[[database.table]]
        table = 'tower_sessions'
        key = 'id'
        done = 'every-row'
        expires = { column = 'expiry_date', unit = 'unix_s' }",
    rows: &[Rows {
        rule: "tower_sessions",
        into: "tower_sessions",
        goes: &[],
        stays: &["'a', x'00', '2006-09-21T12:00:00Z'", "'b', x'00', '2026-09-21 11:59:59 +00:00:00'"],
    }],
    counts: (0, 0, 2),
    ..TOWER_SESSIONS
};

const CRYPTO_AI_BOT: Case = Case {
    name: "idempotency",
    origin: "sabiraka1/crypto-ai-bot core/storage/migrations/versions/0003_idempotency.sql, SQLite",
    ddl: "CREATE TABLE idempotency(key TEXT PRIMARY KEY, ttl_seconds INTEGER NOT NULL, expires_at INTEGER NOT NULL);
          CREATE INDEX idempotency_expires ON idempotency(expires_at);",
    config: "[[database.table]]
        table = 'idempotency'
        key = 'key'
        done = 'every-row'
        expires = { column = 'expires_at', unit = 'ms' }
        retention = '1h'",
    rows: &[Rows {
        rule: "idempotency",
        into: "idempotency",
        goes: &[(r#""a""#, "'a', 60, 1789988400000"), (r#""b""#, "'b', 60, 10")],
        stays: &["'c', 60, 1789988400001", "'d', 60, 1789988400", "NULL, 60, 10"],
    }],
    counts: (0, 0, 1),
};

/// Microseconds; what was released or has expired is done, what is active is not.
const LEASES: Case = Case {
    name: "leases",
    origin: "seen in several projects, SQLite",
    ddl: "CREATE TABLE leases(name TEXT COLLATE NOCASE PRIMARY KEY, status TEXT COLLATE NOCASE, expires_at_us INTEGER);",
    config: "[[database.table]]
        table = 'leases'
        key = 'name'
        done = { column = 'status', in = ['RELEASED', 'EXPIRED'] }
        pending = { column = 'status', in = ['ACTIVE'] }
        expires = { column = 'expires_at_us', unit = 'us' }",
    rows: &[Rows {
        rule: "leases",
        into: "leases",
        goes: &[
            (r#""B""#, "'B', 'RELEASED', 1789992000000000"),
            (r#""a""#, "'a', 'EXPIRED', 1789991999999999"),
        ],
        stays: &[
            "'c', 'RELEASED', 1789992000000001",
            "'D', 'ACTIVE', 1000",
            "'e', 'released', 1000",
            "'f', 'RELEASED', 1789992000000",
        ],
    }],
    counts: (1, 1, 1),
};

/// `julianday('now')` in a column of type REAL.
const DRIZZLE: Case = Case {
    name: "requests with Julian days",
    origin: "seen in migrations of Drizzle, SQLite",
    ddl: "CREATE TABLE requests(id TEXT PRIMARY KEY, ok INTEGER NOT NULL, created_at REAL DEFAULT (julianday('now')));",
    config: "[[database.table]]
        table = 'requests'
        key = 'id'
        done = { column = 'ok', in = [1] }
        pending = { column = 'ok', in = [0] }
        since = { column = 'created_at', unit = 'julian' }
        retention = '2d'",
    rows: &[Rows {
        rule: "requests",
        into: "requests",
        goes: &[
            (r#""a""#, "'a', 1, julianday('2026-09-19 12:00:00')"),
            (r#""b""#, "'b', 1, julianday('2026-09-19 11:59:59.999')"),
        ],
        stays: &[
            "'c', 1, julianday('2026-09-19 12:00:00.001')",
            "'d', 0, julianday('2006-09-19 12:00:00')",
            "'e', 1, NULL",
            "'f', 1, 1789992000",
            "'g', 1, '2006-09-19 12:00:00'",
        ],
    }],
    counts: (1, 0, 2),
};
