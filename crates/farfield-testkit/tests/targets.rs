//! The table of fuzz targets and their corpus; and the properties of those targets whose crates' own tests
//! cannot see them.

use farfield_testkit::corpus::{self, CorpusTarget};
use farfield_testkit::properties::{gateways, imports, quic, runs, scenarios};
use farfield_testkit::targets::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const OWN: &[CorpusTarget] = &[
    ("gateway_clients", gateways::of_clients, 7),
    ("gateway_packet", gateways::of_packet, 10),
    ("import_curl", imports::of_curl, 3),
    ("import_har", imports::of_har, 2),
    ("import_jmeter", imports::of_jmeter, 2),
    ("import_openapi", imports::of_openapi, 2),
    ("import_postman", imports::of_postman, 3),
    ("quic_packets", quic::of_packets, 14),
    ("run_directory", runs::of_directory, 4),
    ("run_histograms", runs::of_histograms, 2),
    ("run_samples", runs::of_samples, 3),
    ("run_series", runs::of_series, 3),
    ("run_summary", runs::of_summary, 3),
    ("scenario_text", scenarios::of_text, 13),
];

#[test]
fn each_target_has_a_corpus_and_each_corpus_a_target() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert!(names.is_sorted() && names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folders = fs::read_dir(corpus).expect("the corpus is in the repository");
    let folders: BTreeSet<String> =
        folders.map(|entry| entry.expect("a folder").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(folders, names.iter().map(|name| (*name).to_owned()).collect());
    assert!(OWN.iter().all(|(name, ..)| names.contains(name)));
}

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(OWN);
}

#[test]
fn input_near_a_seed_has_the_properties() {
    corpus::check_damaged(OWN, 200);
}
