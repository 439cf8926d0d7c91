//! What is asked of a request before it is answered: that it only reads, and who asks.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Request;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::POLICY;
use crate::listener::Users;

/// How many passwords are verified at once: guesses must not take the processors from the sweeps.
const VERIFIED_AT_ONCE: usize = 1;
/// The longest that a password waits for its turn.
const TURN: Duration = Duration::from_secs(3);
/// Probes carry no password, and learn nothing but whether the daemon is well.
pub(super) const OPEN: [&str; 2] = ["/livez", "/readyz"];

/// The gate. A clone is the same one.
#[derive(Clone)]
pub(super) struct Gate {
    turns: Arc<Semaphore>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { turns: Arc::new(Semaphore::new(VERIFIED_AT_ONCE)) }
    }

    /// # Errors
    /// The answer to a request that is not let in.
    // The answer is the error, made once and sent.
    #[allow(clippy::result_large_err)]
    pub(super) async fn admit<B>(
        &self,
        request: &Request<B>,
        users: Option<&Arc<Users>>,
    ) -> Result<(), Response> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let allow = [(header::ALLOW, "GET, HEAD")];
            return Err(
                (StatusCode::METHOD_NOT_ALLOWED, POLICY, allow, "only GET and HEAD\n").into_response()
            );
        }
        match users {
            Some(users) if !OPEN.contains(&request.uri().path()) => self.know(request.headers(), users).await,
            _ => Ok(()),
        }
    }

    #[allow(clippy::result_large_err)]
    async fn know(&self, headers: &HeaderMap, users: &Arc<Users>) -> Result<(), Response> {
        let Some((name, password)) = credentials(headers) else { return Err(who()) };
        if users.remembers(&name, &password) {
            return Ok(());
        }
        let Ok(Ok(turn)) = timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await else {
            return Err(later());
        };
        let users = Arc::clone(users);
        let verified = spawn_blocking(move || {
            // Kept until the work is done, also where the client has gone.
            let _turn = turn;
            users.verify(&name, &password)
        });
        match verified.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(who()),
            Err(_) => Err(later()),
        }
    }
}

/// Name and password of `Authorization: Basic`, RFC 7617.
fn credentials(headers: &HeaderMap) -> Option<(String, Vec<u8>)> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(one), None) = (all.next(), all.next()) else { return None };
    let (scheme, encoded) = one.to_str().ok()?.split_once(' ')?;
    let bytes = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()))?.ok()?;
    let colon = bytes.iter().position(|byte| *byte == b':')?;
    let (name, password) = bytes.split_at(colon);
    Some((String::from_utf8(name.to_vec()).ok()?, password.get(1..)?.to_vec()))
}

fn who() -> Response {
    let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"keysweep\", charset=\"UTF-8\"")];
    (StatusCode::UNAUTHORIZED, POLICY, ask, "a name and a password are needed\n").into_response()
}

fn later() -> Response {
    let when = [(header::RETRY_AFTER, "5")];
    (StatusCode::SERVICE_UNAVAILABLE, POLICY, when, "too many passwords to verify\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn of(value: &str) -> Option<(String, Vec<u8>)> {
        let value = HeaderValue::from_str(value).unwrap();
        credentials(&HeaderMap::from_iter([(header::AUTHORIZATION, value)]))
    }

    #[test]
    fn a_name_ends_at_the_first_colon() {
        let encoded = |text: &str| of(&format!("Basic {}", STANDARD.encode(text)));
        assert_eq!(encoded("prom:a:b"), Some(("prom".into(), b"a:b".to_vec())));
        assert_eq!(encoded("prom:"), Some(("prom".into(), b"".to_vec())));
        assert_eq!(encoded("prom"), None);
        assert_eq!(of("basic cHJvbTp4"), Some(("prom".into(), b"x".to_vec())));
    }

    #[test]
    fn another_scheme_and_broken_text_name_nobody() {
        for value in ["", "Basic", "Basic ", "Basic !", "Bearer cHJvbTp4", "Basic cHJvbTp4 x", "Basic /zp4"] {
            assert_eq!(of(value), None, "{value}");
        }
        let twice = HeaderValue::from_static("Basic cHJvbTp4");
        let mut headers = HeaderMap::new();
        headers.append(header::AUTHORIZATION, twice.clone());
        headers.append(header::AUTHORIZATION, twice);
        assert_eq!(credentials(&headers), None);
    }
}
