//! Between the segments of `farfield-tcp`, which have no ports, and the headers of `farfield-wire`.

use farfield_tcp::{Ecn, Flags, Segment};
use farfield_wire::{TcpFlags, TcpRepr};

/// The segment of header `repr`, before `payload_len` bytes of data, in a packet that is not marked.
pub fn segment_of(repr: &TcpRepr, payload_len: u32) -> Segment {
    let has = |flag| repr.flags.contains(flag);
    Segment {
        seq: repr.seq,
        ack: repr.ack,
        flags: Flags {
            syn: has(TcpFlags::SYN),
            ack: has(TcpFlags::ACK),
            fin: has(TcpFlags::FIN),
            rst: has(TcpFlags::RST),
            psh: has(TcpFlags::PSH),
            ece: has(TcpFlags::ECE),
            cwr: has(TcpFlags::CWR),
        },
        window: repr.window,
        options: repr.options,
        payload_len,
        ecn: Ecn::NotEct,
    }
}

/// The header of `segment` between these ports.
pub fn repr_of(segment: &Segment, source_port: u16, destination_port: u16) -> TcpRepr {
    let Flags { syn, ack, fin, rst, psh, ece, cwr } = segment.flags;
    let bit = |set, flag| if set { flag } else { TcpFlags::NONE };
    TcpRepr {
        source_port,
        destination_port,
        seq: segment.seq,
        ack: segment.ack,
        flags: bit(syn, TcpFlags::SYN)
            | bit(ack, TcpFlags::ACK)
            | bit(fin, TcpFlags::FIN)
            | bit(rst, TcpFlags::RST)
            | bit(psh, TcpFlags::PSH)
            | bit(ece, TcpFlags::ECE)
            | bit(cwr, TcpFlags::CWR),
        window: segment.window,
        urgent: 0,
        options: segment.options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_tcp::{Options, SackBlocks, SeqNumber, Timestamps};

    #[test]
    fn there_and_back_is_the_same() {
        let mut sack = SackBlocks::default();
        sack.push(SeqNumber(7), SeqNumber(9));
        let segment = Segment {
            seq: SeqNumber(u32::MAX),
            ack: SeqNumber(12),
            flags: Flags { psh: true, ece: true, cwr: true, ..Flags::FIN_ACK },
            window: 77,
            options: Options {
                timestamps: Some(Timestamps { value: 3, echo: 4 }),
                sack,
                ..Options::default()
            },
            payload_len: 5,
            ecn: Ecn::NotEct,
        };
        assert_eq!(segment_of(&repr_of(&segment, 1, 2), 5), segment);
        let timestamps = Some(Timestamps { value: 3, echo: 0 });
        let options =
            Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::default() };
        for options in [options, Options { timestamps, ..options }] {
            let syn = Segment { flags: Flags::SYN, options, ..Segment::default() };
            let repr = repr_of(&syn, 1, 2);
            assert_eq!(segment_of(&repr, 0), syn);
            // Links carry as many bytes as leave for the server.
            assert_eq!(20 + options.len(), repr.header_len());
        }
    }
}
