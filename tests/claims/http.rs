//! What the listener answers, and to whom.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::support::command::BINARY;
use crate::support::unasked::Unasked;
use crate::support::{Daemon, Database, Journal, PATIENCE, keysweep, wait_for};

const HOSTILE: &str = r#"a<b>&"c'"#;
const HOSTILE_ESCAPED: &str = "a&lt;b&gt;&amp;&quot;c&#39;";

/// Every family of DESIGN's section on metrics that a database and its tables have.
const FAMILIES: [&str; 31] = [
    "keysweep_rows",
    "keysweep_expired_rows",
    "keysweep_unreadable_rows",
    "keysweep_abandoned_rows",
    "keysweep_oldest_abandoned_timestamp_seconds",
    "keysweep_deleted_rows_total",
    "keysweep_batches_total",
    "keysweep_sweeps_total",
    "keysweep_skipped_rows_total",
    "keysweep_held",
    "keysweep_retention_seconds",
    "keysweep_cutoff_timestamp_seconds",
    "keysweep_last_attempt_timestamp_seconds",
    "keysweep_last_success_timestamp_seconds",
    "keysweep_census_timestamp_seconds",
    "keysweep_census_interval_seconds",
    "keysweep_database_up",
    "keysweep_errors_total",
    "keysweep_batch_duration_seconds",
    "keysweep_lock_wait_seconds",
    "keysweep_database_bytes",
    "keysweep_wal_bytes",
    "keysweep_free_bytes",
    "keysweep_next_tick_timestamp_seconds",
    "keysweep_tick_interval_seconds",
    "keysweep_config_last_reload_successful",
    "keysweep_config_last_reload_success_timestamp_seconds",
    "keysweep_build_info",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
];

fn abandoned_row() -> Database {
    Database::with_keys(Journal::Wal, [("a", "pending", 1.0)])
}

/// A daemon that has swept and counted once and then stands still.
fn still(database: &Database, name: &str) -> Daemon {
    let path = database.path();
    let text = format!("[[database]]\nname = '''{name}'''\npath = {path:?}\nevery = '1h'\ncensus = '1h'\n");
    let daemon = Daemon::start(&database.config_text(&text));
    wait_for("a sweep and a census", || {
        let status: Value = serde_json::from_str(&daemon.get("/status.json").body).unwrap();
        let table = &status["databases"][name]["tables"]["keys"];
        let space = &status["databases"][name]["space"];
        ([&table["census"], &table["last_sweep"], space].iter().all(|it| !it.is_null())).then_some(())
    });
    daemon
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn each_path_answers_with_its_own_content_type() {
    let database = abandoned_row();
    let daemon = still(&database, "app");
    for (path, kind) in [
        ("/livez", "text/plain; charset=utf-8"),
        ("/readyz", "text/plain; charset=utf-8"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
        ("/status.json", "application/json"),
        ("/", "text/html; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let page = daemon.get(path);
        assert_eq!(page.status, 200, "{path}");
        let has_kind = page.head.to_lowercase().lines().any(|line| line == format!("content-type: {kind}"));
        assert!(has_kind && !page.body.is_empty(), "{path}: {}", page.head);
    }
}

#[test]
fn only_get_and_head_are_served_and_only_what_is_there() {
    let database = abandoned_row();
    let daemon = still(&database, "app");
    for path in ["/livez", "/readyz", "/metrics", "/status.json", "/"] {
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
            assert_eq!(status_of(&ask(daemon.address(), &request)), 405, "{method} {path}");
        }
        let head = ask(daemon.address(), &format!("HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(status_of(&head) == 200 && head.ends_with("\r\n\r\n"), "HEAD {path}: {head}");
    }
    for path in ["/metrics/", "/etc/passwd", "/../Cargo.toml", "/%2e%2e/app.db", "/favicon.ico"] {
        assert_eq!(daemon.get(path).status, 404, "{path}");
    }
}

#[test]
fn every_metric_is_there_once_it_was_measured() {
    let database = Database::with_keys(Journal::Wal, [("a", "pending", 1.0), ("b", "done", 1.0)]);
    let daemon = still(&database, "app");
    let exposition = daemon.get("/metrics").body;
    for family in FAMILIES {
        let (kind, sample) = (format!("# TYPE {family} "), [format!("{family}{{"), format!("{family} ")]);
        let histogram = format!("{family}_bucket{{");
        let starts = |start: &str| exposition.lines().any(|line| line.starts_with(start));
        assert!(starts(&kind), "no {family}");
        assert!(sample.iter().any(|start| starts(start)) || starts(&histogram), "no sample of {family}");
    }
}

#[test]
fn counters_are_there_at_0_also_for_a_database_that_cannot_be_opened() {
    let folder = abandoned_row();
    let gone = folder.folder().join("gone.db");
    let daemon =
        Daemon::start(&folder.config_text(&format!("[[database]]\nname = 'app'\npath = {gone:?}\n")));
    daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 0.0);
    for counter in ["deleted_rows_total", "batches_total"] {
        let sample = format!(r#"keysweep_{counter}{{database="app",table="keys"}}"#);
        assert_eq!(daemon.metric(&sample), Some(0.0), "{counter}");
    }
    for stop in ["drained", "budget", "shutdown", "disabled"] {
        let sample = format!(r#"keysweep_sweeps_total{{database="app",stop="{stop}",table="keys"}}"#);
        assert_eq!(daemon.metric(&sample), Some(0.0), "{stop}");
    }
    assert_eq!(daemon.metric(r#"keysweep_rows{database="app",state="done",table="keys"}"#), None);
    assert_eq!((daemon.get("/livez").status, daemon.get("/readyz").status), (200, 200));
}

#[test]
fn a_name_is_text_on_the_page_and_no_markup() {
    let database = abandoned_row();
    let daemon = still(&database, HOSTILE);
    let page = daemon.get("/").body;
    assert!(page.contains(&format!("{HOSTILE_ESCAPED} <span class=\"tag abandoned\"")), "{page}");
    assert!(!page.contains("a<b>"), "{page}");
    let metrics = daemon.get("/metrics").body;
    assert!(metrics.contains(r#"database="a<b>&\"c'","#), "{metrics}");
}

#[test]
fn clients_that_never_finish_do_not_keep_it_from_stopping() {
    let database = abandoned_row();
    let daemon = still(&database, "app");
    let connect = |text: &str| {
        let mut client = TcpStream::connect(daemon.address()).unwrap();
        client.write_all(text.as_bytes()).unwrap();
        client
    };
    let clients =
        ["", "GET /met", "GET /metrics HTTP/1.1\r\nHost:", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"];
    let clients = clients.map(connect);
    // Connections are accepted in order: whoever is answered now came after them all.
    assert_eq!(daemon.get("/livez").status, 200);
    let asked = Instant::now();
    daemon.signal("TERM");
    assert_eq!(daemon.ended().code(), Some(0));
    assert!(asked.elapsed().as_secs() < 5, "it took {:?}", asked.elapsed());
    drop(clients);
}

/// The sockets of a process on which it listens, by their inodes.
fn listeners(pid: u32) -> usize {
    let listening = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listening: Vec<String> = listening
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields[3] == "0A")
        .map(|fields| format!("socket:[{}]", fields[9]))
        .collect();
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let target = |file: std::io::Result<std::fs::DirEntry>| std::fs::read_link(file.ok()?.path()).ok();
    files.filter_map(target).filter(|target| listening.iter().any(|one| Path::new(one) == target)).count()
}

#[test]
fn with_an_empty_address_it_listens_nowhere_and_sweeps() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("b", "pending", 1.0)]);
    let other = abandoned_row();
    let still_listens = still(&other, "app");
    assert_eq!(listeners(still_listens.pid()), 1);
    let config = database.config("every = '100ms'");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("[http]\nlisten = \"\"\n{text}")).unwrap();
    let mut command = Command::new(BINARY);
    command.arg("--config").arg(&config).args(["--log-level", "error", "run"]);
    let log = database.folder().join("log");
    let mut daemon = Unasked::start(command.stderr(std::fs::File::create(&log).unwrap()));
    wait_for("the row to go", || (database.ids() == ["b"]).then_some(()));
    assert_eq!(listeners(daemon.child().id()), 0);
    assert_eq!(daemon.asked_to_end().code(), Some(0));
    assert_eq!(std::fs::read_to_string(log).unwrap(), "", "nothing was worth an error");
}

#[test]
fn status_prints_a_table_and_its_json_is_what_the_daemon_says() {
    let database = abandoned_row();
    let daemon = still(&database, HOSTILE);
    let table = keysweep(["status", "--url", &daemon.url()]);
    assert_eq!(table.status, 0, "{table:?}");
    let row = table.stdout.lines().find(|line| line.contains(HOSTILE)).unwrap();
    for (head, cell) in
        [("PENDING", "1"), ("DONE", "0"), ("ABANDONED", "1"), ("PACE/S", "-"), ("CONDITION", "abandoned")]
    {
        let column = table.stdout.lines().next().unwrap().find(&format!(" {head} ")).unwrap() + 1;
        assert!(row[column..].starts_with(cell), "{head}: {}", table.stdout);
    }
    let json = keysweep(["--json", "status", "--url", &daemon.url()]);
    let said: Value = serde_json::from_str(&daemon.get("/status.json").body).unwrap();
    assert_eq!((json.status, json.json_lines()), (0, vec![said]));
}

#[test]
fn status_without_a_keysweep_to_ask_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let other = std::thread::spawn(move || {
        for said in
            ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 404 No\r\n\r\n", "SSH-2.0-x\r\n"]
        {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            stream.write_all(said.as_bytes()).unwrap();
        }
    });
    for _ in 0..3 {
        let answer = keysweep(["status", "--url", &url]);
        assert_eq!((answer.status, answer.stdout.as_str()), (3, ""), "{answer:?}");
        assert!(answer.stderr.contains(&url), "{answer:?}");
    }
    other.join().unwrap();
    let answer = keysweep(["status", "--url", &url]);
    assert_eq!((answer.status, answer.stdout.as_str()), (3, ""), "{answer:?}");
}
