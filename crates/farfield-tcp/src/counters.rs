//! Counters of a connection, for samples and verdicts.

/// Counts since the connection was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// SYNs (or SYN-ACKs) sent, the first among them.
    pub syns_sent: u8,
    /// Segments with data or FIN that were sent again.
    pub retransmits: u32,
    /// Retransmission timeouts after the handshake.
    pub timeouts: u32,
    /// Times that loss recovery began from duplicate or selective acknowledgments.
    pub recoveries: u32,
    /// Segments that came out of order.
    pub out_of_order: u32,
    /// Segments refused: outside the window, old by PAWS, acknowledging the unsent.
    pub refused: u32,
}

/// Counts of explicit congestion notification (RFC 3168) since the connection was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MarkCounters {
    /// Segments with data that came marked with congestion.
    pub came: u32,
    /// Times that the window was reduced because the peer echoed a mark.
    pub reductions: u32,
}
