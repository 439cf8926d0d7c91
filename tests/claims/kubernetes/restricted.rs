//! The rules of the Pod Security Standards' profile *restricted*, one claim each.

use serde_json::Value;

use super::{KUSTOMIZATIONS, containers, objects, template};

/// Every pod that the kustomizations make.
fn pods() -> Vec<Value> {
    let all: Vec<Value> = KUSTOMIZATIONS.iter().flat_map(|folder| objects(folder)).collect();
    let pods: Vec<Value> = all.iter().filter_map(template).map(|template| template["spec"].clone()).collect();
    assert_eq!(pods.len(), 2);
    pods
}

/// In every container: the container's own setting or else the pod's is right.
fn each(setting: &str, is: impl Fn(&Value) -> bool) {
    for pod in pods() {
        for container in containers(&pod) {
            let own = &container["securityContext"][setting];
            let said = if own.is_null() { &pod["securityContext"][setting] } else { own };
            assert!(is(said), "{setting} of {} is {said}", container["name"]);
        }
    }
}

#[test]
fn no_pod_shares_a_namespace_of_its_host() {
    let shares = |pod: &Value| ["hostNetwork", "hostPID", "hostIPC"].iter().any(|it| pod[it] == true);
    assert!(!pods().iter().any(shares));
}

#[test]
fn no_port_is_one_of_the_host() {
    for pod in pods() {
        let ports = containers(&pod).into_iter().filter_map(|it| it["ports"].as_array()).flatten();
        assert!(ports.into_iter().all(|port| port["hostPort"].is_null()));
    }
}

#[test]
fn volumes_are_of_the_kinds_that_are_allowed() {
    let allowed = [
        "configMap",
        "emptyDir",
        "persistentVolumeClaim",
        "projected",
        "secret",
        "csi",
        "downwardAPI",
        "ephemeral",
    ];
    for pod in pods() {
        for volume in pod["volumes"].as_array().unwrap() {
            let kinds = volume.as_object().unwrap().keys().filter(|key| *key != "name");
            assert!(kinds.into_iter().all(|kind| allowed.contains(&kind.as_str())), "{volume}");
        }
    }
}

#[test]
fn nobody_is_privileged_or_gains_a_privilege() {
    each("privileged", |said| said.is_null() || said == false);
    each("allowPrivilegeEscalation", |said| said == false);
}

#[test]
fn nobody_is_root() {
    each("runAsNonRoot", |said| said == true);
    each("runAsUser", |said| said.as_u64().is_some_and(|user| user > 0));
}

#[test]
fn every_capability_is_dropped_and_none_added() {
    each("capabilities", |said| said["drop"] == serde_json::json!(["ALL"]) && said["add"].is_null());
}

#[test]
fn system_calls_are_filtered_by_the_runtime() {
    each("seccompProfile", |said| said["type"] == "RuntimeDefault");
}

#[test]
fn nothing_unusual_is_asked_of_the_kernel() {
    for setting in ["procMount", "seLinuxOptions", "appArmorProfile", "sysctls", "windowsOptions"] {
        each(setting, Value::is_null);
    }
}

/// Not of the profile, but of this project: the root cannot be written, and no token is there to be stolen.
#[test]
fn the_root_is_read_only_and_there_is_no_token() {
    each("readOnlyRootFilesystem", |said| said == true);
    assert!(pods().iter().all(|pod| pod["automountServiceAccountToken"] == false));
}
