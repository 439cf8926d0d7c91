//! One client, from its first byte to its last.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::crowd::{Crowd, Place};
use super::gate::Gate;
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

/// An answer of this length, in bytes, is in memory as a whole while its reader takes it.
const LARGE: u64 = 64 << 10;
/// So many readers of large answers at once: two hundred of them, each standing still, would hold two hundred copies.
const READERS_OF_LARGE: usize = 32;

/// All that one conversation needs.
#[derive(Clone)]
pub(super) struct Conversation {
    routes: Router,
    gate: Gate,
    readers: Crowd,
    patience: Patience,
}

/// A client that is in.
struct Guest {
    place: Place,
    /// Among the readers of large answers, once it has one.
    reads: OnceLock<Place>,
}

impl Conversation {
    pub(super) fn new(routes: Router, patience: Patience) -> Self {
        Self { routes, gate: Gate::new(), readers: Crowd::new(READERS_OF_LARGE), patience }
    }

    /// One request on one connection: no second one is read, so that nothing can be smuggled behind the first. A
    /// client that stays slow is cut off, and that is no news.
    pub(super) async fn hold(self, stream: TcpStream, place: Place, terms: Terms) {
        let (guest, patience) = (Arc::new(Guest { place, reads: OnceLock::new() }), self.patience);
        let conversation = self.speak(stream, Arc::clone(&guest), terms);
        tokio::select! {
            () = conversation => {}
            () = guest.place.dismissed() => {}
            () = impatient(patience, &guest.place) => {}
        }
    }

    async fn speak(self, stream: TcpStream, guest: Arc<Guest>, terms: Terms) {
        let Terms { certificate, users } = terms;
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
        let Ok(answer) = TowerToHyperService::new(self.routes).call(request).await;
        // Without a length it comes in pieces, of which some are in memory.
        if answer.body().size_hint().exact().is_none_or(|length| length >= LARGE)
            && let Some(place) = self.readers.enter_also(&guest.place).await
        {
            // There is one request on a connection.
            let _ = guest.reads.set(place);
        }
        answer
    }
}

async fn impatient(Patience { request, whole }: Patience, place: &Place) {
    tokio::time::sleep(request).await;
    if place.is_admitted() {
        tokio::time::sleep(whole.saturating_sub(request)).await;
    }
}
