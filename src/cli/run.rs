//! `run`: the daemon.

use std::net::SocketAddr;
use std::path::Path;

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Exit, Outcome, runtime};
use crate::config::{self, Http, Settings};
use crate::daemon::{self, Entrance, Reload};
use crate::memory::{Memory, Role};

/// What the kernel keeps for each client, in bytes; it doubles that for its own needs.
const SEND_BUFFER: u32 = 128 << 10;
/// Clients that the kernel lets wait until they are accepted, which is at once.
const BACKLOG: u32 = 1_024;

pub(super) fn run(settings: Settings, path: &Path) -> Result<Outcome, Exit> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let stop = stop_on_signals()?;
        let memory = Memory::open(settings.state_dir.as_deref(), Role::Daemon).map_err(Exit::wrong)?;
        let reload = reload_on_hangups(path)?;
        let entrance = entrance(&settings.http).await?;
        let listening = entrance.as_ref().and_then(|entrance| entrance.listener.local_addr().ok());
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            databases = settings.blocks.len(),
            listen = listening.map(|address| address.to_string()),
            "keysweep runs"
        );
        daemon::run(settings, memory, reload, entrance, stop).await.map_err(Exit::unknown)?;
        tracing::info!("keysweep has stopped");
        Ok(Outcome::Yes)
    });
    // A call that hangs in the kernel must not keep the process: its transaction rolls back.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    done
}

async fn entrance(http: &Http) -> Result<Option<Entrance>, Exit> {
    let terms = http.terms().map_err(Exit::wrong)?;
    let Some(address) = http.listen else { return Ok(None) };
    let listener = bind(address).map_err(|error| {
        Exit::wrong(format!(
            "cannot listen on {address} (http.listen): {error}; another keysweep, or another program, may have it"
        ))
    })?;
    Ok(Some(Entrance { listener, terms }))
}

/// As [`TcpListener::bind`] does, but for the buffers: by itself the kernel keeps megabytes for a client that does
/// not read, which count as this service's memory.
fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
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

fn reload_on_hangups(path: &Path) -> Result<Reload, Exit> {
    let hangup = signal(SignalKind::hangup());
    let mut hangup = hangup.map_err(|error| Exit::unknown(format!("cannot hear signals: {error}")))?;
    let path = path.to_owned();
    let reload = Reload::new(move || config::load(&path));
    let asked = reload.clone();
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            asked.ask();
        }
    });
    Ok(reload)
}
