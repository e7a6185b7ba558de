//! The reader of replies, held to one rule above all: however a stream is cut into pieces, the events are the
//! same.

mod properties;
mod table;

use farfield_testkit::{corpus, properties::replies};

#[path = "../../examples/replies.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod example;

#[test]
fn the_example_prints_what_the_readme_shows_in_pieces_of_any_size() {
    for piece_bytes in [1, 7, 4096] {
        let output = example::conversation(piece_bytes);
        assert!(include_str!("../../README.md").contains(&output), "README.md is to show:\n{output}");
    }
}

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&[("http1_reply", replies::of_stream, 20)]);
}
