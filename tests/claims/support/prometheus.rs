//! The distribution's Prometheus and Alertmanager, as children that are asked over their HTTP APIs.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::daemon::get;
use super::wait_for;

const PACKAGE: &str = "install the Debian packages `prometheus` and `prometheus-alertmanager`";

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
        Self::start(target, "", "", "")
    }

    /// The same with further keys of its job, each followed by a comma.
    pub fn scraping_by(target: SocketAddr, keys: &str) -> Self {
        Self::start(target, keys, "", "")
    }

    /// The same, with these rules, which it evaluates each second and of which it tells this Alertmanager.
    pub fn alerting(target: SocketAddr, rules: &str, alertmanager: &Alertmanager) -> Self {
        let alertmanager = alertmanager.address;
        let lines = format!(
            "rule_files: [rules.yml]\n\
             alerting: {{ alertmanagers: [{{ static_configs: [{{ targets: ['{alertmanager}'] }}] }}] }}\n"
        );
        Self::start(target, "", rules, &lines)
    }

    fn start(target: SocketAddr, keys: &str, rules: &str, lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        let job = format!("job_name: keysweep, {keys} static_configs: [{{ targets: ['{target}'] }}]");
        let text = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}\n\
             scrape_configs: [{{ {job} }}]\n{lines}"
        );
        std::fs::write(&config, text).unwrap();
        std::fs::write(folder.path().join("rules.yml"), rules).unwrap();
        let (child, address) = listening(
            Command::new("/usr/bin/prometheus")
                .arg(format!("--config.file={}", config.display()))
                .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display())),
        );
        Self { child, address, _folder: folder }
    }

    /// What its HTTP API says.
    pub fn api(&self, path: &str) -> Option<Value> {
        let answer: Value = serde_json::from_str(&get(self.address, &format!("/api/v1/{path}")).body).ok()?;
        Some(answer["data"].clone())
    }

    /// The series that a query has at this moment; nothing where it is none.
    pub fn series(&self, query: &str) -> Option<Vec<Value>> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        Some(self.api(&format!("query?query={encoded}"))?["result"].as_array()?.clone())
    }

    /// The value of a query that selects one series, once there is one.
    pub fn value(&self, query: &str) -> Option<f64> {
        let series = self.series(query)?;
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

/// A running Alertmanager that notifies nobody; killed when dropped.
#[derive(Debug)]
pub struct Alertmanager {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Alertmanager {
    /// Start it on a free port.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("alertmanager.yml");
        std::fs::write(&config, "route: { receiver: nobody }\nreceivers: [{ name: nobody }]\n").unwrap();
        let (child, address) = listening(
            Command::new("/usr/bin/prometheus-alertmanager")
                .arg(format!("--config.file={}", config.display()))
                .arg(format!("--storage.path={}", folder.path().join("data").display()))
                .arg("--cluster.listen-address="),
        );
        Self { child, address, _folder: folder }
    }

    /// The alerts that fire at this moment: their labels.
    pub fn firing(&self) -> Vec<Value> {
        let page = get(self.address, "/api/v2/alerts?active=true");
        let alerts: Vec<Value> = serde_json::from_str(&page.body).unwrap_or_default();
        alerts.into_iter().map(|mut alert| alert["labels"].take()).collect()
    }
}

impl Drop for Alertmanager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Start one of the two on a free port, and wait until it says which.
fn listening(command: &mut Command) -> (Child, SocketAddr) {
    command.arg("--web.listen-address=127.0.0.1:0").stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}; {PACKAGE}"));
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = lines
        .find_map(|line| line.split_once("msg=\"Listening on\" address=")?.1.parse().ok())
        .unwrap_or_else(|| panic!("{command:?} says where it listens"));
    std::thread::spawn(move || lines.for_each(drop));
    (child, address)
}

/// `promtool` with these arguments.
pub fn promtool_with(args: &[&str]) -> Output {
    let output = Command::new("/usr/bin/promtool").args(args).stdin(Stdio::null()).output();
    output.unwrap_or_else(|error| panic!("/usr/bin/promtool: {error}; {PACKAGE}"))
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
