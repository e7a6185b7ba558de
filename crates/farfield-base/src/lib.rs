//! Types that all crates share: integer-nanosecond [time], [rates](rate::Rate) and
//! [byte sizes](size::Bytes) with their parsing, [seeded random streams](random), and the
//! [sample](sample::Sample) that a user records and `farfield-measure` folds.
//!
//! Nothing here reads a clock, opens a file or knows a protocol.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod backoff;
pub mod calendar;
pub mod cause;
mod client;
pub mod credentials;
mod error_code;
mod event_stats;
mod host;
pub mod http_stats;
pub mod index;
pub mod load_counts;
pub mod merge;
pub mod network_counts;
pub mod network_drops;
pub mod note;
pub mod opened;
pub mod outcome;
mod part;
pub mod printable;
pub mod quantity;
pub mod random;
pub mod rate;
pub mod sample;
pub mod share;
pub mod size;
mod stage_span;
pub mod tenths;
pub mod text_or_table;
pub mod time;
mod unix_address;
pub mod window;
pub mod words;

pub use backoff::Backoff;
pub use cause::{Cause, Detail, Ending, Rule, Sender, Signal};
pub use client::ClientId;
pub use credentials::{is_credential, without_credentials, without_userinfo, words_without_credentials};
pub use event_stats::{EventStats, ReplyEvent};
pub use host::HostNumber;
pub use http_stats::{HttpStats, SpokenVersion};
pub use load_counts::{AlternativeCounts, ContentCounts, LoadCounts, MoveCounts, WebSocketCounts};
pub use merge::Merge;
pub use network_counts::{CrossCounts, HostCounts, LinkImpairments, PacketCounts};
pub use network_drops::NetworkDrops;
pub use note::{KeptExchange, Note, SessionBegin, SessionEnd, SessionFailure};
pub use opened::Opened;
pub use outcome::{Fault, Outcome};
pub use part::Part;
pub use printable::printable;
pub use quantity::QuantityError;
pub use rate::Rate;
pub use sample::{EarlyData, PagePart, Sample, Stamp, TcpStats, TlsStats, TlsVersion};
pub use share::Share;
pub use size::Bytes;
pub use stage_span::StageSpan;
pub use tenths::Tenths;
pub use text_or_table::TextOrTable;
pub use time::{Duration, Instant};
pub use unix_address::UnixAddress;
pub use window::Window;
pub use words::words;
