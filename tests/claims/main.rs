//! What keysweep claims, each claim shown against the real thing: the built binary, the
//! distribution's `sqlite3`, Python, Prometheus. One file a subject; `support` starts the real things.

mod support;

mod clocks;
mod daemon;
mod demo;
mod http;
mod logs;
mod looking;
mod prometheus;
