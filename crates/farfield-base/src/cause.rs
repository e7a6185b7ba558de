//! Causes of failures: what is known of one beyond its [outcome](Outcome).
//!
//! A [`Cause`] is a rule that what came does not keep to, or a code with which one of the two ends said that
//! something is wrong. Causes are closed: codes that no registry names are one cause, so that a peer cannot
//! make more of them than there are rules and names, and whoever counts by cause is bounded. Where
//! connections go to several addresses of a server, the address is a cause as well, of which there are as
//! many as its name has. What differs from one failure to the next, such as the peer's own words, is beside
//! it, in [`Detail::found`].
//!
//! Of a request that succeeds there is none, and nothing here is touched.

use crate::credentials::words_without_credentials;
use crate::error_code;
use crate::outcome::Outcome;
use crate::printable::printable;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A rule of a specification, by the words for what does not keep to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Rule {
    /// Words for the fault.
    pub wrong: &'static str,
    /// The rule's place, such as `RFC 9113 §6.5.2`; empty if the rule is a limit of the scenario's.
    pub section: &'static str,
}

/// A rule as it is read back.
#[derive(Deserialize)]
struct RuleText {
    wrong: String,
    section: String,
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
        let RuleText { wrong, section } = RuleText::deserialize(deserializer)?;
        Ok(Rule { wrong: kept(wrong), section: kept(section) })
    }
}

/// The one copy of a rule's words that were read back, which stays: there are as many as there are rules.
fn kept(words: String) -> &'static str {
    static WORDS: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let mut all = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    match all.get(words.as_str()) {
        Some(known) => known,
        None => {
            let kept: &'static str = Box::leak(words.into_boxed_str());
            all.insert(kept);
            kept
        }
    }
}

impl Rule {
    /// The rule at `section`, of which this is `wrong`.
    pub const fn new(wrong: &'static str, section: &'static str) -> Rule {
        Rule { wrong, section }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.section {
            "" => f.write_str(self.wrong),
            section => write!(f, "{} ({section})", self.wrong),
        }
    }
}

/// A message that ends a stream, a session or a connection with a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Signal {
    /// An alert of TLS.
    Alert,
    /// GOAWAY of HTTP/2.
    GoAway,
    /// RST_STREAM of HTTP/2.
    ResetHttp2,
    /// RESET_STREAM of QUIC, with a code of HTTP/3.
    ResetHttp3,
    /// CONNECTION_CLOSE of QUIC itself.
    CloseQuic,
    /// CONNECTION_CLOSE of HTTP/3.
    CloseHttp3,
    /// Close of a WebSocket.
    CloseWebSocket,
}

impl Signal {
    const fn name_of(self, code: u64) -> Option<&'static str> {
        match self {
            Signal::Alert => error_code::alert(code),
            Signal::GoAway | Signal::ResetHttp2 => error_code::http2(code),
            Signal::ResetHttp3 | Signal::CloseHttp3 => error_code::http3(code),
            Signal::CloseQuic => error_code::quic(code),
            Signal::CloseWebSocket => error_code::websocket(code),
        }
    }
}

/// The end of a connection that a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Sender {
    /// The server.
    Server,
    /// farfield.
    Client,
}

/// Why a request failed, where more is known than its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// A message that does not keep to a rule.
    Broken(Rule),
    /// One end sent a code.
    Sent {
        /// The message with the code.
        signal: Signal,
        /// The code; `None` for all that no registry names.
        code: Option<u64>,
        /// Sender of the code.
        by: Sender,
    },
    /// Nothing more is known than that it was at this address, one of several of the server's.
    At(SocketAddr),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (signal, code, by) = match *self {
            Cause::Broken(rule) => return rule.fmt(f),
            Cause::At(server) => return write!(f, "at {server}"),
            Cause::Sent { signal, code, by } => (signal, code, by),
        };
        let name = code.and_then(|code| Some((code, signal.name_of(code)?)));
        match (signal, name) {
            (Signal::Alert, Some((number, name))) => write!(f, "alert {number} ({name})")?,
            (Signal::Alert, None) => f.write_str("an alert without a name")?,
            (Signal::CloseWebSocket, Some((number, name))) => write!(f, "Close {number} ({name})")?,
            (signal, name) => {
                f.write_str(match signal {
                    Signal::GoAway => "GOAWAY",
                    Signal::ResetHttp2 => "RST_STREAM",
                    Signal::ResetHttp3 => "RESET_STREAM",
                    Signal::CloseQuic => "CONNECTION_CLOSE of QUIC",
                    Signal::CloseWebSocket => "Close of a WebSocket",
                    Signal::CloseHttp3 | Signal::Alert => "CONNECTION_CLOSE of HTTP/3",
                })?;
                match name {
                    Some((code, name)) => write!(f, " with {name} ({code:#x})")?,
                    None => f.write_str(" with a code without a name")?,
                }
            }
        }
        f.write_str(match by {
            Sender::Server => ", sent by the server",
            Sender::Client => ", sent by farfield",
        })
    }
}

/// A cause, and what is particular to one failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// The cause.
    pub cause: Cause,
    /// The value that broke the rule, or the peer's words: one line of at most [`Detail::FOUND_BYTES`], in
    /// which nothing is left that a terminal would act on.
    pub found: Option<Box<str>>,
}

impl Detail {
    /// Bytes of what was found at most, before what cannot be shown is written out.
    pub const FOUND_BYTES: usize = 256;

    /// A rule that was broken, by nothing in particular.
    pub const fn broken(rule: Rule) -> Detail {
        Detail { cause: Cause::Broken(rule), found: None }
    }

    /// One of several addresses of the server's.
    pub const fn at(server: SocketAddr) -> Detail {
        Detail { cause: Cause::At(server), found: None }
    }

    /// A code that one end sent. A code without a name is what was found.
    pub fn sent(signal: Signal, code: u64, by: Sender) -> Detail {
        let named = signal.name_of(code).is_some();
        let found = (!named).then(|| match signal {
            Signal::Alert => format!("alert {code}"),
            Signal::CloseWebSocket => format!("code {code}"),
            _ => format!("code {code:#x}"),
        });
        let code = named.then_some(code);
        Detail { cause: Cause::Sent { signal, code, by }, found: found.map(String::into_boxed_str) }
    }

    /// With words of the peer's or a value from it, after what was found already; as it is if these are
    /// none. [Credentials](words_without_credentials) in them are not shown.
    pub fn with(mut self, words: &[u8]) -> Detail {
        let cut = &words[..words.len().min(Detail::FOUND_BYTES)];
        let text = String::from_utf8_lossy(cut);
        // A character that the cut has split is none.
        let split = if cut.len() < words.len() { text.strip_suffix('\u{fffd}') } else { None };
        let text = split.unwrap_or(&text);
        let text = printable(text.trim(), &[]);
        let text = words_without_credentials(&text);
        if text.is_empty() {
            return self;
        }
        let more = if cut.len() < words.len() { "…" } else { "" };
        let words = match &self.found {
            Some(found) => format!("{found}: {text}{more}"),
            None => format!("{text}{more}"),
        };
        self.found = Some(words.into_boxed_str());
        self
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Some(found) => write!(f, "{}: {found}", self.cause),
            None => self.cause.fmt(f),
        }
    }
}

/// The end of a request: its outcome and, of one that failed, what more is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The outcome.
    pub outcome: Outcome,
    /// Detail of the failure.
    pub detail: Option<Arc<Detail>>,
}

impl Ending {
    /// A failure with this outcome and detail.
    pub fn because(outcome: Outcome, detail: Detail) -> Ending {
        Ending { outcome, detail: Some(Arc::new(detail)) }
    }
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Ending {
        Ending { outcome, detail: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(detail: &Detail, text: &str) {
        assert_eq!(detail.to_string(), text);
    }

    #[test]
    fn a_cause_reads_as_a_sentence() {
        let (server, client) = (Sender::Server, Sender::Client);
        check(&Detail::sent(Signal::Alert, 40, server), "alert 40 (handshake_failure), sent by the server");
        check(&Detail::sent(Signal::Alert, 48, client), "alert 48 (unknown_ca), sent by farfield");
        check(
            &Detail::sent(Signal::GoAway, 0xb, server).with(b"too_many_pings"),
            "GOAWAY with ENHANCE_YOUR_CALM (0xb), sent by the server: too_many_pings",
        );
        check(
            &Detail::sent(Signal::CloseHttp3, 0x102, server),
            "CONNECTION_CLOSE of HTTP/3 with H3_INTERNAL_ERROR (0x102), sent by the server",
        );
        check(&Detail::at(SocketAddr::from(([127, 0, 0, 3], 80))), "at 127.0.0.3:80");
        let rule = Rule::new("a setting has a value that it cannot have", "RFC 9113 §6.5.2");
        check(
            &Detail::broken(rule).with(b"SETTINGS_ENABLE_PUSH was 2"),
            "a setting has a value that it cannot have (RFC 9113 §6.5.2): SETTINGS_ENABLE_PUSH was 2",
        );
    }

    /// However many codes a server makes up, they are one cause.
    #[test]
    fn codes_without_a_name_are_one_cause() {
        for signal in [Signal::Alert, Signal::GoAway, Signal::ResetHttp3, Signal::CloseQuic] {
            let causes: std::collections::BTreeSet<Cause> = (150..4_000_000)
                .step_by(0x1001)
                .map(|code| Detail::sent(signal, code, Sender::Server).cause)
                .collect();
            let unnamed =
                causes.iter().filter(|cause| matches!(cause, Cause::Sent { code: None, .. })).count();
            assert!(unnamed == 1 && causes.len() <= 2, "{causes:?}");
        }
        check(
            &Detail::sent(Signal::ResetHttp2, 0xdead, Sender::Server).with(b"x"),
            "RST_STREAM with a code without a name, sent by the server: code 0xdead: x",
        );
        check(
            &Detail::sent(Signal::Alert, 250, Sender::Server),
            "an alert without a name, sent by the server: alert 250",
        );
    }

    #[test]
    fn what_a_peer_says_is_cut_and_harmless() {
        let detail = Detail::sent(Signal::GoAway, 2, Sender::Server);
        let found = |words: &[u8]| detail.clone().with(words).found;
        assert_eq!(found(b"\x1b[2Jgone\r\n\x07"), Some("\\u001B[2Jgone\\u000D\\u000A\\u0007".into()));
        assert_eq!(found(b" \n\t "), None);
        assert_eq!(found(b""), None);
        let long = found("é".repeat(4000).as_bytes()).expect("words");
        assert_eq!(&*long, format!("{}…", "é".repeat(128)));
        let cut = found(format!("a{}", "é".repeat(4000)).as_bytes()).expect("words");
        assert_eq!(&*cut, format!("a{}…", "é".repeat(127)));
        assert!(found(&[0xff; 1 << 20]).expect("words").len() < 2000);
    }
}
