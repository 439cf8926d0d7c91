//! A certificate that is renewed, cannot be used, or is about to expire.

use std::os::unix::fs::PermissionsExt;

use super::{idle, pending};
use crate::support::command::keysweep;
use crate::support::identity::{Identity, serial_of, serial_shown};
use crate::support::{Daemon, wait_for};

const KEPT: &str = "the new certificate or key cannot be used: the ones before stay in force";

fn wait_for_serial(daemon: &Daemon, serial: &str) {
    wait_for("the certificate", || (serial_shown(daemon.address()).as_deref() == Some(serial)).then_some(()));
}

fn times(daemon: &Daemon, message: &str) -> usize {
    daemon.log().iter().filter(|line| line["message"] == message).count()
}

#[test]
fn a_renewed_certificate_is_shown_without_a_restart_and_a_broken_one_is_not() {
    let (database, identity) = (pending(), Identity::new());
    let daemon = Daemon::start(&idle(&database, &identity.tls()));
    wait_for_serial(&daemon, &serial_of(&identity.cert()));
    let told = daemon.wait_for_log("its expiry", |line| line["message"] == "answers over TLS");
    assert!(told["expires"].as_str().unwrap().starts_with("20"), "{told}");
    identity.make("new-", 3, "");
    let new = serial_of(&identity.file("new-cert.pem"));
    identity.replace("cert.pem", "new-cert.pem");
    identity.replace("key.pem", "new-key.pem");
    wait_for_serial(&daemon, &new);
    let soon = "the certificate expires within 7 days: renew it";
    daemon.wait_for_log("a word of its expiry", |line| line["message"] == soon);
    identity.make("other-", 30, "");
    identity.replace("key.pem", "other-key.pem");
    let warned = daemon.wait_for_log("why it is kept", |line| line["message"] == KEPT);
    assert!(warned["error"].as_str().unwrap().contains("is not that of the certificate"), "{warned}");
    assert_eq!(serial_shown(daemon.address()), Some(new));
    let other = serial_of(&identity.file("other-cert.pem"));
    identity.replace("cert.pem", "other-cert.pem");
    wait_for_serial(&daemon, &other);
    assert_eq!((times(&daemon, KEPT), times(&daemon, soon)), (1, 1), "{:?}", daemon.log());
}

#[test]
fn a_reload_looks_at_once_and_refuses_the_whole_config_with_a_pair_that_does_not_match() {
    let (database, identity) = (pending(), Identity::new());
    let daemon = Daemon::start(&idle(&database, &identity.tls()));
    let shown = serial_of(&identity.cert());
    identity.make("other-", 30, "");
    identity.replace("cert.pem", "other-cert.pem");
    daemon.signal("HUP");
    let refused = "the config was not reloaded: the one before stays in force";
    let why = daemon.wait_for_log("the refusal", |line| line["message"] == refused);
    assert!(why["error"].as_str().unwrap().contains("keysweep.toml:3:7: http.tls.key: "), "{why}");
    assert_eq!(serial_shown(daemon.address()), Some(shown));
    identity.replace("key.pem", "other-key.pem");
    daemon.signal("HUP");
    daemon.wait_for_log("the reload", |line| line["message"] == "the config was reloaded");
    assert_eq!(serial_shown(daemon.address()), Some(serial_of(&identity.cert())));
}

#[test]
fn a_pair_that_cannot_be_used_is_refused_where_it_is_written() {
    let (database, identity) = (pending(), Identity::new());
    identity.make("other-", 30, "");
    std::fs::write(identity.file("text"), "no PEM").unwrap();
    let (cert, key) = (identity.cert(), identity.key());
    for (cert, key, place, telling) in [
        (identity.file("gone"), key.clone(), ":2:8: http.tls.cert: ", "No such file"),
        (cert.clone(), identity.file("gone"), ":3:7: http.tls.key: ", "No such file"),
        (cert.clone(), identity.file("."), ":3:7: http.tls.key: ", "expected a file"),
        (identity.file("text"), key.clone(), ":2:8: http.tls.cert: ", "no certificate in PEM"),
        (cert.clone(), cert.clone(), ":3:7: http.tls.key: ", "no private key in PEM"),
        (cert, identity.file("other-key.pem"), ":3:7: http.tls.key: ", "is not that of the certificate"),
    ] {
        let config = idle(&database, &format!("[http.tls]\ncert = {cert:?}\nkey = {key:?}\n"));
        let answer = keysweep(["--config", config.to_str().unwrap(), "run"]);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{answer:?}");
        let said = answer.stderr.lines().last().unwrap();
        assert!(said.contains(place) && said.contains(telling), "{said}");
        assert!(!answer.stderr.contains("PRIVATE KEY"), "{answer:?}");
        // Who sweeps by hand may not be allowed to read the key, and does not need it.
        let swept = keysweep(["--config", config.to_str().unwrap(), "sweep"]);
        assert_eq!(swept.status, 0, "{swept:?}");
        let checked = keysweep(["--config", config.to_str().unwrap(), "check"]);
        assert_eq!(checked.status, 1, "{checked:?}");
        assert!(checked.stdout.contains("fault  http: ") && checked.stdout.contains(telling), "{checked:?}");
    }
}

#[test]
fn a_key_that_others_can_read_is_worth_an_advice() {
    let (database, identity) = (pending(), Identity::new());
    let config = idle(&database, &identity.tls());
    let checked = |mode: u32| {
        std::fs::set_permissions(identity.key(), PermissionsExt::from_mode(mode)).unwrap();
        keysweep(["--config", config.to_str().unwrap(), "check"])
    };
    let (closed, open) = (checked(0o600), checked(0o644));
    assert!(closed.status == 0 && !closed.stdout.contains("chmod"), "{closed:?}");
    assert!(
        open.status == 0 && open.stdout.contains("advice http: ") && open.stdout.contains("chmod"),
        "{open:?}"
    );
}
