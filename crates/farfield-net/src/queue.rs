//! Queues before a link's transmitter: without limit, drop-tail, RED, PIE, CoDel, FQ-CoDel or FQ-PIE.
//!
//! The packet in transmission has left the queue and counts no more. Drop-tail, RED and PIE decide when a
//! packet comes and know its departure then. CoDel decides when a packet is about to leave, by what has come
//! behind it, and FQ-CoDel and FQ-PIE which one: see [`codel`] for how that is had without an event a
//! departure.

mod backlog;
pub mod codel;
mod flows;
pub mod fq_codel;
pub mod fq_pie;
mod limit;
mod mark;
pub mod pie;
pub mod red;
mod spec;

pub(crate) use backlog::Backlog;
pub use limit::{Limit, LimitError};
pub(crate) use mark::Mark;
pub use spec::{QueueError, QueueSpec};

/// A discipline with its parameters. Closed: a caller that predicts delays and drops knows each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Discipline {
    /// Everything waits.
    Unlimited,
    /// Packets that find the queue full are dropped.
    DropTail(Limit),
    /// Packets are dropped at random as they come, more often the longer the queue has been.
    Red(red::Parameters),
    /// Packets are dropped at random as they come, more often the further the delay is above its target.
    Pie(pie::Parameters),
    /// Packets that have waited too long for too long are dropped as they are about to leave.
    Codel(codel::Parameters),
    /// Each flow has a queue of its own under CoDel, and flows take turns.
    FqCodel(fq_codel::Parameters),
    /// Each flow has a queue of its own under PIE, and flows take turns.
    FqPie(fq_pie::Parameters),
}

impl Discipline {
    /// True if every packet's fate is known when it is offered.
    pub(crate) fn decides_at_once(&self) -> bool {
        !matches!(self, Discipline::Codel(_) | Discipline::FqCodel(_) | Discipline::FqPie(_))
    }
}
