//! Models fitted to logs, as people use them.

mod fit;
mod round_trip;
