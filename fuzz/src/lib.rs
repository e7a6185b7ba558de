//! The properties that the targets check on any bytes: those of the crates' own tests, which also check them on the corpus.

#[path = "../../crates/farfield-fit/tests/logs/properties.rs"]
pub mod logs;
#[path = "../../crates/farfield-wire/tests/fuzzed/laws.rs"]
pub mod packets;
#[path = "../../crates/farfield-traffic/tests/recordings/properties.rs"]
pub mod recordings;
#[path = "../../crates/farfield-user/tests/replies/laws.rs"]
pub mod sessions;
#[path = "../../crates/farfield-traffic/tests/sites/properties.rs"]
pub mod sites;
#[path = "../../crates/farfield-net/tests/traces/laws.rs"]
pub mod traces;
