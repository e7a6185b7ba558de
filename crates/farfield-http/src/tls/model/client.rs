//! The client's end.

use super::message::{self, ServerHelloView, Ticket};
use super::record::{self, Messages, RecordReader};
use super::{Group, Offer, Protection, Version};
use crate::tls::TlsFailure;
use farfield_base::{Detail, EarlyData, Instant, Sender, Signal, TlsStats};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tickets of TLS 1.3 that a user keeps, each of which is used once.
const TICKETS_MAX: usize = 4;

/// State that the sessions of one worker share.
#[derive(Debug)]
pub struct Client {
    offer: Arc<Offer>,
    kept: Mutex<TicketTable>,
}

#[derive(Debug, Default)]
struct TicketTable {
    users: BTreeMap<u32, UserTickets>,
    /// The group that the server chose, which is the same for all.
    group: Option<Group>,
}

#[derive(Debug, Default)]
struct UserTickets {
    tls12: Option<Ticket>,
    tls13: VecDeque<Ticket>,
}

impl Client {
    pub fn new(offer: Arc<Offer>) -> Client {
        Client { offer, kept: Mutex::default() }
    }

    /// A session of `user`, whose first message is ready to be taken.
    pub fn begin(&self, user: u32) -> Session {
        let (group, ticket) = self.take_ticket(user);
        Session::new(Arc::clone(&self.offer), user, group, ticket)
    }

    /// The client's offer.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// The group that the server chose before, and a ticket of `user`'s, which is taken if it is used once.
    /// It allows early data only if the client sends some.
    pub fn take_ticket(&self, user: u32) -> (Option<Group>, Option<Ticket>) {
        if !self.offer.resumption {
            return (None, None);
        }
        let mut kept = self.kept();
        let group = kept.group;
        let own = kept.users.entry(user).or_default();
        let ticket = own.tls13.pop_back().or(own.tls12);
        (group, ticket.map(|own| if self.offer.early_data { own } else { own.without_early() }))
    }

    /// Notes the group that the server chose.
    pub fn note_group(&self, group: Option<Group>) {
        self.kept().group = group;
    }

    pub fn forget(&self, user: u32) {
        self.kept().users.remove(&user);
    }

    /// Keeps a ticket for `user`.
    pub fn keep(&self, user: u32, ticket: Ticket) {
        let mut kept = self.kept();
        // A ticket may come when its user is gone.
        let Some(own) = kept.users.get_mut(&user) else { return };
        match ticket.version {
            Version::Tls12 => own.tls12 = Some(ticket),
            Version::Tls13 => {
                if own.tls13.len() == TICKETS_MAX {
                    own.tls13.pop_front();
                }
                own.tls13.push_back(ticket);
            }
        }
    }

    /// Never poisoned in effect: what is kept is consistent after every line.
    fn kept(&self) -> MutexGuard<'_, TicketTable> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The groups that the first message has key shares for, where the server chose `group` before.
pub fn shares(offer: &Offer, group: Option<Group>) -> Vec<Group> {
    let first = group.filter(|group| offer.groups.contains(group)).unwrap_or(offer.groups[0]);
    let mut shares = vec![first];
    // A hybrid's own share of X25519 is offered once more by itself, which costs nothing.
    if first == Group::X25519MlKem768 && offer.groups.contains(&Group::X25519) {
        shares.push(Group::X25519);
    }
    shares
}

/// The server's next messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TlsClientStage {
    /// The server's first message.
    Hello,
    /// The rest of the server's first messages.
    Flight,
    /// The end of a full handshake of TLS 1.2.
    End,
    /// Application data.
    Open,
}

/// One connection's session.
#[derive(Debug)]
pub struct Session {
    reader: RecordReader,
    state: TlsClientState,
}

#[derive(Debug)]
struct TlsClientState {
    offer: Arc<Offer>,
    user: u32,
    stage: TlsClientStage,
    version: Version,
    resumed: bool,
    /// The server asked for another key share.
    retried: bool,
    /// The change of the cipher was sent with which TLS 1.3 pretends once.
    pretended: bool,
    ticket: Option<Ticket>,
    /// Bytes of early data that were sent.
    early_bytes: usize,
    /// The server takes early data.
    takes_early: bool,
    /// The group of the key exchange.
    group: Option<Group>,
    /// The protection of what comes.
    incoming: Protection,
    messages: Messages,
    to_send: Vec<u8>,
    closed_by_peer: bool,
    failed: bool,
    /// The alert that came.
    detail: Option<Box<Detail>>,
}

impl Session {
    fn new(offer: Arc<Offer>, user: u32, group: Option<Group>, ticket: Option<Ticket>) -> Session {
        let shares = shares(&offer, group);
        let (mut hello, mut to_send) = (Vec::new(), Vec::new());
        message::client_hello(&mut hello, &offer, &shares, ticket);
        record::put(&mut to_send, record::HANDSHAKE, Protection::None, &hello);
        let offers_early = ticket.is_some_and(|own| own.early_bytes > 0);
        if offers_early {
            record::put_change_cipher_spec(&mut to_send);
        }
        let state = TlsClientState {
            offer,
            user,
            stage: TlsClientStage::Hello,
            version: Version::Tls13,
            resumed: false,
            retried: false,
            pretended: offers_early,
            ticket,
            early_bytes: 0,
            takes_early: false,
            group: None,
            incoming: Protection::None,
            messages: Messages::default(),
            to_send,
            closed_by_peer: false,
            failed: false,
            detail: None,
        };
        Session { reader: RecordReader::default(), state }
    }

    /// As [`Session::receive`](crate::tls::Session::receive).
    pub fn receive(&mut self, client: &Client, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsFailure> {
        let Session { reader, state } = self;
        let received = reader.read(bytes, |kind, payload| state.take(client, kind, payload, plain));
        state.failed |= received.is_err();
        received
    }

    /// As [`Session::detail`](crate::tls::Session::detail).
    pub fn detail(&self) -> Option<&Detail> {
        self.state.detail.as_deref()
    }

    pub fn is_secured(&self) -> bool {
        self.state.stage == TlsClientStage::Open
    }

    pub fn stats(&self, secured: Instant) -> TlsStats {
        TlsStats {
            secured,
            version: self.state.version,
            resumed: self.state.resumed,
            early: match (self.state.early_bytes, self.state.takes_early) {
                (0, _) => EarlyData::Unsent,
                (_, true) => EarlyData::Accepted,
                (_, false) => EarlyData::Rejected,
            },
        }
    }

    /// As [`Session::early_room`](crate::tls::Session::early_room).
    pub fn early_room(&self) -> usize {
        let TlsClientState { stage, retried, ticket, early_bytes, .. } = &self.state;
        let ticket = ticket.filter(|_| *stage == TlsClientStage::Hello && !*retried);
        ticket.map_or(0, |own| own.early_bytes as usize - early_bytes)
    }

    pub fn seal_early(&mut self, plain: &[u8]) {
        assert!(plain.len() <= self.early_room(), "no more than there is room for");
        self.state.early_bytes += plain.len();
        record::seal_into(&mut self.state.to_send, Version::Tls13, plain);
    }

    pub fn is_closed_by_peer(&self) -> bool {
        self.state.closed_by_peer
    }

    pub fn seal(&mut self, plain: &[u8]) {
        record::seal_into(&mut self.state.to_send, self.state.version, plain);
    }

    pub fn take_to_send(&mut self, bytes: &mut Vec<u8>) {
        bytes.append(&mut self.state.to_send);
    }

    pub fn close(&mut self) {
        if self.is_secured() && !self.state.closed_by_peer && !self.state.failed {
            record::put_close_notify(&mut self.state.to_send, self.state.version);
        }
    }

    pub fn may_end(&self) -> bool {
        self.state.closed_by_peer || self.is_secured() && self.reader.is_whole()
    }
}

impl TlsClientState {
    /// Takes a record.
    fn take(
        &mut self,
        client: &Client,
        kind: u8,
        payload: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), TlsFailure> {
        if self.closed_by_peer {
            return Ok(());
        }
        if kind == record::CHANGE_CIPHER_SPEC {
            if self.version == Version::Tls12 {
                self.incoming = Protection::Tls12;
            }
            return Ok(());
        }
        let (kind, content) = record::open(self.incoming, kind, payload).ok_or(TlsFailure::BadRecord)?;
        match kind {
            record::HANDSHAKE => {
                self.messages.add(content);
                while let Some((kind, body)) = self.messages.next() {
                    self.take_message(client, kind, &body).ok_or(TlsFailure::BadRecord)?;
                }
                Ok(())
            }
            record::APPLICATION_DATA if self.stage == TlsClientStage::Open => {
                plain.extend_from_slice(content);
                Ok(())
            }
            record::ALERT => match *content {
                [_, 0] => {
                    self.closed_by_peer = true;
                    Ok(())
                }
                [_, number] => {
                    let detail = Detail::sent(Signal::Alert, u64::from(number), Sender::Server);
                    self.detail = Some(Box::new(detail));
                    Err(TlsFailure::of_alert(number))
                }
                _ => Err(TlsFailure::BadRecord),
            },
            _ => Err(TlsFailure::BadRecord),
        }
    }

    /// Takes a message; nothing if it is out of place.
    fn take_message(&mut self, client: &Client, kind: u8, body: &[u8]) -> Option<()> {
        match (self.stage, kind) {
            (TlsClientStage::Hello, message::SERVER_HELLO) => {
                self.take_hello(client, &ServerHelloView::read(body)?)
            }
            (TlsClientStage::Flight, message::SERVER_KEY_EXCHANGE) => {
                self.group = message::group_of_tls12(body);
                client.note_group(self.group);
                Some(())
            }
            (TlsClientStage::Flight, message::SERVER_HELLO_DONE) => {
                let mut exchange = Vec::new();
                message::client_key_exchange(&mut exchange, self.group?);
                record::put(&mut self.to_send, record::HANDSHAKE, Protection::None, &exchange);
                self.finish();
                self.stage = TlsClientStage::End;
                Some(())
            }
            (TlsClientStage::Flight, message::ENCRYPTED_EXTENSIONS) => {
                self.takes_early = message::takes_early(body)?;
                Some(())
            }
            (TlsClientStage::Flight, message::FINISHED) => {
                self.finish();
                self.stage = TlsClientStage::Open;
                Some(())
            }
            (TlsClientStage::End, message::FINISHED) => {
                self.stage = TlsClientStage::Open;
                Some(())
            }
            (_, message::NEW_SESSION_TICKET) => {
                client.keep(self.user, message::read_ticket(self.version, body)?);
                Some(())
            }
            // Messages that a real client would verify.
            (TlsClientStage::Flight, _) => Some(()),
            _ => None,
        }
    }

    fn take_hello(&mut self, client: &Client, answer: &ServerHelloView) -> Option<()> {
        if answer.is_retry {
            let mut hello = Vec::new();
            let ticket = self.ticket.map(Ticket::without_early);
            message::client_hello(&mut hello, &self.offer, &[answer.group?], ticket);
            self.pretend();
            record::put(&mut self.to_send, record::HANDSHAKE, Protection::None, &hello);
            // Twice is once too often (RFC 8446 section 4.1.4).
            return (!std::mem::replace(&mut self.retried, true)).then_some(());
        }
        self.resumed = answer.resumes;
        self.stage = TlsClientStage::Flight;
        if answer.is_tls13 {
            (self.version, self.incoming) = (Version::Tls13, Protection::Tls13);
            client.note_group(answer.group);
        } else {
            self.version = Version::Tls12;
        }
        Some(())
    }

    /// The client's last messages.
    fn finish(&mut self) {
        let protection = Protection::of(self.version);
        self.pretend();
        if self.takes_early {
            let mut end = Vec::new();
            message::end_of_early_data(&mut end);
            record::put(&mut self.to_send, record::HANDSHAKE, protection, &end);
        }
        let mut finished = Vec::new();
        message::finished(&mut finished, protection);
        record::put(&mut self.to_send, record::HANDSHAKE, protection, &finished);
    }

    /// Changes the cipher, as TLS 1.2 does and TLS 1.3 pretends to, once.
    fn pretend(&mut self) {
        if !std::mem::replace(&mut self.pretended, true) {
            record::put_change_cipher_spec(&mut self.to_send);
        }
    }
}
