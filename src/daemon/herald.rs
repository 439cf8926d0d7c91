//! What the service manager is told: one datagram a word, to the socket that `$NOTIFY_SOCKET` names.
//! Where nothing names one, nobody is told. The protocol: sd_notify(3).

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock;

/// Tells the service manager. A clone tells the same one.
#[derive(Debug, Clone)]
pub(super) struct Herald(Arc<Told>);

#[derive(Debug)]
struct Told {
    to: Option<(UnixDatagram, SocketAddr)>,
    /// It could not be told, and that was said.
    deaf: AtomicBool,
}

impl Herald {
    pub fn from_environment() -> Self {
        let to = std::env::var_os("NOTIFY_SOCKET").and_then(|name| {
            let opened = open(&name);
            let said = |error| tracing::warn!(%error, socket = ?name, "the service manager cannot be told");
            opened.map_err(said).ok()
        });
        Self(Arc::new(Told { to, deaf: AtomicBool::new(false) }))
    }

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.0.to.is_some()
    }

    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// A reload begins; it ends with [`Herald::ready`].
    pub fn reloading(&self) {
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", clock::monotonic_micros()));
    }

    pub fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=Stopping: the batch in hand is finished or rolled back");
    }

    /// A sentence of one line, for people.
    pub fn status(&self, sentence: &str) {
        self.send(&format!("STATUS={sentence}"));
    }

    pub fn feed_watchdog(&self) {
        self.send("WATCHDOG=1");
    }

    fn send(&self, words: &str) {
        let Some((socket, address)) = &self.0.to else { return };
        if let Err(error) = socket.send_to_addr(words.as_bytes(), address)
            && !self.0.deaf.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "the service manager cannot be told");
        }
    }
}

/// A name that begins with `@` is in the abstract namespace. It never blocks: a manager that does not
/// read must not hold up the daemon.
fn open(name: &OsString) -> std::io::Result<(UnixDatagram, SocketAddr)> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

/// How long the watchdog waits before it kills this process; nothing where none watches it.
pub(super) fn watchdog() -> Option<Duration> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let others = number("WATCHDOG_PID").is_some_and(|pid| pid != u64::from(std::process::id()));
    number("WATCHDOG_USEC").filter(|micros| *micros > 0 && !others).map(Duration::from_micros)
}
