//! The alerts and the dashboard that are shipped, in the real Prometheus beside the real daemon.

mod alerts;
mod expressions;
mod shipped;

use std::path::Path;

/// The text of a file that is shipped.
fn shipped(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const RULES: &str = "deploy/prometheus/keysweep.rules.yml";
const DASHBOARD: &str = "deploy/grafana/keysweep.json";

/// The names of the alerts in the rules, each once.
fn alert_names() -> Vec<String> {
    let rules = shipped(RULES);
    let names = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.dedup();
    names
}
