//! FQ-CoDel (RFC 8290): a queue under CoDel for each flow, and flows take turns.
//!
//! CoDel looks at the bytes of the flow's own queue (RFC 8290, section 4.2), where Linux looks at those of
//! all queues together.

use super::codel::{self, Control, Waiting};
use super::flows::{FlowControl, FlowQueues};
use farfield_base::Instant;

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// CoDel of each queue; its limit is that of all queues together.
    pub codel: codel::Parameters,
    /// `quantum`: bytes that a queue may send before it is another's turn, above 0 (RFC 8290, section 5.2.4).
    pub quantum: u32,
    /// Queues that flows are hashed into, above 0 (RFC 8290, section 5.2.5: 1,024).
    pub queues: u16,
}

/// The flows' queues, each under CoDel.
pub(crate) type FqCodel = FlowQueues<Control>;

impl FqCodel {
    /// Takes in a packet of a flow with this hash.
    pub fn push(&mut self, hash: u32, packet: Waiting, parameters: &Parameters) {
        let slot = self.slot_of(hash, parameters.queues, packet.came, &parameters.codel);
        self.append(slot, packet, parameters.quantum);
    }
}

impl FlowControl for Control {
    type Parameters = codel::Parameters;

    fn next(
        &mut self,
        now: Instant,
        parameters: &codel::Parameters,
        first: impl FnMut() -> Option<(Waiting, u64)>,
        dropped: impl FnMut(Waiting),
    ) -> Option<Waiting> {
        self.leave(now, parameters, first, dropped)
    }

    fn rest(&mut self) {
        self.find_empty();
    }

    /// CoDel counts the packets that it drops itself.
    fn overflow(&mut self, _now: Instant, _parameters: &Self::Parameters, _is_empty: bool) {}

    fn is_fresh(&mut self, now: Instant, parameters: &codel::Parameters) -> bool {
        self.forgets(now, parameters.interval)
    }
}
