//! FQ-PIE: a queue under PIE (RFC 8033) for each flow, and flows take turns as those of FQ-CoDel do (RFC
//! 8290). It is the queue of Linux's `fq_pie` and of ns-3's `FqPieQueueDisc`.
//!
//! Each flow has a probability of its own, by the delay of its own packets and the bytes of its own queue: a
//! flow that sends less than its share is not dropped for those that send more. Updates are at multiples of
//! their interval from the start of the run for all flows, and are worked out when a packet of the flow comes
//! or leaves. Queues that are full together drop from the one with the most bytes, as FQ-CoDel's do and as in
//! ns-3; in Linux the newcomer is dropped.

use super::codel::Waiting;
use super::flows::{FlowControl, FlowQueues};
use super::pie::{self, Control};
use farfield_base::Instant;
use farfield_base::random::Stream;

/// Parameters of FQ-PIE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// PIE of each queue; its limit is that of all queues together.
    pub pie: pie::Parameters,
    /// `quantum`: bytes that a queue may send before it is another's turn, above 0 (RFC 8290, section 5.2.4).
    pub quantum: u32,
    /// Queues that flows are hashed into, above 0.
    pub queues: u16,
}

/// The flows' queues, each under PIE.
pub(crate) type FqPie = FlowQueues<Control>;

impl FqPie {
    /// Takes in a packet of a flow with this hash, marked perhaps; false if it is dropped early.
    pub fn push(
        &mut self,
        hash: u32,
        mut packet: Waiting,
        parameters: &Parameters,
        rng: &mut Stream,
    ) -> bool {
        let slot = self.slot_of(hash, parameters.queues, packet.came, &parameters.pie);
        let (control, bytes) = self.control_mut(slot);
        control.update(packet.came, &parameters.pie);
        if control.strikes(bytes, &parameters.pie, rng) {
            control.dropped();
            if !(control.prefers_marks(&parameters.pie) && packet.ecn.meet()) {
                return false;
            }
        }
        self.append(slot, packet, parameters.quantum);
        true
    }
}

impl FlowControl for Control {
    type Parameters = pie::Parameters;

    /// PIE drops nothing that has been taken in.
    fn next(
        &mut self,
        now: Instant,
        parameters: &pie::Parameters,
        mut first: impl FnMut() -> Option<(Waiting, u64)>,
        _dropped: impl FnMut(Waiting),
    ) -> Option<Waiting> {
        let (packet, bytes_left) = first()?;
        self.leave((now, packet.came), bytes_left == 0, parameters);
        Some(packet)
    }

    fn rest(&mut self) {}

    fn overflow(&mut self, now: Instant, parameters: &pie::Parameters, is_empty: bool) {
        // Updates that were due until now are of the queue as it was.
        self.update(now, parameters);
        self.dropped();
        if is_empty {
            self.empty();
        }
    }

    fn is_fresh(&mut self, now: Instant, parameters: &pie::Parameters) -> bool {
        self.update(now, parameters);
        self.remembers_nothing()
    }
}
