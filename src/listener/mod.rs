//! What the listener shows and whom it lets in: a certificate and its key, and users with their passwords.
//! Values, and how they are read; who serves with them is elsewhere.

mod certificate;
mod crypto;
mod door;
mod expiry;
mod trust;
mod users;

pub use certificate::{Certificate, PairError, Part, Stamp};
pub use door::{Door, Terms};
pub use trust::{TrustError, client_config};
pub use users::{Hash, HashError, Users};
