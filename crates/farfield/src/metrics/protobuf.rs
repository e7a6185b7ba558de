//! The few parts of Protocol Buffers' wire format that remote write needs, and Snappy's block format
//! without compression: a few kilobytes a second on a local network are not worth the work.

/// A message as it is written.
#[derive(Debug, Default)]
pub struct ProtobufMessage(Vec<u8>);

impl ProtobufMessage {
    /// A field of text, or of an inner message.
    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> ProtobufMessage {
        self.key(field, 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn message(self, field: u32, inner: ProtobufMessage) -> ProtobufMessage {
        self.bytes(field, &inner.0)
    }

    pub fn number(mut self, field: u32, number: u64) -> ProtobufMessage {
        self.key(field, 0);
        varint(&mut self.0, number);
        self
    }

    pub fn double(mut self, field: u32, number: f64) -> ProtobufMessage {
        self.key(field, 1);
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        varint(&mut self.0, u64::from(field << 3 | wire_type));
    }
}

fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Snappy's block format (format_description.txt, sections 1 and 2.1): the length, and literals of at most
/// 64 KiB, whose tag has the length less one in two bytes.
pub fn snappy(bytes: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(bytes.len() + bytes.len() / 10_000 + 16);
    varint(&mut block, bytes.len() as u64);
    for literal in bytes.chunks(1 << 16) {
        block.push(61 << 2);
        block.extend_from_slice(&((literal.len() - 1) as u16).to_le_bytes());
        block.extend_from_slice(literal);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own description: `08 96 01` is field 1 with 150, and `12 07 …` field 2
    /// with "testing".
    #[test]
    fn fields_are_those_of_the_format() {
        let message = ProtobufMessage::default().number(1, 150).bytes(2, b"testing").double(3, 1.0);
        let mut expected = vec![0x08, 0x96, 0x01, 0x12, 0x07];
        expected.extend_from_slice(b"testing");
        expected.extend_from_slice(&[0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(message.into_bytes(), expected);
        let nested = ProtobufMessage::default().message(3, ProtobufMessage::default().number(1, 150));
        assert_eq!(nested.into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }

    #[test]
    fn a_block_is_its_length_and_literals() {
        assert_eq!(snappy(b""), [0]);
        assert_eq!(snappy(b"abc"), [3, 61 << 2, 2, 0, b'a', b'b', b'c']);
        let long = vec![7; (1 << 16) + 1];
        let block = snappy(&long);
        assert_eq!(block[..6], [0x81, 0x80, 0x04, 61 << 2, 0xff, 0xff]);
        assert_eq!(block[6 + (1 << 16)..], [61 << 2, 0, 0, 7]);
    }
}
