//! Who we are, and what we may do with a file and its folder.

use std::io;
use std::path::Path;

use rustix::fs::Access as Rights;

use super::access::{Access, beside, refuse};
use crate::plan::{Failure, FailureKind, Us};

const READ_ONLY: &str = "mount the file system so that it can be written (under systemd also ReadWritePaths=, in a container without `readOnly`)";

pub(super) fn check_rights(shown: &Path, file: &Path, folder: &Path, access: Access) -> Result<(), Failure> {
    let mut needed = vec![(file, Rights::READ_OK, "read")];
    // A reader of a WAL database makes the -wal and -shm that are missing, and with the mode of a
    // file that nobody may write: then neither the application nor we could write it, mended or not.
    if access == Access::Write || !beside(file, "-shm").exists() {
        needed.push((file, Rights::WRITE_OK, "write"));
        needed.push((folder, Rights::WRITE_OK | Rights::EXEC_OK, "create a journal in the folder of"));
    }
    for (path, rights, verb) in needed {
        rustix::fs::access(path, rights).map_err(|errno| {
            let user = rustix::process::geteuid().as_raw();
            let what = format!("user {user} may not {verb} {}: {}", shown.display(), io::Error::from(errno));
            if errno == rustix::io::Errno::ROFS {
                return Failure::new(FailureKind::Permission, what, READ_ONLY);
            }
            refuse(FailureKind::Permission, what)
        })?;
    }
    Ok(())
}

pub(super) fn us() -> Us {
    let uid = rustix::process::geteuid();
    // SQLite hands its files over only as root, and a container's root may lack the right.
    let may_chown = uid.is_root()
        && rustix::thread::capabilities(None)
            .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::CHOWN));
    Us { uid: uid.as_raw(), may_chown }
}
