//! What the listener shows and whom it lets in: a certificate and its key, and users with their passwords; and whom
//! `status` believes. Values, how they are read, and how they are renewed; who serves with them is elsewhere.

mod certificate;
mod crypto;
mod door;
mod expiry;
mod renewal;
mod trust;
mod users;

pub use certificate::{Certificate, PairError, Part};
pub use door::{Door, Terms};
pub use renewal::renew;
pub use trust::{TrustError, client_config};
pub use users::{Hash, HashError, Users};
