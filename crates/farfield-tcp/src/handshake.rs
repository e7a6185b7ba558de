//! The SYNs: RFC 9293 §3.5, §3.10.7.2 and §3.10.7.3; when they are sent again is the [schedule](crate::syn)'s
//! affair.

use crate::connection::Connection;
use crate::event::{Event, Failure};
use crate::options::NegotiatedOptions;
use crate::segment::{Ecn, Segment};
use crate::seq::Position;
use crate::state::State;
use crate::stray::Reset;
use crate::syn::SynSchedule;
use crate::timers::Timer;
use crate::transmit::Transmit;
use farfield_base::Instant;

impl Connection {
    pub(crate) fn begin_syn(&mut self) {
        self.send.nxt = 1;
        self.send.max = 1;
        self.syn_due = true;
    }

    /// RFC 9293 §3.10.7.2.
    pub(crate) fn arrive_in_listen(&mut self, now: Instant, segment: &Segment) {
        let flags = segment.flags;
        // First and second: a RST is ignored; any acknowledgment is of the unsent and gets
        // <SEQ=SEG.ACK><CTL=RST>
        if flags.rst {
            return;
        }
        if flags.ack {
            self.reset = Some(Reset { seq: segment.ack, ack: None });
            return;
        }
        // Third: RCV.NXT is SEG.SEQ+1, and <SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK> is sent. Data that came along
        // is not acknowledged and will come again.
        if flags.syn {
            self.take_syn(now, segment);
            self.agree_on_ecn(segment);
            self.state = State::SynReceived;
            self.begin_syn();
        }
    }

    /// RFC 9293 §3.10.7.3.
    pub(crate) fn arrive_in_syn_sent(
        &mut self,
        now: Instant,
        segment: &Segment,
        payload: &[u8],
        deliver: &mut impl FnMut(&[u8]),
    ) {
        let flags = segment.flags;
        let ack = segment.ack.position(self.send.isn, self.send.una);
        // First: an ACK of anything but our SYN gets <SEQ=SEG.ACK><CTL=RST>
        if flags.ack && (ack <= 0 || ack > self.send.max) {
            self.counters.refused += 1;
            if !flags.rst {
                self.reset = Some(Reset { seq: segment.ack, ack: None });
            }
            return;
        }
        // Second: a RST counts only with an acceptable ACK
        if flags.rst {
            if flags.ack {
                self.fail(Failure::Refused);
            }
            return;
        }
        // Fourth: with an ACK the connection is open; without, both sides opened at once
        if flags.syn && flags.ack {
            self.take_syn(now, segment);
            self.agree_on_ecn(segment);
            self.take_echo_of_syn(now, segment);
            self.establish(now, 0, ack, self.agreed.window_in(segment));
            self.ack_due = true;
            // "If there are other controls or text in the segment, then continue processing" with them
            self.take_text(now, segment, 1, payload, deliver);
        } else if flags.syn {
            self.take_syn(now, segment);
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    /// The ACK of our SYN: ESTABLISHED, or on to FIN-WAIT-1 if the application has closed meanwhile.
    pub(crate) fn establish(&mut self, now: Instant, seq: Position, ack: Position, window: u32) {
        self.send.offer(window, seq, ack);
        self.send.una = ack;
        self.syn_due = false;
        self.timers.stop(Timer::Retransmit);
        if let Some((_, sent_at)) = self.send.timed.take() {
            self.rtt.sample(now.since(sent_at), &self.config.rto);
        }
        let smss = self.agreed.smss(&self.config);
        self.window.smss = smss;
        // RFC 6928 §2: one segment only after more than one lost SYN. RFC 6298 §5.7: 3 s if the timer of the
        // SYN expired; a SYN-ACK that answers a duplicate says nothing of losses.
        let lost = self.syn_expiries;
        self.window.cwnd = if lost > 1 { smss } else { self.config.initial_window.bytes(smss) };
        if lost > 0 {
            self.rtt.begin_after_lost_syn();
        }
        self.state = if self.send.fin { State::FinWait1 } else { State::Established };
        self.receive.sizing.begin(now, self.agreed.rmss(&self.config), self.agreed.timestamps);
        self.events.push(Event::Connected);
    }

    fn take_syn(&mut self, now: Instant, syn: &Segment) {
        self.agreed = NegotiatedOptions::with_syn(&self.config, &syn.options);
        self.receive.begin(syn.seq, self.agreed.scaling);
        // RFC 7323 §2.2: the window of a SYN is never scaled
        self.send.offer(u32::from(syn.window), 0, 0);
        if let Some(stamps) = syn.options.timestamps.filter(|_| self.agreed.timestamps) {
            self.stamps.update(stamps, 0, 0, now);
        }
    }

    /// A SYN that was sent twice can still be timed by the echo of its stamp.
    pub(crate) fn take_echo_of_syn(&mut self, now: Instant, segment: &Segment) {
        let stamps =
            segment.options.timestamps.filter(|_| self.agreed.timestamps && self.send.timed.is_none());
        if let Some(rtt) = stamps.and_then(|stamps| self.stamps.elapsed(stamps, now)) {
            self.rtt.sample(rtt, &self.config.rto);
        }
    }

    /// Sends the SYN or SYN-ACK that is due.
    pub(crate) fn poll_syn(&mut self, now: Instant) -> Option<Transmit> {
        if !std::mem::take(&mut self.syn_due) {
            return None;
        }
        let first = self.counters.syns_sent == 0;
        self.counters.syns_sent = self.counters.syns_sent.saturating_add(1);
        self.send.timed = first.then_some((1, now));
        // An answer to a duplicate SYN is beside the schedule, which goes on
        if !self.timers.runs(Timer::Retransmit) {
            let wait = self.syn_schedule().wait_after(self.syn_tries());
            self.timers.set(Timer::Retransmit, now + wait);
        }
        let answers = self.state == State::SynReceived;
        let mut stamps = self.stamps.stamp(now);
        if !answers {
            // RFC 7323 §3.2: without ACK the echo must be zero
            stamps.echo = 0;
        }
        let window = self.receive.buffer.saturating_sub(self.receive.unread).min(u32::from(u16::MAX));
        let segment = Segment {
            seq: self.send.isn,
            ack: if answers { self.receive.isn.at(self.receive.nxt) } else { Default::default() },
            flags: self.ecn_of_syn(answers, first),
            window: window as u16,
            options: NegotiatedOptions::syn_options(&self.config, answers.then_some(&self.agreed), stamps),
            payload_len: 0,
            ecn: Ecn::NotEct,
        };
        self.receive.last_ack_sent = self.receive.nxt;
        Some(Transmit { segment, payload: 0..0 })
    }

    /// The wait after a SYN is over: another, or the end.
    pub(crate) fn expire_syn(&mut self) {
        if self.syn_schedule().is_last(self.syn_tries()) {
            self.fail(Failure::TimedOut);
        } else {
            self.syn_expiries = self.syn_expiries.saturating_add(1);
            self.syn_due = true;
        }
    }

    /// Number in the schedule of the SYN that was sent last, from 1.
    fn syn_tries(&self) -> u8 {
        self.syn_expiries.saturating_add(1)
    }

    fn syn_schedule(&self) -> &SynSchedule {
        if self.state == State::SynReceived { &self.config.syn_ack } else { &self.config.syn }
    }
}
