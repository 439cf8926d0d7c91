//! `status` asks a daemon that has a certificate and users.

use std::process::Command;

use super::{RIGHT, idle, pending};
use crate::support::Daemon;
use crate::support::command::{Answer, BINARY, run};
use crate::support::identity::Identity;

fn status(args: &[&str], password: Option<&str>) -> Answer {
    let mut command = Command::new(BINARY);
    command
        .args(["--config", "/nowhere.toml", "--json", "status"])
        .args(args)
        .env_remove("KEYSWEEP_PASSWORD");
    run(command.envs(password.map(|password| ("KEYSWEEP_PASSWORD", password))))
}

#[test]
fn status_asks_over_tls_as_a_user_whose_password_is_on_no_command_line() {
    let (database, identity) = (pending(), Identity::new());
    let config = idle(&database, &format!("{}[http.users]\nprom = '{RIGHT}'", identity.tls()));
    let daemon = Daemon::start(&config);
    let (cert, url) = (identity.cert(), format!("https://prom@{}", daemon.address()));
    let cert = cert.to_str().unwrap();
    let file = identity.file("password");
    std::fs::write(&file, "right\n").unwrap();
    for (args, password) in [
        (&["--url", &url, "--cacert", cert][..], Some("right")),
        (&["--url", &url, "--cacert", cert, "--password-file", file.to_str().unwrap()], None),
        (&["--url", &url, "--cacert", cert, "--password-file", file.to_str().unwrap()], Some("wrong")),
    ] {
        let answer = status(args, password);
        assert_eq!(answer.status, 0, "{answer:?}");
        assert!(answer.json_lines()[0]["databases"]["app"].is_object(), "{answer:?}");
    }
    let wrong = status(&["--url", &url, "--cacert", cert], Some("hunter2"));
    assert!(wrong.status == 3 && wrong.stderr.contains("401"), "{wrong:?}");
    let stranger = status(&["--url", &url], Some("right"));
    assert!(stranger.status == 3 && stranger.stderr.contains("certificate"), "{stranger:?}");
    let other = Identity::new();
    let other = status(&["--url", &url, "--cacert", other.cert().to_str().unwrap()], Some("right"));
    assert!(other.status == 3 && other.stderr.contains("certificate"), "{other:?}");
    let shown = url.replace("prom@", "prom:hunter2@");
    let shown = status(&["--url", &shown, "--cacert", cert], None);
    assert!(shown.status == 2 && shown.stderr.contains("--password-file"), "{shown:?}");
    for answer in [wrong, shown] {
        assert!(!(answer.stdout + &answer.stderr).contains("hunter2"));
    }
}

#[test]
fn a_call_that_cannot_be_meant_is_wrong_and_asks_nobody() {
    let url = "https://127.0.0.1:1";
    for (args, said) in [
        (&["--url", "http://127.0.0.1:1/some/prefix"][..], "nothing behind it"),
        (&["--url", "ftp://127.0.0.1:1"], "http or https"),
        (&["--url", url, "--password-file", "/nowhere/password"], "/nowhere/password"),
    ] {
        let answer = status(args, None);
        assert!(answer.status == 2 && answer.stderr.contains(said), "{answer:?}");
    }
    let identity = Identity::new();
    let daemon = Daemon::start(&idle(&pending(), &identity.tls()));
    let url = format!("https://{}", daemon.address());
    let answer = status(&["--url", &url, "--cacert", "/nowhere/ca.pem"], None);
    assert!(answer.status == 2 && answer.stderr.contains("/nowhere/ca.pem"), "{answer:?}");
}

#[test]
fn a_config_that_is_wrong_tells_of_no_daemon() {
    let database = pending();
    let config = database.config_text("bogus = 1");
    let ask = |args: &[&str]| {
        let mut command = Command::new(BINARY);
        run(command.arg("--config").arg(&config).arg("status").args(args))
    };
    let answer = ask(&[]);
    assert!(answer.status == 2 && answer.stderr.contains("bogus"), "{answer:?}");
    let named = ask(&["--url", "http://127.0.0.1:1"]);
    assert!(named.status == 3 && !named.stderr.contains("bogus"), "{named:?}");
}
