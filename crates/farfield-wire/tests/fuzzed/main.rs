//! The laws that the fuzzer holds packets, offload and captures to, over its corpus and over damaged packets.

#[path = "../scene/mod.rs"]
mod scene;

mod laws;

use farfield_wire::{Fragments, VnetHeader};
use proptest::prelude::*;
use scene::{data, tcp, tcp_packet, udp_packet, v4, v6};
use std::fs;
use std::path::Path;

fn each_seed(target: &str, seeds_min: usize, law: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(folder).expect("the corpus is in the repository") {
        let path = entry.expect("a readable folder").path();
        println!("{}", path.display());
        law(&fs::read(&path).expect("a readable seed"));
        seeds += 1;
    }
    assert!(seeds >= seeds_min, "{seeds} seeds of {target}");
}

#[test]
fn the_corpus_obeys_the_laws() {
    each_seed("wire_packet", 6, laws::of_a_packet);
    each_seed("wire_offload", 4, laws::of_offload);
    each_seed("wire_fragments", 2, laws::of_fragments);
    each_seed("wire_capture", 2, laws::of_a_capture);
}

fn seeds() -> Vec<Vec<u8>> {
    let both = [v4(), v6()].into_iter();
    both.flat_map(|ip| [tcp_packet(ip, &tcp(), &data(300)), udp_packet(ip, &data(400))]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_packets_obey_the_laws(
        seed in 0usize..4, hits in prop::collection::vec((0usize..80, any::<u8>()), 0..4), size in 1u16..600,
    ) {
        let mut packet = seeds().swap_remove(seed);
        hits.into_iter().for_each(|(at, byte)| packet[at] = byte);
        laws::of_a_packet(&packet);
        let offload = [&VnetHeader::default().emit()[..], &size.to_be_bytes(), &packet].concat();
        laws::of_offload(&offload);
        let mut fragments = Vec::new();
        let mut header = [0; Fragments::HEADER_LEN_MAX + 400];
        if let Ok(mut pieces) = Fragments::new(&packet, 200, 1) {
            while let Some(piece) = pieces.next(&mut header) {
                let fragment = [&header[..piece.header_len], piece.payload].concat();
                fragments.extend((fragment.len() as u16).to_be_bytes());
                fragments.extend(fragment);
            }
        }
        laws::of_fragments(&fragments);
    }
}
