//! The environment as a source of `config`: `KEYSWEEP__SECTION__KEY` sets one value outside `[[ ]]`, and
//! `KEYSWEEP__KEY` one at the top.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use config::{Environment, Map, Source, Value};

use super::document::{ROOT, single};
use super::known;
use super::problem::{Place, Problem};

const PREFIX: &str = "KEYSWEEP__";
const SEPARATOR: &str = "__";
/// The folders of a systemd unit's `StateDirectory=`, in its order.
const STATE_DIRECTORY: &str = "STATE_DIRECTORY";

/// The variables that are ours.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(Map<String, String>);

impl Variables {
    /// Picks ours out of all, and says of each that is ours and cannot be used why.
    pub(super) fn pick(all: impl IntoIterator<Item = (String, OsString)>) -> (Self, Vec<Problem>) {
        let (mut ours, mut problems) = (Map::new(), Vec::new());
        for (name, value) in all.into_iter().filter(|(name, _)| name.starts_with(PREFIX)) {
            match usable(&name, value) {
                Ok(value) => drop(ours.insert(name, value)),
                Err(message) => problems.push(Problem::new("", Place::Variable(name), "", message)),
            }
        }
        (Self(ours), problems)
    }
}

/// The first folder that systemd made for what we must remember.
pub(super) fn state_directory(all: &[(String, OsString)]) -> Result<Option<PathBuf>, Problem> {
    let Some((_, value)) = all.iter().find(|(name, _)| name == STATE_DIRECTORY) else { return Ok(None) };
    let first = value.as_bytes().split(|byte| *byte == b':').next().unwrap_or_default();
    let path = PathBuf::from(OsStr::from_bytes(first));
    match path {
        path if path.is_absolute() => Ok(Some(path)),
        path if path.as_os_str().is_empty() => Ok(None),
        _ => {
            let place = Place::Variable(STATE_DIRECTORY.into());
            Err(Problem::new("", place, "", "expected an absolute path; or set `state_dir` in the config"))
        }
    }
}

impl Source for Variables {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        let variables = Environment::with_prefix(ROOT)
            .keep_prefix(true)
            .separator(SEPARATOR)
            .source(Some(self.0.clone()))
            .collect()?;
        Ok(variables.into_iter().map(|(key, value)| typed(key, value)).collect())
    }
}

/// TOML where it reads as TOML, else the text; with the variable's name as origin.
fn typed(key: String, value: Value) -> (String, Value) {
    let name = key.to_uppercase().replace('.', SEPARATOR);
    let text = value.kind.to_string();
    let value = single(&name, &text).unwrap_or_else(|| Value::new(Some(&name), text));
    (key, value)
}

fn usable(name: &str, value: OsString) -> Result<String, String> {
    let path = name.strip_prefix(PREFIX).unwrap_or_default();
    let keys: Vec<&str> = path.split(SEPARATOR).collect();
    if let Some(key) = keys.iter().map(|key| key.to_lowercase()).find(|key| known::is_later(key)) {
        return Err(known::later(&key));
    }
    if path.to_lowercase().starts_with("database") {
        return Err("only single values outside [[ ]] can be set in the environment".into());
    }
    let spelt = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let named = match keys.as_slice() {
        [key] => spelt(key) && known::SINGLE.contains(&key.to_lowercase().as_str()),
        [section, key] => spelt(section) && spelt(key),
        [section, nested, key] => {
            let is_nested = |names: &[&str; 2]| [*section, *nested] == names.map(str::to_uppercase);
            known::NESTED.iter().any(is_nested) && spelt(key)
        }
        _ => false,
    };
    if !named {
        return Err("names no value: expected KEYSWEEP__SECTION__KEY or KEYSWEEP__STATE_DIR in upper case, \
                    such as KEYSWEEP__HTTP__LISTEN or KEYSWEEP__HTTP__TLS__CERT"
            .into());
    }
    value.into_string().map_err(|_| "not UTF-8: the value must be UTF-8 text".into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn a_value_that_is_not_utf8_is_refused_where_it_is_ours() {
        let value = || OsString::from_vec(vec![b'1', 0xff]);
        let variable = |name: &str| Variables::pick([(name.to_owned(), value())]);
        let (ours, problems) = variable("KEYSWEEP__HTTP__LISTEN");
        assert!(ours.0.is_empty());
        assert_eq!(
            problems[0].to_string(),
            "environment variable KEYSWEEP__HTTP__LISTEN: not UTF-8: the value must be UTF-8 text"
        );
        assert!(variable("LISTEN").1.is_empty());
    }
}
