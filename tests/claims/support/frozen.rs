//! The binary at an instant at which the wall clock stands still, by the Debian package `faketime`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::{Answer, BINARY, run};

/// The library of the package, in the folder of this machine's architecture.
fn library() -> PathBuf {
    let folders = Path::new("/usr/lib").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let library = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
    library.expect("the Debian package `faketime` is installed")
}

/// `keysweep` while the wall clock stands still at this unix second, in this time zone.
pub fn keysweep_frozen_at<S: AsRef<std::ffi::OsStr>>(
    now: i64,
    zone: &str,
    args: impl IntoIterator<Item = S>,
) -> Answer {
    let mut command = Command::new(BINARY);
    command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("TZ", zone);
    command.env("LD_PRELOAD", library()).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    run(command.env("FAKETIME_FMT", "%s").env("FAKETIME", now.to_string()))
}
