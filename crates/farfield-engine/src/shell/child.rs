//! A program behind a path, from its start to its end.

use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Time between two checks of the programs and of the stop flag.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);
/// Time that a program gets to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Programs that run: the first, and those beside it, which end with it.
#[derive(Debug)]
pub(super) struct Children {
    clock: Clock,
    first: Child,
    beside: Vec<Child>,
    /// The instant at which they were asked to end.
    asked_at: Option<Instant>,
}

/// The exit statuses of the programs.
#[derive(Debug)]
pub(super) struct Endings {
    pub first: ExitStatus,
    /// Statuses of the other programs, in order: absent where one still ran when the first ended.
    pub beside: Vec<Option<ExitStatus>>,
}

impl Children {
    pub fn new(first: Child, beside: Vec<Child>) -> Children {
        Children { clock: Clock::starting_in(Duration::ZERO), first, beside, asked_at: None }
    }

    /// Waits for the first to end, and then ends the others. Once one of `stops` is set it is asked to end,
    /// and later killed.
    pub fn wait(mut self, stops: [&AtomicBool; 2]) -> io::Result<Endings> {
        let first = loop {
            if let Some(status) = self.first.try_wait()? {
                break status;
            }
            if stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                let now = self.clock.now();
                let asked_at = *self.asked_at.get_or_insert_with(|| {
                    ask_to_end(&self.first);
                    now
                });
                if now.since(asked_at) > GRACE {
                    // It may have ended meanwhile.
                    let _ = self.first.kill();
                }
            }
            thread::park_timeout(LOOK);
        };
        let beside = end_all(self.clock, &mut self.beside)?;
        Ok(Endings { first, beside })
    }
}

/// Ends those of `children` that run still, and returns how the others had ended. It leaves none behind,
/// whatever they do.
pub(crate) fn end_all(clock: Clock, children: &mut [Child]) -> io::Result<Vec<Option<ExitStatus>>> {
    let ended = children.iter_mut().map(Child::try_wait).collect::<io::Result<Vec<_>>>()?;
    children.iter().zip(&ended).filter(|(_, ended)| ended.is_none()).for_each(|(child, _)| {
        ask_to_end(child);
    });
    let asked_at = clock.now();
    while children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None))) {
        if clock.now().since(asked_at) > GRACE {
            kill(children);
            break;
        }
        thread::park_timeout(LOOK);
    }
    Ok(ended)
}

/// Kills all, and waits for them.
pub(crate) fn kill(children: &mut [Child]) {
    for child in children {
        // Those that have ended are waited for already.
        let _ = child.kill().and_then(|()| child.wait());
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        if matches!(self.first.try_wait(), Ok(None)) {
            let _ = self.first.kill().and_then(|()| self.first.wait());
        }
        kill(&mut self.beside);
    }
}

fn ask_to_end(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // It may have ended meanwhile.
    let _ = pid.map_or(Ok(()), |pid| kill_process(pid, Signal::TERM));
}
