//! Windows of flow control (RFC 9113, 5.2 and 6.9).

/// The greatest window, in bytes.
pub(super) const GREATEST_WINDOW: u32 = (1 << 31) - 1;

/// The window of a connection, and of its streams, before anything is said of it (RFC 9113, 6.9.2).
pub(super) const DEFAULT_WINDOW: u32 = 65_535;

/// Window for sending, in bytes. It falls below zero where the peer shrinks it (RFC 9113, 6.9.2).
#[derive(Debug, Clone, Copy)]
pub(super) struct SendWindow(i64);

impl SendWindow {
    pub(super) const fn new(bytes: u32) -> SendWindow {
        SendWindow(bytes as i64)
    }

    /// Bytes that may be sent.
    pub(super) fn bytes(self) -> usize {
        self.0.max(0) as usize
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.0 -= bytes as i64;
    }

    /// Adds to the window, or takes from it. False if it becomes greater than a window may be.
    #[must_use]
    pub(super) fn adjust(&mut self, bytes: i64) -> bool {
        self.0 += bytes;
        self.0 <= i64::from(GREATEST_WINDOW)
    }
}

/// Window for receiving, in bytes. All that comes is consumed at once, and allowed again when it is half of
/// the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveWindow {
    size: u32,
    left: u32,
}

impl ReceiveWindow {
    pub(super) const fn new(size: u32) -> ReceiveWindow {
        ReceiveWindow { size, left: size }
    }

    /// Counts bytes that came. False if they are more than was allowed.
    #[must_use]
    pub(super) fn count(&mut self, bytes: u32) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Bytes that may still come.
    pub(super) const fn left(self) -> u32 {
        self.left
    }

    /// The increment to allow now, if it is worth a frame.
    pub(super) fn credit(&mut self) -> Option<u32> {
        let increment = self.size - self.left;
        if increment == 0 || self.left > self.size / 2 {
            return None;
        }
        self.left = self.size;
        Some(increment)
    }
}
