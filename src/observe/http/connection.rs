//! One client, from its first byte to its last.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::SetOnce;
use tokio_rustls::TlsAcceptor;
use tokio_util::io::InspectWriter;

use super::crowd::Place;
use super::gate::{Gate, OPEN};
use super::readers::{Readers, Seat};
use crate::listener::{Terms, Users};

/// The largest head of a request, and of an answer what waits for its reader, in bytes.
const BUFFER: usize = 16 << 10;

/// The patience with one client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Until its request is there: handshake, head, and its password.
    pub(super) request: Duration,
    /// Until it has read the answer, from the same beginning.
    pub(super) whole: Duration,
}

/// So many answers are read at once.
const SEATS: usize = 32;

/// All that one conversation needs.
#[derive(Clone)]
pub(super) struct Conversation {
    routes: Router,
    gate: Gate,
    readers: Readers,
    patience: Patience,
}

/// A client that is in.
struct Guest {
    place: Place,
    /// The pieces of the answer that it took.
    took: AtomicU64,
    /// Once it has an answer to read.
    seat: SetOnce<Seat>,
}

impl Guest {
    fn new(place: Place) -> Self {
        Self { place, took: AtomicU64::new(0), seat: SetOnce::new() }
    }

    fn take(&self) {
        self.took.fetch_add(1, Ordering::Relaxed);
    }

    fn sit(&self, seat: Seat) {
        // There is one request on a connection, so this is the first.
        let _ = self.seat.set(seat);
    }

    async fn stands_still(&self, readers: &Readers) {
        self.seat.wait().await;
        readers.stands_still(&self.took).await;
    }
}

impl Conversation {
    pub(super) fn new(routes: Router, patience: Patience) -> Self {
        Self { routes, gate: Gate::new(), readers: Readers::new(SEATS), patience }
    }

    /// One request on one connection: no second one is read, so that nothing can be smuggled behind the first. A
    /// client that stays slow is cut off, and that is no news.
    pub(super) async fn hold(self, stream: TcpStream, place: Place, terms: Terms) {
        let (guest, patience) = (Arc::new(Guest::new(place)), self.patience);
        let readers = self.readers.clone();
        let conversation = self.speak(stream, Arc::clone(&guest), terms);
        tokio::select! {
            () = conversation => {}
            () = guest.place.dismissed() => {}
            () = guest.stands_still(&readers) => {}
            () = impatient(patience, &guest.place) => {}
        }
    }

    async fn speak(self, stream: TcpStream, guest: Arc<Guest>, terms: Terms) {
        let Terms { certificate, users } = terms;
        let noted = Arc::clone(&guest);
        // Called after each write that the kernel took: the other end reads.
        let stream = InspectWriter::new(stream, move |_: &[u8]| noted.take());
        match certificate {
            None => self.answer(stream, guest, users).await,
            Some(certificate) => {
                if let Ok(stream) = TlsAcceptor::from(certificate.server()).accept(stream).await {
                    self.answer(stream, guest, users).await;
                }
            }
        }
    }

    async fn answer<S>(self, stream: S, guest: Arc<Guest>, users: Option<Arc<Users>>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |request: Request<Incoming>| {
            let (conversation, guest, users) = (self.clone(), Arc::clone(&guest), users.clone());
            async move { Ok::<_, Infallible>(conversation.answer_to(request, &guest, users.as_ref()).await) }
        });
        let connection = http1::Builder::new()
            .keep_alive(false)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        // Whatever broke off, broke off with a client.
        let _ = connection.await;
    }

    async fn answer_to(
        self,
        request: Request<Incoming>,
        guest: &Guest,
        users: Option<&Arc<Users>>,
    ) -> Response {
        if let Err(refusal) = self.gate.admit(&request, users).await {
            return refusal;
        }
        guest.place.admit();
        if !OPEN.contains(&request.uri().path())
            && let Some(seat) = self.readers.sit().await
        {
            guest.sit(seat);
        }
        let Ok(answer) = TowerToHyperService::new(self.routes).call(request).await;
        answer
    }
}

async fn impatient(Patience { request, whole }: Patience, place: &Place) {
    tokio::time::sleep(request).await;
    if place.is_admitted() {
        tokio::time::sleep(whole.saturating_sub(request)).await;
    }
}
