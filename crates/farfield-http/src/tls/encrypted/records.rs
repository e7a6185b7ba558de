//! The borders of records in received bytes (RFC 8446 section 5.1): whether the peer speaks TLS at all, and
//! whether a connection closed in the middle of a record.

/// Bytes of a record's header: type, version, length.
const HEADER: usize = 5;

/// Follows the records of one direction.
#[derive(Debug, Default)]
pub(super) struct Records {
    header: [u8; HEADER],
    /// Bytes of the header that have come.
    header_read: u8,
    /// Bytes of the record's content that have not come.
    content_left: u16,
    /// Headers of records that have come and were not [taken](Self::take_count).
    count: u64,
}

impl Records {
    /// True if what has come is whole records.
    pub fn are_whole(&self) -> bool {
        self.header_read == 0 && self.content_left == 0
    }

    /// Records that began since this was last asked.
    pub fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    /// Follows `bytes`; false if they begin what is no record.
    pub fn follow(&mut self, mut bytes: &[u8]) -> bool {
        while let [byte, rest @ ..] = bytes {
            if self.content_left > 0 {
                let taken = bytes.len().min(usize::from(self.content_left));
                self.content_left -= taken as u16;
                bytes = &bytes[taken..];
                continue;
            }
            self.header[usize::from(self.header_read)] = *byte;
            self.header_read += 1;
            bytes = rest;
            if !self.begins_record() {
                return false;
            }
            if usize::from(self.header_read) == HEADER {
                self.header_read = 0;
                self.count += 1;
                self.content_left = u16::from_be_bytes([self.header[3], self.header[4]]);
            }
        }
        true
    }

    /// Types 20 to 23, and the versions of SSL 3.0 and later, all of which begin with 3.
    fn begins_record(&self) -> bool {
        match self.header_read {
            1 => matches!(self.header[0], 20..=23),
            2 => self.header[1] == 3,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three records, one of them empty, cut at every byte.
    #[test]
    fn records_end_where_their_lengths_say() {
        let bytes = [&[22, 3, 1, 0, 2, 9, 9][..], &[23, 3, 3, 0, 0], &[21, 3, 3, 0, 1, 7]].concat();
        for cut in 0..=bytes.len() {
            let mut records = Records::default();
            assert!(records.follow(&bytes[..cut]));
            assert_eq!(records.are_whole(), [0, 7, 12, 18].contains(&cut), "cut at {cut}");
            let begun = [5, 12, 17].into_iter().filter(|header| *header <= cut).count() as u64;
            assert_eq!(records.take_count(), begun, "cut at {cut}");
            assert!(records.follow(&bytes[cut..]) && records.are_whole(), "cut at {cut}");
            assert_eq!(records.take_count(), 3 - begun, "cut at {cut}");
        }
    }

    #[test]
    fn other_protocols_are_recognized() {
        for text in ["HTTP/1.1 400 Bad Request\r\n", "220 mail ESMTP", "SSH-2.0", "\x16H"] {
            assert!(!Records::default().follow(text.as_bytes()), "{text}");
        }
    }
}
