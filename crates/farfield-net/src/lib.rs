//! The packet-level network. Today it holds the [event wheel](wheel) that every shard turns on; links, queues
//! and topologies come to live beside it. Packets are opaque here: no TCP, no HTTP.

pub mod wheel;

pub use wheel::Wheel;
