//! How the files of `state_dir` are written. Another meaning is another number.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plan::{BootTime, Horizon, Reading, Seen, UnixTime, Waiting};

const FORMAT: u32 = 1;

/// A file as it is read: what it holds means nothing before its number is known.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct File<T> {
    format: u32,
    #[serde(flatten)]
    holds: T,
}

impl<T> File<T> {
    pub fn new(holds: T) -> Self {
        Self { format: FORMAT, holds }
    }

    pub fn opened(self) -> Result<T, String> {
        if self.format == FORMAT {
            return Ok(self.holds);
        }
        Err(format!("it has format {}, and this version knows format {FORMAT}", self.format))
    }
}

/// Both clocks, in seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadingFormat {
    wall: f64,
    boot: String,
    since_boot: f64,
}

/// `clock.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClockFormat {
    pub trusted: ReadingFormat,
}

/// `horizon-NAME.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HorizonsFormat {
    pub database: String,
    /// The file that its tables are in: another one was never seen.
    pub path: String,
    tables: Vec<TableFormat>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TableFormat {
    name: String,
    table: String,
    column: String,
    unit: String,
    kind: String,
    accepted_ms: Option<u64>,
    waiting: Option<WaitingFormat>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WaitingFormat {
    retention_ms: u64,
    since: ReadingFormat,
}

impl From<&Reading> for ReadingFormat {
    fn from(reading: &Reading) -> Self {
        Self {
            wall: reading.wall.seconds(),
            boot: reading.boot.id.to_string(),
            since_boot: reading.boot.seconds,
        }
    }
}

impl TryFrom<ReadingFormat> for Reading {
    type Error = String;

    fn try_from(read: ReadingFormat) -> Result<Self, String> {
        let wall = UnixTime::new(read.wall).map_err(|error| error.to_string())?;
        Ok(Self { wall, boot: BootTime { id: read.boot.into(), seconds: read.since_boot } })
    }
}

impl HorizonsFormat {
    pub fn new(database: &str, path: &str, tables: &[(Horizon, Seen)]) -> Self {
        Self {
            database: database.into(),
            path: path.into(),
            tables: tables.iter().map(TableFormat::new).collect(),
        }
    }

    pub fn tables(self) -> Result<Vec<(Horizon, Seen)>, String> {
        self.tables.into_iter().map(TableFormat::read).collect()
    }
}

impl TableFormat {
    fn new((horizon, seen): &(Horizon, Seen)) -> Self {
        let Horizon { label, table, column, unit, kind } = horizon.clone();
        let waiting = |waiting: &Waiting| WaitingFormat {
            retention_ms: millis(waiting.retention),
            since: ReadingFormat::from(&waiting.since),
        };
        let (accepted_ms, waiting) = (seen.accepted.map(millis), seen.waiting.as_ref().map(waiting));
        Self { name: label, table, column, unit, kind, accepted_ms, waiting }
    }

    fn read(self) -> Result<(Horizon, Seen), String> {
        let Self { name: label, table, column, unit, kind, accepted_ms, waiting } = self;
        let waiting = waiting.map(|waiting| {
            let since = Reading::try_from(waiting.since)?;
            Ok::<_, String>(Waiting { retention: Duration::from_millis(waiting.retention_ms), since })
        });
        let seen = Seen { accepted: accepted_ms.map(Duration::from_millis), waiting: waiting.transpose()? };
        Ok((Horizon { label, table, column, unit, kind }, seen))
    }
}

/// Config counts retentions in whole milliseconds of 64 bits.
fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
