//! A small service that takes orders under an `Idempotency-Key`: `shop FILE SECONDS`, where a response
//! is replayed for so many seconds. Prints its address, and serves until it is killed.
//!
//! Missing key 400; the same request in progress 409; the same key with another body 422; a retry gets
//! the recorded response. An order takes effect by a row in the table `orders`.
#![allow(clippy::expect_used, reason = "a test program ends loudly")]

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use keysweep::clock::now;
use keysweep::record::{Fingerprint, Keys, KeysError, Response, Retry};

const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

struct Shop {
    keys: Keys,
    orders: std::sync::Mutex<rusqlite::Connection>,
    replayed_for: Duration,
}

type Reply = (StatusCode, String);

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("FILE");
    let seconds: f64 = args.next().expect("SECONDS").parse().expect("a number");
    let keys = Keys::create(path.as_ref(), BUSY_TIMEOUT).expect("the key table opens");
    let orders = rusqlite::Connection::open(&path).expect("the database opens");
    orders.busy_timeout(BUSY_TIMEOUT).expect("a timeout is set");
    orders
        .execute_batch("CREATE TABLE IF NOT EXISTS orders(key TEXT, item TEXT)")
        .expect("the table is made");
    let replayed_for = Duration::from_secs_f64(seconds);
    let shop = Arc::new(Shop { keys, orders: orders.into(), replayed_for });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    println!("{}", listener.local_addr().expect("it is bound"));
    axum::serve(listener, Router::new().route("/orders", post(order)).with_state(shop))
        .await
        .expect("it serves");
}

/// The work goes on when the client has gone: a request is handled whole, or its key stays pending.
async fn order(Shared(shop): Shared<Arc<Shop>>, headers: HeaderMap, item: String) -> Reply {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or("").to_owned();
    let handled = tokio::task::spawn_blocking(move || shop.handle(&key, &item)).await;
    match handled {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
        Err(panic) => (StatusCode::INTERNAL_SERVER_ERROR, panic.to_string()),
    }
}

impl Shop {
    fn handle(&self, key: &str, item: &str) -> Result<Reply, KeysError> {
        if key.is_empty() {
            return Ok((StatusCode::BAD_REQUEST, "an Idempotency-Key is needed".into()));
        }
        let fingerprint = Fingerprint::new("order", 1, [("item", item)]);
        let now = now();
        let expires = now.after(self.replayed_for).expect("a time of this century");
        if self.keys.reserve(key, fingerprint.as_str(), expires)? {
            return self.act(key, &fingerprint, item);
        }
        Ok(match self.keys.retry(key, fingerprint.as_str(), now)? {
            Retry::Replay(response) => (StatusCode::OK, response.to_string()),
            Retry::InProgress => (StatusCode::CONFLICT, "in progress".into()),
            Retry::AnotherRequest => {
                (StatusCode::UNPROCESSABLE_ENTITY, "this key was used for another order".into())
            }
            Retry::Expired | Retry::Free => (StatusCode::CONFLICT, "expired: ask again in a moment".into()),
        })
    }

    fn act(&self, key: &str, fingerprint: &Fingerprint, item: &str) -> Result<Reply, KeysError> {
        let orders = self.orders.lock().expect("no order panics");
        orders.execute("INSERT INTO orders VALUES (?1, ?2)", [key, item]).expect("the order is taken");
        let number = orders.last_insert_rowid();
        drop(orders);
        let response: Response = format!(r#"{{"order":{number}}}"#).parse().expect("this is JSON");
        self.keys.finish(key, fingerprint.as_str(), &response)?;
        Ok((StatusCode::CREATED, response.to_string()))
    }
}
