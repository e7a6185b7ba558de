//! Users in virtual time, each by what it asks for and how: the scenes of one program, since each program is
//! linked on its own and has all that it uses compiled once more.

mod arrivals;
mod connections;
mod events;
mod flows;
mod hosts;
mod http2;
mod loads;
mod pools;
mod replays;
mod replies;
mod scene;
mod sessions;
mod stages;
mod surge;
mod websockets;
