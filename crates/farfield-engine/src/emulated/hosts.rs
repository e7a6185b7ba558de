//! Real hosts of a shard: programs in the places of some of its clients, each behind a queue of its own.
//!
//! Their packets are handed to the shard as the kernel has them, at the shard's own time, and those that have
//! come to them are written to their kernels. A host whose interface vanishes is alone: the run goes on.

use crate::shell::packet_port::{PacketPort, PortRead};
use farfield_base::{HostCounts, Window};
use farfield_emulator::{Departure, Packet, Shard};
use farfield_measure::Histogram;
use farfield_os::clock::Clock;
use farfield_testbed::gateway::Queue;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

/// Packets read from a host before others have their turn.
const READS_A_TURN: usize = 16;

/// The hosts of one shard.
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    /// Addresses of servers that reach one another.
    servers: Vec<IpAddr>,
    clock: Clock,
    window: Window,
}

struct Host {
    /// The number of the program.
    number: usize,
    address: IpAddr,
    port: PacketPort,
    /// Its packets; those that its kernel refused are counted by the port.
    packets: HostCounts,
    lateness: Histogram,
    /// The error of the interface, once it is gone.
    failed: Option<io::Error>,
}

/// Packets that a host sent and got, over the whole run.
#[derive(Debug)]
pub(crate) struct HostReport {
    pub number: usize,
    pub packets: HostCounts,
    /// Lateness of the packets that it got in the measured part.
    pub lateness: Histogram,
    pub failed: Option<io::Error>,
}

impl Hosts {
    /// Programs by their numbers, with their addresses and their ends of the network.
    pub fn new(programs: Vec<(usize, IpAddr, Queue)>, clock: Clock, window: Window) -> Hosts {
        let host = |(number, address, queue)| Host {
            number,
            address,
            port: PacketPort::new(queue),
            packets: HostCounts::default(),
            lateness: Histogram::new(),
            failed: None,
        };
        Hosts { hosts: programs.into_iter().map(host).collect(), servers: Vec::new(), clock, window }
    }

    /// Sets the addresses of servers that reach one another.
    pub fn with_servers(self, servers: Vec<IpAddr>) -> Hosts {
        Hosts { servers, ..self }
    }

    /// True if they send when no user does.
    pub fn send_by_themselves(&self) -> bool {
        !self.hosts.is_empty() || !self.servers.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The addresses of real hosts that packets of servers may be for.
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.hosts.iter().map(|host| host.address).chain(self.servers.iter().copied()).collect()
    }

    /// Reads the packets that wait, up to a turn's share each, into `packets`.
    pub fn read(&mut self, packets: &mut Vec<Packet>) {
        for host in self.hosts.iter_mut().filter(|host| host.failed.is_none()) {
            for _ in 0..READS_A_TURN {
                match host.port.receive() {
                    Ok(PortRead::Packet(packet)) if packet.addresses.source() == host.address => {
                        host.packets.up += packet.packets();
                        packets.push(packet);
                    }
                    // A program has the address of its own client and no other's.
                    Ok(PortRead::Packet(packet)) => host.packets.refused += packet.packets(),
                    Ok(PortRead::Malformed) => host.packets.refused += 1,
                    Ok(PortRead::Nothing) => break,
                    Err(error) => {
                        host.failed = Some(error);
                        break;
                    }
                }
            }
        }
    }

    /// Writes the packets that have come to hosts of `shard` to their kernels.
    pub fn write(&mut self, shard: &mut Shard) {
        let mut any = false;
        while let Some(Departure { intended, packet, .. }) = shard.poll_arrival() {
            let address = packet.addresses.destination();
            let Some(host) = self.hosts.iter_mut().find(|host| host.address == address) else { continue };
            if self.window.contains(intended) {
                let late = self.clock.now().since(intended);
                (0..packet.packets()).for_each(|_| host.lateness.record(late));
            }
            host.packets.down += packet.packets();
            host.port.send(packet);
            any = true;
        }
        if any {
            self.hosts.iter_mut().for_each(|host| host.port.flush());
        }
    }

    /// Descriptors to poll for packets.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.hosts.iter().filter(|host| host.failed.is_none()).map(|host| host.port.as_fd())
    }

    /// The reports of all, at the end.
    pub fn into_reports(self) -> impl Iterator<Item = HostReport> {
        self.hosts.into_iter().map(|host| HostReport {
            number: host.number,
            packets: HostCounts { refused: host.packets.refused + host.port.refused, ..host.packets },
            lateness: host.lateness,
            failed: host.failed,
        })
    }
}
