//! Events of a connection, for its owner.

use thiserror::Error;

/// Something that happened to the connection. Data is not among them: it is handed over as it arrives.
/// Closed: an owner acts on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The connection is established; data flows both ways.
    Connected,
    /// The peer has sent its FIN, and all data before it was handed over: no more will come.
    PeerFinished,
    /// Both directions ended in order and TIME-WAIT, if it was ours, is over: nothing is left.
    Closed,
    /// The connection is gone. Data not yet acknowledged may be lost.
    Failed(Failure),
}

/// Why a connection is gone. Closed: an owner reports each in its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Failure {
    /// A RST answered our SYN.
    #[error("connection refused")]
    Refused,
    /// The peer reset it.
    #[error("connection reset by peer")]
    Reset,
    /// No answer in time: the SYN schedule or R2 of RFC 9293 §3.8.3 is at its end.
    #[error("connection timed out")]
    TimedOut,
}

/// Events that wait. Each kind happens once in a life and always in the same order, so that bits suffice.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Events {
    connected: bool,
    peer_finished: bool,
    end: Option<Event>,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        match event {
            Event::Connected => self.connected = true,
            Event::PeerFinished => self.peer_finished = true,
            Event::Closed | Event::Failed(_) => self.end = Some(event),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.connected && !self.peer_finished && self.end.is_none()
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.connected) {
            Some(Event::Connected)
        } else if std::mem::take(&mut self.peer_finished) {
            Some(Event::PeerFinished)
        } else {
            self.end.take()
        }
    }
}
