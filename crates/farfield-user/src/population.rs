//! The users of one shard: a crowd for each flow, all on one transport.

use crate::crowd::Crowd;
use crate::flow::{Tag, key_apart, wake_apart};
use crate::flow_transport::FlowTransport;
use crate::plan::Plan;
use crate::reaction::Reaction;
use crate::transport::{ConnectionKey, Failure, Transport, Wake};
use farfield_base::{Instant, LoadCounts, Merge, Tenths};

/// The users of one shard.
#[derive(Debug)]
pub struct Population {
    crowds: Vec<(Tag, Crowd)>,
}

impl Population {
    /// The users of `plan`, before the run.
    pub fn new(plan: Plan) -> Population {
        let crowds = plan.into_shares().into_iter().map(|(tag, share)| (tag, Crowd::new(share))).collect();
        Population { crowds }
    }

    fn crowds(&self) -> impl Iterator<Item = &Crowd> {
        self.crowds.iter().map(|(_, crowd)| crowd)
    }

    /// Lets flow `flow` react to what happened at `now`.
    fn react<T: Transport>(
        &mut self,
        flow: usize,
        transport: &mut T,
        now: Instant,
        react: impl FnOnce(Reaction<'_, FlowTransport<'_, T>>),
    ) {
        if let Some((tag, crowd)) = self.crowds.get_mut(flow) {
            let mut transport = FlowTransport { of_all: transport, tag: *tag };
            react(crowd.reaction(&mut transport, now));
        }
    }

    /// Lets the flow of connection `key` react to what happened on it at `now`.
    fn react_on<T: Transport>(
        &mut self,
        key: ConnectionKey,
        transport: &mut T,
        now: Instant,
        react: impl FnOnce(Reaction<'_, FlowTransport<'_, T>>, ConnectionKey),
    ) {
        let (flow, key) = key_apart(key, self.crowds.len() as u32);
        self.react(flow, transport, now, |reaction| react(reaction, key));
    }

    /// Requests that were sent so far, each time that they were.
    pub fn requests_sent(&self) -> u64 {
        self.crowds().map(Crowd::requests_sent).sum()
    }

    /// True if all users are those of closed loads, who come back when they are answered.
    pub fn is_closed(&self) -> bool {
        self.crowds().all(Crowd::is_closed)
    }

    /// Requests that are due and not over.
    pub fn in_system(&self) -> u64 {
        self.crowds().map(Crowd::in_system).sum()
    }

    /// Connections that are open or being opened.
    pub fn connections(&self) -> usize {
        self.crowds().map(Crowd::connections).sum()
    }

    /// The integral of [`in_system`](Self::in_system) over the window, in request-nanoseconds.
    pub fn in_system_area(&mut self, now: Instant) -> u128 {
        self.crowds.iter_mut().map(|(_, crowd)| crowd.in_system_area(now)).sum()
    }

    /// The load goes on until `end`, later than it was to. No load that was due later is lost: wakes are
    /// judged when they come.
    pub fn extend_to(&mut self, end: Instant) {
        self.crowds.iter_mut().for_each(|(_, crowd)| crowd.extend_to(end));
    }

    /// Counters of load that was scheduled, begun and dropped in the window so far.
    pub fn counts(&self) -> LoadCounts {
        let mut counts = LoadCounts::default();
        self.crowds().for_each(|crowd| counts.merge(&crowd.counts()));
        counts
    }

    /// Instant of the last byte from the server; `None` if none ever came.
    pub fn last_received(&self) -> Option<Instant> {
        self.crowds().filter_map(Crowd::last_received).max()
    }

    /// Tenths of a second in which bytes came from the server.
    pub fn received(&self) -> Tenths {
        let mut received = Tenths::default();
        self.crowds().for_each(|crowd| received.merge(crowd.received()));
        received
    }

    /// True once no user will begin anything more and nothing is on its way.
    pub fn is_done(&self) -> bool {
        self.crowds().all(Crowd::is_done)
    }

    /// Begins no more load, not even what was due before the end. What is on its way goes on, and so do
    /// sessions that may finish.
    pub fn finish(&mut self) {
        self.crowds.iter_mut().for_each(|(_, crowd)| crowd.finish());
    }

    /// Schedules the first load.
    pub fn start<T: Transport>(&mut self, transport: &mut T) {
        for (tag, crowd) in &mut self.crowds {
            crowd.start(&mut FlowTransport { of_all: transport, tag: *tag });
        }
    }

    /// Handles a wake that was asked for with [`Transport::wake_at`] for `due`.
    pub fn handle_wake<T: Transport>(&mut self, transport: &mut T, now: Instant, due: Instant, wake: Wake) {
        let (flow, wake) = wake_apart(wake, self.crowds.len() as u32);
        self.react(flow, transport, now, |mut reaction| reaction.handle_wake(due, wake));
    }

    /// The connection is established.
    pub fn handle_connected<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        self.react_on(key, transport, now, |mut reaction, key| reaction.handle_connected(key));
    }

    /// Bytes came on the connection.
    pub fn handle_received<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        self.react_on(key, transport, now, |mut reaction, key| reaction.handle_received(key, bytes));
    }

    /// The peer has closed its side behind the bytes that are handed in next: nothing more is asked on the
    /// connection.
    pub fn handle_ending(&mut self, key: ConnectionKey) {
        let (flow, key) = key_apart(key, self.crowds.len() as u32);
        if let Some((_, crowd)) = self.crowds.get_mut(flow) {
            crowd.handle_ending(key);
        }
    }

    /// The peer closed in good order.
    pub fn handle_closed<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        self.react_on(key, transport, now, |mut reaction, key| reaction.handle_closed(key));
    }

    /// The connection, or the attempt at one, failed.
    pub fn handle_failed<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        failure: Failure,
    ) {
        self.react_on(key, transport, now, |mut reaction, key| reaction.handle_failed(key, failure));
    }

    /// Datagrams came on a socket that [`Transport::open_datagrams`] opened. All have `segment_bytes` bytes,
    /// at least one, but for the last, which may have fewer, and the same codepoint `ecn` (RFC 3168 section
    /// 5).
    pub fn handle_datagrams<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        ecn: u8,
        segment_bytes: usize,
        bytes: &[u8],
    ) {
        self.react_on(key, transport, now, |mut reaction, key| {
            reaction.handle_datagrams(key, ecn, segment_bytes, bytes);
        });
    }

    /// The client of a connection has moved: datagrams take another path from now on, from another address.
    /// The connection goes on there (RFC 9000 section 9), unless its handshake is not over.
    pub fn handle_moved<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        self.react_on(key, transport, now, |mut reaction, key| reaction.handle_moved(key));
    }

    /// Ends the run: what is still open, and what was due and never begun, is recorded as unfinished at
    /// `now`.
    pub fn cut<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        for flow in 0..self.crowds.len() {
            self.react(flow, transport, now, |mut reaction| reaction.cut());
        }
    }
}
