//! The files as they are shipped: right for the tools that read them, and true of the binary.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;

use super::{DASHBOARD, RULES, alert_names};
use crate::support::{document, prometheus::promtool_with};

fn promtool(command: [&str; 2], file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let answer = promtool_with(&[command[0], command[1], path.to_str().unwrap()]);
    assert!(answer.status.success(), "{}{}", text(&answer.stdout), text(&answer.stderr));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn promtool_accepts_the_rules_and_the_example() {
    promtool(["check", "rules"], RULES);
    promtool(["check", "config"], "deploy/prometheus/scrape.example.yml");
}

const RULE_TESTS: [&str; 2] =
    ["deploy/prometheus/keysweep.rules.test.yml", "deploy/prometheus/keysweep.rules.long.test.yml"];

#[test]
fn every_alert_fires_when_it_must_and_at_no_other_time() {
    for file in RULE_TESTS {
        promtool(["test", "rules"], file);
    }
    let tests: String = RULE_TESTS.map(document).concat();
    let untested = |alert: &String| !tests.contains(&format!("alertname=\"{alert}\""));
    let untested: Vec<String> = alert_names().into_iter().filter(untested).collect();
    assert_eq!(untested, [""; 0], "no test shows that these fire");
}

#[test]
fn every_alert_names_its_severity_and_a_section_of_the_readme() {
    let (rules, readme) = (document(RULES), document("README.md"));
    let sections: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("### Keysweep")).collect();
    let names = alert_names();
    assert!(names.len() > 12, "{names:?}");
    for name in &names {
        let section = name.strip_prefix("Keysweep").expect("an alert is named after the product");
        assert!(sections.contains(&section), "README.md has no section `### {name}`");
        let runbook = format!("runbook: README.md#{}\n", name.to_lowercase());
        assert!(rules.contains(&runbook), "{name} has no {runbook}");
        let rule = rules.split(&format!("alert: {name}\n")).nth(1).unwrap();
        let rule = rule.split("- alert:").next().unwrap();
        for part in ["severity: ", "summary: ", "description: "] {
            assert!(rule.contains(part), "{name} has no {part}");
        }
    }
    let known = |section: &&&str| !names.contains(&format!("Keysweep{section}"));
    assert_eq!(sections.iter().filter(known).collect::<Vec<_>>(), Vec::<&&str>::new(), "no such alert");
}

/// Every value of this key, at any depth.
fn values<'a>(json: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match json {
        Value::Object(map) => {
            found.extend(map.get(key));
            map.values().for_each(|value| values(value, key, found));
        }
        Value::Array(list) => list.iter().for_each(|value| values(value, key, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_has_no_data_source_of_its_own_and_says_what_it_shows() {
    let dashboard: Value = serde_json::from_str(&document(DASHBOARD)).unwrap();
    assert_eq!((&dashboard["uid"], &dashboard["id"]), (&"keysweep".into(), &Value::Null));
    let mut sources = Vec::new();
    values(&dashboard, "datasource", &mut sources);
    assert!(sources.len() > 30);
    for source in sources.into_iter().filter(|source| source["type"] != "grafana") {
        assert_eq!(source["uid"], "${datasource}", "{source}");
    }
    let (mut ids, mut rows) = (HashSet::new(), Vec::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title} has the id of another");
        if panel["type"] == "row" {
            rows.push(title);
            continue;
        }
        assert!(!panel["description"].as_str().unwrap().is_empty(), "{title} has no description");
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title} has no unit");
    }
    let asked = ["Is it alive?", "Is it keeping up?", "What is abandoned?", "What does it cost?"];
    assert_eq!(rows, asked);
}

#[test]
fn variables_are_asked_of_the_metrics_themselves() {
    let dashboard: Value = serde_json::from_str(&document(DASHBOARD)).unwrap();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "job", "instance", "database"]);
}
