//! What must outlive a process, in `state_dir`: the only place that writes files of ours.
//!
//! ```text
//! clock.json           the last readings that were trusted
//! horizon-NAME.json    of each database: the retentions accepted, and those that are shown
//! pause                while it is there, nothing is deleted
//! accept-clock         the wall clock is right: obeyed once, and removed
//! accept-horizon       what is shown may be acted on: obeyed once, and removed
//! ```
//!
//! Files are replaced in one step, so that several processes can share a folder: the last one to write
//! wins, and what the other one loses is a hold that comes back.

mod clock;
mod files;
mod format;
mod horizons;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::clock::Clocks;
use self::files::Folder;
use crate::config::Database;
use crate::plan::{Failure, FailureKind, Guards, Pause, Reading, Rule};

const PAUSE: &str = "pause";
const ACCEPT_CLOCK: &str = "accept-clock";
const ACCEPT_HORIZON: &str = "accept-horizon";

/// What is remembered of clocks and horizons. A clone is the same memory.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Remembered>);

#[derive(Debug)]
struct Remembered {
    folder: Option<Folder>,
    clocks: Mutex<Clocks>,
    /// Guards what is read, changed and written of horizons within this process.
    horizons: Mutex<()>,
    role: Role,
    /// A person's word for a command that goes from one database to the next.
    accepted: AtomicBool,
}

/// What this process does with what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It sweeps until it is stopped.
    Daemon,
    /// It sweeps once, one database after the other.
    Command,
    /// It changes nothing, here neither: `check` and a dry run.
    Onlooker,
}

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}; {}", self.what(), self.remedy())]
pub struct StateDirError {
    folder: PathBuf,
    why: io::Error,
}

impl StateDirError {
    /// What is wrong with it.
    #[must_use]
    pub fn what(&self) -> String {
        format!("state_dir {} cannot be used: {}", self.folder.display(), self.why)
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        "make it a folder that keysweep's user can write to (systemd: StateDirectory=keysweep), or leave it \
         out, and then no horizon is guarded"
    }
}

impl Memory {
    /// A memory in this folder; without one, as [`Memory::of_this_process`].
    ///
    /// # Errors
    /// [`StateDirError`] where there is no such folder, or where a role that writes cannot write. A guard
    /// that cannot remember must not look like one that can.
    pub fn open(folder: Option<&Path>, role: Role) -> Result<Self, StateDirError> {
        Ok(Self::new(folder.map(|path| Folder::open(path, role != Role::Onlooker)).transpose()?, role))
    }

    /// A memory that lasts as long as the process and knows no horizons.
    #[must_use]
    pub fn of_this_process(role: Role) -> Self {
        Self::new(None, role)
    }

    fn new(folder: Option<Folder>, role: Role) -> Self {
        let clocks = Mutex::new(Clocks::read(folder.as_ref()));
        let (horizons, accepted) = (Mutex::new(()), AtomicBool::new(false));
        Self(Arc::new(Remembered { folder, clocks, horizons, role, accepted }))
    }

    /// Whether a role that writes could write in the folder, without a try.
    ///
    /// # Errors
    /// [`StateDirError`] where it could not.
    pub fn may_be_written(&self) -> Result<(), StateDirError> {
        self.0.folder.as_ref().map_or(Ok(()), Folder::may_be_written)
    }

    /// Judge the guards of a database, off the async threads where it reads files, and may write some.
    pub async fn guards(&self, database: &Database, rules: &[Rule], now: &Reading) -> Guards {
        if self.0.folder.is_none() {
            return self.judge(database, rules, now);
        }
        let (memory, one, rules, now) = (self.clone(), database.clone(), rules.to_vec(), now.clone());
        let judged = tokio::task::spawn_blocking(move || memory.judge(&one, &rules, &now)).await;
        judged.unwrap_or_else(|error| {
            let what = format!("the guards of {} broke off: {error}", database.name);
            let why = Failure::new(FailureKind::Internal, what, "report this; the next tick tries again");
            Guards { clock: Some(why), ..Guards::default() }
        })
    }

    fn judge(&self, database: &Database, rules: &[Rule], now: &Reading) -> Guards {
        let mut guards = Guards {
            pause: Some(Arc::clone(&self.0) as Arc<dyn Pause>),
            clock: self.0.clock(now),
            horizons: Vec::new(),
            max_share: database.max_share,
            window: database.window,
        };
        // A horizon is shown only while nothing else is in its place.
        if self.0.role == Role::Onlooker || (database.enabled && guards.hold().is_none()) {
            guards.horizons = self.0.horizons(database, rules, now);
        }
        guards
    }

    /// Write what was not written yet.
    pub fn close(&self) {
        let Some(folder) = self.0.folder() else { return };
        locked(&self.0.clocks).write(folder);
    }
}

impl Remembered {
    /// Where this process may write.
    fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref().filter(|_| self.role != Role::Onlooker)
    }

    fn clock(&self, now: &Reading) -> Option<Failure> {
        let mut clocks = locked(&self.clocks);
        let accept = self.folder.as_ref().map(|folder| folder.touch(ACCEPT_CLOCK));
        let held = clocks.judge(now, self.folder.as_ref(), accept.as_deref());
        let accepted = self.obeys(ACCEPT_CLOCK, held.is_some());
        if held.is_none() || accepted {
            clocks.trust(now);
        }
        if let Some(folder) = self.folder().filter(|_| accepted || clocks.is_due()) {
            clocks.write(folder);
        }
        held.filter(|_| !accepted)
    }

    /// Whether a person left this word. It is obeyed for what is held now, never for what comes later.
    fn obeys(&self, word: &'static str, held: bool) -> bool {
        let Some(folder) = self.folder.as_ref().filter(|folder| folder.has(word)) else { return false };
        if self.role != Role::Onlooker {
            folder.remove(word, held);
        }
        held
    }
}

impl Pause for Remembered {
    fn pause(&self) -> Option<Failure> {
        let folder = self.folder.as_ref().filter(|folder| folder.has(PAUSE))?;
        let path = folder.path(PAUSE);
        let what = format!("{} is there: nothing is deleted while it is", path.display());
        Some(Failure::new(FailureKind::Guard, what, format!("to go on: rm {}", folder.word_path(PAUSE))))
    }
}

/// A panic elsewhere must not stop the guards.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
