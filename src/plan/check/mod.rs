//! What an experienced colleague would look at before letting a deleter near production: findings
//! that `check` alone makes, because their facts cost more than a tick may spend.

mod counts;
mod files;
mod index;
mod inflow;
mod survey;
mod unit;

pub use counts::count_findings;
pub use files::{FileSystem, Surroundings, file_findings};
pub use index::index_candidates;
pub use inflow::Workload;
pub use survey::{Sampled, Survey, survey_findings};
