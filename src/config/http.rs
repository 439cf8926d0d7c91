//! `[http]`: where to listen, over TLS or not, and to whom.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::ValueKind;

use super::problem::Problem;
use super::reader::{Node, Section};
use super::settings::LISTEN;
use super::{ConfigError, decode, known};
use crate::listener::{Certificate, Hash, Part, Terms, Users};

/// The listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// Where to listen; nothing where that is turned off. Default: 127.0.0.1:9925.
    pub listen: Option<SocketAddr>,
    /// The certificate and its key; without them, plain text.
    pub tls: Option<Tls>,
    /// Who may read metrics and status; where there is none, everyone.
    pub users: BTreeMap<String, Hash>,
}

/// Two files that are not read yet: a command that does not listen may not be allowed to read the key.
#[derive(Debug, Clone)]
pub struct Tls {
    cert: PathBuf,
    key: PathBuf,
    /// What is to be said of either file, but for the words.
    at: [Problem; 2],
}

/// Where it is written makes no other pair of it.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        (&self.cert, &self.key) == (&other.cert, &other.key)
    }
}

impl Eq for Tls {}

impl Tls {
    /// The file of the certificate.
    #[must_use]
    pub fn cert(&self) -> &Path {
        &self.cert
    }

    /// The file of the key.
    #[must_use]
    pub fn key(&self) -> &Path {
        &self.key
    }

    /// Reads both files. This blocks.
    ///
    /// # Errors
    /// [`ConfigError`] at the place of the file that cannot be used.
    pub fn read(&self) -> Result<Certificate, ConfigError> {
        Certificate::read(&self.cert, &self.key).map_err(|error| {
            let [cert, key] = &self.at;
            let at = if error.part == Part::Cert { cert } else { key };
            ConfigError::new(vec![at.saying(error.to_string())])
        })
    }
}

impl Http {
    /// The terms on which the listener speaks. This reads certificate and key, and blocks.
    ///
    /// # Errors
    /// As [`Tls::read`].
    pub fn terms(&self) -> Result<Terms, ConfigError> {
        let certificate = self.tls.as_ref().map(Tls::read).transpose()?;
        let users = Users::new(self.users.clone());
        Ok(Terms { certificate: certificate.map(Arc::new), users: users.map(Arc::new) })
    }

    /// Where passwords pass a network on which whoever listens in can read them: what is wrong, and the remedy.
    #[must_use]
    pub fn shown_passwords(&self) -> Option<(&'static str, &'static str)> {
        let is_reached = self.listen.is_some_and(|address| !address.ip().is_loopback());
        (is_reached && self.tls.is_none() && !self.users.is_empty()).then_some((
            "http.users without http.tls: passwords pass the network in plain text",
            "set cert and key in [http.tls], or listen on 127.0.0.1",
        ))
    }
}

impl Default for Http {
    fn default() -> Self {
        Self { listen: Some(LISTEN), tls: None, users: BTreeMap::new() }
    }
}

/// What is wrong is reported, and then nothing comes of the settings.
pub(super) fn http(section: &Section<'_>) -> Http {
    let tls = section.section("tls", known::TLS).and_then(|section| tls(&section));
    let users = section.get("users").map(|node| users(section, &node)).unwrap_or_default();
    Http { listen: section.read("listen", decode::address).unwrap_or(Some(LISTEN)), tls, users }
}

fn tls(section: &Section<'_>) -> Option<Tls> {
    let cert = section.require("cert", decode::path);
    let key = section.require("key", decode::path);
    let at = |key| Some(section.reader.problem(&section.get(key)?));
    Some(Tls { cert: cert?, key: key?, at: [at("cert")?, at("key")?] })
}

/// Never the value that was found: it may be a password.
fn users(section: &Section<'_>, node: &Node<'_>) -> BTreeMap<String, Hash> {
    let ValueKind::Table(table) = &node.value.kind else {
        section.refuse("users", "expected a table of names and their bcrypt hashes");
        return BTreeMap::new();
    };
    if table.is_empty() {
        section.refuse("users", "expected at least one user: without the table, everyone may read");
    }
    let names = table.keys().filter_map(|name| Some((name, node.child(name)?)));
    names.filter_map(|(name, node)| Some((name.clone(), user(section, name, &node)?))).collect()
}

fn user(section: &Section<'_>, name: &str, node: &Node<'_>) -> Option<Hash> {
    let problem = match &node.value.kind {
        _ if name.is_empty() || name.contains(|c: char| c == ':' || c.is_control()) => {
            "a name has at least one character, no colon and no control character".to_owned()
        }
        ValueKind::String(text) => match Hash::parse(text) {
            Ok(hash) => return Some(hash),
            Err(error) => error.to_string(),
        },
        _ => "expected a bcrypt hash: text".to_owned(),
    };
    section.reader.refuse(node, problem);
    None
}
