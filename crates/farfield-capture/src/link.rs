//! Offset of the IP packet behind the header of the link (the LINKTYPE registry of tcpdump.org).

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkPayload {
    /// An IP packet, `offset` bytes behind the frame's first; a cooked header may name the interface.
    Ip { offset: usize, interface: Option<u32> },
    /// Another protocol.
    Other,
    /// Less than the header of its link.
    Short,
    /// A link type that is not read.
    Unknown,
}

/// Tags of VLANs that may be stacked before the protocol.
const TAGS_MAX: usize = 8;

/// Looks behind the header of a frame of `link_type`, which lies in `bytes` as a whole if it holds a packet.
pub(crate) fn open(link_type: u16, bytes: &[u8]) -> LinkPayload {
    match behind_header(link_type, bytes) {
        LinkPayload::Ip { offset, .. } if offset > bytes.len() => LinkPayload::Short,
        frame => frame,
    }
}

fn behind_header(link_type: u16, bytes: &[u8]) -> LinkPayload {
    match link_type {
        1 => behind_ether_type(bytes, 12, None),
        // BSD loopback: an address family, in the order of bytes of the machine that captured.
        0 => u32_at(bytes, 0).map_or(LinkPayload::Short, |family| by_family(family.min(family.swap_bytes()))),
        108 => u32_at(bytes, 0).map_or(LinkPayload::Short, by_family),
        12 | 14 | 101 | 228 | 229 => LinkPayload::Ip { offset: 0, interface: None },
        113 => behind_ether_type(bytes, 14, None),
        276 => match (u32_at(bytes, 4), u16_at(bytes, 0)) {
            (Some(interface), Some(protocol)) => behind_protocol(bytes, protocol, 20, Some(interface)),
            _ => LinkPayload::Short,
        },
        _ => LinkPayload::Unknown,
    }
}

fn by_family(family: u32) -> LinkPayload {
    // AF_INET is 2 everywhere; AF_INET6 is 10 on Linux, 24, 28 and 30 on the BSDs and macOS.
    match family {
        2 | 10 | 24 | 28 | 30 => LinkPayload::Ip { offset: 4, interface: None },
        _ => LinkPayload::Other,
    }
}

/// The content behind an EtherType at `at`.
fn behind_ether_type(bytes: &[u8], at: usize, interface: Option<u32>) -> LinkPayload {
    match u16_at(bytes, at) {
        Some(protocol) => behind_protocol(bytes, protocol, at + 2, interface),
        None => LinkPayload::Short,
    }
}

/// The content at `offset`, if `protocol` was said before it; passes over tags of VLANs (IEEE 802.1Q,
/// 802.1ad).
fn behind_protocol(
    bytes: &[u8],
    mut protocol: u16,
    mut offset: usize,
    interface: Option<u32>,
) -> LinkPayload {
    for _tag in 0..TAGS_MAX {
        match protocol {
            0x0800 | 0x86dd => return LinkPayload::Ip { offset, interface },
            0x8100 | 0x88a8 | 0x9100 => match u16_at(bytes, offset + 2) {
                Some(inner) => (protocol, offset) = (inner, offset + 4),
                None => return LinkPayload::Short,
            },
            _ => return LinkPayload::Other,
        }
    }
    LinkPayload::Other
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: LinkPayload = LinkPayload::Ip { offset: 0, interface: None };

    fn at(offset: usize) -> LinkPayload {
        LinkPayload::Ip { offset, interface: None }
    }

    #[test]
    fn each_link_type_has_its_header() {
        let mut ethernet = vec![0; 12];
        ethernet.extend([0x08, 0x00, 0x45]);
        assert_eq!(open(1, &ethernet), at(14));
        let mut tagged = vec![0; 12];
        tagged.extend([0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 7, 0x86, 0xdd, 0x60]);
        assert_eq!(open(1, &tagged), at(22));
        assert_eq!(open(1, &tagged[..18]), LinkPayload::Short);
        let mut arp = vec![0; 12];
        arp.extend([0x08, 0x06]);
        assert_eq!(open(1, &arp), LinkPayload::Other);
        for raw in [12, 14, 101, 228, 229] {
            assert_eq!(open(raw, &[0x45]), IP);
        }
        assert_eq!(open(0, &[2, 0, 0, 0]), at(4));
        assert_eq!(open(0, &[0, 0, 0, 30]), at(4));
        assert_eq!(open(108, &[0, 0, 0, 2]), at(4));
        assert_eq!(open(108, &[0, 0, 0, 7]), LinkPayload::Other);
        let mut cooked = vec![0; 14];
        // The second kind says its protocol first, and its header ends later.
        let mut second = vec![0x08, 0x00];
        second.extend([0; 17]);
        assert_eq!(open(276, &second), LinkPayload::Short);
        second.push(0);
        assert_eq!(open(276, &second), LinkPayload::Ip { offset: 20, interface: Some(0) });
        cooked.extend([0x08, 0x00]);
        assert_eq!(open(113, &cooked), at(16));
        let mut cooked = vec![0x86, 0xdd, 0, 0, 0, 0, 0, 9];
        cooked.resize(20, 0);
        assert_eq!(open(276, &cooked), LinkPayload::Ip { offset: 20, interface: Some(9) });
        assert_eq!(open(276, &cooked[..6]), LinkPayload::Short);
        assert_eq!(open(147, &ethernet), LinkPayload::Unknown);
    }
}
