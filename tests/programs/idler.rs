//! Ticks and censuses of a key table with nothing due, for an instrument to count what they cost:
//! `idler FILE TICKS CENSUSES MEMORY`. With MEMORY `keeps`, what a look at the schema found is believed by the
//! next one, as in the daemon; with `forgets`, each is the first.
#![allow(clippy::expect_used, reason = "a test program ends loudly")]

use std::path::PathBuf;
use std::time::Duration;

use keysweep::census::census;
use keysweep::plan::{DatabaseName, Guards, Limit, Rule, RuleBook, Share, Stop, UnixTime};
use keysweep::store::sqlite::{Access, Learnt, Sqlite};
use keysweep::tick::{Mode, Order, TableMemory, tick};
use tokio_util::sync::CancellationToken;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().expect("FILE"));
    let mut number = || -> usize { args.next().expect("a number").parse().expect("a number") };
    let (ticks, censuses) = (number(), number());
    let keeps = args.next().expect("MEMORY") == "keeps";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(idle(path, ticks, censuses, keeps));
}

async fn idle(path: PathBuf, ticks: usize, censuses: usize, keeps: bool) {
    let (kept, stop) = (Learnt::default(), CancellationToken::new());
    let database = DatabaseName::new("app").expect("a name");
    let now = UnixTime::new(1_000_000_000.0).expect("an instant");
    let rule = Rule::key_table(Duration::ZERO);
    let share = Share::new(0.25).expect("a share");
    let mut tables = vec![TableMemory::new(rule, Limit::MAX, share)];
    let store = |access| {
        let learnt = if keeps { kept.clone() } else { Learnt::default() };
        Sqlite::new(path.clone(), access, Duration::from_secs(10), stop.clone()).with_learnt(learnt)
    };
    for _ in 0..ticks {
        let order = Order {
            database: &database,
            now,
            budget: None,
            enabled: true,
            guards: Guards::default(),
            mode: Mode::Delete,
            stop: &stop,
        };
        let reports = tick(&order, &mut store(Access::Write), &mut tables, &|_| {}).await;
        let idle = reports.iter().all(|report| report.stop == Stop::Drained && report.deleted == 0);
        assert!(idle, "{reports:?}");
    }
    let book = RuleBook::of(Rule::key_table(Duration::ZERO));
    for _ in 0..censuses {
        let failed = census(&database, now, &mut store(Access::Read), &book, &|_| {}).await;
        assert!(failed.is_none(), "{failed:?}");
    }
}
