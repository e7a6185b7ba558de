//! The rendezvous of the parts of a run: one gatherer, which parts dial in to.
//!
//! A part needs no way back: it connects to the [`Gatherer`], over TLS with a key that its [`Ticket`] names,
//! and all goes over this connection. The gatherer hands out the scenario and the part, measures the distance
//! of the part's monotonic clock from its own (module `clocks`), waits until all parts are ready, and gives
//! each the start in its own clock. It hears of each part twice a second, names those that it has lost, and
//! receives the files of their run directories, which `farfield merge` adds up.
//!
//! Frames are small and bounded (module `wire`), and nothing is taken from a peer that has not shown the
//! token. A thread with a small stack serves each part, blocked in poll(2).

pub(crate) mod clocks;
mod gatherer;
mod link;
mod member;
#[cfg(test)]
mod tests;
pub mod ticket;
mod wire;

/// The digest by which a part and the gatherer see that they have one scenario.
fn scenario_digest(scenario: &str) -> String {
    ticket::hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, scenario.as_bytes()).as_ref())
}

pub use gatherer::{GatherError, GatherSettings, Gatherer, News, RendezvousResult, ReturnedPart};
pub use member::{JoinError, JoinSettings, Member};
pub use ticket::{GatherKey, Ticket, TicketError};
pub use wire::{HandoutFile, PartFigures};
