//! Programs that always have something to do, as other work on the machine.

use anyhow::{Context, Result};
use std::process::{Child, Command, Stdio};

/// Some of them; they end when this is dropped.
#[derive(Debug)]
pub struct Loops(Vec<Child>);

impl Loops {
    /// Begins `count` of them at this niceness.
    pub fn begin(count: usize, niceness: i32) -> Result<Loops> {
        let mut loops = Loops(Vec::new());
        for _ in 0..count {
            // Ended by the kernel if this program is killed.
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL", "nice", "-n"]).arg(niceness.to_string());
            command.args(["sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
            loops.0.push(command.spawn().context("cannot start setpriv (util-linux)")?);
        }
        Ok(loops)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
