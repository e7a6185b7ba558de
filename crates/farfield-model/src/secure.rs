//! TLS of the server's connections: handshakes, which take a worker's time, and what is sent sealed.

use super::connection::{Connection, RequestReader};
use super::core::ServerCore;
use crate::slots::ServedSlot;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_http::tls::model::{HandshakeStep, Terms, seal_ends};
use farfield_tcp::Closing;

impl Connection {
    /// True if there is something for a worker to do.
    pub fn has_work(&self) -> bool {
        !self.asks.is_empty() || self.tls.as_ref().is_some_and(|session| session.step().is_some())
    }

    /// Writes a part of a reply, in records where the scheme is https. The bytes themselves are not copied.
    pub fn write(&mut self, bytes: Bytes) -> Result<(), Closing> {
        self.write_parts(&mut [bytes])
    }

    /// Writes parts that are ready together, one behind another, in as few records as hold them where the
    /// scheme is https.
    pub fn write_parts(&mut self, parts: &mut [Bytes]) -> Result<(), Closing> {
        let mut left: usize = parts.iter().map(Bytes::len).sum();
        let mut parts = parts.iter_mut().filter(|part| !part.is_empty()).peekable();
        let Some(version) = self.tls.as_ref().and_then(|session| session.version()) else {
            return parts.try_for_each(|part| self.tcp.write(std::mem::take(part)));
        };
        while left > 0 {
            let (before, content, behind) = seal_ends(version, left);
            self.tcp.write(Bytes::copy_from_slice(&before))?;
            let mut missing = content;
            while missing > 0
                && let Some(part) = parts.peek_mut()
            {
                let piece = part.split_to(part.len().min(missing));
                missing -= piece.len();
                if part.is_empty() {
                    parts.next();
                }
                self.tcp.write(piece)?;
            }
            self.tcp.write(Bytes::from_static(behind))?;
            left -= content;
        }
        Ok(())
    }

    /// Says that the server sends no more (RFC 8446 section 6.1), unless the client has closed before.
    pub fn say_goodbye(&mut self) {
        let mut bytes = Vec::new();
        if let (Some(session), false) = (&self.tls, self.peer_finished) {
            session.close(&mut bytes);
        }
        if !bytes.is_empty() {
            // A connection that is closed already needs no goodbye.
            let _ = self.tcp.write(bytes.into());
        }
    }

    /// The work that the connection's handshake needs of a worker next.
    pub fn handshake_step(&self) -> Option<HandshakeStep> {
        self.tls.as_ref()?.step()
    }

    /// Sends what a worker has done in a step of the handshake; returns how many requests came with it, and
    /// whether that was written.
    pub fn take_step(&mut self, terms: &Terms, reader: RequestReader<'_>) -> (u32, bool) {
        self.busy = false;
        let mut bytes = Vec::new();
        if let Some(session) = &mut self.tls {
            session.take_step(terms, &mut bytes);
        }
        let requests = self.read_early(reader);
        // Fails where the connection is closed already, which its end shows.
        (requests, self.tcp.write(bytes.into()).is_ok())
    }

    /// Sends the tickets that are due behind a handshake. They wait for no worker: nobody waits for them.
    pub fn give_tickets(&mut self, terms: &Terms) {
        let Some(session) = &mut self.tls else { return };
        let mut bytes = Vec::new();
        session.take_tickets(terms, &mut bytes);
        if !bytes.is_empty() {
            // A connection that is closed already needs no tickets.
            let _ = self.tcp.write(bytes.into());
        }
    }
}

impl ServerCore {
    /// A worker has done a step of the connection's handshake.
    pub(crate) fn take_step(&mut self, now: Instant, slot: ServedSlot, step: HandshakeStep) {
        let ServerCore { setup, connections, counters, http, .. } = self;
        let plan = &setup.plan;
        let Some(terms) = &plan.tls else { return };
        if let HandshakeStep::Answer13 { resumes, .. } | HandshakeStep::Answer12 { resumes, .. } = step {
            counters.handshakes_full += u64::from(!resumes);
            counters.handshakes_resumed += u64::from(resumes);
        }
        let reader = RequestReader::of(plan, &mut http.heads);
        let (requests, is_written) = connections[slot].take_step(terms, reader);
        counters.requests += u64::from(requests);
        if is_written && step.is_refusal() {
            self.close(now, slot);
        }
    }
}
