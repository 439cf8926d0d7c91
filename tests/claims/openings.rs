//! How those share who work on many databases, and may not have all of them open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keysweep::store::Store;
use keysweep::store::sqlite::{Access, Openings, Sqlite};
use tokio_util::sync::CancellationToken;

use crate::support::{Database, Journal};

fn store(database: &Database, openings: &Openings) -> Sqlite {
    let (path, stop) = (database.path(), CancellationToken::new());
    Sqlite::new(path, Access::Read, Duration::from_secs(5), stop).sharing(openings.clone())
}

#[test]
fn one_that_never_rests_gives_way_to_one_that_waits() {
    let (busy, waiting) = (Database::with_keys(Journal::Wal, []), Database::with_keys(Journal::Wal, []));
    let openings = Openings::new(1);
    let (mut busy, mut waiting) = (store(&busy, &openings), store(&waiting, &openings));
    let served = &AtomicBool::new(false);
    let work = async {
        while !served.load(Ordering::Relaxed) {
            busy.space().await.unwrap();
        }
    };
    let wait = async move {
        waiting.space().await.unwrap();
        drop(waiting);
        served.store(true, Ordering::Relaxed);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let both =
        async { tokio::time::timeout(Duration::from_secs(60), async { tokio::join!(work, wait) }).await };
    assert!(runtime.block_on(both).is_ok(), "it never had a turn");
}
