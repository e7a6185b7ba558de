//! A connection: what it holds, how it begins, and what its owner may do with it.

use crate::challenge::ChallengeLimit;
use crate::config::Config;
use crate::congestion::{Control, Window};
use crate::counters::Counters;
use crate::delayed_ack::DelayedAck;
use crate::ecn::EcnState;
use crate::event::{Event, Events, Failure};
use crate::options::NegotiatedOptions;
use crate::paws::TimestampState;
use crate::receiving::Receiving;
use crate::recovery::Recovery;
use crate::rtt::RttEstimator;
use crate::sending::Sending;
use crate::seq::SeqNumber;
use crate::state::State;
use crate::stray::Reset;
use crate::timers::{Timer, Timers};
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// One TCP connection.
///
/// Its owner hands in segments ([`handle_segment`](Connection::handle_segment)) and time
/// ([`handle_timer`](Connection::handle_timer)); after either, and after [`write`](Connection::write),
/// [`close`](Connection::close), [`abort`](Connection::abort) or [`set_unread`](Connection::set_unread), it
/// takes [`poll_transmit`](Connection::poll_transmit) until there is no more, then
/// [`poll_event`](Connection::poll_event), and has itself woken at [`poll_timer`](Connection::poll_timer). A
/// timer that comes early or twice does no harm.
///
/// An established connection with nothing on its way allocates nothing beyond itself.
///
/// The three segments of a handshake, each carried by hand:
///
/// ```
/// use farfield_tcp::{Config, Connection, Event, Instant, Numbers, SeqNumber, State};
/// use std::sync::Arc;
///
/// let (config, now) = (Arc::new(Config::linux()), Instant::ZERO);
/// let numbers = |isn| Numbers { isn: SeqNumber(isn), timestamp_offset: 0 };
/// let mut client = Connection::open(Arc::clone(&config), numbers(100));
/// let mut server = Connection::listen(config, numbers(900));
/// let syn = client.poll_transmit(now).expect("an active open sends a SYN").segment;
/// server.handle_segment(now, &syn, &[], |_| {});
/// let syn_ack = server.poll_transmit(now).expect("a SYN is answered").segment;
/// client.handle_segment(now, &syn_ack, &[], |_| {});
/// let ack = client.poll_transmit(now).expect("a SYN-ACK is acknowledged").segment;
/// server.handle_segment(now, &ack, &[], |_| {});
/// assert_eq!([syn.flags, syn_ack.flags, ack.flags].map(|flags| format!("{flags:?}")), ["S", "SA", "A"]);
/// for end in [&mut client, &mut server] {
///     assert_eq!((end.poll_event(), end.state()), (Some(Event::Connected), State::Established));
/// }
/// ```
#[derive(Debug)]
pub struct Connection {
    pub(crate) config: Arc<Config>,
    pub(crate) state: State,
    pub(crate) agreed: NegotiatedOptions,
    pub(crate) send: Sending,
    pub(crate) receive: Receiving,
    pub(crate) rtt: RttEstimator,
    pub(crate) window: Window,
    pub(crate) control: Control,
    pub(crate) recovery: Recovery,
    pub(crate) stamps: TimestampState,
    /// Only where both sides agreed upon it.
    pub(crate) ecn: Option<Box<EcnState>>,
    pub(crate) delayed_ack: DelayedAck,
    pub(crate) timers: Timers,
    pub(crate) challenges: ChallengeLimit,
    pub(crate) events: Events,
    pub(crate) counters: Counters,
    /// A reset waits to be sent.
    pub(crate) reset: Option<Reset>,
    /// A SYN or SYN-ACK waits to be sent.
    pub(crate) syn_due: bool,
    /// Waits for an answer to our SYN or SYN-ACK that ended in vain.
    pub(crate) syn_expiries: u8,
    /// An acknowledgment waits to be sent.
    pub(crate) ack_due: bool,
}

/// The numbers that a connection begins with. Real stacks make them hard to guess (RFC 9293 §3.4.1, RFC 7323
/// §7.1); here they come from the owner's random stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// The initial sequence number.
    pub isn: SeqNumber,
    /// Start of the timestamp clock.
    pub timestamp_offset: u32,
}

/// The connection is closed for sending: what was written is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("connection closing")]
pub struct Closing;

impl Connection {
    /// An active open (RFC 9293 §3.10.1): a SYN is ready to be sent.
    pub fn open(config: Arc<Config>, numbers: Numbers) -> Connection {
        let mut connection = Connection::new(config, numbers, State::SynSent);
        connection.begin_syn();
        connection
    }

    /// A passive open: waits for one SYN.
    pub fn listen(config: Arc<Config>, numbers: Numbers) -> Connection {
        Connection::new(config, numbers, State::Listen)
    }

    fn new(config: Arc<Config>, numbers: Numbers, state: State) -> Connection {
        Connection {
            state,
            agreed: NegotiatedOptions::nothing(&config),
            send: Sending::new(numbers.isn),
            receive: Receiving::new(config.receive_buffer),
            rtt: RttEstimator::new(&config.rto),
            window: Window { cwnd: 0, ssthresh: u32::MAX, smss: 0 },
            control: Control::new(config.congestion),
            recovery: Recovery::default(),
            ecn: None,
            stamps: TimestampState::new(numbers.timestamp_offset),
            delayed_ack: DelayedAck::new(&config.delayed_ack),
            timers: Timers::new(),
            challenges: ChallengeLimit::default(),
            events: Events::default(),
            counters: Counters::default(),
            reset: None,
            syn_due: false,
            syn_expiries: 0,
            ack_due: false,
            config,
        }
    }

    /// Sends `bytes` after what was written before. They are held until acknowledged; how much may be held is
    /// the owner's affair ([`unacknowledged`](Connection::unacknowledged)).
    ///
    /// # Errors
    /// [`Closing`] after [`close`](Connection::close), or once the connection is gone.
    pub fn write(&mut self, bytes: Bytes) -> Result<(), Closing> {
        if self.send.fin || self.state == State::Closed {
            return Err(Closing);
        }
        self.send.buffer.push(bytes);
        Ok(())
    }

    /// No more will be written: a FIN follows the data. The peer's data is still taken (half-close). Doing it
    /// twice is doing it once. Before the SYN is answered it ends the connection, and what was written goes
    /// with it (RFC 9293 §3.10.4): wait for [`Event::Connected`].
    pub fn close(&mut self) {
        match self.state {
            // RFC 9293 §3.10.4: nothing is owed to anyone
            State::Listen | State::SynSent => self.vanish(),
            State::Closed => {}
            _ if self.send.fin => {}
            state => {
                self.send.fin = true;
                self.state = match state {
                    State::Established => State::FinWait1,
                    State::CloseWait => State::LastAck,
                    // SYN-RECEIVED queues the FIN until ESTABLISHED; the others have sent it
                    other => other,
                };
            }
        }
    }

    /// Ends the connection at once; a synchronized peer is sent a RST (RFC 9293 §3.10.5). No event follows.
    pub fn abort(&mut self) {
        use State::*;
        if matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            // RFC 9293 §3.10.5: <SEQ=SND.NXT><CTL=RST>
            let (seq, ack) = (self.send.isn.at(self.send.max), self.receive.isn.at(self.receive.nxt));
            self.reset = Some(Reset { seq, ack: Some(ack) });
        }
        self.vanish();
    }

    /// Reports that the application has not yet used `bytes` of the data handed over: they count against the
    /// window. A reader that uses everything at once never calls this.
    pub fn set_unread(&mut self, bytes: u32) {
        self.receive.unread = bytes;
        // RFC 9293 §3.8.6.2.2, as BSD has it: advertise a window that grew by two segments or half the buffer
        let grown = self.receive.reach() - self.receive.edge;
        let step = (2 * self.agreed.rmss(&self.config)).min(self.receive.buffer / 2);
        if self.state.can_receive() && grown >= i64::from(step.max(1)) {
            self.ack_due = true;
        }
    }

    /// The path takes no segments larger than `mss` bytes ("fragmentation needed", RFC 1191 §6.4): what is
    /// outstanding is sent again in smaller ones, and the congestion window is left alone.
    pub fn reduce_mss(&mut self, mss: u16) {
        let mss = mss.max(64);
        if mss < self.agreed.peer_mss.min(self.config.mss) {
            self.agreed.peer_mss = mss;
            self.window.smss = self.agreed.smss(&self.config);
            if self.state.can_send() {
                self.send.nxt = self.send.una;
                self.send.timed = None;
            }
        }
    }

    /// Instant at which [`handle_timer`](Connection::handle_timer) has something to do.
    pub fn poll_timer(&self) -> Option<Instant> {
        self.timers.earliest()
    }

    /// Next event. At most one of each kind in a connection's life, in order.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// The bytes that a [`Transmit`](crate::Transmit) names, in pieces: valid until the next call of
    /// `handle_segment`.
    pub fn payload(&self, range: Range<u64>) -> impl Iterator<Item = &[u8]> {
        self.send.buffer.pieces(range)
    }

    /// As [`payload`](Self::payload), in one piece: a view of what was [written](Connection::write) where
    /// that was one piece, else a copy.
    pub fn payload_bytes(&self, range: Range<u64>) -> Bytes {
        self.send.buffer.bytes(range)
    }

    /// The state of RFC 9293 §3.3.2.
    pub fn state(&self) -> State {
        self.state
    }

    /// Counters of the connection.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The smoothed round-trip time, once measured.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// The retransmission timeout as it stands.
    pub fn rto(&self) -> Duration {
        self.rtt.rto(&self.config.rto)
    }

    /// The congestion window and threshold.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Bytes written and not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.send.buffer.len()
    }

    /// Bytes that were ever written, and those of them, the last, that were never sent.
    pub fn written_and_unsent(&self) -> (u64, u64) {
        let written = self.send.buffer.end();
        // The SYN is the first position of the sequence.
        let sent = self.send.max.saturating_sub(1).max(0) as u64;
        (written, written.saturating_sub(sent))
    }

    /// True if there is nothing more to do: closed, and all is sent.
    pub fn is_done(&self) -> bool {
        self.state == State::Closed && self.reset.is_none() && !self.ack_due
    }

    /// The end, with its event. The last acknowledgment still goes out.
    pub(crate) fn finish(&mut self) {
        self.events.push(Event::Closed);
        self.state = State::Closed;
        self.forget();
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.events.push(Event::Failed(failure));
        self.vanish();
    }

    fn vanish(&mut self) {
        self.state = State::Closed;
        self.ack_due = false;
        self.forget();
    }

    fn forget(&mut self) {
        self.syn_due = false;
        self.timers.stop_all();
        self.recovery = Recovery::default();
        self.receive.reassembly = None;
        self.send.buffer.release(u64::MAX);
    }

    pub(crate) fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers.stop_all();
        // RFC 9293 §3.10.7.4: start the time-wait timer, turn off the other timers
        self.timers.set(Timer::Linger, now + self.config.time_wait);
    }
}
