//! The application of the demo: it uses the library as a service would, in a thread of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock;
use crate::record::{Keys, KeysError, Response, StateCounts};

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const BETWEEN_REQUESTS: Duration = Duration::from_millis(20);
const REPLAYED_FOR: Duration = Duration::from_secs(5);
/// One in so many is reserved and never finished, as after a crash.
const ABANDONED_EVERY: u64 = 50;

#[derive(Debug, Default)]
struct Progress {
    reserved: AtomicU64,
    finished: AtomicU64,
    stop: AtomicBool,
}

/// A simulated application at work.
#[derive(Debug)]
pub(super) struct Application {
    progress: Arc<Progress>,
    thread: JoinHandle<Result<StateCounts, KeysError>>,
}

impl Application {
    /// Create the database, and work on it until told to stop.
    pub fn start(path: &Path) -> Result<Self, KeysError> {
        let keys = Keys::create(path, BUSY_TIMEOUT)?;
        let progress = Arc::new(Progress::default());
        let thread = std::thread::spawn({
            let progress = Arc::clone(&progress);
            move || work(keys, &progress)
        });
        Ok(Self { progress, thread })
    }

    pub fn reserved(&self) -> u64 {
        self.progress.reserved.load(Ordering::Relaxed)
    }

    pub fn finished(&self) -> u64 {
        self.progress.finished.load(Ordering::Relaxed)
    }

    /// Stop, and count what is left.
    pub fn stop(self) -> Result<StateCounts, KeysError> {
        self.progress.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn work(keys: Keys, progress: &Progress) -> Result<StateCounts, KeysError> {
    let mut request = 0_u64;
    while !progress.stop.load(Ordering::Relaxed) {
        request += 1;
        handle(&keys, request, progress)?;
        std::thread::sleep(BETWEEN_REQUESTS);
    }
    keys.counts()
}

fn handle(keys: &Keys, request: u64, progress: &Progress) -> Result<(), KeysError> {
    let key = format!("request-{request:06}");
    let Some(expires) = clock::now().after(REPLAYED_FOR) else { return Ok(()) };
    if keys.reserve(&key, "v1", expires)? {
        progress.reserved.fetch_add(1, Ordering::Relaxed);
    }
    if request.is_multiple_of(ABANDONED_EVERY) {
        return Ok(());
    }
    let response: Result<Response, _> = format!(r#"{{"receipt":{request}}}"#).parse();
    if let Ok(response) = response
        && keys.finish(&key, "v1", &response)?
    {
        progress.finished.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
