//! What the guards hold, before the first turn and between two of them.

use tokio::time::Instant;

use super::sweep::Sweep;
use super::{Mode, Order};
use crate::plan::{Counts, Event, Failure, FailureKind, HoldReason, Stop, UnixTime, share_failure};
use crate::store::Store;

/// What a guard said when it began to hold a table: a hold is said once, though its numbers move on.
#[derive(Debug, Clone)]
pub struct Standing {
    reason: HoldReason,
    /// Which hold of this reason.
    until: Option<UnixTime>,
    said: Failure,
}

/// Hold every table where a person or the clock wants it.
pub(super) fn hold_all(order: &Order<'_>, sweeps: &mut [Sweep<'_>], tell: &(dyn Fn(&Event) + Sync)) {
    if let Some((reason, why)) = order.guards.hold() {
        sweeps.iter_mut().for_each(|sweep| sweep.guard(reason, why.clone(), tell));
    }
}

/// Hold each table whose horizon is new, outside the window all, and each that would lose too large a share.
pub(super) async fn hold_each<S: Store>(
    order: &Order<'_>,
    store: &mut S,
    sweeps: &mut [Sweep<'_>],
    tell: &(dyn Fn(&Event) + Sync),
) {
    let closed = order.guards.window.is_some_and(|window| window.open_for(order.now).is_none());
    for sweep in sweeps.iter_mut().filter(|sweep| sweep.is_running()) {
        match judge(order, closed, store, sweep).await {
            Err(failure) => sweep.fail(failure, tell),
            Ok(Some(Standing { reason, said, .. })) => sweep.guard(reason, said, tell),
            Ok(None) => {
                sweep.pass();
                if closed && order.mode == Mode::Delete {
                    sweep.end(Stop::Disabled, tell);
                }
            }
        }
    }
}

/// The hold of one table, in the words in which it began.
async fn judge<S: Store>(
    order: &Order<'_>,
    closed: bool,
    store: &mut S,
    sweep: &mut Sweep<'_>,
) -> Result<Option<Standing>, Failure> {
    let standing = match horizon(order, store, sweep).await? {
        // A count reads the table, and nothing would be taken now.
        None if closed && order.mode == Mode::Delete => None,
        None => share(order, store, sweep).await?,
        horizon => horizon,
    };
    sweep.standing().clone_from(&standing);
    Ok(standing)
}

async fn horizon<S: Store>(
    order: &Order<'_>,
    store: &mut S,
    sweep: &mut Sweep<'_>,
) -> Result<Option<Standing>, Failure> {
    let Some(unsettled) = order.guards.unsettled(&sweep.rule().label) else { return Ok(None) };
    let until = unsettled.begins.as_ref().ok().copied();
    if let Some(said) = sweep.standing().as_ref().filter(|said| said.is(HoldReason::Horizon, until)) {
        return Ok(Some(said.clone()));
    }
    let rows = count(order, store, sweep).await?.expired;
    let said = unsettled.failure(sweep.rule(), rows);
    Ok(Some(Standing { reason: HoldReason::Horizon, until, said }))
}

async fn share<S: Store>(
    order: &Order<'_>,
    store: &mut S,
    sweep: &mut Sweep<'_>,
) -> Result<Option<Standing>, Failure> {
    let Some(most) = order.guards.max_share else { return Ok(None) };
    let counts = count(order, store, sweep).await?;
    let Some(said) = share_failure(sweep.rule(), &counts, most) else { return Ok(None) };
    let new = Standing { reason: HoldReason::Share, until: None, said };
    Ok(sweep.standing().take().filter(|said| said.is(HoldReason::Share, None)).or(Some(new)))
}

async fn count<S: Store>(order: &Order<'_>, store: &mut S, sweep: &Sweep<'_>) -> Result<Counts, Failure> {
    let counts = store.count(std::slice::from_ref(sweep.rule()), order.now).await?;
    counts.into_iter().next().ok_or_else(|| {
        let what = format!("a count of table `{}` gave none", sweep.rule().label);
        Failure::new(FailureKind::Internal, what, "report this; the next tick tries again")
    })
}

/// Why a sweep that deletes must stop before its next batch.
pub(super) fn paused(order: &Order<'_>) -> Option<Failure> {
    if order.mode == Mode::Delete { order.guards.paused() } else { None }
}

/// When the tick has no more time before its window ends. A dry run has no window.
pub(super) fn window_ends(order: &Order<'_>, begun: Instant) -> Option<Instant> {
    let window = order.guards.window.filter(|_| order.mode == Mode::Delete)?;
    begun.checked_add(window.time_to_work(order.now)?)
}

impl Standing {
    fn is(&self, reason: HoldReason, until: Option<UnixTime>) -> bool {
        self.reason == reason && self.until == until
    }
}
