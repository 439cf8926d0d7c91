//! The library as a service uses it, with keysweep sweeping its table at the same time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::program;
use crate::support::database::shell;
use crate::support::{Daemon, PATIENCE, wait_for};

struct Shop {
    child: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shop {
    /// Open, replaying a response for so many seconds.
    fn open(replayed_for: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        shell(&path, "PRAGMA journal_mode = wal;");
        let mut shop = Command::new(program("shop"));
        let mut child = shop.arg(&path).arg(replayed_for).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().parse().unwrap(), folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("app.db")
    }

    fn send(&self, key: Option<&str>, item: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let key = key.map_or(String::new(), |key| format!("Idempotency-Key: {key}\r\n"));
        let length = item.len();
        write!(
            stream,
            "POST /orders HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n{key}Content-Length: {length}\r\n\r\n{item}"
        )
        .unwrap();
        stream
    }

    fn order(&self, key: Option<&str>, item: &str) -> (u16, String) {
        let mut answer = String::new();
        self.send(key, item).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.into())
    }

    fn orders(&self, of: &str) -> String {
        shell(&self.path(), &format!("SELECT count(*) FROM orders WHERE {of};")).trim().into()
    }
}

fn sweeping(path: &Path) -> Daemon {
    let config = path.with_file_name("keysweep.toml");
    let text =
        format!("[[database]]\nname = \"shop\"\npath = {path:?}\nevery = \"100ms\"\ncensus = \"100ms\"\n");
    std::fs::write(&config, text).unwrap();
    Daemon::start(&config)
}

#[test]
fn each_answer_has_its_status() {
    let shop = Shop::open("60");
    assert_eq!(shop.order(None, "book").0, 400);
    assert_eq!(shop.order(Some("k"), "book"), (201, r#"{"order":1}"#.into()));
    assert_eq!(shop.order(Some("k"), "book"), (200, r#"{"order":1}"#.into()));
    assert_eq!(shop.order(Some("k"), "car").0, 422);
    // As a service leaves it that died in the middle of an order.
    let reserved = keysweep::record::Fingerprint::new("order", 1, [("item", "pen")]);
    shell(&shop.path(), &format!("INSERT INTO keys VALUES ('p', '{reserved}', 'pending', NULL, 1e10);"));
    assert_eq!(shop.order(Some("p"), "pen").0, 409);
    assert_eq!(shop.orders("true"), "1");
}

#[test]
fn two_hundred_retrying_clients_some_of_which_hang_up_get_each_effect_once() {
    const CLIENTS: usize = 200;
    const KEYS: usize = 20;
    let shop = Shop::open("600");
    let daemon = sweeping(&shop.path());
    let answers: Vec<(usize, String)> = std::thread::scope(|scope| {
        let client = |number: usize| {
            let key = number % KEYS;
            let (name, item) = (format!("k{key}"), format!("item {key}"));
            if number.is_multiple_of(3) {
                drop(shop.send(Some(&name), &item));
            }
            wait_for("an answer that is final", || {
                let (status, body) = shop.order(Some(&name), &item);
                assert!([200, 201, 409].contains(&status), "{status} {body}");
                (status != 409).then_some((key, body))
            })
        };
        let threads: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for key in 0..KEYS {
        let mut of_key = answers.iter().filter(|(of, _)| *of == key).map(|(_, body)| body);
        let first = of_key.next().unwrap();
        assert!(of_key.all(|body| body == first), "two responses for k{key}");
        assert_eq!(shop.orders(&format!("key = 'k{key}'")), "1", "k{key}");
    }
    daemon.wait_for_metric(r#"keysweep_rows{database="shop",state="done",table="keys"}"#, 20.0);
    assert_eq!(daemon.metric(r#"keysweep_deleted_rows_total{database="shop",table="keys"}"#), Some(0.0));
}

#[test]
fn once_its_row_has_expired_and_is_swept_the_same_key_is_a_new_request() {
    let shop = Shop::open("0.5");
    let daemon = sweeping(&shop.path());
    assert_eq!(shop.order(Some("k"), "book"), (201, r#"{"order":1}"#.into()));
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="shop",table="keys"}"#, 1.0);
    assert_eq!(shop.order(Some("k"), "car"), (201, r#"{"order":2}"#.into()));
}
