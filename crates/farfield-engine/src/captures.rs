//! The captures of a run, from before its first packet until after its last, and what they leave in its
//! directory.
//!
//! Emulated clients' packets are captured where they pass the emulated network, and those of a kernel where
//! they pass an interface. Beside either, `connections.parquet` says which connection of the samples had
//! which addresses, so that packets can be assigned to samples. Secrets of TLS sessions are in a file of
//! their own.

use crate::capture_file::CaptureFile;
use crate::emulated::Emulated;
use crate::key_log::{KEYS, KeyLogWriter};
use crate::observe::{CaptureReport, CaptureSettings, PacketCapture};
use crate::plane::{KernelCapture, Plane};
use crate::run::{Run, RunError};
use farfield_base::Opened;
use farfield_measure::{CaptureStats, EngineStats};
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

/// The capture of the plane itself: on the sockets plane by the kernel, on others by the emulated network.
pub(crate) const CAPTURE: &str = "capture.pcapng";
/// The capture by the server's kernel on the emulated plane.
const KERNEL_CAPTURE: &str = "capture-kernel.pcapng";

/// Captures in progress.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Capture of the emulated network.
    pub file: Option<CaptureFile>,
    /// Capture of an interface, into a file of this name.
    packets: Option<(&'static str, PacketCapture)>,
    /// The secrets of TLS sessions.
    pub keys: Option<Arc<KeyLogWriter<File>>>,
}

impl Captures {
    /// Begins the captures that are asked for, if there is a run directory.
    ///
    /// # Errors
    /// If a capture cannot be begun: nobody wants such a run without it.
    pub fn begin(run: &Run) -> Result<Captures, RunError> {
        let Run { settings, plane } = run;
        let Some(output) = &settings.output else { return Ok(Captures::default()) };
        let directory = output.directory.path();
        let keys = match output.logs_keys {
            true => Some(Arc::new(KeyLogWriter::new(output.directory.begin(KEYS)?))),
            false => None,
        };
        match plane {
            Plane::Sockets(sockets) => {
                let begin = |capture: KernelCapture| {
                    let mut servers = match &sockets.peers {
                        Some(peers) => peers.addresses().to_vec(),
                        None => vec![sockets.target],
                    };
                    for host in &settings.hosts {
                        if !servers.contains(&host.address) {
                            servers.push(host.address);
                        }
                    }
                    PacketCapture::begin(capture.settings(servers, &directory.join(CAPTURE)))
                };
                let packets = sockets.capture.map(begin).transpose()?;
                Ok(Captures { file: None, packets: packets.map(|packets| (CAPTURE, packets)), keys })
            }
            Plane::Emulated(emulated) => {
                let begin = |spec| CaptureFile::begin(&directory.join(CAPTURE), spec);
                let file = emulated.network.capture.as_ref().map(begin).transpose();
                let file = file.map_err(RunError::Capture)?;
                let begin = |capture| {
                    PacketCapture::begin(of_testbed(emulated, capture, &directory.join(KERNEL_CAPTURE)))
                };
                let packets = emulated.network.kernel_capture.map(begin).transpose()?;
                Ok(Captures { file, packets: packets.map(|packets| (KERNEL_CAPTURE, packets)), keys })
            }
            Plane::Simulated(_) => Ok(Captures::default()),
        }
    }

    /// True if connections are recorded.
    pub fn any(&self) -> bool {
        self.file.is_some() || self.packets.is_some()
    }

    /// Sets the start of the run's clock, in nanoseconds since 1970, before the first packet.
    pub fn start_at(&self, start_unix_ns: u64) {
        if let Some(file) = &self.file {
            file.start_at(start_unix_ns);
        }
    }

    /// Ends the captures once the workers have ended, and adds what they lack to the warnings.
    pub fn finish(self, stats: &mut EngineStats) {
        if let Some(file) = self.file {
            match file.finish() {
                Ok(written) => {
                    if let Some(network) = &mut stats.network {
                        network.capture_drops = written.lost;
                    }
                    stats.captures.push(CaptureStats {
                        file: CAPTURE.to_owned(),
                        interface: None,
                        packets: written.packets,
                        lost: written.lost,
                        cpu_ns: written.cpu.as_ns(),
                    });
                }
                Err(error) => stats.warnings.push(format!("{CAPTURE} is cut short: {error}")),
            }
        }
        if let Some((name, packets)) = self.packets {
            let report = packets.finish();
            stats.warnings.extend(report.warnings().into_iter().map(|warning| format!("{name}: {warning}")));
            stats.captures.push(stats_of(name, report));
        }
        if let Some(error) = self.keys.and_then(|keys| keys.take_failure()) {
            stats.warnings.push(format!("{KEYS} is cut short: {error}"));
        }
    }
}

impl KernelCapture {
    fn settings(self, servers: Vec<SocketAddr>, path: &Path) -> CaptureSettings {
        let KernelCapture { snap, buffer } = self;
        CaptureSettings { snap, buffer, ..CaptureSettings::new(servers, path.to_owned()) }
    }
}

/// A capture at the gateway's interface in the server's namespace.
fn of_testbed(emulated: &Emulated, capture: KernelCapture, path: &Path) -> CaptureSettings {
    let servers = emulated.network.plan.servers;
    let addresses: [IpAddr; 2] = [servers.v4.into(), servers.v6.into()];
    let servers = addresses.map(|address| SocketAddr::new(address, servers.port)).to_vec();
    CaptureSettings {
        namespace: Some(emulated.testbed.namespace().clone()),
        interface: Some(emulated.testbed.report().interface.clone()),
        ..capture.settings(servers, path)
    }
}

fn stats_of(name: &str, report: CaptureReport) -> CaptureStats {
    CaptureStats {
        file: name.to_owned(),
        packets: report.packets,
        lost: report.dropped + report.unwritten,
        cpu_ns: report.cpu.as_ns(),
        interface: Some(report.interface),
    }
}

/// The rows of all workers in the order of connections.
pub(crate) fn in_order(workers: impl IntoIterator<Item = Vec<Opened>>) -> Vec<Opened> {
    let mut rows: Vec<Opened> = workers.into_iter().flatten().collect();
    rows.sort_unstable_by_key(|row| row.connection);
    rows
}
