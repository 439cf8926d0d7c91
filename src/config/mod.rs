//! File and environment -> [`Settings`], valid or refused as a whole.
//!
//! `toml` reads the file and knows where everything is, `config` lays the environment over it, and
//! a strict reader of our own makes valid types of the result. It coerces nothing and gathers every
//! problem before it gives up.

mod clock;
mod database;
mod decode;
mod document;
mod environment;
mod glob;
mod http;
mod known;
mod places;
mod problem;
mod reader;
mod schedule;
mod settings;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod work;

use std::ffi::OsString;
use std::path::Path;

use config::{Config, Value, ValueKind};

use document::{Document, ROOT};
use environment::Variables;
use reader::{Node, Reader, Section};

pub use glob::{Glob, Part, Wild};
pub use http::{Http, Tls};
pub use problem::{ConfigError, Place, Position, Problem};
pub use schedule::Schedule;
pub use settings::{Block, Database, LISTEN, Location, Settings, Timing};

/// Reads the config from this file and the process's environment.
///
/// # Errors
/// [`ConfigError`] when the file cannot be read, and with every problem that [`parse`] finds.
pub fn load(path: &Path) -> Result<Settings, ConfigError> {
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| ConfigError::unreadable(&file, &error))?;
    // A name that is not UTF-8 is not ours; a value may be, and is then refused.
    read(
        &file,
        &bytes,
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))),
    )
}

/// Reads the config from these bytes, shown as `file` in what is refused, and this environment.
///
/// # Errors
/// [`ConfigError`] with everything that is wrong: bytes that are not UTF-8 and faults of syntax alone,
/// or else all unknown keys, wrong types and impossible values together.
pub fn parse(
    file: &str,
    bytes: &[u8],
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Settings, ConfigError> {
    read(file, bytes, environment.into_iter().map(|(name, value)| (name, value.into())))
}

fn read(
    file: &str,
    bytes: &[u8],
    environment: impl IntoIterator<Item = (String, OsString)>,
) -> Result<Settings, ConfigError> {
    let mut document = Document::parse(file, bytes)?;
    let places = std::mem::take(&mut document.places);
    let environment: Vec<_> = environment.into_iter().collect();
    let state_directory = environment::state_directory(&environment);
    let (variables, mut problems) = Variables::pick(environment);
    let state_directory = state_directory.unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    let values = layered(document, variables)
        .map_err(|error| ConfigError::new(vec![Problem::new(file, Place::File, "", error.to_string())]))?;
    let reader = Reader::new(file, places, problems);
    let settings = Section::open(&reader, Node::root(&values), known::TOP)
        .and_then(|top| database::settings(&top, state_directory));
    match (settings, reader.into_problems()) {
        (Some(settings), problems) if problems.is_empty() => Ok(settings),
        (_, problems) => Err(ConfigError::new(problems)),
    }
}

fn layered(document: Document, variables: Variables) -> Result<Value, config::ConfigError> {
    let mut layers = Config::builder().add_source(document).add_source(variables).build()?.cache;
    let ValueKind::Table(table) = &mut layers.kind else { return Ok(layers) };
    Ok(table.remove(ROOT).unwrap_or_else(|| Value::new(None, ValueKind::Table(Default::default()))))
}

/// A duration as config writes it, for the command line: one whole number and one unit.
///
/// # Errors
/// What is expected, when it is none.
pub fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    decode::duration(&::config::Value::from(text))
}
