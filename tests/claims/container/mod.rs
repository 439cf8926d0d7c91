//! The image: built from its own Dockerfile, and run as a pod runs it, beside an application on one volume.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::command::run;
use crate::support::container::{Container, NOBODY, inspected};
use crate::support::database::{KEY_TABLE, shell};
use crate::support::users::{User, give};
use crate::support::{is_long, wait_for};

const APPLICATION: User = User { uid: NOBODY, gid: NOBODY, group: None };
const DELETED: &str = r#"keysweep_deleted_rows_total{database="app",table="keys"}"#;
const ADDRESS: (&str, &str) = ("KEYSWEEP__HTTP__LISTEN", "127.0.0.1:0");

/// Reserves and finishes a key again and again, until it is told to stop; then says how many.
const WRITER: &str = "
import sqlite3, sys, threading
told = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), told.set()), daemon=True).start()
connection = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
done = 0
while not told.wait(0.002):
    connection.execute('INSERT INTO keys VALUES (?, ?, ?, NULL, 4e9)', (f'new{done:08}', 'v1', 'pending'))
    connection.execute('UPDATE keys SET status = ?, response = ? WHERE id = ?', ('done', '{}', f'new{done:08}'))
    done += 1
print(done)
";

/// A volume with the application's folder and a ConfigMap's folder, as the kubelet lays it.
struct Volume(tempfile::TempDir);

impl Volume {
    fn new(lines: &str) -> Self {
        let volume = Self(tempfile::tempdir().unwrap());
        for folder in ["data", "config"] {
            std::fs::create_dir(volume.0.path().join(folder)).unwrap();
        }
        give(&volume.data(), APPLICATION);
        volume.configure("one", lines);
        std::os::unix::fs::symlink("..data/keysweep.toml", volume.config().join("keysweep.toml")).unwrap();
        volume
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("config")
    }

    fn file(&self) -> PathBuf {
        self.data().join("app.db")
    }

    /// A new version of the ConfigMap: a new folder, and one link that is changed in one step.
    fn configure(&self, version: &str, lines: &str) {
        let folder = self.config().join(format!("..{version}"));
        std::fs::create_dir(&folder).unwrap();
        let text = format!(
            "[[database]]\nname = 'app'\npath = '/data/app.db'\nevery = '100ms'\ncensus = '100ms'\n{lines}\n"
        );
        std::fs::write(folder.join("keysweep.toml"), text).unwrap();
        std::os::unix::fs::symlink(format!("..{version}"), self.config().join("..new")).unwrap();
        std::fs::rename(self.config().join("..new"), self.config().join("..data")).unwrap();
    }

    /// The application makes its database: these keys are due, and one is pending.
    fn make_database(&self, due: u32) {
        shell(
            &self.file(),
            &format!(
                "PRAGMA journal_mode = wal; {KEY_TABLE} INSERT INTO keys VALUES ('open', 'v1', 'pending', NULL, 1);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {due})
                INSERT INTO keys SELECT printf('due%08d', i), 'v1', 'done', '{{}}', 1 FROM n;"
            ),
        );
        for entry in self.data().read_dir().unwrap() {
            give(&entry.unwrap().path(), APPLICATION);
        }
    }

    fn container(&self) -> Container {
        let (data, config) = (self.data(), self.config());
        let folders: [(&Path, &str); 2] = [(&data, "/data"), (&config, "/etc/keysweep:ro")];
        Container::new(NOBODY, "host", &folders).env(ADDRESS.0, ADDRESS.1)
    }

    fn count(&self, rows: &str) -> String {
        shell(&self.file(), &format!("SELECT count(*) FROM keys WHERE {rows};")).trim().into()
    }
}

#[test]
fn the_image_holds_one_binary_of_nobody_in_particular_and_is_small() {
    let image = inspected();
    assert_eq!(image["Config"]["User"], "65532:65532", "{image}");
    assert_eq!(image["Config"]["Entrypoint"], serde_json::json!(["/keysweep"]));
    assert_eq!(image["Config"]["Cmd"], serde_json::json!(["run"]));
    assert_eq!(image["RootFS"]["Layers"].as_array().unwrap().len(), 1, "{image}");
    // What a user gets is built in the long form; the quick profile carries line numbers and is not optimised.
    let most = if is_long() { 15_000_000 } else { 80_000_000 };
    let size = image["Size"].as_u64().unwrap();
    println!("{size} bytes");
    assert!(size < most, "{size}");
}

#[test]
fn hadolint_has_nothing_to_say_about_the_dockerfile() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hadolint = crate::support::python_tools().join("bin/hadolint");
    let said = run(Command::new(hadolint).arg(root.join("deploy/docker/Dockerfile")));
    assert!(said.status == 0 && said.stdout.is_empty(), "{said:?}");
}

#[test]
fn read_only_and_without_any_right_it_sweeps_beside_a_writer_on_the_same_volume() {
    let volume = Volume::new("");
    volume.make_database(500);
    let writer = APPLICATION
        .command("/usr/bin/python3")
        .args(["-c", WRITER])
        .arg(volume.file())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let container = volume.container().start(&[]);
    for (field, value) in
        [("Uid", "65532 65532 65532 65532"), ("CapEff", "0000000000000000"), ("NoNewPrivs", "1")]
    {
        assert_eq!(container.status(field), value, "{field}");
    }
    container.daemon.wait_for_metric(DELETED, 500.0);
    // Dropping its input tells the writer to stop.
    let wrote = writer.wait_with_output().unwrap();
    let written: u32 = String::from_utf8(wrote.stdout).unwrap().trim().parse().expect("how many it wrote");
    assert!(wrote.status.success() && written > 0, "{written}");
    assert_eq!(volume.count("id LIKE 'new%' AND status = 'done'"), written.to_string());
    assert_eq!((volume.count("id LIKE 'due%'"), volume.count("id = 'open'")), ("0".into(), "1".into()));
    assert_eq!(shell(&volume.file(), "PRAGMA integrity_check;"), "ok\n");
}

#[test]
fn it_is_ready_before_the_application_has_made_its_database_and_sweeps_it_once_it_is_there() {
    let volume = Volume::new("");
    let container = volume.container().start(&[]);
    wait_for("it to be ready", || (container.daemon.get("/readyz").status == 200).then_some(()));
    container.daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 0.0);
    assert_eq!(container.daemon.get("/livez").status, 200);
    assert!(!volume.file().exists(), "it made the application's database");
    volume.make_database(3);
    container.daemon.wait_for_metric(DELETED, 3.0);
    container.daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 1.0);
}

#[test]
fn as_process_1_it_takes_a_new_config_map_at_sighup_and_leaves_no_lock_at_sigterm() {
    let volume = Volume::new("enabled = false");
    volume.make_database(5_000);
    let container = volume.container().start(&[]);
    assert_eq!(container.status("NSpid").rsplit(' ').next(), Some("1"));
    volume.configure("two", "batch = 1");
    container.daemon.signal("HUP");
    wait_for("a sweep under the new config", || (container.daemon.metric(DELETED)? > 0.0).then_some(()));
    container.daemon.signal("TERM");
    assert_eq!(container.daemon.ended().code(), Some(0));
    let left: u32 = volume.count("id LIKE 'due%'").parse().unwrap();
    assert!(left > 0 && left < 5_000, "{left}");
    shell(&volume.file(), ".timeout 0\nBEGIN IMMEDIATE; ROLLBACK;");
}
