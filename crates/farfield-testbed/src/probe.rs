//! Probe of a server through the gateway, before a run: the first packet of a handshake, which is given up at
//! the second, so that the server's process does not see it.

use super::{Testbed, TestbedSpec};
use crate::gateway::Queue;
use farfield_base::Duration;
use farfield_os::clock::Clock;
use farfield_wire::{
    Addresses, IpPacket, IpRepr, Message, SeqNumber, TcpFlags, TcpOptions, TcpRepr, Transport, VnetHeader,
    write_packet,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};

/// The server's answer to the first packet of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// The handshake is to be completed.
    Accepted,
    /// Nothing listens.
    Refused,
    /// None came in time.
    Silence,
}

/// A kernel answers at once, and one that has just dropped a packet may answer the next.
const TRIES: u32 = 4;
const WAIT: Duration = Duration::from_ms(500);
const SOURCE_PORT: u16 = 60_999;

/// Asks the server at `server` as the last client of its family would, whose address is taken for the time.
pub fn ask(testbed: &Testbed, spec: &TestbedSpec, server: SocketAddr) -> io::Result<ProbeAnswer> {
    ask_from(testbed, spec, spec.last_client(server.is_ipv4()), server)
}

/// Asks the server at `server` as the client at `source`, of the same family, would.
pub fn ask_from(
    testbed: &Testbed,
    spec: &TestbedSpec,
    source: IpAddr,
    server: SocketAddr,
) -> io::Result<ProbeAnswer> {
    let addresses = match (source, server.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
        (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
        // Nobody of another family is a client of the server's.
        _ => return Ok(ProbeAnswer::Silence),
    };
    let mut queues = testbed.queues();
    let at = spec.queue_of(addresses.source());
    let clock = Clock::starting_in(Duration::ZERO);
    for _ in 0..TRIES {
        write(&mut queues[at], addresses, server.port(), TcpFlags::SYN, SeqNumber(0))?;
        let deadline = clock.now() + WAIT;
        match read(&mut queues[at], addresses, server.port(), || deadline.since(clock.now()))? {
            ProbeAnswer::Silence => {}
            ProbeAnswer::Accepted => {
                write(&mut queues[at], addresses, server.port(), TcpFlags::RST, SeqNumber(1))?;
                return Ok(ProbeAnswer::Accepted);
            }
            ProbeAnswer::Refused => return Ok(ProbeAnswer::Refused),
        }
    }
    Ok(ProbeAnswer::Silence)
}

fn write(
    queue: &mut Queue,
    addresses: Addresses,
    port: u16,
    flags: TcpFlags,
    seq: SeqNumber,
) -> io::Result<()> {
    let tcp = TcpRepr {
        source_port: SOURCE_PORT,
        destination_port: port,
        seq,
        ack: SeqNumber(0),
        flags,
        window: u16::MAX,
        urgent: 0,
        options: TcpOptions::default(),
    };
    let message = Message::Tcp(&tcp, &[]);
    let ip = IpRepr::new(addresses, message.protocol());
    let mut bytes = vec![0; ip.header_len() + message.wire_len()];
    write_packet(&ip, &message, &mut bytes);
    // A full queue counts as a lost packet.
    queue.write(&[IoSlice::new(&VnetHeader::default().emit()), IoSlice::new(&bytes)]).map(drop)
}

/// Reads until the server's answer comes or `left` is over; other packets are passed over.
fn read(
    queue: &mut Queue,
    addresses: Addresses,
    port: u16,
    left: impl Fn() -> Duration,
) -> io::Result<ProbeAnswer> {
    let mut buffer = vec![0; Queue::READ_LEN];
    loop {
        // Others' packets may come without a pause.
        while left() > Duration::ZERO
            && let Some(length) = queue.read(&mut buffer)?
        {
            let packet = IpPacket::parse(buffer.get(Queue::HEADER_LEN..length).unwrap_or_default());
            let Ok(packet) = packet else { continue };
            let is_answer = packet.addresses().destination() == addresses.source()
                && packet.addresses().source() == addresses.destination();
            if let (true, Ok(Transport::Tcp(tcp))) = (is_answer, packet.transport())
                && (tcp.source_port(), tcp.destination_port()) == (port, SOURCE_PORT)
            {
                let refused = tcp.flags().contains(TcpFlags::RST);
                return Ok(if refused { ProbeAnswer::Refused } else { ProbeAnswer::Accepted });
            }
        }
        let left = left();
        let timeout = Timespec::try_from(left.to_std()).unwrap_or_default();
        if left == Duration::ZERO || poll(&mut [PollFd::new(queue, PollFlags::IN)], Some(&timeout))? == 0 {
            return Ok(ProbeAnswer::Silence);
        }
    }
}
