//! The unit under real systemd, process 1 of a container of its own: as shipped, but for what an operator sets in a
//! drop-in, where the binary lies, and a watchdog that need not be waited for.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{Answer, BINARY, run};
use crate::support::database::{KEY_TABLE, shell};
use crate::support::{document, wait_for};

const RETENTION_OVER: &str =
    "INSERT INTO keys VALUES('due','v1','done','1',1),('open','v1','pending',NULL,1)";
const INSTALLED: &str = "/usr/bin/keysweep";
const HERE: &str = "/opt/ks/keysweep";
const TARGET: &str =
    "[Unit]\nRequires=basic.target\nAfter=basic.target\nWants=keysweep.service\nAllowIsolate=yes\n";

/// Each has the control groups of a whole machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Machine {
    folder: TempDir,
    nspawn: Child,
    /// systemd, as it is numbered out here.
    init: String,
    _alone: MutexGuard<'static, ()>,
}

impl Machine {
    /// One database in a folder that the service may write, one in a folder that it may not.
    fn boot() -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        for name in ["units/keysweep.service.d", "config", "payments", "outside"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["payments", "outside"] {
            shell(&folder.path().join(name).join("app.db"), &format!("{KEY_TABLE};{RETENTION_OVER}"));
            let owned =
                Command::new("chown").args(["-R", "nobody:nogroup"]).arg(folder.path().join(name)).status();
            assert!(owned.unwrap().success());
        }
        write_units(&folder.path().join("units"));
        configure(folder.path(), "every = '1s'\ncensus = '1s'");
        let mut nspawn = nspawn(folder.path()).spawn().expect("systemd-nspawn");
        let of = nspawn.id().to_string();
        let init = wait_for("systemd", || {
            assert!(nspawn.try_wait().unwrap().is_none(), "systemd-nspawn has ended");
            let found = run(Command::new("pgrep").args(["-x", "systemd", "-P", &of])).stdout;
            (!found.trim().is_empty()).then(|| found.trim().to_owned())
        });
        let machine = Self { folder, nspawn, init, _alone: alone };
        machine.wait_for("ActiveState", "active");
        machine
    }

    /// Any command, inside.
    fn inside(&self, words: &[&str]) -> Answer {
        run(Command::new("nsenter").args(["-t", &self.init, "-a", "--"]).args(words))
    }

    fn systemctl(&self, words: &[&str]) {
        let answer = self.inside(&[&["systemctl"], words, &["keysweep"]].concat());
        assert_eq!(answer.status, 0, "{words:?}: {answer:?}");
    }

    fn property(&self, name: &str) -> String {
        self.inside(&["systemctl", "show", "keysweep", "--value", "-p", name]).stdout.trim().to_owned()
    }

    fn wait_for(&self, property: &str, value: &str) {
        wait_for(&format!("{property}={value}: {}", self.journal()), || {
            (self.property(property) == value).then_some(())
        });
    }

    fn journal(&self) -> String {
        self.inside(&["journalctl", "-u", "keysweep", "-o", "cat", "--no-pager"]).stdout
    }

    fn wait_for_line(&self, words: &[&str]) -> String {
        let has = |line: &&str| words.iter().all(|word| line.contains(word));
        wait_for(&format!("a line with {words:?}"), || self.journal().lines().find(has).map(str::to_owned))
    }

    /// What the daemon says to `status`, where it answers.
    fn status(&self) -> Option<Value> {
        let answer = self.inside(&[HERE, "--json", "status"]);
        serde_json::from_str(answer.stdout.lines().next()?).ok()
    }

    fn ids(&self, name: &str) -> String {
        shell(&self.folder.path().join(name).join("app.db"), "SELECT group_concat(id) FROM keys")
            .trim()
            .to_owned()
    }

    fn main_pid(&self) -> String {
        self.property("MainPID")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Of a container that is killed nothing goes on: its processes end with their process 1.
        let _ = self.nspawn.kill();
        let _ = self.nspawn.wait();
    }
}

fn write_units(units: &Path) {
    let unit = document("deploy/systemd/keysweep.service");
    let start = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
    let start = start.replace(INSTALLED, HERE);
    assert!(start.contains(HERE), "{start}");
    let set = "User=nobody\nGroup=nogroup\nReadWritePaths=/var/lib/payments";
    let drop_in = format!("[Service]\n{set}\nExecStart=\n{start}\nWatchdogSec=3\n");
    std::fs::write(units.join("keysweep.service"), &unit).unwrap();
    std::fs::write(units.join("keysweep.service.d/10-application.conf"), drop_in).unwrap();
    std::fs::write(units.join("ks.target"), TARGET).unwrap();
}

fn configure(folder: &Path, defaults: &str) {
    let block = |name: &str, path: &str| format!("[[database]]\nname = '{name}'\npath = '{path}'\n");
    let blocks = block("payments", "/var/lib/payments/app.db") + &block("outside", "/srv/outside/app.db");
    std::fs::write(folder.join("config/keysweep.toml"), format!("[defaults]\n{defaults}\n{blocks}")).unwrap();
}

fn nspawn(folder: &Path) -> Command {
    let mut command = Command::new("systemd-nspawn");
    command.args(["--register=no", "--keep-unit", "-q", "-D", "/", "--volatile=yes", "--private-network"]);
    command.args(["--console=pipe", "--kill-signal=SIGRTMIN+3"]);
    command.arg(format!(
        "--machine=ks-{}",
        folder.file_name().unwrap().to_str().unwrap().trim_start_matches('.')
    ));
    let bind = |how: &str, from: PathBuf, to: &str| format!("--{how}={}:{to}", from.display());
    command.arg(bind("bind-ro", folder.join("units"), "/etc/systemd/system"));
    command.arg(bind("bind-ro", folder.join("config"), "/etc/keysweep"));
    command.arg(bind("bind-ro", BINARY.into(), HERE));
    command.arg(bind("bind", folder.join("payments"), "/var/lib/payments"));
    command.arg(bind("bind", folder.join("outside"), "/srv/outside"));
    command.args(["-b", "systemd.unit=ks.target", "systemd.condition-first-boot=no"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_permitted_folder_is_swept_once_its_first_contact_is_accepted_and_another_is_refused() {
    let machine = Machine::boot();
    let held = machine.wait_for_line(&["held: nothing is deleted", "payments", "horizon", "accept-horizon"]);
    assert!(held.contains("1 of its rows are due"), "{held}");
    machine.wait_for_line(&["sweep failed", "outside", "permission", "ReadWritePaths="]);
    assert_eq!(machine.ids("payments"), "due,open");
    let told = wait_for("a sentence", || {
        Some(machine.property("StatusText")).filter(|text| text.contains("1 down; 1 table held"))
    });
    assert!(told.starts_with("2 databases; "), "{told}");
    assert_eq!(machine.inside(&["touch", "/var/lib/keysweep/accept-horizon"]).status, 0);
    wait_for("the sweep", || (machine.ids("payments") == "open").then_some(()));
    assert_eq!(machine.ids("outside"), "due,open");
    let status = machine.status().expect("an answer");
    assert_eq!(status["databases"]["outside"]["up"], false, "{status}");
    assert_eq!(status["databases"]["payments"]["up"], true, "{status}");
}

#[test]
fn it_comes_back_after_a_kill_and_after_a_hang_and_ends_when_it_is_told_to() {
    let machine = Machine::boot();
    let first = machine.main_pid();
    assert_eq!(machine.inside(&["kill", "-KILL", &first]).status, 0);
    machine.wait_for("NRestarts", "1");
    machine.wait_for("ActiveState", "active");
    let second = machine.main_pid();
    assert_ne!(first, second);
    assert_eq!(machine.inside(&["kill", "-STOP", &second]).status, 0);
    machine.wait_for("NRestarts", "2");
    machine.wait_for("ActiveState", "active");
    wait_for("an answer", || machine.status());
    machine.systemctl(&["stop"]);
    // Within 2 seconds is what TimeoutStopSec= would not tell: by a signal that it obeyed, and no second one.
    assert_eq!(machine.property("Result"), "success");
    assert!(machine.journal().contains("keysweep has stopped"), "{}", machine.journal());
}

#[test]
fn a_reload_takes_a_good_config_and_refuses_a_bad_one_and_the_journal_reads_well() {
    let machine = Machine::boot();
    let pid = machine.main_pid();
    configure(machine.folder.path(), "every = '2s'\ncensus = '2s'");
    machine.systemctl(&["reload"]);
    machine.wait_for_line(&["the config was reloaded", "changed=2"]);
    std::fs::write(machine.folder.path().join("config/keysweep.toml"), "bogus = 1\n").unwrap();
    machine.systemctl(&["reload"]);
    machine.wait_for_line(&[
        "the config was not reloaded: the one before stays in force",
        "keysweep.toml:1:1",
        "bogus",
    ]);
    wait_for("the sentence", || machine.property("StatusText").contains("is refused").then_some(()));
    assert_eq!((machine.property("ActiveState").as_str(), machine.main_pid()), ("active", pid));
    let journal = machine.journal();
    assert!(!journal.contains('\u{1b}'), "{journal}");
    assert!(journal.lines().all(|line| !line.trim().is_empty() && line.len() < 1_000), "{journal}");
}
