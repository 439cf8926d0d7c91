//! The image, run as the manifests say: their arguments, user, mounts, config, ports and paths.

use std::path::PathBuf;

use serde_json::Value;

use super::{KUSTOMIZATIONS, container, objects, of_kind, repository, sidecar, template};
use crate::support::container::Container;
use crate::support::database::{KEY_TABLE, shell};
use crate::support::users::{User, give};
use crate::support::wait_for;

/// The volumes of a pod, as folders outside.
struct Pod {
    volumes: tempfile::TempDir,
    spec: Value,
    keysweep: Value,
    user: User,
}

impl Pod {
    fn new(spec: Value, config: &str) -> Self {
        let keysweep = container(&spec, "keysweep").clone();
        let id = spec["securityContext"]["runAsUser"].as_u64().unwrap().try_into().unwrap();
        let user = User { uid: id, gid: id, group: None };
        let pod = Self { volumes: tempfile::tempdir().unwrap(), spec, keysweep, user };
        for mount in pod.mounts() {
            let folder = pod.volume(mount["name"].as_str().unwrap());
            std::fs::create_dir(&folder).unwrap();
            give(&folder, user);
        }
        std::fs::copy(
            repository(config).join("keysweep.toml"),
            pod.volume("keysweep-config").join("keysweep.toml"),
        )
        .unwrap();
        pod
    }

    fn mounts(&self) -> Vec<Value> {
        self.keysweep["volumeMounts"].as_array().unwrap().clone()
    }

    fn volume(&self, name: &str) -> PathBuf {
        self.volumes.path().join(name)
    }

    /// A container with a network of its own, so that a port of the manifest is free.
    fn container(&self) -> Container {
        let mounts: Vec<(PathBuf, String)> = self
            .mounts()
            .iter()
            .map(|mount| {
                let path = mount["mountPath"].as_str().unwrap();
                let path = if mount["readOnly"] == true { format!("{path}:ro") } else { path.into() };
                (self.volume(mount["name"].as_str().unwrap()), path)
            })
            .collect();
        let folders: Vec<_> =
            mounts.iter().map(|(outside, inside)| (outside.as_path(), inside.as_str())).collect();
        Container::new(self.user.uid, "none", &folders)
    }

    fn args(&self) -> Vec<&str> {
        self.keysweep["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect()
    }

    /// The application makes its database; one key is due, and one is pending.
    fn make_database(&self) {
        let sql =
            "INSERT INTO keys VALUES ('due', 'v1', 'done', '{}', 1), ('open', 'v1', 'pending', NULL, 1);";
        shell(&self.volume("data").join("app.db"), &format!("PRAGMA journal_mode = wal; {KEY_TABLE} {sql}"));
        for entry in self.volume("data").read_dir().unwrap() {
            give(&entry.unwrap().path(), self.user);
        }
    }

    fn ids(&self) -> String {
        shell(&self.volume("data").join("app.db"), "SELECT id FROM keys ORDER BY id;")
    }

    fn accept(&self) {
        std::fs::write(self.volume("keysweep-state").join("accept-horizon"), "").unwrap();
    }

    /// The most memory that the manifest asks for, in KiB.
    fn requested_kib(&self) -> u64 {
        let memory = self.keysweep["resources"]["requests"]["memory"].as_str().unwrap();
        memory.strip_suffix("Mi").unwrap().parse::<u64>().unwrap() * 1024
    }
}

#[test]
fn the_sidecar_answers_its_probes_on_its_port_and_sweeps_what_was_accepted_within_its_memory() {
    let (objects, spec) = sidecar();
    let pod = Pod::new(spec, KUSTOMIZATIONS[0]);
    let running = pod.container().start(&pod.args());
    let port = &pod.keysweep["ports"][0];
    for probe in ["startupProbe", "livenessProbe"] {
        let get = &pod.keysweep[probe]["httpGet"];
        assert_eq!(get["port"], port["name"]);
        running.wait_for_probe(port["containerPort"].as_u64().unwrap(), get["path"].as_str().unwrap());
    }
    let monitor = &of_kind(&objects, "PodMonitor")["spec"]["podMetricsEndpoints"][0]["path"];
    running.wait_for_probe(port["containerPort"].as_u64().unwrap(), monitor.as_str().unwrap());
    pod.make_database();
    pod.accept();
    wait_for("the sweep", || (pod.ids() == "open\n").then_some(()));
    let peak: u64 = running.status("VmHWM").trim_end_matches(" kB").parse().unwrap();
    println!("{peak} KiB at most");
    assert!(peak < pod.requested_kib(), "{peak} KiB");
    running.daemon.signal("TERM");
    assert_eq!(running.daemon.ended().code(), Some(0));
    assert!(pod.spec["terminationGracePeriodSeconds"].as_u64() >= Some(10));
}

#[test]
fn the_cron_job_shows_first_and_deletes_once_accepted() {
    let objects = objects(KUSTOMIZATIONS[1]);
    let spec = template(of_kind(&objects, "CronJob")).unwrap()["spec"].clone();
    let pod = Pod::new(spec, KUSTOMIZATIONS[1]);
    pod.make_database();
    let held = pod.container().answer(&pod.args());
    assert_eq!((held.status, &held.json_lines()[0]["stop"]), (1, &"held".into()), "{held:?}");
    pod.accept();
    let swept = pod.container().answer(&pod.args());
    assert_eq!((swept.status, &swept.json_lines()[0]["deleted"]), (0, &1.into()), "{swept:?}");
    assert_eq!(pod.ids(), "open\n");
}
