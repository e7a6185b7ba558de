//! Figures of a path, measured through it: pings, losses, hops, and the goodput of one TCP connection of the
//! kernel in each direction.
//!
//! The path is that of a client of an emulated plane, alone on its network, as it is at first where its links
//! change. No server runs: at its far end the kernel answers pings, and this process sends and receives. Each
//! measurement has the network to itself from the start: nothing of the one before is under way.

mod ping;
mod stream;

use crate::plane::EmulatedPlane;
use crate::shell::ends::{self, ProgramNamespace, forwarding_during};
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Merge};
use farfield_emulator::ClientId;
use farfield_emulator::path::figures_of;
pub use farfield_emulator::path::{GoodputFigures, PathFigures};
use farfield_measure::Histogram;
pub use farfield_net::Profile;
use farfield_testbed::{Testbed, TestbedError};
use ping::Pings;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Pings of a measurement.
const PINGS: u16 = 100;
/// The longest time between two pings.
const PING_INTERVAL_MAX: Duration = Duration::from_ms(500);
/// Segments of a measurement of goodput, so that one more or less does not count.
const SEGMENTS: f64 = 200.0;
/// Beyond this a spread would hide what is wrong.
const SPREAD_MAX: f64 = 0.25;
/// Multiple of what the path holds that is measured at least, where that does not take too long.
const HELD_TIMES: u64 = 20;
const SEGMENT_BITS: f64 = 1500.0 * 8.0;

/// Figures of a path: those that its links should give, and those measured.
#[derive(Debug)]
pub struct PathReport {
    /// The class of clients.
    pub class: String,
    /// The client's address.
    pub client: IpAddr,
    /// The figures that its links should give.
    pub asked: PathFigures,
    /// Times of pings that came back, in ascending order.
    pub round_trips: Vec<Duration>,
    /// Pings sent.
    pub pings: u32,
    /// Time between two of them.
    pub interval: Duration,
    /// Hops to the server; absent if it never answered.
    pub hops: Option<u32>,
    /// From the server to the client.
    pub down: Goodput,
    /// From the client to the server.
    pub up: Goodput,
    /// Lateness of packets at either end.
    pub lateness: Histogram,
}

/// The goodput of one TCP connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    /// Bits of data a second.
    pub bits: f64,
    /// By which share that may be more or less than what the path carried: what it holds, of what was
    /// measured.
    pub spread: f64,
}

/// Why a path was not measured.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The machine does not allow the testbeds.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// A measurement failed.
    #[error("{what} cannot be measured: {source}")]
    Measure {
        /// The quantity, in words.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The measurement was asked to stop.
    #[error("interrupted before all was measured")]
    Stopped,
}

/// The testbeds of a path.
struct Path<'a> {
    plane: &'a EmulatedPlane,
    insides: [ProgramNamespace; 1],
    far: Testbed,
    seed: Seed,
    server: IpAddr,
    stop: &'a AtomicBool,
    lateness: Histogram,
}

/// Measures the path of client `client`. `seed` is that of the links. Sets `plane` up for real clients.
///
/// # Errors
/// If the machine does not allow the testbeds, a measurement fails, or `stop` is set.
pub fn measure(
    plane: &mut EmulatedPlane,
    client: ClientId,
    seed: Seed,
    stop: &AtomicBool,
) -> Result<PathReport, PathError> {
    ends::prepare(plane);
    let plan = Arc::new(plane.network.plan.frozen(Instant::ZERO));
    plane.network.plan = Arc::clone(&plan);
    let class = plan.clients[client.index()].class;
    let servers = plan.servers_of(class);
    let mut spec = plane.testbed.clone();
    if plan.number_of_server(class) > 0 {
        (spec.server_v4, spec.server_v6) = (servers.v4, servers.v6);
    }
    let far = Testbed::build(&spec)?;
    let insides = [ProgramNamespace::build(&plane.testbed, &plan, client)?];
    let address = insides[0].address;
    let server = servers.of(&address).ip();
    let asked = figures_of(&plan, client, ping::PACKET_LEN);
    let mut path = Path { plane, insides, far, seed, server, stop, lateness: Histogram::new() };
    let wait = asked.round_trip.times(2) + Duration::from_secs(1);
    let hops =
        path.during("the number of hops", |path| path.inside(|| Pings::open(server)?.hops(wait, stop)))?;
    let interval = ping_interval(&asked);
    let pings = path.during("the round trip", |path| {
        path.inside(|| Pings::open(server)?.round_trips(PINGS, interval, wait, stop))
    })?;
    let down = path.goodput("goodput to the client", false, &asked)?;
    let up = path.goodput("goodput to the server", true, &asked)?;
    let class = &plan.classes[usize::from(class)];
    Ok(PathReport {
        class: class.name.clone(),
        client: address,
        asked,
        round_trips: pings,
        pings: PINGS.into(),
        interval,
        hops,
        down,
        up,
        lateness: path.lateness,
    })
}

impl Path<'_> {
    /// Does a measurement on the network by itself.
    fn during<R>(
        &mut self,
        what: &'static str,
        work: impl FnOnce(&Path<'_>) -> io::Result<R>,
    ) -> Result<R, PathError> {
        let (measured, forwarded) =
            forwarding_during(&self.plane.network, &self.insides, &[(0, &self.far)], &[], self.seed, |_| {
                work(self)
            });
        self.lateness.merge(&forwarded.lateness);
        if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(PathError::Stopped);
        }
        match forwarded.failed {
            Some(source) => Err(PathError::Measure { what: "the path", source }),
            None => measured.map_err(|source| PathError::Measure { what, source }),
        }
    }

    /// Does `work` in the client's namespace.
    fn inside<R: Send>(&self, work: impl FnOnce() -> io::Result<R> + Send) -> io::Result<R> {
        self.insides[0].testbed.inside(work)?
    }

    fn goodput(&mut self, what: &'static str, up: bool, asked: &PathFigures) -> Result<Goodput, PathError> {
        let figures = if up { asked.up } else { asked.down };
        let extent = extent(asked.round_trip, &figures);
        let (server, stop) = (self.server, self.stop);
        let bits = self.during(what, |path| {
            let listener = path.far.inside(|| stream::listen(server)).and_then(|listener| listener)?;
            path.inside(|| stream::measure(&listener, up, extent, stop))
        })?;
        let most = figures.bits.map(|bits| bits * extent[1].as_secs_f64());
        Ok(Goodput { bits, spread: most.map_or(0.0, |most| figures.held_bytes * 8.0 / most).min(SPREAD_MAX) })
    }
}

/// The time between pings: enough that they do not queue before the slowest link.
fn ping_interval(asked: &PathFigures) -> Duration {
    let slowest = [asked.up.bits, asked.down.bits].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let sending = Duration::from_secs_f64(f64::from(ping::PACKET_LEN + 64) * 8.0 / slowest);
    (sending.times(2)).max(Duration::from_ms(20)).min(PING_INTERVAL_MAX)
}

/// Durations of a connection's warm-up and of its measurement: some round trips; as many segments as make
/// one more or less not count; and long enough that what the path holds does not count for much.
fn extent(round_trip: Duration, figures: &GoodputFigures) -> [Duration; 2] {
    let carried =
        |bits: f64| figures.bits.map_or(Duration::ZERO, |carried| Duration::from_secs_f64(bits / carried));
    let segments = carried(SEGMENTS * SEGMENT_BITS);
    let full_round_trip = carried(figures.held_bytes * 8.0);
    let longest = Duration::from_secs(20);
    // Slow start ends with many losses at once, whose recovery takes some round trips with a full queue.
    let recovered = full_round_trip.times(10).min(longest);
    let warm_up = round_trip.times(12).max(recovered).max(Duration::from_secs(1));
    let measured = round_trip.times(8).max(segments.max(full_round_trip.times(HELD_TIMES)).min(longest));
    [warm_up, measured.max(Duration::from_secs(2))]
}
