//! Time passes: the timers of RFC 9293 §3.10.8, RFC 6298 §5 and the window probes of RFC 9293 §3.8.6.1.

use crate::connection::Connection;
use crate::event::Failure;
use crate::state::State;
use crate::timers::{TIMERS, Timer};
use farfield_base::Instant;

impl Connection {
    /// Does what is due at `now`; nothing if nothing is.
    pub fn handle_timer(&mut self, now: Instant) {
        for timer in TIMERS {
            if !self.timers.expire(timer, now) {
                continue;
            }
            match timer {
                Timer::Retransmit if self.state.is_synchronized() => self.expire_retransmission(now),
                Timer::Retransmit => self.expire_syn(),
                Timer::Persist => self.expire_persist(now),
                Timer::DelayedAck => self.ack_due = true,
                // RFC 9293 §3.10.8: TIME-WAIT timeout
                Timer::Linger if self.state == State::TimeWait => self.finish(),
                // FIN-WAIT-2's is not in the RFC, but in every stack: the peer's half never ended
                Timer::Linger => self.fail(Failure::TimedOut),
                // RFC 9293 §3.8.3: R2
                Timer::Abandon => self.fail(Failure::TimedOut),
            }
        }
    }

    /// RFC 6298 §5.4 to §5.6: the earliest segment again, the timer doubled.
    fn expire_retransmission(&mut self, now: Instant) {
        self.send.nxt = self.send.una;
        self.send.timed = None;
        if self.send.wnd == 0 {
            // RFC 9293 §3.8.6.1: the window was closed over what is outstanding: that is no sign of
            // congestion, and what is sent again is a probe
            self.send.probe_due = true;
            self.arm_persist(now);
            return;
        }
        self.counters.timeouts += 1;
        self.enter_timeout();
        self.rtt.back_off();
        self.timers.set(Timer::Retransmit, now + self.rto());
    }

    fn expire_persist(&mut self, now: Instant) {
        if self.state == State::Closed {
            return;
        }
        self.send.probe_due = true;
        self.arm_persist(now);
    }

    /// RFC 9293 §3.8.6.1: the first probe after a retransmission timeout, then exponentially further apart.
    pub(crate) fn arm_persist(&mut self, now: Instant) {
        let limits = &self.config.rto;
        let wait = self.rtt.rto(limits).times(1 << self.send.probes.min(32)).min(limits.max);
        self.send.probes = self.send.probes.saturating_add(1);
        self.timers.set(Timer::Persist, now + wait);
        if !self.timers.runs(Timer::Abandon) {
            self.note_progress(now);
        }
    }
}
