//! Metrics and the words in their labels.

use std::collections::BTreeSet;

use super::{same, spans, words};
use crate::support::{Everything, document};

/// The names of all metrics of a daemon of which everything can be asked.
fn metrics() -> BTreeSet<String> {
    let everything = Everything::start();
    let exposition = everything.measured();
    let names = exposition.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    names.filter(|name| name.starts_with("keysweep_")).map(str::to_owned).collect()
}

/// The metrics that a text speaks of; a histogram's parts are the histogram.
fn named(text: &str) -> BTreeSet<String> {
    let is_metric = |word: &String| !word.ends_with('_');
    let whole = |word: String| {
        let part = ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end));
        part.map_or(word.clone(), str::to_owned)
    };
    words(text, "keysweep_").into_iter().filter(is_metric).map(whole).collect()
}

#[test]
fn every_metric_is_in_the_readme_and_no_other() {
    same("metrics in README.md", &metrics(), &named(&document("README.md")));
}

#[test]
fn rules_and_dashboard_speak_of_no_metric_that_is_not_there() {
    let metrics = metrics();
    for file in ["deploy/prometheus/keysweep.rules.yml", "deploy/grafana/keysweep.json"] {
        let invented: Vec<String> = named(&document(file)).difference(&metrics).cloned().collect();
        assert_eq!(invented, [""; 0], "{file}");
    }
    assert!(metrics.is_subset(&named(&document("deploy/grafana/keysweep.json"))), "the dashboard shows all");
}

/// The values of a label of a metric.
fn values(exposition: &str, metric: &str, label: &str) -> BTreeSet<String> {
    let samples = exposition.lines().filter_map(|line| line.strip_prefix(metric)?.strip_prefix('{'));
    let value = |sample: &str| {
        let from = sample.split_once(&format!("{label}=\""))?.1;
        Some(from.split('"').next()?.to_owned())
    };
    samples.filter_map(value).collect()
}

#[test]
fn every_value_of_a_label_is_in_the_readme_and_no_other() {
    let exposition = Everything::start().measured();
    let readme = document("README.md");
    for (metric, label) in [
        ("keysweep_sweeps_total", "stop"),
        ("keysweep_held", "reason"),
        ("keysweep_errors_total", "kind"),
        ("keysweep_skipped_rows_total", "reason"),
        ("keysweep_rows", "state"),
        ("keysweep_abandoned_rows", "older_than"),
    ] {
        let row = format!("| `{metric}` | `{label}` | ");
        let row = readme.lines().find_map(|line| line.strip_prefix(row.as_str()));
        let row = row.unwrap_or_else(|| panic!("README.md has no row for the label {label} of {metric}"));
        let documented = spans(row).map(str::to_owned).collect();
        same(&format!("{label} of {metric}"), &values(&exposition, metric, label), &documented);
    }
}
