//! Messages on WebSockets of users: the connection that a state opens and later ones use, messages as they
//! are sent and come, and the end of it.
//!
//! A user has one at a time. It is none of the connections that requests go over: it counts against no bound
//! on them, goes to no pool, and lives until a state closes it, its session is over, or the server closes. On
//! it one message is asked or awaited at a time, which is a request as any other to the rest of the
//! population. What comes while nothing is awaited is kept, up to a bound, for a state that awaits.

use crate::any_protocol::AnyProtocol;
use crate::connections::Connections;
use crate::egress::Egress;
use crate::exchange::Job;
use crate::reaction::Reaction;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport, Wake};
use crate::websocket::WebSocket;
use farfield_base::{Detail, Duration, Ending, Instant, Outcome, Rule, Sender, Signal, Stamp};
use farfield_http::http1::Reply;
use farfield_http::websocket::{FrameKind, MaskSource, Message, close_payload};
use farfield_traffic::session::websocket::SocketStep;

/// Bytes that may wait to leave while the user of a message that nobody answers goes on, where they leave
/// even if that closes the connection.
const UNSENT_MAX: u64 = 64 << 10;
/// Time from one look at what waits to the next: half as long as it has waited, within these bounds.
const UNSENT_LOOKS: [Duration; 2] = [Duration::from_ms(1), Duration::from_ms(100)];

impl Connections {
    /// Makes an open connection a WebSocket, whose user's messages are masked by `seed`.
    fn begin_websocket(&mut self, slot: ConnectionSlot, kept_max: usize, seed: u64) {
        let bytes_max = self.readers.limits.body_bytes;
        let socket = WebSocket::new(kept_max, bytes_max, MaskSource::of(seed));
        self.table.at_mut(slot).protocol = AnyProtocol::WebSocket(Box::new(socket));
    }

    /// Sends a frame that no request is.
    fn send_control<T: Transport>(
        &mut self,
        transport: &mut T,
        slot: ConnectionSlot,
        (kind, payload): (FrameKind, &[u8]),
    ) {
        let key = self.table.key(slot);
        let connection = self.table.at_mut(slot);
        let Some(socket) = connection.protocol.websocket() else { return };
        let frame = socket.control_frame(kind, payload);
        match &mut connection.tls {
            None => {
                connection.answers.count(frame.len());
                self.buffers.send(transport, key, &frame);
            }
            Some(session) => {
                session.seal(&frame);
                connection.answers.count(self.buffers.take_records(session));
                self.buffers.send_records(session, transport, key);
            }
        }
    }

    /// Says on a WebSocket that is about to be closed that the user leaves, unless an end has said so.
    pub fn close_websocket<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        let is_ending = connection.ending;
        let Some(socket) = connection.protocol.websocket() else { return };
        if !socket.is_closing && !is_ending {
            let code = close_payload(socket.leaving);
            self.send_control(transport, slot, (FrameKind::Close, &code));
        }
    }
}

impl<T: Transport> Egress<'_, T> {
    /// The user's connection has been upgraded, in place of the WebSocket that it had, if it had one.
    pub(crate) fn begin_websocket(&mut self, slot: ConnectionSlot) {
        let user = self.connections.table.at(slot).user;
        self.end_websocket(user);
        let (kept_max, seed) = self.users.websocket_limits(user);
        self.connections.begin_websocket(slot, kept_max, seed);
        self.users[user].websocket = Some(slot);
        self.counters.load.websockets.opened += 1;
    }

    /// Closes the user's WebSocket, if it has one.
    pub(crate) fn end_websocket(&mut self, user: UserSlot) {
        if let Some(slot) = self.users.find(user).and_then(|user| user.websocket) {
            self.drop_connection(slot);
        }
    }

    /// Sends a message of a user's, or begins to await one; false if the user has no WebSocket.
    pub(crate) fn send_message(&mut self, user: UserSlot, job: Job, step: SocketStep) -> bool {
        let Some(slot) = self.users[user].websocket else { return false };
        self.bind(slot, job);
        let key = self.connections.table.key(slot);
        if step == SocketStep::Await {
            self.await_message(slot, job);
            return true;
        }
        let Some(socket) = self.connections.table.at_mut(slot).protocol.websocket() else { return false };
        if step == SocketStep::Ask {
            self.counters.load.websockets.passed_over += socket.forget_early();
        }
        if socket.ended.is_some() {
            // Nobody would read it.
            self.transport.wake_at(self.now, Wake::Leave(key));
            return true;
        }
        self.counters.load.websockets.sent += u64::from(step != SocketStep::Close);
        self.send_last_bound(slot);
        match step {
            SocketStep::Send => self.transport.wake_at(self.now, Wake::Leave(key)),
            SocketStep::Close => {
                if let Some(socket) = self.connections.table.at_mut(slot).protocol.websocket() {
                    socket.is_closing = true;
                }
            }
            SocketStep::Open | SocketStep::Ask | SocketStep::Await => {}
        }
        true
    }

    /// Looks for the message that `job` awaits among those that came before. Nothing was sent for it, so it
    /// takes no number on the connection.
    fn await_message(&mut self, slot: ConnectionSlot, job: Job) {
        let key = self.connections.table.key(slot);
        let connection = self.connections.table.at_mut(slot);
        connection.requests -= 1;
        let user = connection.user;
        let Some(socket) = connection.protocol.websocket() else { return };
        while let Some((came, message, payload)) = socket.take_early() {
            if self.users.is_awaited(user, job, &payload) {
                socket.found = Some((came, message));
                self.transport.wake_at(self.now, Wake::Leave(key));
                return;
            }
            self.counters.load.websockets.passed_over += 1;
        }
        if socket.ended.is_some() {
            self.transport.wake_at(self.now, Wake::Leave(key));
        }
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// A message came.
    pub(crate) fn handle_message(&mut self, key: ConnectionKey, message: Message) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let (user, first) = (connection.user, connection.in_flight.first().copied());
        let Some(socket) = connection.protocol.websocket().filter(|own| own.ended.is_none()) else { return };
        self.counters.load.websockets.received += 1;
        let step = first.and_then(|own| self.users.itinerary.socket_step(&own.job));
        match (first, step) {
            (Some(exchange), Some(step)) if step.awaits() && socket.found.is_none() => {
                // What began to come before the question was sent does not answer it.
                let is_behind = exchange.sent.instant().is_none_or(|sent| sent <= socket.begun);
                if is_behind && self.users.is_awaited(user, exchange.job, socket.reader.payload()) {
                    let begun = socket.begun;
                    self.counters.load.websockets.passed_over += socket.forget_early();
                    return self.end_awaiting(key, message, begun);
                }
                self.counters.load.websockets.passed_over += 1;
            }
            _ => self.counters.load.websockets.lost += socket.keep(self.now, message),
        }
    }

    /// The message that was awaited is there, whose first byte came at `begun`.
    fn end_awaiting(&mut self, key: ConnectionKey, message: Message, begun: Instant) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(exchange) = connection.in_flight.first_mut() else { return };
        if let Some(sent) = exchange.sent.instant() {
            exchange.first_byte = Stamp::at(begun.max(sent));
        }
        let at = exchange.end_at(self.now);
        let Message { bytes, wire_bytes, .. } = message;
        let reply = Reply { status: 0, persistent: true, body_bytes: bytes, reply_bytes: wire_bytes };
        self.at(at).complete(key.slot, reply, false);
    }

    /// Ends what waits for nothing on a WebSocket: a message that has left and is not answered, or one that
    /// had come before it was awaited. Whether the connection is one.
    pub(crate) fn end_unawaited(&mut self, key: ConnectionKey) -> bool {
        let waits = self.waits_to_leave(key);
        let Some(connection) = self.connections.table.find(key) else { return false };
        let Some(socket) = connection.protocol.websocket() else { return false };
        let (found, ended) = (socket.found.take(), socket.ended.clone());
        let Some(exchange) = connection.in_flight.first_mut() else { return true };
        let is_sent = self.users.itinerary.socket_step(&exchange.job) == Some(SocketStep::Send);
        match found {
            Some((came, message)) => {
                // What was there when it was wanted nobody has waited for.
                exchange.came = Stamp::at(came);
                self.end_awaiting(key, message, self.now);
            }
            None if ended.is_some() => self.lose(key.slot, ended.unwrap_or(Outcome::WebSocketClosed.into())),
            None if is_sent && waits => {
                // Whoever went on would send what a server that does not read never gets.
                let waited = exchange.sent.instant().map_or(Duration::ZERO, |sent| self.now.since(sent));
                let [least, most] = UNSENT_LOOKS;
                let look = Duration::from_ns(waited.as_ns() / 2).clamp(least, most);
                self.transport.wake_at(self.now + look, Wake::Leave(key));
            }
            None if is_sent => {
                // Nobody waits for anything: a success without a time.
                exchange.progress.leave_unanswered();
                let at = exchange.end_at(self.now);
                let reply = Reply { status: 0, persistent: true, body_bytes: 0, reply_bytes: 0 };
                self.at(at).complete(key.slot, reply, false);
            }
            None => {}
        }
        true
    }

    /// True if more of what was sent on a connection waits to leave than may where nobody awaits an answer.
    fn waits_to_leave(&self, key: ConnectionKey) -> bool {
        let most = if self.transport.sends_after_close() { UNSENT_MAX } else { 0 };
        self.transport.backlog(key).kept > most
    }

    /// The server asks for a sign of life.
    pub(crate) fn handle_ping(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(socket) = connection.protocol.websocket() else { return };
        let payload = socket.reader.control().to_vec();
        self.connections.send_control(self.transport, key.slot, (FrameKind::Pong, &payload));
        self.end_if_unread(key);
    }

    /// The server closes the WebSocket, or answers that the user does.
    pub(crate) fn handle_close(&mut self, key: ConnectionKey, code: Option<u16>) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let first = connection.in_flight.first();
        if first.and_then(|own| self.users.itinerary.socket_step(&own.job)) == Some(SocketStep::Send) {
            // It was sent, whatever comes.
            self.end_unawaited(key);
        }
        let Some(connection) = self.connections.table.find(key) else { return };
        let first = connection.in_flight.first().copied();
        let Some(socket) = connection.protocol.websocket() else { return };
        if socket.ended.is_some() {
            // Nothing counts behind the first (RFC 6455 section 5.5.1).
            return;
        }
        let reason = socket.reader.control().get(2..).unwrap_or_default().to_vec();
        let step = first.and_then(|own| self.users.itinerary.socket_step(&own.job));
        if step == Some(SocketStep::Close) {
            if let Some(exchange) = connection.in_flight.first_mut()
                && let Some(sent) = exchange.sent.instant()
            {
                exchange.first_byte = Stamp::at(self.now.max(sent));
            }
            let at = first.map_or(self.now, |own| own.end_at(self.now));
            let wire_bytes = 2 + code.map_or(0, |_| 2) + reason.len() as u64;
            let reply =
                Reply { status: 0, persistent: false, body_bytes: wire_bytes - 2, reply_bytes: wire_bytes };
            return self.at(at).complete(key.slot, reply, false);
        }
        let keeps = socket.has_messages();
        let answer = code.map(close_payload);
        let answer = answer.as_ref().map_or(&[][..], |code| &code[..]);
        self.connections.send_control(self.transport, key.slot, (FrameKind::Close, answer));
        self.counters.load.websockets.closed += 1;
        let detail = match code {
            Some(code) => Detail::sent(Signal::CloseWebSocket, code.into(), Sender::Server).with(&reason),
            None => Detail::broken(Rule::new("the server closes without a code", "")),
        };
        let ending = Ending::because(Outcome::WebSocketClosed, detail);
        match keeps {
            true => self.end_behind_messages(key, ending),
            false => self.lose(key.slot, ending),
        }
    }

    /// The server has closed a WebSocket on which messages are kept, which its user may still find.
    fn end_behind_messages(&mut self, key: ConnectionKey, ending: Ending) {
        if let Some(connection) = self.connections.table.find(key)
            && let Some(socket) = connection.protocol.websocket()
        {
            socket.ended.get_or_insert(ending);
        }
    }

    /// The server has ended the connection in good order: true if it is kept for the messages on it.
    pub(crate) fn keeps_messages(&mut self, key: ConnectionKey) -> bool {
        let Some(connection) = self.connections.table.find(key) else { return false };
        let Some(socket) = connection.protocol.websocket() else { return false };
        let keeps = socket.has_messages();
        if keeps {
            self.counters.load.websockets.closed += u64::from(!socket.is_closing);
            socket.is_closing = true;
            self.end_behind_messages(key, Outcome::WebSocketClosed.into());
        }
        keeps
    }

    /// Counts a WebSocket that is lost to its server, which has not said so.
    pub(crate) fn count_closed_websocket(&mut self, slot: ConnectionSlot, outcome: Outcome) {
        let is_servers = matches!(outcome, Outcome::ClosedUnanswered | Outcome::Reset);
        let socket = self.connections.table.at_mut(slot).protocol.websocket();
        if is_servers && socket.is_some_and(|socket| !socket.is_closing) {
            self.counters.load.websockets.closed += 1;
        }
    }
}
