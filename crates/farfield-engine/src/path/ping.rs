//! Pings (RFC 792, RFC 4443) by a raw socket of the kernel.

use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use farfield_wire::{Addresses, IcmpPacket, Icmpv4Repr, Icmpv6Repr, IpPacket, Transport};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

/// Data of a ping, as ping(8) has it.
const DATA: [u8; 56] = [b'f'; 56];
/// Bytes of an IPv4 packet with a ping.
pub(super) const PACKET_LEN: u32 = 20 + 8 + DATA.len() as u32;
/// More routers than any way has.
const HOPS_MAX: u8 = 64;
/// Pings with one TTL, some of which may be lost.
const TRIES: u16 = 5;

/// A socket for pings to one address.
pub(super) struct Pings {
    socket: UdpSocket,
    to: IpAddr,
    ident: u16,
    clock: Clock,
}

impl Pings {
    /// A socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`.
    pub fn open(to: IpAddr) -> io::Result<Pings> {
        let (family, protocol) = match to {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let socket =
            UdpSocket::from(socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(protocol))?);
        let ident = std::process::id() as u16;
        Ok(Pings { socket, to, ident, clock: Clock::starting_in(Duration::ZERO) })
    }

    /// Hops to the other end: the least TTL that a ping gets there with. Absent if none does.
    pub fn hops(&self, wait: Duration, stop: &AtomicBool) -> io::Result<Option<u32>> {
        for hops in 1..=HOPS_MAX {
            self.set_hops(hops)?;
            for attempt in 0..TRIES {
                let sequence = u16::from(hops) * TRIES + attempt;
                self.send(sequence)?;
                match self.await_answer(sequence, self.clock.now() + wait, stop)? {
                    PingFate::Reply => return Ok(Some(hops.into())),
                    PingFate::Expired => break,
                    PingFate::Nothing if stop.load(Ordering::Relaxed) => return Ok(None),
                    PingFate::Nothing => {}
                }
            }
        }
        Ok(None)
    }

    /// Times of the pings that come back of `count`, one each `interval`, in ascending order; the last is
    /// awaited for `wait`.
    pub fn round_trips(
        &self,
        count: u16,
        interval: Duration,
        wait: Duration,
        stop: &AtomicBool,
    ) -> io::Result<Vec<Duration>> {
        let begun = self.clock.now();
        let mut sent: Vec<Instant> = Vec::with_capacity(count.into());
        let mut came: Vec<Option<Duration>> = vec![None; count.into()];
        let end = begun + interval.times(count.into()) + wait;
        while !stop.load(Ordering::Relaxed) && came.iter().any(Option::is_none) {
            let now = self.clock.now();
            let next = begun + interval.times(sent.len() as u64);
            if sent.len() < usize::from(count) && now >= next {
                sent.push(self.clock.now());
                self.send(sent.len() as u16 - 1)?;
                continue;
            }
            if now >= end {
                break;
            }
            let until = if sent.len() < usize::from(count) { next } else { end };
            if let Some((sequence, true)) = self.receive(until)? {
                let now = self.clock.now();
                let at = usize::from(sequence);
                if let (Some(sent), Some(came)) = (sent.get(at), came.get_mut(at)) {
                    // A duplicate is not a second one.
                    came.get_or_insert(now.since(*sent));
                }
            }
        }
        let mut times: Vec<Duration> = came.into_iter().flatten().collect();
        times.sort_unstable();
        Ok(times)
    }

    fn set_hops(&self, hops: u8) -> io::Result<()> {
        match self.to {
            IpAddr::V4(_) => self.socket.set_ttl(hops.into()),
            IpAddr::V6(_) => Ok(sockopt::set_ipv6_unicast_hops(&self.socket, Some(hops))?),
        }
    }

    fn send(&self, sequence: u16) -> io::Result<()> {
        let (ident, data) = (self.ident, &DATA[..]);
        let mut out = [0; 8 + DATA.len()];
        let len = match self.to {
            IpAddr::V4(_) => {
                let unspecified = Ipv4Addr::UNSPECIFIED;
                let addresses = Addresses::V4 { source: unspecified, destination: unspecified };
                Icmpv4Repr::EchoRequest { ident, sequence, data }.emit(&addresses, &mut out)
            }
            IpAddr::V6(_) => {
                // The kernel does the checksum, which has addresses in it.
                let unspecified = Ipv6Addr::UNSPECIFIED;
                let addresses = Addresses::V6 { source: unspecified, destination: unspecified };
                Icmpv6Repr::EchoRequest { ident, sequence, data }.emit(&addresses, &mut out)
            }
        };
        match self.socket.send_to(&out[..len], (self.to, 0)) {
            // An error of an earlier ping, which the kernel reports here.
            Err(error) if is_of_the_path(&error) => Ok(()),
            sent => sent.map(|_| ()),
        }
    }

    fn await_answer(&self, sequence: u16, until: Instant, stop: &AtomicBool) -> io::Result<PingFate> {
        while self.clock.now() < until && !stop.load(Ordering::Relaxed) {
            match self.receive(until)? {
                Some((answered, true)) if answered == sequence => return Ok(PingFate::Reply),
                Some((answered, false)) if answered == sequence => return Ok(PingFate::Expired),
                _ => {}
            }
        }
        Ok(PingFate::Nothing)
    }

    /// The next answer to a ping of this socket, by its sequence number, and whether it is a reply; `None` if
    /// none comes until then, or something else does.
    fn receive(&self, until: Instant) -> io::Result<Option<(u16, bool)>> {
        // No longer than that, so that a stop is noticed.
        let wait = until.since(self.clock.now()).min(Duration::from_ms(50)).max(Duration::from_us(1));
        self.socket.set_read_timeout(Some(wait.to_std()))?;
        let mut bytes = [0; 2_048];
        match self.socket.recv(&mut bytes) {
            Ok(len) => Ok(self.read(&bytes[..len])),
            Err(error) if is_of_the_path(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, bytes: &[u8]) -> Option<(u16, bool)> {
        let (ident, sequence, is_reply) = match self.to {
            IpAddr::V4(_) => {
                let ip = IpPacket::parse(bytes).ok()?;
                let Ok(Transport::Icmpv4(icmp)) = ip.transport() else { return None };
                match Icmpv4Repr::parse(&icmp).ok()? {
                    Icmpv4Repr::EchoReply { ident, sequence, .. } => (ident, sequence, true),
                    Icmpv4Repr::TimeExceeded { quote, .. } => quoted(quote, 20)?,
                    _ => return None,
                }
            }
            IpAddr::V6(_) => {
                let icmp = IcmpPacket::parse(bytes).ok()?;
                match Icmpv6Repr::parse(&icmp).ok()? {
                    Icmpv6Repr::EchoReply { ident, sequence, .. } => (ident, sequence, true),
                    Icmpv6Repr::TimeExceeded { quote, .. } => quoted(quote, 40)?,
                    _ => return None,
                }
            }
        };
        (ident == self.ident).then_some((sequence, is_reply))
    }
}

/// The fate of a ping.
enum PingFate {
    Reply,
    /// A router says that its hops ran out.
    Expired,
    Nothing,
}

/// Identifier and sequence number of the ping that an error quotes behind an IP header of `header_len`.
fn quoted(quote: &[u8], header_len: usize) -> Option<(u16, u16, bool)> {
    let icmp = quote.get(header_len..header_len + 8)?;
    let word = |at: usize| u16::from_be_bytes([icmp[at], icmp[at + 1]]);
    Some((word(4), word(6), false))
}

/// True if an error of the socket is no more than silence, or news of an earlier packet.
fn is_of_the_path(error: &io::Error) -> bool {
    use io::ErrorKind::{HostUnreachable, Interrupted, NetworkUnreachable, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted | HostUnreachable | NetworkUnreachable)
}
