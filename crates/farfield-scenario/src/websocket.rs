//! WebSockets in sessions: refused where the plane, the version of HTTP or a proxy has no place for them.

use crate::http::HttpVersion;
use crate::mistake::Mistake;
use crate::scenario::Scenario;
use farfield_engine::PlaneKind;
use farfield_traffic::session::Session;

impl Scenario {
    /// Refuses WebSockets that could not be opened.
    pub(crate) fn check_websockets(&self, session: &Session) -> Result<(), Mistake> {
        let Some(place) = session.states.iter().position(|state| state.websocket.is_some()) else {
            return Ok(());
        };
        let refuse = |sentence: &str| Err(Mistake::at(format!("session.state[{place}].websocket"), sentence));
        if self.plane == PlaneKind::Simulated {
            return refuse(
                "the model of a server speaks no WebSocket; choose the sockets or the emulated plane, before a real server",
            );
        }
        if matches!(self.http, HttpVersion::Http10 | HttpVersion::Http3) {
            return refuse(
                "a WebSocket is opened over HTTP/1.1, beside requests of HTTP/2 or of HTTP/1.1; write http = \"auto\", \"2\" \
                 or \"1.1\"",
            );
        }
        let is_plain = |number: usize| match number {
            0 => !self.is_secure(),
            _ => self.host.get(number - 1).is_some_and(|host| !host.url.is_secure()),
        };
        if self.connections.proxy.is_some() && (0..=self.host.len()).any(is_plain) {
            return refuse(
                "a WebSocket without TLS is not opened through a proxy here; write an https:// target, or leave the proxy out",
            );
        }
        Ok(())
    }
}
