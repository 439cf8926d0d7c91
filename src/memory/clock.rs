//! The last readings that were trusted, and what the wall clock is held for.

use super::files::Folder;
use super::format::{ClockFormat, File};
use crate::plan::{ClockJump, Failure, FailureKind, Reading};

const NAME: &str = "clock.json";
/// Seconds between two writes: a crash forgets no more.
const EVERY: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Clocks {
    /// The last reading that was trusted, or why it cannot be read. Nothing: the first one is.
    trusted: Result<Option<Reading>, String>,
    /// The reading that was written last.
    written: Option<Reading>,
    /// What was said when the hold began.
    standing: Option<Failure>,
    /// The latest write failed.
    failing: bool,
}

impl Clocks {
    pub fn read(folder: Option<&Folder>) -> Self {
        let trusted = folder.map_or(Ok(None), load);
        Self { trusted, written: None, standing: None, failing: false }
    }

    /// Why this reading is not trusted; `accept` is what a person does where it is right.
    pub fn judge(&mut self, now: &Reading, folder: Option<&Folder>, accept: Option<&str>) -> Option<Failure> {
        if let Some(folder) = folder.filter(|_| self.doubt(now, accept).is_some()) {
            // Another process may know better: somebody accepted the clock there.
            self.trusted = load(folder);
        }
        let doubt = self.doubt(now, accept);
        self.standing = doubt.map(|doubt| self.standing.take().unwrap_or(doubt));
        self.standing.clone()
    }

    fn doubt(&self, now: &Reading, accept: Option<&str>) -> Option<Failure> {
        let accept = accept.unwrap_or("restart keysweep");
        match &self.trusted {
            Ok(trusted) => ClockJump::seen(trusted.as_ref()?, now).map(|jump| jump.failure(accept)),
            // Whether the clock is right cannot be known: that is not the same as a first run.
            Err(why) => {
                let remedy = format!("see that the wall clock is right, then: {accept}");
                Some(Failure::new(FailureKind::Guard, why.as_str(), remedy))
            }
        }
    }

    pub fn trust(&mut self, now: &Reading) {
        self.trusted = Ok(Some(now.clone()));
        self.standing = None;
    }

    /// Whether the reading that is trusted should be written now.
    pub fn is_due(&self) -> bool {
        let Ok(Some(trusted)) = &self.trusted else { return false };
        let since = self.written.as_ref().and_then(|written| trusted.in_this_boot_since(written));
        since.is_none_or(|since| since.as_secs_f64() >= EVERY)
    }

    /// A write that fails only makes the next process doubt more.
    pub fn write(&mut self, folder: &Folder) {
        let Ok(Some(trusted)) = &self.trusted else { return };
        if self.written.as_ref() == Some(trusted) {
            return;
        }
        let path = folder.path(NAME).display().to_string();
        match folder.write(NAME, &File::new(ClockFormat { trusted: trusted.into() })) {
            Ok(()) => {
                if std::mem::take(&mut self.failing) {
                    tracing::info!(path, "can be written again");
                }
                self.written = Some(trusted.clone());
            }
            Err(error) if !std::mem::replace(&mut self.failing, true) => {
                let error = error.to_string();
                tracing::warn!(path, error, "cannot be written: after a restart the clock is held sooner");
            }
            Err(_) => {}
        }
    }
}

fn load(folder: &Folder) -> Result<Option<Reading>, String> {
    let read = || match folder.read::<File<ClockFormat>>(NAME)? {
        Some(file) => Reading::try_from(file.opened()?.trusted).map(Some),
        None => Ok(None),
    };
    read().map_err(|error| format!("{} cannot be read: {error}", folder.path(NAME).display()))
}
