//! Datagrams between the emulated network and a real kernel: rows that the kernel hands over whole,
//! checksums that are left to it, and congestion marks both ways.

#[path = "../../farfield-testbed/tests/scene/mod.rs"]
mod testbed_scene;

use bytes::Bytes as Buffer;
use farfield_emulator::offload::{Frame, take_apart};
use farfield_emulator::{Packet, Udp};
use farfield_testbed::gateway::{Device, Queue};
use farfield_testbed::{Command, Ready, RunningServer, ServerSpec, Testbed, TestbedSpec};
use farfield_wire::{Addresses, Ecn, Gso, GsoKind, IpPacket, Transport, VnetHeader};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::io::IoSlice;
use tempfile::TempDir;
use testbed_scene::{skip, testbed};

const PORT: u16 = 4_433;
const OWN_PORT: u16 = 10_000;
/// Ample for anything that must come.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// A server that sends each datagram back with the codepoint that it came with, and answers `row SIZE
/// BYTES` by so many bytes in one call, for the kernel to cut (`UDP_SEGMENT`, 103).
const SERVER: &str = r#"
import socket, struct
family = socket.AF_INET6 if ADDRESS.find(":") >= 0 else socket.AF_INET
v6 = family == socket.AF_INET6
level, kind = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if v6 else (socket.IPPROTO_IP, socket.IP_TOS)
s = socket.socket(family, socket.SOCK_DGRAM)
s.setsockopt(level, socket.IPV6_RECVTCLASS if v6 else 13, 1)
s.bind((ADDRESS, PORT))
ready = socket.create_server(("", PORT))
while True:
    data, extra, _, peer = s.recvmsg(65535, 256)
    if data.startswith(b"row "):
        size, total = map(int, data[4:].split())
        row = bytes((at * 7 + at // 256) % 256 for at in range(total))
        s.sendmsg([row], [(socket.IPPROTO_UDP, 103, struct.pack("H", size))], 0, peer)
        continue
    marks = [value[0] & 3 for (of, _, value) in extra if of == level]
    s.sendmsg([data], [(level, kind, struct.pack("i", marks[0]))], 0, peer)
"#;

/// A server in a testbed, and a client of it.
struct Scene {
    queue: Queue,
    addresses: Addresses,
    _server: RunningServer,
    _testbed: Testbed,
    _directory: TempDir,
}

impl Scene {
    fn new(test: &str, device: Device, offload: bool, is_v6: bool) -> Option<Scene> {
        if std::process::Command::new("python3").arg("--version").output().is_err() {
            skip(test, "python3 is not there");
            return None;
        }
        let spec = TestbedSpec { device, offload, ..TestbedSpec::default() };
        let testbed = testbed(test, &spec)?;
        let addresses = if is_v6 {
            Addresses::V6 { source: spec.clients_v6.address(5), destination: spec.server_v6 }
        } else {
            Addresses::V4 { source: spec.clients_v4.address(5), destination: spec.server_v4 }
        };
        let directory = tempfile::tempdir().expect("a folder");
        let text = format!("ADDRESS, PORT = '{}', {PORT}\n{SERVER}", addresses.destination());
        let words = ["python3", "-u", "-c", &text].map(str::to_owned);
        let log = directory.path().join("log");
        let server =
            ServerSpec { ready: Ready::Tcp(PORT), ..ServerSpec::new(Command::Program(words.to_vec()), log) };
        let server = testbed.start_server(&server).unwrap_or_else(|error| panic!("{error}"));
        let queue = testbed.queues().remove(0);
        Some(Scene { queue, addresses, _server: server, _testbed: testbed, _directory: directory })
    }

    fn send(&mut self, ecn: Ecn, data: &[u8]) {
        let payload = Buffer::copy_from_slice(data);
        let udp = Udp { source_port: OWN_PORT, destination_port: PORT, payload };
        let packet = Packet::udp(self.addresses, ecn, udp);
        let frame = Frame::of(&packet);
        assert!(
            self.queue.write(&[IoSlice::new(frame.head()), IoSlice::new(frame.rest())]).expect("a gateway")
        );
    }

    /// The next that the kernel hands over for the client: its header, and the datagrams that it is made of.
    fn receive(&mut self) -> (VnetHeader, Vec<Packet>) {
        let mut buffer = vec![0; Queue::READ_LEN];
        loop {
            while let Some(length) = self.queue.read(&mut buffer).expect("a gateway") {
                let header = VnetHeader::parse(&buffer).expect("a known kind");
                let bytes = Buffer::copy_from_slice(&buffer[Queue::HEADER_LEN..length]);
                if IpPacket::parse(&bytes).expect("a packet").addresses() != self.addresses.reversed() {
                    continue;
                }
                let mut packets = Vec::new();
                take_apart(&header, &bytes, |packet| packets.push(packet)).expect("packets");
                return (header, packets);
            }
            let mut ready = [PollFd::new(&self.queue, PollFlags::IN)];
            assert_ne!(poll(&mut ready, Some(&PATIENCE)).expect("a gateway"), 0, "the server is silent");
        }
    }
}

/// The data of a datagram, in meaning or, where routers may cut it, as bytes.
#[track_caller]
fn data_of(packet: &Packet) -> Vec<u8> {
    let bytes = packet.to_bytes();
    let ip = IpPacket::parse(&bytes).expect("a packet");
    let Ok(Transport::Udp(udp)) = ip.transport() else { panic!("{packet:?}") };
    assert!(udp.checksum_is_valid(&ip.addresses()));
    assert_eq!((udp.source_port(), udp.destination_port()), (PORT, OWN_PORT));
    udp.payload().to_vec()
}

/// True if this kernel is known to hand rows to a TUN whole.
fn has_rows() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(2))
}

/// A row of 27 datagrams and a shorter one comes out as these, however the kernel hands it over; each has
/// the MTU's size at most, and a right checksum once it is bytes.
fn rows_are_cut(test: &str, device: Device, offload: bool) {
    const SIZE: usize = 1_200;
    const TOTAL: usize = 27 * SIZE + 345;
    for is_v6 in [false, true] {
        let Some(mut scene) = Scene::new(test, device, offload, is_v6) else { return };
        scene.send(Ecn::NotEct, format!("row {SIZE} {TOTAL}").as_bytes());
        let expected: Vec<u8> = (0..TOTAL).map(|at| ((at * 7 + at / 256) % 256) as u8).collect();
        let (mut data, mut sizes, mut reads, mut rows) = (Vec::new(), Vec::new(), 0, 0);
        while data.len() < TOTAL {
            let (header, packets) = scene.receive();
            reads += 1;
            rows += u32::from(matches!(header.gso, Some(Gso { kind: GsoKind::Udp, .. })));
            for packet in &packets {
                sizes.push(data_of(packet).len());
                data.extend(data_of(packet));
                assert_eq!(packet.to_bytes().len(), packet.bytes as usize);
            }
        }
        assert!(data == expected, "the bytes of the row, in order");
        let (last, others) = sizes.split_last().expect("datagrams");
        assert!(others.iter().all(|size| *size == SIZE) && *last == 345, "{sizes:?}");
        if !offload {
            assert_eq!((reads, rows), (28, 0), "the kernel cut it");
        } else if has_rows() {
            assert_eq!((reads, rows), (1, 1), "the kernel left it whole");
        }
    }
}

#[test]
fn rows_through_tun() {
    rows_are_cut("rows_through_tun", Device::Tun, true);
}

#[test]
fn rows_through_packet_sockets() {
    rows_are_cut("rows_through_packet_sockets", Device::Packet, true);
}

#[test]
fn rows_through_tun_without_offload() {
    rows_are_cut("rows_through_tun_without_offload", Device::Tun, false);
}

/// The kernel takes datagrams with checksums left to it, of every codepoint, shows the codepoint to the
/// server, and sends the server's.
fn codepoints_are_carried(test: &str, device: Device) {
    for is_v6 in [false, true] {
        let Some(mut scene) = Scene::new(test, device, true, is_v6) else { return };
        let data: Vec<u8> = (0..1_400u32).map(|at| (at % 253) as u8).collect();
        for (ecn, len) in [(Ecn::Ect0, 1_400), (Ecn::Ce, 1), (Ecn::Ect1, 0), (Ecn::NotEct, 999)] {
            scene.send(ecn, &data[..len]);
            let (_, packets) = scene.receive();
            let [packet] = &packets[..] else { panic!("{} packets", packets.len()) };
            assert_eq!((packet.ecn, &data_of(packet)[..]), (ecn, &data[..len]));
        }
    }
}

#[test]
fn codepoints_through_tun() {
    codepoints_are_carried("codepoints_through_tun", Device::Tun);
}

#[test]
fn codepoints_through_packet_sockets() {
    codepoints_are_carried("codepoints_through_packet_sockets", Device::Packet);
}
