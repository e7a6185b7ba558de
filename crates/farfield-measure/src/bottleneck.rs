//! The resource that gave out first: processors, workers, accept queue, descriptors, memory, swap, disk,
//! network, or the generator itself; from what monitors read, with the evidence.
//!
//! Each cause is a condition on the numbers of a second. It *gave out* in the first second from which the
//! condition held in three readings in a row (in all, if there are fewer): one reading may be a start or a
//! collection of garbage. An accept queue that overflowed for a moment is noted, not blamed. Of causes that
//! begin in the same second, the one that explains the others comes first: a full processor leaves
//! connections in the accept queue, not the other way round.
//!
//! The rules are those of the USE method (Gregg 2013, "Thinking Methodically about Performance", CACM 56:2):
//! for each resource its utilisation and its saturation. A lock, a slow database that is not monitored, or a
//! sleep in the server is no resource, and shows as `workers` if connections wait, else as nothing.

mod causes;
mod readings;
#[cfg(test)]
mod tests;

use crate::monitor::MonitorLog;
use readings::ExaminedSeries;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of a run that is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Examined {
    /// The whole seconds from the run's start in which there was load.
    pub seconds: u64,
    /// The generator's workers poll, so that their processors are always full.
    pub workers_poll: bool,
}

/// A resource that can give out, in the order of explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Cause")]
pub enum BottleneckCause {
    /// A worker of the generator used its processor fully.
    Generator,
    /// The processors that a tier may use, or the one that a process of one thread can use.
    Cpu,
    /// All processors of the machine, which the tier shares with other work.
    MachineCpu,
    /// Memory of the machine or of a control group.
    Memory,
    /// Memory that is read back from swap all the time.
    Swap,
    /// Descriptors of a process.
    Descriptors,
    /// A disk.
    Disk,
    /// An interface, the memory of TCP, or receive buffers of UDP.
    Network,
    /// Processes or threads that take connections: all are busy, their processors are not.
    Workers,
    /// A listener's accept queue.
    AcceptQueue,
}

/// Something that gave out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exhausted {
    /// The resource that gave out.
    pub cause: BottleneckCause,
    /// The tier of the resource, or empty.
    pub tier: String,
    /// The process, thread, listener, disk or interface; empty if it was the tier or the machine as a whole.
    pub name: String,
    /// The second from which it held, since the start of the run, as in `monitors.parquet`.
    pub second: u64,
    /// The number of readings in which it held.
    pub readings: u64,
    /// The value read meanwhile: the mean of shares and processors, the largest of counts.
    pub value: f64,
    /// Limit in the unit of the value; null if there is none.
    pub limit: Option<f64>,
    /// All of this in words.
    pub in_words: String,
}

/// The resources that gave out in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bottleneck {
    /// The resource that gave out first; null if none did.
    pub first: Option<BottleneckCause>,
    /// All that gave out, the first one first.
    pub exhausted: Vec<Exhausted>,
    /// The result in one sentence.
    pub in_words: String,
    /// The number of seconds with readings.
    pub seconds: u64,
    /// Numbers that could not be read, and other remarks, one sentence each.
    pub notes: Vec<String>,
}

/// Finds what gave out first in `examined`; `None` if nothing was read of any server in it.
pub fn find(log: &MonitorLog, examined: Examined) -> Option<Bottleneck> {
    let readings = ExaminedSeries::of(log, examined.seconds);
    let seconds = readings.seconds();
    if seconds == 0 {
        return None;
    }
    let mut exhausted = causes::all(&readings, examined.workers_poll);
    exhausted.sort_by(|one, other| {
        (one.second, one.cause).cmp(&(other.second, other.cause)).then_with(|| one.name.cmp(&other.name))
    });
    let mut notes = log.notes();
    notes.extend(causes::brief_overflows(&readings, &exhausted));
    let in_words = match exhausted.as_slice() {
        [] => causes::nothing_in_words(&readings),
        [only] => only.in_words.clone(),
        [first, others @ ..] => {
            let others = others.iter().map(|one| one.in_words.as_str()).collect::<Vec<_>>().join("; ");
            format!("{}; {others}", first.in_words)
        }
    };
    let first = exhausted.first().map(|first| first.cause);
    Some(Bottleneck { first, exhausted, in_words, seconds, notes })
}
