//! Messages of a WebSocket as exchanges of the conversation: each of the client's is one, and what the server
//! sends is kept beside the last of them.

use super::Shared;
use crate::instant::UnixNs;
use crate::websocket::{MessageEvent, SocketMessage, SocketStage};

impl Shared {
    /// A message of the client's begins, or ends.
    pub(super) fn turn_of_client(&mut self, turn: MessageEvent, at: UnixNs) {
        match turn {
            MessageEvent::Begins(message) => {
                self.end_answers();
                let exchange = self.add(at);
                exchange.pipelined = false;
                let stage = if message.is_close { SocketStage::Close } else { SocketStage::Message };
                exchange.message = Some(SocketMessage::of(stage));
            }
            MessageEvent::Ends(_) => {
                if let Some(exchange) = self.exchanges.back_mut() {
                    (exchange.request_last, exchange.request_done) = (at, true);
                }
            }
            MessageEvent::Lost => self.lose_messages(),
        }
    }

    /// A message of the server's begins, or ends.
    pub(super) fn turn_of_server(&mut self, turn: MessageEvent, at: UnixNs) {
        match turn {
            MessageEvent::Begins(_) => {}
            MessageEvent::Ends(message) => {
                let Some(exchange) = self.exchanges.back_mut() else { return };
                let Some(own) = &mut exchange.message else { return };
                exchange.lossy |= !own.answer(message, at);
                if exchange.reply_first.is_none() {
                    (exchange.reply_first, exchange.reply_last) = (Some(message.first), Some(at));
                    exchange.body_bytes = message.body_bytes;
                    exchange.reply_bytes = message.wire_bytes;
                }
            }
            MessageEvent::Lost => self.lose_messages(),
        }
    }

    /// No more is added to what answers the client's last message.
    fn end_answers(&mut self) {
        if self.exchanges.back().is_some_and(|own| own.message.is_some() && !own.reply_done) {
            self.end_reply(false);
        }
    }

    fn lose_messages(&mut self) {
        if let Some(exchange) = self.exchanges.back_mut() {
            exchange.lossy = true;
        }
        self.doubtful = true;
    }
}
