//! The fuzzer's corpus, so that what it once found is held against every change without a fuzzer.

use crate::ordeal::is_endured;
use std::fs;
use std::path::Path;

#[test]
fn the_corpus_is_endured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tcp_connection");
    let mut seeds = 0;
    for entry in fs::read_dir(folder).expect("the corpus is in the repository") {
        let path = entry.expect("a readable folder").path();
        println!("{}", path.display());
        is_endured(&fs::read(&path).expect("a readable seed"));
        seeds += 1;
    }
    assert!(seeds >= 10, "{seeds} seeds");
}
