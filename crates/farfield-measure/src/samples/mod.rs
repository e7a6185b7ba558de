//! The samples file: every [`Sample`](farfield_base::Sample) of a run as one Parquet row, readable while the
//! run goes on.
//!
//! [`SamplesWriter`] takes samples as they are recorded and keeps the file valid behind it; [`SamplesFile`]
//! is the exact inverse. Neither opens a file: the engine hands in a [`SampleFile`], the report anything
//! that reads at an offset. What is written where, and why that survives a kill, is described in
//! [`writer`](SamplesWriter).
//!
//! # Columns
//! | column | type | is |
//! | --- | --- | --- |
//! | `due_ns`, `done_ns` | int64 | nanoseconds since the start of the run |
//! | `connect_begun_ns`, `connected_ns`, `sent_ns`, `first_byte_ns` | int64, null if never | the same |
//! | `body_bytes`, `reply_bytes` | int64 | bytes |
//! | `user`, `number`, `request` | uint32 | as in the sample |
//! | `connection` | uint32, null if none | as in the sample |
//! | `class`, `status` | uint16 | as in the sample |
//! | `syn_tries` | uint8, null if not recorded | as in the sample's [`TcpStats`](farfield_base::TcpStats) |
//! | `retransmits`, `out_of_order` | uint16, null if not recorded | the same |
//! | `srtt_us` | uint32, null also if none was measured | the same |
//! | `session` | uint32, null if none | as in the sample |
//! | `host` | uint8 | the number of the host that was asked, 0 for the target |
//! | `page` | uint8 | the code of [`PagePart`](farfield_base::PagePart) |
//! | `outcome` | string | [`Outcome::name`](farfield_base::Outcome::name) |
//!
//! Times are exact. They and the byte counts are *signed* because people subtract them, and unsigned
//! differences wrap or fail; a value of 2⁶³ and more (292 years) appears as negative and is read back as it
//! was.
//!
//! The file's key-value metadata hold `farfield.samples_version`, `farfield.scenario`, `farfield.seed`,
//! `farfield.keep`, `farfield.left_out` (samples that were not kept) and `farfield.complete`, which is
//! `true` only when the run came to its end.
//!
//! Not here: dictionaries, statistics, page indexes and bloom filters. They cost the load generator time for
//! queries that read whole columns anyway.

mod batch;
mod columns;
mod event_columns;
mod group;
mod reader;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

pub use columns::{COLUMNS, Cell, Column};
pub use reader::{SamplesError, SamplesFile, read_samples};
pub use writer::{ClosedSamples, SampleFile, SamplesWriteError, SamplesWriter};

use std::fmt;
use std::num::NonZeroU32;

/// The file's label of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLabel {
    /// The scenario's name.
    pub scenario: String,
    /// The run's seed.
    pub seed: u64,
}

/// The samples that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Every one.
    All,
    /// The first and every k-th after it, in the order in which they are written.
    EveryKth(NonZeroU32),
    /// None: the file has its columns and no rows.
    None,
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keep::All => f.write_str("all"),
            Keep::EveryKth(k) => write!(f, "every {k}"),
            Keep::None => f.write_str("none"),
        }
    }
}
