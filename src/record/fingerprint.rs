//! What makes two requests the same request.

use std::fmt;

use sha2::{Digest, Sha256};

/// The fingerprint of a request: a retry has the same one, another request under the same key has not.
///
/// It is **canonical**: fields are sorted by name and written with their lengths, so that neither
/// their order nor where one ends and the next begins can make two requests alike. It is
/// **versioned**: the name and version of the scheme stand in it, so that a change of what counts is
/// a new version, never a silent conflict. Put in whatever changes the effect (amount, account,
/// currency) in one fixed spelling, and leave out what a retry may change (a time stamp, a trace id).
///
/// ```
/// use keysweep::record::Fingerprint;
/// let one = Fingerprint::new("transfer", 1, [("to", "alice"), ("amount", "50")]);
/// let same = Fingerprint::new("transfer", 1, [("amount", "50"), ("to", "alice")]);
/// let other = Fingerprint::new("transfer", 1, [("amount", "500"), ("to", "alice")]);
/// assert!(one == same && one != other);
/// assert!(one.as_str().starts_with("transfer/1:"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of these fields under version `version` of the scheme `name`. A field that
    /// stands twice counts twice.
    pub fn new<'a>(name: &str, version: u32, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut fields: Vec<(&str, &str)> = fields.into_iter().collect();
        fields.sort_unstable();
        let mut hash = Sha256::new();
        for part in fields.iter().flat_map(|(name, value)| [name, value]) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Self(format!("{name}/{version}:{}", crate::plan::hex(&hash.finalize())))
    }

    /// A text that a table already holds.
    pub(super) fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text that is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_field_ends_makes_a_difference() {
        let of = |fields: &[(&'static str, &'static str)]| Fingerprint::new("t", 1, fields.iter().copied());
        assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
        assert_ne!(of(&[("a", "b"), ("c", "")]), of(&[("a", ""), ("c", "b")]));
        assert_ne!(of(&[]), of(&[("", "")]));
    }

    #[test]
    fn a_version_is_another_fingerprint_and_a_stored_one_never_changes() {
        let fields = [("amount", "50")];
        assert_ne!(Fingerprint::new("t", 1, fields), Fingerprint::new("t", 2, fields));
        // Stored fingerprints outlive a release: this one must come out the same for ever.
        let stored = Fingerprint::new("transfer", 1, [("amount", "50"), ("to", "alice")]);
        assert_eq!(
            stored.as_str(),
            "transfer/1:cbbfa52c0ea0ed233dbd8b45a2da0e7d0f8e737c0de0015b82c48b33b94268bc"
        );
    }
}
