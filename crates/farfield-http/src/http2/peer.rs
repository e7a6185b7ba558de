//! The server's settings (RFC 9113, 6.5.2).

use super::error::ConnectionError;
use super::flow::{DEFAULT_WINDOW, GREATEST_WINDOW};
use super::frame::{GREATEST_FRAME_BYTES, LEAST_FRAME_BYTES};
use super::hpack::DEFAULT_TABLE_BYTES;

pub(super) const HEADER_TABLE_SIZE: u16 = 0x1;
pub(super) const ENABLE_PUSH: u16 = 0x2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 0x3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 0x4;
pub(super) const MAX_FRAME_SIZE: u16 = 0x5;
pub(super) const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// The name of a setting that can be wrong.
pub(super) const fn name_of(identifier: u16) -> &'static str {
    match identifier {
        ENABLE_PUSH => "SETTINGS_ENABLE_PUSH",
        INITIAL_WINDOW_SIZE => "SETTINGS_INITIAL_WINDOW_SIZE",
        MAX_FRAME_SIZE => "SETTINGS_MAX_FRAME_SIZE",
        _ => "a setting",
    }
}

/// Streams at once before the server has said how many it takes. The RFC has no limit and recommends that
/// servers set none below this.
const STREAMS_BEFORE_SETTINGS: u32 = 100;

/// The server's settings, as far as they came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    pub frame_bytes_max: u32,
    /// The window that a stream begins with.
    pub window: u32,
    pub streams_max: u32,
    /// The least size that its dynamic table has had, as an encoder may have to say (RFC 7541, 4.2).
    pub table_bytes_least: u32,
}

/// The effect of a setting beside the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsChange {
    None,
    /// The windows of all streams, by so many bytes.
    Windows(i64),
}

impl Peer {
    /// Before its first SETTINGS.
    pub(super) const UNKNOWN: Peer = Peer {
        frame_bytes_max: LEAST_FRAME_BYTES,
        window: DEFAULT_WINDOW,
        streams_max: STREAMS_BEFORE_SETTINGS,
        table_bytes_least: DEFAULT_TABLE_BYTES,
    };

    /// Takes one setting; one that is not known is ignored.
    pub(super) fn set(&mut self, identifier: u16, value: u32) -> Result<SettingsChange, ConnectionError> {
        match identifier {
            HEADER_TABLE_SIZE => self.table_bytes_least = self.table_bytes_least.min(value),
            // A server cannot be pushed to (RFC 9113, 6.5.2).
            ENABLE_PUSH if value != 0 => return Err(ConnectionError::BadSetting),
            MAX_CONCURRENT_STREAMS => self.streams_max = value,
            INITIAL_WINDOW_SIZE if value > GREATEST_WINDOW => return Err(ConnectionError::WindowSetting),
            INITIAL_WINDOW_SIZE => {
                let change = i64::from(value) - i64::from(self.window);
                self.window = value;
                return Ok(SettingsChange::Windows(change));
            }
            MAX_FRAME_SIZE if !(LEAST_FRAME_BYTES..=GREATEST_FRAME_BYTES).contains(&value) => {
                return Err(ConnectionError::BadSetting);
            }
            MAX_FRAME_SIZE => self.frame_bytes_max = value,
            _ => {}
        }
        Ok(SettingsChange::None)
    }
}
