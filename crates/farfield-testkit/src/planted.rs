//! Errors planted in a run and its capture, for what holds the one against the other: 45 of them, in the
//! summary, in the samples, in the clocks and in the packets.
//!
//! An error in the samples is planted in the summary as well: it is made anew from the samples that are
//! wrong, so that only packets can contradict them. [`plant`] copies a run directory and changes what it
//! names; the original stays as it is.
//!
//! Runs are of sessions over plain HTTP/1, each user on a connection of its own, over a second long, with
//! some hundred requests.

mod list;

use farfield_base::{Instant, Outcome, Sample, Stamp};
use farfield_measure::samples::{Keep, SamplesFile, SamplesWriter};
use farfield_measure::summary::SummaryContext;
use farfield_measure::{EngineStats, Fold, Summary, VerdictLimits};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Place of a planted error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Planted {
    /// In the summary alone.
    Summary,
    /// In the samples, and in all that the summary has of them.
    Samples,
    /// In the instants of all packets, or in the start of the run's clock.
    Clock,
    /// In the packets.
    Capture,
}

impl Planted {
    /// All of them.
    pub const ALL: [Planted; 4] = [Planted::Summary, Planted::Samples, Planted::Clock, Planted::Capture];

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Planted::Summary => "summary",
            Planted::Samples => "samples",
            Planted::Clock => "clock",
            Planted::Capture => "capture",
        }
    }
}

/// An error: its place, its kind and size in words, and the change.
pub struct PlantedError {
    /// Place where it is planted.
    pub place: Planted,
    /// The error's kind and size.
    pub what: &'static str,
    change: Change,
}

enum Change {
    Summary(fn(&mut Value)),
    Samples(fn(&mut Vec<Sample>)),
    Packets(fn(&mut Packets)),
}

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// All of them.
pub fn errors() -> Vec<PlantedError> {
    [list::of_summary(), list::of_times(), list::of_rows(), list::of_clocks(), list::of_packets()]
        .into_iter()
        .flatten()
        .collect()
}

/// Copies the run directory `run` to `to`, which is made, with the error in it. Files that are not changed
/// are links to those of `run`.
///
/// # Panics
/// If the run has nothing that the error changes.
pub fn plant(error: &PlantedError, run: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(run)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::hard_link(entry.path(), to.join(entry.file_name()))?;
        }
    }
    // A changed file is a new one: the link to the original is taken away first.
    let replace = |name: &str, content: &[u8]| {
        fs::remove_file(to.join(name))?;
        fs::write(to.join(name), content)
    };
    let mut summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json"))?)?;
    match &error.change {
        Change::Summary(change) => {
            let honest = summary.clone();
            change(&mut summary);
            assert_ne!(summary, honest, "nothing was planted: {}", error.what);
            replace("summary.json", summary.to_string().as_bytes())
        }
        Change::Samples(change) => {
            let file = File::open(run.join("samples.parquet"))?;
            let file = SamplesFile::open(file).map_err(io::Error::other)?;
            let label = file.run().clone();
            let samples: Result<Vec<Sample>, _> = file.samples().collect();
            let honest = samples.map_err(io::Error::other)?;
            let mut samples = honest.clone();
            change(&mut samples);
            assert_ne!(samples, honest, "nothing was planted: {}", error.what);
            let mut writer =
                SamplesWriter::create(Vec::new(), label, Keep::All, None).map_err(io::Error::other)?;
            writer.write(&samples).map_err(io::Error::other)?;
            let written = writer.finish().map_err(io::Error::other)?;
            replace("samples.parquet", &written.file)?;
            summarize(&mut summary, &samples)?;
            replace("summary.json", summary.to_string().as_bytes())
        }
        Change::Packets(change) => {
            let honest = fs::read(run.join("capture.pcapng"))?;
            let mut packets = Packets::read(honest.clone());
            change(&mut packets);
            let bytes = packets.bytes();
            assert_ne!(bytes, honest, "nothing was planted: {}", error.what);
            replace("capture.pcapng", &bytes)
        }
    }
}

/// Makes all that a summary has of its samples anew.
fn summarize(summary: &mut Value, samples: &[Sample]) -> io::Result<()> {
    let old: Summary = serde_json::from_value(summary.clone())?;
    let at = Instant::from_ns;
    let phases = old.phases;
    let window = farfield_base::Window {
        measure_from: at(phases.warm_up_ns),
        measure_to: at(phases.warm_up_ns + phases.steady_ns),
    };
    let classes: Vec<String> = old.classes.iter().map(|class| class.name.clone()).collect();
    let states: Vec<String> = old.states.iter().map(|state| state.name.clone()).collect();
    let mut fold = Fold::of_classes(window, &classes).naming_states(states);
    samples.iter().for_each(|sample| fold.record(sample));
    let limits = VerdictLimits::default();
    let context =
        SummaryContext { heading: &old.heading, limits: &limits, thresholds: &[], series_file: None };
    let last = samples.iter().map(|sample| sample.done).max().unwrap_or(at(0));
    let end = at(phases.warm_up_ns + phases.steady_ns + phases.drain_ns).max(last);
    let stats = EngineStats { ended: Some(end.since(at(0))), ..EngineStats::default() };
    let new = Summary::new(context, &fold, &stats, end);
    let new = serde_json::to_value(&new)?;
    for place in ["steady", "classes", "warm_up", "pages", "states", "drained_requests", "handshakes", "http"]
    {
        summary[place] = new[place].clone();
    }
    summary["phases"]["drain_ns"] = new["phases"]["drain_ns"].clone();
    for place in
        ["attempts", "established", "used", "requests_mean", "requests_max", "requests_per_connection"]
    {
        summary["connections"][place] = new["connections"][place].clone();
    }
    // Counts that the engine takes while it runs, as it would have taken them of these.
    summary["generator"]["in_system_mean"] =
        json!(fold.residence().total_ns as f64 / phases.steady_ns as f64);
    let mut firsts: BTreeMap<u32, Instant> = BTreeMap::new();
    for sample in samples {
        firsts.entry(sample.user).and_modify(|due| *due = (*due).min(sample.due)).or_insert(sample.due);
    }
    let begun = firsts.values().filter(|due| window.contains(**due)).count();
    for place in ["scheduled", "begun"] {
        if let Some(number) = summary.pointer_mut(&format!("/generator/arrivals/{place}")) {
            *number = json!(begun);
        }
    }
    let sessions: BTreeSet<u32> = samples.iter().map(|sample| sample.session).collect();
    let first = |session: u32| samples.iter().filter(|own| own.session == session).map(|own| own.due).min();
    let begun = sessions.into_iter().filter_map(first).filter(|due| window.contains(*due)).count() as u64;
    if let Some(sessions) = summary.get_mut("sessions").filter(|own| !own.is_null()) {
        let count = |name: &str| sessions[name].as_u64().unwrap_or(0);
        let rest = begun.saturating_sub(count("broken_off") + count("unfinished"));
        sessions["begun"] = json!(begun);
        sessions["completed"] = json!(rest);
        sessions["duration"]["count"] = json!(rest);
    }
    let checks = summary.pointer_mut("/verdict/checks").and_then(Value::as_array_mut);
    for check in checks.into_iter().flatten().filter(|check| check["measured"].is_number()) {
        let steady = fold.steady();
        match check["name"].as_str() {
            Some("something-measured") => check["measured"] = json!(steady.requests() as f64),
            Some("something-succeeded") => {
                let ended = steady.requests() - steady.count(Outcome::Unfinished);
                check["measured"] = json!(steady.count(Outcome::Ok) as f64 / ended as f64);
            }
            Some("littles-law") => check["measured"] = json!(0.0),
            _ => {}
        }
    }
    Ok(())
}

fn number<'a>(summary: &'a mut Value, place: &str) -> &'a mut Value {
    summary.pointer_mut(place).unwrap_or_else(|| panic!("the summary has no {place}"))
}

fn scale(summary: &mut Value, place: &str, factor: f64) {
    let number = number(summary, place);
    *number = match number.as_u64() {
        Some(whole) => json!((whole as f64 * factor) as u64),
        None => json!(number.as_f64().expect("a number") * factor),
    };
}

fn add(summary: &mut Value, place: &str, more: fn(i64) -> i64) {
    let number = number(summary, place);
    let whole = number.as_i64().expect("a whole number");
    *number = json!(whole + more(whole));
}

fn each(samples: &mut [Sample], change: impl FnMut(&mut Sample)) {
    samples.iter_mut().for_each(change);
}

fn nth(samples: &mut [Sample], n: usize, change: impl FnMut(&mut Sample)) {
    samples.iter_mut().step_by(n).for_each(change);
}

/// Changes one sample of the middle, which was answered.
fn middle(samples: &mut [Sample], change: impl FnMut(&mut Sample)) {
    let from = samples.len() / 2;
    let answered = samples[from..].iter_mut().filter(|sample| sample.outcome == Outcome::Ok);
    answered.take(1).for_each(change);
}

fn shifted(at: Instant, by: i64) -> Instant {
    Instant::from_ns(at.as_ns().saturating_add_signed(by))
}

fn moved(at: Stamp, by: i64) -> Stamp {
    at.instant().map_or(Stamp::NEVER, |at| Stamp::at(shifted(at, by)))
}

/// All instants but `due` cut to the millisecond.
fn rounded(sample: &mut Sample) {
    let cut = |at: Instant| Instant::from_ns(at.as_ns() / MS as u64 * MS as u64);
    let stamp = |at: Stamp| at.instant().map_or(Stamp::NEVER, |at| Stamp::at(cut(at)));
    sample.connect_begun = stamp(sample.connect_begun);
    sample.connected = stamp(sample.connected);
    sample.sent = stamp(sample.sent);
    sample.first_byte = stamp(sample.first_byte);
    sample.done = cut(sample.done);
}

/// A pcapng file in blocks, of which those with packets can be changed.
struct Packets {
    blocks: Vec<Vec<u8>>,
    /// The server's port.
    server: u16,
}

/// The type of an Enhanced Packet Block.
const ENHANCED: u32 = 6;
/// Bytes of a block's header, up to the packet.
const HEADER: usize = 28;

/// An Enhanced Packet Block with a segment of TCP over IPv4, and instants in nanoseconds, as farfield writes
/// them.
struct Packet<'a> {
    block: &'a mut [u8],
    server: u16,
}

fn word(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"))
}

impl Packets {
    fn read(file: Vec<u8>) -> Packets {
        let (mut blocks, mut at) = (Vec::new(), 0);
        while at + 12 <= file.len() {
            let length = word(&file, at + 4) as usize;
            blocks.push(file[at..at + length].to_vec());
            at += length;
        }
        let mut packets = Packets { blocks, server: 0 };
        // The port that most packets have at one end.
        let mut ports: BTreeMap<u16, usize> = BTreeMap::new();
        packets.each(|packet| packet.ports().iter().for_each(|port| *ports.entry(*port).or_default() += 1));
        packets.server = ports.into_iter().max_by_key(|(_, count)| *count).map_or(0, |(port, _)| port);
        packets
    }

    fn bytes(&self) -> Vec<u8> {
        self.blocks.concat()
    }

    fn packets(&mut self) -> impl Iterator<Item = Packet<'_>> {
        let server = self.server;
        let blocks = self.blocks.iter_mut().filter(|block| word(block, 0) == ENHANCED);
        blocks.map(move |block| Packet { block, server })
    }

    fn each(&mut self, change: impl FnMut(Packet<'_>)) {
        self.packets().for_each(change);
    }

    fn count(&mut self, is: impl Fn(&Packet<'_>) -> bool) -> usize {
        self.packets().filter(|packet| is(packet)).count()
    }

    fn retain(&mut self, mut keeps: impl FnMut(&Packet<'_>) -> bool) {
        let server = self.server;
        self.blocks.retain_mut(|block| word(block, 0) != ENHANCED || keeps(&Packet { block, server }));
    }

    fn first(&mut self) -> u64 {
        self.packets().map(|packet| packet.at_ns()).min().unwrap_or(0)
    }

    /// The instant in the middle between the first packet and the last.
    fn middle(&mut self) -> u64 {
        let (first, last) = (self.first(), self.packets().map(|packet| packet.at_ns()).max().unwrap_or(0));
        first + (last - first) / 2
    }
}

impl Packet<'_> {
    fn at_ns(&self) -> u64 {
        u64::from(word(self.block, 12)) << 32 | u64::from(word(self.block, 16))
    }

    fn moved(self, by: i64) {
        let at = self.at_ns().wrapping_add_signed(by);
        self.block[12..16].copy_from_slice(&((at >> 32) as u32).to_le_bytes());
        self.block[16..20].copy_from_slice(&(at as u32).to_le_bytes());
    }

    /// Offset at which IPv4 begins: behind a header of Ethernet, if there is one.
    fn network(&self) -> usize {
        if self.block[HEADER] >> 4 == 4 { HEADER } else { HEADER + 14 }
    }

    fn transport(&self) -> usize {
        let network = self.network();
        network + usize::from(self.block[network] & 15) * 4
    }

    /// Source and destination port.
    fn ports(&self) -> [u16; 2] {
        let at = self.transport();
        [0, 2].map(|port| u16::from_be_bytes([self.block[at + port], self.block[at + port + 1]]))
    }

    fn is_clients(&self) -> bool {
        self.ports()[0] != self.server
    }

    /// A number that all packets of a client's connection have: its port and the last byte of its address.
    fn client(&self) -> u32 {
        let ([from, to], network) = (self.ports(), self.network());
        let (port, byte) = if self.is_clients() { (from, network + 15) } else { (to, network + 19) };
        u32::from(port) + u32::from(self.block[byte])
    }

    fn payload(&self) -> usize {
        let at = self.transport();
        at + usize::from(self.block[at + 12] >> 4) * 4
    }

    fn payload_starts(&self, with: &[u8]) -> bool {
        self.block.get(self.payload()..).is_some_and(|rest| rest.starts_with(with))
    }

    /// The sum of TCP's checksum, 0xFFFF where it is right; `None` of a packet that was not captured whole.
    fn sum(&self) -> Option<u16> {
        let (captured, whole) = (word(self.block, 20), word(self.block, 24));
        if captured != whole {
            return None;
        }
        let (network, transport) = (self.network(), self.transport());
        let total = usize::from(u16::from_be_bytes([self.block[network + 2], self.block[network + 3]]));
        let segment = &self.block[transport..network + total];
        let words = |bytes: &[u8]| -> u64 {
            let word = |two: &[u8]| u64::from(two[0]) << 8 | u64::from(*two.get(1).unwrap_or(&0));
            bytes.chunks(2).map(word).sum()
        };
        let addresses = words(&self.block[network + 12..network + 20]);
        let mut sum = addresses + 6 + segment.len() as u64 + words(segment);
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        Some(sum as u16)
    }

    /// Sets another status of the same length, with the checksum that is right then, unless the kernel left
    /// that to an interface.
    fn set_status(self, status: &[u8; 3]) {
        let (payload, transport) = (self.payload(), self.transport());
        let was_right = self.sum() == Some(0xFFFF);
        self.block[payload + 9..payload + 12].copy_from_slice(status);
        if was_right {
            self.block[transport + 16..transport + 18].fill(0);
            let sum = self.sum().expect("it was captured whole");
            self.block[transport + 16..transport + 18].copy_from_slice(&(!sum).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_45_of_all_places_under_names_of_their_own() {
        let errors = errors();
        assert_eq!(errors.len(), 45);
        let names: BTreeSet<&str> = errors.iter().map(|error| error.what).collect();
        assert_eq!(names.len(), errors.len());
        for place in Planted::ALL {
            assert!(errors.iter().filter(|error| error.place == place).count() >= 4, "{}", place.name());
        }
    }
}
