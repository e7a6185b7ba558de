//! Output of a server: segments and datagrams to send, alarms to set.

use super::ServerCounters;
use super::quic::QuicOwner;
use crate::payload::IpPayload;
use crate::slots::{ClientId, ServedSlot};
use farfield_base::Instant;
use farfield_http::http2::StreamId;
use farfield_net::timeout_queue::Owner;
use std::collections::VecDeque;

/// An alarm of a server: whoever turns its wheel hands it back when it is due. Alarms are not cancelled: one
/// that is stale does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerAlarm(pub(crate) Alarm);

/// The event that an alarm is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A timer of the connection's TCP may be due.
    Timer(Owner<ServedSlot>),
    /// The connection's request has been served.
    Served(Owner<ServedSlot>),
    /// An event of the connection's stream is due.
    Event(Owner<ServedSlot>),
    /// A request on a stream of the connection has been served.
    StreamServed(Owner<ServedSlot>, StreamId),
    /// A handshake of QUIC has been answered.
    QuicAnswered(QuicOwner),
    /// A request of a connection of QUIC has been served.
    QuicServed(QuicOwner, u32),
    /// A timer of the connection may be due.
    Quic(QuicOwner),
    /// The connection may have waited for its next request for too long.
    QuicIdle(QuicOwner),
    /// The connection may have waited for its next request for too long.
    Idle(Owner<ServedSlot>),
    /// Timers of a timeout queue may be due.
    Timers(u16),
    /// Waits for requests of a timeout queue may be over.
    Idles(u16),
}

/// The output of a server, until it is taken.
#[derive(Debug, Default)]
pub(crate) struct ServerOutput {
    /// Segments and datagrams to send, with the clients that they are for.
    pub departures: VecDeque<(ClientId, IpPayload)>,
    /// Alarms to be set, and when they are due.
    pub alarms: Vec<(Instant, Alarm)>,
}

impl ServerOutput {
    pub fn send(&mut self, counters: &mut ServerCounters, client: ClientId, sent: IpPayload) {
        counters.packets_out += 1;
        self.departures.push_back((client, sent));
    }

    /// Sets an alarm, if there is one to set.
    pub fn set_alarm(&mut self, alarm: Option<(Instant, Alarm)>) {
        if let Some(alarm) = alarm {
            self.alarms.push(alarm);
        }
    }
}
