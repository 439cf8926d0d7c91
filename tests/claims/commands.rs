//! The command line: help, packages' files, and what is refused before anything is opened.

mod config;

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::support::command::{Answer, BINARY, run};
use crate::support::{Daemon, Database, Journal, keysweep};

const COMMANDS: [&str; 20] = [
    "run",
    "sweep",
    "check",
    "status",
    "pending",
    "keys",
    "keys init",
    "keys reserve",
    "keys finish",
    "keys fetch",
    "keys expired",
    "keys purge",
    "keys counts",
    "keys retention-cycle",
    "counter",
    "counter add",
    "demo",
    "completions",
    "man",
    "help",
];

#[test]
fn every_command_has_its_help() {
    let all = keysweep(["--help"]);
    assert_eq!((all.status, all.stderr.as_str()), (0, ""));
    for command in COMMANDS {
        let words = command.split(' ');
        if !command.contains(' ') {
            assert!(all.stdout.contains(&format!("\n  {command} ")), "--help does not name {command}");
        }
        if command != "help" {
            let help = keysweep(words.chain(["--help"]));
            assert_eq!((help.status, help.stderr.as_str()), (0, ""), "{command}");
            assert!(help.stdout.contains(&format!("Usage: keysweep {command}")), "{}", help.stdout);
        }
    }
}

#[test]
fn a_wrong_flag_is_refused_by_its_name() {
    for command in COMMANDS {
        let answer = keysweep(command.split(' ').chain(["--explode"]));
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{command}");
        assert!(answer.stderr.contains("--explode"), "{command}: {}", answer.stderr);
    }
    for line in ["", "explode", "keys", "keys explode", "completions csh", "--log-level debgu man", "run now"]
    {
        let answer = keysweep(line.split_whitespace());
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{line:?}");
        assert!(!answer.stderr.is_empty(), "{line:?}");
    }
}

#[test]
fn completions_are_scripts_that_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = keysweep(["completions", shell]);
        assert_eq!((script.status, script.stderr.as_str()), (0, ""), "{shell}");
        for command in COMMANDS.iter().filter_map(|command| command.split(' ').next_back()) {
            assert!(script.stdout.contains(command), "{shell} does not know {command}");
        }
        if shell == "bash" {
            accepted("bash", &["-n"], &script.stdout);
            let registered = format!("{}\ncomplete -p keysweep >/dev/null", script.stdout);
            accepted("bash", &["--norc"], &registered);
        }
    }
}

#[test]
fn the_man_page_is_one_that_the_formatter_accepts() {
    let page = keysweep(["man"]);
    assert_eq!((page.status, page.stderr.as_str()), (0, ""));
    assert!(page.stdout.contains(".TH keysweep 1"), "{}", page.stdout);
    accepted("groff", &["-man", "-ww", "-z", "-Tutf8"], &page.stdout);
}

/// The program reads this from its standard input, and has nothing to say against it.
fn accepted(program: &str, args: &[&str], input: &str) {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{program} {args:?}: {errors}");
}

/// `keysweep` with these arguments; a daemon that runs instead of refusing them is ended.
fn ends<'a>(args: impl IntoIterator<Item = &'a str>) -> Answer {
    let mut command = Command::new("timeout");
    run(command.args(["60", BINARY]).args(args).env_remove("KEYSWEEP_CONFIG"))
}

#[test]
fn a_listen_address_in_use_is_refused_and_nothing_is_swept() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let database = Database::with_keys(Journal::Delete, [("a", "done", 1.0)]);
    let text = format!(
        "[http]\nlisten = '{address}'\n[[database]]\nname = 'app'\npath = {:?}\nevery = '100ms'\n",
        database.path()
    );
    let config = database.config_text(&text);
    let answer = ends(["--config", config.to_str().unwrap(), "run"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
    assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
    assert!(answer.stderr.contains(&format!("cannot listen on {address}")), "{}", answer.stderr);
    assert_eq!(database.ids(), ["a"]);

    // The address in the environment wins over the one in the file.
    let daemon = Daemon::start(&config);
    assert_ne!(daemon.address(), taken.local_addr().unwrap());
    assert_eq!(daemon.get("/livez").status, 200);
}
