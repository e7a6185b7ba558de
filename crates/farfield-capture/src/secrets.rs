//! The secrets of TLS sessions as the client's side wrote them down (SSLKEYLOGFILE, RFC 9850), by the random
//! of the client's hello.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Read};

/// Bytes of a line beyond which it is no line of a key log: a label, a random and a secret take 250.
const LINE_MAX: u64 = 1024;

/// Secrets of any number of sessions.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    sessions: BTreeMap<[u8; 32], SessionSecrets>,
}

/// The secrets of one session, as far as they are known.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct SessionSecrets {
    /// The master secret of TLS 1.2.
    pub master: Option<Vec<u8>>,
    /// The secret of the client's early data.
    pub early: Option<Vec<u8>>,
    /// The secrets of the handshake's encrypted part: the client's, and the server's.
    pub handshake: [Option<Vec<u8>>; 2],
    /// The secrets of what is said after the handshake: the client's, and the server's.
    pub traffic: [Option<Vec<u8>>; 2],
}

impl Secrets {
    /// Reads a key log. Lines that are none of its lines are passed over, as comments are (RFC 9850, section
    /// 2).
    ///
    /// # Errors
    /// If `source` fails.
    pub fn read(source: impl BufRead) -> io::Result<Secrets> {
        let mut secrets = Secrets::default();
        let mut source = source;
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut source).take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
                return Ok(secrets);
            }
            secrets.note(&line);
        }
    }

    fn note(&mut self, line: &[u8]) -> Option<()> {
        let text = std::str::from_utf8(line).ok()?;
        let mut words = text.split_ascii_whitespace();
        let (label, random, secret) = (words.next()?, words.next()?, words.next()?);
        let random = hex(random)?.try_into().ok()?;
        let session = self.sessions.entry(random).or_default();
        let place = match label {
            "CLIENT_RANDOM" => &mut session.master,
            "CLIENT_EARLY_TRAFFIC_SECRET" => &mut session.early,
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET" => &mut session.handshake[0],
            "SERVER_HANDSHAKE_TRAFFIC_SECRET" => &mut session.handshake[1],
            "CLIENT_TRAFFIC_SECRET_0" => &mut session.traffic[0],
            "SERVER_TRAFFIC_SECRET_0" => &mut session.traffic[1],
            _ => return None,
        };
        *place = Some(hex(secret)?);
        Some(())
    }

    /// Sessions of which a secret is known.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The secrets of the session that this random of a client began.
    pub(crate) fn of(&self, random: &[u8; 32]) -> Option<&SessionSecrets> {
        self.sessions.get(random)
    }
}

/// The number of sessions alone: what the secrets are is nobody's business.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets of {} sessions", self.sessions.len())
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| (*byte as char).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_key_log_are_read_and_others_passed_over() {
        let random = "07".repeat(32);
        let long = "CLIENT_RANDOM ".to_owned() + &"a".repeat(5000);
        let log = format!(
            "# a comment\nCLIENT_RANDOM {random} 0aFF\nSERVER_TRAFFIC_SECRET_0 {random} 01\r\n{long}\nEXPORTER_SECRET {random} 02\n\
             CLIENT_RANDOM {random}0 03\nCLIENT_TRAFFIC_SECRET_0 {random} 0\nCLIENT_RANDOM\n\u{fffd}\nCLIENT_EARLY_TRAFFIC_SECRET {} 04",
            "08".repeat(32)
        );
        let secrets = Secrets::read(log.as_bytes()).unwrap();
        assert_eq!(secrets.sessions(), 2);
        let session = secrets.of(&[7; 32]).unwrap();
        assert_eq!(session.master.as_deref(), Some(&[0x0a, 0xff][..]));
        assert_eq!((session.traffic[1].as_deref(), session.traffic[0].as_deref()), (Some(&[1][..]), None));
        assert_eq!(secrets.of(&[8; 32]).unwrap().early.as_deref(), Some(&[4][..]));
        assert!(secrets.of(&[9; 32]).is_none());
        assert_eq!(format!("{secrets:?}"), "Secrets of 2 sessions");
    }
}
