//! One client, from its first byte to its last.

use std::convert::Infallible;
use std::sync::Arc;
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
use tokio_rustls::TlsAcceptor;

use super::crowd::Place;
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

/// All that one conversation needs.
#[derive(Clone)]
pub(super) struct Conversation {
    pub(super) routes: Router,
    pub(super) gate: Gate,
    pub(super) patience: Patience,
}

impl Conversation {
    /// One request on one connection: no second one is read, so that nothing can be smuggled behind the first. A
    /// client that stays slow is cut off, and that is no news.
    pub(super) async fn hold(self, stream: TcpStream, place: Place, terms: Terms) {
        let (place, patience) = (Arc::new(place), self.patience);
        let conversation = self.speak(stream, Arc::clone(&place), terms);
        tokio::select! {
            () = conversation => {}
            () = place.dismissed() => {}
            () = impatient(patience, &place) => {}
        }
    }

    async fn speak(self, stream: TcpStream, place: Arc<Place>, terms: Terms) {
        let Terms { certificate, users } = terms;
        match certificate {
            None => self.answer(stream, place, users).await,
            Some(certificate) => {
                if let Ok(stream) = TlsAcceptor::from(certificate.server()).accept(stream).await {
                    self.answer(stream, place, users).await;
                }
            }
        }
    }

    async fn answer<S>(self, stream: S, place: Arc<Place>, users: Option<Arc<Users>>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { routes, gate, .. } = self;
        let routes = TowerToHyperService::new(routes);
        let service = service_fn(move |request: Request<Incoming>| {
            let (routes, gate, place, users) = (routes.clone(), gate.clone(), place.clone(), users.clone());
            async move { answered(request, &routes, &gate, &place, users.as_ref()).await }
        });
        let connection = http1::Builder::new()
            .keep_alive(false)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        // Whatever broke off, broke off with a client.
        let _ = connection.await;
    }
}

async fn answered(
    request: Request<Incoming>,
    routes: &TowerToHyperService<Router>,
    gate: &Gate,
    place: &Place,
    users: Option<&Arc<Users>>,
) -> Result<Response, Infallible> {
    match gate.admit(&request, users).await {
        Ok(()) => {
            place.admit();
            routes.call(request).await
        }
        Err(refusal) => Ok(refusal),
    }
}

async fn impatient(Patience { request, whole }: Patience, place: &Place) {
    tokio::time::sleep(request).await;
    if place.is_admitted() {
        tokio::time::sleep(whole.saturating_sub(request)).await;
    }
}
