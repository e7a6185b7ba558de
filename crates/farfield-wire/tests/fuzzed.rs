//! The fuzzer's properties of packets, offload and captures, over its corpus and over damaged packets.

mod scene;

use farfield_testkit::corpus::{self, CorpusTarget};
use farfield_testkit::properties::packets;
use farfield_wire::{Fragments, VnetHeader};
use proptest::prelude::*;
use scene::{data, tcp, tcp_packet, udp_packet, v4, v6};

/// The targets with their properties.
const TARGETS: [CorpusTarget; 4] = [
    ("wire_packet", packets::of_a_packet, 6),
    ("wire_offload", packets::of_offload, 4),
    ("wire_fragments", packets::of_fragments, 2),
    ("wire_capture", packets::of_a_capture, 2),
];

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&TARGETS);
}

fn seeds() -> Vec<Vec<u8>> {
    let both = [v4(), v6()].into_iter();
    both.flat_map(|ip| [tcp_packet(ip, &tcp(), &data(300)), udp_packet(ip, &data(400))]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_packets_have_the_properties(
        seed in 0usize..4, hits in prop::collection::vec((0usize..80, any::<u8>()), 0..4), size in 1u16..600,
    ) {
        let mut packet = seeds().swap_remove(seed);
        hits.into_iter().for_each(|(at, byte)| packet[at] = byte);
        packets::of_a_packet(&packet);
        let offload = [&VnetHeader::default().emit()[..], &size.to_be_bytes(), &packet].concat();
        packets::of_offload(&offload);
        let mut fragments = Vec::new();
        let mut header = [0; Fragments::HEADER_LEN_MAX + 400];
        if let Ok(mut pieces) = Fragments::new(&packet, 200, 1) {
            while let Some(piece) = pieces.next(&mut header) {
                let fragment = [&header[..piece.header_len], piece.payload].concat();
                fragments.extend((fragment.len() as u16).to_be_bytes());
                fragments.extend(fragment);
            }
        }
        packets::of_fragments(&fragments);
    }
}
