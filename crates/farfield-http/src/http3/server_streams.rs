//! The unidirectional streams of a server (RFC 9114, 6.2; RFC 9204, 4.2): which there may be, and how often.

use super::error::ConnectionError;
use super::varint::Varint;

/// The purpose of a server's unidirectional stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Control stream, for a [`ControlStream`](super::ControlStream).
    Control,
    /// QPACK encoder stream, for a [`qpack::EncoderStream`](super::qpack::EncoderStream).
    QpackEncoder,
    /// QPACK decoder stream, for a [`qpack::DecoderStream`](super::qpack::DecoderStream).
    QpackDecoder,
    /// An extension's, or one reserved to exercise this case (RFC 9114, 6.2.3): its bytes are thrown away.
    Unknown,
}

impl Role {
    /// The bit of a critical role in a set; 0 for others.
    const fn bit(self) -> u8 {
        match self {
            Role::Control => 1,
            Role::QpackEncoder => 2,
            Role::QpackDecoder => 4,
            Role::Unknown => 0,
        }
    }

    /// The end of a stream with this role, or its reset.
    ///
    /// # Errors
    /// [`ConnectionError::CriticalStreamClosed`] for all roles that are known.
    pub const fn end(self) -> Result<(), ConnectionError> {
        match self {
            Role::Unknown => Ok(()),
            _ => Err(ConnectionError::CriticalStreamClosed),
        }
    }
}

/// A stream whose type is on its way. One that ends before it says its type is none's, and no error.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerStream {
    kind: Varint,
}

/// The critical streams that a server has opened on one connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerStreams {
    /// Bits of [`Role`]s.
    opened: u8,
}

impl ServerStreams {
    /// Reads the first bytes of `stream`, in pieces of any size: how many of `bytes` are its type, and its
    /// role if the type is complete. What follows is for the role's reader.
    ///
    /// # Errors
    /// [`ConnectionError::DuplicateStream`] and [`ConnectionError::Pushed`].
    pub fn read_type(
        &mut self,
        stream: &mut ServerStream,
        bytes: &[u8],
    ) -> Result<(usize, Option<Role>), ConnectionError> {
        for (at, byte) in bytes.iter().enumerate() {
            if let Some(kind) = stream.kind.push(*byte) {
                return Ok((at + 1, Some(self.open(kind)?)));
            }
        }
        Ok((bytes.len(), None))
    }

    fn open(&mut self, kind: u64) -> Result<Role, ConnectionError> {
        let role = match kind {
            0x00 => Role::Control,
            0x01 => return Err(ConnectionError::Pushed),
            0x02 => Role::QpackEncoder,
            0x03 => Role::QpackDecoder,
            _ => Role::Unknown,
        };
        if self.opened & role.bit() != 0 {
            return Err(ConnectionError::DuplicateStream);
        }
        self.opened |= role.bit();
        Ok(role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http3::ErrorCode;

    /// The role of one stream after another.
    fn roles(streams: &[&[u8]]) -> Result<Vec<Option<Role>>, ConnectionError> {
        let mut all = ServerStreams::default();
        let role = |bytes: &&[u8]| Ok(all.read_type(&mut ServerStream::default(), bytes)?.1);
        streams.iter().map(role).collect()
    }

    #[test]
    fn each_critical_stream_is_opened_once() {
        let streams: [&[u8]; 3] = [&[0], &[2], &[3]];
        let known = [Role::Control, Role::QpackEncoder, Role::QpackDecoder];
        assert_eq!(roles(&streams), Ok(known.map(Some).to_vec()));
        for again in streams {
            let error = roles(&[streams[0], streams[1], streams[2], again]);
            assert_eq!(error, Err(ConnectionError::DuplicateStream));
        }
        assert_eq!(ConnectionError::DuplicateStream.code(), ErrorCode(0x103));
        for role in known {
            assert_eq!(role.end().map_err(ConnectionError::code), Err(ErrorCode(0x104)));
        }
    }

    #[test]
    fn unknown_streams_are_passed_over_and_pushes_refused() {
        // 0x21, the first of the reserved types, twice; then one of eight bytes.
        let streams: [&[u8]; 3] = [&[0x21], &[0x21], &[0xff; 8]];
        assert_eq!(roles(&streams), Ok(vec![Some(Role::Unknown); 3]));
        assert_eq!(Role::Unknown.end(), Ok(()));
        assert_eq!(roles(&[&[1]]), Err(ConnectionError::Pushed));
        assert_eq!(ConnectionError::Pushed.code(), ErrorCode(0x108));
    }

    #[test]
    fn a_type_may_come_in_pieces_with_more_behind_it() {
        let (mut all, mut stream) = (ServerStreams::default(), ServerStream::default());
        assert_eq!(all.read_type(&mut stream, &[0x40]), Ok((1, None)));
        assert_eq!(all.read_type(&mut stream, &[]), Ok((0, None)));
        assert_eq!(all.read_type(&mut stream, &[0x00, 0x04, 0x00]), Ok((1, Some(Role::Control))));
    }
}
