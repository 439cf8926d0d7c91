//! The distribution's Prometheus, as a child that is asked over its HTTP API.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::daemon::get;
use super::wait_for;

const PACKAGE: &str = "install the Debian package `prometheus`, which brings it";

/// A running Prometheus that scrapes one target each second; killed when dropped.
#[derive(Debug)]
pub struct Prometheus {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    /// Start it on a free port, with a store of its own.
    pub fn scraping(target: SocketAddr) -> Self {
        Self::scraping_by(target, "")
    }

    /// The same with further keys of its job, each followed by a comma.
    pub fn scraping_by(target: SocketAddr, keys: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\n\
             scrape_configs: [{{ job_name: keysweep, {keys} static_configs: [{{ targets: ['{target}'] }}] }}]\n"
        );
        std::fs::write(&config, text).unwrap();
        let mut child = Command::new("/usr/bin/prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg("--web.listen-address=127.0.0.1:0")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("/usr/bin/prometheus: {error}; {PACKAGE}"));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines
            .find_map(|line| line.split_once("msg=\"Listening on\" address=")?.1.parse().ok())
            .expect("Prometheus says where it listens");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, _folder: folder }
    }

    /// The value of a query that selects one series, once there is one.
    pub fn value(&self, query: &str) -> Option<f64> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let page = get(self.address, &format!("/api/v1/query?query={encoded}"));
        let answer: Value = serde_json::from_str(&page.body).ok()?;
        let series = answer["data"]["result"].as_array()?;
        assert!(series.len() <= 1, "{query} selects several series: {series:?}");
        series.first()?["value"][1].as_str()?.parse().ok()
    }

    /// Wait until a query has this value.
    pub fn wait_for_value(&self, query: &str, wanted: f64) {
        wait_for(&format!("{query} to be {wanted}"), || (self.value(query) == Some(wanted)).then_some(()));
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `promtool check metrics` says to this exposition.
pub fn promtool(exposition: &str) -> Output {
    let mut child = Command::new("/usr/bin/promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("/usr/bin/promtool: {error}; {PACKAGE}"));
    child.stdin.take().unwrap().write_all(exposition.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}
