//! Random tables, rows, rules and instants: what goes is what a plain model says, and nothing else.
//!
//! `KEYSWEEP_SEED=N` sets the first seed, `KEYSWEEP_CASES=N` how many follow it. A case that fails
//! shows its seed, and everything that it is made of.

mod cells;
mod instants;
mod judge;
mod meaning;
mod product;
mod shape;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::is_long;
use product::{Seen, case};

const CASES: u64 = 2_000;
const LONG_CASES: u64 = 50_000;
/// Cases wait for the timer of a runtime now and then.
const THREADS: usize = 4;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}

fn a_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (now.as_micros() % 1_000_000_000_000) as u64
}

#[test]
fn what_goes_is_what_a_plain_model_says_for_every_shape() {
    let first = number("KEYSWEEP_SEED").unwrap_or_else(a_seed);
    let cases = number("KEYSWEEP_CASES").unwrap_or(if is_long() { LONG_CASES } else { CASES });
    println!("KEYSWEEP_SEED={first} KEYSWEEP_CASES={cases}");
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let (seen, faults) = (Mutex::new(Seen::default()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= cases || failed.load(Ordering::Relaxed) {
                        break;
                    }
                    match one(first + at) {
                        Ok(one) => seen.lock().unwrap().add(one),
                        Err(fault) => {
                            failed.store(true, Ordering::Relaxed);
                            faults.lock().unwrap().push(fault);
                        }
                    }
                }
            });
        }
    });
    if let Some(fault) = faults.into_inner().unwrap().into_iter().next() {
        panic!("{fault}");
    }
    let seen = seen.into_inner().unwrap();
    println!("{seen:?}");
    if cases >= 500 {
        assert!(seen.is_broad(cases), "the cases show too little: {seen:?}");
    }
}

fn one(seed: u64) -> Result<Seen, String> {
    let (case, shown) = case(seed);
    let again = format!("KEYSWEEP_SEED={seed} KEYSWEEP_CASES=1");
    match catch_unwind(AssertUnwindSafe(|| case.run())) {
        Ok(Ok(seen)) => Ok(seen),
        Ok(Err(fault)) => Err(format!("{again}\n{shown}\n{fault}")),
        Err(_) => Err(format!("{again}\n{shown}\nit panicked: see above")),
    }
}
