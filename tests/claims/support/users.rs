//! Users who are not root, and where they may go.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::BINARY;

/// A user as numbers: the tests run as root and need no account.
#[derive(Debug, Clone, Copy)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    /// A further group.
    pub group: Option<u32>,
}

/// The group that the application shares its folder with.
pub const SHARED_GROUP: u32 = 4100;
/// The user of the application.
pub const APPLICATION: User = User { uid: 4001, gid: SHARED_GROUP, group: None };
/// A user for keysweep, in the application's group.
pub const SWEEPER: User = User { uid: 4002, gid: 4002, group: Some(SHARED_GROUP) };

impl User {
    /// A command that starts this program as the user, with nothing of our environment but PATH.
    pub fn command(self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        let groups = self.group.map_or_else(|| "--clear-groups".into(), |group| format!("--groups={group}"));
        command.arg(format!("--reuid={}", self.uid)).arg(format!("--regid={}", self.gid)).arg(groups);
        command.arg(program).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command
    }
}

/// Give a file or folder to a user.
pub fn give(path: &Path, user: User) {
    chown(path, Some(user.uid), Some(user.gid)).unwrap();
}

/// Set the permission bits.
pub fn permit(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A copy of the built binary in this folder, which any user may start.
pub fn public_binary(folder: &Path) -> PathBuf {
    let binary = folder.join("keysweep");
    // By another process: a file that this one has open for writing, and so each child that is
    // started meanwhile, cannot be run.
    let copied = Command::new("install").args(["-m", "755", BINARY]).arg(&binary).status().unwrap();
    assert!(copied.success(), "cannot copy {BINARY} to {binary:?}");
    permit(folder, 0o755);
    binary
}
