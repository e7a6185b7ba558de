//! Buffers of what leaves connections sealed: records of TLS and datagrams of QUIC.
//!
//! Both are made in memory that is used again, and copied once, into what the transport may keep.

use crate::outgoing::Outgoing;
use crate::transport::{ConnectionKey, Datagrams, Transport};
use farfield_base::Instant;
use farfield_http::{quic, tls};

/// Buffers that connections share, since only one sends at a time.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Sealed bytes that are not handed to the transport yet.
    sealed: Vec<u8>,
    /// Bytes that the transport may keep.
    outgoing: Outgoing,
}

impl Buffers {
    /// Hands `bytes` to the transport, in the clear; returns when that was.
    pub fn send<T: Transport>(&mut self, transport: &mut T, key: ConnectionKey, bytes: &[u8]) -> Instant {
        transport.send(key, &self.outgoing.keep(bytes))
    }

    /// Takes what the session has to send, which leaves with
    /// [`send_records`](Self::send_records); returns how many bytes that is.
    pub fn take_records(&mut self, session: &mut tls::Session) -> usize {
        session.take_to_send(&mut self.sealed);
        self.sealed.len()
    }

    /// Hands what the session has to send to the transport; returns when that was, if there was anything.
    pub fn send_records<T: Transport>(
        &mut self,
        session: &mut tls::Session,
        transport: &mut T,
        key: ConnectionKey,
    ) -> Option<Instant> {
        self.take_records(session);
        let sent = (!self.sealed.is_empty()).then(|| transport.send(key, &self.outgoing.keep(&self.sealed)));
        self.sealed.clear();
        sent
    }

    /// Hands the datagrams that are due at `now` to the transport; returns when the first was, if there was
    /// any.
    pub fn send_datagrams<T: Transport>(
        &mut self,
        quic: &mut quic::Connection,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
    ) -> Option<Instant> {
        let mut sent = None;
        loop {
            self.sealed.clear();
            let Some(transmit) = quic.next_transmit(now, &mut self.sealed) else { break };
            let bytes = self.outgoing.keep(&self.sealed);
            let datagrams =
                Datagrams { ecn: transmit.ecn, segment_bytes: transmit.segment_bytes, bytes: &bytes };
            let at = transport.send_datagrams(key, datagrams);
            sent = sent.or(Some(at));
        }
        self.sealed.clear();
        sent
    }
}
