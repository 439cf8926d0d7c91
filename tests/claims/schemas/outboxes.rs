//! Tables of message inboxes and outboxes.

use super::{Case, Rows};

pub const CASES: &[&Case] =
    &[&MODULITH_V1, &MODULITH_V2, &CAP, &NSERVICEBUS, &MASSTRANSIT, &WOLVERINE, &BLOB_OUTBOX];

/// Done is a date that is there; the same column tells since when.
const MODULITH_V1: Case = Case {
    name: "event_publication, version 1",
    origin: "spring-projects/spring-modulith schemas/v1, PostgreSQL",
    ddl: "CREATE TABLE event_publication(id UUID NOT NULL PRIMARY KEY, publication_date TIMESTAMP NOT NULL,
            completion_date TIMESTAMP);",
    config: "[[database.table]]
        table = 'event_publication'
        key = 'id'
        done = { column = 'completion_date', is = 'not null' }
        since = { column = 'completion_date', unit = 'iso8601' }
        retention = '7d'",
    rows: &[Rows {
        rule: "event_publication",
        into: "event_publication",
        goes: &[
            (
                r#""6f1c7c0e-0000-4000-8000-000000000001""#,
                "'6f1c7c0e-0000-4000-8000-000000000001', '2026-01-01 00:00:00+00', '2026-09-14 12:00:00+00'",
            ),
            (
                r#""6f1c7c0e-0000-4000-8000-000000000002""#,
                "'6f1c7c0e-0000-4000-8000-000000000002', '2026-01-01 00:00:00+00', '2026-09-14 14:00:00.000000+02'",
            ),
        ],
        stays: &[
            "'6f1c7c0e-0000-4000-8000-000000000003', '2016-01-01 00:00:00+00', '2026-09-14 12:00:00.000001+00'",
            "'6f1c7c0e-0000-4000-8000-000000000004', '2016-01-01 00:00:00+00', NULL",
            "'6f1c7c0e-0000-4000-8000-000000000005', '2016-01-01 00:00:00+00', ''",
            "'6f1c7c0e-0000-4000-8000-000000000006', '2016-01-01 00:00:00+00', '2016-01-01'",
        ],
    }],
    counts: (1, 0, 2),
};

/// A newer version has a status beside the date, NULL in the rows of the older one.
const MODULITH_V2: Case = Case {
    name: "event_publication, version 2",
    origin: "spring-projects/spring-modulith schemas/v2/schema-postgresql.sql, PostgreSQL",
    ddl: "CREATE TABLE event_publication(id BLOB NOT NULL PRIMARY KEY, completion_date TEXT, status TEXT);",
    config: "[[database.table]]
        table = 'event_publication'
        key = 'id'
        done = { column = 'completion_date', is = 'not null' }
        pending = [{ column = 'status', in = ['PUBLISHED', 'PROCESSING', 'RESUBMITTED', 'FAILED'] },
                   { column = 'completion_date', is = 'null' }]
        since = { column = 'completion_date', unit = 'iso8601' }
        retention = '7d'",
    rows: &[Rows {
        rule: "event_publication",
        into: "event_publication",
        goes: &[
            (r#"{"hex":"01"}"#, "x'01', '2026-09-14T12:00:00Z', 'COMPLETED'"),
            (r#"{"hex":"02"}"#, "x'02', '2026-09-14T12:00:00Z', NULL"),
        ],
        stays: &[
            "x'03', '2026-09-14T12:00:00.001Z', 'COMPLETED'",
            "x'04', '2016-09-14T12:00:00Z', 'RESUBMITTED'",
            "x'05', '2016-09-14T12:00:00Z', 'FAILED'",
            "x'06', NULL, 'COMPLETED'",
        ],
    }],
    counts: (3, 0, 0),
};

/// Names in mixed case, two states that are done, an expiry that is NULL for ever.
const CAP: Case = Case {
    name: "received",
    origin: "dotnetcore/CAP IStorageInitializer.PostgreSql.cs, PostgreSQL",
    ddl: r#"CREATE TABLE "received"("Id" BIGINT PRIMARY KEY NOT NULL, "StatusName" VARCHAR(50) NOT NULL,
              "Added" TIMESTAMP NOT NULL, "ExpiresAt" TIMESTAMP NULL);"#,
    config: "[[database.table]]
        table = 'received'
        key = 'Id'
        done = { column = 'StatusName', in = ['Succeeded', 'Failed'] }
        pending = { column = 'StatusName', in = ['Scheduled', 'Queued', 'Delayed'] }
        expires = { column = 'ExpiresAt', unit = 'iso8601' }",
    rows: &[Rows {
        rule: "received",
        into: "\"received\"",
        goes: &[
            (
                "1785000000000000001",
                "1785000000000000001, 'Succeeded', '2026-09-20 12:00:00', '2026-09-21 12:00:00'",
            ),
            ("-2", "-2, 'Failed', '2026-09-20 12:00:00', '2026-09-21 11:59:59.999999'"),
        ],
        stays: &[
            "3, 'Succeeded', '2006-09-20 12:00:00', '2026-09-21 12:00:00.000001'",
            "4, 'Succeeded', '2006-09-20 12:00:00', NULL",
            "5, 'Scheduled', '2006-09-20 12:00:00', '2006-09-21 12:00:00'",
            "6, 'succeeded', '2006-09-20 12:00:00', '2006-09-21 12:00:00'",
        ],
    }],
    counts: (1, 1, 1),
};

/// A table for each endpoint, all of one shape.
const NSERVICEBUS: Case = Case {
    name: "*_OutboxData",
    origin: "Particular/NServiceBus.Persistence.Sql Outbox/Create_PostgreSql.sql, PostgreSQL",
    ddl: r#"CREATE TABLE "Sales_OutboxData"("MessageId" VARCHAR(200) PRIMARY KEY, "Dispatched" BOOLEAN NOT NULL,
              "DispatchedAt" TIMESTAMP);
            CREATE TABLE "Billing_OutboxData"("MessageId" VARCHAR(200) PRIMARY KEY, "Dispatched" BOOLEAN NOT NULL,
              "DispatchedAt" TIMESTAMP) WITHOUT ROWID;
            CREATE TABLE "Old_OutboxData"("MessageId" VARCHAR(200) PRIMARY KEY, "Dispatched" BOOLEAN NOT NULL,
              "DispatchedAt" TIMESTAMP);
            INSERT INTO "Old_OutboxData" VALUES ('m', 1, '2006-09-14 12:00:00');"#,
    config: "[[database.table]]
        table = ['Sales_OutboxData', 'Billing_OutboxData']
        key = 'MessageId'
        done = { column = 'Dispatched', in = [1] }
        pending = { column = 'Dispatched', in = [0] }
        since = { column = 'DispatchedAt', unit = 'iso8601' }
        retention = '7d'",
    rows: &[
        Rows {
            rule: "Sales_OutboxData",
            into: "\"Sales_OutboxData\"",
            goes: &[(r#""m1""#, "'m1', true, '2026-09-14 12:00:00'")],
            stays: &[
                "'m2', 1, '2026-09-14 12:00:00.001'",
                "'m3', false, '2006-09-14 12:00:00'",
                "'m4', 0, NULL",
                "'m5', 'true', '2006-09-14 12:00:00'",
                "'m6', 1, NULL",
            ],
        },
        Rows {
            rule: "Billing_OutboxData",
            into: "\"Billing_OutboxData\"",
            goes: &[(r#""m1""#, "'m1', 1, '2026-09-14 11:59:59.999'")],
            stays: &["'m2', 1, '2026-09-14 12:00:01'", "'m3', 0, '2006-09-14 12:00:00'"],
        },
    ],
    counts: (2, 1, 1),
};

/// The column that is named like an expiry is the message's; half done is not done.
const MASSTRANSIT: Case = Case {
    name: "InboxState",
    origin: "MassTransit/MassTransit EntityFrameworkCoreIntegration/InboxState.cs, PostgreSQL and others",
    ddl: r#"CREATE TABLE "InboxState"("Id" INTEGER PRIMARY KEY AUTOINCREMENT, "MessageId" TEXT NOT NULL,
              "ConsumerId" TEXT NOT NULL, "ExpirationTime" TEXT, "Consumed" TEXT, "Delivered" TEXT,
              UNIQUE("MessageId", "ConsumerId"));"#,
    config: "[[database.table]]
        table = 'InboxState'
        key = ['MessageId', 'ConsumerId']
        done = { column = 'Delivered', is = 'not null' }
        since = { column = 'Delivered', unit = 'iso8601' }
        retention = '30m'",
    rows: &[Rows {
        rule: "InboxState",
        into: r#""InboxState"("MessageId", "ConsumerId", "ExpirationTime", "Consumed", "Delivered")"#,
        goes: &[
            (r#"["A","x"]"#, "'A', 'x', NULL, '2026-09-21 11:00:00', '2026-09-21 11:30:00'"),
            (
                r#"["A","y"]"#,
                "'A', 'y', '2026-12-21 11:00:00', '2026-09-21 11:00:00', '2026-09-21 11:29:59.9999999'",
            ),
        ],
        stays: &[
            "'A', 'z', '2006-09-21 11:00:00', '2026-09-21 11:00:00', '2026-09-21 11:30:00.0000001'",
            "'B', 'x', '2006-09-21 11:00:00', '2006-09-21 11:00:00', NULL",
            "'B', 'y', '2006-09-21 11:00:00', NULL, NULL",
        ],
    }],
    counts: (2, 0, 0),
};

/// A key of two columns, of which the one called `received_at` is an address.
const WOLVERINE: Case = Case {
    name: "wolverine_incoming_envelopes",
    origin: "JasperFx/wolverine Postgresql/Schema/IncomingEnvelopeTable.cs, PostgreSQL",
    ddl: "CREATE TABLE wolverine_incoming_envelopes(id UUID NOT NULL, status TEXT NOT NULL, keep_until TIMESTAMP,
            received_at TEXT NOT NULL, PRIMARY KEY(id, received_at));",
    config: "[[database.table]]
        table = 'wolverine_incoming_envelopes'
        key = ['id', 'received_at']
        done = { column = 'status', in = ['Handled'] }
        pending = { column = 'status', in = ['Incoming', 'Scheduled'] }
        expires = { column = 'keep_until', unit = 'iso8601' }",
    rows: &[Rows {
        rule: "wolverine_incoming_envelopes",
        into: "wolverine_incoming_envelopes(id, received_at, status, keep_until)",
        goes: &[(r#"["e1","rabbitmq://a"]"#, "'e1', 'rabbitmq://a', 'Handled', '2026-09-21 12:00:00+00'")],
        stays: &[
            "'e1', 'rabbitmq://b', 'Handled', '2026-09-21 12:00:00.000001+00'",
            "'e1', '2006-01-01 00:00:00', 'Handled', NULL",
            "'e2', 'rabbitmq://a', 'Incoming', '2006-09-21 12:00:00+00'",
            "'e3', 'rabbitmq://a', 'Scheduled', NULL",
        ],
    }],
    counts: (2, 0, 2),
};

const BLOB_OUTBOX: Case = Case {
    name: "an outbox with UUIDs of 16 bytes",
    origin: "seen in several projects, SQLite STRICT",
    ddl: "CREATE TABLE outbox(id BLOB PRIMARY KEY CHECK(length(id) = 16), sent_at_us INTEGER) STRICT, WITHOUT ROWID;
          CREATE INDEX outbox_sent ON outbox(sent_at_us) WHERE sent_at_us IS NOT NULL;",
    config: "[[database.table]]
        table = 'outbox'
        key = 'id'
        done = { column = 'sent_at_us', is = 'not null' }
        since = { column = 'sent_at_us', unit = 'us' }
        retention = '1h'",
    rows: &[Rows {
        rule: "outbox",
        into: "outbox",
        goes: &[
            (
                r#"{"hex":"00ff00ff00ff00ff00ff00ff00ff0001"}"#,
                "x'00ff00ff00ff00ff00ff00ff00ff0001', 1789988400000000",
            ),
            (
                r#"{"hex":"61626364616263646162636461626364"}"#,
                "x'61626364616263646162636461626364', 1789988399999999",
            ),
        ],
        stays: &[
            "x'00ff00ff00ff00ff00ff00ff00ff0002', 1789988400000001",
            "x'00ff00ff00ff00ff00ff00ff00ff0003', NULL",
            "x'00ff00ff00ff00ff00ff00ff00ff0004', 1789988400",
        ],
    }],
    counts: (1, 0, 1),
};
