//! The write side: what an application uses to record its keys. The sweep side never imports it.
//!
//! [`Keys`] is the key table of the contract: reserve, act, finish, replay. [`Operations`] records a
//! response in the same transaction as the change that it answers for; [`DurableCounter`] is its
//! smallest user.
//!
//! # What is promised, and what is not
//!
//! - The guarantee of a key **ends when its row is deleted**. Retention must exceed the longest time
//!   for which a caller may retry; a table that nobody sweeps grows for ever.
//! - It covers **this database**, and no call to a payment provider or any other machine.
//! - A **pending row** is recovered by its owner's lease or compensation policy, never by keysweep.
//! - A **scope** comes from an authenticated identity, or one caller can replay another's responses.
//! - Every call **blocks**: async code makes it on a thread for that (`tokio::task::spawn_blocking`).
//!   `now` is [`crate::clock::now`] unless you have a clock of your own.
//! - There is **no quota** on the size of a request or a response.
//! - **Durability** rests on the file system and the disk: connections run with `synchronous = EXTRA`.
//! - An expired busy timeout is an error of its own. It says nothing of the key, so it is never
//!   permission to invent a new one; neither is an unknown outcome. Ask again with the same key.

mod counter;
mod error;
mod fingerprint;
mod keys;
mod ledger;
mod once;
mod operation;
mod recorded;
mod response;

pub use counter::{DurableCounter, Overflow};
pub use error::{KeysError, OperationError, RecordError};
pub use fingerprint::Fingerprint;
pub use keys::Keys;
pub use once::{Answer, EmptyName, Request};
pub use operation::Operations;
pub use recorded::{Retry, StateCounts};
pub use response::{Response, ResponseError};
/// The version whose `Transaction` a change works on.
pub use rusqlite;
