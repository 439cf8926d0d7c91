//! What `check` says of the listener.

use super::line::Line;
use crate::config::{Http, Tls};

/// Only what an owner would want to know.
pub(super) fn look_at_listener(http: &Http) -> Vec<Line> {
    let passwords = http.shown_passwords().map(|(what, remedy)| Line::fault(what.into(), remedy));
    passwords.into_iter().chain(http.tls.as_ref().and_then(look_at_pair)).collect()
}

fn look_at_pair(tls: &Tls) -> Option<Line> {
    let certificate = match tls.read() {
        Ok(certificate) => certificate,
        Err(error) => {
            let remedy = "`run` refuses to start, and a reload to be obeyed: mend the file, or run `check` as the \
                          service's user where this one may not read it";
            return Some(Line::fault(error.to_string(), remedy));
        }
    };
    let mode = certificate.key_is_open()?;
    let what = format!("the private key {} can be read by others: mode {mode:04o}", tls.key().display());
    Some(Line::advice(what, "chmod 600 it, owned by the user of keysweep"))
}
