//! A certificate and its key, read from two PEM files.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error, InconsistentKeys, ServerConfig};

use super::crypto::provider;
use super::expiry::not_after;
use crate::plan::UnixTime;

/// No certificate or key is larger, in bytes: what is, is another file.
const LARGEST: u64 = 1 << 20;

/// A certificate that was read, with the key that belongs to it.
pub struct Certificate {
    cert: PathBuf,
    key: PathBuf,
    stamp: Stamp,
    expires: Option<UnixTime>,
    server: Arc<ServerConfig>,
}

/// What tells one state of the two files from another, without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp([FileStamp; 2]);

/// Device, inode, length, and when content and inode last changed; nothing where there is no file.
type FileStamp = Option<(u64, u64, u64, [i64; 4])>;

impl Stamp {
    /// Looks at the two files. It follows links, as a mounted secret is a link that is swapped.
    #[must_use]
    pub(super) fn of(cert: &Path, key: &Path) -> Self {
        Self([cert, key].map(|path| path.metadata().ok().map(|metadata| stamp(&metadata))))
    }
}

fn stamp(file: &Metadata) -> (u64, u64, u64, [i64; 4]) {
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
    (file.dev(), file.ino(), file.len(), times)
}

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The certificate, with what leads to its issuer.
    Cert,
    /// The private key.
    Key,
}

/// Why a pair cannot be used: which file, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct PairError {
    /// Which of the two.
    pub part: Part,
    path: PathBuf,
    why: String,
}

impl Certificate {
    /// Reads both files. This blocks.
    ///
    /// # Errors
    /// [`PairError`] for a file that cannot be read, holds no PEM of its kind, or does not belong to the other.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, PairError> {
        let of = |part| {
            let path = if part == Part::Cert { cert } else { key };
            move |why: String| PairError { part, path: path.to_owned(), why }
        };
        // Before it is read: whatever changes while we read is seen at the next look.
        let stamp = Stamp::of(cert, key);
        let chain = certificates(&read(cert).map_err(of(Part::Cert))?).map_err(of(Part::Cert))?;
        let expires = chain.first().and_then(|leaf| not_after(leaf));
        let secret = PrivateKeyDer::from_pem_slice(&read(key).map_err(of(Part::Key))?).map_err(|_| {
            of(Part::Key)(
                "it holds no private key in PEM (one that is locked by a passphrase cannot be used)".into(),
            )
        })?;
        let server = server(chain, secret).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                of(Part::Key)(format!("the key is not that of the certificate {}", cert.display()))
            }
            Error::InvalidCertificate(_) => {
                of(Part::Cert)(format!("the certificate cannot be used: {error}"))
            }
            _ => of(Part::Key)(format!("the key cannot be used: {error}")),
        })?;
        let (cert, key) = (cert.to_owned(), key.to_owned());
        Ok(Self { cert, key, stamp, expires, server: Arc::new(server) })
    }

    /// The same two files again.
    ///
    /// # Errors
    /// As [`Certificate::read`].
    pub(super) fn read_again(&self) -> Result<Self, PairError> {
        Self::read(&self.cert, &self.key)
    }

    /// The files as they were when they were read.
    #[must_use]
    pub(super) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// The files as they are now.
    #[must_use]
    pub(super) fn stamp_now(&self) -> Stamp {
        Stamp::of(&self.cert, &self.key)
    }

    /// The file of the certificate.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.cert
    }

    /// The last instant at which it is valid; nothing where it could not be told.
    #[must_use]
    pub fn expires(&self) -> Option<UnixTime> {
        self.expires
    }

    /// What a handshake needs.
    #[must_use]
    pub fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// Who else than its owner may read the key, as a mode; nothing where nobody may.
    #[must_use]
    pub fn key_is_open(&self) -> Option<u32> {
        let mode = self.key.metadata().ok()?.mode() & 0o7777;
        (mode & 0o077 != 0).then_some(mode)
    }
}

/// Never the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("cert", &self.cert).finish_non_exhaustive()
    }
}

/// The certificates in a PEM text, at least one.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        _ => Err("it holds no certificate in PEM".into()),
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("the file cannot be read: {error}");
    let metadata = path.metadata().map_err(unreadable)?;
    // A pipe would be waited for, a disk read to its end.
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err("expected a file of at most 1 MiB".into());
    }
    std::fs::read(path).map_err(unreadable)
}

fn server(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<ServerConfig, Error> {
    let mut server = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(server)
}
