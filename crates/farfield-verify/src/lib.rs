//! Samples and summaries compared with the packets of a capture.
//!
//! The method is that of Hashemian, Krishnamurthy and Arlitt 2011 ("Web workload generation challenges",
//! section 3): requests are rebuilt from packets, and the generator's own times are compared with them, as
//! are connections over time and requests per connection. [`verify`] matches every sample with a
//! transaction, compares times, replies, arrivals, think times and the connection policy, [counts the
//! summary again](recount), and names what it [finds](findings).
//!
//! The packets are rebuilt by `farfield-capture`, which shares no code with the clients that are tested. Of
//! what recorded the samples this crate uses the type [`Sample`](farfield_base::Sample) alone; of what made
//! the load, the arrival process, so that the arrivals that were asked for can be drawn again.
//!
//! [`audit`] does the same for other tools: their reports are read, and compared with what they did.
//!
//! Nothing here opens a file or reads a clock.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod alignment;
pub mod audit;
pub mod clock;
pub mod concurrency;
pub mod distribution;
pub mod errors;
pub mod findings;
pub mod frame;
mod grid;
mod handshakes;
pub mod load;
pub mod matching;
pub mod paths;
pub mod policy;
pub mod recount;
pub mod run;
mod set_aside;
pub mod tables;
pub mod times;
pub mod verification;
mod websockets;

pub use findings::Finding;
pub use paths::PathDelay;
pub use run::{AskedFlow, AskedPolicy, RunRecord, RunStart, ScenarioDemands};
pub use set_aside::SetAside;
pub use times::TimeKind;
pub use verification::{AgreementLimits, Verification, Verified, schema, verify};
