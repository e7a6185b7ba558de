//! Between the segments of `farfield-tcp` and the headers of `farfield-wire`: the same fields under two roofs, for
//! neither knows the other.

use farfield_tcp::{Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use farfield_wire as wire;
use farfield_wire::{TcpFlags, TcpOptions, TcpRepr};

/// What `repr` means, before `payload_len` bytes of data.
pub fn segment_of(repr: &TcpRepr, payload_len: u32) -> Segment {
    let has = |flag| repr.flags.contains(flag);
    Segment {
        seq: SeqNumber(repr.seq.0),
        ack: SeqNumber(repr.ack.0),
        flags: Flags {
            syn: has(TcpFlags::SYN),
            ack: has(TcpFlags::ACK),
            fin: has(TcpFlags::FIN),
            rst: has(TcpFlags::RST),
            psh: has(TcpFlags::PSH),
        },
        window: repr.window,
        options: options_of(&repr.options),
        payload_len,
    }
}

/// How `segment` stands on the wire.
pub fn repr_of(segment: &Segment, source_port: u16, destination_port: u16) -> TcpRepr {
    let Flags { syn, ack, fin, rst, psh } = segment.flags;
    let bit = |set, flag| if set { flag } else { TcpFlags::NONE };
    TcpRepr {
        source_port,
        destination_port,
        seq: wire::SeqNumber(segment.seq.0),
        ack: wire::SeqNumber(segment.ack.0),
        flags: bit(syn, TcpFlags::SYN)
            | bit(ack, TcpFlags::ACK)
            | bit(fin, TcpFlags::FIN)
            | bit(rst, TcpFlags::RST)
            | bit(psh, TcpFlags::PSH),
        window: segment.window,
        urgent: 0,
        options: wire_options(&segment.options),
    }
}

fn options_of(options: &TcpOptions) -> Options {
    let mut sack = SackBlocks::default();
    for (from, to) in options.sack.as_slice() {
        sack.push(SeqNumber(from.0), SeqNumber(to.0));
    }
    Options {
        mss: options.mss,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        sack,
        timestamps: options.timestamps.map(|stamps| Timestamps { value: stamps.value, echo: stamps.echo }),
    }
}

fn wire_options(options: &Options) -> TcpOptions {
    let mut sack = wire::SackBlocks::default();
    for (from, to) in options.sack.as_slice() {
        sack.push(wire::SeqNumber(from.0), wire::SeqNumber(to.0));
    }
    TcpOptions {
        mss: options.mss,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        timestamps: options
            .timestamps
            .map(|stamps| wire::Timestamps { value: stamps.value, echo: stamps.echo }),
        sack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same() {
        let mut sack = SackBlocks::default();
        sack.push(SeqNumber(7), SeqNumber(9));
        let segment = Segment {
            seq: SeqNumber(u32::MAX),
            ack: SeqNumber(12),
            flags: Flags { psh: true, ..Flags::FIN_ACK },
            window: 77,
            options: Options {
                timestamps: Some(Timestamps { value: 3, echo: 4 }),
                sack,
                ..Options::default()
            },
            payload_len: 5,
        };
        assert_eq!(segment_of(&repr_of(&segment, 1, 2), 5), segment);
        let syn =
            Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::default() };
        let syn = Segment { flags: Flags::SYN, options: syn, ..Segment::default() };
        let repr = repr_of(&syn, 1, 2);
        assert_eq!((segment_of(&repr, 0), repr.header_len() as u32), (syn, 20 + syn.options.wire_len()));
    }
}
