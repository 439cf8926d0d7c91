//! TLS, as clients that we did not write see it.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::{RIGHT, idle, pending};
use crate::support::command::run;
use crate::support::identity::{Identity, curl, got};
use crate::support::prometheus::Prometheus;
use crate::support::{Daemon, PATIENCE};

#[test]
fn curl_reads_what_it_is_told_over_tls_and_believes_the_certificate_alone() {
    let (database, identity) = (pending(), Identity::new());
    let daemon = Daemon::start(&idle(&database, &identity.tls()));
    let (cert, url) = (identity.cert(), format!("https://{}/metrics", daemon.address()));
    let (status, body) = got(&["--cacert", cert.to_str().unwrap(), &url]);
    assert!(status == 200 && body.contains("keysweep_build_info"), "{status} {body}");
    for version in ["--tlsv1.2", "--tlsv1.3"] {
        assert_eq!(got(&["--cacert", cert.to_str().unwrap(), version, &url]).0, 200, "{version}");
    }
    let stranger = curl(&[&url]);
    assert_eq!(stranger.status, 60, "curl's word for a certificate that it does not know: {stranger:?}");
}

#[test]
fn what_is_too_old_or_no_tls_gets_no_answer() {
    let (database, identity) = (pending(), Identity::new());
    let daemon = Daemon::start(&idle(&database, &identity.tls()));
    let s_client = |args: &str| {
        let script = format!("openssl s_client -connect {} {args} < /dev/null", daemon.address());
        run(std::process::Command::new("sh").args(["-c", &script]))
    };
    let old = s_client("-tls1_1 -cipher DEFAULT@SECLEVEL=0");
    assert!(old.status != 0 && old.stdout.contains("Cipher is (NONE)"), "{old:?}");
    let new = s_client("-alpn h2,http/1.1");
    assert!(new.status == 0 && new.stdout.contains("ALPN protocol: http/1.1"), "{new:?}");
    let mut plain = TcpStream::connect(daemon.address()).unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    plain.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.windows(8).any(|bytes| bytes == b"keysweep"), "{answer:?}");
    let url = format!("https://{}/livez", daemon.address());
    assert_eq!(got(&["--cacert", identity.cert().to_str().unwrap(), &url]), (200, "ok\n".into()));
}

#[test]
fn prometheus_scrapes_over_tls_with_a_password() {
    let (database, identity) = (pending(), Identity::new());
    let lines = format!("{}[http.users]\nprom = '{RIGHT}'", identity.tls());
    let daemon = Daemon::start(&idle(&database, &lines));
    let keys = |password: &str| {
        let cert = identity.cert();
        let cert = cert.display();
        format!(
            "scheme: https, tls_config: {{ ca_file: '{cert}' }}, \
             basic_auth: {{ username: prom, password: '{password}' }},"
        )
    };
    let prometheus = Prometheus::scraping_by(daemon.address(), &keys("right"));
    prometheus.wait_for_value("up", 1.0);
    prometheus.wait_for_value(r#"keysweep_rows{state="pending"}"#, 1.0);
    let stranger = Prometheus::scraping_by(daemon.address(), &keys("wrong"));
    stranger.wait_for_value("up", 0.0);
}
