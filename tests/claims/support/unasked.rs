//! A child that is not asked over HTTP.

use std::process::{Child, Command, ExitStatus, Stdio};

use super::wait_for;

/// A running child; killed when dropped.
#[derive(Debug)]
pub struct Unasked(Child);

impl Unasked {
    pub fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Send it SIGTERM, and wait until it has ended.
    pub fn asked_to_end(&mut self) -> ExitStatus {
        assert!(Command::new("kill").arg(self.0.id().to_string()).status().unwrap().success());
        wait_for("the child to end", || self.0.try_wait().unwrap())
    }
}

impl Drop for Unasked {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
