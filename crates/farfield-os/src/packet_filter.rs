//! A filter in the kernel for the TCP and UDP packets from and to given servers, as a program of classic BPF
//! (socket(7), `SO_ATTACH_FILTER`; McCanne and Jacobson 1993).
//!
//! The program reads packets from their IP header on, as a packet socket of type `SOCK_DGRAM` shows them. It
//! passes over fragments after the first, which have no ports, and IPv6 packets with extension headers
//! between IP and what it carries.

use std::net::{IpAddr, SocketAddr};

/// The most instructions that the kernel takes (`BPF_MAXINSNS`).
pub(super) const INSTRUCTIONS_MAX: usize = 4096;

pub(super) const LOAD_WORD: u16 = 0x20;
pub(super) const LOAD_HALF: u16 = 0x28;
pub(super) const LOAD_BYTE: u16 = 0x30;
/// Loads a half word at X plus an offset.
const LOAD_HALF_PAST_X: u16 = 0x48;
/// Loads the length of an IPv4 header into X.
const X_IS_HEADER_LEN: u16 = 0xb1;
const X_IS: u16 = 0x01;
const SHIFT_RIGHT: u16 = 0x74;
pub(super) const JUMP: u16 = 0x05;
pub(super) const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_ANY_BIT: u16 = 0x45;
pub(super) const RETURN: u16 = 0x06;

/// Offsets from here on are of what the kernel knows beside the packet (`SKF_AD_OFF`).
pub(super) const BESIDE_PACKET: u32 = 0xffff_f000;
const PACKET_TYPE: u32 = BESIDE_PACKET + 4;
const DEVICE_TYPE: u32 = BESIDE_PACKET + 28;
const OUTGOING: u32 = 4;
const LOOPBACK: u32 = 772;
const TCP: u32 = 6;
const UDP: u32 = 17;

/// Offsets in an IP header.
struct IpHeader {
    version: u32,
    protocol_at: u32,
    source_at: u32,
    destination_at: u32,
}

const V4: IpHeader = IpHeader { version: 4, protocol_at: 9, source_at: 12, destination_at: 16 };
const V6: IpHeader = IpHeader { version: 6, protocol_at: 6, source_at: 8, destination_at: 24 };
const V6_LEN: u32 = 40;
const V4_FRAGMENT_AT: u32 = 6;
const V4_FRAGMENT_OFFSET: u32 = 0x1fff;

pub(super) const DROP: libc::sock_filter = step(RETURN, 0);

/// A program that keeps up to `snap` bytes of each TCP or UDP packet from or to one of `servers`; an
/// unspecified address (`0.0.0.0`, `::`) stands for all of its family. Of a loopback interface, which shows
/// each packet first as outgoing and then as incoming, it keeps the first. `None` if the servers are too
/// many for a program.
pub(super) fn program(servers: &[SocketAddr], snap: u32) -> Option<Vec<libc::sock_filter>> {
    let mut program = vec![
        step(LOAD_WORD, DEVICE_TYPE),
        branch(JUMP_IF_EQUAL, LOOPBACK, 0, 3),
        step(LOAD_WORD, PACKET_TYPE),
        branch(JUMP_IF_EQUAL, OUTGOING, 1, 0),
        DROP,
        step(LOAD_BYTE, 0),
        step(SHIFT_RIGHT, 4),
    ];
    for header in [V4, V6] {
        let part = of_version(&header, servers, snap);
        // The part ends the program; only packets of the other version jump over it, with the version loaded.
        program.push(branch(JUMP_IF_EQUAL, header.version, 1, 0));
        program.push(step(JUMP, part.len() as u32));
        program.extend(part);
    }
    program.push(DROP);
    (program.len() <= INSTRUCTIONS_MAX).then_some(program)
}

/// A program for a packet that keeps none.
pub(super) fn nothing() -> Vec<libc::sock_filter> {
    vec![DROP]
}

/// The part for packets of one version of IP.
fn of_version(header: &IpHeader, servers: &[SocketAddr], snap: u32) -> Vec<libc::sock_filter> {
    // Both have their ports first.
    let mut part = vec![
        step(LOAD_BYTE, header.protocol_at),
        branch(JUMP_IF_EQUAL, TCP, 2, 0),
        branch(JUMP_IF_EQUAL, UDP, 1, 0),
        DROP,
    ];
    if header.version == 4 {
        part.push(step(LOAD_HALF, V4_FRAGMENT_AT));
        part.push(branch(JUMP_IF_ANY_BIT, V4_FRAGMENT_OFFSET, 0, 1));
        part.push(DROP);
        part.push(step(X_IS_HEADER_LEN, 0));
    } else {
        part.push(step(X_IS, V6_LEN));
    }
    for server in servers.iter().filter(|server| server.is_ipv4() == (header.version == 4)) {
        // The source port comes first, then the destination port.
        part.extend(matching(server, header.source_at, 0, snap));
        part.extend(matching(server, header.destination_at, 2, snap));
    }
    part.push(DROP);
    part
}

/// Keeps a packet with the server's address and port at these offsets; falls through otherwise.
fn matching(server: &SocketAddr, address_at: u32, port_at: u32, snap: u32) -> Vec<libc::sock_filter> {
    let words: Vec<u32> = match server.ip() {
        address if address.is_unspecified() => Vec::new(),
        IpAddr::V4(address) => vec![address.to_bits()],
        IpAddr::V6(address) => (0..4).rev().map(|word| (address.to_bits() >> (32 * word)) as u32).collect(),
    };
    let mut steps = Vec::new();
    for (at, word) in (address_at..).step_by(4).zip(words.iter().copied()) {
        steps.push((LOAD_WORD, at, word));
    }
    steps.push((LOAD_HALF_PAST_X, port_at, server.port().into()));
    let last = steps.len() - 1;
    let mut program = Vec::new();
    for (nth, (load, at, value)) in steps.into_iter().enumerate() {
        program.push(step(load, at));
        // A comparison that differs skips the rest of them, two instructions each, and the return.
        program.push(branch(JUMP_IF_EQUAL, value, 0, 2 * (last - nth) as u8 + 1));
    }
    program.push(step(RETURN, snap));
    program
}

pub(super) const fn step(code: u16, k: u32) -> libc::sock_filter {
    branch(code, k, 0, 0)
}

/// A step that skips `jt` instructions if its condition holds, `jf` if not.
pub(super) const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}
