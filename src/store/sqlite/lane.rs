//! The way through the blocking pool: a connection goes in with a piece of work and comes back.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::access::{Access, Identity};
use super::failure::remedy;
use super::openings::Openings;
use super::working::{Opening, Trouble, Working};
use crate::plan::{Failure, FailureKind};

/// The first and the longest wait between two tries for a lock.
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(25);
/// A rest in which a connection is worth opening again for others' sake, and for its own: some
/// hundred times what that takes.
const SHORT_REST: Duration = Duration::from_millis(50);
const LONG_REST: Duration = Duration::from_secs(1);
/// A connection that never rests is let go after this, where others wait for one.
const LONGEST_TURN: Duration = Duration::from_secs(1);

/// One connection, opened at a piece of work that finds none, and one piece of work at a time.
#[derive(Debug)]
pub(super) struct Lane {
    pub path: PathBuf,
    pub access: Access,
    busy_timeout: Duration,
    stop: CancellationToken,
    openings: Openings,
    /// Nothing before the first piece of work, after it was let go, and while a piece of work has it.
    working: Option<Working>,
    /// The file that it was opened for, also once it was let go.
    opened: Option<Identity>,
    /// For how long pieces of work were worked on that came to an answer.
    pub worked: Duration,
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// A walk through a table that is cut into windows.
pub(super) trait Windows: Send + 'static {
    /// One more window. Nothing when the table is at its end, else how long it took.
    fn window(&mut self, connection: &Connection) -> rusqlite::Result<Option<Duration>>;
}

impl Lane {
    pub fn new(path: PathBuf, access: Access, busy_timeout: Duration, stop: CancellationToken) -> Self {
        let openings = Openings::default();
        Self {
            path,
            access,
            busy_timeout,
            stop,
            openings,
            working: None,
            opened: None,
            worked: Duration::ZERO,
        }
    }

    /// Share a bound on open databases with others.
    pub fn share(&mut self, openings: Openings) {
        self.openings = openings;
    }

    /// A rest of this length begins. A connection that others wait for is let go, and so is one that would
    /// lie idle for long.
    pub fn rest(&mut self, length: Duration) {
        if length >= LONG_REST || (length >= SHORT_REST && self.openings.are_short()) {
            self.let_go();
        }
    }

    /// Closing reads and unlocks files, and may wait for a disk: not on a thread that others need.
    fn let_go(&mut self) {
        let Some(working) = self.working.take() else { return };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(move || drop(working));
        }
    }

    /// Run `work` on the connection in the blocking pool, again while another connection is in the
    /// way, at most for `busy_timeout`. Gives the answer and how long it had to wait.
    pub async fn call<T, F>(&mut self, action: &'static str, work: F) -> Result<(T, Duration), Failure>
    where
        T: Send + 'static,
        F: FnMut(&Working) -> Result<T, Trouble> + Send + 'static,
    {
        let mut work = work;
        let mut pause = FIRST_WAIT;
        let mut waited = Duration::ZERO;
        loop {
            // To wait for others who are open is not to wait for a lock.
            let opening = self.opening(action).await?;
            let tried = Instant::now();
            let (back, answer) = self.once(opening, work).await?;
            work = back;
            match answer {
                Ok(answer) => {
                    self.worked += tried.elapsed();
                    return Ok((answer, waited));
                }
                Err(Trouble::Failed(failure)) => return Err(failure),
                Err(Trouble::Busy(why)) if waited + tried.elapsed() >= self.busy_timeout => {
                    return Err(why.unwrap_or_else(|| self.locked(action)));
                }
                Err(Trouble::Busy(_)) if self.openings.are_short() => self.let_go(),
                Err(Trouble::Busy(_)) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.cancelled() => return Err(self.stopped(action)),
            }
            waited += tried.elapsed();
            pause = (pause * 2).min(LONGEST_WAIT);
        }
    }

    /// What it takes to open a connection, where there is none. Others that are open may have to end first.
    async fn opening(&mut self, action: &str) -> Result<Opening, Failure> {
        let is_long = self.working.as_ref().is_some_and(|working| working.since.elapsed() > LONGEST_TURN);
        if is_long && self.openings.are_short() {
            self.let_go();
        }
        let permit = match &self.working {
            Some(_) => None,
            None => match self.stop.run_until_cancelled(self.openings.take()).await {
                Some(permit) => permit,
                None => return Err(self.stopped(action)),
            },
        };
        let (path, access, stop) = (self.path.clone(), self.access, self.stop.clone());
        Ok(Opening { path, access, stop, permit, expected: self.opened })
    }

    async fn once<T, F>(&mut self, opening: Opening, mut work: F) -> Result<(F, Result<T, Trouble>), Failure>
    where
        T: Send + 'static,
        F: FnMut(&Working) -> Result<T, Trouble> + Send + 'static,
    {
        let working = self.working.take();
        let done = blocking(&self.path, move || {
            let working = match working.map_or_else(|| Working::open(opening), Ok) {
                Ok(working) => working,
                Err(trouble) => return (None, work, Err(trouble)),
            };
            let answer = work(&working);
            let is_replaced =
                matches!(&answer, Err(Trouble::Failed(failure)) if failure.kind() == FailureKind::Replaced);
            // The next call opens the file that is there now.
            ((!is_replaced).then_some(working), work, answer)
        });
        let (working, work, answer) = done.await?;
        self.opened = match &answer {
            Err(Trouble::Failed(failure)) if failure.kind() == FailureKind::Replaced => None,
            _ => working.as_ref().map(|working| working.file.identity).or(self.opened),
        };
        self.working = working;
        Ok((work, answer))
    }

    fn locked(&self, action: &str) -> Failure {
        let what = format!(
            "cannot {action} in {}: another connection held its lock for longer than busy_timeout = {:?}",
            self.path.display(),
            self.busy_timeout
        );
        Failure::new(FailureKind::Busy, what, remedy(FailureKind::Busy))
    }

    fn stopped(&self, action: &str) -> Failure {
        let what = format!("told to stop before it could {action} in {}", self.path.display());
        Failure::new(FailureKind::Interrupted, what, remedy(FailureKind::Interrupted))
    }

    /// Window by window through a table; between two windows writers get their turn.
    pub async fn walk<W: Windows>(&mut self, action: &'static str, windows: W) -> Result<W, Failure> {
        let windows = Arc::new(Mutex::new(windows));
        loop {
            let shared = Arc::clone(&windows);
            let window = move |working: &Working| {
                // Poisoned means that a panic left a half-counted window, and that the call failed.
                let mut windows = shared.lock().unwrap_or_else(PoisonError::into_inner);
                working.read(action, |connection| windows.window(connection))
            };
            let Some(took) = self.call(action, window).await?.0 else { break };
            tokio::select! {
                () = tokio::time::sleep(took) => {}
                () = self.stop.cancelled() => return Err(self.stopped(action)),
            }
        }
        let windows = Arc::into_inner(windows).and_then(|windows| windows.into_inner().ok());
        windows.ok_or_else(|| self.stopped(action))
    }
}

/// Anything that may block, off the async threads. A panic in it is this database's failure.
pub(super) async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let what = format!("work on {} broke off: {error}", path.display());
        Failure::new(FailureKind::Internal, what, remedy(FailureKind::Internal))
    })
}
