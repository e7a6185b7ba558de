//! A run directory into terminal text and JSON.
