//! Words for scenes at a gateway: packets in, packets out, and skipping where the machine forbids testbeds.

#![allow(dead_code, reason = "each test file uses a part")]

pub use farfield_testkit::skip;

use farfield_testbed::gateway::{Device, Queue};
use farfield_testbed::{Testbed, TestbedSpec};
use farfield_wire::{
    Addresses, Icmpv4Repr, Icmpv6Repr, IpPacket, IpRepr, Message, Transport, VnetHeader, write_packet,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::io::IoSlice;
use std::net::IpAddr;

/// Ample for anything that must come.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Builds a testbed, or notes that the test is skipped.
pub fn testbed(test: &str, spec: &TestbedSpec) -> Option<Testbed> {
    if !rustix::process::geteuid().is_root() {
        skip(test, "testbeds need root");
        return None;
    }
    if spec.device == Device::Tun && std::fs::File::open("/dev/net/tun").is_err() {
        skip(test, "/dev/net/tun is closed");
        return None;
    }
    Some(Testbed::build(spec).unwrap_or_else(|error| panic!("{error}")))
}

/// A packet as it comes out of a queue.
pub struct Received {
    pub header: VnetHeader,
    pub bytes: Vec<u8>,
}

impl Received {
    pub fn ip(&self) -> IpPacket<'_> {
        IpPacket::parse(&self.bytes).unwrap()
    }
}

/// The next packet that is to `client`, if one comes in time; others are passed over.
pub fn receive(queue: &mut Queue, client: IpAddr) -> Option<Received> {
    let mut buffer = vec![0; Queue::READ_LEN];
    loop {
        while let Some(length) = queue.read(&mut buffer).unwrap() {
            let header = VnetHeader::parse(&buffer).unwrap();
            let bytes = buffer[Queue::HEADER_LEN..length].to_vec();
            if IpPacket::parse(&bytes).unwrap().addresses().destination() == client {
                return Some(Received { header, bytes });
            }
        }
        let mut ready = [PollFd::new(queue, PollFlags::IN)];
        if poll(&mut ready, Some(&PATIENCE)).unwrap() == 0 {
            return None;
        }
    }
}

/// Hands the kernel a packet in three parts.
pub fn send(queue: &mut Queue, header: VnetHeader, packet: &[u8]) {
    let header = header.emit();
    let (front, back) = packet.split_at(packet.len() / 2);
    assert!(queue.write(&[IoSlice::new(&header), IoSlice::new(front), IoSlice::new(back)]).unwrap());
}

/// Asks the server for an echo.
pub fn ping(queue: &mut Queue, spec: &TestbedSpec, client: IpAddr, sequence: u16, data: &[u8]) {
    let (addresses, message) = match client {
        IpAddr::V4(source) => (
            Addresses::V4 { source, destination: spec.server_v4 },
            Message::Icmpv4(Icmpv4Repr::EchoRequest { ident: 7, sequence, data }),
        ),
        IpAddr::V6(source) => (
            Addresses::V6 { source, destination: spec.server_v6 },
            Message::Icmpv6(Icmpv6Repr::EchoRequest { ident: 7, sequence, data }),
        ),
    };
    send(queue, VnetHeader::default(), &packet(addresses, &message));
}

/// A whole packet.
pub fn packet(addresses: Addresses, message: &Message<'_>) -> Vec<u8> {
    let ip = IpRepr::new(addresses, message.protocol());
    let mut bytes = vec![0; ip.header_len() + message.wire_len()];
    write_packet(&ip, message, &mut bytes);
    bytes
}

/// The echo reply in a packet: which one, and what came back.
pub fn echo(received: &Received) -> (u16, Vec<u8>) {
    match received.ip().transport().unwrap() {
        Transport::Icmpv4(icmp) => match Icmpv4Repr::parse(&icmp).unwrap() {
            Icmpv4Repr::EchoReply { sequence, data, .. } => (sequence, data.to_vec()),
            other => panic!("{other:?}"),
        },
        Transport::Icmpv6(icmp) => match Icmpv6Repr::parse(&icmp).unwrap() {
            Icmpv6Repr::EchoReply { sequence, data, .. } => (sequence, data.to_vec()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}
