//! The packet-level network: event wheel, links, queues, topologies.
