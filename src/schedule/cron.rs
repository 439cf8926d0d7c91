//! The calendar: a job a schedule in tokio-cron-scheduler, and the ropes behind it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Hanging, Rope};
use crate::clock;
use crate::config::Schedule;

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

/// The ropes behind each schedule.
#[derive(Clone, Default)]
pub(super) struct Crons {
    ropes: Arc<Mutex<HashMap<Schedule, Vec<Hanging>>>>,
    /// A schedule came that has no job yet.
    changed: Arc<Notify>,
}

/// Start the scheduler with no job in it but its heartbeat.
pub(super) async fn start(
    crons: &Crons,
    pulse: &Pulse,
    tasks: &TaskTracker,
    stop: CancellationToken,
) -> Result<(), JobSchedulerError> {
    let mut jobs = CronJobs::new(crons.clone(), pulse.clone()).await?;
    jobs.set().await?;
    jobs.scheduler.start().await?;
    tasks.spawn(watch(jobs, crons.clone(), pulse.clone(), stop));
    Ok(())
}

impl Crons {
    fn locked(&self) -> MutexGuard<'_, HashMap<Schedule, Vec<Hanging>>> {
        self.ropes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hang(&self, schedule: &Schedule, hanging: Hanging) {
        self.locked().entry(schedule.clone()).or_default().push(hanging);
        self.changed.notify_one();
    }

    fn on(&self, schedule: &Schedule) -> Vec<Rope> {
        let ropes = self.locked();
        let hanging = ropes.get(schedule).into_iter().flatten();
        hanging.filter(|hanging| !hanging.down.is_cancelled()).map(|hanging| hanging.rope.clone()).collect()
    }

    fn announce(&self, schedule: &Schedule) {
        let next = schedule.next_after(clock::now());
        self.on(schedule).iter().for_each(|rope| (rope.announce)(next));
    }

    /// The schedules that have a bell; those whose last one was taken down are forgotten.
    fn schedules(&self) -> Vec<Schedule> {
        let mut ropes = self.locked();
        ropes.retain(|_, hanging| {
            hanging.retain(|hanging| !hanging.down.is_cancelled());
            !hanging.is_empty()
        });
        ropes.keys().cloned().collect()
    }
}

/// The jobs in the library's scheduler, and what it takes to set them again.
struct CronJobs {
    scheduler: JobScheduler,
    crons: Crons,
    pulse: Pulse,
    heart: Option<Job>,
    set: HashMap<Schedule, Job>,
}

impl CronJobs {
    async fn new(crons: Crons, pulse: Pulse) -> Result<Self, JobSchedulerError> {
        let scheduler = JobScheduler::new().await?;
        Ok(Self { scheduler, crons, pulse, heart: None, set: HashMap::new() })
    }

    /// Every job anew.
    async fn set(&mut self) -> Result<(), JobSchedulerError> {
        self.keep(&[]).await?;
        if let Some(heart) = &self.heart {
            self.scheduler.remove(&heart.guid()).await?;
            self.heart = None;
        }
        let heart = self.heartbeat()?;
        self.scheduler.add(heart.clone()).await?;
        self.heart = Some(heart);
        self.follow().await?;
        self.set.keys().for_each(|schedule| self.crons.announce(schedule));
        Ok(())
    }

    /// A job for each schedule that has a bell, and none for another.
    async fn follow(&mut self) -> Result<(), JobSchedulerError> {
        let wanted = self.crons.schedules();
        self.keep(&wanted).await?;
        // One after the other: the library loses jobs that are added at once.
        for schedule in wanted {
            if !self.set.contains_key(&schedule) {
                let job = ringing(schedule.clone(), self.crons.clone())?;
                self.scheduler.add(job.clone()).await?;
                self.set.insert(schedule, job);
            }
        }
        Ok(())
    }

    async fn keep(&mut self, wanted: &[Schedule]) -> Result<(), JobSchedulerError> {
        let gone: Vec<Schedule> = self.set.keys().filter(|set| !wanted.contains(set)).cloned().collect();
        for schedule in gone {
            if let Some(job) = self.set.get(&schedule) {
                self.scheduler.remove(&job.guid()).await?;
            }
            self.set.remove(&schedule);
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

fn ringing(schedule: Schedule, crons: Crons) -> Result<Job, JobSchedulerError> {
    let text = schedule.text().to_owned();
    Job::new_async(text.as_str(), move |_, _| {
        let next = schedule.next_after(clock::now());
        crons.on(&schedule).iter().for_each(|rope| rope.pull(next));
        Box::pin(std::future::ready(()))
    })
}

/// Keep the jobs as the bells hang, look for the heartbeat, and set the jobs anew when it stays away.
async fn watch(mut jobs: CronJobs, crons: Crons, pulse: Pulse, stop: CancellationToken) {
    let mut look = interval(BEAT);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = 0;
    loop {
        tokio::select! {
            _ = look.tick() => seen = beat(&mut jobs, &pulse, seen).await,
            () = crons.changed.notified() => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = jobs.follow().await {
            tracing::error!(%error, "cannot set a job of the scheduler; trying again");
        }
    }
}

/// One look for the heartbeat: how many beats there were.
async fn beat(jobs: &mut CronJobs, pulse: &Pulse, seen: u64) -> u64 {
    let beats = pulse.beats.load(Ordering::Relaxed);
    let silent = if beats == seen { pulse.silent.load(Ordering::Relaxed) + 1 } else { 0 };
    pulse.silent.store(silent, Ordering::Relaxed);
    if silent > 0 && silent % SILENT_LOOKS == 0 {
        tracing::warn!(
            "the scheduler has been silent, most likely because the wall clock was set back: setting its jobs anew"
        );
        if let Err(error) = jobs.set().await {
            tracing::error!(%error, "cannot set the scheduler's jobs anew; trying again");
        }
    }
    beats
}
