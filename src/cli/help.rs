//! What `--help` says after the flags: examples, how each command ends, and what else it hears.

macro_rules! help {
    ($name:ident: $($line:literal)*) => {
        pub(super) const $name: &str = concat!($($line, "\n"),*);
    };
}

help! { KEYSWEEP:
    "Examples:"
    "  keysweep check                     what a careful colleague would look at"
    "  keysweep sweep --dry-run           exactly the keys that a sweep would take now"
    "  keysweep run                       the daemon"
    "  keysweep status"
    ""
    "Exit status:"
    "  0  yes, done; an empty list is an answer"
    "  1  no: `false`, nothing to replay, a key conflict, a key that is not there, `check` found a fault"
    "     or a hold, a sweep was held, or cut short by max_wal or a signal"
    "  2  the call or the config is wrong"
    "  3  it could not be done, or the answer is not known: busy, I/O, overflow, a failed sweep,"
    "     no daemon"
    ""
    "Answers go to standard output, logs to standard error. KEYSWEEP__SECTION__KEY in the environment"
    "overrides a value of the config, such as KEYSWEEP__DEFAULTS__BATCH=50."
}

help! { RUN:
    "Examples:"
    "  keysweep run"
    "  keysweep run --config ./keysweep.toml --log-level debug"
    ""
    "Signals: SIGTERM and SIGINT end it between two batches; SIGHUP reads the config again, all of it or,"
    "where it is wrong, nothing. A file `pause` in state_dir stops all deleting."
    ""
    "Exit status:"
    "  0  it ran until a signal came"
    "  2  the config is wrong, or its address is taken"
    "  3  it could not start"
}

help! { SWEEP:
    "Examples:"
    "  keysweep sweep --dry-run           what would go"
    "  keysweep sweep --database payments"
    "  keysweep sweep --json --log-level warn"
    ""
    "Exit status:"
    "  0  done, also where nothing was due"
    "  1  a table was held, or max_wal or a signal cut a sweep short"
    "  2  the call or the config is wrong"
    "  3  a sweep failed; those of other tables are done"
}

help! { CHECK:
    "Examples:"
    "  keysweep check"
    "  keysweep check --config ./new.toml --json    in CI, before it is installed"
    ""
    "Severities: ok, advice, fault, hold, down."
    ""
    "Exit status:"
    "  0  nothing worse than advice"
    "  1  a fault, a hold other than `horizon` (which ends by itself), or a database that is down until somebody acts"
    "  2  the config is wrong"
    "  3  a database could not be looked at: busy, I/O"
}

help! { STATUS:
    "Examples:"
    "  keysweep status"
    "  keysweep status --url http://127.0.0.1:9925 --json"
    "  keysweep status --url https://USER@HOST:9925 --password-file FILE"
    ""
    "Exit status:"
    "  0  the daemon answered, whatever it says"
    "  2  the call is wrong"
    "  3  no daemon answered, or it refused"
}

help! { PENDING:
    "Examples:"
    "  keysweep pending"
    "  keysweep pending --database payments --limit 10 --json"
    ""
    "Exit status:"
    "  0  read, also where nothing is abandoned"
    "  1  a database is not read, because its file has another name here already"
    "  2  the call or the config is wrong"
    "  3  a database or a table could not be read"
}

help! { EXPLAIN:
    "Examples:"
    "  keysweep explain --database payments --key order-17"
    "  keysweep explain --database payments --key scope --key 17   a key of two columns"
    ""
    "Exit status:"
    "  0  the row is there"
    "  1  there is no such row"
    "  2  the call or the config is wrong"
    "  3  it could not be read"
}

help! { KEYS:
    "Examples:"
    "  keysweep keys init --db app.db"
    "  keysweep keys counts --db app.db"
    ""
    "Exit status:"
    "  0  yes, done"
    "  1  no: false, or nothing to replay"
    "  2  the call is wrong, or the file is not there"
    "  3  it could not be done, or the answer is not known; ask again with the same key"
}

help! { INIT:
    "Examples:"
    "  keysweep keys init --db app.db"
    ""
    "Exit status:"
    "  0  the table is there"
    "  2  the call is wrong"
    "  3  it could not be done"
}

help! { RESERVE:
    "Examples:"
    "  keysweep keys reserve --db app.db --key order-17 --fingerprint v1 --expires 1900000000"
    ""
    "Exit status:"
    "  0  true: it is yours"
    "  1  false: it was there"
    "  2  the call is wrong, or the file is not there"
    "  3  it could not be done, or is not known; ask again with the same key"
}

help! { FINISH:
    "Examples:"
    "  keysweep keys finish --db app.db --key order-17 --fingerprint v1 --response '{\"receipt\":1}'"
    ""
    "Exit status:"
    "  0  true: it is done"
    "  1  false: no pending key of this fingerprint"
    "  2  the call is wrong, or the file is not there"
    "  3  it could not be done, or is not known; ask again with the same key"
}

help! { FETCH:
    "Examples:"
    "  keysweep keys fetch --db app.db --key order-17"
    ""
    "Exit status:"
    "  0  the response, byte for byte"
    "  1  nothing to replay"
    "  2  the call is wrong, or the file is not there"
    "  3  it could not be read"
}

help! { EXPIRED:
    "Examples:"
    "  keysweep keys expired --db app.db --limit 100"
    ""
    "Exit status:"
    "  0  the keys, or an empty list"
    "  2  the call is wrong, or the file is not there"
    "  3  they could not be read"
}

help! { PURGE:
    "Examples:"
    "  keysweep keys purge --db app.db --limit 100"
    ""
    "Exit status:"
    "  0  the keys that are gone, or an empty list"
    "  2  the call is wrong, or the file is not there"
    "  3  it could not be done, or is not known"
}

help! { COUNTS:
    "Examples:"
    "  keysweep keys counts --db app.db"
    ""
    "Exit status:"
    "  0  counted"
    "  2  the call is wrong, or the file is not there"
    "  3  they could not be read"
}

help! { RETENTION_CYCLE:
    "Examples:"
    "  keysweep keys retention-cycle --db new.db --key order-17"
    ""
    "Exit status:"
    "  0  true: the key could be reserved again"
    "  1  false: it was there before"
    "  2  the call is wrong"
    "  3  it could not be done"
}

help! { COUNTER:
    "Examples:"
    "  keysweep counter add --db counter.db --scope shop --key order-17 --amount 5"
    ""
    "Exit status:"
    "  0  the counter, as it was right after this addition; the same for each retry"
    "  1  a key conflict: another amount under this key"
    "  2  the call is wrong"
    "  3  busy, I/O or overflow; ask again with the same key"
}

help! { DEMO:
    "Examples:"
    "  keysweep demo --for 20s"
    "  keysweep demo --listen 127.0.0.1:9925"
    ""
    "Exit status:"
    "  0  it ended by itself or by Ctrl-C; its folder is gone"
    "  2  the call is wrong, or the address is taken"
    "  3  it could not run"
}

help! { COMPLETIONS:
    "Examples:"
    "  keysweep completions bash > /usr/share/bash-completion/completions/keysweep"
    ""
    "Exit status:"
    "  0  printed"
    "  2  no such shell"
    "  3  standard output could not be written"
}

help! { MAN:
    "Examples:"
    "  keysweep man | man -l -"
    ""
    "Exit status:"
    "  0  printed"
    "  3  standard output could not be written"
}
