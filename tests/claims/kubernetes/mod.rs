//! The manifests: valid, within the restricted profile, and true of the binary, which runs as they say.

mod restricted;
mod runs;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::command::run;
use crate::support::python_tools;

const KUSTOMIZATIONS: [&str; 2] = ["deploy/kubernetes", "deploy/kubernetes/cronjob"];

/// YAML documents from standard input, as one JSON list.
const AS_JSON: &str =
    "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";

/// What `kubectl apply -k` would send, in a file.
fn built(folder: &str) -> (tempfile::TempDir, PathBuf) {
    let answer =
        run(Command::new("kubectl").args(["kustomize", folder]).current_dir(env!("CARGO_MANIFEST_DIR")));
    assert!(answer.status == 0 && answer.stderr.is_empty(), "{folder}: {answer:?}");
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("built.yaml");
    std::fs::write(&file, answer.stdout).unwrap();
    (temporary, file)
}

/// The objects of a kustomization.
fn objects(folder: &str) -> Vec<Value> {
    let (_temporary, file) = built(folder);
    let mut python = Command::new("python3");
    let answer = run(python.env("PYTHONPATH", python_tools()).args(["-c", AS_JSON]).arg(file));
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// The template of an object's pods, if it makes any.
fn template(object: &Value) -> Option<&Value> {
    let spec = &object["spec"];
    [&spec["template"], &spec["jobTemplate"]["spec"]["template"]].into_iter().find(|it| it.is_object())
}

fn containers(pod: &Value) -> Vec<&Value> {
    ["initContainers", "containers"].iter().filter_map(|kind| pod[kind].as_array()).flatten().collect()
}

/// The container of this name.
fn container<'a>(pod: &'a Value, name: &str) -> &'a Value {
    containers(pod).into_iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("no container {name}"))
}

fn sidecar() -> (Vec<Value>, Value) {
    let objects = objects(KUSTOMIZATIONS[0]);
    let pod = template(of_kind(&objects, "StatefulSet")).unwrap()["spec"].clone();
    (objects, pod)
}

#[test]
fn each_object_has_the_fields_that_kubernetes_knows_and_no_other() {
    for folder in KUSTOMIZATIONS {
        let (_temporary, file) = built(folder);
        let mut validate = Command::new("python3");
        validate.env("PYTHONPATH", python_tools()).arg(python_tools().join("bin/kubernetes-validate"));
        let said = run(validate.arg("--strict").arg(file));
        assert_eq!(said.status, 0, "{folder}: {said:?}");
    }
}

#[test]
fn the_sidecar_starts_before_the_application_and_has_no_part_in_its_readiness() {
    let (_, pod) = sidecar();
    let keysweep = container(&pod, "keysweep");
    assert_eq!(pod["initContainers"][0], *keysweep);
    assert_eq!(keysweep["restartPolicy"], "Always");
    assert!(keysweep["readinessProbe"].is_null(), "{keysweep}");
}

#[test]
fn the_application_and_keysweep_share_one_folder_and_one_user() {
    let (_, pod) = sidecar();
    let data = |name| {
        let mounts = container(&pod, name)["volumeMounts"].as_array().unwrap().clone();
        mounts.into_iter().find(|mount| mount["name"] == "data").unwrap()
    };
    assert_eq!(data("keysweep"), data("payments"));
    for name in ["keysweep", "payments"] {
        let own = &container(&pod, name)["securityContext"];
        assert!(own["runAsUser"].is_null() && own["runAsGroup"].is_null(), "{name}: {own}");
    }
    assert!(pod["securityContext"]["fsGroup"].is_u64());
}

#[test]
fn a_changed_config_reaches_the_sidecar_without_a_new_pod() {
    let (objects, pod) = sidecar();
    assert_eq!(of_kind(&objects, "ConfigMap")["metadata"]["name"], "keysweep");
    assert_eq!(pod["shareProcessNamespace"], true);
}

#[test]
fn no_mount_is_a_sub_path_and_each_is_a_volume_of_the_pod() {
    for folder in KUSTOMIZATIONS {
        for object in objects(folder) {
            let Some(pod) = template(&object).map(|it| &it["spec"]) else { continue };
            let claims = object["spec"]["volumeClaimTemplates"].as_array().cloned().unwrap_or_default();
            let claimed = claims.iter().map(|claim| &claim["metadata"]["name"]);
            let volumes: Vec<&Value> =
                pod["volumes"].as_array().unwrap().iter().map(|it| &it["name"]).chain(claimed).collect();
            for mount in containers(pod).iter().flat_map(|it| it["volumeMounts"].as_array().unwrap()) {
                assert!(mount["subPath"].is_null() && volumes.contains(&&mount["name"]), "{mount}");
            }
        }
    }
}

#[test]
fn monitor_policy_and_service_name_ports_and_pods_that_there_are() {
    let (objects, pod) = sidecar();
    let labels = &template(of_kind(&objects, "StatefulSet")).unwrap()["metadata"]["labels"];
    let (monitor, policy) =
        (&of_kind(&objects, "PodMonitor")["spec"], &of_kind(&objects, "NetworkPolicy")["spec"]);
    let service = &of_kind(&objects, "Service")["spec"];
    for selected in
        [&monitor["selector"]["matchLabels"], &policy["podSelector"]["matchLabels"], &service["selector"]]
    {
        assert_eq!(selected, labels);
    }
    let scraped = &container(&pod, "keysweep")["ports"][0]["name"];
    let served = &container(&pod, "payments")["ports"][0]["name"];
    assert_eq!(
        (&monitor["podMetricsEndpoints"][0]["port"], &service["ports"][0]["targetPort"]),
        (scraped, served)
    );
    for rule in policy["ingress"].as_array().unwrap() {
        let port = &rule["ports"][0]["port"];
        let from = &rule["from"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"];
        assert!(port == served || (port == scraped && from == "monitoring"), "{rule}");
    }
}

#[test]
fn the_image_is_of_this_version() {
    let wanted = format!("keysweep:{}", env!("CARGO_PKG_VERSION"));
    for folder in KUSTOMIZATIONS {
        let pods: Vec<Value> =
            objects(folder).iter().filter_map(template).map(|it| it["spec"].clone()).collect();
        assert!(pods.iter().all(|pod| container(pod, "keysweep")["image"] == *wanted), "{folder}");
    }
}

#[test]
fn a_failed_sweep_of_the_cron_job_is_seen_and_the_next_hour_is_the_next_try() {
    let objects = objects(KUSTOMIZATIONS[1]);
    let spec = &of_kind(&objects, "CronJob")["spec"];
    assert_eq!(
        (&spec["concurrencyPolicy"], &spec["jobTemplate"]["spec"]["backoffLimit"]),
        (&"Forbid".into(), &0.into())
    );
    assert_eq!(template(of_kind(&objects, "CronJob")).unwrap()["spec"]["restartPolicy"], "Never");
}

/// A folder of the repository.
fn repository(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}
