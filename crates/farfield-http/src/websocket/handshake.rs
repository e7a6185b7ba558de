//! The handshake: the challenge of the request, and its answer (RFC 6455 sections 4.1 and 4.2.2).

use crate::http1::Fields;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest, Sha1};

/// The text that is hashed behind the key (section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The value of Sec-WebSocket-Key: 16 bytes in base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; Key::LENGTH]);

impl Key {
    /// Bytes of a key in the request.
    pub const LENGTH: usize = 24;
    /// Bytes of the answer to it.
    pub const ACCEPT_LENGTH: usize = 28;

    /// The key of these random bytes.
    pub fn of(random: [u8; 16]) -> Key {
        let mut key = [0; Key::LENGTH];
        let written = BASE64_STANDARD.encode_slice(random, &mut key);
        debug_assert_eq!(written, Ok(Key::LENGTH));
        Key(key)
    }

    /// The key as the request has it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value of Sec-WebSocket-Accept that answers it.
    pub fn accept(&self) -> [u8; Key::ACCEPT_LENGTH] {
        let digest = Sha1::new().chain_update(self.0).chain_update(GUID).finalize();
        let mut accept = [0; Key::ACCEPT_LENGTH];
        let written = BASE64_STANDARD.encode_slice(digest, &mut accept);
        debug_assert_eq!(written, Ok(Key::ACCEPT_LENGTH));
        accept
    }
}

/// True if the fields of a reply with the status 101 open the WebSocket that was asked for with `key`: they
/// upgrade to it, answer the key, and name no subprotocol but one of the list that was `offered`, and no
/// extension, since none was (section 4.1).
pub fn accepts(key: &Key, offered: &[u8], fields: Fields<'_>) -> bool {
    let lists = |field: &str, word: &[u8]| {
        let mut values = fields.named(field).flat_map(|value| value.split(|byte| *byte == b','));
        values.any(|own| own.trim_ascii().eq_ignore_ascii_case(word))
    };
    let is_answer = fields.named("sec-websocket-accept").last().is_some_and(|own| own == key.accept());
    let names_extension = fields.named("sec-websocket-extensions").any(|own| !own.trim_ascii().is_empty());
    let is_offered = |own: &[u8]| offered.split(|byte| *byte == b',').any(|one| one.trim_ascii() == own);
    let speaks_other = fields.named("sec-websocket-protocol").any(|own| !is_offered(own.trim_ascii()));
    is_answer
        && !speaks_other
        && !names_extension
        && lists("upgrade", b"websocket")
        && lists("connection", b"upgrade")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of section 1.3.
    #[test]
    fn the_key_of_the_specification_is_answered_as_it_says() {
        let key = Key::of(*b"the sample nonce");
        assert_eq!(key.as_bytes(), b"dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(&key.accept(), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_reply_must_answer_the_key_and_upgrade() {
        let key = Key::of(*b"the sample nonce");
        let head = |upgrade: &str, connection: &str, more: &str| {
            format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: {upgrade}\r\nConnection: {connection}\r\n\
                 Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n{more}\r\n"
            )
        };
        let holds = |text: String| {
            let mut reader = crate::http1::ReplyReader::default();
            let limits = crate::http1::Limits::default();
            let read = reader.read(text.as_bytes(), crate::http1::Answering::Other, &limits);
            let (used, _) = read.expect("a head");
            accepts(&key, b" chat.v1, chat.v2,", reader.fields(&text.as_bytes()[..used]))
        };
        assert!(holds(head("websocket", "Upgrade", "")));
        assert!(holds(head("WebSocket", "keep-alive, upgrade", "")));
        assert!(!holds(head("h2c", "Upgrade", "")));
        assert!(!holds(head("websocket", "close", "")));
        assert!(!holds(head("websocket", "Upgrade", "Sec-WebSocket-Extensions: permessage-deflate\r\n")));
        assert!(!holds(head("websocket", "Upgrade", "Sec-WebSocket-Accept: AAAA\r\n")));
        assert!(holds(head("websocket", "Upgrade", "Sec-WebSocket-Protocol: chat.v2\r\n")));
        assert!(!holds(head("websocket", "Upgrade", "Sec-WebSocket-Protocol: mqtt\r\n")));
    }
}
