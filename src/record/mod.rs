//! The write side: what an application uses to record its keys. The sweep side never imports it.

mod error;
mod keys;
mod response;

pub use error::KeysError;
pub use keys::{Keys, StateCounts};
pub use response::{Response, ResponseError};
