//! Programs at idle priority, one on each processor, that keep the processors of a virtual machine awake (`--keep-awake`).
//!
//! A host takes a processor that sleeps and gives it back late. On a machine of one's own a kernel started with `idle=poll`
//! does the same as these. They run only where nothing else wants the processor (SCHED_IDLE, sched(7)), for every generator
//! alike, and are named under each table.

use anyhow::{Context, Result};
use std::process::{Child, Command, Stdio};

/// The programs; they end when this is dropped.
pub struct Awake {
    programs: Vec<Child>,
}

impl Awake {
    /// Starts one on each of this machine's processors.
    pub fn begin(processors: usize) -> Result<Awake> {
        let mut awake = Awake { programs: Vec::new() };
        for processor in 0..processors {
            let program = Command::new("taskset")
                .args([
                    "-c",
                    &processor.to_string(),
                    "chrt",
                    "--idle",
                    "0",
                    "sh",
                    "-c",
                    "while :; do :; done",
                ])
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start taskset and chrt (util-linux)")?;
            awake.programs.push(program);
        }
        Ok(awake)
    }

    /// What stands under each table.
    pub fn words() -> &'static str {
        "A program at idle priority kept each processor awake meanwhile, as a kernel started with `idle=poll` does."
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for program in &mut self.programs {
            // It may have ended by itself; there is nothing else to do about it.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn one_on_each_processor_at_idle_priority_until_dropped() {
        let awake = Awake::begin(1).expect("taskset and chrt are part of every Debian");
        let id = awake.programs[0].id();
        let policy = || {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // Field 41 of proc(5), counted from behind the name in parentheses.
            stat.rsplit_once(") ")?.1.split(' ').nth(38)?.parse::<u32>().ok()
        };
        const SCHED_IDLE: u32 = 5;
        // The programs set themselves up one after another before the last is executed.
        let until = std::iter::repeat_with(policy).take(1_000_000).find(|policy| *policy == Some(SCHED_IDLE));
        assert!(until.is_some(), "{:?}", policy());
        drop(awake);
        assert_eq!(policy(), None);
    }
}
