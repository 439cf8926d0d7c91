//! The workers that run, and how they become those that are wanted.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::worker::{Tables, Worker, interval, openings};
use crate::clock;
use crate::config::{Database, Timing};
use crate::discover::Member;
use crate::memory::Memory;
use crate::observe::{MetricsError, Observer};
use crate::plan::{DatabaseName, Event, Report, UnixTime};
use crate::schedule::{Belfry, Bell, Hung, Rope};
use crate::store::sqlite::{Learnt, Openings};

/// Databases on the same schedule begin their ticks within this, and within a tenth of the interval.
const LONGEST_SPREAD: Duration = Duration::from_secs(30);
/// So far apart, on average.
const SPREAD: Duration = Duration::from_millis(10);

/// Every database that is looked after, by its label.
pub(super) struct Fleet {
    observer: Observer,
    memory: Memory,
    belfry: Belfry,
    tasks: TaskTracker,
    stop: CancellationToken,
    openings: Openings,
    running: BTreeMap<DatabaseName, Running>,
    /// Told to end, and perhaps still in a batch.
    ending: Vec<Ending>,
}

struct Running {
    member: Member,
    tables: Tables,
    at_work: AtWork,
}

struct AtWork {
    stop: CancellationToken,
    tasks: TaskTracker,
    /// Nothing where the file is another database's.
    _bell: Option<Hung>,
}

struct Ending {
    member: Member,
    tasks: TaskTracker,
}

/// How many databases came, changed and went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changes {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

impl Fleet {
    pub fn new(
        observer: Observer,
        memory: Memory,
        belfry: Belfry,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let (running, ending) = (BTreeMap::new(), Vec::new());
        Self { observer, memory, belfry, tasks, stop, openings: openings(), running, ending }
    }

    /// How many databases there are.
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Those databases.
    pub fn members(&self) -> Vec<Member> {
        self.running.values().map(|running| running.member.clone()).collect()
    }

    /// Look after these databases and no others. One that did not change is not disturbed; another is
    /// told to end between two batches, and what takes its place waits for that.
    pub fn reconcile(&mut self, wanted: Vec<Member>) -> Changes {
        self.ending.retain(|ending| !ending.tasks.is_empty());
        let mut changes = Changes::default();
        let labels: HashSet<&DatabaseName> = wanted.iter().map(|member| &member.database.name).collect();
        let gone = self.running.keys().filter(|label| !labels.contains(label));
        for label in gone.cloned().collect::<Vec<_>>() {
            self.end(&label);
            self.observer.unwatch(&label);
            changes.removed += 1;
        }
        let count = wanted.len();
        let news: Vec<Member> = wanted.into_iter().filter_map(|member| self.news(member)).collect();
        // All end before one starts: a file may have passed from one to another.
        let before: Vec<_> = news.iter().map(|member| self.end(&member.database.name)).collect();
        for (member, tables) in news.into_iter().zip(before) {
            match tables {
                Some(_) => changes.changed += 1,
                None => changes.added += 1,
            }
            if let Err(error) = self.start(member, tables.unwrap_or_default(), count) {
                tracing::error!(%error, "a database cannot be looked after");
            }
        }
        changes
    }

    /// Gives back what is not looked after in this very way.
    fn news(&mut self, member: Member) -> Option<Member> {
        match self.running.get_mut(&member.database.name) {
            Some(running) if running.member.is_same(&member) => {
                running.member = member;
                None
            }
            _ => Some(member),
        }
    }

    fn end(&mut self, label: &DatabaseName) -> Option<Tables> {
        let Running { member, tables, at_work: AtWork { stop, tasks, .. } } = self.running.remove(label)?;
        stop.cancel();
        tasks.close();
        self.ending.push(Ending { member, tasks });
        Some(tables)
    }

    fn start(&mut self, member: Member, tables: Tables, count: usize) -> Result<(), MetricsError> {
        self.observer.watch(&tables.watched(&member.database))?;
        let at_work = match member.held(clock::now()) {
            None => self.set_to_work(&member, &tables, count),
            Some(reports) => self.hold(&member, reports),
        };
        self.running.insert(member.database.name.clone(), Running { member, tables, at_work });
        Ok(())
    }

    fn set_to_work(&self, member: &Member, tables: &Tables, count: usize) -> AtWork {
        let (bell, stop, tasks) = (Arc::new(Bell::default()), self.stop.child_token(), TaskTracker::new());
        let timing = &member.database.timing;
        let late = late(&member.database, count);
        // A timer of ours is set later once; the calendar rings for all alike.
        let (bell_late, tick_late) = match timing {
            Timing::Every(_) => (late, Duration::ZERO),
            Timing::Cron(_) => (Duration::ZERO, late),
        };
        let worker = Worker {
            database: Arc::new(member.database.clone()),
            memory: self.memory.clone(),
            tables: tables.clone(),
            learnt: Learnt::default(),
            openings: self.openings.clone(),
            late: tick_late,
            observer: self.observer.clone(),
            stop: stop.clone(),
        };
        let before = self.before(member);
        let (counting, rung) = (worker.clone(), Arc::clone(&bell));
        let waited = after(before.clone(), stop.clone());
        self.tasks.spawn(tasks.track_future(async move {
            if waited.await.is_some() {
                worker.work(rung).await;
            }
        }));
        let waited = after(before, stop.clone());
        self.tasks.spawn(tasks.track_future(async move {
            if waited.await.is_some() {
                counting.count().await;
            }
        }));
        let bell = self.belfry.hang(timing, bell_late, self.rope(&member.database, bell));
        AtWork { stop, tasks, _bell: Some(bell) }
    }

    fn rope(&self, database: &Database, bell: Arc<Bell>) -> Rope {
        let (label, observer) = (database.name.clone(), self.observer.clone());
        let (timing, budget) = (database.timing.clone(), database.budget.unwrap_or_default());
        let announce = move |next: Option<UnixTime>| {
            observer.next_tick(&label, next);
            // Rings during a tick become one: a budget that is longer sets the pace.
            observer.tick_interval(&label, next.map(|next| interval(&timing, next).max(budget)));
        };
        Rope { bell, announce: Arc::new(announce) }
    }

    /// Tell what a tick would that found its database held, once the last word of a worker before is said.
    fn hold(&self, member: &Member, reports: Vec<Report>) -> AtWork {
        let (stop, tasks) = (self.stop.child_token(), TaskTracker::new());
        let waited = after(self.before(member), stop.clone());
        let (label, observer) = (member.database.name.clone(), self.observer.clone());
        self.tasks.spawn(tasks.track_future(async move {
            if waited.await.is_some() {
                tell_held(&observer, label, reports);
            }
        }));
        AtWork { stop, tasks, _bell: None }
    }

    /// What must have ended before work on this database begins.
    fn before(&self, member: &Member) -> Vec<TaskTracker> {
        let met = self.ending.iter().filter(|ending| ending.member.may_meet(member));
        met.map(|ending| ending.tasks.clone()).collect()
    }
}

fn tell_held(observer: &Observer, database: DatabaseName, reports: Vec<Report>) {
    observer.next_tick(&database, None);
    observer.tick_interval(&database, None);
    let failed = reports.iter().find_map(|report| report.error.clone());
    for report in reports {
        observer.tell(&Event::Swept(report));
    }
    observer.tell(&Event::Ticked { database, failed });
}

/// Wait until all of these have ended; nothing when told to stop before that.
async fn after(before: Vec<TaskTracker>, stop: CancellationToken) -> Option<()> {
    for tasks in before {
        stop.run_until_cancelled(tasks.wait()).await?;
    }
    Some(())
}

/// How much later than the others on its schedule a database among so many begins: the same for a label each time.
fn late(database: &Database, count: usize) -> Duration {
    let others = u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX);
    let interval = interval(&database.timing, clock::now());
    let spread = SPREAD.saturating_mul(others).min(interval / 10).min(LONGEST_SPREAD);
    let mut hasher = DefaultHasher::new();
    database.name.hash(&mut hasher);
    let hash = u32::try_from(hasher.finish() >> 32).unwrap_or_default();
    spread.mul_f64(f64::from(hash) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn database(name: &str, every: &str) -> Database {
        let text = format!("[[database]]\nname = {name:?}\npath = \"/a\"\nevery = {every:?}\n");
        config::parse("test", text.as_bytes(), []).unwrap().blocks.remove(0).template
    }

    #[test]
    fn a_lone_database_rings_at_once() {
        assert_eq!(late(&database("app", "30s"), 1), Duration::ZERO);
    }

    #[test]
    fn a_thousand_do_not_ring_together_and_none_rings_late() {
        let lates = |every| -> Vec<Duration> {
            (0..1000).map(|number| late(&database(&format!("t/{number}"), every), 1000)).collect()
        };
        let spread = lates("30s");
        for second in 0..3 {
            let in_second = spread.iter().filter(|late| late.as_secs() == second).count();
            assert!((200..500).contains(&in_second), "{in_second} in second {second}");
        }
        assert_eq!(spread, lates("30s"), "fixed for a name");
        let latest = |every| lates(every).into_iter().max().unwrap();
        assert!(latest("30s") <= Duration::from_secs(3) && latest("100ms") <= Duration::from_millis(10));
        assert!(latest("7d") <= LONGEST_SPREAD);
    }
}
