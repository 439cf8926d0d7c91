//! Whether the files that SQLite may create beside a database will be the application's to use.

use super::{Failure, FailureKind};

/// What `stat` says of a database file and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The file, as it was found.
    pub path: String,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its permission bits.
    pub mode: u32,
    /// The group of its folder.
    pub folder_gid: u32,
    /// The permission bits of its folder.
    pub folder_mode: u32,
}

/// Who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Us {
    /// The user that we run as.
    pub uid: u32,
    /// Whether we are root and may give a file to another user, which SQLite then does by itself.
    pub may_chown: bool,
}

const SETGID: u32 = 0o2000;
const STICKY: u32 = 0o1000;
const GROUP_READ_WRITE: u32 = 0o060;

/// A `-wal`, `-shm` or `-journal` of ours must be readable, writable and removable for the
/// application, also after a `kill -9`: we are its user, or root who hands files over, or the
/// folder hands its group down and the database is shared with that group.
///
/// # Errors
/// A [`Failure`] of kind `ownership` with the commands that mend it.
pub fn may_share_files(file: &FileFacts, us: Us) -> Result<(), Failure> {
    let handed_down = file.folder_mode & SETGID != 0
        && file.folder_mode & STICKY == 0
        && file.folder_gid == file.gid
        && file.mode & GROUP_READ_WRITE == GROUP_READ_WRITE
        && file.folder_mode & 0o070 == 0o070;
    if us.uid == file.uid || us.may_chown || handed_down {
        return Ok(());
    }
    let what = format!(
        "{} belongs to user {}, keysweep runs as user {}, and the folder does not hand its group down: \
         the -wal, -shm or -journal that SQLite creates here would lock the application out",
        file.path, file.uid, us.uid,
    );
    let remedy = format!(
        "run keysweep as user {}, or share the folder with group {}: `chgrp {2} FOLDER FILE && chmod g+rwxs FOLDER && chmod g+rw FILE`",
        file.uid, file.gid, file.gid,
    );
    Err(Failure::new(FailureKind::Ownership, what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theirs() -> FileFacts {
        FileFacts {
            path: "/srv/app.db".into(),
            uid: 1000,
            gid: 50,
            mode: 0o660,
            folder_gid: 50,
            folder_mode: 0o2770,
        }
    }

    const OTHER: Us = Us { uid: 2000, may_chown: false };

    #[test]
    fn the_owner_root_and_a_folder_that_hands_its_group_down_may() {
        let plain = FileFacts { folder_mode: 0o770, ..theirs() };
        assert!(may_share_files(&plain, Us { uid: 1000, may_chown: false }).is_ok());
        assert!(may_share_files(&plain, Us { uid: 0, may_chown: true }).is_ok());
        assert!(may_share_files(&theirs(), OTHER).is_ok());
    }

    #[test]
    fn anything_less_may_not() {
        let less = [
            FileFacts { folder_mode: 0o770, ..theirs() },
            FileFacts { folder_mode: 0o3770, ..theirs() },
            FileFacts { folder_gid: 51, ..theirs() },
            FileFacts { mode: 0o640, ..theirs() },
            FileFacts { folder_mode: 0o2750, ..theirs() },
        ];
        for facts in less {
            let failure = may_share_files(&facts, OTHER).unwrap_err();
            assert_eq!(failure.kind(), FailureKind::Ownership, "{facts:?}");
            assert!(failure.to_string().contains("/srv/app.db"));
        }
        let root_without_the_right = Us { uid: 0, may_chown: false };
        let plain = FileFacts { folder_mode: 0o770, ..theirs() };
        assert!(may_share_files(&plain, root_without_the_right).is_err());
    }
}
