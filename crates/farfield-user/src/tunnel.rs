//! Tunnels through a proxy: CONNECT on a connection that is established, and the reply to it (RFC 9110
//! section 9.3.6).
//!
//! To users it is a part of connecting: a connection is there once the tunnel is, and the time limit of
//! connecting is that of both. What the proxy sends behind the head of its reply is the server's.

use crate::any_protocol::AnyProtocol;
use crate::connection::{Connection, ConnectionState};
use crate::connections::Connections;
use crate::reaction::Reaction;
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Detail, Ending, Outcome, Rule};
use farfield_http::http1::{Answering, Event, Head, Limits, Malformed, ReplyReader};

const REFUSED: Rule = Rule::new("the proxy opens no tunnel", "RFC 9110 §9.3.6");
const CLOSED: Rule = Rule::new("the proxy closes before it has answered CONNECT", "RFC 9110 §9.3.6");
const RESET: Rule =
    Rule::new("the proxy resets the connection before it has answered CONNECT", "RFC 9110 §9.3.6");
const TOO_LARGE: Rule = Rule::new("the head of the proxy's reply to CONNECT is larger than head-limit", "");

/// A tunnel that does not open.
fn refused(detail: Detail) -> Ending {
    Ending::because(Outcome::ConnectRefused, detail)
}

/// Bytes of the proxy's reply: how many of them are the reply's, once it opens the tunnel; `None` if more
/// are to come.
fn read_reply(reader: &mut ReplyReader, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Detail> {
    let mut used = 0;
    loop {
        // A reply to CONNECT has no content where it opens the tunnel, whatever its head says; what follows
        // a refusal is not read.
        match reader.read(&bytes[used..], Answering::Head, limits) {
            Ok((_, Event::NeedMore)) => return Ok(None),
            Ok((taken, Event::Head(Head { status: 200..300, .. }))) => return Ok(Some(used + taken)),
            Ok((taken, Event::Head(head))) => {
                let reason = reader.reason(&bytes[used..used + taken]);
                let words = [head.status.to_string().as_bytes(), b" ", reason].concat();
                return Err(Detail::broken(REFUSED).with(&words));
            }
            Ok((taken, _)) => used += taken,
            Err(Malformed::HeadTooLarge) => return Err(Detail::broken(TOO_LARGE)),
            Err(malformed) => {
                let detail = reader.detail_of(malformed, &bytes[used..]);
                return Err(detail.unwrap_or(Detail::broken(REFUSED)));
            }
        }
    }
}

impl Connections {
    /// Asks the proxy that the connection has reached for a tunnel.
    pub(crate) fn begin_tunnel<T: Transport>(&mut self, transport: &mut T, key: ConnectionKey) {
        let Some(connection) = self.table.find(key) else { return };
        let Some(request) = &self.hosts[connection.host.index()].tunnel else { return };
        connection.state = ConnectionState::Tunnelling;
        transport.send(key, request);
    }

    /// True if a proxy was asked for a tunnel and has not opened it.
    pub(crate) fn is_tunnelling(&mut self, key: ConnectionKey) -> bool {
        let is_waiting = |connection: &mut Connection| connection.state == ConnectionState::Tunnelling;
        self.has_tunnels && self.table.find(key).is_some_and(is_waiting)
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// Bytes came of a proxy that was asked for a tunnel.
    pub(crate) fn handle_tunnel(&mut self, key: ConnectionKey, bytes: &[u8]) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let AnyProtocol::Http1(own) = &mut connection.protocol else { return };
        match read_reply(&mut own.reader, bytes, &self.connections.readers.limits) {
            Ok(None) => {}
            Ok(Some(used)) => {
                connection.protocol = AnyProtocol::default();
                self.handle_reached(key);
                if used < bytes.len() {
                    self.handle_received(key, &bytes[used..]);
                }
            }
            Err(detail) => self.lose_tunnel(key, detail),
        }
    }

    /// The proxy closed before the tunnel was open.
    pub(crate) fn handle_closed_tunnel(&mut self, key: ConnectionKey) {
        self.lose_tunnel(key, Detail::broken(CLOSED));
    }

    /// The proxy reset the connection before the tunnel was open.
    pub(crate) fn handle_reset_tunnel(&mut self, key: ConnectionKey) {
        self.lose_tunnel(key, Detail::broken(RESET));
    }

    fn lose_tunnel(&mut self, key: ConnectionKey, detail: Detail) {
        if let Some(connection) = self.connections.table.find(key) {
            // A descriptor whose attempt failed tries again when its time T has passed.
            connection.descriptor = None;
            self.lose(key.slot, refused(detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of reading a reply in pieces of `step` bytes: the number of its bytes that are the head's.
    fn read(reply: &[u8], step: usize) -> Result<Option<usize>, String> {
        let (mut reader, mut before) = (ReplyReader::new(), 0);
        for piece in reply.chunks(step) {
            match read_reply(&mut reader, piece, &Limits::default()) {
                Ok(None) => before += piece.len(),
                Ok(Some(used)) => return Ok(Some(before + used)),
                Err(detail) => return Err(detail.to_string()),
            }
        }
        Ok(None)
    }

    #[test]
    fn what_comes_behind_the_head_is_the_servers() {
        for head in [
            "HTTP/1.1 200 Connection established\r\n\r\n",
            "HTTP/1.0 299\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 204 None\nTransfer-Encoding: chunked\n\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ] {
            for behind in ["", "\r\n\r\n", "HTTP/1.1 407 no\r\n\r\n", "\u{16}\u{3}\u{3}"] {
                for step in [1, 2, 7, 1000] {
                    let reply = format!("{head}{behind}");
                    assert_eq!(read(reply.as_bytes(), step), Ok(Some(head.len())), "{reply:?} by {step}");
                }
            }
            assert_eq!(read(&head.as_bytes()[..head.len() - 1], 3), Ok(None), "{head:?}");
        }
    }

    #[test]
    fn all_else_opens_no_tunnel() {
        for (reply, words) in [
            (
                "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n",
                "407 Proxy Authentication Required",
            ),
            ("\r\nHTTP/1.1 502\r\n\r\n", "502"),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101 Switching Protocols"),
            ("HTTP/1.1 403 Bearer SECRET123\r\n\r\n", "403 Bearer (not shown)"),
            ("SSH-2.0-OpenSSH_9\r\n", "RFC 9112"),
            ("HTTP/2 200 OK\r\n\r\n", "RFC 9112"),
        ] {
            for step in [1, 5, 1000] {
                let why = read(reply.as_bytes(), step).expect_err(reply);
                assert!(why.contains(words) && !why.contains("SECRET"), "{reply:?} by {step}: {why}");
            }
        }
        let endless = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(100_000));
        assert!(read(endless.as_bytes(), 999).expect_err("too large").contains("head-limit"));
        let interim = "HTTP/1.1 103 Early\r\n\r\n".repeat(10_000);
        assert!(read(interim.as_bytes(), 999).expect_err("too large").contains("head-limit"));
    }
}
