//! The listener: answers from memory only.

mod connection;
mod crowd;
mod gate;
mod readers;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::Observer;
use super::page::{ICON, Query, SCRIPT, STYLE};
use super::pieces::Pieces;
use crate::listener::Door;
use crate::plan::UnixTime;
use connection::{Conversation, Patience};
use crowd::Crowd;

/// More clients at once than any monitoring has.
const CONNECTIONS: usize = 256;
/// Longest life of a connection, from the first byte to the last: it serves one request.
const PATIENCE: Patience = Patience { request: Duration::from_secs(5), whole: Duration::from_secs(10) };
/// How long a shutdown lets the clients go on that it finds.
const GRACE: Duration = Duration::from_secs(1);
/// When a connection cannot be accepted, for want of file descriptors, trying at once would spin.
const ACCEPT_REST: Duration = Duration::from_millis(100);

const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The page loads its own style sheet, script and icon, asks for itself again, and its one form filters it: nothing else.
const POLICY: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Whether the runtime and the scheduler still turn.
pub type Alive = Arc<dyn Fn() -> bool + Send + Sync>;

/// Serves until `shutdown`, on the terms of the door, and ends at most about a second after it, whatever the
/// clients do.
pub async fn serve(
    listener: TcpListener,
    door: Door,
    observer: Observer,
    alive: Alive,
    now: fn() -> UnixTime,
    shutdown: CancellationToken,
) {
    let connections = TaskTracker::new();
    let routes = routes(observer, alive, now);
    let conversation = Conversation::new(routes, PATIENCE);
    let accepting = accept(listener, door, conversation, connections.clone(), shutdown.clone());
    shutdown.run_until_cancelled(accepting).await;
    connections.close();
    connections.wait().await;
}

async fn accept(
    listener: TcpListener,
    door: Door,
    conversation: Conversation,
    connections: TaskTracker,
    shutdown: CancellationToken,
) {
    let crowd = Crowd::new(CONNECTIONS);
    let mut refused = false;
    loop {
        let accepted = listener.accept().await;
        refused = note_refusal(refused, accepted.as_ref().err());
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        let Some(place) = crowd.enter().await else { return };
        let held = conversation.clone().hold(stream, place, door.terms());
        let stopped = stopped(shutdown.clone());
        connections.spawn(async move {
            tokio::select! {
                () = held => {}
                () = stopped => {}
            }
        });
    }
}

async fn stopped(shutdown: CancellationToken) {
    shutdown.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// One line when it starts, not one for each client that is kept waiting.
fn note_refusal(refused_before: bool, error: Option<&std::io::Error>) -> bool {
    if let Some(error) = error
        && !refused_before
    {
        warn!(error = error.to_string().as_str(), "status and metrics cannot be served at present");
    }
    error.is_some()
}

#[derive(Clone)]
struct Served {
    observer: Observer,
    alive: Alive,
    now: fn() -> UnixTime,
}

fn routes(observer: Observer, alive: Alive, now: fn() -> UnixTime) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/style.css", get(async || asset("text/css; charset=utf-8", STYLE)))
        .route("/page.js", get(async || asset("text/javascript; charset=utf-8", SCRIPT)))
        .route("/icon.svg", get(async || asset("image/svg+xml", ICON)))
        .route("/status.json", get(status))
        .route("/metrics", get(metrics))
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .with_state(Served { observer, alive, now })
}

async fn metrics(State(served): State<Served>) -> Response {
    match served.observer.exposition() {
        Ok(exposition) => {
            let body = Body::new(Pieces::of(exposition));
            (POLICY, [(header::CONTENT_TYPE, METRICS_TYPE)], body).into_response()
        }
        Err(error) => failed(format!("{error}\n"), StatusCode::INTERNAL_SERVER_ERROR),
    }
}

async fn status(State(served): State<Served>) -> Response {
    text("application/json", serde_json::to_string(&served.observer.status()))
}

async fn page(State(served): State<Served>, RawQuery(query): RawQuery) -> Response {
    let query = Query::parse(&query.unwrap_or_default());
    text("text/html; charset=utf-8", Ok::<_, Infallible>(served.observer.page(&query, (served.now)())))
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    (POLICY, [(header::CONTENT_TYPE, kind)], text).into_response()
}

async fn live(State(served): State<Served>) -> Response {
    health((served.alive)())
}

async fn ready(State(served): State<Served>) -> Response {
    health(served.observer.is_ready())
}

fn health(good: bool) -> Response {
    if good {
        (POLICY, "ok\n").into_response()
    } else {
        failed("not now\n".into(), StatusCode::SERVICE_UNAVAILABLE)
    }
}

fn text<E: std::fmt::Display>(kind: &'static str, body: Result<String, E>) -> Response {
    match body {
        Ok(body) => (POLICY, [(header::CONTENT_TYPE, kind)], body).into_response(),
        Err(error) => failed(format!("{error}\n"), StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn failed(words: String, code: StatusCode) -> Response {
    (code, POLICY, words).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::Terms;
    use crate::observe::{Status, sample};
    use std::io::{Read, Write};
    use std::net::{Shutdown, SocketAddr, TcpStream as Client};
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::task::{JoinHandle, spawn_blocking};
    use tokio::time::timeout;

    /// Long enough for a slow machine; a test that hangs fails here.
    const LONGEST: Duration = Duration::from_secs(20);

    struct Running {
        address: SocketAddr,
        observer: Observer,
        alive: Arc<AtomicBool>,
        shutdown: CancellationToken,
        server: JoinHandle<()>,
    }

    async fn run() -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, observer) = (listener.local_addr().unwrap(), sample::observer());
        let (alive, shutdown) = (Arc::new(AtomicBool::new(true)), CancellationToken::new());
        let asked = alive.clone();
        let alive_now: Alive = Arc::new(move || asked.load(Ordering::Relaxed));
        let server = tokio::spawn(serve(
            listener,
            Door::new(Terms::default()),
            observer.clone(),
            alive_now,
            || UnixTime::from_millis(0),
            shutdown.clone(),
        ));
        Running { address, observer, alive, shutdown, server }
    }

    impl Running {
        /// The whole answer to `GET path`, head and body.
        async fn get(&self, path: &str) -> String {
            self.ask(format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n")).await
        }

        async fn ask(&self, request: String) -> String {
            let address = self.address;
            let asked = spawn_blocking(move || {
                let mut client = connect(address);
                client.write_all(request.as_bytes()).unwrap();
                let mut answer = String::new();
                client.read_to_string(&mut answer).unwrap();
                answer
            });
            asked.await.unwrap()
        }
    }

    fn connect(address: SocketAddr) -> Client {
        let client = Client::connect(address).unwrap();
        client.set_read_timeout(Some(LONGEST)).unwrap();
        client
    }

    fn is(answer: &str, code: u16) -> bool {
        answer.starts_with(&format!("HTTP/1.1 {code} "))
    }

    #[tokio::test]
    async fn prometheus_gets_its_text_format() {
        let answer = run().await.get("/metrics").await;
        assert!(is(&answer, 200), "{answer}");
        assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
        assert!(answer.contains("\nkeysweep_deleted_rows_total{database=\"app\",table=\"keys\"} 0\n"));
    }

    #[tokio::test]
    async fn the_status_is_read_back_from_its_json() {
        let running = run().await;
        let answer = running.get("/status.json").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("content-type: application/json"), "{head}");
        assert_eq!(serde_json::from_str::<Status>(body).unwrap(), running.observer.status());
    }

    #[tokio::test]
    async fn the_page_may_load_what_is_its_own_and_nothing_else() {
        let running = run().await;
        let page = running.get("/").await;
        assert!(is(&page, 200) && page.contains("content-type: text/html"), "{page}");
        let policy = "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'; ";
        assert!(page.contains(policy) && !page.contains("unsafe"), "{page}");
        for (path, kind) in
            [("style.css", "text/css"), ("page.js", "text/javascript"), ("icon.svg", "image/svg+xml")]
        {
            assert!(page.contains(&format!("\"{path}\"")), "{path}: {page}");
            let asset = running.get(&format!("/{path}")).await;
            assert!(is(&asset, 200) && asset.contains(&format!("content-type: {kind}")), "{asset}");
        }
    }

    #[tokio::test]
    async fn ready_is_said_once_and_alive_as_long_as_it_is_true() {
        let running = run().await;
        assert!(is(&running.get("/readyz").await, 503));
        running.observer.set_ready();
        assert!(is(&running.get("/readyz").await, 200));
        assert!(is(&running.get("/livez").await, 200));
        running.alive.store(false, Ordering::Relaxed);
        assert!(is(&running.get("/livez").await, 503));
        assert!(is(&running.get("/readyz").await, 200));
    }

    #[tokio::test]
    async fn a_database_that_is_down_is_no_reason_to_be_restarted() {
        let running = run().await;
        running.observer.set_ready();
        running.observer.tell(&sample::ticked(Some(sample::failure("gone"))));
        assert!(is(&running.get("/livez").await, 200));
        assert!(is(&running.get("/readyz").await, 200));
    }

    #[tokio::test]
    async fn only_reading_is_served() {
        let running = run().await;
        let post = "POST /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n";
        assert!(is(&running.ask(post.into()).await, 405));
        let head = running.ask("HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n".into()).await;
        assert!(is(&head, 200) && head.ends_with("\r\n\r\n"), "{head}");
        assert!(is(&running.get("/etc").await, 404));
    }

    #[tokio::test]
    async fn half_a_request_does_not_hold_up_a_shutdown() {
        let running = run().await;
        let mut half_open = connect(running.address);
        half_open.write_all(b"GET /met").unwrap();
        // Connections are accepted in order: after this answer the half-open one is being served.
        assert!(is(&running.get("/livez").await, 200));
        running.shutdown.cancel();
        timeout(GRACE * 5, running.server).await.expect("it ends soon").unwrap();
        let mut rest = Vec::new();
        assert_eq!(half_open.read_to_end(&mut rest).unwrap_or(0), 0, "{rest:?}");
    }

    #[tokio::test]
    async fn a_client_that_never_ends_its_request_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut half_open = connect(listener.local_addr().unwrap());
        half_open.write_all(b"GET /met").unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let routes = routes(sample::observer(), Arc::new(|| true), || UnixTime::from_millis(0));
        let short = Patience { request: Duration::from_millis(20), whole: LONGEST };
        let conversation = Conversation::new(routes, short);
        let place = Crowd::new(1).enter().await.unwrap();
        timeout(LONGEST, conversation.hold(stream, place, Terms::default())).await.expect("it is cut off");
        half_open.shutdown(Shutdown::Write).ok();
        let mut rest = Vec::new();
        assert_eq!(half_open.read_to_end(&mut rest).unwrap_or(0), 0, "{rest:?}");
    }
}
