//! When users come and what they ask for: distributions, arrival processes, request sets.
