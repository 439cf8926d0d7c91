//! `run`: the daemon.

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Exit, Outcome, runtime};
use crate::config::Settings;
use crate::daemon;
use crate::memory::{Memory, Role};

pub(super) fn run(settings: Settings) -> Result<Outcome, Exit> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let stop = stop_on_signals()?;
        // Without a handler a hangup would end the daemon; there is no reload to do by it yet.
        let hangup = signal(SignalKind::hangup()).map_err(|error| Exit::unknown(format!("cannot hear signals: {error}")))?;
        tokio::spawn(ignore_hangups(hangup));
        let memory = Memory::open(settings.state_dir.as_deref(), Role::Daemon).map_err(Exit::wrong)?;
        let listener = match settings.listen {
            Some(address) => Some(TcpListener::bind(address).await.map_err(|error| {
                Exit::wrong(format!(
                    "cannot listen on {address} (http.listen): {error}; another keysweep, or another program, may have it"
                ))
            })?),
            None => None,
        };
        let listening = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            databases = settings.databases.len(),
            listen = listening.map(|address| address.to_string()),
            "keysweep runs"
        );
        daemon::run(settings, memory, listener, stop).await.map_err(Exit::unknown)?;
        tracing::info!("keysweep has stopped");
        Ok(Outcome::Yes)
    });
    // A call that hangs in the kernel must not keep the process: its transaction rolls back.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    done
}

/// The first SIGTERM or SIGINT asks to stop between two batches; a second one aborts.
pub(super) fn stop_on_signals() -> Result<CancellationToken, Exit> {
    let listen = |kind| signal(kind).map_err(|error| Exit::unknown(format!("cannot hear signals: {error}")));
    let (mut term, mut int) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let asked = stop.clone();
    tokio::spawn(async move {
        any(&mut term, &mut int).await;
        tracing::info!("asked to stop: the batch in hand is finished or rolled back");
        asked.cancel();
        any(&mut term, &mut int).await;
        tracing::warn!("asked again: aborting");
        std::process::exit(Outcome::Unknown as i32);
    });
    Ok(stop)
}

async fn any(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}

async fn ignore_hangups(mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        tracing::warn!("SIGHUP: this version does not reload its config; restart it to apply a change");
    }
}
