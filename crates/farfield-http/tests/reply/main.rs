//! The reader of replies, held to one rule above all: however a stream is cut into pieces, the events are the
//! same.

mod properties;
mod table;

use farfield_testkit::{corpus, properties::replies};

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&[("http1_reply", replies::of_stream, 20)]);
}
