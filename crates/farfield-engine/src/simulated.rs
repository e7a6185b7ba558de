//! The simulated plane: the same clients and links in virtual time, before a model of a server.
//!
//! No clock is read: the same scenario leaves the same samples and the same capture, byte for byte, on any number of
//! threads. It is as fast as it is, and is never late.

use crate::account;
use crate::collector::{Collector, Keeping, Pace};
use crate::finished::{DoorCounts, Finished, Network};
use crate::meters::Phases;
use crate::plane::{Capture, SimulatedPlane};
use crate::run::{RunError, Settings, asked, finish};
use farfield_base::{Duration, Instant};
use farfield_emulator::Packet;
use farfield_emulator::server::ServerPlan;
use farfield_emulator::simulation::{Simulated, Simulation, Tap, simulate_with};
use farfield_measure::facts::WorkerFacts;
use farfield_measure::{Fold, Histogram, Summary};
use farfield_wire::pcapng::{Direction, Interface, InterfaceId, LinkType, PacketFacts, Writer};
use std::fs::File;
use std::io::{self, BufWriter};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// What a connection that is never closed is kept for beyond the end of the run.
const KEPT: Duration = Duration::from_secs(1);

/// Makes the run.
pub(crate) fn run(
    settings: &Settings,
    plane: &SimulatedPlane,
    phases: Phases,
    keeping: Option<Keeping>,
    started: u64,
) -> Result<Summary, RunError> {
    let simulation = simulation(settings, plane, phases);
    let simulated = match capture_path(settings, plane) {
        None => simulate_with(&simulation, ()),
        Some((path, capture)) => {
            let (door, refused) = Door::begin(&path, capture).map_err(RunError::Capture)?;
            let simulated = simulate_with(&simulation, door);
            refused.recv().expect("the door tells how it ended").map_err(RunError::Capture)?;
            simulated
        }
    }
    .map_err(RunError::Simulation)?;

    let classes: Vec<String> = plane.network.plan.classes.iter().map(|class| class.name.clone()).collect();
    let pace = Pace::alone();
    let fold = Fold::of_classes(phases.window, &classes).telling_states(settings.itinerary.states());
    let fold = fold.ignoring_unfinished(settings.ignores_unfinished);
    let mut collector = Collector::new(fold, 0, asked(settings), &settings.aborts, keeping, pace);
    collector.record(&simulated.samples);
    collector.facts.plane = settings.plane.name().to_owned();
    collector.facts.warnings = settings.warnings.clone();
    collector.facts.load_ended = true;
    let until = simulated.ended.min(phases.window.measure_to);
    account::add_up(&mut collector.facts, settings, phases.window, vec![finished(&simulated)]);
    account::describe_network(&mut collector.facts, settings);
    // There is no thread that could have been too busy.
    collector.facts.workers.clear();
    Ok(finish(collector, until, started))
}

fn simulation(settings: &Settings, plane: &SimulatedPlane, phases: Phases) -> Simulation {
    let model = &plane.server;
    let server = ServerPlan {
        accept_queue: model.backlog,
        service: model.service_time.clone(),
        keep_alive: match model.keep_alive_timeout {
            // Longer than any run.
            None => Some(phases.drain_until.since(Instant::ZERO) + KEPT),
            Some(timeout) => Some(timeout).filter(|timeout| !timeout.is_zero()),
        },
        linger: model.linger,
        workers: model.workers,
        objects: Arc::clone(&model.objects),
        reply: model.reply_size.clone(),
        ..ServerPlan::events(NonZeroU32::MIN)
    };
    Simulation {
        network: Arc::clone(&plane.network.plan),
        server: Arc::new(server),
        load: settings.load.clone(),
        itinerary: settings.itinerary.for_worker(),
        policy: settings.policy,
        seed: settings.seed,
        requests_max: settings.requests_max,
        window: phases.window,
        drain_until: phases.drain_until,
        shards: settings.workers,
    }
}

/// The account of the one who turned it all, who is never late.
fn finished(simulated: &Simulated) -> Finished {
    Finished {
        facts: WorkerFacts::default(),
        lateness: Histogram::new(),
        turns: Histogram::new(),
        tally: simulated.tally,
        last_received: None,
        in_system_area: simulated.in_system_area,
        stalls: 0,
        network: Some(Network {
            departed: Histogram::new(),
            arrived: Histogram::new(),
            crossed: Histogram::new(),
            door: DoorCounts {
                sent: simulated.server.packets_in,
                received: simulated.server.packets_out,
                ..DoorCounts::default()
            },
            drops: simulated.drops,
            failed: None,
        }),
    }
}

fn capture_path<'a>(
    settings: &Settings,
    plane: &'a SimulatedPlane,
) -> Option<(std::path::PathBuf, &'a Capture)> {
    let output = settings.output.as_ref()?;
    Some((output.directory.path().join("capture.pcapng"), plane.network.capture.as_ref()?))
}

/// Writes what passes the server's door, in virtual time from 1970 on: nothing in the file depends on when it was made.
#[derive(Debug)]
struct Door {
    /// Gone once the disk has refused.
    writer: Option<Writer<BufWriter<File>>>,
    refused: Option<io::Error>,
    ended: SyncSender<io::Result<()>>,
}

impl Door {
    fn begin(
        path: &std::path::Path,
        capture: &Capture,
    ) -> io::Result<(Door, std::sync::mpsc::Receiver<io::Result<()>>)> {
        let mut writer = Writer::new(BufWriter::new(File::create(path)?), "farfield")?;
        let snap_len = capture.snap.unwrap_or(0);
        writer.add_interface(&Interface { name: "gateway".to_owned(), link: LinkType::RAW, snap_len })?;
        let (ended, told) = sync_channel(1);
        Ok((Door { writer: Some(writer), refused: None, ended }, told))
    }
}

impl Tap for Door {
    fn see(&mut self, at: Instant, inbound: bool, packet: &Packet) {
        let Some(writer) = &mut self.writer else { return };
        // Inbound for the server is outbound for the gateway.
        let direction = if inbound { Direction::Outbound } else { Direction::Inbound };
        let facts = PacketFacts { interface: InterfaceId(0), at_unix_ns: at.as_ns(), direction, drops: 0 };
        if let Err(error) = writer.packet(&facts, &[&packet.to_bytes()]) {
            self.refused = Some(error);
            self.writer = None;
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let ended = match (self.writer.take(), self.refused.take()) {
            (_, Some(error)) => Err(error),
            (Some(writer), None) => writer.finish().map(drop),
            (None, None) => Ok(()),
        };
        // Whoever asked may have been stopped meanwhile.
        let _ = self.ended.send(ended);
    }
}
