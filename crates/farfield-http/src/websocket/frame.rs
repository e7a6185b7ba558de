//! Frames of a client (RFC 6455 section 5.2): each is masked with a key of its own.

/// The kind of a frame: its opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// More of the message before.
    Continuation = 0,
    /// A message of UTF-8 text, or its beginning.
    Text = 1,
    /// A message of bytes, or its beginning.
    Binary = 2,
    /// The end of the connection.
    Close = 8,
    /// A question that Pong answers.
    Ping = 9,
    /// The answer to Ping.
    Pong = 10,
}

impl FrameKind {
    /// The kind with this opcode, unless it is reserved.
    pub(super) const fn of(opcode: u8) -> Option<FrameKind> {
        Some(match opcode {
            0 => FrameKind::Continuation,
            1 => FrameKind::Text,
            2 => FrameKind::Binary,
            8 => FrameKind::Close,
            9 => FrameKind::Ping,
            10 => FrameKind::Pong,
            _ => return None,
        })
    }

    /// True of Close, Ping and Pong.
    pub const fn is_control(self) -> bool {
        self as u8 & 8 != 0
    }
}

/// A source of masks, one for each frame. They must not be foreseen by whoever chooses the payloads (section
/// 10.3); these follow from a seed, so that a simulated run has the same bytes each time.
#[derive(Debug, Clone, Copy)]
pub struct MaskSource(u64);

impl MaskSource {
    /// Masks that follow from `seed`.
    pub const fn of(seed: u64) -> MaskSource {
        MaskSource(seed)
    }

    /// The next mask, by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    pub fn next_mask(&mut self) -> [u8; 4] {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ mixed >> 31) >> 32) as u32).to_ne_bytes()
    }
}

/// Writes a whole frame behind `out`.
pub fn write_frame(kind: FrameKind, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    const FINAL: u8 = 0x80;
    const MASKED: u8 = 0x80;
    out.reserve(payload.len() + 14);
    out.push(FINAL | kind as u8);
    match payload.len() {
        short @ 0..=125 => out.push(MASKED | short as u8),
        middle @ 126..=0xffff => {
            out.push(MASKED | 126);
            out.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            out.push(MASKED | 127);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

/// The payload of a Close frame with this code (section 7.4).
pub const fn close_payload(code: u16) -> [u8; 2] {
    code.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The masked example of section 5.7.
    #[test]
    fn the_frame_of_the_specification_is_written_as_it_says() {
        let mut out = Vec::new();
        write_frame(FrameKind::Text, b"Hello", [0x37, 0xfa, 0x21, 0x3d], &mut out);
        assert_eq!(out, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
    }

    #[test]
    fn lengths_are_written_in_as_few_bytes_as_they_need() {
        for (length, head) in [(125, 6), (126, 8), (65_535, 8), (65_536, 14)] {
            let mut out = Vec::new();
            write_frame(FrameKind::Binary, &vec![1; length], [0; 4], &mut out);
            assert_eq!(out.len(), length + head, "{length}");
        }
    }

    #[test]
    fn masks_differ() {
        let mut source = MaskSource::of(1);
        let masks: std::collections::BTreeSet<_> = (0..1000).map(|_| source.next_mask()).collect();
        assert_eq!(masks.len(), 1000);
    }
}
