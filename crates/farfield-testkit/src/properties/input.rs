//! A fuzzer's bytes as numbers; where they end, all is zero.

/// The bytes that are left.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    pub fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// A small step either way, or now and then one of any size.
    pub fn step(&mut self) -> i64 {
        let word = self.word() as i16;
        if word == i16::MIN { i64::from(self.word()) << 16 } else { i64::from(word) / 4 }
    }

    /// Takes as many bytes as the next byte says, or those that are left.
    pub fn piece(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (piece, rest) = self.0.split_at(len);
        self.0 = rest;
        piece
    }
}
