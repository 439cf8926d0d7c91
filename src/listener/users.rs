//! Names and bcrypt hashes, and whether a password is the one.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use bcrypt::HashParts;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The least and the most work that a hash may ask for: one of 15 is some seconds of a processor.
const COSTS: std::ops::RangeInclusive<u32> = 4..=15;
/// What bcrypt takes part in; it would ignore what follows.
const LONGEST_PASSWORD: usize = 72;

/// A bcrypt hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Hash(String);

/// Why a text is no hash. It never says the text: it may be the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// Something else, such as the password itself.
    #[error(
        "expected a bcrypt hash (60 characters that begin with $2y$, $2b$ or $2a$), as `htpasswd -nB NAME` prints it"
    )]
    Form,
    /// Each scrape of a client that is not known yet would take too long, or guessing would be too quick.
    #[error("expected a bcrypt hash of a cost from 4 to 15, found {found}")]
    Cost {
        /// The cost that was found.
        found: u32,
    },
}

impl Hash {
    /// Reads a hash.
    ///
    /// # Errors
    /// [`HashError`] for what is none, and for one of a cost that cannot be meant.
    pub fn parse(text: &str) -> Result<Self, HashError> {
        let is_known = ["$2y$", "$2b$", "$2a$"].iter().any(|version| text.starts_with(version));
        let parts = HashParts::from_str(text).ok().filter(|_| is_known).ok_or(HashError::Form)?;
        if !COSTS.contains(&parts.get_cost()) {
            return Err(HashError::Cost { found: parts.get_cost() });
        }
        Ok(Self(text.to_owned()))
    }

    fn is_of(&self, password: &[u8]) -> bool {
        // A hash that was parsed can be verified.
        bcrypt::verify(password, &self.0).unwrap_or(false) && password.len() <= LONGEST_PASSWORD
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash")
    }
}

/// Who may come in.
pub struct Users {
    hashes: BTreeMap<String, Hash>,
    /// What was verified last for each name: a scrape each 15 seconds must not cost a bcrypt each.
    remembered: Mutex<HashMap<String, [u8; 32]>>,
}

impl Users {
    /// These users; nothing where there is none.
    #[must_use]
    pub fn new(hashes: BTreeMap<String, Hash>) -> Option<Self> {
        (!hashes.is_empty()).then(|| Self { hashes, remembered: Mutex::default() })
    }

    /// Whether this very password was verified for this name before. Quick.
    #[must_use]
    pub fn remembers(&self, name: &str, password: &[u8]) -> bool {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.get(name).is_some_and(|digest| digest.ct_eq(&self::digest(name, password)).into())
    }

    /// Whether this is the password of this name. This blocks for as long as bcrypt takes, which is the same
    /// for a name that nobody has.
    #[must_use]
    pub fn verify(&self, name: &str, password: &[u8]) -> bool {
        let hash = self.hashes.get(name);
        let Some(asked) = hash.or_else(|| self.hashes.values().next()) else { return false };
        let is_right = asked.is_of(password) && hash.is_some();
        if is_right {
            let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
            remembered.insert(name.to_owned(), digest(name, password));
        }
        is_right
    }
}

fn digest(name: &str, password: &[u8]) -> [u8; 32] {
    // No name holds a colon.
    Sha256::new().chain_update(name).chain_update(":").chain_update(password).finalize().into()
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.hashes.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users() -> Users {
        let hash = |password| Hash::parse(&bcrypt::hash(password, 4).unwrap()).unwrap();
        let hashes = [("prom", hash("right")), ("other", hash("another"))];
        Users::new(hashes.map(|(name, hash)| (name.into(), hash)).into()).unwrap()
    }

    #[test]
    fn a_name_has_its_own_password_and_no_other() {
        let users = users();
        assert!(users.verify("prom", b"right") && users.verify("other", b"another"));
        for (name, password) in [("prom", "another"), ("prom", ""), ("nobody", "right"), ("", "right")] {
            assert!(!users.verify(name, password.as_bytes()), "{name} {password}");
        }
    }

    #[test]
    fn only_what_was_verified_is_remembered() {
        let users = users();
        assert!(!users.remembers("prom", b"right"));
        assert!(!users.verify("prom", b"wrong") && !users.remembers("prom", b"wrong"));
        assert!(users.verify("prom", b"right") && users.remembers("prom", b"right"));
        assert!(!users.remembers("prom", b"wrong") && !users.remembers("other", b"right"));
    }

    #[test]
    fn what_bcrypt_would_ignore_is_no_password() {
        let long = "x".repeat(72);
        let hash = Hash::parse(&bcrypt::hash(&long, 4).unwrap()).unwrap();
        assert!(hash.is_of(long.as_bytes()) && !hash.is_of(format!("{long}y").as_bytes()));
    }

    #[test]
    fn a_password_is_no_hash_and_is_not_repeated() {
        let good = bcrypt::hash("x", 4).unwrap();
        for wrong in [
            "secret",
            "",
            "$2y$secret",
            &good[1..],
            &good.replace("$2b$", "$2x$"),
            &good.replace("$04$", "$ü$"),
        ] {
            assert_eq!(Hash::parse(wrong), Err(HashError::Form), "{wrong}");
        }
        assert_eq!(Hash::parse(&good.replace("$04$", "$31$")), Err(HashError::Cost { found: 31 }));
        assert!(!format!("{:?} {:?}", Hash::parse(&good), users()).contains("$2"));
        assert!(!HashError::Form.to_string().contains("secret"));
    }
}
