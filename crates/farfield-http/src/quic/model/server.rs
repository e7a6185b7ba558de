//! The server's end of a session.

use super::{
    DECODE_ERROR, HANDSHAKE_FAILURE, NO_APPLICATION_PROTOCOL, PROTOCOL_VERSION, QuicAgreement, alert, keys,
    read_parameters, write_parameters,
};
use crate::tls::Alpn;
use crate::tls::model::Terms;
use crate::tls::model::message::{self, Hello};
use crate::tls::model::record::Messages;
use crate::tls::{Group, Version};
use quinn_proto::crypto::{
    self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Makes the sessions of a server.
#[derive(Debug)]
pub(in crate::quic) struct Sessions {
    terms: Arc<Terms>,
}

impl Sessions {
    pub fn new(terms: Arc<Terms>) -> Sessions {
        Sessions { terms }
    }
}

impl crypto::ServerConfig for Sessions {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys::keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        Box::new(Session {
            terms: Arc::clone(&self.terms),
            parameters: write_parameters(params),
            stage: QuicServerStage::Hello,
            retried: false,
            resumes: false,
            takes_early: false,
            client_parameters: None,
            messages: Messages::default(),
            outgoing: [Vec::new(), Vec::new(), Vec::new()],
            changes: 0,
        })
    }
}

/// The client's next messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuicServerStage {
    Hello,
    Finished,
    Open,
}

#[derive(Debug)]
struct Session {
    terms: Arc<Terms>,
    /// The server's own.
    parameters: Vec<u8>,
    stage: QuicServerStage,
    retried: bool,
    resumes: bool,
    takes_early: bool,
    client_parameters: Option<TransportParameters>,
    messages: Messages,
    /// By the keys that it goes with.
    outgoing: [Vec<u8>; 3],
    /// Changes of keys that were handed to the library.
    changes: u8,
}

impl Session {
    fn take(&mut self, kind: u8, body: &[u8]) -> Result<(), TransportError> {
        match (self.stage, kind) {
            (QuicServerStage::Hello, message::CLIENT_HELLO) => {
                let hello = Hello::read(body).ok_or_else(|| alert(DECODE_ERROR))?;
                self.answer(&hello)
            }
            (QuicServerStage::Finished, message::FINISHED) => {
                self.stage = QuicServerStage::Open;
                let tickets = &mut self.outgoing[2];
                let early_bytes = if self.terms.early_data { message::EARLY_BYTES_IN_QUIC } else { 0 };
                let put = |_| message::new_session_ticket(tickets, Version::Tls13, early_bytes);
                (0..self.terms.tickets).for_each(put);
                Ok(())
            }
            _ => Err(alert(DECODE_ERROR)),
        }
    }

    /// The answer to the client's first message.
    fn answer(&mut self, hello: &Hello) -> Result<(), TransportError> {
        let Hello { versions, groups, shares, has_psk, protocol, parameters, .. } = hello;
        let Terms { groups: accepted, tickets, .. } = &*self.terms;
        let has_tls13 = self.terms.versions.contains(&Version::Tls13);
        if !has_tls13 || !versions.contains(&Version::Tls13.number()) {
            return Err(alert(PROTOCOL_VERSION));
        }
        if *protocol != Alpn::Http3 {
            return Err(alert(NO_APPLICATION_PROTOCOL));
        }
        let parameters = parameters.as_deref().ok_or_else(|| alert(DECODE_ERROR))?;
        self.client_parameters = Some(read_parameters(Side::Server, parameters)?);
        let shared = shares.iter().copied().find(|group| accepted.contains(group));
        let first: Option<Group> = accepted.iter().copied().find(|group| groups.contains(group));
        let group = match (shared, first) {
            (Some(group), _) => group,
            (None, Some(group)) if !self.retried => {
                self.retried = true;
                message::retry_request(&mut self.outgoing[0], group, &[]);
                return Ok(());
            }
            _ => return Err(alert(HANDSHAKE_FAILURE)),
        };
        self.resumes = *has_psk && *tickets > 0;
        self.takes_early = hello.is_taken_early(&self.terms, self.resumes);
        let own = Some(self.parameters.as_slice());
        message::server_hello_tls13(&mut self.outgoing[0], group, self.resumes, &[]);
        message::rest_of_tls13(&mut self.outgoing[1], &self.terms, hello, self.resumes, own);
        self.stage = QuicServerStage::Finished;
        Ok(())
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys::keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        (self.stage != QuicServerStage::Hello).then(|| Box::new(QuicAgreement { resumes: self.resumes }) as _)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.takes_early.then(keys::early_keys)
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.stage != QuicServerStage::Open
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let before = self.stage;
        self.messages.add(buf);
        while let Some((kind, body)) = self.messages.next() {
            self.take(kind, &body)?;
        }
        Ok(before == QuicServerStage::Hello && self.stage != QuicServerStage::Hello)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.client_parameters)
    }

    /// The server's first message goes with the first keys, the rest with those of the handshake, and tickets
    /// with those of data: at each call what goes with the present keys, and the next if there are any.
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        buf.append(&mut self.outgoing[usize::from(self.changes)]);
        let due = if self.stage == QuicServerStage::Hello { 0 } else { 2 };
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
