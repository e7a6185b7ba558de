//! Tickets that users keep for resumption (RFC 8446 section 2.2, RFC 5077): each user its own, as each
//! browser does.
//!
//! The library asks one store for all connections. The store answers for the user whose session is at work,
//! which the [`Client`](super::Client) says before it calls the library.

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tickets of TLS 1.3 that a user keeps: servers send two after a handshake, and each is used once.
const TICKETS_MAX: usize = 4;

/// The tickets of one worker's users, for one server.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<TicketTable>);

#[derive(Debug, Default)]
struct TicketTable {
    /// The user whose session is at work.
    acting: u32,
    users: BTreeMap<u32, UserTickets>,
    /// The key exchange that the server chose, which is the same for all.
    group: Option<NamedGroup>,
}

#[derive(Debug, Default)]
struct UserTickets {
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    /// Answers for `user` from now on.
    pub fn act_for(&self, user: u32) {
        self.kept().acting = user;
    }

    /// The user whose session is at work.
    pub fn acting(&self) -> u32 {
        self.kept().acting
    }

    /// Keeps tickets for `user` from now on, besides those that it has.
    pub fn keep_for(&self, user: u32) {
        self.kept().users.entry(user).or_default();
    }

    /// Forgets what `user` keeps, and keeps no more: a ticket may come when its user is gone.
    pub fn forget(&self, user: u32) {
        self.kept().users.remove(&user);
    }

    /// Never poisoned in effect: the store is consistent after every line.
    fn kept(&self) -> MutexGuard<'_, TicketTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts on the tickets of the user whose session is at work, unless that one is forgotten.
    fn with_user<R>(&self, act: impl FnOnce(&mut UserTickets) -> Option<R>) -> Option<R> {
        let mut kept = self.kept();
        let user = kept.acting;
        act(kept.users.get_mut(&user)?)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _server: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _server: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _server: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.with_user(|user| user.tls12.replace(value));
    }

    fn tls12_session(&self, _server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with_user(|user| user.tls12.clone())
    }

    fn remove_tls12_session(&self, _server: &ServerName<'static>) {
        self.with_user(|user| user.tls12.take());
    }

    fn insert_tls13_ticket(&self, _server: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.with_user(|user| {
            if user.tls13.len() == TICKETS_MAX {
                user.tls13.pop_front();
            }
            user.tls13.push_back(value);
            Some(())
        });
    }

    fn take_tls13_ticket(&self, _server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with_user(|user| user.tls13.pop_back())
    }
}
