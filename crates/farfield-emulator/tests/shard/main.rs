//! Clients, links and models of servers in virtual time: the scenes of one program, since each program is
//! linked on its own and has all that it uses compiled once more.

mod allocations;
mod changes;
mod closures;
mod cool_down;
mod counts;
mod cross_traffic;
mod crossings;
mod host_ways;
mod keepalive;
mod losses;
mod marks;
mod models;
mod overloaded;
mod parts;
mod profiles;
mod retries;
mod router;
mod router_offload;
mod scene;
mod shards;
mod simulated;
mod tcp_counters;
mod tls;
