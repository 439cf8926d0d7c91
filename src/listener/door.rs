//! The terms that are in force, which a reload or a renewed certificate replaces.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Certificate, Users};

/// On which terms the listener speaks with a client.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Over TLS with this certificate; without one, in plain text.
    pub certificate: Option<Arc<Certificate>>,
    /// With these users alone; without any, with everyone.
    pub users: Option<Arc<Users>>,
}

/// The terms in force. A clone is the same door: a connection asks it once, when it begins.
#[derive(Debug, Clone)]
pub struct Door(watch::Sender<Terms>);

impl Door {
    /// A door with these terms.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        Self(watch::Sender::new(terms))
    }

    /// The terms at this moment.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.0.borrow().clone()
    }

    /// From now on, these terms.
    pub fn change(&self, terms: Terms) {
        self.0.send_replace(terms);
    }

    /// Show `new` instead of `old`; nothing changes where something else is shown by now.
    pub fn renew(&self, old: &Arc<Certificate>, new: Certificate) {
        self.0.send_if_modified(|terms| {
            let is_old = terms.certificate.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, old));
            if is_old {
                terms.certificate = Some(Arc::new(new));
            }
            is_old
        });
    }
}
