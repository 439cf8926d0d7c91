//! Whether the whole gets on, told to the service manager: its watchdog is fed only while the scheduler
//! turns and the listener answers. A database that is stuck is down, and no reason to end the others.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::herald::Herald;
use crate::observe::Observer;
use crate::schedule::Pulse;

/// So often the sentence is looked at; it is told when it has changed.
const SENTENCE: Duration = Duration::from_secs(5);

/// Feed the watchdog at half of its time, for ever.
pub(super) async fn feed(herald: Herald, watchdog: Duration, pulse: Pulse, listening: Option<SocketAddr>) {
    let half = watchdog / 2;
    let mut due = interval(half.max(Duration::from_millis(1)));
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        if pulse.is_alive() && answers(listening, half).await {
            herald.feed_watchdog();
        } else {
            tracing::error!("the scheduler or the listener makes no progress: the watchdog is not fed");
        }
    }
}

/// Tell how things stand, for ever.
pub(super) async fn tell(herald: Herald, observer: Observer) {
    let mut due = interval(SENTENCE);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = String::new();
    loop {
        due.tick().await;
        let sentence = observer.sentence();
        if sentence != told {
            herald.status(&sentence);
            told = sentence;
        }
    }
}

/// Whether the listener does anything with a client in this time: an answer, a refusal of its password,
/// or the end of a connection that does not speak TLS.
async fn answers(listening: Option<SocketAddr>, longest: Duration) -> bool {
    let Some(address) = listening else { return true };
    timeout(longest, ask(address)).await.is_ok()
}

/// An error is an end too: only silence is none. Without file descriptors left, a restart helps nobody.
async fn ask(address: SocketAddr) {
    let Ok(mut stream) = TcpStream::connect(address).await else { return };
    if stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await.is_ok() {
        let _ = stream.read(&mut [0; 64]).await;
    }
}
