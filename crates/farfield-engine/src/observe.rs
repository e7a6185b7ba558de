//! Captures of real interfaces: the packets between clients and servers as the kernel sees them, in a pcapng
//! file with the kernel's timestamps.
//!
//! A [`PacketCapture`] has all packets of its servers that pass an interface from the moment
//! [`begin`](PacketCapture::begin) returns until [`finish`](PacketCapture::finish) is called. The kernel
//! filters them, cuts them and copies them into a [ring]; a thread of low priority writes them to the file,
//! a block at a time. Nothing waits for that thread: packets that find the ring full are lost to the
//! capture, not to the traffic. They are counted in the file (`epb_dropcount`, `isb_osdrop`) and in the
//! report, and so are packets that a full disk does not take.
//!
//! A loopback interface shows each packet twice: as it leaves, and as it arrives. The capture keeps the one
//! that leaves. Both have a timestamp within a microsecond; but only the first exists for every packet that
//! a TCP sent, is in the order of sending, and is taken in the context of the sender, so that it does not
//! wait for a processor. On other interfaces packets of both directions are kept, as there is one copy of
//! each. A packet here is what the kernel passes to or from the device: with segmentation offload up to
//! 64 KiB, with a checksum that the device has yet to complete.
//!
//! Packets that are not TCP, IP fragments after the first, and IPv6 packets with extension headers are not
//! in the file.
//!
//! [ring]: farfield_os::packet_ring

mod file;

use farfield_base::{Bytes, Duration};
use farfield_os::clock::{monotonic_ns, thread_cpu};
use farfield_os::namespace::Namespace;
use farfield_os::netlink::Netlink;
use farfield_os::packet_ring::{PacketRing, RETIRE_AFTER_MS};
use farfield_os::processors;
use farfield_os::signals::LeftToOthers;
use farfield_wire::pcapng::Direction;
use file::PacketFile;
use rustix::time::Timespec;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Bytes kept of each packet by default: enough for the heads of a request and of a reply.
pub const SNAP: NonZeroU32 = NonZeroU32::new(2048).expect("not zero");
/// Bytes of a packet of any length, such as those that a kernel passes on before it cuts them apart.
pub const SNAP_WHOLE: NonZeroU32 = NonZeroU32::new(65_535).expect("not zero");
/// Size of the ring by default: at 50 MB/s, which is 100,000 packets of 500 bytes, it lasts for 0.6 s in
/// which the writer gets no processor.
pub const BUFFER: Bytes = Bytes(32 << 20);
/// Time after [`PacketCapture::finish`] in which packets that close connections are still captured.
const LAST_PACKETS: Duration = Duration::from_ms(100);
/// Time for the kernel to pass on the last block.
const LAST_BLOCK: Duration = Duration::from_secs(2);

/// Settings of a capture.
#[derive(Debug, Clone)]
pub struct CaptureSettings {
    /// The network namespace; that of the calling thread if absent.
    pub namespace: Option<Namespace>,
    /// The interface by name; if absent, the one on which packets to the first server leave.
    pub interface: Option<String>,
    /// Servers: packets from and to any of them are kept. An unspecified address (`0.0.0.0`, `::`) stands
    /// for all of its family.
    pub servers: Vec<SocketAddr>,
    /// Bytes kept of each packet, from its IP header on.
    pub snap: NonZeroU32,
    /// Size of the ring between the kernel and the writer.
    pub buffer: Bytes,
    /// The file, which only its owner may read.
    pub path: PathBuf,
}

impl CaptureSettings {
    /// Defaults for a capture of `servers` into `path`, on the interface towards the first of them.
    pub fn new(servers: Vec<SocketAddr>, path: PathBuf) -> CaptureSettings {
        CaptureSettings { namespace: None, interface: None, servers, snap: SNAP, buffer: BUFFER, path }
    }
}

/// The reason why a capture cannot be begun.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The process may not open packet sockets.
    #[error(
        "packets cannot be captured without the right to open packet sockets (CAP_NET_RAW): run farfield as root, \
         or run `setcap cap_net_raw+ep` on its file, or leave the capture out"
    )]
    Permission,
    /// There is no such interface, or it is down.
    #[error(
        "packets of the interface {name:?} cannot be captured ({source}); `ip link` lists interfaces that are up"
    )]
    Interface {
        /// The name.
        name: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// No interface leads to the server.
    #[error("no interface leads to {server} ({source}), so that there are no packets to capture")]
    Route {
        /// The server.
        server: IpAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// The servers are none, or too many for a filter in the kernel.
    #[error("a capture is of 1 to about 100 servers, and {count} were given")]
    Servers {
        /// The number of servers.
        count: usize,
    },
    /// The ring cannot be made.
    #[error(
        "the kernel gives no ring of {buffer} for captured packets ({source}): ask for a smaller one, or free memory"
    )]
    Ring {
        /// Requested size.
        buffer: Bytes,
        /// The kernel's error.
        source: io::Error,
    },
    /// The namespace cannot be entered.
    #[error("the network namespace cannot be entered for a capture ({0}): run farfield as root")]
    Namespace(#[source] io::Error),
    /// The file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The thread that writes cannot be started.
    #[error("cannot start the thread that writes the capture: {0}")]
    Thread(#[source] io::Error),
}

/// The packets that a capture has, and those that it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureReport {
    /// The interface.
    pub interface: String,
    /// Packets in the file.
    pub packets: u64,
    /// Packets lost because the ring was full.
    pub dropped: u64,
    /// Packets lost because the file could not be written.
    pub unwritten: u64,
    /// The error of the file, if there was one.
    pub file_error: Option<String>,
    /// The interface went down or away.
    pub interface_down: bool,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Processor time of the thread that wrote it. Copying packets into the ring costs the threads that send
    /// them time as well, which is not counted here.
    pub cpu: Duration,
}

impl CaptureReport {
    /// True if the file has every packet.
    pub fn is_whole(&self) -> bool {
        self.dropped == 0 && self.unwritten == 0 && self.file_error.is_none() && !self.interface_down
    }

    /// Warnings on what the file lacks and why, a sentence each, with what to do.
    pub fn warnings(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.dropped > 0 {
            sentences.push(format!(
                "the capture lacks {} of {} packets, for which its buffer had no room: enlarge capture.buffer, keep \
                 less of each packet (capture.snap), or leave a processor free for the thread that writes them",
                self.dropped,
                self.packets + self.dropped + self.unwritten
            ));
        }
        if let Some(error) = &self.file_error {
            sentences.push(format!(
                "the capture is cut short, and lacks {} packets: its file could not be written ({error}); free the \
                 disk, or keep less of each packet (capture.snap)",
                self.unwritten
            ));
        }
        if self.interface_down {
            sentences.push(format!(
                "the interface {} went down or away during the capture, which lacks the packets from then on",
                self.interface
            ));
        }
        sentences
    }
}

/// A capture in progress. Dropped without [`finish`](Self::finish), it ends by itself, soon.
#[derive(Debug)]
pub struct PacketCapture {
    stop: Arc<AtomicBool>,
    writer: Option<JoinHandle<CaptureReport>>,
}

impl PacketCapture {
    /// Begins a capture. Every packet after this has returned is in it.
    ///
    /// # Errors
    /// If the machine does not allow it, or the file cannot be made: see [`CaptureError`].
    pub fn begin(settings: CaptureSettings) -> Result<PacketCapture, CaptureError> {
        let (ring, interface) = match &settings.namespace {
            None => open_ring(&settings)?,
            Some(namespace) => {
                namespace.inside(|| open_ring(&settings)).map_err(CaptureError::Namespace)??
            }
        };
        let file = PacketFile::create(&settings.path, &interface, settings.snap)
            .map_err(|source| CaptureError::File { path: settings.path.clone(), source })?;
        let stop = Arc::new(AtomicBool::new(false));
        let writer = Writer {
            ring,
            file,
            stop: Arc::clone(&stop),
            passed: 0,
            taken: 0,
            is_urgent: false,
            report: CaptureReport { interface, ..CaptureReport::default() },
        };
        let thread = std::thread::Builder::new().name("packet capture".to_owned());
        let run = move || {
            let _signals = LeftToOthers::begin();
            writer.run()
        };
        let writer = thread.spawn(run).map_err(CaptureError::Thread)?;
        Ok(PacketCapture { stop, writer: Some(writer) })
    }

    /// Ends the capture, a tenth of a second later, in which connections are closed; returns once all
    /// packets are in the file.
    pub fn finish(mut self) -> CaptureReport {
        self.stop.store(true, Ordering::Release);
        let writer = self.writer.take().expect("it is finished once");
        writer.join().expect("the writer of a capture does not panic")
    }
}

impl Drop for PacketCapture {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

fn open_ring(settings: &CaptureSettings) -> Result<(PacketRing, String), CaptureError> {
    let Some(first) = settings.servers.first() else { return Err(CaptureError::Servers { count: 0 }) };
    let (index, name) = find_interface(settings.interface.as_deref(), first.ip())?;
    let buffer = usize::try_from(settings.buffer.0).unwrap_or(usize::MAX);
    let ring = PacketRing::open(index, &settings.servers, settings.snap.get(), buffer);
    let ring = ring.map_err(|source| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => CaptureError::Permission,
        Some(libc::ENODEV | libc::ENETDOWN | libc::ENXIO) => {
            CaptureError::Interface { name: name.clone(), source }
        }
        None => CaptureError::Servers { count: settings.servers.len() },
        Some(_) => CaptureError::Ring { buffer: settings.buffer, source },
    })?;
    Ok((ring, name))
}

/// The interface `name`, or the one towards `server`; all interfaces for a server without an address.
fn find_interface(name: Option<&str>, server: IpAddr) -> Result<(Option<u32>, String), CaptureError> {
    let no_route = |source| CaptureError::Route { server, source };
    let mut netlink = Netlink::open().map_err(no_route)?;
    if let Some(name) = name {
        let refused = |source| CaptureError::Interface { name: name.to_owned(), source };
        return Ok((Some(netlink.index_of(name).map_err(refused)?), name.to_owned()));
    }
    if server.is_unspecified() {
        return Ok((None, "any".to_owned()));
    }
    let index = netlink.interface_towards(server).map_err(no_route)?;
    Ok((Some(index), netlink.name_of(index).map_err(no_route)?))
}

/// The thread that moves packets from the ring into the file.
struct Writer {
    ring: PacketRing,
    file: PacketFile,
    stop: Arc<AtomicBool>,
    /// Packets that passed the filter, and those taken from the ring.
    passed: u64,
    taken: u64,
    /// The thread runs at the normal priority.
    is_urgent: bool,
    report: CaptureReport,
}

impl Writer {
    fn run(mut self) -> CaptureReport {
        // If the priority cannot be lowered, lateness shows the cost.
        let _ = processors::set_background();
        while !self.stop.load(Ordering::Acquire) {
            self.take_blocks();
            self.wait();
        }
        self.go_on(LAST_PACKETS, |_| false);
        // If the filter cannot be changed, packets of others may keep the ring from ever being empty, but
        // not for longer than the bound.
        let _ = self.ring.shut();
        self.go_on(LAST_BLOCK, |writer| writer.taken + writer.report.dropped >= writer.passed);
        self.report.dropped = self.passed - self.taken;
        self.file.end(self.passed, self.report.dropped);
        self.report.packets = self.file.packets;
        self.report.unwritten = self.taken - self.file.packets;
        self.report.file_error = self.file.error.map(|error| error.to_string());
        self.report.bytes = self.file.len;
        self.report.cpu = thread_cpu();
        self.report
    }

    /// Goes on for this long, or until there is no more to do.
    fn go_on(&mut self, length: Duration, is_done: impl Fn(&Writer) -> bool) {
        let until_ns = monotonic_ns() + length.as_ns();
        while monotonic_ns() < until_ns {
            self.take_blocks();
            if is_done(self) {
                return;
            }
            self.wait();
        }
    }

    /// Waits for a block, or for as long as a block takes at most to be passed on.
    fn wait(&mut self) {
        // If a signal interrupts it, there is no block, and the next turn waits again.
        if let Ok(false) = self.ring.wait(WAIT_TIMEOUT) {
            self.report.interface_down = true;
        }
    }

    /// Writes the blocks that are ready. If they are more than half of the ring, this thread has had too
    /// little time, and gets the normal priority for the rest of the capture: a capture that lacks packets
    /// is worth little, and how much it delays workers is in their lateness.
    fn take_blocks(&mut self) {
        let mut taken = 0;
        // Packets that never pause fill blocks again meanwhile: those are for the next turn.
        while taken < self.ring.blocks() && self.take_block() {
            taken += 1;
        }
        if 2 * taken > self.ring.blocks() && !self.is_urgent {
            self.is_urgent = true;
            // If it may not be raised, packets that are lost are counted.
            let _ = processors::set_normal();
        }
    }

    /// Writes the next block; false if none is ready.
    fn take_block(&mut self) -> bool {
        // Counted before the block is taken: packets lost so far were lost before the next ones.
        let lost = self.count();
        let file = &mut self.file;
        file.lost_before_next(lost);
        let block = self.ring.take_block(|packet| {
            let direction = if packet.outgoing { Direction::Outbound } else { Direction::Inbound };
            file.push(packet.at_unix_ns, direction, packet.original_len, packet.bytes);
        });
        let Some(packets) = block else { return false };
        self.taken += u64::from(packets);
        self.file.commit();
        true
    }

    /// Adds up the kernel's counts; returns the packets lost since the last call.
    fn count(&mut self) -> u64 {
        let counts = self.ring.counts().unwrap_or_default();
        self.passed += counts.passed;
        self.report.dropped += counts.dropped;
        counts.dropped
    }
}

const WAIT_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: RETIRE_AFTER_MS as i64 * 1_000_000 };
