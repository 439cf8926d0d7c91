//! A certificate whose files were replaced is shown from then on, without a restart.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::certificate::Stamp;
use super::{Certificate, Door, PairError};
use crate::plan::UnixTime;

/// From one look at the files to the next.
const LOOK: Duration = Duration::from_secs(10);
/// A certificate that is not renewed by then is worth a word; whoever renews does so long before.
const SOON: Duration = Duration::from_secs(7 * 86_400);

/// Looks at the files of the certificate that the door shows, for as long as it is spawned.
pub async fn renew(door: Door, now: fn() -> UnixTime, shutdown: CancellationToken) {
    let mut watch = Watch::default();
    loop {
        if let Some(shown) = door.terms().certificate {
            watch.say_expiry(&shown, now());
            watch.look(&door, shown).await;
        }
        if shutdown.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_none() {
            return;
        }
    }
}

/// What was said already, so that it is said once.
#[derive(Default)]
struct Watch {
    /// The files that could not be used, and whether that was said. Of two files that are replaced one after the
    /// other, the first look may meet a new one beside an old one: it says nothing yet.
    failed: Option<(Stamp, bool)>,
    expiry: Option<(Option<UnixTime>, Expiry)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expiry {
    Far,
    Soon,
    Past,
}

impl Watch {
    async fn look(&mut self, door: &Door, shown: Arc<Certificate>) {
        let looked = Arc::clone(&shown);
        let Ok(Some((stamp, read))) = spawn_blocking(move || changed(&looked)).await else {
            self.failed = None;
            return;
        };
        match read {
            Ok(new) => {
                self.failed = None;
                info!(cert = new.path().display().to_string().as_str(), "the certificate was renewed");
                door.renew(&shown, new);
            }
            Err(error) => self.say_failure(stamp, &error),
        }
    }

    fn say_failure(&mut self, stamp: Stamp, error: &PairError) {
        match &mut self.failed {
            Some((failed, said)) if *failed == stamp => {
                if !std::mem::replace(said, true) {
                    let error = error.to_string();
                    warn!(
                        error = error.as_str(),
                        "the new certificate or key cannot be used: the ones before stay in force"
                    );
                }
            }
            _ => self.failed = Some((stamp, false)),
        }
    }

    fn say_expiry(&mut self, shown: &Certificate, now: UnixTime) {
        let expires = shown.expires();
        let state = (expires, expiry(expires, now));
        if self.expiry == Some(state) {
            return;
        }
        self.expiry = Some(state);
        let cert = shown.path().display().to_string();
        let (cert, expires) = (cert.as_str(), expires.map(|expires| expires.to_string()));
        match state.1 {
            Expiry::Far => info!(cert, expires, "answers over TLS"),
            Expiry::Soon => warn!(cert, expires, "the certificate expires within 7 days: renew it"),
            Expiry::Past => warn!(cert, expires, "the certificate has expired: clients refuse it; renew it"),
        }
    }
}

/// The files, where they are not those that are shown, and what comes of them.
fn changed(shown: &Certificate) -> Option<(Stamp, Result<Certificate, PairError>)> {
    let stamp = shown.stamp_now();
    (stamp != *shown.stamp()).then(|| (stamp, shown.read_again()))
}

fn expiry(expires: Option<UnixTime>, now: UnixTime) -> Expiry {
    match expires {
        Some(expires) if expires <= now => Expiry::Past,
        Some(expires) if expires.before(SOON) <= now => Expiry::Soon,
        _ => Expiry::Far,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_worth_a_word_a_week_before_it_expires() {
        let expires = UnixTime::new(10_000_000.0).ok();
        let at = |seconds| expiry(expires, UnixTime::new(seconds).unwrap());
        assert_eq!([at(10_000_000.0 - 604_801.0), at(10_000_000.0 - 604_800.0)], [Expiry::Far, Expiry::Soon]);
        assert_eq!([at(9_999_999.0), at(10_000_000.0)], [Expiry::Soon, Expiry::Past]);
        assert_eq!(expiry(None, UnixTime::from_millis(0)), Expiry::Far);
    }
}
