//! Sessions of either kind, with cryptography or without.

use super::failure::TlsFailure;
use super::model::Offer;
use super::{TlsSettings, encrypted, model};
use farfield_base::{Detail, Duration, Instant, SpokenVersion, TlsStats};
use std::sync::Arc;

/// The source of a run's sessions.
#[derive(Debug, Clone)]
pub enum Sessions {
    /// Sessions with cryptography, on the real-time planes.
    Encrypted(TlsSettings),
    /// Sessions without, in virtual time.
    Modelled(Arc<Offer>),
}

/// Makes the sessions of one worker, with the time and the tickets that they share.
#[derive(Debug)]
pub struct Client(ClientBackend);

#[derive(Debug)]
enum ClientBackend {
    Encrypted(Box<encrypted::Client>),
    Modelled(model::Client),
}

impl Client {
    /// The client that `sessions` describe.
    pub fn new(sessions: &Sessions) -> Client {
        Client(match sessions {
            Sessions::Encrypted(settings) => {
                ClientBackend::Encrypted(encrypted::Client::new(settings).into())
            }
            Sessions::Modelled(offer) => ClientBackend::Modelled(model::Client::new(Arc::clone(offer))),
        })
    }

    /// A session of `user` on a connection that is established; its first bytes are ready to be
    /// [taken](Session::take_to_send).
    pub fn begin(&self, now: Instant, user: u32) -> Session {
        Session(match &self.0 {
            ClientBackend::Encrypted(client) => SessionBackend::Encrypted(client.begin(now, user).into()),
            ClientBackend::Modelled(client) => SessionBackend::Modelled(client.begin(user).into()),
        })
    }

    /// Forgets the tickets of `user`, who is gone or comes back as another.
    pub fn forget(&self, user: u32) {
        match &self.0 {
            ClientBackend::Encrypted(client) => client.forget(user),
            ClientBackend::Modelled(client) => client.forget(user),
        }
    }
}

/// One connection's session: received bytes in, plaintext and bytes to send out.
#[derive(Debug)]
pub struct Session(SessionBackend);

#[derive(Debug)]
enum SessionBackend {
    Encrypted(Box<encrypted::Session>),
    Modelled(Box<model::Session>),
}

impl Session {
    /// Takes the `bytes` that came, and appends the plaintext in them to `plain`. What is to be sent in
    /// answer is ready to be [taken](Self::take_to_send) then, also after a failure: it tells the server why.
    ///
    /// # Errors
    /// [`TlsFailure`] if the session cannot go on; what is in `plain` came before.
    ///
    /// # Panics
    /// If `client` is not the one that began the session.
    pub fn receive(
        &mut self,
        client: &Client,
        now: Instant,
        bytes: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), TlsFailure> {
        match (&mut self.0, &client.0) {
            (SessionBackend::Encrypted(session), ClientBackend::Encrypted(client)) => {
                session.receive(client, now, bytes, plain)
            }
            (SessionBackend::Modelled(session), ClientBackend::Modelled(client)) => {
                session.receive(client, bytes, plain)
            }
            _ => unreachable!("a session is of its client's kind"),
        }
    }

    /// The detail of the failure that [`receive`](Self::receive) returned, if there is one.
    pub fn detail(&self) -> Option<&Detail> {
        match &self.0 {
            SessionBackend::Encrypted(session) => session.detail(),
            SessionBackend::Modelled(session) => session.detail(),
        }
    }

    /// Processor time that the handshake took since this was last asked, where the settings have a clock for
    /// it.
    pub fn take_spent(&mut self) -> Duration {
        match &mut self.0 {
            SessionBackend::Encrypted(session) => session.take_spent(),
            SessionBackend::Modelled(_) => Duration::ZERO,
        }
    }

    /// True once requests can be sent: the handshake is over.
    pub fn is_secured(&self) -> bool {
        match &self.0 {
            SessionBackend::Encrypted(session) => session.is_secured(),
            SessionBackend::Modelled(session) => session.is_secured(),
        }
    }

    /// The version of HTTP that the server chose (ALPN), once the handshake is over: HTTP/1.1 if it chose
    /// none.
    pub fn spoken(&self) -> SpokenVersion {
        match &self.0 {
            SessionBackend::Encrypted(session) if session.speaks_http2() => SpokenVersion::Http2,
            SessionBackend::Encrypted(_) | SessionBackend::Modelled(_) => SpokenVersion::Http11,
        }
    }

    /// The session that was agreed on, where the handshake was over at `secured`.
    pub fn stats(&self, secured: Instant) -> TlsStats {
        match &self.0 {
            SessionBackend::Encrypted(session) => session.stats(secured),
            SessionBackend::Modelled(session) => session.stats(secured),
        }
    }

    /// Bytes of plaintext that may be [sealed early](Self::seal_early) now, within the handshake: none,
    /// unless the settings and the ticket allow it.
    pub fn early_room(&mut self) -> usize {
        match &mut self.0 {
            SessionBackend::Encrypted(session) => session.early_room(),
            SessionBackend::Modelled(session) => session.early_room(),
        }
    }

    /// Seals `plain` within the handshake (RFC 8446 section 2.3): the records are ready to be
    /// [taken](Self::take_to_send) behind the first message. Whether the server took it is in the
    /// [`stats`](Self::stats) of the session; if it did not, `plain` is lost.
    ///
    /// # Panics
    /// If it is more than there is [room](Self::early_room) for.
    pub fn seal_early(&mut self, plain: &[u8]) {
        match &mut self.0 {
            SessionBackend::Encrypted(session) => session.seal_early(plain),
            SessionBackend::Modelled(session) => session.seal_early(plain),
        }
    }

    /// True once the peer has said that it sends nothing more.
    pub fn is_closed_by_peer(&self) -> bool {
        match &self.0 {
            SessionBackend::Encrypted(session) => session.is_closed_by_peer(),
            SessionBackend::Modelled(session) => session.is_closed_by_peer(),
        }
    }

    /// Seals `plain`, whole, in records that are ready to be [taken](Self::take_to_send).
    pub fn seal(&mut self, plain: &[u8]) {
        match &mut self.0 {
            SessionBackend::Encrypted(session) => session.seal(plain),
            SessionBackend::Modelled(session) => session.seal(plain),
        }
    }

    /// Appends the bytes to send to `bytes`.
    pub fn take_to_send(&mut self, bytes: &mut Vec<u8>) {
        match &mut self.0 {
            SessionBackend::Encrypted(session) => session.take_to_send(bytes),
            SessionBackend::Modelled(session) => session.take_to_send(bytes),
        }
    }

    /// Says to the peer that nothing more is sent, unless that is known already or was never agreed on.
    pub fn close(&mut self) {
        match &mut self.0 {
            SessionBackend::Encrypted(session) => session.close(),
            SessionBackend::Modelled(session) => session.close(),
        }
    }

    /// True if the connection may end here: not in the handshake, and not in a record. Servers often close
    /// an idle connection without a word.
    pub fn may_end(&self) -> bool {
        match &self.0 {
            SessionBackend::Encrypted(session) => session.may_end(),
            SessionBackend::Modelled(session) => session.may_end(),
        }
    }
}
