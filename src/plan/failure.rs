//! What could not be done, in words for the person on call.

use std::fmt;

/// The kind of a failure: the label `kind` of `keysweep_errors_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// The file, or its folder, is not there.
    Missing,
    /// We may not read or write it.
    Permission,
    /// The files that we would create beside it would not be the application's to use.
    Ownership,
    /// It is no database.
    NotADatabase,
    /// It is damaged.
    Corrupt,
    /// Another process held the lock for longer than `busy_timeout`.
    Busy,
    /// The disk is full.
    Full,
    /// Reading or writing failed.
    Io,
    /// A table, a column or a type is not as configured, or changed under us.
    Schema,
    /// Foreign keys or delete triggers hang on the table.
    References,
    /// A guard of ours holds: a pause, the clock, a horizon, a share.
    Guard,
    /// The file was replaced by another.
    Replaced,
    /// A COMMIT whose outcome is not known; not counted as deleted.
    CommitUnknown,
    /// A batch was about to delete what it must not; it was rolled back.
    Invariant,
    /// The write-ahead log is larger than `max_wal`, and a reader keeps it so.
    WalTooLarge,
    /// We were told to stop.
    Interrupted,
    /// A fault of keysweep itself.
    Internal,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 17] = [
        Self::Missing,
        Self::Permission,
        Self::Ownership,
        Self::NotADatabase,
        Self::Corrupt,
        Self::Busy,
        Self::Full,
        Self::Io,
        Self::Schema,
        Self::References,
        Self::Guard,
        Self::Replaced,
        Self::CommitUnknown,
        Self::Invariant,
        Self::WalTooLarge,
        Self::Interrupted,
        Self::Internal,
    ];

    /// The word in metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Permission => "permission",
            Self::Ownership => "ownership",
            Self::NotADatabase => "not_a_database",
            Self::Corrupt => "corrupt",
            Self::Busy => "busy",
            Self::Full => "full",
            Self::Io => "io",
            Self::Schema => "schema",
            Self::References => "references",
            Self::Guard => "guard",
            Self::Replaced => "replaced",
            Self::CommitUnknown => "commit_unknown",
            Self::Invariant => "invariant",
            Self::WalTooLarge => "wal_too_large",
            Self::Interrupted => "interrupted",
            Self::Internal => "internal",
        }
    }
}

/// One failure: what failed, on what, why, and what to do. One line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    kind: FailureKind,
    what: String,
    remedy: String,
}

impl Failure {
    /// `what` names the path or table and the whole cause; `remedy` says what to do.
    pub fn new(kind: FailureKind, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind, what: one_line(&what.into()), remedy: one_line(&remedy.into()) }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// What failed, without the remedy.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

/// With control characters escaped: a name in somebody's schema must not forge a line or move a cursor.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

/// A word of a command as a person may paste it into a shell: in quotes where it needs them.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:@%,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_whatever_the_schema_holds() {
        let failure = Failure::new(FailureKind::Schema, "no `a\nb`", "drop `é\u{1b}[2J\u{9b}`");
        assert_eq!(failure.to_string(), "no `a\\nb`; drop `é\\u{1b}[2J\\u{9b}`");
    }

    #[test]
    fn a_word_of_a_command_is_one_word_for_a_shell() {
        assert_eq!(shell_word("/var/lib/key-sweep_1.db"), "/var/lib/key-sweep_1.db");
        assert_eq!(shell_word("/my state/it's"), "'/my state/it'\\''s'");
        assert_eq!(
            (shell_word(""), shell_word("a;b"), shell_word("$HOME")),
            ("''".into(), "'a;b'".into(), "'$HOME'".into())
        );
    }
}
