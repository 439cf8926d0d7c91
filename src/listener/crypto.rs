//! The ciphers that both ends use.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};

/// Deprecated for having no key exchange that a quantum computer could not undo years later. What is told here
/// is of no worth by then, and the provider that has one takes cmake to build and makes the binary much larger.
#[expect(deprecated, reason = "no secret that must outlive its day passes here")]
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
