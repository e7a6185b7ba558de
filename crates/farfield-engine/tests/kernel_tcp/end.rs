//! The two kinds of ends: a connection of farfield's, and the kernel's behind a TUN in a namespace.

use crate::testbed_scene::{packet, skip};
use farfield_base::Instant;
use farfield_model::convert::{repr_of, segment_of};
use farfield_tcp::{Config, Connection, Event, Numbers, Segment, SeqNumber, State};
use farfield_testbed::gateway::{Device, Queue};
use farfield_testbed::{ServerTcp, Testbed, TestbedSpec};
use farfield_wire::{Addresses, IpPacket, Message, TcpRepr, Transport, VnetHeader, set_ecn};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The port of whoever is opened to, and farfield's own where it opens.
pub const PORT: u16 = 80;
const OWN_PORT: u16 = 40_000;

/// A segment and its data.
pub type Packet = (Segment, Vec<u8>);

/// Bytes that differ from place to place.
pub fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

/// The use that an end makes of its connection: writes so much, takes turns, closes, reads to the end.
#[derive(Debug, Clone, Copy)]
pub struct Application {
    pub writes: usize,
    /// (bytes read in all, bytes written then), one after the other.
    pub turns: &'static [(usize, usize)],
    pub closes: Closes,
}

impl Application {
    /// All that it writes.
    pub fn body(&self) -> Vec<u8> {
        body(self.writes + self.turns.iter().map(|(_, writes)| writes).sum::<usize>())
    }
}

/// The instant at which an end closes its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closes {
    /// Once all is written.
    AtOnce,
    /// Once so many bytes were read.
    HavingRead(usize),
    /// Once so many bytes were read, and none before all of them have come: a kernel handles what arrives
    /// while a reader has the socket later, and together.
    HavingReadAll(usize),
    /// Once the other has closed.
    Afterwards,
}

/// A connection of farfield's with its application.
pub struct Ours {
    pub tcp: Connection,
    pub received: Vec<u8>,
    pub events: Vec<Event>,
    application: Application,
    /// Bytes written, and turns taken.
    written: usize,
    turns: usize,
}

impl Ours {
    pub fn new(config: &Config, opens: bool, isn: u32, application: Application) -> Ours {
        let open = if opens { Connection::open } else { Connection::listen };
        let numbers = Numbers { isn: SeqNumber(isn), timestamp_offset: 7_000 };
        let tcp = open(Arc::new(config.clone()), numbers);
        Ours { tcp, received: Vec::new(), events: Vec::new(), application, written: 0, turns: 0 }
    }

    pub fn arrive(&mut self, now: Instant, (segment, payload): &Packet) {
        let received = &mut self.received;
        self.tcp.handle_segment(now, segment, payload, |bytes| received.extend_from_slice(bytes));
        while let Some((read, writes)) = self.application.turns.get(self.turns)
            && *read <= self.received.len()
        {
            self.turns += 1;
            self.write(*writes);
        }
        let read = self.received.len();
        if matches!(self.application.closes, Closes::HavingRead(len) | Closes::HavingReadAll(len) if len == read)
        {
            self.tcp.close();
        }
        self.hear();
    }

    pub fn wake(&mut self, now: Instant) {
        if self.tcp.poll_timer().is_some_and(|at| at <= now) {
            self.tcp.handle_timer(now);
            self.hear();
        }
    }

    pub fn take(&mut self, now: Instant) -> Option<Packet> {
        let transmit = self.tcp.poll_transmit(now)?;
        Some((transmit.segment, self.tcp.payload_bytes(transmit.payload).to_vec()))
    }

    pub fn is_over(&self) -> bool {
        matches!(self.tcp.state(), State::Closed | State::TimeWait)
    }

    /// True if all that it will write has come to the other end.
    pub fn has_sent_all(&self) -> bool {
        self.written == self.application.body().len() && self.tcp.unacknowledged() == 0
    }

    fn write(&mut self, len: usize) {
        let (from, to) = (self.written, self.written + len);
        self.tcp.write(body(to)[from..].to_vec().into()).expect("open");
        self.written = to;
    }

    fn hear(&mut self) {
        while let Some(event) = self.tcp.poll_event() {
            self.events.push(event);
            if event == Event::Connected {
                self.write(self.application.writes);
            }
            let due = match self.application.closes {
                Closes::AtOnce => Event::Connected,
                Closes::Afterwards => Event::PeerFinished,
                Closes::HavingRead(_) | Closes::HavingReadAll(_) => continue,
            };
            if event == due {
                self.tcp.close();
            }
        }
    }
}

/// The setting of a kernel's that makes it do something else than Reno.
pub const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// A namespace whose kernel does TCP like farfield's Reno with everything else that Linux has.
pub fn testbed(test: &str, changes: &[(&str, &str)]) -> Option<Testbed> {
    let common = [
        ("net.ipv4.tcp_wmem", "4096 4000000 4000000"),
        ("net.ipv4.tcp_rmem", "4096 1000000 4000000"),
        // Answers to what is refused come at once, not twice a second
        ("net.ipv4.tcp_invalid_ratelimit", "0"),
    ];
    let settings = common
        .iter()
        .chain(changes)
        .map(|(name, value)| ((*name).to_owned().try_into().expect("a name"), (*value).into()));
    // A route names it, so that a setting would not count
    let named = changes.iter().find(|(name, _)| *name == CONGESTION_CONTROL);
    let tcp = ServerTcp {
        congestion_control: Some(named.map_or("reno", |(_, value)| value).into()),
        settings: settings.collect(),
        ..ServerTcp::default()
    };
    let spec = TestbedSpec { device: Device::Tun, offload: false, tcp, ..TestbedSpec::default() };
    crate::testbed_scene::testbed(test, &spec)
}

/// Notes that the machine was too busy, so that a test shows neither that it holds nor that it does not.
pub fn too_busy(test: &str) {
    skip(test, "the machine is too busy for scenes in real time");
}

/// The kernel's end of a connection.
pub struct Kernel {
    pub queue: Queue,
    addresses: Addresses,
    /// The port of farfield's end, and the kernel's once it is known.
    ours: u16,
    theirs: Option<u16>,
    listener: Option<TcpListener>,
    application: Application,
    pub app: Option<JoinHandle<io::Result<Vec<u8>>>>,
    /// Holds the application up that reads nothing before all has come.
    all_came: Option<Sender<()>>,
}

impl Kernel {
    /// Opens to farfield's end, or waits for it.
    pub fn new(testbed: &Testbed, client: u128, opens: bool, application: Application) -> Kernel {
        let spec = TestbedSpec::default();
        let address: Ipv4Addr = spec.clients_v4.address(client);
        let server = spec.server_v4;
        let queue = testbed.queues().remove(0);
        let addresses = Addresses::V4 { source: address, destination: server };
        let (ours, theirs) = if opens { (PORT, None) } else { (OWN_PORT, Some(PORT)) };
        let (listener, app, all_came) = (None, None, None);
        let mut kernel = Kernel { queue, addresses, ours, theirs, listener, application, app, all_came };
        if opens {
            let stream = testbed.inside(|| connecting(SocketAddrV4::new(address, PORT))).unwrap().unwrap();
            kernel.begin(stream);
        } else {
            let listener = testbed.inside(|| TcpListener::bind((server, PORT))).unwrap().unwrap();
            listener.set_nonblocking(true).unwrap();
            kernel.listener = Some(listener);
        }
        kernel
    }

    pub fn arrive(&mut self, (segment, payload): &Packet) {
        let port = self.theirs.expect("the kernel has spoken first");
        let repr = repr_of(segment, self.ours, port);
        let mut bytes = packet(self.addresses, &Message::Tcp(&repr, payload));
        set_ecn(&mut bytes, segment.ecn);
        let header = VnetHeader::default().emit();
        assert!(self.queue.write(&[IoSlice::new(&header), IoSlice::new(&bytes)]).unwrap());
    }

    /// The next segment that the kernel has sent on this connection.
    pub fn take(&mut self) -> Option<Packet> {
        self.accept();
        let mut buffer = vec![0; Queue::READ_LEN];
        while let Some(length) = self.queue.read(&mut buffer).unwrap() {
            let ip = IpPacket::parse(&buffer[Queue::HEADER_LEN..length]).unwrap();
            if ip.addresses() != self.addresses.reversed() {
                continue;
            }
            let Ok(Transport::Tcp(tcp)) = ip.transport() else { continue };
            assert!(tcp.checksum_is_valid(&ip.addresses()));
            if tcp.destination_port() == self.ours && self.theirs.is_none_or(|port| port == tcp.source_port())
            {
                self.theirs = Some(tcp.source_port());
                let payload = tcp.payload().to_vec();
                let segment = segment_of(&TcpRepr::parse(&tcp), payload.len() as u32);
                return Some((Segment { ecn: ip.ecn(), ..segment }, payload));
            }
        }
        None
    }

    fn accept(&mut self) {
        if let Some(listener) = self.listener.as_ref().filter(|_| self.app.is_none())
            && let Ok((stream, _)) = listener.accept()
        {
            self.begin(stream);
        }
    }

    fn begin(&mut self, stream: TcpStream) {
        let application = self.application;
        let (sender, all_came) = channel();
        self.all_came = Some(sender);
        self.app = Some(std::thread::spawn(move || run(stream, application, &all_came)));
    }

    /// All that the other end will write has come.
    pub fn let_read(&mut self) {
        self.all_came = None;
    }

    pub fn is_over(&self) -> bool {
        self.app.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

/// A socket that connects while the caller goes on.
fn connecting(to: SocketAddrV4) -> io::Result<TcpStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    match connect(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(errno) => Err(errno.into()),
    }
}

/// The application on the kernel's end; what it read.
fn run(mut stream: TcpStream, application: Application, all_came: &Receiver<()>) -> io::Result<Vec<u8>> {
    stream.set_nonblocking(false)?;
    // Ends if the other end never does
    stream.set_read_timeout(Some(std::time::Duration::from_secs(120)))?;
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    let mut read = |stream: &mut TcpStream, up_to: usize| {
        let from = received.len();
        received.resize(up_to, 0);
        stream.read_exact(&mut received[from..])
    };
    let (whole, mut written) = (application.body(), application.writes);
    stream.write_all(&whole[..written])?;
    for (having_read, writes) in application.turns {
        read(&mut stream, *having_read)?;
        stream.write_all(&whole[written..written + writes])?;
        written += writes;
    }
    match application.closes {
        Closes::AtOnce => stream.shutdown(Shutdown::Write)?,
        Closes::HavingRead(len) => {
            read(&mut stream, len)?;
            stream.shutdown(Shutdown::Write)?;
        }
        Closes::HavingReadAll(len) => {
            // Its other end is dropped then
            let _ = all_came.recv();
            read(&mut stream, len)?;
            stream.shutdown(Shutdown::Write)?;
        }
        Closes::Afterwards => {}
    }
    stream.read_to_end(&mut received)?;
    Ok(received)
}
