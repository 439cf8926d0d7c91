//! The alerts and the dashboard that are shipped, in the real Prometheus beside the real daemon.

mod alerts;
mod expressions;
mod shipped;

use crate::support::document;

const RULES: &str = "deploy/prometheus/keysweep.rules.yml";
const DASHBOARD: &str = "deploy/grafana/keysweep.json";

/// The names of the alerts in the rules, each once.
fn alert_names() -> Vec<String> {
    let rules = document(RULES);
    let names = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.dedup();
    names
}
