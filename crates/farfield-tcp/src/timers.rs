//! The timers of a connection: a few deadlines, of which the owner of the wheel is handed the earliest.

use farfield_base::Instant;

/// Purpose of a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Timer {
    /// RFC 6298 §5, and the schedule of SYNs before that.
    Retransmit,
    /// RFC 9293 §3.8.6.1: probing a closed window.
    Persist,
    /// RFC 9293 §3.8.6.3: a delayed acknowledgment is due.
    DelayedAck,
    /// 2 MSL in TIME-WAIT, and the time limit of FIN-WAIT-2.
    Linger,
    /// RFC 9293 §3.8.3: R2, after which an unacknowledged segment is given up.
    Abandon,
}

pub(crate) const TIMERS: [Timer; 5] =
    [Timer::Retransmit, Timer::Persist, Timer::DelayedAck, Timer::Linger, Timer::Abandon];

/// One deadline for each [`Timer`]; [`Instant::MAX`] where it does not run.
#[derive(Debug, Clone)]
pub(crate) struct Timers {
    at: [Instant; TIMERS.len()],
}

impl Timers {
    pub(crate) fn new() -> Timers {
        Timers { at: [Instant::MAX; TIMERS.len()] }
    }

    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = at;
    }

    pub(crate) fn stop(&mut self, timer: Timer) {
        self.at[timer as usize] = Instant::MAX;
    }

    pub(crate) fn stop_all(&mut self) {
        *self = Timers::new();
    }

    pub(crate) fn runs(&self, timer: Timer) -> bool {
        self.at[timer as usize] != Instant::MAX
    }

    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.at.into_iter().min().filter(|at| *at != Instant::MAX)
    }

    /// Stops `timer` and says true if its deadline is reached.
    pub(crate) fn expire(&mut self, timer: Timer, now: Instant) -> bool {
        let expired = self.runs(timer) && self.at[timer as usize] <= now;
        if expired {
            self.stop(timer);
        }
        expired
    }
}
