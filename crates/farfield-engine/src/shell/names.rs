//! Names inside a program's namespace: a resolver (RFC 1035) that knows the hosts of the scenario and no
//! others.
//!
//! Without it a lookup of an unknown name would wait for servers that cannot be reached, for as long as the
//! program's patience lasts; here it fails at once. Nothing is asked outside. It listens on the namespace's
//! loopback, over UDP and TCP, where the C library looks by default.
//!
//! A and AAAA are answered, of a known name anything else with no records, and an unknown name with
//! NXDOMAIN. There is no recursion, no EDNS (RFC 6891, section 7, allows that) and no caching.

use farfield_base::Backoff;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The address at which the resolver listens.
pub(super) const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PORT: u16 = 53;
/// The longest wait before the halt flag is looked at.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// The time that a connection may take to ask.
const PATIENCE: Duration = Duration::from_secs(1);
/// Questions of one connection.
const QUESTIONS_MAX: usize = 64;

const HEADER_LEN: usize = 12;
/// RFC 1035, section 2.3.4.
const NAME_LEN_MAX: usize = 255;
const A: u16 = 1;
const AAAA: u16 = 28;
const ANY: u16 = 255;
const CLASS_IN: u16 = 1;
const TTL_SECONDS: u32 = 60;

const NO_ERROR: u8 = 0;
const FORMAT_ERROR: u8 = 1;
const NAME_ERROR: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;

/// Hosts by their names; one may have several.
pub(crate) type HostTable = Vec<(String, IpAddr)>;

/// The sockets of a resolver.
#[derive(Debug)]
pub(crate) struct Resolver {
    udp: UdpSocket,
    tcp: TcpListener,
    hosts: HostTable,
    /// Lookups of names that are not there.
    pub unknown: AtomicU64,
}

impl Resolver {
    /// A resolver in the calling thread's network namespace.
    ///
    /// # Errors
    /// If the port is taken, or may not be.
    pub fn bind(mut hosts: HostTable) -> io::Result<Resolver> {
        // RFC 6761, section 6.3.
        hosts.push(("localhost".to_owned(), ADDRESS));
        let (udp, tcp) = (UdpSocket::bind((ADDRESS, PORT))?, TcpListener::bind((ADDRESS, PORT))?);
        udp.set_nonblocking(true)?;
        tcp.set_nonblocking(true)?;
        Ok(Resolver { udp, tcp, hosts, unknown: AtomicU64::new(0) })
    }

    /// Answers datagrams until `halt` is set.
    pub fn serve_datagrams(&self, halt: &AtomicBool) {
        let mut query = [0; 1_232];
        while !halt.load(Ordering::Relaxed) {
            await_input(&self.udp);
            // A program that never pauses does not keep it from its end.
            while !halt.load(Ordering::Relaxed)
                && let Ok((len, from)) = self.udp.recv_from(&mut query)
            {
                if let Some(reply) = self.answer(&query[..len]) {
                    // The program that asked may be gone.
                    let _ = self.udp.send_to(&reply, from);
                }
            }
        }
    }

    /// Answers connections, one after the other, until `halt` is set.
    pub fn serve_connections(&self, halt: &AtomicBool) {
        let mut backoff = Backoff::default();
        while !halt.load(Ordering::Relaxed) {
            await_input(&self.tcp);
            match self.tcp.accept() {
                Ok((connection, _)) => {
                    backoff.reset();
                    // One that says nothing, or nothing that makes sense, is closed.
                    let _ = self.serve_connection(connection);
                }
                // Nobody has come.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Without descriptors it waits in the queue, and the poll returns at once.
                Err(_) => std::thread::park_timeout(backoff.pause().to_std()),
            }
        }
    }

    fn serve_connection(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_nonblocking(false)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        for _ in 0..QUESTIONS_MAX {
            let mut length = [0; 2];
            connection.read_exact(&mut length)?;
            let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
            connection.read_exact(&mut query)?;
            let Some(reply) = self.answer(&query) else { break };
            connection.write_all(&[&(reply.len() as u16).to_be_bytes()[..], &reply].concat())?;
        }
        Ok(())
    }

    fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        let reply = answer(query, &self.hosts)?;
        self.unknown.fetch_add(u64::from(reply[3] & 0x0f == NAME_ERROR), Ordering::Relaxed);
        Some(reply)
    }
}

/// Waits for input, but not so long that a halt would go unnoticed.
fn await_input(socket: &impl AsFd) {
    // If interrupted, the caller goes on.
    let _ = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&LOOK));
}

/// The reply to a message; `None` if it is no query.
fn answer(query: &[u8], hosts: &[(String, IpAddr)]) -> Option<Vec<u8>> {
    let header = query.get(..HEADER_LEN)?;
    if header[2] & 0x80 != 0 {
        return None;
    }
    if header[2] & 0x78 != 0 {
        return Some(head(header, NOT_IMPLEMENTED, 0, 0));
    }
    let Some(question) = Question::parse(query) else { return Some(head(header, FORMAT_ERROR, 0, 0)) };
    let mut addresses: Vec<IpAddr> = Vec::new();
    let mut is_known = false;
    for (_, address) in hosts.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&question.name)) {
        is_known = true;
        if question.asks_for(address) {
            addresses.push(*address);
        }
    }
    let code = if is_known { NO_ERROR } else { NAME_ERROR };
    let mut reply = head(header, code, 1, addresses.len() as u16);
    reply.extend_from_slice(question.bytes);
    for address in addresses {
        let (kind, data) = match address {
            IpAddr::V4(v4) => (A, v4.octets().to_vec()),
            IpAddr::V6(v6) => (AAAA, v6.octets().to_vec()),
        };
        // The name of the question, by a pointer.
        reply.extend_from_slice(&(0xc000 | HEADER_LEN as u16).to_be_bytes());
        reply.extend_from_slice(&kind.to_be_bytes());
        reply.extend_from_slice(&CLASS_IN.to_be_bytes());
        reply.extend_from_slice(&TTL_SECONDS.to_be_bytes());
        reply.extend_from_slice(&(data.len() as u16).to_be_bytes());
        reply.extend_from_slice(&data);
    }
    Some(reply)
}

/// The header of a reply: authoritative, recursion "available", so that no library asks elsewhere.
fn head(query: &[u8], code: u8, questions: u16, answers: u16) -> Vec<u8> {
    let (recursion_desired, opcode) = (query[2] & 0x01, query[2] & 0x78);
    let mut head = vec![query[0], query[1], 0x80 | opcode | 0x04 | recursion_desired, 0x80 | code];
    for count in [questions, answers, 0, 0] {
        head.extend_from_slice(&count.to_be_bytes());
    }
    head
}

/// The one question of a query.
struct Question<'a> {
    name: String,
    kind: u16,
    class: u16,
    bytes: &'a [u8],
}

impl<'a> Question<'a> {
    fn parse(query: &'a [u8]) -> Option<Question<'a>> {
        if query[4..6] != [0, 1] {
            return None;
        }
        let mut name = String::new();
        let mut at = HEADER_LEN;
        loop {
            let length = usize::from(*query.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            // A pointer, which a first name cannot be, or a label of a kind that is not there.
            if length > 63 {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            // Bytes that are no letters match no host, whatever they become here.
            name.push_str(&String::from_utf8_lossy(query.get(at..at + length)?));
            at += length;
            if at - HEADER_LEN > NAME_LEN_MAX {
                return None;
            }
        }
        let rest = query.get(at..at + 4)?;
        let (kind, class) = (u16::from_be_bytes([rest[0], rest[1]]), u16::from_be_bytes([rest[2], rest[3]]));
        Some(Question { name, kind, class, bytes: &query[HEADER_LEN..at + 4] })
    }

    fn asks_for(&self, address: &IpAddr) -> bool {
        let kind = if address.is_ipv4() { A } else { AAAA };
        (self.kind == kind || self.kind == ANY) && (self.class == CLASS_IN || self.class == ANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts() -> HostTable {
        vec![
            ("server".to_owned(), Ipv4Addr::new(192, 0, 2, 1).into()),
            ("www.example.com".to_owned(), Ipv4Addr::new(192, 0, 2, 1).into()),
        ]
    }

    /// A query as resolvers send it: identifier 0x1234, recursion desired, one question.
    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut query = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(label.len() as u8);
            query.extend_from_slice(label.as_bytes());
        }
        query.push(0);
        query.extend_from_slice(&kind.to_be_bytes());
        query.extend_from_slice(&CLASS_IN.to_be_bytes());
        query
    }

    /// The reply's code, and the data of its answers.
    fn asked(name: &str, kind: u16) -> (u8, Vec<Vec<u8>>) {
        let query = query(name, kind);
        let reply = answer(&query, &hosts()).expect("a reply");
        assert_eq!((&reply[..3], &reply[4..6]), (&[0x12, 0x34, 0x85][..], &[0, 1][..]));
        assert!(reply[HEADER_LEN..].starts_with(&query[HEADER_LEN..]), "it repeats the question");
        let mut rest = &reply[query.len()..];
        let mut data = Vec::new();
        while let [0xc0, 12, _, _, 0, 1, _, _, _, _, 0, length, ..] = rest {
            data.push(rest[12..12 + usize::from(*length)].to_vec());
            rest = &rest[12 + usize::from(*length)..];
        }
        assert_eq!((rest, usize::from(reply[7])), (&[][..], data.len()));
        (reply[3] & 0x0f, data)
    }

    #[test]
    fn hosts_are_known_and_nobody_else() {
        let address = vec![vec![192, 0, 2, 1]];
        assert_eq!(asked("server", A), (NO_ERROR, address.clone()));
        assert_eq!(asked("WWW.Example.COM", A), (NO_ERROR, address));
        assert_eq!(asked("server", AAAA), (NO_ERROR, vec![]), "it is there, but has no such address");
        assert_eq!(asked("server", 15), (NO_ERROR, vec![]));
        assert_eq!(asked("example.com", A), (NAME_ERROR, vec![]));
        assert_eq!(asked("1.2.0.192.in-addr.arpa", 12), (NAME_ERROR, vec![]));
    }

    #[test]
    fn what_is_no_question_is_no_host() {
        let mut update = query("server", A);
        update[2] = 5 << 3;
        assert_eq!(answer(&update, &hosts()).map(|reply| reply[3] & 0x0f), Some(NOT_IMPLEMENTED));
        let mut two = query("server", A);
        two[5] = 2;
        assert_eq!(answer(&two, &hosts()).map(|reply| reply[3] & 0x0f), Some(FORMAT_ERROR));
        let pointer = [&query("server", A)[..HEADER_LEN], &[0xc0, 12, 0, 1, 0, 1]].concat();
        assert_eq!(answer(&pointer, &hosts()).map(|reply| reply[3] & 0x0f), Some(FORMAT_ERROR));
        let mut reply = query("server", A);
        reply[2] |= 0x80;
        assert_eq!(answer(&reply, &hosts()), None, "two resolvers would talk for ever");
        assert_eq!(answer(&[0; 11], &hosts()), None);
    }

    proptest! {
        /// Whatever comes, what goes out is a reply to it, or nothing.
        #[test]
        fn any_bytes_are_answered_or_not(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(reply) = answer(&bytes, &hosts()) {
                prop_assert_eq!((&reply[..2], reply[2] & 0x80), (&bytes[..2], 0x80));
            }
        }
    }
}
