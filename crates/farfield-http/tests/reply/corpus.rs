//! The fuzzer's corpus, so that what it once found is held against every change without a fuzzer.

use crate::story::obeys_the_laws;
use std::fs;
use std::path::Path;

#[test]
fn the_corpus_obeys_the_laws() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/http1_reply");
    let mut seeds = 0;
    for entry in fs::read_dir(folder).expect("the corpus is in the repository") {
        let path = entry.expect("a readable folder").path();
        println!("{}", path.display());
        obeys_the_laws(&fs::read(&path).expect("a readable seed"));
        seeds += 1;
    }
    assert!(seeds >= 20, "{seeds} seeds");
}
