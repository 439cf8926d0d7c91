//! A command on a terminal of its own, with a person at the keys.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::command::BINARY;
use super::wait_for;

/// Control and C.
pub const CTRL_C: &str = "\u{3}";

/// `keysweep` whose three streams are one terminal; killed when dropped.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Start it with these arguments, none of which a shell would read in its own way.
    pub fn start(env: &str, args: &str) -> Self {
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command"])
            .arg(format!("stty cols 100 rows 30; exec env {env} {BINARY} {args}"))
            .arg("/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("script: {error}; install `bsdutils`, which brings it"));
        let shown = Arc::new(Mutex::new(Vec::new()));
        let mut screen = child.stdout.take().unwrap();
        std::thread::spawn({
            let shown = Arc::clone(&shown);
            move || {
                let mut some = [0; 4096];
                while let Ok(length @ 1..) = screen.read(&mut some) {
                    shown.lock().unwrap().extend(&some[..length]);
                }
            }
        });
        let keys = child.stdin.take().unwrap();
        Self { child, keys, shown }
    }

    /// Everything that was written to the screen so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Wait until this is on the screen.
    pub fn wait_for_text(&self, text: &str) {
        wait_for(&format!("{text:?} on the screen"), || self.shown().contains(text).then_some(()));
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Wait until the command has ended, and give its exit status.
    pub fn ended(&mut self) -> Option<i32> {
        wait_for("the command to end", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
