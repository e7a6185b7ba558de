//! One connection's session.

use super::records::Records;
use super::settings::HTTP2;
use super::{Alpn, Client};
use crate::allowance::Allowance;
use crate::tls::{TlsFailure, failure};
use farfield_base::{Detail, Duration, EarlyData, Instant, Rule, TlsStats, TlsVersion};
use rustls::{ClientConnection, HandshakeKind, ProtocolVersion};
use std::io::{BufRead, Write};

/// Records that a server may send in advance. Its share of a handshake is a dozen, and a few hundred in
/// fragments of 64 bytes (RFC 8449).
const ADVANCE: u32 = 1_000;

/// Records that a byte of text earns: its own, and one without text.
const EARNED: u32 = 2;

/// The session of one connection.
#[derive(Debug)]
pub struct Session {
    connection: ClientConnection,
    records: Records,
    /// For records, those without text among them: empty ones, updates of keys, tickets.
    allowance: Allowance,
    /// The user on whose behalf the connection was opened, whose tickets it uses.
    user: u32,
    /// The peer has said that it sends nothing more (RFC 8446 section 6.1).
    closed_by_peer: bool,
    failed: bool,
    /// The failure's detail.
    detail: Option<Box<Detail>>,
    /// The server has asked for a certificate of the client's.
    is_asked: bool,
    /// Plaintext was sealed within the handshake.
    is_early: bool,
    /// Processor time of the handshake that was not taken yet.
    spent: Duration,
}

impl Session {
    pub(super) fn new(mut connection: ClientConnection, user: u32, spent: Duration) -> Session {
        // Requests are handed over whole, and what is sealed is taken at once.
        connection.set_buffer_limit(None);
        let (records, allowance) = (Records::default(), Allowance::of(ADVANCE).earning(EARNED));
        let (closed_by_peer, failed, is_early) = (false, false, false);
        let (detail, is_asked) = (None, false);
        Session {
            connection,
            records,
            allowance,
            user,
            closed_by_peer,
            failed,
            detail,
            is_asked,
            is_early,
            spent,
        }
    }

    /// As [`Session::receive`](crate::tls::Session::receive).
    pub fn receive(
        &mut self,
        client: &Client,
        now: Instant,
        bytes: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), TlsFailure> {
        client.enter(now, self.user);
        let handshaking = self.connection.is_handshaking();
        if !handshaking {
            return self.read(false, bytes, plain);
        }
        client.asked.take();
        let (read, took) = client.timed(|| self.read(true, bytes, plain));
        self.spent = self.spent + took;
        self.is_asked |= client.asked.take();
        // RFC 9113, 3.2: a server that does not agree to HTTP/2 speaks something else.
        if read.is_ok() && client.alpn == Alpn::Http2 && self.is_secured() && !self.speaks_http2() {
            self.failed = true;
            let wrong = "the server agrees to none of the protocols offered";
            self.detail = Some(Box::new(Detail::broken(Rule::new(wrong, "RFC 9113 §3.2"))));
            return Err(TlsFailure::AlpnRefused);
        }
        read
    }

    /// The failure's detail, if there is one.
    pub fn detail(&self) -> Option<&Detail> {
        self.detail.as_deref()
    }

    /// Processor time of the handshake since this was last asked.
    pub fn take_spent(&mut self) -> Duration {
        std::mem::take(&mut self.spent)
    }

    fn read(&mut self, handshaking: bool, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsFailure> {
        if !self.records.follow(bytes) {
            self.failed = true;
            let rule = Rule::new("what comes is no record of TLS", "RFC 8446 §5.1");
            let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            // Within a record's bytes there is nothing to be read.
            let detail = Detail::broken(rule).with(if handshaking { first } else { b"" });
            self.detail = Some(Box::new(detail));
            return Err(if handshaking { TlsFailure::NotTls } else { TlsFailure::BadRecord });
        }
        let (mut rest, before) = (bytes, plain.len());
        while !rest.is_empty() && !self.closed_by_peer {
            // Fails only where plaintext was not taken.
            let read = self.connection.read_tls(&mut rest).map_err(|_| TlsFailure::BadRecord)?;
            let processed = self.connection.process_new_packets();
            let mut reader = self.connection.reader();
            while let Ok(piece) = reader.fill_buf()
                && !piece.is_empty()
            {
                plain.extend_from_slice(piece);
                let taken = piece.len();
                reader.consume(taken);
            }
            match processed {
                Ok(state) => self.closed_by_peer = state.peer_has_closed(),
                Err(error) => {
                    self.failed = true;
                    self.detail = Some(Box::new(failure::detail_of(&error)));
                    let asked = handshaking && self.is_asked;
                    return Err(if asked { TlsFailure::of_asked(&error) } else { TlsFailure::of(&error) });
                }
            }
            if read == 0 {
                break;
            }
        }
        self.allowance.earn((plain.len() - before) as u64);
        self.allowance.spend(self.records.take_count()).map_err(|_| {
            self.failed = true;
            let rule = Rule::new("records without text come without end", "");
            self.detail = Some(Box::new(Detail::broken(rule)));
            TlsFailure::Flooded
        })
    }

    pub fn is_secured(&self) -> bool {
        !self.connection.is_handshaking()
    }

    pub fn speaks_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(HTTP2)
    }

    pub fn stats(&self, secured: Instant) -> TlsStats {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
            // No other is offered.
            _ => TlsVersion::Tls13,
        };
        let resumed = self.connection.handshake_kind() == Some(HandshakeKind::Resumed);
        TlsStats { secured, version, resumed, early: self.early() }
    }

    fn early(&self) -> EarlyData {
        match (self.is_early, self.connection.is_early_data_accepted()) {
            (false, _) => EarlyData::Unsent,
            (true, true) => EarlyData::Accepted,
            (true, false) => EarlyData::Rejected,
        }
    }

    pub fn early_room(&mut self) -> usize {
        let is_handshaking = self.connection.is_handshaking();
        self.connection.early_data().filter(|_| is_handshaking).map_or(0, |early| early.bytes_left())
    }

    pub fn seal_early(&mut self, plain: &[u8]) {
        let mut early = self.connection.early_data().expect("room for early data");
        early.write_all(plain).expect("no more than there is room for");
        self.is_early = true;
    }

    pub fn is_closed_by_peer(&self) -> bool {
        self.closed_by_peer
    }

    pub fn seal(&mut self, plain: &[u8]) {
        self.connection.writer().write_all(plain).expect("a buffer without a limit takes all");
    }

    pub fn take_to_send(&mut self, bytes: &mut Vec<u8>) {
        while self.connection.wants_write() {
            self.connection.write_tls(bytes).expect("memory takes all that is written");
        }
    }

    pub fn close(&mut self) {
        if self.is_secured() && !self.closed_by_peer && !self.failed {
            self.connection.send_close_notify();
        }
    }

    pub fn may_end(&self) -> bool {
        self.closed_by_peer || self.is_secured() && self.records.are_whole()
    }
}
