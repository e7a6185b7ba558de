//! WebSockets in sessions (RFC 6455): states that open one, send and await messages on it, and close it.
//!
//! A user has one WebSocket at a time, from the state that opens it to the one that closes it, or to the end
//! of its session. Each of these states is a page of its own, with a sample, a think time and checks.

use super::SessionError;
use super::extract::ExtractSource;
use super::state::StateSpec;
use serde::{Deserialize, Serialize};

/// The part of a WebSocket's life that a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SocketStep {
    /// Asks for `path` and has the connection upgraded.
    Open,
    /// Sends the body as a message, and awaits the first message behind it of which all checks hold.
    Ask,
    /// Sends the body as a message, and goes on at once.
    Send,
    /// Awaits the first message of which all checks hold, of those since the last that was awaited.
    Await,
    /// Closes it, and awaits the server's word.
    Close,
}

impl SocketStep {
    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            SocketStep::Open => "open",
            SocketStep::Ask => "ask",
            SocketStep::Send => "send",
            SocketStep::Await => "await",
            SocketStep::Close => "close",
        }
    }

    /// True if its body is sent as a message.
    pub const fn sends(self) -> bool {
        matches!(self, SocketStep::Ask | SocketStep::Send)
    }

    /// True if a message is awaited.
    pub const fn awaits(self) -> bool {
        matches!(self, SocketStep::Ask | SocketStep::Await)
    }
}

/// Fields of the request that opens a WebSocket which the client writes.
const OWN_FIELDS: [&str; 5] = [
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
    "sec-websocket-accept",
];

/// Refuses keys of a state that mean nothing for its `step`; `key` is where the state stands.
pub(super) fn check(key: &str, state: &StateSpec, step: SocketStep) -> Result<(), SessionError> {
    let refuse = |part: &str, sentence: String| Err(SessionError::at(format!("{key}.{part}"), sentence));
    let name = step.name();
    let is_open = step == SocketStep::Open;
    if let Some(part) = unfit(state, is_open) {
        return refuse(part, format!("means nothing with `websocket = \"{name}\"`; leave it out"));
    }
    if is_open {
        if state.path.is_none() {
            return refuse("path", "a WebSocket is opened at a path; write one".to_owned());
        }
        if let Some(own) = state.headers.keys().find(|own| OWN_FIELDS.contains(&own.as_str())) {
            let part = format!("headers.{}", own.as_str());
            return refuse(&part, "is written by the client; leave it out".to_owned());
        }
    }
    match (step.sends(), &state.body) {
        (true, None) => {
            return refuse("body", format!("`websocket = \"{name}\"` sends a message; write it as `body`"));
        }
        (false, Some(_)) => {
            return refuse("body", format!("`websocket = \"{name}\"` sends no message; leave it out"));
        }
        _ => {}
    }
    if !is_open && !step.awaits() && (!state.check.is_empty() || !state.extract.is_empty()) {
        let part = if state.check.is_empty() { "extract" } else { "check" };
        return refuse(part, format!("no message is awaited with `websocket = \"{name}\"`; leave it out"));
    }
    let of_heads =
        |source: &ExtractSource| matches!(source, ExtractSource::Header(_) | ExtractSource::Cookie(_));
    let of_bodies = |source: &ExtractSource| !of_heads(source);
    if is_open
        && let Some(name) = state.extract.iter().find(|(_, own)| of_bodies(&own.from)).map(|(name, _)| name)
    {
        return refuse(&format!("extract.{name}"), "the reply that opens a WebSocket has no body".to_owned());
    }
    if !is_open
        && let Some(name) = state.extract.iter().find(|(_, own)| of_heads(&own.from)).map(|(name, _)| name)
    {
        return refuse(&format!("extract.{name}"), "a message has no header fields and cookies".to_owned());
    }
    Ok(())
}

/// The first key of a state that means nothing where it is a part of a WebSocket.
fn unfit(state: &StateSpec, is_open: bool) -> Option<&'static str> {
    let in_any = [
        ("method", state.method.is_some()),
        ("form", state.form.is_some()),
        ("embedded", !state.embedded.is_empty()),
    ];
    let but_open = [
        ("path", state.path.is_some()),
        ("headers", !state.headers.is_empty()),
        ("check.status", state.check.status.is_some()),
        ("check.header", !state.check.header.is_empty()),
    ];
    let in_open = [("check.status", state.check.status.is_some()), ("check", state.check.reads_body())];
    let of_step = if is_open { &in_open[..] } else { &but_open };
    in_any.iter().chain(of_step).find(|(_, is_there)| *is_there).map(|(part, _)| *part)
}

/// Refuses a session in which messages are sent or awaited and no state opens a WebSocket.
pub(super) fn check_opened(states: &[StateSpec]) -> Result<(), SessionError> {
    let opens = states.iter().any(|state| state.websocket == Some(SocketStep::Open));
    match states.iter().position(|state| state.websocket.is_some()) {
        Some(place) if !opens => Err(SessionError::at(
            format!("state[{place}].websocket"),
            "no state opens a WebSocket; write one with `websocket = \"open\"` and its path",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::session::SessionSpec;
    use farfield_base::random::Seed;

    /// The sentence with which a session of an open WebSocket and these states is refused.
    fn refused(states: &str) -> String {
        let open = "[[state]]\nname = 'open'\npath = '/'\nwebsocket = 'open'\n";
        let read = |text: &str| -> Result<(), String> {
            let spec: SessionSpec = toml::from_str(text).map_err(|error| error.to_string())?;
            let resolved = spec.resolve(&mut |_| Ok(Vec::new()), Seed(1));
            resolved.map(|_| ()).map_err(|error| error.to_string())
        };
        let with_open = if states.contains("'open'") { states.to_owned() } else { format!("{open}{states}") };
        read(&with_open).expect_err(states)
    }

    #[test]
    fn what_means_nothing_is_refused_with_its_key() {
        for (state, part, says) in [
            ("websocket = 'ask'", "state[1].body", "sends a message"),
            ("websocket = 'send'", "state[1].body", "sends a message"),
            ("websocket = 'await'\nbody = 'a'", "state[1].body", "sends no message"),
            ("websocket = 'close'\nbody = 'a'", "state[1].body", "sends no message"),
            ("websocket = 'ask'\nbody = 'a'\npath = '/'", "state[1].path", "means nothing"),
            ("websocket = 'ask'\nbody = 'a'\nmethod = 'PUT'", "state[1].method", "means nothing"),
            ("websocket = 'await'\nheaders = { a = 'b' }", "state[1].headers", "means nothing"),
            ("websocket = 'await'\nembedded = ['/a']", "state[1].embedded", "means nothing"),
            ("websocket = 'await'\ncheck.status = 200", "state[1].check.status", "means nothing"),
            ("websocket = 'await'\ncheck.header = { a = true }", "state[1].check.header", "means nothing"),
            (
                "websocket = 'send'\nbody = 'a'\ncheck.contains = 'b'",
                "state[1].check",
                "no message is awaited",
            ),
            (
                "websocket = 'close'\nextract = { a = { regex = 'b' } }",
                "state[1].extract",
                "no message is awaited",
            ),
            (
                "websocket = 'await'\nextract = { a = { header = 'b' } }",
                "state[1].extract.a",
                "no header fields",
            ),
            ("websocket = 'shout'\nbody = 'a'", "websocket", "unknown variant"),
        ] {
            let sentence = refused(&format!("[[state]]\nname = 'x'\n{state}\n"));
            assert!(sentence.contains(part) && sentence.contains(says), "{state}: {sentence}");
        }
        for (state, part, says) in [
            ("path = '/'\ncheck.status = 101", "state[0].check.status", "means nothing"),
            ("path = '/'\nextract = { a = { regex = 'b' } }", "state[0].extract.a", "has no body"),
            ("path = '/'\ncheck.contains = 'a'", "state[0].check", "means nothing"),
            ("path = '/'\nheaders = { Upgrade = 'x' }", "state[0].headers.upgrade", "written by the client"),
            ("path = '/'\nbody = 'a'", "state[0].body", "sends no message"),
            ("check.header = { a = true }", "state[0].path", "write one"),
        ] {
            let sentence = refused(&format!("[[state]]\nname = 'open'\nwebsocket = 'open'\n{state}\n"));
            assert!(sentence.contains(part) && sentence.contains(says), "{state}: {sentence}");
        }
        let sentence = refused(
            "[[state]]\nname = 'page'\npath = '/'\n[[state]]\nname = 'x'\nwebsocket = 'await'\n#'open'",
        );
        assert!(sentence.contains("state[1].websocket") && sentence.contains("no state opens"), "{sentence}");
    }
}
