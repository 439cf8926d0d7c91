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

/// Feed the watchdog, for ever. A third of its time for the rest and a third for the answer leave one to spare.
pub(super) async fn feed(herald: Herald, watchdog: Duration, pulse: Pulse, listening: Option<SocketAddr>) {
    let third = watchdog / 3;
    let mut due = interval(third.max(Duration::from_millis(1)));
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        if pulse.is_alive() && answers(listening, third).await {
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
        // Before that, nobody has looked which databases there are.
        if observer.is_ready() && sentence != told {
            herald.status(&sentence);
            told = sentence;
        }
    }
}

/// Whether the listener does anything with a client in this time: an answer, a refusal of its password,
/// or the end of a connection that does not speak TLS.
///
/// Whom nothing lets through to it learns nothing of it: a packet filter, such as `IPAddressDeny=` of the unit, or no
/// file descriptor left. A restart would mend neither, and the next one none the more.
async fn answers(listening: Option<SocketAddr>, longest: Duration) -> bool {
    let Some(address) = listening else { return true };
    match timeout(longest / 2, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => timeout(longest / 2, ask(stream)).await.is_ok(),
        _ => true,
    }
}

/// An error is an end too: only silence is none.
async fn ask(mut stream: TcpStream) {
    if stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await.is_ok() {
        let _ = stream.read(&mut [0; 64]).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    const LONGEST: Duration = Duration::from_secs(2);

    async fn bound() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[tokio::test]
    async fn only_a_listener_that_is_silent_makes_no_progress() {
        let (silent, address) = bound().await;
        assert!(!answers(Some(address), LONGEST).await, "the kernel accepts, nobody answers");
        drop(silent);
        assert!(answers(Some(address), LONGEST).await, "refused: nothing is known");
        assert!(answers(None, LONGEST).await, "it listens nowhere");
        let (listener, address) = bound().await;
        tokio::spawn(async move { drop(listener.accept().await) });
        assert!(answers(Some(address), Duration::from_secs(60)).await, "it ended the connection");
    }
}
