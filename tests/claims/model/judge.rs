//! The plain model: what the design says of a row, one sentence at a time.

use keysweep::plan::Value;

use super::instants::Reading;
use super::meaning::{Block, ClockColumn, Literal, Says, Test};
use super::shape::Shape;

/// The ages by which abandoned rows are counted, in seconds.
const AGES: [i128; 4] = [0, 3_600, 86_400, 604_800];

/// One table, its rules and an instant, in microseconds since 1970.
pub struct Judge<'a> {
    pub shape: &'a Shape,
    pub blocks: &'a [Block],
    pub now: i128,
}

/// What a census must find under one rule.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Census {
    /// Under the first rule: pending, unknown.
    pub unfinished: Option<(u64, u64)>,
    pub done: u64,
    pub expired: u64,
    pub unreadable: u64,
    pub abandoned: Option<[u64; 4]>,
    /// Unix seconds, about.
    pub oldest: Option<f64>,
}

pub type Row = Vec<Value>;

impl Judge<'_> {
    fn cell<'a>(&self, row: &'a Row, column: &str) -> &'a Value {
        &row[self.shape.columns.iter().position(|known| known == column).unwrap()]
    }

    fn says(&self, test: &Test, row: &Row) -> bool {
        let value = self.cell(row, &test.column);
        match &test.says {
            Says::Null => *value == Value::Null,
            Says::NotNull => *value != Value::Null,
            Says::OneOf(values) => values.iter().any(|literal| literal.value() == *value),
        }
    }

    fn any(&self, tests: &[Test], row: &Row) -> bool {
        tests.iter().any(|test| self.says(test, row))
    }

    /// The rule calls it finished.
    fn claims(&self, block: &Block, row: &Row) -> bool {
        block.done.as_ref().is_none_or(|done| self.any(done, row))
    }

    fn nobody_claims(&self, row: &Row) -> bool {
        !self.blocks.iter().any(|block| self.claims(block, row))
    }

    /// What a rule calls pending by itself: what it says, or by default.
    fn pends(&self, block: &Block, row: &Row) -> bool {
        match Pending::of(block, self.blocks) {
            Pending::Said(tests) => self.any(&tests, row),
            Pending::TheRest => self.nobody_claims(row),
            Pending::Never => false,
        }
    }

    /// Pending under one rule of the table is pending, whatever another one says.
    fn is_pending(&self, row: &Row) -> bool {
        self.blocks.iter().any(|block| self.pends(block, row))
    }

    pub fn is_due(&self, block: &Block, row: &Row) -> bool {
        let has_key = block.key.iter().all(|column| *self.cell(row, column) != Value::Null);
        let cutoff = self.now - block.retention * 1_000;
        has_key
            && self.claims(block, row)
            && !self.is_claimed_before(block, row)
            && !self.is_pending(row)
            && !self.blocks.iter().any(|block| self.any(&block.keep, row))
            && self.reached(&block.clock, row, cutoff)
    }

    /// A row that two rules call done is the first one's.
    fn is_claimed_before(&self, block: &Block, row: &Row) -> bool {
        let earlier = self.blocks.iter().take_while(|other| other.name != block.name);
        earlier.into_iter().any(|other| self.claims(other, row))
    }

    pub fn key(&self, block: &Block, row: &Row) -> Vec<Value> {
        block.key.iter().map(|column| self.cell(row, column).clone()).collect()
    }

    fn reached(&self, on: &ClockColumn, row: &Row, instant: i128) -> bool {
        let value = self.cell(row, &on.column);
        !is_never(on, value) && on.unit.is_reached(value, instant)
    }

    fn is_unreadable(&self, on: &ClockColumn, row: &Row) -> bool {
        let value = self.cell(row, &on.column);
        !is_never(on, value) && on.unit.read(value) == Reading::Unreadable
    }

    pub fn census(&self, rows: &[Row]) -> Vec<Census> {
        (0..self.blocks.len()).map(|at| self.census_of(at, rows)).collect()
    }

    fn census_of(&self, at: usize, rows: &[Row]) -> Census {
        let block = &self.blocks[at];
        let count = |counted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| counted(row)).count() as u64;
        let done = |row: &Row| self.claims(block, row) && !self.is_pending(row);
        let counted_before = |row: &Row| self.blocks[..at].iter().any(|block| self.claims(block, row));
        let pending = count(&|row| self.is_pending(row));
        let unknown = count(&|row| !self.is_pending(row) && self.nobody_claims(row));
        // An expiry of its own has a pending row too; it belongs to no rule and is counted under the first.
        let needs_a_clock = |row: &Row| {
            (done(row) && !counted_before(row))
                || (block.expires && at == 0 && (self.claims(block, row) || self.is_pending(row)))
        };
        let (abandoned, oldest) = self.abandoned(block, rows);
        Census {
            unfinished: (at == 0).then_some((pending, unknown)),
            done: count(&|row| done(row) && !counted_before(row)),
            expired: count(&|row| self.is_due(block, row)),
            unreadable: count(&|row| needs_a_clock(row) && self.is_unreadable(&block.clock, row)),
            abandoned,
            oldest,
        }
    }

    fn abandoned(&self, block: &Block, rows: &[Row]) -> (Option<[u64; 4]>, Option<f64>) {
        let own = (block.expires && !matches!(Pending::of(block, self.blocks), Pending::Never))
            .then(|| (block.clock.clone(), 0));
        let Some((on, after)) = block.abandoned.clone().or(own) else { return (None, None) };
        let is = |row: &Row, age: i128| {
            let instant = self.now - after * 1_000 - age * 1_000_000;
            self.is_pending(row) && self.reached(&on, row, instant)
        };
        let counts = AGES.map(|age| rows.iter().filter(|row| is(row, age)).count() as u64);
        let instants = rows.iter().filter(|row| is(row, 0));
        let seconds = |row: &Row| on.unit.seconds(self.cell(row, &on.column)) + after as f64 / 1e3;
        (Some(counts), instants.map(seconds).reduce(f64::min))
    }
}

fn is_never(on: &ClockColumn, value: &Value) -> bool {
    on.never.iter().any(|never| match (never, value) {
        (Literal::Integer(never), Value::Real(real)) => {
            real.fract() == 0.0 && real.abs() < 1e30 && *real as i128 == i128::from(*never)
        }
        _ => never.value() == *value,
    })
}

/// What a block calls pending.
enum Pending {
    Said(Vec<Test>),
    TheRest,
    Never,
}

impl Pending {
    fn of(block: &Block, all: &[Block]) -> Self {
        let Some(done) = &block.done else { return block.pending.clone().map_or(Self::Never, Self::Said) };
        if let Some(pending) = &block.pending {
            return Self::Said(pending.clone());
        }
        if all.iter().any(|other| other.pending.is_some()) {
            return Self::Never;
        }
        if done.iter().all(|test| !matches!(test.says, Says::OneOf(_))) {
            return Self::TheRest;
        }
        let says = Says::OneOf(vec![Literal::Text("pending".into())]);
        Self::Said(vec![Test { column: "status".into(), says }])
    }
}
