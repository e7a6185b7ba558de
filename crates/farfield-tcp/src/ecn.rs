//! Explicit congestion notification (RFC 3168, section 6.1): a mark on a packet is echoed until the sender
//! has reduced its window, which it does once a round trip, as for a loss.
//!
//! Both SYNs agree upon it. Data that is sent for the first time says that it may be marked; what is sent
//! again, window probes, SYNs and acknowledgments do not (sections 6.1.4 to 6.1.6).

use crate::config::EcnUse;
use crate::congestion::CongestionControl;
use crate::connection::Connection;
use crate::counters::MarkCounters;
use crate::recovery::Phase;
use crate::segment::{Ecn, Flags, Segment};
use crate::seq::Position;

/// Marks that came, and the answer to the peer's.
#[derive(Debug, Default)]
pub(crate) struct EcnState {
    /// A mark came: ECE goes out with each acknowledgment until the peer's CWR comes.
    echoes: bool,
    /// The window was reduced: CWR goes out with the next new data.
    cwr_due: bool,
    /// End of what was sent when the window was reduced last: echoes of what lies before it are of the same
    /// congestion.
    point: Position,
    /// As `point`, of the last reduction for a mark.
    marked_until: Position,
    counters: MarkCounters,
}

impl Connection {
    /// Counters of marks; none where the two sides did not agree upon them.
    pub fn marks(&self) -> Option<&MarkCounters> {
        self.ecn.as_ref().map(|ecn| &ecn.counters)
    }

    /// Flags that offer it in our SYN, or accept it in our SYN-ACK. Only the first SYN offers it: one that is
    /// lost may have been dropped for that (section 6.1.1.1).
    pub(crate) fn ecn_of_syn(&self, answers: bool, first: bool) -> Flags {
        match answers {
            true => Flags { ece: self.ecn.is_some(), ..Flags::SYN_ACK },
            false => {
                let offers = first && self.config.ecn == EcnUse::Offer;
                Flags { ece: offers, cwr: offers, ..Flags::SYN }
            }
        }
    }

    /// Takes what the peer's SYN or SYN-ACK says of it.
    pub(crate) fn agree_on_ecn(&mut self, syn: &Segment) {
        let Flags { ack, ece, cwr, .. } = syn.flags;
        let agrees = match self.config.ecn {
            EcnUse::Never => false,
            EcnUse::Accept => !ack && ece && cwr,
            EcnUse::Offer => ece && ack != cwr,
        };
        self.ecn = agrees.then(Box::default);
    }

    /// The codepoint and the flag of data that goes out, `again` if it has before.
    pub(crate) fn ecn_of_data(&mut self, again: bool) -> (Ecn, bool) {
        match &mut self.ecn {
            Some(ecn) if !again => (Ecn::Ect0, std::mem::take(&mut ecn.cwr_due)),
            _ => (Ecn::NotEct, false),
        }
    }

    /// True if acknowledgments say that a mark came.
    pub(crate) fn echoes_mark(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.echoes)
    }

    /// Takes the mark of a segment that was accepted, and the peer's word that it has reduced its window
    /// (section 6.1.3).
    pub(crate) fn take_mark(&mut self, segment: &Segment) {
        let Some(ecn) = &mut self.ecn else { return };
        if segment.flags.cwr {
            ecn.echoes = false;
        }
        if segment.ecn == Ecn::Ce && segment.payload_len > 0 {
            ecn.counters.came = ecn.counters.came.saturating_add(1);
            // The sender is to know at once.
            self.ack_due |= !ecn.echoes;
            ecn.echoes = true;
        }
    }

    /// Takes the echo of a mark in an acknowledgment up to `ack` (section 6.1.2).
    pub(crate) fn take_echo_of_mark(&mut self, segment: &Segment, ack: Position) {
        let Some(ecn) = &mut self.ecn else { return };
        let echoed = segment.flags.ece && !segment.flags.syn && ack >= self.send.una && ack > ecn.point;
        if !echoed || self.recovery.phase != Phase::Open {
            return;
        }
        let outstanding = (self.send.max - self.send.una) as u32;
        self.control.reduce(&mut self.window, outstanding);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        // This acknowledgment does not let the window grow.
        self.recovery.just_left = true;
        ecn.counters.reductions = ecn.counters.reductions.saturating_add(1);
        ecn.marked_until = self.send.max;
        self.note_reduction();
    }

    /// True if the window was reduced for a mark within this round trip: a loss in it is of the same
    /// congestion (section 6.1.2).
    pub(crate) fn has_reduced_for_mark(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| self.send.una < ecn.marked_until)
    }

    /// The window was reduced, for a mark or for a loss.
    pub(crate) fn note_reduction(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.point = self.send.max;
            ecn.cwr_due = true;
        }
    }
}
