//! Asking a daemon: over TLS or not, as a user or as nobody.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::super::Exit;
use crate::listener::client_config;
use crate::observe::Status;

/// The longest that a daemon may take to answer; it answers from memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 64 << 20;
/// Whom the distribution believes.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Whom to ask, and as whom. The password was never on a command line, where everyone could read it.
#[derive(Debug, Default)]
pub(in super::super) struct Asking {
    pub url: Uri,
    /// Instead of whom the distribution believes.
    pub trusted: Option<PathBuf>,
    pub password: Option<String>,
}

enum GetError {
    /// The call itself is wrong.
    Call(String),
    Answer(String),
    /// It answers, and not us.
    Refused,
}

impl<E: std::error::Error> From<E> for GetError {
    fn from(error: E) -> Self {
        Self::Answer(error.to_string())
    }
}

impl Asking {
    /// `GET /status.json` of the daemon.
    pub(in super::super) async fn ask(&self) -> Result<Status, Exit> {
        let url = &self.url;
        // Who wrote a password here must not read it in a log.
        let userinfo = url.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
        if userinfo.is_some_and(|(user, _)| user.contains(':')) {
            return Err(Exit::wrong(
                "--url: a password does not belong there, where everyone can read it: expected \
                                    USER@HOST, and the password in --password-file or KEYSWEEP_PASSWORD",
            ));
        }
        let no = |why: String| {
            Exit::unknown(format!(
                "no answer from a daemon at {url}: {why}; does it run, and does it listen there?"
            ))
        };
        match tokio::time::timeout(PATIENCE, self.get(userinfo.map(|(user, _)| user))).await {
            Err(_) => Err(no(format!("nothing came within {PATIENCE:?}"))),
            Ok(Err(GetError::Call(why))) => Err(Exit::wrong(why)),
            Ok(Err(GetError::Refused)) => Err(Exit::unknown(format!(
                "the daemon at {url} refuses, with 401: name the user in --url https://USER@HOST and give the right \
                 password in --password-file or KEYSWEEP_PASSWORD"
            ))),
            Ok(Err(GetError::Answer(why))) => Err(no(why)),
            Ok(Ok(body)) => serde_json::from_slice(&body)
                .map_err(|error| no(format!("it is no keysweep status: {error}"))),
        }
    }

    async fn get(&self, user: Option<&str>) -> Result<Bytes, GetError> {
        let wrong = |why: &str| GetError::Call(format!("--url {}: {why}", self.url));
        let (is_secret, standard) = match self.url.scheme_str() {
            None | Some("http") => (false, 80),
            Some("https") => (true, 443),
            Some(_) => return Err(wrong("expected http or https")),
        };
        let authority = self.url.authority().ok_or_else(|| wrong("expected http://HOST:PORT"))?;
        if !matches!(self.url.path_and_query().map(|path| path.as_str()), None | Some("" | "/")) {
            return Err(wrong("expected http://HOST:PORT, and nothing behind it"));
        }
        let host = authority.host().trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(standard))).await?;
        if !is_secret {
            return self.speak(stream, user).await;
        }
        let trusted = self.trusted.as_deref().unwrap_or(Path::new(SYSTEM));
        let config = client_config(trusted)
            .map_err(|error| GetError::Call(format!("whom to believe (--cacert): {error}")))?;
        let name = ServerName::try_from(host.to_owned())?;
        self.speak(TlsConnector::from(Arc::new(config)).connect(name, stream).await?, user).await
    }

    async fn speak<S>(&self, stream: S, user: Option<&str>) -> Result<Bytes, GetError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let host = self.url.authority().map_or("", |authority| authority.as_str());
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let mut request = Request::get("/status.json").header("host", host);
        if let Some(user) = user {
            let password = self.password.as_deref().unwrap_or_default();
            let credentials = STANDARD.encode(format!("{user}:{password}"));
            request = request.header("authorization", format!("Basic {credentials}"));
        }
        let answer = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
        match answer.status() {
            StatusCode::UNAUTHORIZED => Err(GetError::Refused),
            status if !status.is_success() => Err(GetError::Answer(format!("it says {status}"))),
            _ => match Limited::new(answer.into_body(), LARGEST).collect().await {
                Ok(body) => Ok(body.to_bytes()),
                Err(error) => Err(GetError::Answer(error.to_string())),
            },
        }
    }
}
