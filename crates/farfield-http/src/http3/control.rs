//! The server's control stream (RFC 9114, 6.2.1 and 7.2): SETTINGS first and once, then GOAWAY, and frames
//! that are passed over. Bytes come in pieces of any size, and none is kept.

use super::error::ConnectionError;
use super::frame;
use super::varint::Varint;

/// The server's SETTINGS (RFC 9114, 7.2.4.1). Those of QPACK are about a table that the client does not use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerSettings {
    /// SETTINGS_MAX_FIELD_SECTION_SIZE: bytes of the longest head that it takes, as RFC 9114, 4.2.2
    /// counts; no limit if it names none.
    pub field_section_bytes_max: Option<u64>,
}

/// An event on a control stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlEvent {
    /// The server's settings, once.
    Settings(PeerSettings),
    /// GOAWAY: requests on this stream and on greater ones are not processed, and may be sent again
    /// (RFC 9114, 5.2).
    GoAway(u64),
}

/// The reader of a server's control stream, behind its type.
#[derive(Debug, Clone, Default)]
pub struct ControlStream {
    place: ControlPosition,
    varint: Varint,
    /// Settings that came so far; known ones have their bit in `known`.
    settings: PeerSettings,
    known: u8,
    has_settings: bool,
    /// The stream that the last GOAWAY named.
    last: Option<u64>,
}

/// The next byte's place in a frame; `left` counts the bytes from there to the frame's end.
#[derive(Debug, Clone, Copy, Default)]
enum ControlPosition {
    #[default]
    Type,
    Length {
        kind: u64,
    },
    SettingName {
        left: u64,
    },
    SettingValue {
        name: u64,
        left: u64,
    },
    GoAway {
        left: u64,
    },
    Skipped {
        left: u64,
    },
}

impl ControlStream {
    /// Reads up to the next event: how many bytes were taken, and the event if there is one. All are taken if
    /// there is none.
    ///
    /// # Errors
    /// [`ConnectionError`]; the stream is of no further use then.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(usize, Option<ControlEvent>), ConnectionError> {
        let mut taken = 0;
        while let Some(&byte) = bytes.get(taken) {
            if let ControlPosition::Skipped { left } = &mut self.place {
                let skipped = (bytes.len() - taken).min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= skipped as u64;
                taken += skipped;
                if *left == 0 {
                    self.place = ControlPosition::Type;
                }
                continue;
            }
            taken += 1;
            if let Some(event) = self.push(byte)? {
                return Ok((taken, Some(event)));
            }
        }
        Ok((taken, None))
    }

    fn push(&mut self, byte: u8) -> Result<Option<ControlEvent>, ConnectionError> {
        let complete = self.varint.push(byte);
        // 7.1: a frame that ends before what it holds does is an error.
        if let ControlPosition::SettingName { left }
        | ControlPosition::SettingValue { left, .. }
        | ControlPosition::GoAway { left } = &mut self.place
        {
            *left -= 1;
            if *left == 0 && complete.is_none() {
                return Err(ConnectionError::FrameLength);
            }
        }
        let Some(value) = complete else { return Ok(None) };
        match self.place {
            ControlPosition::Type => {
                self.check_kind(value)?;
                self.place = ControlPosition::Length { kind: value };
            }
            ControlPosition::Length { kind } => return self.begin(kind, value),
            // A setting without a value.
            ControlPosition::SettingName { left: 0 } => return Err(ConnectionError::FrameLength),
            ControlPosition::SettingName { left } => {
                self.place = ControlPosition::SettingValue { name: value, left }
            }
            ControlPosition::SettingValue { name, left } => {
                self.set(name, value)?;
                self.place = ControlPosition::SettingName { left };
                if left == 0 {
                    return Ok(Some(self.end_settings()));
                }
            }
            ControlPosition::GoAway { left: 0 } => return self.end_goaway(value).map(Some),
            ControlPosition::GoAway { .. } => return Err(ConnectionError::FrameLength),
            ControlPosition::Skipped { .. } => {}
        }
        Ok(None)
    }

    /// Checks that the frame may come here and now.
    fn check_kind(&self, kind: u64) -> Result<(), ConnectionError> {
        match kind {
            frame::SETTINGS if self.has_settings => Err(ConnectionError::SecondSettings),
            frame::SETTINGS => Ok(()),
            _ if !self.has_settings => Err(ConnectionError::MissingSettings),
            frame::DATA | frame::HEADERS | frame::PUSH_PROMISE | frame::MAX_PUSH_ID => {
                Err(ConnectionError::UnexpectedFrame)
            }
            _ if frame::is_of_http2(kind) => Err(ConnectionError::UnexpectedFrame),
            // 7.2.3: it names a push, and there can be none.
            frame::CANCEL_PUSH => Err(ConnectionError::Pushed),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, kind: u64, length: u64) -> Result<Option<ControlEvent>, ConnectionError> {
        self.place = match kind {
            frame::SETTINGS if length == 0 => return Ok(Some(self.end_settings())),
            frame::SETTINGS => ControlPosition::SettingName { left: length },
            frame::GOAWAY if length == 0 => return Err(ConnectionError::FrameLength),
            frame::GOAWAY => ControlPosition::GoAway { left: length },
            _ if length == 0 => ControlPosition::Type,
            _ => ControlPosition::Skipped { left: length },
        };
        Ok(None)
    }

    fn set(&mut self, name: u64, value: u64) -> Result<(), ConnectionError> {
        let bit = match name {
            // 7.2.4.1: settings of HTTP/2.
            0x0 | 0x2..=0x5 => return Err(ConnectionError::BadSetting),
            // RFC 9204, 5: QPACK_MAX_TABLE_CAPACITY and QPACK_BLOCKED_STREAMS.
            0x1 => 1,
            0x7 => 2,
            0x6 => {
                self.settings.field_section_bytes_max = Some(value);
                4
            }
            _ => 0,
        };
        // Unknown settings are not looked at, not even for coming twice.
        if self.known & bit != 0 {
            return Err(ConnectionError::BadSetting);
        }
        self.known |= bit;
        Ok(())
    }

    fn end_settings(&mut self) -> ControlEvent {
        self.place = ControlPosition::Type;
        self.has_settings = true;
        ControlEvent::Settings(self.settings)
    }

    /// 7.2.6: the stream is one that a client opens, in both directions.
    fn end_goaway(&mut self, stream: u64) -> Result<ControlEvent, ConnectionError> {
        self.place = ControlPosition::Type;
        if !stream.is_multiple_of(4) {
            return Err(ConnectionError::GoAwayStream);
        }
        if self.last.is_some_and(|last| stream > last) {
            return Err(ConnectionError::LastStreamRaised);
        }
        self.last = Some(stream);
        Ok(ControlEvent::GoAway(stream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ControlEvent::{GoAway, Settings};

    /// All events of the stream, which are equal however it is cut.
    fn read(stream: &[u8]) -> Result<Vec<ControlEvent>, ConnectionError> {
        let whole = read_in(&[stream]);
        for cut in 0..=stream.len() {
            assert_eq!(whole, read_in(&[&stream[..cut], &stream[cut..]]), "cut at {cut}");
        }
        assert_eq!(whole, read_in(&stream.chunks(1).collect::<Vec<_>>()), "byte by byte");
        whole
    }

    fn read_in(pieces: &[&[u8]]) -> Result<Vec<ControlEvent>, ConnectionError> {
        let (mut control, mut events) = (ControlStream::default(), Vec::new());
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                let (taken, event) = control.read(rest)?;
                assert!(taken > 0 && (event.is_some() || taken == rest.len()));
                rest = &rest[taken..];
                events.extend(event);
            }
        }
        Ok(events)
    }

    /// SETTINGS without a setting, then the frames.
    fn behind_settings(frames: &[u8]) -> Result<Vec<ControlEvent>, ConnectionError> {
        let mut events = read(&[&[4, 0], frames].concat())?;
        assert_eq!(events.remove(0), Settings(PeerSettings::default()));
        Ok(events)
    }

    #[test]
    fn settings_are_read_and_unknown_ones_passed_over() {
        // A section of 16 384 bytes, a table of 4096, and 0x21, which is reserved, twice.
        let stream = [4, 12, 0x06, 0x80, 0, 0x40, 0, 0x01, 0x50, 0, 0x21, 1, 0x21, 1];
        let settings = PeerSettings { field_section_bytes_max: Some(1 << 14) };
        assert_eq!(read(&stream), Ok(vec![Settings(settings)]));
    }

    #[test]
    fn settings_come_first_and_once() {
        for frame in [[0, 0], [7, 0], [0x21, 0]] {
            assert_eq!(read(&frame), Err(ConnectionError::MissingSettings));
        }
        assert_eq!(behind_settings(&[4, 0]), Err(ConnectionError::SecondSettings));
        assert_eq!(ConnectionError::MissingSettings.code().0, 0x10a);
        assert_eq!(ConnectionError::SecondSettings.code().0, 0x105);
    }

    #[test]
    fn settings_of_http2_and_repeated_ones_are_errors() {
        for name in [0, 2, 3, 4, 5] {
            assert_eq!(read(&[4, 2, name, 0]), Err(ConnectionError::BadSetting), "{name}");
        }
        for name in [1, 6, 7] {
            assert_eq!(read(&[4, 4, name, 0, name, 0]), Err(ConnectionError::BadSetting), "{name}");
        }
        assert_eq!(ConnectionError::BadSetting.code().0, 0x109);
    }

    #[test]
    fn a_frame_has_the_length_of_what_it_holds() {
        // A name alone, half a name, half a value; an empty GOAWAY, half a stream, and one byte too many.
        for frame in [&[4, 1, 6][..], &[4, 1, 0x40], &[4, 2, 6, 0x40]] {
            assert_eq!(read(frame), Err(ConnectionError::FrameLength), "{frame:?}");
        }
        for frame in [&[7, 0][..], &[7, 1, 0x40], &[7, 2, 0, 0]] {
            assert_eq!(behind_settings(frame), Err(ConnectionError::FrameLength), "{frame:?}");
        }
        assert_eq!(ConnectionError::FrameLength.code().0, 0x106);
    }

    #[test]
    fn goaway_names_a_request_and_never_a_greater_one() {
        assert_eq!(behind_settings(&[7, 1, 8, 7, 1, 8, 7, 1, 0]), Ok(vec![GoAway(8), GoAway(8), GoAway(0)]));
        assert_eq!(behind_settings(&[7, 1, 4, 7, 1, 8]), Err(ConnectionError::LastStreamRaised));
        for stream in [1, 2, 3] {
            assert_eq!(behind_settings(&[7, 1, stream]), Err(ConnectionError::GoAwayStream));
        }
        // The greatest stream there is: a server that will go away and names no request yet (5.2).
        let all = [7, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc];
        assert_eq!(behind_settings(&all), Ok(vec![GoAway((1 << 62) - 4)]));
    }

    #[test]
    fn frames_of_other_streams_are_errors_and_unknown_ones_passed_over() {
        for kind in [0, 1, 2, 5, 6, 8, 9, 13] {
            assert_eq!(behind_settings(&[kind, 0]), Err(ConnectionError::UnexpectedFrame), "{kind}");
        }
        assert_eq!(behind_settings(&[3, 1, 0]), Err(ConnectionError::Pushed));
        assert_eq!(behind_settings(&[0x21, 3, 4, 0, 0, 0x21, 0, 7, 1, 4]), Ok(vec![GoAway(4)]));
    }
}
