//! The users of one shard, their connections and what happens on them.
//!
//! A population is handed what happened and when, and asks its [`Transport`] for what follows. Nothing on
//! the path of a request allocates once tables and queues have grown, except a page's queue on a user's
//! first page.

use crate::book::HttpVersion;
use crate::connection::State;
use crate::gauge::Gauge;
use crate::itinerary::Itinerary;
use crate::load::{Model, Worker, model_of};
use crate::outgoing::Outgoing;
use crate::plan::{Plan, SessionLimits};
use crate::policy::Policy;
use crate::pool::Pools;
use crate::silence::Silence;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::table::Table;
use crate::tally::Tally;
use crate::transport::{ConnectionKey, Failure, Transport, Wake};
use crate::user::User;
use crate::visits::own_sessions;
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Instant, Outcome, SpokenVersion, Stamp, Tenths, Window};
use farfield_http::http1::{KnownHead, Limits};
use farfield_http::http2::Heads;
use farfield_http::quic;
use farfield_http::tls;
use slab::Slab;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// More requests than any load by count has: of one that is not counted, as many are left and more.
const UNCOUNTED: u64 = u64::MAX / 2;

/// The users of one shard.
#[derive(Debug)]
pub struct Population {
    pub(crate) itinerary: Itinerary,
    pub(crate) policy: Policy,
    pub(crate) tls: Option<tls::Client>,
    /// The request for a tunnel through a proxy, where there is one to go through.
    pub(crate) tunnel: Option<Bytes>,
    /// Buffer for plaintext on its way to a reader.
    pub(crate) plain: Vec<u8>,
    /// Buffer for records on their way to the transport.
    pub(crate) sealed: Vec<u8>,
    /// Buffer for what the transport may keep.
    pub(crate) outgoing: Outgoing,
    /// The version of HTTP that users speak.
    pub(crate) version: HttpVersion,
    /// What the connections of users who may speak HTTP/3 have in common.
    pub(crate) http3: Option<quic::Client>,
    /// Buffers for heads of replies on streams.
    pub(crate) heads: Heads,
    /// The connection whose replies are being read: what they lead to on it leaves together, behind the last.
    pub(crate) reading: Option<ConnectionKey>,
    pub(crate) seed: Seed,
    pub(crate) worker: Worker,
    pub(crate) window: Window,
    pub(crate) sessions: SessionLimits,
    pub(crate) model: Box<dyn Model>,
    pub(crate) users: Slab<User>,
    pub(crate) tally: Tally,
    last_received: Option<Instant>,
    received: Tenths,
    /// No more pages, arrivals or attempts.
    pub(crate) finished: bool,
    pub(crate) table: Table,
    pub(crate) pools: Pools,
    pub(crate) limits: Limits,
    pub(crate) known_head: KnownHead,
    pub(crate) connections_begun: u32,
    /// Requests that were sent, or were ready to be sent on a stream, over the whole run.
    pub(crate) requests_sent: u64,
    pub(crate) requests_left: u64,
    pub(crate) silence: Silence,
    /// Sessions that this worker's users may yet begin.
    pub(crate) sessions_left: u64,
    /// Sessions that have begun and are not over.
    pub(crate) sessions_open: u64,
    /// Requests of all pages that an OFF time holds back.
    pub(crate) held_back: u64,
    /// Whether samples say where in a page they are.
    pub(crate) records_pages: bool,
    pub(crate) in_system: Gauge,
    pub(crate) deadline_armed: bool,
    /// Users whose requests wait for streams, by the instant that their limit counts from.
    pub(crate) waiting: BTreeSet<(Instant, UserSlot)>,
    /// Attempts to connect that are dropped if still unanswered at the instant, the oldest first.
    pub(crate) unanswered: VecDeque<(Instant, ConnectionKey)>,
}

impl Population {
    /// The users of `plan`, before the run.
    pub fn new(plan: Plan) -> Population {
        let model = model_of(&plan);
        // Pages may have more than one request; a user has one of them at a time.
        let records_pages = match &plan.itinerary {
            Itinerary::Pages(pages) => !model.is_single() && pages.embed(),
            Itinerary::Sessions(_) | Itinerary::Replays(_) => true,
        };
        let Plan { itinerary, policy, tls, seed, worker, workers, window, requests_max, sessions, .. } = plan;
        let worker = Worker { number: worker, workers };
        let version = itinerary.version();
        let tunnel = policy.proxy.as_ref().filter(|_| tls.is_some() || !version.has_absolute_form());
        let tunnel = tunnel.map(|proxy| proxy.tunnel_request(itinerary.host(), tls.is_some()).into());
        Population {
            users: Slab::new(),
            tally: Tally::default(),
            last_received: None,
            received: Tenths::default(),
            finished: false,
            table: Table::new(),
            pools: Pools::default(),
            limits: policy.limits(),
            known_head: KnownHead::new(),
            connections_begun: 0,
            requests_sent: 0,
            requests_left: requests_max.unwrap_or(u64::MAX),
            silence: Silence::of(window, &policy),
            sessions_left: own_sessions(sessions.most, worker, model.users()),
            sessions_open: 0,
            held_back: 0,
            records_pages,
            in_system: Gauge::new(window),
            deadline_armed: false,
            waiting: BTreeSet::new(),
            unanswered: VecDeque::new(),
            version,
            http3: quic_client(version, tls.as_ref(), seed, worker)
                .filter(|_| version == HttpVersion::Http3 || policy.carries_datagrams()),
            itinerary,
            policy,
            tls: tls.as_ref().filter(|_| version != HttpVersion::Http3).map(tls::Client::new),
            tunnel,
            plain: Vec::new(),
            sealed: Vec::new(),
            outgoing: Outgoing::default(),
            heads: Heads::default(),
            reading: None,
            seed,
            worker,
            window,
            sessions,
            model,
        }
    }

    /// Requests that were sent so far, each time that they were.
    pub fn requests_sent(&self) -> u64 {
        self.requests_sent
    }

    /// Whether its users are those of a closed load, who come back when they are answered.
    pub fn is_closed(&self) -> bool {
        self.model.users().is_some()
    }

    /// Requests that are due and not over.
    pub fn in_system(&self) -> u64 {
        self.in_system.count()
    }

    /// Connections that are open or being opened.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// The integral of [`in_system`](Self::in_system) over the window, in request-nanoseconds.
    pub fn in_system_area(&mut self, now: Instant) -> u128 {
        self.in_system.area(now)
    }

    /// The load goes on until `end`, later than it was to. No load that was due later is lost: wakes are
    /// judged when they come.
    pub fn extend_to(&mut self, end: Instant) {
        self.window.measure_to = end;
        self.in_system.extend_to(end);
    }

    /// Counters of load that was scheduled, begun and dropped in the window so far.
    pub fn tally(&self) -> Tally {
        let counts = self.itinerary.counts();
        Tally {
            coded_bytes: counts.coded_bytes,
            decoded_bytes: counts.decoded_bytes,
            objects_left_out: counts.objects_left_out,
            forms_unlike: counts.forms_unlike,
            unbegun: if self.requests_left < UNCOUNTED { self.requests_left } else { 0 },
            ..self.tally
        }
    }

    /// When the last byte came from the server; `None` if none ever came.
    pub fn last_received(&self) -> Option<Instant> {
        self.last_received
    }

    /// Tenths of a second in which bytes came from the server.
    pub fn received(&self) -> &Tenths {
        &self.received
    }

    /// True once no user will begin anything more and nothing is on its way.
    pub fn is_done(&self) -> bool {
        let over = !self.goes_on() || self.load_is_over();
        let all_over = over && (self.finished || self.held_back == 0) && !self.sessions_finish();
        self.in_system.count() == 0 && all_over
    }

    /// Begins no more load, not even what was due before the end. What is on its way goes on, and so do
    /// sessions that may finish.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Handles a wake that was asked for with [`Transport::wake_at`] for `due`.
    pub fn handle_wake<T: Transport>(&mut self, transport: &mut T, now: Instant, due: Instant, wake: Wake) {
        match wake {
            Wake::Deadline => self.end_overdue(transport, now),
            Wake::Unanswered => self.abandon_unanswered(transport, now),
            Wake::Idle => self.close_idle(transport, now),
            Wake::Quic(key) => self.handle_quic_timer(transport, now, key),
            Wake::Alternative(key) => self.handle_attempt(transport, now, key),
            Wake::Continue(key) => self.end_waiting_for_word(transport, now, key),
            Wake::Load { item, turn } => self.begin_load(transport, now, due, item, turn),
            Wake::Start { user } => self.begin_load(transport, now, due, user, 0),
            Wake::Think { slot, turn } | Wake::Resume { slot, turn } => {
                self.go_on(transport, now, due, slot, turn)
            }
            Wake::Off { slot, turn } => self.end_off_time(transport, now, due, slot, turn),
        }
    }

    /// The connection is established.
    pub fn handle_connected<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        let Some(connection) = self.table.find(key) else { return };
        match &self.tunnel {
            _ if connection.state != State::Connecting => {}
            Some(_) => self.begin_tunnel(transport, key),
            None => self.handle_reached(transport, now, key),
        }
    }

    /// The server is reached.
    pub(crate) fn handle_reached<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
    ) {
        let Some(connection) = self.table.find(key) else { return };
        connection.state = State::Open;
        connection.connected = Stamp::at(now);
        let (user, descriptor) = (connection.user, connection.descriptor.take());
        self.table.start_limit(key.slot, now);
        match self.tls.is_some() {
            true => self.begin_securing(transport, now, key),
            false => self.begin_requests(transport, now, key.slot),
        }
        if let Some(descriptor) = descriptor {
            self.handle_answered(transport, now, descriptor);
        }
        self.pump(transport, now, user);
    }

    /// Sends the first request of a connection that is ready for it.
    pub(crate) fn begin_requests<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: ConnectionSlot,
    ) {
        if self.table.at(slot).spoken == Some(SpokenVersion::Http2) {
            self.begin_http2(now, slot);
        }
        self.send_last_bound(transport, slot);
    }

    /// Bytes came on the connection.
    pub fn handle_received<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        if !bytes.is_empty() {
            self.note_received(now);
        }
        if self.is_tunnelling(key) {
            return self.handle_tunnel(transport, now, key, bytes);
        }
        match self.tls.is_some() {
            true => self.handle_sealed(transport, now, key, bytes),
            false => self.handle_plain(transport, now, key, bytes),
        }
    }

    pub(crate) fn note_received(&mut self, now: Instant) {
        self.last_received = Some(now);
        self.received.add(now);
    }

    /// Bytes of replies came on the connection, in the clear.
    pub(crate) fn handle_plain<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        if let Some(connection) = self.table.find(key) {
            let now = connection.protocol.hear(now);
            self.handle_replies(transport, now, key, bytes);
        }
    }

    /// The peer has closed its side behind the bytes that are handed in next: nothing more is asked on the
    /// connection.
    pub fn handle_ending(&mut self, key: ConnectionKey) {
        if let Some(connection) = self.table.find(key) {
            connection.ending = true;
        }
    }

    /// The peer closed in good order.
    pub fn handle_closed<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        if self.is_tunnelling(key) {
            return self.handle_closed_tunnel(transport, now, key);
        }
        let Some(connection) = self.table.find(key) else { return };
        let ended = connection.protocol.finish();
        if let Some(session) = &connection.tls {
            // Without the peer's word, the end of the connection may not be the end of the reply.
            let cut = matches!(ended, Ok(Some(_))) && !session.is_closed_by_peer();
            if cut || !session.may_end() {
                return self.lose(transport, now, key.slot, Outcome::TlsTruncated);
            }
        }
        match ended {
            Ok(Some(reply)) => self.complete(transport, now, key.slot, reply, false),
            Ok(None) => self.lose(transport, now, key.slot, Outcome::ClosedUnanswered),
            Err(malformed) => self.lose(transport, now, key.slot, malformed.outcome()),
        }
    }

    /// The connection, or the attempt at one, failed.
    pub fn handle_failed<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        failure: Failure,
    ) {
        if failure == Failure::Reset && self.is_tunnelling(key) {
            return self.handle_reset_tunnel(transport, now, key);
        }
        let Some(connection) = self.table.find(key) else { return };
        // A descriptor whose attempt failed tries again when its time T has passed.
        connection.descriptor = None;
        self.tally.broken_by_moves += u64::from(failure == Failure::NetworkChanged);
        self.lose(transport, now, key.slot, failure.ending());
    }

    /// True while users may begin more.
    pub(crate) fn goes_on(&self) -> bool {
        !self.finished && self.requests_left > 0 && self.tally.given_up.is_none()
    }

    /// True if the count of requests has ended the load.
    pub(crate) fn requests_ran_out(&self) -> bool {
        self.requests_left == 0
    }

    /// True if `key` still tries to connect.
    pub(crate) fn is_connecting(&mut self, key: ConnectionKey) -> bool {
        let is_early = |state| matches!(state, State::Connecting | State::Tunnelling);
        self.table.find(key).is_some_and(|connection| is_early(connection.state))
    }
}

/// The client of HTTP/3, whose handshakes are those of `tls`, where the version may be that.
///
/// # Panics
/// If it must be HTTP/3, without TLS, which whoever makes the plan checks. Without cryptography the numbers
/// of QUIC follow from the run's seed and the worker's number.
fn quic_client(
    version: HttpVersion,
    tls: Option<&tls::Sessions>,
    seed: Seed,
    worker: Worker,
) -> Option<quic::Client> {
    match (version, tls) {
        (HttpVersion::Http3, Some(tls::Sessions::Encrypted(settings))) => Some(quic::Client::new(settings)),
        (HttpVersion::Http3, Some(tls::Sessions::Modelled(offer))) => {
            let mut bytes = [0; quic::SEED_BYTES];
            bytes[..8].copy_from_slice(&seed.0.to_le_bytes());
            bytes[8..12].copy_from_slice(&worker.number.to_le_bytes());
            Some(quic::Client::modelled(Arc::clone(offer), bytes))
        }
        (HttpVersion::Http3, None) => unreachable!("HTTP/3 is refused without TLS"),
        // QUIC has TLS 1.3 alone (RFC 9001 section 4.2).
        (HttpVersion::Auto, Some(tls::Sessions::Encrypted(settings))) if settings.offers_tls13() => {
            Some(quic::Client::new(settings))
        }
        _ => None,
    }
}
