//! What is known of how rows come and go in the tables of one database, by what is told of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::plan::{Event, Flow, TableLabel};

/// A flow for each table. A clone is the same.
#[derive(Debug, Clone)]
pub(super) struct Flows {
    begun: Instant,
    of: Arc<Mutex<HashMap<TableLabel, Flow>>>,
}

impl Default for Flows {
    fn default() -> Self {
        Self { begun: Instant::now(), of: Arc::default() }
    }
}

impl Flows {
    /// Learn from what is told, and tell what follows.
    pub fn hear(&self, event: &Event) -> Option<Event> {
        match event {
            Event::BatchCommitted { table, deleted, .. } => {
                self.locked().entry(table.clone()).or_default().deleted(*deleted);
                None
            }
            Event::Counted { database, table, counts: Ok(counts) } => {
                let mut flows = self.locked();
                let flow = flows.entry(table.clone()).or_default();
                flow.counted(self.begun.elapsed(), counts.expired);
                Some(Event::Flowed { database: database.clone(), table: table.clone(), flow: *flow })
            }
            Event::Swept(report) => {
                let mut flows = self.locked();
                flows.entry(report.table.clone()).or_default().swept(self.begun.elapsed(), report.stop);
                None
            }
            _ => None,
        }
    }

    /// What is known of a table.
    pub fn of(&self, table: &TableLabel) -> Flow {
        self.locked().get(table).copied().unwrap_or_default()
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<TableLabel, Flow>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
