//! The general operation: your change and its response in one transaction.

use std::time::Duration;

use keysweep::record::{Answer, Fingerprint, OperationError, Operations, RecordError, Request, Response};
use rusqlite::Transaction;

use crate::support::database::shell;

const TIMEOUT: Duration = Duration::from_secs(5);

struct Shop {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    operations: Operations,
}

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let operations = Operations::create(&path, TIMEOUT).unwrap();
        shell(&path, "CREATE TABLE orders(item TEXT);");
        Self { _folder: folder, path, operations }
    }

    fn order(&self, key: &str, item: &str) -> Result<Answer<Response>, OperationError<rusqlite::Error>> {
        self.operations.once(&request(key, item), |transaction| insert(transaction, item))
    }

    fn orders(&self) -> String {
        shell(&self.path, "SELECT count(*) FROM orders;").trim().into()
    }
}

fn request(key: &str, item: &str) -> Request {
    Request::new("u1", key, Fingerprint::new("order", 2, [("item", item)])).unwrap()
}

fn insert(transaction: &Transaction<'_>, item: &str) -> Result<Response, rusqlite::Error> {
    transaction.execute("INSERT INTO orders VALUES (?1)", [item])?;
    Ok(exact())
}

fn exact() -> Response {
    r#"{"b":1,"a":12345678901234567890123,"x":1.10,"n":null}"#.parse().unwrap()
}

#[test]
fn a_retry_gets_the_retained_response_byte_for_byte_and_changes_nothing() {
    let shop = Shop::new();
    assert_eq!(shop.order("k", "book"), Ok(Answer::Fresh(exact())));
    assert_eq!(shop.order("k", "book"), Ok(Answer::Retained(exact())));
    assert_eq!(shop.orders(), "1");
}

#[test]
fn another_request_under_a_used_key_is_a_conflict() {
    let shop = Shop::new();
    shop.order("k", "book").unwrap();
    assert_eq!(shop.order("k", "car"), Err(OperationError::KeyConflict));
    assert_eq!(shop.orders(), "1");
}

#[test]
fn a_response_retained_under_an_older_fingerprint_is_still_this_requests() {
    let shop = Shop::new();
    let old = Fingerprint::new("order", 1, [("thing", "book")]);
    let before = Request::new("u1", "k", old.clone()).unwrap();
    shop.operations.once(&before, |transaction| insert(transaction, "book")).unwrap();
    let now = request("k", "book").or(old);
    let answer = shop.operations.once(&now, |transaction| insert(transaction, "book"));
    assert_eq!(answer, Ok(Answer::Retained(exact())));
    assert_eq!(shop.order("k", "book"), Err(OperationError::KeyConflict), "without the old fingerprint");
}

#[test]
fn a_refused_change_leaves_no_trace_and_the_key_free() {
    let shop = Shop::new();
    let refused = shop.operations.once(&request("k", "book"), |transaction| {
        insert(transaction, "book")?;
        transaction.execute("INSERT INTO nowhere VALUES (1)", [])?;
        Ok::<_, rusqlite::Error>(exact())
    });
    assert!(matches!(refused, Err(OperationError::Refused(_))), "{refused:?}");
    assert_eq!(shop.orders(), "0");
    assert_eq!(shop.order("k", "book"), Ok(Answer::Fresh(exact())));
}

#[test]
fn a_change_that_panics_is_rolled_back_and_the_next_call_works() {
    let shop = Shop::new();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = shop.operations.once(&request("k", "book"), |transaction| {
            insert(transaction, "book").unwrap();
            panic!("in the middle of the change");
            #[allow(unreachable_code)]
            Ok::<_, rusqlite::Error>(exact())
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(shop.orders(), "0");
    assert_eq!(shop.order("k", "book"), Ok(Answer::Fresh(exact())));
}

/// Whatever the change does with its transaction, nothing of it stays and no response is recorded.
fn undoes(shop: &Shop, sql: &str, goes_on: bool) {
    let answer = shop.operations.once(&request("k", "book"), |transaction| {
        let response = insert(transaction, "book")?;
        let ended = transaction.execute_batch(sql);
        if goes_on {
            let _ = transaction.execute("INSERT INTO orders VALUES ('afterwards')", []);
        } else {
            ended?;
        }
        Ok::<_, rusqlite::Error>(response)
    });
    assert!(matches!(answer, Err(OperationError::Record(RecordError::Storage(_)))), "{sql}: {answer:?}");
    assert_eq!(shop.orders(), "0", "{sql}");
    assert_eq!(shop.order("k", "book"), Ok(Answer::Fresh(exact())), "{sql}: the retry");
}

#[test]
fn a_change_that_commits_by_itself_changes_nothing() {
    for goes_on in [false, true] {
        for sql in ["COMMIT", "COMMIT; BEGIN", "COMMIT; BEGIN IMMEDIATE"] {
            undoes(&Shop::new(), sql, goes_on);
        }
    }
}

/// A full disk does this, and so does any conflict clause that says ROLLBACK.
#[test]
fn a_change_that_was_rolled_back_beneath_it_records_no_response() {
    for sql in ["ROLLBACK", "ROLLBACK; BEGIN", "INSERT OR ROLLBACK INTO once VALUES (1)"] {
        let shop = Shop::new();
        shell(&shop.path, "CREATE TABLE once(x UNIQUE); INSERT INTO once VALUES (1);");
        undoes(&shop, sql, true);
    }
}

#[test]
fn a_recorded_request_carries_when_it_was_recorded() {
    let shop = Shop::new();
    let before = crate::support::now();
    shop.order("k", "book").unwrap();
    let recorded: f64 = shell(&shop.path, "SELECT recorded FROM operations;").trim().parse().unwrap();
    assert!(recorded >= before - 0.001 && recorded <= crate::support::now(), "{before} {recorded}");
}

#[test]
fn an_empty_scope_or_key_is_no_request() {
    let print = || Fingerprint::new("order", 1, []);
    assert!(Request::new("", "k", print()).is_err());
    assert!(Request::new("u", "", print()).is_err());
}

#[test]
fn a_file_that_was_replaced_is_an_error_until_it_is_opened_again() {
    for journal in ["wal", "delete"] {
        let shop = Shop::new();
        shell(&shop.path, &format!("PRAGMA journal_mode = {journal};"));
        shop.order("k", "book").unwrap();
        let restored = shop.path.with_file_name("restored.db");
        shell(&restored, "CREATE TABLE orders(item TEXT);");
        std::fs::rename(&restored, &shop.path).unwrap();
        let answer = shop.order("k2", "book");
        let Err(OperationError::Record(RecordError::NotOurTable(why))) = &answer else {
            panic!("{answer:?}")
        };
        assert!(why.what().contains("was replaced"), "{why}");
    }
}

#[test]
fn a_change_that_begins_another_on_the_same_value_is_an_error_and_no_deadlock() {
    let shop = Shop::new();
    let nested = shop.operations.once(&request("k", "book"), |transaction| {
        let inner = shop.order("inner", "book");
        assert!(matches!(inner, Err(OperationError::Record(RecordError::Storage(_)))), "{inner:?}");
        insert(transaction, "book")
    });
    assert_eq!(nested, Ok(Answer::Fresh(exact())));
    assert_eq!(shop.orders(), "1");
}
