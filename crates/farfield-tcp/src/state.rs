//! The states of a connection (RFC 9293 §3.3.2) and what each allows.

/// State of a connection in its life. Closed: those of RFC 9293.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection: not opened, over, or failed.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// A SYN is sent, none has come.
    SynSent,
    /// A SYN is sent and one has come; ours is not acknowledged.
    SynReceived,
    /// Both directions are open.
    Established,
    /// Closed here; our FIN is not acknowledged, theirs has not come.
    FinWait1,
    /// Closed here and acknowledged; theirs has not come.
    FinWait2,
    /// Closed there, not here.
    CloseWait,
    /// Closed on both sides at once; our FIN is not acknowledged.
    Closing,
    /// Closed there, then here; our FIN is not acknowledged.
    LastAck,
    /// Over on both sides; waits for duplicates to die.
    TimeWait,
}

impl State {
    /// True where both initial sequence numbers are known and agreed.
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// True where data may still come from the peer (RFC 9293 §3.10.7.4, seventh).
    pub const fn can_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// True where data or a FIN of ours may be on its way.
    pub const fn can_send(self) -> bool {
        use State::*;
        matches!(self, Established | CloseWait | FinWait1 | Closing | LastAck)
    }
}
