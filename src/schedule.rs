//! The schedule rings bells. A bell carries no data, and rings during a tick become one.
//!
//! Cron text goes through tokio-cron-scheduler, an interval through a monotonic timer: the
//! library's own repeated jobs stop for ever after a clock jump or a stall.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock;
use crate::config::{Schedule, Timing};
use crate::plan::UnixTime;

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

/// So often does the heartbeat come, and so often is it looked for.
const BEAT: Duration = Duration::from_secs(1);
/// After so many looks without a beat the jobs are set anew: the wall clock was set back, and the
/// library would wait until it had caught up. Looks, not seconds: a process that was stopped and
/// continued must not lose the ring that is due.
const SILENT_LOOKS: u32 = 5;
/// After so many the scheduler counts as dead.
const DEAD_LOOKS: u32 = 30;

/// Whether the scheduler turns.
#[derive(Debug, Clone, Default)]
pub struct Pulse {
    beats: Arc<AtomicU64>,
    silent: Arc<AtomicU32>,
}

impl Pulse {
    /// Whether the heartbeat came within the last half minute.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.silent.load(Ordering::Relaxed) < DEAD_LOOKS
    }
}

/// Set every bell, and ring until told to stop. Databases on one schedule share a job.
///
/// # Errors
/// When the scheduler refuses to start.
pub async fn start(
    ropes: Vec<(Timing, Rope)>,
    tasks: &TaskTracker,
    stop: CancellationToken,
) -> Result<Pulse, JobSchedulerError> {
    let pulse = Pulse::default();
    let (mut intervals, mut crons): (HashMap<Duration, Vec<Rope>>, HashMap<Schedule, Vec<Rope>>) =
        Default::default();
    for (timing, rope) in ropes {
        match timing {
            Timing::Every(every) => intervals.entry(every).or_default().push(rope),
            Timing::Cron(schedule) => crons.entry(schedule).or_default().push(rope),
        }
    }
    for (every, ropes) in intervals {
        tasks.spawn(ring_every(every, ropes, stop.clone()));
    }
    let mut jobs = CronJobs::new(crons, pulse.clone()).await?;
    jobs.set().await?;
    jobs.scheduler.start().await?;
    tasks.spawn(watch(jobs, pulse.clone(), stop));
    Ok(pulse)
}

/// The first ring comes at once. Rings that were missed while the process was stopped become one.
async fn ring_every(every: Duration, ropes: Vec<Rope>, stop: CancellationToken) {
    let mut timer = interval(every);
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = timer.tick() => pull_all(&ropes, clock::now().after(every)),
            () = stop.cancelled() => return,
        }
    }
}

fn pull_all(ropes: &[Rope], next: Option<UnixTime>) {
    for rope in ropes {
        (rope.announce)(next);
        rope.bell.ring();
    }
}

/// The jobs in the library's scheduler, and what it takes to set them again.
struct CronJobs {
    scheduler: JobScheduler,
    crons: Vec<(Schedule, Arc<[Rope]>)>,
    pulse: Pulse,
    set: Vec<Job>,
}

impl CronJobs {
    async fn new(crons: HashMap<Schedule, Vec<Rope>>, pulse: Pulse) -> Result<Self, JobSchedulerError> {
        let crons = crons.into_iter().map(|(schedule, ropes)| (schedule, ropes.into())).collect();
        Ok(Self { scheduler: JobScheduler::new().await?, crons, pulse, set: Vec::new() })
    }

    /// One after the other: the library loses jobs that are added at once.
    async fn set(&mut self) -> Result<(), JobSchedulerError> {
        while let Some(job) = self.set.last() {
            self.scheduler.remove(&job.guid()).await?;
            self.set.pop();
        }
        let mut jobs = vec![self.heartbeat()?];
        for (schedule, ropes) in &self.crons {
            ropes.iter().for_each(|rope| (rope.announce)(schedule.next_after(clock::now())));
            jobs.push(ringing(schedule.clone(), Arc::clone(ropes))?);
        }
        for job in jobs {
            self.scheduler.add(job.clone()).await?;
            self.set.push(job);
        }
        Ok(())
    }

    fn heartbeat(&self) -> Result<Job, JobSchedulerError> {
        let beats = Arc::clone(&self.pulse.beats);
        Job::new_async("* * * * * *", move |_, _| {
            beats.fetch_add(1, Ordering::Relaxed);
            Box::pin(std::future::ready(()))
        })
    }
}

fn ringing(schedule: Schedule, ropes: Arc<[Rope]>) -> Result<Job, JobSchedulerError> {
    let text = schedule.text().to_owned();
    Job::new_async(text.as_str(), move |_, _| {
        pull_all(&ropes, schedule.next_after(clock::now()));
        Box::pin(std::future::ready(()))
    })
}

/// Look for the heartbeat, and set the jobs anew when it stays away.
async fn watch(mut jobs: CronJobs, pulse: Pulse, stop: CancellationToken) {
    let mut look = interval(BEAT);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = 0;
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = stop.cancelled() => return,
        }
        let beats = pulse.beats.load(Ordering::Relaxed);
        let silent = if beats == seen { pulse.silent.load(Ordering::Relaxed) + 1 } else { 0 };
        seen = beats;
        pulse.silent.store(silent, Ordering::Relaxed);
        if silent > 0 && silent % SILENT_LOOKS == 0 {
            tracing::warn!(
                "the scheduler has been silent, most likely because the wall clock was set back: setting its jobs anew"
            );
            if let Err(error) = jobs.set().await {
                tracing::error!(%error, "cannot set the scheduler's jobs anew; trying again");
            }
        }
    }
}
