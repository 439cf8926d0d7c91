//! The files themselves: small, replaced in one step, and read with suspicion.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::Access;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{StateDirError, locked};
use crate::plan::shell_word;

/// A file of ours never comes near this size.
const LARGEST: u64 = 16 << 20;

/// The folder that holds them.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Words of a person that could not be removed, so that it is said once.
    stuck: Mutex<HashSet<&'static str>>,
}

impl Folder {
    pub fn open(path: &Path, writes: bool) -> Result<Self, StateDirError> {
        let failed = |error: io::Error| StateDirError { folder: path.into(), why: error };
        if !fs::metadata(path).map_err(failed)?.is_dir() {
            return Err(failed(ErrorKind::NotADirectory.into()));
        }
        if writes {
            temporary(path).map_err(failed)?;
        }
        Ok(Self { path: path.into(), stuck: Mutex::default() })
    }

    pub fn may_be_written(&self) -> Result<(), StateDirError> {
        let may = rustix::fs::access(&self.path, Access::WRITE_OK | Access::EXEC_OK);
        may.map_err(|error| StateDirError { folder: self.path.clone(), why: error.into() })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What a person types to leave this word.
    pub fn touch(&self, word: &str) -> String {
        format!("touch {}", self.word_path(word))
    }

    /// The path of a word as a shell takes it.
    pub fn word_path(&self, word: &str) -> String {
        shell_word(&self.path(word).display().to_string())
    }

    /// Whether the file is there. One that cannot be looked for may be: a pause must not end by that.
    pub fn has(&self, name: &str) -> bool {
        match fs::symlink_metadata(self.path(name)) {
            Ok(_) => true,
            Err(error) => name == super::PAUSE && error.kind() != ErrorKind::NotFound,
        }
    }

    /// Remove a person's word once it was read.
    pub fn remove(&self, word: &'static str, obeyed: bool) {
        let path = self.path(word).display().to_string();
        match fs::remove_file(self.path(word)) {
            Ok(()) if obeyed => tracing::info!(path, "obeyed and removed: what was held is accepted"),
            Ok(()) => tracing::warn!(path, "removed: nothing was held that it could accept"),
            // Another process was faster.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                if locked(&self.stuck).insert(word) {
                    let error = error.to_string();
                    tracing::warn!(path, error, "cannot be removed: it is obeyed until someone removes it");
                }
                return;
            }
        }
        locked(&self.stuck).remove(word);
    }

    /// Say once that a person's word is left where it is.
    pub fn cannot_obey(&self, word: &'static str, error: &str) {
        if locked(&self.stuck).insert(word) {
            let path = self.path(word).display().to_string();
            tracing::warn!(path, error, "cannot be obeyed yet, and stays until it can");
        }
    }

    /// The names of the files that begin so.
    pub fn names(&self, prefix: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string().ok().filter(|name| name.starts_with(prefix)));
        }
        Ok(names)
    }

    /// What a file holds; nothing where it is not there.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, String> {
        let file = match File::open(self.path(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let limited = io::Read::take(file, LARGEST);
        serde_json::from_reader(io::BufReader::new(limited)).map(Some).map_err(|error| error.to_string())
    }

    /// Replace a file in one step: a reader, and a machine that loses power, has the old one or the new one.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let mut file = temporary(&self.path)?;
        serde_json::to_writer(&mut file, value)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(self.path(name))?;
        File::open(&self.path)?.sync_all()
    }
}

fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".keysweep-").tempfile_in(folder)
}
