//! A wall clock that is ours to set. The monotonic and the boot-time clock are the real ones.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Daemon;
use super::command::{Answer, BINARY, run};

/// The library of the Debian package `faketime`, in the folder of this machine's architecture.
fn faketime() -> PathBuf {
    let folders = Path::new("/usr/lib").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let library = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
    library.expect("the Debian package `faketime` is installed")
}

/// A daemon whose wall clock is ours to set. Its monotonic clock is the real one.
pub struct Faked {
    pub daemon: Daemon,
    clock: PathBuf,
}

impl Faked {
    /// Start it at the real time and so much, as the library writes it: `+0`, `-365d`, `+90s`.
    pub fn start(config: &Path, offset: &str) -> Self {
        let clock = config.with_file_name("clock");
        set_clock(&clock, offset);
        let mut command = Command::new(BINARY);
        command.arg("--config").arg(config).arg("run");
        Self { daemon: Daemon::start_command(fake(&mut command, &clock)), clock }
    }

    /// Show the real time and so much.
    pub fn jump_to(&self, offset: &str) {
        set_clock(&self.clock, offset);
    }
}

/// In one step, because the clock is read meanwhile.
fn set_clock(file: &Path, offset: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{offset}\n")).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// Run `keysweep` to its end, at the real time and so much.
pub fn keysweep_at<S: AsRef<OsStr>>(offset: &str, args: impl IntoIterator<Item = S>) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    set_clock(&clock, offset);
    let mut command = Command::new(BINARY);
    run(fake(command.args(args), &clock))
}

fn fake<'a>(command: &'a mut Command, clock: &Path) -> &'a mut Command {
    command.env("LD_PRELOAD", faketime()).env("FAKETIME_TIMESTAMP_FILE", clock);
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
}
