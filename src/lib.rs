//! Retention of idempotency keys and other finished records.
//!
//! A service that must not act twice records each request under an *idempotency key*: `pending`,
//! then `done` with the response that a retry gets back. **Deleting a key ends its guarantee**, so
//! keysweep deletes only rows that are done and whose time has come, in small batches, each in one
//! transaction, and shows the pending rows that nobody finishes. It never deletes a pending row.
//!
//! # The words
//!
//! *database*: one SQLite file. *table*: one table under one rule. *state*: pending, done, or
//! unknown. *clock column*: what retention counts from, `expires` or `since`. *cutoff*: now less the
//! retention; a done row at or before it is *expired*. *search*: reads rows in key order, or those
//! that an index finds expired, and nominates. *batch*: up to 100 nominated keys, selected again and deleted in one transaction.
//! *tick*: one ring of a database's schedule. *sweep*: what a tick does to one table. *census*: the
//! count by state. *abandoned*: a pending row past its time. *finding*, *hold*: what a look at a
//! table shows, and one so severe that nothing is deleted. *report*: what a sweep did.
//!
//! # The rooms, and who may know whom
//!
//! | room | does | knows |
//! |---|---|---|
//! | [`plan`] | decides, and does nothing: rules, predicates, pace, findings, reports | nobody |
//! | [`listener`] | what the listener shows and whom it lets in: certificate, key, users; whom `status` believes | plan |
//! | [`config`] | file and environment to valid settings; the only home of defaults | listener, plan |
//! | [`discover`] | which databases there are: patterns followed, files of two names met | config, plan |
//! | [`store`] | touches a database; one folder an engine | plan |
//! | [`tick`] | one tick of one database | plan, store |
//! | [`census`] | the counts, apart from the sweep | plan, store |
//! | [`clock`] | reads the clocks, once a tick | plan |
//! | [`memory`] | what must outlive a process: `state_dir`, the only files of ours; judges the guards by it | config, plan |
//! | [`schedule`] | rings bells | clock, config, plan |
//! | [`observe`] | is told, and shows: metrics, status page, log; serves them | listener, plan |
//! | [`record`] | the write side: keys and operations for an application | clock, plan, store |
//! | [`daemon`], [`cli`] | wiring; the commands | everyone |
//!
//! A test keeps these walls.
//!
//! # The life of a tick
//!
//! ```text
//! bell -> worker -> tick (clock once) -> plan -> search, batch <-> store -> events, report -> observe
//! ```
//!
//! The [`schedule`] rings a database's bell; its worker in [`daemon`] reads the clock, learns which
//! tables there are, asks [`memory`] what the guards say, and calls [`tick::tick`], which inspects the
//! schema, lets [`plan`] find what is wrong with it, and gives each table a turn: a step of the search
//! outside the write lock, or a batch inside it, and a rest. Every committed batch and every report is
//! told to [`observe`], which is what people and Prometheus read. The command `sweep` calls the same
//! function without a bell.
//!
//! From batches and censuses the worker learns how many rows become due and how many are left
//! ([`plan::Flow`]); that sets the pace of the next tick. All workers share a bound on the databases that
//! are open at once ([`store::sqlite::Openings`]): a connection is let go in a long rest, and in a short one
//! where others wait.
#![forbid(unsafe_code)]

pub mod census;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod discover;
pub mod listener;
pub mod memory;
pub mod observe;
pub mod plan;
pub mod record;
pub mod schedule;
pub mod store;
pub mod tick;
