//! WebSockets in sessions: messages as a state writes them, and the message that a state awaits. The request
//! that opens one is written as any other (the modules `request` and `socket_part`).

use super::check;
use super::filling::Filling;
use super::recipe::Recipe;
use super::request::{RequestBytes, Writer};
use super::socket_part::SocketPart;
use super::text::TextContext;
use super::user::SessionUser;
use super::{PendingRequest, RequestRole, Sessions};
use crate::exchange::Job;
use crate::slots::PendingSlot;
use bytes::BytesMut;
use farfield_base::{HostNumber, Instant, Outcome};
use farfield_http::websocket::{FrameKind, close_payload};
use farfield_traffic::session::websocket::SocketStep;
use farfield_traffic::session::{Text, TextPiece};
use rand::Rng;

/// True if a message of this text is sent as bytes: a file that is no text.
fn is_binary(text: &Text) -> bool {
    text.0.iter().any(|piece| matches!(piece, TextPiece::Bytes(_)))
}

impl Writer {
    /// Writes the message of a state, for a WebSocket to `host`.
    fn message(
        &mut self,
        recipe: &Recipe,
        (step, host): (SocketStep, HostNumber),
        mut filling: Filling<'_>,
    ) -> RequestBytes {
        let mut payload = BytesMut::new();
        if step == SocketStep::Close {
            payload.extend_from_slice(&close_payload(1000));
        }
        if let Some(text) = &recipe.body {
            filling.write(text, TextContext::Body, &mut payload);
        }
        let is_text =
            || !recipe.body.as_ref().is_some_and(is_binary) && std::str::from_utf8(&payload).is_ok();
        let kind = match step {
            SocketStep::Close => FrameKind::Close,
            _ if is_text() => FrameKind::Text,
            _ => FrameKind::Binary,
        };
        let mask = filling.rng.next_u32().to_ne_bytes();
        let part = SocketPart::Message { step, kind, mask };
        RequestBytes::message(payload.freeze(), host, part)
    }
}

impl Sessions {
    /// Writes the message of the state that the user is at, or notes why there is none.
    pub(super) fn message(
        &mut self,
        user: &mut SessionUser<'_>,
        step: SocketStep,
        now: Instant,
    ) -> (u32, Result<Option<PendingSlot>, Outcome>) {
        user.visit.turn_page();
        let state = user.visit.state;
        if !user.has_websocket {
            user.visit.failed = true;
            let outcome = Outcome::WebSocketClosed;
            self.trace_not_asked(user.visit, outcome);
            self.note_unwritten(user, now, outcome);
            return (state.into(), Err(outcome));
        }
        let Sessions { session, recipes, writer, .. } = self;
        let host = user.visit.websocket_host;
        let filling = Filling { visit: user.visit, session, user: user.number, rng: user.rng };
        let written = writer.message(&recipes[usize::from(state)], (step, host), filling);
        let kind = RequestRole::Main { redirects: 0 };
        let slot = self.pend(written, kind, now);
        (state.into(), Ok(Some(slot)))
    }

    /// The part of a WebSocket's life that a pending request is, if it is one.
    pub(crate) fn socket_step(&self, slot: PendingSlot) -> Option<SocketStep> {
        self.pending[slot.index()].written.part().map(SocketPart::step)
    }

    /// True if sessions open WebSockets.
    pub(crate) fn open_websockets(&self) -> bool {
        self.session.states.iter().any(|state| state.websocket.is_some())
    }

    /// True if the reply to a pending request has its connection upgraded.
    pub(crate) fn upgrades(&self, slot: PendingSlot) -> bool {
        self.pending[slot.index()].intake.is_upgraded()
    }

    /// Bytes of a body that are kept at most.
    pub(crate) fn body_limit(&self) -> usize {
        self.session.body_limit
    }

    /// True if a message is the one that the user's state awaits, which is kept for it then.
    pub(crate) fn is_awaited(&mut self, user: &mut SessionUser<'_>, job: Job, message: &[u8]) -> bool {
        let PendingRequest { intake, traced, .. } = &mut self.pending[job.written().index()];
        let state = &self.session.states[usize::from(user.visit.state)];
        let mut filling =
            Filling { visit: user.visit, session: &self.session, user: user.number, rng: user.rng };
        if !check::unmet(&state.check, message, &mut filling).is_empty() {
            return false;
        }
        if let Some(traced) = traced {
            traced.body(message);
        }
        intake.keep_message(message, self.bodies.pop());
        true
    }
}
