//! A TCP connection fed by an adversary: any segments, any timers, an application that does anything at any moment.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

#[path = "../../crates/farfield-tcp/tests/hostile/input.rs"]
mod input;
#[path = "../../crates/farfield-tcp/tests/hostile/ordeal.rs"]
mod ordeal;
#[path = "../../crates/farfield-tcp/tests/hostile/witness.rs"]
mod witness;

libfuzzer_sys::fuzz_target!(|input: &[u8]| ordeal::is_endured(input));
