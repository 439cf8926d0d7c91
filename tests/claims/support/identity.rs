//! Certificates that OpenSSL makes, and curl, which believes them or not.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::{Answer, run};

/// A folder with a certificate `cert.pem` that signed itself and its key `key.pem`.
#[derive(Debug)]
pub struct Identity {
    folder: tempfile::TempDir,
}

impl Identity {
    pub fn new() -> Self {
        let identity = Self { folder: tempfile::tempdir().unwrap() };
        identity.make("", 30, "");
        identity
    }

    pub fn cert(&self) -> PathBuf {
        self.file("cert.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.file("key.pem")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The section of the config.
    pub fn tls(&self) -> String {
        format!("[http.tls]\ncert = {:?}\nkey = {:?}\n", self.cert(), self.key())
    }

    /// A further pair, `{before}cert.pem` and `{before}key.pem`, valid for so many days from today.
    pub fn make(&self, before: &str, days: i32, more: &str) {
        let (cert, key) = (self.file(&format!("{before}cert.pem")), self.file(&format!("{before}key.pem")));
        let mut command = Command::new("openssl");
        command.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(' '));
        command.args(["-subj", "/CN=keysweep", "-addext", "subjectAltName=IP:127.0.0.1"]);
        command.args(["-days", &days.to_string(), "-keyout"]).arg(key).arg("-out").arg(cert);
        command.args(more.split(' ').filter(|word| !word.is_empty()));
        let made = run(&mut command);
        assert_eq!(made.status, 0, "{made:?}");
    }

    /// Put another file in the place of one, as whoever renews does.
    pub fn replace(&self, name: &str, with: &str) {
        std::fs::rename(self.file(with), self.file(name)).unwrap();
    }
}

/// `curl` with these arguments; its answer ends with a line of the status.
pub fn curl(args: &[&str]) -> Answer {
    let mut command = Command::new("curl");
    run(command
        .args(["--silent", "--show-error", "--max-time", "60", "--write-out", "\n%{http_code}"])
        .args(args))
}

/// The status and the body that curl got.
pub fn got(args: &[&str]) -> (u16, String) {
    let answer = curl(args);
    assert_eq!(answer.status, 0, "{args:?}: {answer:?}");
    let (body, status) = answer.stdout.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.into())
}

/// The serial number of the certificate that is shown at an address.
pub fn serial_shown(address: std::net::SocketAddr) -> Option<String> {
    let script =
        format!("openssl s_client -connect {address} < /dev/null 2> /dev/null | openssl x509 -noout -serial");
    let shown = run(Command::new("sh").args(["-c", &script]));
    (shown.status == 0).then(|| shown.stdout.trim().to_owned())
}

/// The serial number of a certificate in a file.
pub fn serial_of(cert: &Path) -> String {
    let read = run(Command::new("openssl").args(["x509", "-noout", "-serial", "-in"]).arg(cert));
    assert_eq!(read.status, 0, "{read:?}");
    read.stdout.trim().to_owned()
}
