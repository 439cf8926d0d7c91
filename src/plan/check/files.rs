//! Where a database file lies.

use super::super::{Finding, Journal, shell_word};

/// What kind of file system a file lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// One on which locks and shared memory work as on a disk of this machine.
    Local,
    /// One of another machine or of a program, by its name.
    Remote(&'static str),
}

/// File systems on which a lock may not be one and memory is not shared, by the number in `statfs`.
const REMOTE: [(u32, &str); 15] = [
    (0x6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x517B, "SMB"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x7461_636F, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "kAFS"),
    (0x7375_7245, "Coda"),
    (0x0BD0_0BD0, "Lustre"),
    (0x1983_0326, "BeeGFS"),
    (0x786F_4256, "VirtualBox shared folder"),
];

impl FileSystem {
    /// The kind that `statfs` means by its `f_type`, of which only the lower 32 bits count.
    #[must_use]
    pub fn of_magic(magic: u32) -> Self {
        let remote = REMOTE.iter().find(|(known, _)| *known == magic);
        remote.map_or(Self::Local, |(_, name)| Self::Remote(name))
    }
}

/// What lies around a database file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The file, for messages.
    pub path: String,
    /// How transactions are kept.
    pub journal: Journal,
    /// What it lies on.
    pub file_system: FileSystem,
    /// Whether the file itself is mounted, apart from its folder.
    pub is_mount: bool,
    /// The size of the `-wal` in bytes, 0 where there is none.
    pub wal: u64,
}

/// A log beyond this makes every read slower: SQLite begins to move it at 4 MiB.
const HUGE_WAL: u64 = 256 << 20;

/// Everything that is worth saying of where a file lies, the severe first.
#[must_use]
pub fn file_findings(around: &Surroundings) -> Vec<Finding> {
    [mounted(around), remote(around), huge_wal(around)].into_iter().flatten().collect()
}

fn mounted(around: &Surroundings) -> Option<Finding> {
    let journal = match around.journal {
        Journal::Wal => "-wal and -shm",
        Journal::Rollback => "-journal",
    };
    let what = format!(
        "{} is mounted by itself, without its folder: the {journal} beside it here is not the application's, \
         so that each would miss what the other has written, and damage the file",
        around.path
    );
    around
        .is_mount
        .then(|| Finding::fault(&what, "mount the folder of the database instead of the single file"))
}

fn remote(around: &Surroundings) -> Option<Finding> {
    let FileSystem::Remote(name) = around.file_system else { return None };
    let what = format!("{} lies on {name}", around.path);
    Some(match around.journal {
        Journal::Wal => Finding::fault(
            &format!(
                "{what}, and WAL mode needs memory that all its users share: it is damaged as soon as another machine opens it"
            ),
            "move the database to a disk of this machine, or run `PRAGMA journal_mode = DELETE` on it",
        ),
        Journal::Rollback => Finding::advice(
            &format!("{what}: it is only as safe as the locks there"),
            "move the database to a disk of this machine, or make sure that nobody opens it from another one",
        ),
    })
}

fn huge_wal(around: &Surroundings) -> Option<Finding> {
    let what = format!(
        "the -wal of {} has grown to {} MiB: a reader that never ends, or nobody who checkpoints, keeps it so",
        around.path,
        around.wal >> 20
    );
    let remedy = format!(
        "end the long reader, then run `sqlite3 {} 'PRAGMA wal_checkpoint(TRUNCATE)'` with SQLite 3.51.3 or newer, or \
         while nothing else writes to the file: older ones can corrupt it",
        shell_word(&around.path)
    );
    (around.wal >= HUGE_WAL).then(|| Finding::advice(&what, &remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Severity;

    const GOOD: Surroundings = Surroundings {
        path: String::new(),
        journal: Journal::Wal,
        file_system: FileSystem::Local,
        is_mount: false,
        wal: 0,
    };

    fn found(around: &Surroundings) -> Vec<Severity> {
        file_findings(around).into_iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn a_file_in_its_folder_on_a_disk_has_no_finding() {
        assert_eq!(found(&GOOD), []);
        assert_eq!(found(&Surroundings { journal: Journal::Rollback, wal: HUGE_WAL - 1, ..GOOD }), []);
    }

    #[test]
    fn a_network_file_system_is_a_fault_in_wal_mode_and_advice_without() {
        let file_system = FileSystem::of_magic(0x6969);
        assert_eq!(file_system, FileSystem::Remote("NFS"));
        assert_eq!(found(&Surroundings { file_system, ..GOOD }), [Severity::Fault]);
        let rollback = Surroundings { file_system, journal: Journal::Rollback, ..GOOD };
        assert_eq!(found(&rollback), [Severity::Advice]);
    }

    #[test]
    fn disks_are_local_and_what_is_remote_is_named() {
        // ext4, xfs, btrfs, zfs, tmpfs, overlayfs.
        for magic in [0xEF53, 0x5846_5342, 0x9123_683E, 0x2FC1_2FC1, 0x0102_1994, 0x794C_7630] {
            assert_eq!(FileSystem::of_magic(magic), FileSystem::Local, "{magic:x}");
        }
        let remote =
            [(0xFF53_4D42, "CIFS"), (0x6573_5546, "FUSE"), (0x0102_1997, "9p"), (0x00C3_6400, "Ceph")];
        for (magic, name) in remote {
            assert_eq!(FileSystem::of_magic(magic), FileSystem::Remote(name));
        }
    }
}
