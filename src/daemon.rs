//! The daemon: the databases that are looked after, the schedule, the listener, and the end of them all.

mod fleet;
mod flows;
mod herald;
mod progress;
mod reload;
mod worker;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock;
use crate::config::{Block, Http, Location, Settings, Timing};
use crate::discover::{self, Found};
use crate::listener::{self, Door, Terms};
use crate::memory::Memory;
use crate::observe::{self, Observer};
use crate::schedule::{Belfry, Bell, Hung, Rope};
use fleet::{Changes, Fleet};
use herald::Herald;
pub use reload::Reload;

/// After the word to stop: a batch is finished or rolled back within a part of this.
const LONGEST_STOP: Duration = Duration::from_millis(1_500);

/// Why the daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A metric could not be registered.
    #[error("cannot set up the metrics: {0}")]
    Metrics(#[from] observe::MetricsError),
    /// The scheduler refused a job.
    #[error("cannot start the scheduler: {0}")]
    Scheduler(#[from] tokio_cron_scheduler::JobSchedulerError),
}

/// Where the daemon answers, and on which terms.
#[derive(Debug)]
pub struct Entrance {
    /// Bound by the caller, so that an address in use is known before any database is touched.
    pub listener: TcpListener,
    /// The terms at first; a reload changes them.
    pub terms: Terms,
}

/// Run until told to stop, and change to another config whenever `reload` is asked for it.
///
/// # Errors
/// [`StartError`] before anything was swept. A database that fails later is down, and the daemon runs on.
pub async fn run(
    settings: Settings,
    memory: Memory,
    reload: Reload,
    entrance: Option<Entrance>,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let observer = Observer::new(&[], clock::now())?;
    let tasks = TaskTracker::new();
    let belfry = Belfry::open(&tasks, stop.clone()).await?;
    let herald = Herald::from_environment();
    let listening = entrance.as_ref().and_then(|entrance| entrance.listener.local_addr().ok());
    let door = entrance.map(|Entrance { listener, terms }| {
        let (pulse, door) = (belfry.pulse(), Door::new(terms));
        let alive = Arc::new(move || pulse.is_alive());
        tasks.spawn(listener::renew(door.clone(), clock::now, stop.clone()));
        tasks.spawn(observe::serve(
            listener,
            door.clone(),
            observer.clone(),
            alive,
            clock::now,
            stop.clone(),
        ));
        door
    });
    let fleet = Fleet::new(observer.clone(), memory.clone(), belfry.clone(), tasks.clone(), stop.clone());
    report_to(&herald, &tasks, &belfry, &observer, listening, &stop);
    warn_of_shown_passwords(&settings.http);
    let mut lookout = Lookout::new(settings, door, fleet, belfry);
    stop.run_until_cancelled(async {
        lookout.look().await;
        observer.set_ready();
        herald.ready();
        lookout.keep(&reload, &observer, &herald).await;
    })
    .await;
    herald.stopping();
    tasks.close();
    if timeout(LONGEST_STOP, tasks.wait()).await.is_err() {
        tracing::warn!("a task did not end in time; its transaction is rolled back with its connection");
    }
    memory.close();
    Ok(())
}

fn warn_of_shown_passwords(http: &Http) {
    if let Some((what, remedy)) = http.shown_passwords() {
        tracing::warn!(remedy, "{what}");
    }
}

/// Tell the service manager, where there is one, how things stand and that they get on.
fn report_to(
    herald: &Herald,
    tasks: &TaskTracker,
    belfry: &Belfry,
    observer: &Observer,
    listening: Option<SocketAddr>,
    stop: &CancellationToken,
) {
    if !herald.is_heard() {
        return;
    }
    let telling = progress::tell(herald.clone(), observer.clone());
    tasks.spawn(stop.clone().run_until_cancelled_owned(telling));
    if let Some(watchdog) = herald::watchdog() {
        let feeding = progress::feed(herald.clone(), watchdog, belfry.pulse(), listening);
        tasks.spawn(stop.clone().run_until_cancelled_owned(feeding));
    }
}

/// Keeps the fleet as config and folders have it. It does one thing after the other, so that a
/// reload and a look never mix.
struct Lookout {
    blocks: Vec<Block>,
    /// Where the first config said to listen; the listener stays there.
    listen: Option<SocketAddr>,
    /// Nothing where it listens nowhere.
    door: Option<Door>,
    /// Where the first config said to remember; what is remembered stays there.
    state_dir: Option<PathBuf>,
    fleet: Fleet,
    belfry: Belfry,
    bell: Arc<Bell>,
    hung: Vec<Hung>,
    /// What was said of files that were left out, so that it is said once.
    told: HashSet<String>,
}

impl Lookout {
    fn new(settings: Settings, door: Option<Door>, fleet: Fleet, belfry: Belfry) -> Self {
        let Settings { blocks, http: Http { listen, .. }, state_dir } = settings;
        let (bell, hung, told) = (Arc::default(), Vec::new(), HashSet::new());
        let mut lookout = Self { blocks, listen, door, state_dir, fleet, belfry, bell, hung, told };
        lookout.hang();
        lookout
    }

    async fn keep(&mut self, reload: &Reload, observer: &Observer, herald: &Herald) {
        loop {
            tokio::select! {
                () = self.bell.heard() => drop(self.look().await),
                () = reload.asked() => {
                    herald.reloading();
                    self.reload(reload, observer).await;
                    herald.ready();
                }
            }
        }
    }

    /// A look at the ticks of each block, as long as files may come, go, or turn out to be one.
    fn hang(&mut self) {
        let is_one_file = self.blocks.len() == 1
            && self.blocks.iter().all(|block| matches!(block.location, Location::Path(_)));
        let timings: HashSet<&Timing> = self.blocks.iter().map(|block| &block.template.timing).collect();
        let hang = |timing: &Timing| {
            // The first look is made without a bell.
            let late = match timing {
                Timing::Every(every) => *every,
                Timing::Cron(_) => Duration::ZERO,
            };
            self.belfry.hang(timing, late, Rope { bell: Arc::clone(&self.bell), announce: Arc::new(|_| {}) })
        };
        self.hung = if is_one_file { Vec::new() } else { timings.into_iter().map(hang).collect() };
    }

    async fn look(&mut self) -> Changes {
        let (blocks, known) = (self.blocks.clone(), self.fleet.members());
        match spawn_blocking(move || discover::look_again(&blocks, &known)).await {
            Ok(Found { members, troubles }) => {
                let mut told = HashSet::new();
                for (block, trouble) in troubles {
                    if !self.told.contains(trouble.what()) {
                        let (database, error, remedy) = (block.as_str(), trouble.what(), trouble.remedy());
                        tracing::warn!(database, error, remedy, "a file of a pattern is left out");
                    }
                    told.insert(trouble.what().to_owned());
                }
                self.told = told;
                self.fleet.reconcile(members)
            }
            Err(error) => {
                tracing::error!(%error, "looking for databases broke off: those that are known go on");
                Changes::default()
            }
        }
    }

    /// All or nothing: a config that is not valid changes nothing.
    async fn reload(&mut self, reload: &Reload, observer: &Observer) {
        let (settings, terms) = match reload.load().await {
            Ok(loaded) => loaded,
            Err(problems) => {
                observer.config_read(None);
                let error = problems.as_str();
                tracing::error!(error, "the config was not reloaded: the one before stays in force");
                return;
            }
        };
        let changed = [
            ("http.listen", settings.http.listen != self.listen),
            ("state_dir", settings.state_dir != self.state_dir),
        ];
        for (key, _) in changed.iter().filter(|(_, changed)| *changed) {
            tracing::warn!(key, "a changed key needs a restart: it stays as it was");
        }
        if let Some(door) = &self.door {
            door.change(terms);
        }
        // The address stays, whatever the config says of it now.
        warn_of_shown_passwords(&Http { listen: self.listen, ..settings.http });
        self.blocks = settings.blocks;
        self.hang();
        let Changes { added, changed, removed } = self.look().await;
        observer.config_read(Some(clock::now()));
        let databases = self.fleet.len();
        tracing::info!(databases, added, changed, removed, "the config was reloaded");
    }
}
