//! The real daemon, as a child that is asked over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::command::BINARY;
use super::{PATIENCE, wait_for};

/// A running daemon; killed when dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    address: SocketAddr,
}

/// An HTTP answer.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Daemon {
    /// Start it under this config, listening on a free port, and wait until it runs.
    pub fn start(config: &Path) -> Self {
        Self::start_command(Command::new(BINARY).arg("--config").arg(config).arg("run"))
    }

    /// Start it where its config says that it listens.
    pub fn start_as_configured(config: &Path) -> Self {
        Self::started(Command::new(BINARY).arg("--config").arg(config).arg("run"))
    }

    /// Start any command that runs the daemon in the end.
    pub fn start_command(command: &mut Command) -> Self {
        Self::started(command.env("KEYSWEEP__HTTP__LISTEN", "127.0.0.1:0"))
    }

    fn started(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn({
            let log = Arc::clone(&log);
            move || stderr.lines().map_while(Result::ok).for_each(|line| log.lock().unwrap().push(line))
        });
        let address = wait_for("the daemon to run", || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the daemon ended with {status}: {:?}", log.lock().unwrap());
            }
            let log = log.lock().unwrap();
            let line = log
                .iter()
                .find_map(|line| event(line).filter(|event| event["message"] == "keysweep runs"))?;
            Some(line["listen"].as_str()?.parse().unwrap())
        });
        Self { child, log, address }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every line that it has logged so far, as JSON.
    pub fn log(&self) -> Vec<Value> {
        self.log.lock().unwrap().iter().filter_map(|line| event(line)).collect()
    }

    pub fn get(&self, path: &str) -> Page {
        get(self.address, path)
    }

    /// The value of one sample of `/metrics`, asked for as it is written there, labels sorted by name.
    pub fn metric(&self, sample: &str) -> Option<f64> {
        let page = self.get("/metrics");
        assert_eq!(page.status, 200, "{page:?}");
        value_of(&page.body, sample)
    }

    /// Wait until a sample has this value.
    pub fn wait_for_metric(&self, sample: &str, wanted: f64) {
        wait_for(&format!("{sample} to be {wanted}, which is {:?}", self.metric(sample)), || {
            (self.metric(sample) == Some(wanted)).then_some(())
        });
    }

    /// Wait for a log line of which this is true.
    pub fn wait_for_log(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || self.log().into_iter().find(|event| is(event)))
    }

    /// Send a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success(), "cannot send {name} to {pid}");
    }

    /// Wait until it has ended.
    pub fn ended(mut self) -> ExitStatus {
        wait_for("the daemon to end", || self.child.try_wait().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn event(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok()
}

/// The value of one sample in an exposition.
pub fn value_of(exposition: &str, sample: &str) -> Option<f64> {
    let line = exposition.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '))?;
    Some(line.parse().unwrap())
}

/// One GET over a connection of its own.
pub fn get(address: SocketAddr, path: &str) -> Page {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) =
        answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {path}: {answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let in_chunks = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if in_chunks { joined(body) } else { body.into() };
    Page { status, head: head.into(), body }
}

/// What the chunks of a body say together. One that breaks off is no answer.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n").expect("the length of a chunk");
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return body;
        }
        body.push_str(&rest[..length]);
        chunks = rest[length..].strip_prefix("\r\n").expect("the end of a chunk");
    }
}
