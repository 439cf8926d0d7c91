//! Clients that are slow, many, or talk nonsense: Prometheus gets its answer beside them, and afterwards nothing is left.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::{idle, pending};
use crate::support::identity::{Identity, got};
use crate::support::{Daemon, PATIENCE, wait_for};

/// As many as are served at once, and a few more.
const CROWD: usize = 300;
/// In all; so many of them are held open at this end, which any limit of files allows.
const MANY: usize = 10_000;
const HELD: usize = 400;
/// What the daemon may grow by, in KiB: 256 clients' buffers and 32 large answers, and room.
const GROWTH: u64 = 56 * 1024;

fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

/// One that sends this and waits.
fn begin(address: SocketAddr, text: &[u8]) -> TcpStream {
    let mut client = connect(address);
    // It may be gone already: others came.
    let _ = client.write_all(text);
    client
}

fn resident(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

fn files(daemon: &Daemon) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count()
}

/// Whether the other end has closed, for whatever reason. Of what it said before, this reads a little at a time.
fn is_closed(client: &mut TcpStream) -> bool {
    client.set_nonblocking(true).unwrap();
    match client.read(&mut [0; 64]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// One that asks and does not read, and for which the kernel keeps next to nothing.
fn begin_narrow(address: SocketAddr, request: &str) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let socket = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(2_048).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    });
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = (&socket).write_all(request.as_bytes());
    socket
}

/// Wait until it has closed all of these.
fn wait_for_all_closed(mut clients: Vec<TcpStream>) {
    wait_for("every client to be cut off", || {
        clients.retain_mut(|client| !is_closed(client));
        clients.is_empty().then_some(())
    });
}

/// The files of the daemon are as many as before; a scrape takes one for its own time.
fn wait_for_files(daemon: &Daemon, before: usize) {
    wait_for("the files to be closed", || (files(daemon) <= before).then_some(()));
}

#[test]
fn clients_that_send_a_byte_at_a_time_are_cut_off_and_keep_nobody_out() {
    let database = pending();
    let daemon = Daemon::start(&idle(&database, ""));
    assert_eq!(daemon.get("/metrics").status, 200);
    let before = files(&daemon);
    let mut clients: Vec<_> = (0..CROWD).map(|_| begin(daemon.address(), b"GET /met")).collect();
    let mut answered = 0;
    wait_for("every slow client to be cut off", || {
        for client in &mut clients {
            let _ = client.write_all(b"r");
        }
        assert_eq!(daemon.get("/metrics").status, 200);
        answered += 1;
        clients.retain_mut(|client| !is_closed(client));
        clients.is_empty().then_some(())
    });
    println!("{answered} scrapes were answered beside {CROWD} slow clients");
    assert!(answered > 1);
    wait_for_files(&daemon, before);
}

#[test]
fn handshakes_that_never_end_are_cut_off_and_keep_nobody_out() {
    let (database, identity) = (pending(), Identity::new());
    let daemon = Daemon::start(&idle(&database, &identity.tls()));
    let (cert, url) = (identity.cert(), format!("https://{}/livez", daemon.address()));
    let fine = || assert_eq!(got(&["--cacert", cert.to_str().unwrap(), &url]).0, 200);
    fine();
    let before = files(&daemon);
    // The head of a record that says it is a long hello.
    let clients = (0..CROWD).map(|_| begin(daemon.address(), &[0x16, 3, 1, 2, 0, 1])).collect();
    fine();
    wait_for_all_closed(clients);
    fine();
    wait_for_files(&daemon, before);
}

#[test]
fn of_ten_thousand_clients_a_bounded_number_is_held_and_a_scrape_is_answered_in_between() {
    let database = pending();
    let daemon = Daemon::start(&idle(&database, ""));
    assert_eq!(daemon.get("/metrics").status, 200);
    let (files_before, memory_before) = (files(&daemon), resident(&daemon));
    let texts: [&[u8]; 4] =
        [b"", b"GET /metrics HTTP/1.1\r\nHost:", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03"];
    let mut held = VecDeque::new();
    let (mut most_files, mut most_memory) = (0, 0);
    for number in 0..MANY {
        held.push_back(begin(daemon.address(), texts[number % texts.len()]));
        if held.len() > HELD {
            held.pop_front();
        }
        if number % 500 == 0 {
            assert_eq!(daemon.get("/metrics").status, 200, "after {number} clients");
            (most_files, most_memory) = (most_files.max(files(&daemon)), most_memory.max(resident(&daemon)));
        }
    }
    assert_eq!(daemon.get("/metrics").status, 200);
    let clients = most_files - files_before;
    println!("{MANY} clients: at most {clients} held, {memory_before} KiB before, {most_memory} KiB at most");
    assert!(clients <= 258, "{clients} clients were held at once");
    assert!(most_memory < memory_before + GROWTH, "{memory_before} KiB became {most_memory} KiB");
    drop(held);
    wait_for_files(&daemon, files_before);
}

/// What no client of good will sends. Each ends the connection, with or without an answer.
fn nonsense(random: &mut fastrand::Rng) -> Vec<u8> {
    let long = |length: usize| "x".repeat(length);
    let texts = [
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
        format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", long(1 << 17)),
        format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", long(1 << 17)),
        format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(2_000)),
        "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100),
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x"
            .into(),
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n".into(),
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".into(),
        "GET\t/\tHTTP/1.1\r\n\r\n".into(),
        "GET http://elsewhere/metrics HTTP/1.1\r\nHost: x\r\n\r\n".into(),
        "CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere\r\n\r\n".into(),
        "GET / HTTP/9.9\r\n\r\n".into(),
        "BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nExpect: 100-continue\r\n\r\n"
            .into(),
        "GET /%00%ff/../../etc/passwd?\u{1} HTTP/1.1\r\nHost: x\r\n\r\n".into(),
        "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \u{80}\r\n\r\n".into(),
        "GET / HTTP/1.1\n bad: fold\n\n".into(),
        "\r\n".repeat(20_000),
        "\0".repeat(70_000),
    ];
    match random.usize(..texts.len() * 2) {
        known if known < texts.len() => texts[known].clone().into_bytes(),
        // One that was damaged, or none at all.
        other if other % 2 == 0 => (0..random.usize(..5_000)).map(|_| random.u8(..)).collect(),
        other => {
            let mut bytes = texts[other - texts.len()].clone().into_bytes();
            for _ in 0..random.usize(1..8) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            bytes
        }
    }
}

#[test]
fn nonsense_is_answered_with_a_refusal_or_not_at_all_and_changes_nothing() {
    let (database, identity) = (pending(), Identity::new());
    let plain = Daemon::start(&idle(&database, ""));
    let other = pending();
    let over_tls = Daemon::start(&idle(&other, &identity.tls()));
    let (files_before, memory_before) = (files(&plain), resident(&plain));
    let mut random = fastrand::Rng::with_seed(6);
    let mut answers = 0;
    for number in 0..600 {
        let bytes = nonsense(&mut random);
        for daemon in [&plain, &over_tls] {
            let mut client = begin(daemon.address(), &bytes);
            let _ = client.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = client.read_to_end(&mut answer);
            // One answer at most: what follows the first request is not read as a second.
            let count = answer.windows(9).filter(|bytes| bytes == b"HTTP/1.1 ").count();
            assert!(count <= 1, "{count} answers to {:?}", String::from_utf8_lossy(&bytes));
            assert!(!answer.starts_with(b"HTTP/1.1 5"), "{:?}", String::from_utf8_lossy(&answer));
            answers += count;
        }
        if number % 50 == 0 {
            assert_eq!(plain.get("/metrics").status, 200);
        }
    }
    println!("{answers} answers to 1200 pieces of nonsense");
    assert!(answers > 100);
    assert_eq!(plain.get("/metrics").status, 200);
    let (cert, url) = (identity.cert(), format!("https://{}/metrics", over_tls.address()));
    assert_eq!(got(&["--cacert", cert.to_str().unwrap(), &url]).0, 200);
    assert!(resident(&plain) < memory_before + GROWTH, "{memory_before} KiB became {} KiB", resident(&plain));
    wait_for_files(&plain, files_before);
    let words = |daemon: &Daemon| daemon.log().iter().filter(|line| line["level"] != "INFO").count();
    assert_eq!((words(&plain), words(&over_tls)), (0, 0), "nobody is woken for that");
}

#[test]
fn clients_that_do_not_read_their_answer_are_cut_off_and_cost_a_bounded_memory() {
    use std::fmt::Write as _;
    let database = pending();
    let gone = database.folder().join("gone.db");
    let mut config = format!("[[database]]\nname = 'app'\npath = {gone:?}\nevery = '1h'\ncensus = '1h'\n");
    (0..1_000).for_each(|number| write!(config, "[[database.table]]\ntable = 'rule-{number}'\n").unwrap());
    let daemon = Daemon::start(&database.config_text(&config));
    daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 0.0);
    let files_before = files(&daemon);
    for path in ["/status.json", "/metrics", "/"] {
        let length = daemon.get(path).body.len();
        let before = resident(&daemon);
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        let clients: Vec<_> = (0..CROWD).map(|_| begin_narrow(daemon.address(), &request)).collect();
        let mut most = 0;
        for _ in 0..5 {
            assert_eq!(daemon.get("/metrics").status, 200, "beside readers of {path}");
            most = most.max(resident(&daemon));
        }
        println!("{path}, {length} bytes: {before} KiB before, {most} KiB beside {CROWD} that do not read");
        assert!(most < before + GROWTH, "{path}: {before} KiB became {most} KiB");
        // They still do not read: it is not they who end it.
        wait_for_files(&daemon, files_before);
        drop(clients);
    }
}
