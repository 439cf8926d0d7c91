//! A process that deletes batches of 100 rows and does nothing else: `batches FILE BATCHES`. The keys are
//! 00000001, 00000002 and so on in hexadecimal. No batch is cut short by the time, so that what it costs can
//! be counted.
#![allow(clippy::expect_used, reason = "a test program ends loudly")]

use std::time::Duration;

use keysweep::plan::{BatchBound, Cutoff, Key, Rule, UnixTime, Value};
use keysweep::store::Store;
use keysweep::store::sqlite::{Access, Sqlite};
use tokio_util::sync::CancellationToken;

const ROWS: u32 = 100;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("FILE").into();
    let batches: u32 = args.next().expect("BATCHES").parse().expect("a number");
    let rule = Rule::key_table(Duration::ZERO);
    let cutoff = Cutoff::new(UnixTime::new(1_790_000_000.0).expect("an instant"), Duration::ZERO);
    let bound = BatchBound { rows: ROWS as usize, hold: Duration::MAX, until: None };
    let key = |at: u32| Key::new(vec![Value::Text(format!("{at:08x}").into_bytes())]);
    let mut store = Sqlite::new(path, Access::Write, Duration::ZERO, CancellationToken::new());
    let work = async {
        store.inspect(std::slice::from_ref(&rule)).await.expect("a table");
        for batch in 0..batches {
            let keys: Vec<Key> = (1..=ROWS).map(|at| key(batch * ROWS + at)).collect();
            let batch = store.delete_batch(&rule, cutoff, &keys, bound).await.expect("a batch");
            assert_eq!(batch.deleted, keys);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(work);
}
