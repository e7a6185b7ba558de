//! The fuzzer's properties of delivery traces, over its corpus and input near it.

use farfield_testkit::corpus_tests;
use farfield_testkit::properties::traces;

corpus_tests!(300, [("net_trace", traces::of_trace, 3)]);
