//! Starting the real things, and waiting for what they do.

pub mod application;
pub mod command;
pub mod container;
pub mod daemon;
pub mod database;
pub mod everything;
pub mod faked;
pub mod frozen;
pub mod holder;
pub mod identity;
pub mod library;
pub mod lock;
pub mod prometheus;
pub mod tenants;
pub mod terminal;
pub mod unasked;
pub mod users;
pub mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

pub use application::Application;
pub use command::{Answer, keysweep};
pub use daemon::Daemon;
pub use database::{Database, Journal};
pub use everything::Everything;

/// Longer than anything takes that works, also on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The same for the long forms.
const LONG_PATIENCE: Duration = Duration::from_secs(3_600);

/// Whether the long forms are asked for: `KEYSWEEP_LONG=1`.
pub fn is_long() -> bool {
    std::env::var_os("KEYSWEEP_LONG").is_some()
}

/// Wait until `look` finds something, for as long as [`PATIENCE`].
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    let patience = if is_long() { LONG_PATIENCE } else { PATIENCE };
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < patience, "waited in vain for {what}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// The text of a document of this repository.
pub fn document(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The wall clock in unix seconds.
pub fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// Whether a process has this file open at this moment.
pub fn has_open(pid: u32, file: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    open.flatten().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|link| link == file))
}

/// Where tests/run puts what tests/python.txt names.
pub fn python_tools() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
    target.join("tests-tools")
}
