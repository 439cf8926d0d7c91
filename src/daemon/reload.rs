//! How the daemon is asked to read its config again.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::config::{ConfigError, Problem, Settings};
use crate::listener::Terms;

/// What reads the config again when it is asked. A clone is the same one.
#[derive(Clone)]
pub struct Reload {
    asked: Arc<Notify>,
    load: Arc<dyn Fn() -> Result<Settings, ConfigError> + Send + Sync>,
}

impl Reload {
    /// `load` reads a whole config, or says everything that is wrong with it.
    #[must_use]
    pub fn new(load: impl Fn() -> Result<Settings, ConfigError> + Send + Sync + 'static) -> Self {
        Self { asked: Arc::default(), load: Arc::new(load) }
    }

    /// Ask for it. Asked again before it has begun, it is read once; while it is read, once more.
    pub fn ask(&self) {
        self.asked.notify_one();
    }

    pub(super) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// The config, and certificate and users of its listener.
    ///
    /// # Errors
    /// Every problem, in one line.
    pub(super) async fn load(&self) -> Result<(Settings, Terms), String> {
        let load = Arc::clone(&self.load);
        let read = spawn_blocking(move || with_terms(load()?))
            .await
            .map_err(|error| format!("reading broke off: {error}"))?;
        read.map_err(|error| error.problems().iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))
    }
}

fn with_terms(settings: Settings) -> Result<(Settings, Terms), ConfigError> {
    let terms = settings.http.terms()?;
    Ok((settings, terms))
}
