//! Data and FIN arrive: RFC 9293 §3.10.7.4, seventh and eighth.

use crate::connection::Connection;
use crate::delayed_ack::Verdict;
use crate::event::Event;
use crate::segment::Segment;
use crate::seq::Position;
use crate::state::State;
use crate::timers::Timer;
use farfield_base::Instant;

impl Connection {
    /// Takes the part of `payload`, which begins at `seq`, that is in the window, and the segment's FIN.
    pub(crate) fn take_text(
        &mut self,
        now: Instant,
        segment: &Segment,
        seq: Position,
        payload: &[u8],
        deliver: &mut impl FnMut(&[u8]),
    ) {
        let fin = segment.flags.fin;
        // In the other states the FIN has come: what claims to follow it is ignored
        if !self.state.can_receive() {
            return;
        }
        let fin_at = seq + payload.len() as Position;
        if fin
            && self.receive.fin == Position::MAX
            && (self.receive.nxt..=self.receive.edge).contains(&fin_at)
        {
            self.receive.fin = fin_at;
        }
        let limit = self.receive.edge.min(self.receive.fin);
        let (start, end) = (seq.max(self.receive.nxt), fin_at.min(limit));
        if start < end {
            if self.state == State::FinWait2 {
                self.arm_fin_wait_2(now);
            }
            let fresh = &payload[(start - seq) as usize..(end - seq) as usize];
            self.size_buffer(now, segment, fresh.len() as u32);
            if start == self.receive.nxt {
                self.take_in_order(now, fresh, deliver);
            } else {
                self.keep_for_later(start, fresh);
            }
        } else if fin && self.receive.fin != self.receive.nxt {
            // RFC 5681 §4.2: a FIN beyond a hole is out of order, too
            self.ack_due = true;
        }
        if self.receive.fin == self.receive.nxt {
            self.take_fin(now);
        }
    }

    /// Measures what the application has taken, and makes room for more than the `bytes` that have come.
    fn size_buffer(&mut self, now: Instant, segment: &Segment, bytes: u32) {
        let receive = &mut self.receive;
        let (nxt, unread) = (receive.nxt, receive.unread);
        if receive.sizing.may_grow() {
            if let Some(stamps) = segment.options.timestamps {
                receive.sizing.handle_echo(stamps.echo, self.stamps.elapsed(stamps, now), unread);
            }
            receive.sizing.handle_progress(now, nxt, (receive.edge - nxt) as u32);
            receive.sizing.measure(now, nxt, unread);
        }
        receive.buffer = receive.sizing.enlarged(receive.buffer, bytes, unread);
    }

    fn take_in_order(&mut self, now: Instant, fresh: &[u8], deliver: &mut impl FnMut(&[u8])) {
        if self.receive.reassembly.is_some() {
            self.fill_gap(fresh, deliver);
            // RFC 5681 §4.2: what fills a gap, all or part, is acknowledged at once
            self.ack_due = true;
            return;
        }
        deliver(fresh);
        self.receive.nxt += fresh.len() as Position;
        let rmss = self.agreed.rmss(&self.config);
        match self.delayed_ack.handle_data(now, fresh.len() as u32, rmss, &self.config.delayed_ack) {
            Verdict::AtOnce => self.ack_due = true,
            Verdict::By(at) if !self.timers.runs(Timer::DelayedAck) => self.timers.set(Timer::DelayedAck, at),
            Verdict::By(_) => {}
        }
    }

    /// Hands over what is now in order. What came first wins: `fresh` fills only the gaps between what was
    /// kept.
    fn fill_gap(&mut self, fresh: &[u8], deliver: &mut impl FnMut(&[u8])) {
        let Some(mut reassembly) = self.receive.reassembly.take() else {
            return;
        };
        let limit = self.receive.fin;
        let (start, end) = (self.receive.nxt, self.receive.nxt + fresh.len() as Position);
        let mut at = start;
        loop {
            let stop = reassembly.first().unwrap_or(end).min(end);
            if at < stop {
                deliver(&fresh[(at - start) as usize..(stop - start) as usize]);
                at = stop;
            }
            match reassembly.take(at) {
                Some((from, run)) => {
                    let to = (from + run.len() as Position).min(limit);
                    if at < to {
                        deliver(&run[(at - from) as usize..(to - from) as usize]);
                        at = to;
                    }
                }
                None if at >= end => break,
                None => {}
            }
        }
        self.receive.nxt = at;
        if !reassembly.is_empty() {
            self.receive.reassembly = Some(reassembly);
        }
    }

    fn keep_for_later(&mut self, start: Position, fresh: &[u8]) {
        self.counters.out_of_order += 1;
        let bytes_max = self.config.reassembly_max as usize;
        let reassembly = self.receive.reassembly.get_or_insert_default();
        reassembly.insert(start, fresh, bytes_max);
        if reassembly.is_empty() {
            self.receive.reassembly = None;
        }
        // RFC 5681 §4.2: out of order is acknowledged at once
        self.ack_due = true;
    }

    fn take_fin(&mut self, now: Instant) {
        self.receive.nxt += 1;
        self.receive.edge = self.receive.edge.max(self.receive.nxt);
        self.receive.reassembly = None;
        self.ack_due = true;
        self.events.push(Event::PeerFinished);
        match self.state {
            State::Established => self.state = State::CloseWait,
            // Its ACK would have brought FIN-WAIT-2 already
            State::FinWait1 => self.state = State::Closing,
            _ => self.enter_time_wait(now),
        }
    }
}
