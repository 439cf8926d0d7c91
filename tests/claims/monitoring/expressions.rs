//! No expression that is shipped asks for something that the daemon does not say.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{DASHBOARD, RULES};
use crate::support::prometheus::{Alertmanager, Prometheus};
use crate::support::{Everything, document, wait_for};

/// The metrics that an expression selects, each with its labels and without what is done to it.
fn selectors(expression: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    let mut rest = expression;
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let labels = match after.strip_prefix('{') {
            Some(labels) => &after[..labels.find('}').unwrap() + 2],
            None => "",
        };
        if word == "up" || word.starts_with("keysweep_") || word.starts_with("process_") {
            found.insert(format!("{word}{labels}"));
        }
        rest = &after[labels.len()..];
    }
    found
}

fn has_data(prometheus: &Prometheus, query: &str) {
    wait_for(&format!("data for {query}"), || {
        prometheus.series(query).filter(|series| !series.is_empty()).map(drop)
    });
}

#[test]
fn every_selector_of_the_rules_selects_something() {
    let world = Everything::start();
    let alertmanager = Alertmanager::start();
    let prometheus = Prometheus::alerting(world.daemon.address(), &document(RULES), &alertmanager);
    let groups = wait_for("the rules", || prometheus.api("rules"));
    let rules = groups["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() > 15, "{groups}");
    let asked: BTreeSet<String> =
        rules.iter().flat_map(|rule| selectors(rule["query"].as_str().unwrap())).collect();
    assert!(asked.len() > 15, "{asked:?}");
    asked.iter().for_each(|selector| has_data(&prometheus, selector));
}

/// Every expression of the dashboard, with its variables as a person would have them.
fn dashboard_queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&document(DASHBOARD)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let query = |target: &Value| {
        let expression = target["expr"].as_str().unwrap();
        let set =
            [("$__rate_interval", "10s"), ("$job", "keysweep"), ("$instance", ".*"), ("$database", ".*")];
        let query = set.iter().fold(expression.to_owned(), |query, (name, value)| query.replace(name, value));
        assert!(!query.contains('$'), "an unknown variable: {query}");
        query
    };
    targets.map(query).collect()
}

#[test]
fn every_expression_of_the_dashboard_returns_data() {
    let world = Everything::start();
    let prometheus = Prometheus::scraping(world.daemon.address());
    let queries = dashboard_queries();
    assert!(queries.len() > 25, "{queries:?}");
    queries.iter().for_each(|query| has_data(&prometheus, query));
}

#[test]
fn a_selector_is_seen_in_every_form() {
    let seen = selectors("time() - (a > 0) and on (job) sum(keysweep_x{b=\"up\",c=~\"d\"}[1h]) > up");
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["keysweep_x{b=\"up\",c=~\"d\"}", "up"]);
}
