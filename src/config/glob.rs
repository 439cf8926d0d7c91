//! A pattern of file paths: `*` and `?`, within one name each.

use std::path::{Component, Path, PathBuf};

/// A valid pattern: absolute, with at least one wildcard.
///
/// ```
/// use keysweep::config::Glob;
/// let glob = Glob::parse("/srv/tenants/*/app.db").unwrap();
/// assert_eq!(glob.matched("/srv/tenants/acme/app.db".as_ref()).as_deref(), Some("acme"));
/// assert!(Glob::parse("/srv/**/app.db").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Glob(String);

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        // Compared as text: the parts of a path are silent about `.` and doubled slashes.
        let parts: PathBuf = path.components().collect();
        if !path.is_absolute()
            || text.contains('\0')
            || !path.components().all(plain)
            || parts.as_os_str() != path.as_os_str()
        {
            return Err(format!(
                "expected an absolute path with wildcards, without `.`, `..` and doubled slashes, found the text {text:?}"
            ));
        }
        if text.contains("**") {
            return Err(format!(
                "{text:?} holds `**`: a walk of unknown depth might take in a backup; write a `*` for each folder"
            ));
        }
        if text.contains('[') {
            return Err(format!("{text:?} holds `[`: only the wildcards `*` and `?` are known"));
        }
        if !text.contains(is_wildcard) {
            return Err(format!("{text:?} has no wildcard (`*` or `?`): write it as `path`"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names below the root, each plain or with wildcards, for whoever walks the folders.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.0.split('/').filter(|part| !part.is_empty()).map(|part| match part.contains(is_wildcard) {
            true => Part::Wild(Wild(part)),
            false => Part::Plain(part),
        })
    }

    /// What each run of wildcards stands for in this path, joined by `/`; nothing where the path
    /// does not match or is not UTF-8.
    #[must_use]
    pub fn matched(&self, path: &Path) -> Option<String> {
        let (pattern, path): (Vec<&str>, Vec<&str>) =
            (self.0.split('/').collect(), path.to_str()?.split('/').collect());
        if pattern.len() != path.len() {
            return None;
        }
        let parts = pattern.into_iter().zip(path).map(|(pattern, name)| captures(pattern, name));
        Some(parts.collect::<Option<Vec<_>>>()?.concat().join("/"))
    }
}

/// One name of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// This very name.
    Plain(&'a str),
    /// Any name that fits.
    Wild(Wild<'a>),
}

/// A name with wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wild<'a>(&'a str);

impl Wild<'_> {
    /// Whether a name fits. As a shell reads it: a wildcard stands for no dot at the start of a name.
    #[must_use]
    pub fn fits(self, name: &str) -> bool {
        (!name.starts_with('.') || self.0.starts_with('.')) && captures(self.0, name).is_some()
    }
}

fn is_wildcard(c: char) -> bool {
    matches!(c, '*' | '?')
}

/// What each run of wildcards of one name stands for, an earlier one for as little as it can.
fn captures<'a>(pattern: &str, name: &'a str) -> Option<Vec<&'a str>> {
    let Some(start) = pattern.find(is_wildcard) else {
        return (pattern == name).then(Vec::new);
    };
    let (literal, rest) = pattern.split_at(start);
    let name = name.strip_prefix(literal)?;
    let end = rest.find(|c| !is_wildcard(c)).unwrap_or(rest.len());
    let (run, rest) = rest.split_at(end);
    let least = run.chars().filter(|&c| c == '?').count();
    let most = if run.contains('*') { usize::MAX } else { least };
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    let mut cuts = ends.enumerate().skip(least).take_while(|(length, _)| *length <= most);
    cuts.find_map(|(_, at)| {
        let mut found = vec![&name[..at]];
        found.extend(captures(rest, &name[at..])?);
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(glob: &str, path: &str) -> Option<String> {
        Glob::parse(glob).unwrap().matched(Path::new(path))
    }

    #[test]
    fn a_label_is_what_the_wildcards_stand_for() {
        for (glob, path, label) in [
            ("/srv/*/app.db", "/srv/acme/app.db", "acme"),
            ("/srv/*/*.db", "/srv/acme/main.db", "acme/main"),
            ("/srv/shard-??.db", "/srv/shard-07.db", "07"),
            ("/srv/*-*.db", "/srv/a-b-c.db", "a/b-c"),
            ("/srv/?*.db", "/srv/é.db", "é"),
            ("/srv/*", "/srv/x", "x"),
        ] {
            assert_eq!(matched(glob, path).as_deref(), Some(label), "{glob} {path}");
        }
    }

    #[test]
    fn a_wildcard_stays_within_its_name() {
        assert_eq!(matched("/srv/*/app.db", "/srv/a/b/app.db"), None);
        assert_eq!(matched("/srv/?.db", "/srv/ab.db"), None);
        assert_eq!(matched("/srv/?*.db", "/srv/.db"), None);
    }

    #[test]
    fn a_wildcard_stands_for_no_dot_at_the_start() {
        let wild = |text| Wild(text);
        assert!(!wild("*").fits(".git") && !wild("?git").fits(".git"));
        assert!(wild(".*").fits(".git") && wild("*").fits("a.git"));
    }

    #[test]
    fn what_is_read_in_two_ways_or_matches_one_file_is_refused() {
        for (text, telling) in [
            ("srv/*/app.db", "an absolute path"),
            ("/srv/../*/app.db", "`..`"),
            ("/srv//*.db", "doubled slashes"),
            ("/srv/**/app.db", "`**`"),
            ("/srv/[ab].db", "`[`"),
            ("/srv/app.db", "write it as `path`"),
        ] {
            let error = Glob::parse(text).unwrap_err();
            assert!(error.contains(telling), "{text}: {error}");
        }
    }
}
