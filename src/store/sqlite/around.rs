//! What lies around a database file, asked of the kernel without opening anything.

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statfs, statx};

use super::access::{Access, admit};
use super::working::{Trouble, Working};
use crate::plan::{FileSystem, Surroundings};

pub(super) fn surroundings(working: &Working) -> Result<Surroundings, Trouble> {
    let path = &working.file.path;
    let file = admit(path, Access::Read).map_err(Trouble::Failed)?;
    // A kernel or a file system that does not tell gives no reason for a finding.
    let file_system =
        statfs(path).map_or(FileSystem::Local, |system| FileSystem::of_magic(system.f_type as u32));
    let is_mount = statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS)
        .is_ok_and(|file| file.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
    Ok(Surroundings {
        path: path.display().to_string(),
        journal: working.open.journal,
        file_system,
        is_mount,
        wal: file.wal_size,
    })
}
