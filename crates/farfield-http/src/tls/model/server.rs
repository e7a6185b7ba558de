//! The server's end. What it has to do that takes a worker's time is a [`HandshakeStep`], which is taken when
//! a worker is free for it.

use super::message::{self, Hello};
use super::record::{self, Messages, RecordReader};
use super::{Group, Protection, SESSION_ID, Terms, Version};
use farfield_base::Duration;

/// Fatal alerts (RFC 8446 section 6).
const HANDSHAKE_FAILURE: u8 = 40;
const PROTOCOL_VERSION: u8 = 70;

/// Step of a server by which a handshake goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeStep {
    /// Asks for a key share of a group (HelloRetryRequest).
    Retry(Group),
    /// Answers the client's first message in TLS 1.3.
    Answer13 {
        /// The group of the key exchange.
        group: Group,
        /// A session is resumed.
        resumes: bool,
    },
    /// Answers the client's first message in TLS 1.2.
    Answer12 {
        /// The group of the key exchange.
        group: Group,
        /// A session is resumed.
        resumes: bool,
    },
    /// Ends a full handshake of TLS 1.2.
    End,
    /// Refuses the client with a fatal alert.
    Refuse(u8),
}

impl HandshakeStep {
    /// A worker's time for it. The signature and the key exchange are in the answer to the first message.
    pub fn cost(self, terms: &Terms) -> Duration {
        match self {
            HandshakeStep::Answer13 { resumes, .. } | HandshakeStep::Answer12 { resumes, .. } => {
                match resumes {
                    true => terms.resumed,
                    false => terms.full,
                }
            }
            HandshakeStep::Retry(_) | HandshakeStep::End | HandshakeStep::Refuse(_) => Duration::ZERO,
        }
    }

    /// True if the connection is closed behind it.
    pub fn is_refusal(self) -> bool {
        matches!(self, HandshakeStep::Refuse(_))
    }
}

/// The server's end of one connection's session.
#[derive(Debug, Default)]
pub struct ServerSession {
    reader: RecordReader,
    state: TlsServerState,
}

#[derive(Debug, Default)]
struct TlsServerState {
    version: Option<Version>,
    hello: Hello,
    retried: bool,
    resumes: bool,
    is_open: bool,
    /// Early data came, or may come.
    has_early: bool,
    takes_early: bool,
    /// Early data that came and is taken, before the answer.
    early: Vec<u8>,
    step: Option<HandshakeStep>,
    /// Tickets are to be sent, behind a handshake of TLS 1.3.
    owes_tickets: bool,
    incoming: Protection,
    messages: Messages,
    /// The client has sent what no client sends, or has said that it sends no more: the rest is not read.
    is_deaf: bool,
}

impl ServerSession {
    /// Takes the `bytes` that came, and hands the plaintext in them to `take_plain`. Early data that comes
    /// before the client's first message is answered is [kept](Self::take_early) until then.
    pub fn receive(&mut self, terms: &Terms, bytes: &[u8], mut take_plain: impl FnMut(&[u8])) {
        let ServerSession { reader, state } = self;
        if state.is_deaf {
            return;
        }
        let read =
            reader.read(bytes, |kind, payload| state.take(terms, kind, payload, &mut take_plain).ok_or(()));
        state.is_deaf |= read.is_err();
    }

    /// The version, once application data can be sent: the handshake is over, or early data is taken (RFC
    /// 8446 section 2.3).
    pub fn version(&self) -> Option<Version> {
        self.state.version.filter(|_| self.state.is_open || self.state.takes_early)
    }

    /// The early data that came before the client's first message was answered, once it is.
    pub fn take_early(&mut self) -> Vec<u8> {
        if self.state.version.is_some() { std::mem::take(&mut self.state.early) } else { Vec::new() }
    }

    /// The next step, if one is to be taken.
    pub fn step(&self) -> Option<HandshakeStep> {
        self.state.step
    }

    /// Does what is to be done next: appends the server's messages to `out`.
    pub fn take_step(&mut self, terms: &Terms, out: &mut Vec<u8>) {
        if let Some(step) = self.state.step.take() {
            self.state.answer(terms, step, out);
        }
    }

    /// Appends the tickets that are due, if any are.
    pub fn take_tickets(&mut self, terms: &Terms, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.state.owes_tickets) {
            let mut tickets = Vec::new();
            let early_bytes = if terms.early_data { message::EARLY_BYTES } else { 0 };
            let put = |_| message::new_session_ticket(&mut tickets, Version::Tls13, early_bytes);
            (0..terms.tickets).for_each(put);
            record::put(out, record::HANDSHAKE, Protection::Tls13, &tickets);
        }
    }

    /// Appends the message that ends what the server sends, if the handshake is over.
    pub fn close(&self, out: &mut Vec<u8>) {
        if let Some(version) = self.version() {
            record::put_close_notify(out, version);
        }
    }
}

impl TlsServerState {
    /// Takes a record; nothing if no more is to be read.
    fn take(
        &mut self,
        terms: &Terms,
        kind: u8,
        payload: &[u8],
        take_plain: &mut impl FnMut(&[u8]),
    ) -> Option<()> {
        if kind == record::CHANGE_CIPHER_SPEC {
            if self.version == Some(Version::Tls12) {
                self.incoming = Protection::Tls12;
            }
            return Some(());
        }
        let is_early = kind == record::APPLICATION_DATA && self.has_early && !self.is_open;
        let protection = if is_early { Protection::Tls13 } else { self.incoming };
        let (kind, content) = record::open(protection, kind, payload)?;
        match kind {
            record::HANDSHAKE => {
                self.messages.add(content);
                while let Some((kind, body)) = self.messages.next() {
                    self.take_message(terms, kind, &body)?;
                }
                Some(())
            }
            record::APPLICATION_DATA if self.is_open => {
                take_plain(content);
                Some(())
            }
            record::APPLICATION_DATA if is_early => {
                match (self.takes_early, self.version) {
                    (true, None) => self.early.extend_from_slice(content),
                    (true, Some(_)) => take_plain(content),
                    // It is passed over (RFC 8446 section 4.2.10).
                    (false, _) => {}
                }
                Some(())
            }
            // close_notify, or that the client gives up.
            _ => None,
        }
    }

    fn take_message(&mut self, terms: &Terms, kind: u8, body: &[u8]) -> Option<()> {
        match kind {
            message::CLIENT_HELLO if self.version.is_none() && self.step.is_none() => {
                self.hello = Hello::read(body)?;
                self.has_early |= self.hello.has_early;
                let step = self.choose(terms);
                if let HandshakeStep::Answer13 { resumes, .. } = step {
                    self.takes_early = self.hello.is_taken_early(terms, resumes);
                }
                self.step = Some(step);
            }
            message::FINISHED if !self.is_open => match (self.version?, self.resumes) {
                (Version::Tls13, _) => {
                    (self.is_open, self.owes_tickets) = (true, terms.tickets > 0);
                }
                (Version::Tls12, true) => self.is_open = true,
                (Version::Tls12, false) => self.step = Some(HandshakeStep::End),
            },
            // The client's key exchange of TLS 1.2.
            _ => {}
        }
        Some(())
    }

    /// The answer to the client's first message.
    fn choose(&self, terms: &Terms) -> HandshakeStep {
        let Hello { versions, groups, shares, has_psk, has_ticket, .. } = &self.hello;
        let speaks =
            |version: Version| terms.versions.contains(&version) && versions.contains(&version.number());
        let with_tickets = terms.tickets > 0;
        let first_of = |offered: &[Group]| terms.groups.iter().copied().find(|group| offered.contains(group));
        if speaks(Version::Tls13) {
            let shared = shares.iter().copied().find(|group| terms.groups.contains(group));
            return match (shared, first_of(groups)) {
                (Some(group), _) => HandshakeStep::Answer13 { group, resumes: *has_psk && with_tickets },
                (None, Some(group)) if !self.retried => HandshakeStep::Retry(group),
                _ => HandshakeStep::Refuse(HANDSHAKE_FAILURE),
            };
        }
        if !speaks(Version::Tls12) {
            return HandshakeStep::Refuse(PROTOCOL_VERSION);
        }
        let usable: Vec<Group> = groups.iter().copied().filter(|group| group.is_of_tls12()).collect();
        match first_of(&usable) {
            Some(group) => HandshakeStep::Answer12 { group, resumes: *has_ticket && with_tickets },
            None => HandshakeStep::Refuse(HANDSHAKE_FAILURE),
        }
    }

    fn answer(&mut self, terms: &Terms, step: HandshakeStep, out: &mut Vec<u8>) {
        let mut clear = Vec::new();
        match step {
            HandshakeStep::Retry(group) => {
                message::retry_request(&mut clear, group, &SESSION_ID);
                record::put(out, record::HANDSHAKE, Protection::None, &clear);
                record::put_change_cipher_spec(out);
                self.retried = true;
            }
            HandshakeStep::Answer13 { group, resumes } => {
                (self.version, self.resumes) = (Some(Version::Tls13), resumes);
                self.incoming = Protection::Tls13;
                message::server_hello_tls13(&mut clear, group, resumes, &SESSION_ID);
                record::put(out, record::HANDSHAKE, Protection::None, &clear);
                if !self.retried {
                    record::put_change_cipher_spec(out);
                }
                let mut rest = Vec::new();
                message::rest_of_tls13(&mut rest, terms, &self.hello, resumes, None);
                record::put(out, record::HANDSHAKE, Protection::Tls13, &rest);
            }
            HandshakeStep::Answer12 { group, resumes } => {
                (self.version, self.resumes) = (Some(Version::Tls12), resumes);
                let gives_ticket = self.gives_ticket(terms);
                message::server_hello_tls12(&mut clear, &self.hello, gives_ticket, resumes);
                if !resumes {
                    message::rest_of_tls12(&mut clear, terms, group);
                }
                record::put(out, record::HANDSHAKE, Protection::None, &clear);
                if resumes {
                    self.end_tls12(terms, out);
                }
            }
            HandshakeStep::End => {
                self.end_tls12(terms, out);
                self.is_open = true;
            }
            HandshakeStep::Refuse(alert) => {
                record::put(out, record::ALERT, Protection::None, &[2, alert]);
                self.is_deaf = true;
            }
        }
    }

    fn gives_ticket(&self, terms: &Terms) -> bool {
        terms.tickets > 0 && self.hello.wants_ticket
    }

    /// The server's last messages in TLS 1.2.
    fn end_tls12(&self, terms: &Terms, out: &mut Vec<u8>) {
        let mut ticket = Vec::new();
        if self.gives_ticket(terms) {
            message::new_session_ticket(&mut ticket, Version::Tls12, 0);
        }
        record::put(out, record::HANDSHAKE, Protection::None, &ticket);
        record::put_change_cipher_spec(out);
        let mut finished = Vec::new();
        message::finished(&mut finished, Protection::Tls12);
        record::put(out, record::HANDSHAKE, Protection::Tls12, &finished);
    }
}
