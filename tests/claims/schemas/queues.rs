//! Tables of job queues: a state for each stage of a job, and often a clock column for each end.

use super::{Case, Rows};

pub const CASES: &[&Case] = &[&OBAN, &RIVER, &HANGFIRE, &BACKLITE, &LARAVEL, &N8N];

/// The clock column depends on the state: a rule for each.
const OBAN: Case = Case {
    name: "oban_jobs",
    origin: "oban-bg/oban lib/oban/migrations/sqlite.ex, SQLite",
    ddl:
        "CREATE TABLE oban_jobs(id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT DEFAULT 'available' NOT NULL,
            queue TEXT DEFAULT 'default' NOT NULL, worker TEXT DEFAULT 'W' NOT NULL,
            inserted_at TEXT, scheduled_at TEXT, attempted_at TEXT,
            cancelled_at TEXT, completed_at TEXT, discarded_at TEXT);
          CREATE INDEX oban_jobs_state ON oban_jobs(state, queue, scheduled_at, id);",
    config: "[[database.table]]
        table = 'oban_jobs'
        name = 'completed'
        key = 'id'
        done = { column = 'state', in = ['completed'] }
        pending = { column = 'state', in = ['available', 'scheduled', 'executing', 'retryable'] }
        since = { column = 'completed_at', unit = 'iso8601' }
        retention = '1d'
        [[database.table]]
        table = 'oban_jobs'
        name = 'cancelled'
        key = 'id'
        done = { column = 'state', in = ['cancelled'] }
        since = { column = 'cancelled_at', unit = 'iso8601' }
        retention = '7d'
        [[database.table]]
        table = 'oban_jobs'
        name = 'discarded'
        key = 'id'
        done = { column = 'state', in = ['discarded'] }
        since = { column = 'discarded_at', unit = 'iso8601' }
        retention = '30d'",
    rows: &[
        Rows {
            rule: "completed",
            into: "oban_jobs(id, state, inserted_at, completed_at)",
            goes: &[
                ("1", "1, 'completed', '2026-09-01', '2026-09-20T11:59:59.999999'"),
                ("2", "2, 'completed', '2026-09-01', '2026-09-20T12:00:00.000000'"),
                ("3", "3, 'completed', '2026-09-01', '2026-09-20T12:00:00.000000Z'"),
            ],
            stays: &[
                "4, 'completed', '2006-09-01', '2026-09-20T12:00:00.000001'",
                "5, 'completed', '2006-09-01', NULL",
                "6, 'completed', '2006-09-01', 'yesterday'",
                "7, 'Completed', '2006-09-01', '2006-09-20T11:59:59.999999'",
                "8, 'available', '2006-09-01', '2006-09-20T11:59:59.999999'",
                "9, 'executing', '2006-09-01', NULL",
                "10, 'retryable', '2006-09-01', NULL",
                "11, 'new-in-v3', '2006-09-01', '2006-09-20T11:59:59.999999'",
            ],
        },
        Rows {
            rule: "cancelled",
            into: "oban_jobs(id, state, completed_at, cancelled_at)",
            goes: &[("21", "21, 'cancelled', NULL, '2026-09-14T12:00:00.000000'")],
            stays: &[
                "22, 'cancelled', NULL, '2026-09-14T12:00:00.000001'",
                "23, 'cancelled', '2006-09-14T12:00:00.000000', NULL",
                "24, 'cancelled', '2006-09-14T12:00:00.000000', '2026-09-20T11:59:59.000000'",
            ],
        },
        Rows {
            rule: "discarded",
            into: "oban_jobs(id, state, cancelled_at, discarded_at)",
            goes: &[("31", "31, 'discarded', NULL, '2026-08-22T12:00:00.000000'")],
            stays: &["32, 'discarded', '2006-09-14T12:00:00.000000', '2026-08-22T12:00:00.000001'"],
        },
    ],
    counts: (3, 2, 2),
};

/// Three ends, one clock column, and a pending state that a later migration added.
const RIVER: Case = Case {
    name: "river_job",
    origin: "riverqueue/river riverpgxv5/migration/main/002_initial_schema.up.sql, PostgreSQL",
    ddl: "CREATE TABLE river_job(id INTEGER PRIMARY KEY, state TEXT NOT NULL, finalized_at TIMESTAMP,
            CHECK ((finalized_at IS NOT NULL) = (state IN ('cancelled', 'completed', 'discarded'))));",
    config: "[[database.table]]
        table = 'river_job'
        key = 'id'
        done = { column = 'state', in = ['completed', 'cancelled', 'discarded'] }
        pending = { column = 'state', in = ['available', 'pending', 'retryable', 'running', 'scheduled'] }
        since = { column = 'finalized_at', unit = 'iso8601' }
        retention = '24h'",
    rows: &[Rows {
        rule: "river_job",
        into: "river_job",
        goes: &[
            ("1", "1, 'completed', '2026-09-20 12:00:00+00:00'"),
            ("2", "2, 'cancelled', '2026-09-20 07:00:00-05:00'"),
            ("3", "3, 'discarded', '2026-09-20 17:29:59.999999+05:30'"),
        ],
        stays: &[
            "4, 'completed', '2026-09-20 12:00:00.000001+00:00'",
            "5, 'cancelled', '2026-09-20 11:00:00-05:00'",
            "6, 'running', NULL",
            "7, 'pending', NULL",
            "8, 'scheduled', NULL",
        ],
    }],
    counts: (3, 0, 0),
};

/// .NET ticks, 0 is never, and names that are words of SQL.
const HANGFIRE: Case = Case {
    name: "Job, Set, Hash",
    origin: "raisedapp/Hangfire.Storage.SQLite Entities/HangfireJob.cs, SQLite",
    ddl: r#"CREATE TABLE "Job"("Id" INTEGER PRIMARY KEY AUTOINCREMENT, "StateId" integer, "StateName" varchar(20),
              "CreatedAt" bigint, "ExpireAt" bigint);
            CREATE INDEX "IX_Job_ExpireAt" ON "Job"("ExpireAt");
            CREATE TABLE "Set"("Id" INTEGER PRIMARY KEY, "Key" varchar(100), "ExpireAt" bigint);
            CREATE TABLE "Hash"("Id" INTEGER PRIMARY KEY, "Key" varchar(100), "ExpireAt" bigint);"#,
    config: "[[database.table]]
        table = 'Job'
        key = 'Id'
        done = { column = 'StateName', in = ['Succeeded', 'Deleted'] }
        pending = { column = 'StateName', in = ['Enqueued', 'Scheduled', 'Processing', 'Awaiting'] }
        expires = { column = 'ExpireAt', unit = 'dotnet_ticks', never = [0] }
        [[database.table]]
        table = ['Set', 'Hash']
        name = 'values'
        key = 'Id'
        done = 'every-row'
        expires = { column = 'ExpireAt', unit = 'dotnet_ticks', never = [0] }",
    // 639255888000000000 is 2026-09-21T12:00:00Z.
    rows: &[
        Rows {
            rule: "Job",
            into: r#""Job"("Id", "StateName", "ExpireAt")"#,
            goes: &[("1", "1, 'Succeeded', 639255888000000000"), ("2", "2, 'Deleted', 639255887999999999")],
            stays: &[
                "3, 'Succeeded', 639255888000000001",
                "4, 'Succeeded', 0",
                "5, 'Succeeded', NULL",
                "6, 'Succeeded', 1789992000",
                "7, 'Enqueued', 0",
                "8, 'Processing', 630000000000000000",
                "9, 'Failed', 630000000000000000",
                "10, NULL, 630000000000000000",
            ],
        },
        Rows {
            rule: "values/Set",
            into: r#""Set"("Id", "Key", "ExpireAt")"#,
            goes: &[("1", "1, 'retries', 639255888000000000")],
            stays: &["2, 'schedule', 0", "3, 'retries', 639255888000000001"],
        },
        Rows {
            rule: "values/Hash",
            into: r#""Hash"("Id", "Key", "ExpireAt")"#,
            goes: &[("7", "7, 'recurring-job:a', 639255887999999999")],
            stays: &["8, 'recurring-job:b', 0"],
        },
    ],
    counts: (2, 2, 2),
};

/// Whatever is in this table is done; NULL is for ever; another column of the row counts in another unit.
const BACKLITE: Case = Case {
    name: "backlite_tasks_completed",
    origin: "mikestefanello/backlite internal/query/schema.sql, SQLite STRICT",
    ddl: "CREATE TABLE backlite_tasks(id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, queue TEXT NOT NULL,
            wait_until INTEGER) STRICT;
          INSERT INTO backlite_tasks VALUES ('live', 1000, 'q', 1000);
          CREATE TABLE backlite_tasks_completed(id TEXT PRIMARY KEY NOT NULL, last_duration_micro INTEGER,
            succeeded INTEGER, expires_at INTEGER) STRICT;",
    config: "[[database.table]]
        table = 'backlite_tasks_completed'
        key = 'id'
        done = 'every-row'
        expires = { column = 'expires_at', unit = 'ms' }",
    rows: &[Rows {
        rule: "backlite_tasks_completed",
        into: "backlite_tasks_completed",
        goes: &[(r#""a""#, "'a', 1789992000000, 1, 1789992000000"), (r#""b""#, "'b', 5, 0, 1789991999999")],
        stays: &["'c', 5, 1, 1789992000001", "'d', 5, 1, NULL", "'e', 5, 1, 1789992000"],
    }],
    counts: (0, 0, 2),
};

/// Two alternative ends, each with a column that is NULL until then.
const LARAVEL: Case = Case {
    name: "job_batches",
    origin: "laravel/framework Queue/Console/stubs/batches.stub, any",
    ddl: "CREATE TABLE job_batches(id VARCHAR NOT NULL PRIMARY KEY, name VARCHAR NOT NULL, pending_jobs INTEGER,
            cancelled_at INTEGER, created_at INTEGER NOT NULL, finished_at INTEGER);",
    config: "[[database.table]]
        table = 'job_batches'
        name = 'finished'
        key = 'id'
        done = { column = 'finished_at', is = 'not null' }
        since = { column = 'finished_at', unit = 'unix_s' }
        retention = '24h'
        [[database.table]]
        table = 'job_batches'
        name = 'cancelled'
        key = 'id'
        done = { column = 'cancelled_at', is = 'not null' }
        since = { column = 'cancelled_at', unit = 'unix_s' }
        retention = '72h'",
    rows: &[
        Rows {
            rule: "finished",
            into: "job_batches",
            goes: &[
                (r#""f1""#, "'f1', 'n', 0, NULL, 1, 1789905600"),
                (r#""f2""#, "'f2', 'n', 0, NULL, 1, 1789905599"),
                (r#""both""#, "'both', 'n', 0, 1789991999, 1, 1789905600"),
            ],
            stays: &[
                "'f3', 'n', 0, NULL, 1, 1789905601",
                "'live', 'n', 7, NULL, 1, NULL",
                "'ms', 'n', 7, NULL, 1, 1789905600000",
            ],
        },
        Rows {
            rule: "cancelled",
            into: "job_batches",
            goes: &[(r#""c1""#, "'c1', 'n', 4, 1789732800, 1, NULL")],
            stays: &["'c2', 'n', 4, 1789732801, 1, NULL", "'c3', 'n', 0, 1789905600, 1, 1789905601"],
        },
    ],
    counts: (1, 0, 0),
};

/// Two stages, and a guard against executions that still wait.
const N8N: Case = Case {
    name: "execution_entity",
    origin: "n8n-io/n8n packages/@n8n/db/src/entities/execution-entity.ts, SQLite",
    ddl: r#"CREATE TABLE "execution_entity"("id" INTEGER PRIMARY KEY AUTOINCREMENT, "finished" BOOLEAN NOT NULL,
              "status" VARCHAR NOT NULL, "stoppedAt" DATETIME(3), "waitTill" DATETIME, "deletedAt" DATETIME(3));"#,
    config: "[[database.table]]
        table = 'execution_entity'
        name = 'soft-deleted'
        key = 'id'
        done = { column = 'deletedAt', is = 'not null' }
        pending = { column = 'status', in = ['new', 'running', 'waiting'] }
        keep = { column = 'waitTill', is = 'not null' }
        since = { column = 'deletedAt', unit = 'iso8601' }
        retention = '1h'
        [[database.table]]
        table = 'execution_entity'
        name = 'stopped'
        key = 'id'
        done = { column = 'status', in = ['success', 'error', 'crashed', 'canceled'] }
        keep = { column = 'waitTill', is = 'not null' }
        since = { column = 'stoppedAt', unit = 'iso8601' }
        retention = '14d'",
    rows: &[
        Rows {
            rule: "soft-deleted",
            into: "execution_entity",
            goes: &[
                ("1", "1, 1, 'success', '2026-09-21 10:00:00.000', NULL, '2026-09-21 11:00:00.000'"),
                ("2", "2, 0, 'unknown', NULL, NULL, '2026-09-21 10:59:59.999'"),
            ],
            stays: &[
                "3, 1, 'success', '2026-09-21 10:00:00.000', NULL, '2026-09-21 11:00:00.001'",
                "4, 1, 'success', '2026-09-01 10:00:00.000', '2027-01-01 00:00:00', '2026-09-01 11:00:00.000'",
                "5, 1, 'waiting', NULL, NULL, '2020-09-21 11:00:00.000'",
                "6, 1, 'running', '2020-09-21 11:00:00.000', NULL, '2020-09-21 11:00:00.000'",
            ],
        },
        Rows {
            rule: "stopped",
            into: "execution_entity",
            goes: &[
                ("11", "11, 1, 'success', '2026-09-07 12:00:00.000', NULL, NULL"),
                ("12", "12, 0, 'error', '2026-09-07 11:59:59.999', NULL, NULL"),
            ],
            stays: &[
                "13, 0, 'crashed', '2026-09-07 12:00:00.001', NULL, NULL",
                "14, 1, 'success', '2026-09-01 12:00:00.000', '2020-01-01 00:00:00', NULL",
                "15, 1, 'running', NULL, NULL, NULL",
                "16, 1, 'success', NULL, NULL, NULL",
            ],
        },
    ],
    counts: (3, 0, 0),
};
