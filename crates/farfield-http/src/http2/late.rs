//! Frames that come late: on streams that were given up here, and sent before the server knew.
//!
//! A server that is only slow answers every request after its time limit. So what may come of a stream that
//! is given up is noted, a head and an end and as much body as its window allows, and earns as it does on a
//! stream that is open. What comes beyond it earns nothing: streams that were given up are no source of
//! frames without end.

use super::stream::Stream;

/// Frames that may still come, on all streams of a connection together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late {
    /// Heads, trailers, and ends without a byte of body.
    marks: u32,
    /// Bytes of DATA.
    bytes: u32,
    /// The window of the connection, beyond which no bytes can be on their way.
    bytes_max: u32,
}

impl Late {
    /// Nothing yet, on a connection with this window.
    pub(super) const fn new(bytes_max: u32) -> Late {
        Late { marks: 0, bytes: 0, bytes_max }
    }

    /// The stream is given up.
    pub(super) fn give_up(&mut self, stream: &Stream) {
        let marks = if stream.in_body { 1 } else { 2 };
        self.marks = self.marks.saturating_add(marks);
        self.bytes = self.bytes.saturating_add(stream.receive.left()).min(self.bytes_max);
    }

    /// A header block came: true if it may have been on its way.
    pub(super) fn take_mark(&mut self) -> bool {
        let left = self.marks.checked_sub(1);
        self.marks = left.unwrap_or(0);
        left.is_some()
    }

    /// DATA with so many bytes came, be it the last of its stream: true if it may have been on its way.
    pub(super) fn take_data(&mut self, bytes: u32, end_stream: bool) -> bool {
        if bytes == 0 {
            return end_stream && self.take_mark();
        }
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(0);
        left.is_some()
    }
}
