//! Whom a client of ours believes.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::certificate::{certificates, read};
use super::crypto::provider;

/// Why nobody can be believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct TrustError {
    path: String,
    why: String,
}

/// A client that believes what these certificates issued, and a server that shows one of them: a certificate
/// that signed itself is issued by nobody, and names no host that must be met.
///
/// # Errors
/// [`TrustError`] for a file that cannot be read or holds no certificate.
pub fn client_config(trusted: &Path) -> Result<ClientConfig, TrustError> {
    let wrong = |why: String| TrustError { path: trusted.display().to_string(), why };
    let known = read(trusted).and_then(|pem| certificates(&pem)).map_err(wrong)?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(known.iter().cloned());
    let provider = provider();
    let issued = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { known, issued }))
        .with_no_client_auth();
    Ok(config)
}

#[derive(Debug)]
struct Verifier {
    known: Vec<CertificateDer<'static>>,
    issued: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // Byte for byte: that the server holds its key, the signature of the handshake shows.
        if self.known.contains(shown) {
            return Ok(ServerCertVerified::assertion());
        }
        self.issued.verify_server_cert(shown, between, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issued.supported_verify_schemes()
    }
}
