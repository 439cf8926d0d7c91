//! A process that adds to the durable counter: `adder FILE OPERATIONS SEED`. Each operation takes one
//! of 500 keys by a seeded choice, its amount is fixed by the key, and every answer is one line on
//! standard output, written before the next operation begins.
#![allow(clippy::expect_used, reason = "a test program ends loudly")]

use std::io::Write;

use keysweep::record::DurableCounter;

const KEYS: u64 = 500;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("FILE");
    let operations: u64 = args.next().expect("OPERATIONS").parse().expect("a number");
    let mut state: u64 = args.next().expect("SEED").parse().expect("a number");
    let wait = std::time::Duration::from_secs(60);
    let counter = DurableCounter::open_waiting(path.as_ref(), wait).expect("the counter opens");
    let mut out = std::io::stdout().lock();
    for _ in 0..operations {
        // Knuth's multiplier for a 64-bit linear congruential generator; its high bits are used.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let key = (state >> 33) % KEYS;
        let amount = i64::try_from(key + 1).expect("small");
        let value = counter.add("scope", &format!("k{key}"), amount).expect("every operation succeeds");
        writeln!(out, "k{key} {value}").expect("somebody reads");
        out.flush().expect("somebody reads");
    }
}
