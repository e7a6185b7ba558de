//! Real programs and machines on emulated paths, and servers that run already.

mod browsers;
mod card;
mod offload;
mod path;
mod programs;
mod routed;
mod running_server;
mod running_server_refused;
mod several;
mod shell;
