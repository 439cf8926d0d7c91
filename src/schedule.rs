//! The schedule rings bells. A bell carries no data, and rings during a tick become one.
//!
//! Cron text goes through tokio-cron-scheduler, an interval through a monotonic timer: the
//! library's own repeated jobs stop for ever after a clock jump or a stall. Bells are hung and taken
//! down while it rings.

mod cron;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_cron_scheduler::JobSchedulerError;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::clock;
use crate::config::Timing;
use crate::plan::UnixTime;
use cron::Crons;
pub use cron::Pulse;

/// What a worker waits for.
#[derive(Debug, Default)]
pub struct Bell(Notify);

impl Bell {
    /// Ring. A bell that has rung and was not heard yet rings no second time.
    pub fn ring(&self) {
        self.0.notify_one();
    }

    /// Wait for the next ring.
    pub async fn heard(&self) {
        self.0.notified().await;
    }
}

/// A bell, and who is told when it will ring next.
#[derive(Clone)]
pub struct Rope {
    /// Rung when the time has come.
    pub bell: Arc<Bell>,
    /// Told the next time, where there is one.
    pub announce: Arc<dyn Fn(Option<UnixTime>) + Send + Sync>,
}

/// Where bells hang. A clone is the same one.
#[derive(Clone)]
pub struct Belfry {
    crons: Crons,
    pulse: Pulse,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A bell that hangs; to drop this takes it down.
#[derive(Debug)]
#[must_use = "a bell hangs as long as this lives"]
pub struct Hung {
    _down: DropGuard,
}

/// A rope until its bell is taken down.
#[derive(Clone)]
struct Hanging {
    rope: Rope,
    down: CancellationToken,
}

impl Belfry {
    /// Start the scheduler with no bell in it, until told to stop.
    ///
    /// # Errors
    /// When the scheduler refuses to start.
    pub async fn open(tasks: &TaskTracker, stop: CancellationToken) -> Result<Self, JobSchedulerError> {
        let (crons, pulse) = (Crons::default(), Pulse::default());
        cron::start(&crons, &pulse, tasks, stop.clone()).await?;
        Ok(Self { crons, pulse, tasks: tasks.clone(), stop })
    }

    /// Hang a bell. On an interval it rings `late` from now, and then at each interval after that.
    pub fn hang(&self, timing: &Timing, late: Duration, rope: Rope) -> Hung {
        let down = self.stop.child_token();
        let hung = Hung { _down: down.clone().drop_guard() };
        match timing {
            Timing::Every(every) => {
                (rope.announce)(clock::now().after(late));
                self.tasks.spawn(ring_every(*every, late, rope, down));
            }
            Timing::Cron(schedule) => {
                (rope.announce)(schedule.next_after(clock::now()));
                self.crons.hang(schedule, Hanging { rope, down });
            }
        }
        hung
    }

    /// Whether it rings.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }
}

/// Rings that were missed while the process was stopped become one.
async fn ring_every(every: Duration, late: Duration, rope: Rope, down: CancellationToken) {
    let mut timer = interval_at(Instant::now() + late, every);
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = timer.tick() => rope.pull(clock::now().after(every)),
            () = down.cancelled() => return,
        }
    }
}

impl Rope {
    fn pull(&self, next: Option<UnixTime>) {
        (self.announce)(next);
        self.bell.ring();
    }
}
