//! The client's end of a session.

use super::{DECODE_ERROR, HANDSHAKE_FAILURE, QuicAgreement, alert, keys, read_parameters, write_parameters};
use crate::tls::model::client::{Client, shares};
use crate::tls::model::message::{self, ServerHelloView, Ticket};
use crate::tls::model::record::Messages;
use crate::tls::model::{Offer, Protection};
use farfield_base::TlsVersion;
use quinn_proto::crypto::{self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes the sessions of one worker, with the tickets that its users keep.
#[derive(Debug)]
pub(in crate::quic) struct Sessions {
    client: Arc<Client>,
    /// The user on whose behalf the next session begins.
    user: AtomicU32,
    /// The server's parameters as they were last, which hold for what goes within a handshake (RFC 9000
    /// section 7.4.1). They are the same for all users, but for what the library leaves out.
    parameters: Arc<Mutex<Option<TransportParameters>>>,
}

impl Sessions {
    pub fn new(offer: Arc<Offer>) -> Sessions {
        Sessions { client: Arc::new(Client::new(offer)), user: AtomicU32::new(0), parameters: Arc::default() }
    }

    /// Calls from here on are on behalf of `user`.
    pub fn act_for(&self, user: u32) {
        self.user.store(user, Ordering::Relaxed);
    }

    /// Forgets the tickets of `user`.
    pub fn forget(&self, user: u32) {
        self.client.forget(user);
    }
}

impl crypto::ClientConfig for Sessions {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let user = self.user.load(Ordering::Relaxed);
        let (group, ticket) = self.client.take_ticket(user);
        let (mut outgoing, parameters) = (Vec::new(), write_parameters(params));
        let offer = self.client.offer();
        message::client_hello_in_quic(&mut outgoing, offer, &shares(offer, group), ticket, &parameters);
        let offers_early = ticket.is_some_and(|own| own.early_bytes > 0);
        let kept = Arc::clone(&self.parameters);
        let remembered = *kept.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(Session {
            client: Arc::clone(&self.client),
            user,
            stage: QuicClientStage::Hello,
            ticket,
            parameters,
            retried: false,
            resumes: false,
            takes_early: false,
            server_parameters: remembered.filter(|_| offers_early),
            kept,
            messages: Messages::default(),
            outgoing,
            changes: 0,
        }))
    }
}

/// The server's next messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuicClientStage {
    Hello,
    Flight,
    Open,
}

#[derive(Debug)]
struct Session {
    client: Arc<Client>,
    user: u32,
    stage: QuicClientStage,
    ticket: Option<Ticket>,
    /// The client's own.
    parameters: Vec<u8>,
    /// The server asked for another key share.
    retried: bool,
    resumes: bool,
    /// The server takes early data.
    takes_early: bool,
    /// The server's own; those of an earlier session before they come, where early data is offered.
    server_parameters: Option<TransportParameters>,
    /// Place of the server's parameters for later sessions.
    kept: Arc<Mutex<Option<TransportParameters>>>,
    messages: Messages,
    outgoing: Vec<u8>,
    /// Changes of keys that were handed to the library.
    changes: u8,
}

impl Session {
    fn take(&mut self, kind: u8, body: &[u8]) -> Result<(), TransportError> {
        match (self.stage, kind) {
            (QuicClientStage::Hello, message::SERVER_HELLO) => {
                let answer = ServerHelloView::read(body).ok_or_else(|| alert(DECODE_ERROR))?;
                if answer.is_retry {
                    // Twice is once too often (RFC 8446 section 4.1.4).
                    let group =
                        answer.group.filter(|_| !self.retried).ok_or_else(|| alert(HANDSHAKE_FAILURE))?;
                    self.retried = true;
                    let (offer, parameters) = (self.client.offer(), &self.parameters);
                    message::client_hello_in_quic(
                        &mut self.outgoing,
                        offer,
                        &[group],
                        self.ticket.map(Ticket::without_early),
                        parameters,
                    );
                    return Ok(());
                }
                self.client.note_group(answer.group);
                (self.resumes, self.stage) = (answer.resumes, QuicClientStage::Flight);
            }
            (QuicClientStage::Flight, message::ENCRYPTED_EXTENSIONS) => {
                let parameters = message::transport_parameters(body).ok_or_else(|| alert(DECODE_ERROR))?;
                self.server_parameters = Some(read_parameters(Side::Client, parameters)?);
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = self.server_parameters;
                self.takes_early = message::takes_early(body).ok_or_else(|| alert(DECODE_ERROR))?;
            }
            (QuicClientStage::Flight, message::FINISHED) => {
                message::finished(&mut self.outgoing, Protection::Tls13);
                self.stage = QuicClientStage::Open;
            }
            (QuicClientStage::Open, message::NEW_SESSION_TICKET) => {
                let ticket = message::read_ticket(TlsVersion::Tls13, body);
                self.client.keep(self.user, ticket.ok_or_else(|| alert(DECODE_ERROR))?);
            }
            // Messages that a real client would verify.
            (QuicClientStage::Flight, _) => {}
            _ => return Err(alert(DECODE_ERROR)),
        }
        Ok(())
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys::keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        (self.stage != QuicClientStage::Hello).then(|| Box::new(QuicAgreement { resumes: self.resumes }) as _)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.server_parameters.map(|_| keys::early_keys())
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(self.takes_early)
    }

    fn is_handshaking(&self) -> bool {
        self.stage != QuicClientStage::Open
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let before = self.stage;
        self.messages.add(buf);
        while let Some((kind, body)) = self.messages.next() {
            self.take(kind, &body)?;
        }
        Ok(before == QuicClientStage::Hello && self.stage != QuicClientStage::Hello)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.server_parameters)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        buf.append(&mut self.outgoing);
        // Keys of the handshake behind the server's first message, those of data behind its last.
        let due = match self.stage {
            QuicClientStage::Hello => 0,
            QuicClientStage::Flight => 1,
            QuicClientStage::Open => 2,
        };
        (self.changes < due).then(|| {
            self.changes += 1;
            keys::keys()
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys::packet_keys())
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        keys::is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
