//! The embedded origin server, with knobs that make it a known server.
