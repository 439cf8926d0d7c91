//! The image that a user gets, built and run by the distribution's buildah and podman.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::command::{Answer, run};
use super::{Daemon, is_long, wait_for};

/// The user of the image.
pub const NOBODY: u32 = 65532;

/// The name of the image, built once a run: the quick profile, or what a user gets in the long form.
pub fn image() -> &'static str {
    static IMAGE: OnceLock<String> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let profile = if is_long() { "release" } else { "dev" };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/image");
        let built = run(Command::new(script).arg(profile));
        assert_eq!(built.status, 0, "{}", built.stderr);
        built.stdout.trim().into()
    })
}

fn storage() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
    target.join("image-storage")
}

fn podman() -> Command {
    let mut command = Command::new("podman");
    command.arg("--root").arg(storage().join("root")).arg("--runroot").arg(storage().join("run"));
    command.args(["--storage-driver", "overlay", "--cgroup-manager=cgroupfs", "--runtime", "runc"]);
    command
}

/// What podman knows about the image.
pub fn inspected() -> Value {
    let answer = run(podman().args(["image", "inspect", image()]));
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    serde_json::from_str::<Value>(&answer.stdout).unwrap()[0].clone()
}

/// A container as a pod would start it: nothing of its root can be written, no capability, no new privilege, and these
/// folders, outside and inside, mounted.
#[derive(Debug)]
pub struct Container {
    name: String,
    command: Command,
}

impl Container {
    pub fn new(user: u32, network: &str, folders: &[(&Path, &str)]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("claim-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut command = podman();
        command.args([
            "run",
            "--rm",
            "--name",
            &name,
            "--network",
            network,
            "--user",
            &format!("{user}:{user}"),
        ]);
        command.args(["--read-only", "--read-only-tmpfs=false", "--cap-drop=all"]);
        command.args([
            "--security-opt=no-new-privileges",
            "--ulimit=nofile=1024:1024",
            "--ulimit=nproc=4096:4096",
        ]);
        for (outside, inside) in folders {
            let mut volume = OsString::from(outside);
            volume.push(format!(":{inside}"));
            command.arg("--volume").arg(volume);
        }
        Self { name, command }
    }

    /// Set a variable inside.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.arg("--env").arg(format!("{name}={value}"));
        self
    }

    /// Run the image's binary with these arguments to its end.
    pub fn answer(mut self, args: &[&str]) -> Answer {
        run(self.command.arg(image()).args(args))
    }

    /// Run the daemon, with the image's own command where there are no arguments.
    pub fn start(mut self, args: &[&str]) -> Running {
        let daemon = Daemon::start_command(self.command.arg(image()).args(args));
        let pid = run(podman().args(["inspect", "--format", "{{.State.Pid}}", &self.name]));
        let pid = pid.stdout.trim().parse().unwrap_or_else(|_| panic!("no process: {pid:?}"));
        Running { daemon, pid, _named: Named(self.name) }
    }
}

/// A daemon in a container, which is gone when dropped.
#[derive(Debug)]
pub struct Running {
    pub daemon: Daemon,
    /// Of the daemon, as it is seen from outside.
    pub pid: u32,
    _named: Named,
}

/// A container that is removed when dropped.
#[derive(Debug)]
struct Named(String);

impl Running {
    /// A field of what the kernel says about the daemon.
    pub fn status(&self, field: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {field}")).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Wait until a GET from within the container's network is answered with 200.
    pub fn wait_for_probe(&self, port: u64, path: &str) {
        let get = "import sys, urllib.request; sys.exit(urllib.request.urlopen(sys.argv[1], timeout=20).status != 200)";
        wait_for(path, || (self.probe(get, port, path) == 0).then_some(()));
    }

    fn probe(&self, get: &str, port: u64, path: &str) -> i32 {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.pid)).args(["/usr/bin/python3", "-c", get]);
        run(command.arg(format!("http://127.0.0.1:{port}{path}"))).status
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = run(podman().args(["rm", "--force", "--time", "0", "--ignore", &self.0]));
    }
}
