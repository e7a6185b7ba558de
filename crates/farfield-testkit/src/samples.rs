//! Samples for tests that care about a few of their fields.

use farfield_base::{Instant, Outcome, Sample, Stamp};

/// A request on a connection of its own, due and begun at `due` and over at `done`: connected after a tenth
/// of that, answered from the middle on.
pub fn request(due: Instant, done: Instant, outcome: Outcome) -> Sample {
    let took = done.since(due).as_ns();
    let after = |part: u64| Stamp::at(Instant::from_ns(due.as_ns() + part));
    Sample {
        due,
        connect_begun: after(0),
        connected: after(took / 10),
        sent: after(took / 10),
        first_byte: after(took / 2),
        done,
        body_bytes: 100,
        reply_bytes: 150,
        connection: 0,
        status: 200,
        outcome,
        ..Sample::EMPTY
    }
}
