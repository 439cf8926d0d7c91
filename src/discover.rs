//! Which databases there are at this moment: the blocks of the config, each pattern followed.
//!
//! By reading folders and `stat` alone. No file is opened: to close a target with a plain call
//! would drop every lock that SQLite holds on it in this process.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config::{Block, Database, Glob, Location, Part, Wild};
use crate::plan::{DatabaseName, Failure, FailureKind, HoldReason, Report, Rule, Stop, UnixTime};

/// What a look found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Those with a path first, then those of the patterns, each in the order of the file. The
    /// labels are unique.
    pub members: Vec<Member>,
    /// What could not be followed or named and is left out, with the name of the block.
    pub troubles: Vec<(DatabaseName, Failure)>,
}

/// A database of the config.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The name of the block that it is from.
    pub block: DatabaseName,
    /// The database. One with a path is here whether its file exists or not.
    pub database: Database,
    /// Its file as of this look; nothing where it cannot be looked at.
    pub file: Option<Identity>,
    /// Its file is another member's too, who has it: nothing is done to it under this name.
    pub taken: Option<Failure>,
}

/// A file, whatever name it goes by: device and inode.
pub type Identity = (u64, u64);

impl Member {
    /// Whether the same is to be done to the same database, whichever file is there now.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.database == other.database && self.taken == other.taken
    }

    /// What a tick reports of each table while the file is another member's; nothing otherwise.
    #[must_use]
    pub fn held(&self, now: UnixTime) -> Option<Vec<Report>> {
        let failure = self.taken.as_ref()?;
        let held = |rule: &Rule| Report {
            stop: Stop::Held,
            held: Some(HoldReason::Ownership),
            error: Some(failure.clone()),
            ..Report::new(self.database.name.clone(), rule.label.clone(), now, rule.cutoff(now))
        };
        Some(self.database.rules.as_written().iter().map(held).collect())
    }

    /// Whether the work on one might meet that on the other.
    #[must_use]
    pub fn may_meet(&self, other: &Self) -> bool {
        self.database.name == other.database.name
            || self.database.path == other.database.path
            || (self.file.is_some() && self.file == other.file)
    }
}

/// Names that SQLite gives to what is no database. To open such a file and close it again would
/// drop the locks of the database beside it.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Look for the databases of these blocks. It blocks: on folders, which may be remote.
#[must_use]
pub fn look(blocks: &[Block]) -> Found {
    look_again(blocks, &[])
}

/// The same, where these were there at the last look. What lies in a folder that cannot be read now did not go: it is
/// still a member, and its next tick says what is wrong.
#[must_use]
pub fn look_again(blocks: &[Block], known: &[Member]) -> Found {
    let mut look = Look { known, ..Look::default() };
    for block in blocks {
        if let Location::Path(path) = &block.location {
            look.add(block, block.database(block.name().clone(), path.clone()));
        }
    }
    for block in blocks {
        if let Location::Glob(glob) = &block.location {
            look.follow(block, glob);
        }
    }
    look.found
}

#[derive(Default)]
struct Look<'a> {
    known: &'a [Member],
    found: Found,
    labels: HashSet<DatabaseName>,
    /// The label and the path under which each file was met first.
    files: HashMap<Identity, (DatabaseName, PathBuf)>,
}

impl Look<'_> {
    fn follow(&mut self, block: &Block, glob: &Glob) {
        let parts: Vec<Part<'_>> = glob.parts().collect();
        self.walk(block, glob, PathBuf::from("/"), &parts);
    }

    /// Follow the rest of a pattern below a folder, in the order of the names.
    fn walk(&mut self, block: &Block, glob: &Glob, path: PathBuf, parts: &[Part<'_>]) {
        let Some((part, rest)) = parts.split_first() else { return self.meet(block, glob, path) };
        match part {
            Part::Plain(name) => self.walk(block, glob, path.join(name), rest),
            Part::Wild(wild) => match names(&path, *wild) {
                Ok(names) => names.iter().for_each(|name| self.walk(block, glob, path.join(name), rest)),
                Err(error) => self.unreachable(block, glob, &path, &error),
            },
        }
    }

    fn meet(&mut self, block: &Block, glob: &Glob, path: PathBuf) {
        if JOURNALS.iter().any(|end| path.as_os_str().as_encoded_bytes().ends_with(end.as_bytes())) {
            return;
        }
        match path.metadata() {
            Ok(file) if !file.is_file() => return,
            Ok(_) => {}
            Err(error) => return self.unreachable(block, glob, &path, &error),
        }
        let Some(matched) = glob.matched(&path) else {
            return self.trouble(block, &path, "its name is not UTF-8 text, and a label must be");
        };
        match DatabaseName::new(&format!("{}/{matched}", block.name())) {
            Ok(label) => self.add(block, block.database(label, path)),
            Err(error) => self.trouble(block, &path, error),
        }
    }

    fn add(&mut self, block: &Block, database: Database) {
        if !self.labels.insert(database.name.clone()) {
            let why = format!("another database has the label `{}`", database.name);
            return self.trouble(block, &database.path, why);
        }
        // A file that cannot be looked at is nobody's yet.
        let file = database.path.metadata().ok().map(|file| (file.dev(), file.ino()));
        let taken = file.and_then(|file| self.claim(&database, file));
        self.found.members.push(Member { block: block.name().clone(), database, file, taken });
    }

    fn claim(&mut self, database: &Database, file: Identity) -> Option<Failure> {
        let first = || (database.name.clone(), database.path.clone());
        let (owner, path) = self.files.entry(file).or_insert_with(first);
        (*owner != database.name).then(|| taken(database, owner, path))
    }

    fn unreachable(&mut self, block: &Block, glob: &Glob, path: &Path, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::NotFound if path.is_symlink() => {
                self.trouble(block, path, "it is a symbolic link to a file that is not there");
            }
            // There is none, or it went while we looked.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
            _ => {
                self.keep(block, glob, path);
                self.trouble(block, path, error);
            }
        }
    }

    /// Those of this block that were seen below, as it is configured now.
    fn keep(&mut self, block: &Block, glob: &Glob, below: &Path) {
        let is_of = |member: &&Member| {
            let path = &member.database.path;
            member.block == *block.name() && path.starts_with(below) && glob.matched(path).is_some()
        };
        for member in self.known.iter().filter(is_of) {
            let database = block.database(member.database.name.clone(), member.database.path.clone());
            if self.labels.insert(database.name.clone()) {
                let claimed = member.file.and_then(|file| self.claim(&database, file));
                let taken = claimed.or_else(|| member.taken.clone());
                self.found.members.push(Member { database, taken, ..member.clone() });
            }
        }
    }

    fn trouble(&mut self, block: &Block, path: &Path, why: impl ToString) {
        let what = format!("{} is left out: {}", path.display(), why.to_string());
        let remedy =
            "let keysweep's user read it, rename it, or narrow the `glob`; the other files are swept";
        self.found.troubles.push((block.name().clone(), Failure::new(FailureKind::Io, what, remedy)));
    }
}

/// The names in a folder that fit, sorted. One that is not UTF-8 fits by what of it is: it is
/// refused when its file is met, not passed over.
fn names(folder: &Path, wild: Wild<'_>) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        if wild.fits(&name.to_string_lossy()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Two workers on one file would break its pace, count its rows twice and meet in its journal.
fn taken(database: &Database, owner: &DatabaseName, path: &Path) -> Failure {
    let what = format!(
        "{} of `{}` is the same file as {} of `{owner}`, which has it",
        database.path.display(),
        database.name,
        path.display()
    );
    let remedy = format!(
        "merge the two: move the tables of `{}` to `{owner}`, and let one path or `glob` name the file",
        database.name
    );
    Failure::new(FailureKind::Ownership, what, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    /// Blocks of these names and locations below a folder.
    fn blocks(folder: &Path, blocks: &[(&str, &str, &str)]) -> Vec<Block> {
        let block = |(name, key, path): &(&str, &str, &str)| {
            format!("[[database]]\nname = {name:?}\n{key} = {:?}\n", folder.join(path))
        };
        let text: String = blocks.iter().map(block).collect();
        config::parse("test", text.as_bytes(), []).unwrap().blocks
    }

    fn labels(found: &Found) -> Vec<&str> {
        found.members.iter().map(|member| member.database.name.as_str()).collect()
    }

    fn tenants(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir_all(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("app.db"), "x").unwrap();
        }
        folder
    }

    #[test]
    fn each_file_that_matches_is_a_database_and_nothing_else_is() {
        let folder = tenants(&["a", "b", ".hidden"]);
        fs::create_dir_all(folder.path().join("c/app.db")).unwrap();
        let found = look(&blocks(folder.path(), &[("t", "glob", "*/app.db")]));
        assert_eq!(labels(&found), ["t/a", "t/b"]);
        assert_eq!(found.troubles, []);
    }

    #[test]
    fn a_journal_is_no_database() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["app.db", "app.db-wal", "app.db-shm", "app.db-journal"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let found = look(&blocks(folder.path(), &[("t", "glob", "*")]));
        assert_eq!(labels(&found), ["t/app.db"]);
        assert_eq!(found.troubles, []);
    }

    #[test]
    fn a_file_of_two_names_is_the_first_paths_wherever_that_stands() {
        let folder = tenants(&["a"]);
        symlink(folder.path().join("a/app.db"), folder.path().join("link.db")).unwrap();
        let blocks = [("t", "glob", "*/app.db"), ("p", "path", "link.db"), ("q", "path", "missing.db")];
        let found = look(&self::blocks(folder.path(), &blocks));
        assert_eq!(labels(&found), ["p", "q", "t/a"]);
        let taken: Vec<_> = found.members.iter().map(|member| member.taken.as_ref()).collect();
        let [None, None, Some(taken)] = taken[..] else { panic!("{taken:?}") };
        assert_eq!(taken.kind(), FailureKind::Ownership);
        assert!(taken.what().contains("link.db of `p`") && taken.what().contains("a/app.db of `t/a`"));
    }

    /// A file in the place of the folder would be `NotADirectory`; a link to itself is a folder that cannot be read.
    #[test]
    fn what_lies_in_a_folder_that_cannot_be_read_did_not_go() {
        let folder = tenants(&["in/a", "in/b"]);
        let blocks = |retention: &str| {
            let path = folder.path().join("in/*/app.db");
            let text = format!("[[database]]\nname = 't'\nglob = {path:?}\nretention = '{retention}'\n");
            config::parse("test", text.as_bytes(), []).unwrap().blocks
        };
        let before = look(&blocks("1h")).members;
        fs::remove_dir_all(folder.path().join("in/b")).unwrap();
        fs::rename(folder.path().join("in"), folder.path().join("away")).unwrap();
        symlink("in", folder.path().join("in")).unwrap();
        let found = look_again(&blocks("2h"), &before);
        assert_eq!((labels(&found), found.troubles.len()), (vec!["t/a", "t/b"], 1));
        let as_configured = |member: &Member| {
            member.database
                == blocks("2h")[0].database(member.database.name.clone(), member.database.path.clone())
        };
        assert!(found.members.iter().all(as_configured), "a config of before is in force");
        fs::remove_file(folder.path().join("in")).unwrap();
        assert_eq!(labels(&look_again(&blocks("2h"), &before)), [""; 0]);
        fs::rename(folder.path().join("away"), folder.path().join("in")).unwrap();
        assert_eq!(labels(&look_again(&blocks("2h"), &before)), ["t/a"]);
    }

    #[test]
    fn what_cannot_be_named_or_followed_is_left_out_and_the_others_go_on() {
        let folder = tenants(&["a", "b\nc"]);
        fs::create_dir(folder.path().join("d")).unwrap();
        symlink("nowhere", folder.path().join("d/app.db")).unwrap();
        let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
        fs::create_dir(&odd).unwrap();
        fs::write(odd.join("app.db"), "x").unwrap();
        let blocks = [("t/a", "path", "elsewhere.db"), ("t", "glob", "*/app.db")];
        let found = look(&self::blocks(folder.path(), &blocks));
        assert_eq!(labels(&found), ["t/a"]);
        let mut whys: Vec<_> = found.troubles.iter().map(|(_, trouble)| trouble.what()).collect();
        whys.sort_unstable_by_key(|why| why.rsplit(": ").next().unwrap());
        let telling =
            ["control characters", "another database has the label `t/a`", "symbolic link", "UTF-8"];
        assert_eq!(whys.len(), telling.len(), "{whys:?}");
        assert!(telling.iter().all(|words| whys.iter().any(|why| why.contains(words))), "{whys:?}");
    }
}
