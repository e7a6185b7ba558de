//! Egress: users' requests onto connections, and their bytes onto the transport.
//!
//! An [`Egress`] touches users, connections and counters, and not the load: nothing that leaves ends a
//! request or begins a page. That takes a `Reaction`, which has the load as well. Its methods are in the
//! modules `dispatch`, `sharing`, `alternatives`, `secure`, `early`, `withhold`, `quic`, `stream_ends`,
//! `messages` and `waiting`, each of which is one mechanism.

use crate::connections::Connections;
use crate::counters::Counters;
use crate::users::Users;
use farfield_base::Instant;

/// Users and their connections at one instant, with the transport that carries them.
pub(crate) struct Egress<'a, T> {
    pub users: &'a mut Users,
    pub connections: &'a mut Connections,
    pub counters: &'a mut Counters,
    pub transport: &'a mut T,
    pub now: Instant,
}
