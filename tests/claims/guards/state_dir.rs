//! The folder of what is remembered: missing, read-only, shared.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Guarded, is_held, is_swept};
use crate::support::command::{Answer, BINARY, run};
use crate::support::users::{APPLICATION, give, permit, public_binary};

fn refuses(answer: &Answer, folder: &Path) {
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{answer:?}");
    assert!(answer.stderr.contains(&format!("state_dir {} cannot be used", folder.display())), "{answer:?}");
    assert!(answer.stderr.contains("StateDirectory=keysweep"), "{answer:?}");
}

#[test]
fn run_and_sweep_do_not_start_without_the_memory_that_they_were_given() {
    let guarded = Guarded::new();
    let missing = guarded.file("missing");
    let file = guarded.file("file");
    std::fs::write(&file, "").unwrap();
    for folder in [&missing, &file] {
        let database = format!("[[database]]\nname = 'app'\npath = {:?}\n", guarded.database.path());
        let config = guarded.database.config_text(&format!("state_dir = {folder:?}\n{database}"));
        let ask = |args: &[&str]| run(Command::new(BINARY).arg("--config").arg(&config).args(args));
        refuses(&ask(&["run"]), folder);
        refuses(&ask(&["sweep"]), folder);
        let check = ask(&["check"]);
        assert!(check.stdout.contains("down   app: state_dir"), "{check:?}");
        assert!(check.stdout.contains("1 pending, 3 done"), "{check:?}");
        assert_eq!(check.status, 1);
    }
    guarded.is_untouched();
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_by_those_who_would_write() {
    let guarded = Guarded::new();
    let binaries = tempfile::tempdir().unwrap();
    let binary = public_binary(binaries.path());
    permit(guarded.database.folder(), 0o755);
    give(guarded.database.folder(), APPLICATION);
    give(&guarded.database.path(), APPLICATION);
    let ask = |args: &[&str]| {
        let config = guarded.config("settle = '0s'");
        run(APPLICATION.command(&binary).arg("--config").arg(config).args(args))
    };
    permit(guarded.state.path(), 0o755);
    refuses(&ask(&["run"]), guarded.state.path());
    refuses(&ask(&["sweep"]), guarded.state.path());
    assert_eq!(ask(&["sweep", "--dry-run"]).status, 0);
    assert!(ask(&["check"]).stdout.contains("down   app: state_dir"));
    guarded.is_untouched();
    give(guarded.state.path(), APPLICATION);
    assert_eq!(ask(&["sweep"]).status, 0);
    assert_eq!(ask(&["check"]).status, 0);
}

#[test]
fn the_environment_names_it_as_systemd_or_as_a_variable_of_ours() {
    for variable in ["STATE_DIRECTORY", "KEYSWEEP__STATE_DIR"] {
        let guarded = Guarded::new();
        let sweep = || {
            let mut command = Command::new(BINARY);
            command.arg("--config").arg(guarded.database.config("")).args(["sweep", "--json"]);
            run(command.env(variable, guarded.state.path()))
        };
        is_held(&sweep(), "horizon");
        guarded.touch("accept-horizon");
        is_swept(&sweep(), 1);
    }
}

#[test]
fn many_processes_share_it_and_none_finds_half_a_file() {
    let guarded = Guarded::new();
    let config = guarded.config("settle = '0s'\nbusy_timeout = '60s'");
    for _ in 0..3 {
        let start = |_| {
            let mut command = Command::new(BINARY);
            command.arg("--config").arg(&config).args(["sweep", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..8).map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
        }
    }
    let files = guarded.files();
    let names: Vec<_> = files.iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["clock.json", "horizon-app.json"]);
    for (_, bytes) in &files {
        assert_eq!(serde_json::from_slice::<Value>(bytes).unwrap()["format"], json!(1));
    }
}
