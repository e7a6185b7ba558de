//! HTTP client protocols as state machines over byte streams.
