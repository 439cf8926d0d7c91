//! One run of the binary.

use std::process::{Command, Stdio};

use serde_json::Value;

/// The built binary.
pub const BINARY: &str = env!("CARGO_BIN_EXE_keysweep");

/// How a run ended.
#[derive(Debug)]
pub struct Answer {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// Each line of standard output as JSON.
    pub fn json_lines(&self) -> Vec<Value> {
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// Run `keysweep` with these arguments to its end, with nothing of our environment but PATH.
pub fn keysweep<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Answer {
    let mut command = Command::new(BINARY);
    run(command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap()))
}

/// Run any command to its end.
pub fn run(command: &mut Command) -> Answer {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Answer {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
