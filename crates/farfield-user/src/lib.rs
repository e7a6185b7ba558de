//! The virtual user: what it does between arriving and leaving, over whatever carries its bytes.
//!
//! A [`Population`] is the users of one shard. It is handed the time and what happened (`handle_*`), and asks
//! a [`Transport`] to connect, send, close and wake it. It does no I/O, reads no clock, and does not know
//! which plane it runs on. The models of load ([`farfield_traffic::load`]) decide when users act, the
//! [`Policy`] over how many connections, and the [`Itinerary`] says what they ask for and holds the bytes of
//! it.
//!
//! Users of several kinds are several [flows](Flow) of one population, each with its load and its itinerary.
//!
//! Every request ends as one [`Sample`](farfield_base::Sample), whatever became of it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod alt_svc;
mod alternatives;
mod answers;
mod any_protocol;
pub mod book;
mod buffers;
mod connection;
mod connections;
mod counters;
mod crowd;
mod dispatch;
mod driver;
mod early;
mod egress;
mod event_policy;
mod exchange;
mod expect;
mod flow;
mod flow_transport;
pub mod gauge;
mod held;
mod host;
mod http1;
mod http2;
mod http3;
pub mod itinerary;
mod leaving;
mod load;
mod messages;
mod off;
mod offered_load;
mod outgoing;
mod pages;
mod plan;
pub mod policy;
mod pool;
mod population;
mod profile;
mod progress;
mod protocol;
mod proxy;
mod quic;
mod reaction;
mod replay;
mod replies;
mod secure;
mod session;
mod settle;
mod sharing;
mod silence;
mod slots;
mod stalls;
mod stream_ends;
mod streams;
mod table;
mod target;
pub mod transport;
mod tunnel;
mod unmade;
mod user;
mod users;
mod version;
mod waiting;
mod wanted;
mod websocket;
mod withhold;
mod worker;

pub use book::Book;
pub use event_policy::{EventPolicy, EventsBy};
pub use farfield_base::UnixAddress;
pub use flow::Flow;
pub use itinerary::Itinerary;
pub use outgoing::Outgoing;
pub use plan::{LoadEnd, Plan, UserSettings};
pub use policy::{Addresses, Policy, Reuse};
pub use population::Population;
pub use proxy::Proxy;
pub use session::trace::{TRACED_BODY_BYTES, TraceEvent, TraceRole, TracedReply, TracedRequest};
pub use slots::{ConnectionSlot, FlowNumber, UserSlot};
pub use target::Target;
pub use transport::{Backlog, ConnectionKey, Datagrams, Failure, Transport, Wake};
pub use version::HttpVersion;
