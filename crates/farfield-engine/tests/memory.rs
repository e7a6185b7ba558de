//! Memory of what a run measures, in virtual time: what is kept of each second is bounded, so that an hour
//! and a day take little more than a minute.

use farfield_base::{Bytes, Duration, Instant, Outcome, Window};
use farfield_measure::monitor::{self, MonitorLog, SeriesId, SeriesName, SeriesSource};
use farfield_measure::samples::{Keep, RunLabel, SampleFile, SamplesWriter};
use farfield_measure::{EngineStats, Fold, hlog, series};
use farfield_os::allocator::allocated_bytes;
use farfield_testkit::samples::request;

/// Numbers that monitors read in a second: of a machine, a server of four processes and the generator.
const NUMBERS: u32 = 150;
/// Requests in a second.
const REQUESTS: u64 = 4;
const MIB: u64 = 1 << 20;

/// A file that keeps nothing.
struct Nowhere;

impl SampleFile for Nowhere {
    fn write_at(&mut self, _: u64, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, _: u64) -> std::io::Result<()> {
        Ok(())
    }
}

/// All that a run measures of its seconds.
struct Measured {
    fold: Fold,
    stats: EngineStats,
    log: MonitorLog,
    series: Vec<SeriesId>,
    samples: SamplesWriter<Nowhere>,
}

impl Measured {
    fn new() -> Measured {
        let window = Window { measure_from: at(0), measure_to: at(u64::from(u32::MAX)) };
        let mut log = MonitorLog::default();
        let name = |number: u32| SeriesName {
            source: SeriesSource::Process,
            tier: "server".to_owned(),
            name: "nginx".to_owned(),
            pid: Some(number / 10),
            metric: format!("metric_{}", number % 10),
        };
        let series = (0..NUMBERS).map(|number| log.series(name(number)).expect("a series")).collect();
        let label = RunLabel { scenario: "an hour".to_owned(), seed: 1 };
        let samples = SamplesWriter::create(Nowhere, label, Keep::All, Some(Bytes(u64::MAX)));
        let samples = samples.expect("nothing refuses");
        Measured { fold: Fold::new(window), stats: EngineStats::default(), log, series, samples }
    }

    /// A second in which some requests end, and a third of the monitored numbers change.
    fn second(&mut self, second: u64) {
        for number in 0..REQUESTS {
            let due = Instant::from_ns(second * 1_000_000_000 + number * 250_000_000);
            let took = Duration::from_us(300 + (second * 7 + number * 131) % 5_000);
            let sample = request(due, due + took, Outcome::Ok);
            self.fold.record(&sample);
            self.samples.write(&[sample]).expect("nothing refuses");
        }
        self.fold.settle();
        self.log.begin(second, at(second + 1));
        for (number, id) in (0..).zip(&self.series) {
            let value = if number % 3 == 0 { 1.0 / (second * 31 + number + 1) as f64 } else { number as f64 };
            self.log.put(*id, value);
        }
        self.log.end();
        self.stats.connections_open.push(second % 7);
    }

    /// Encodes the files as they are encoded while a run goes on, and returns what is allocated with them.
    fn allocated(&mut self, second: u64) -> u64 {
        self.samples.checkpoint().expect("nothing refuses");
        let (mut rows, mut monitors) = (Vec::new(), Vec::new());
        let copied = self.fold.series().copy(&self.stats.connections_open, &|| {});
        let lines = hlog::snapshot(&self.fold, &self.stats, at(second), &|| {});
        series::write_parquet(copied.iter(), &mut rows).expect("memory takes all");
        monitor::write_parquet(&self.log.snapshot(), &mut monitors).expect("memory takes all");
        let allocated = allocated_bytes().expect("glibc's allocator");
        drop((copied, lines, rows, monitors));
        allocated
    }
}

fn at(second: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(second)
}

/// The most that this process has had in memory.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has its numbers");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// The only test of this program, which counts what the whole process allocates.
#[test]
#[cfg(target_env = "gnu")]
fn what_is_kept_of_each_second_is_bounded() {
    let mut measured = Measured::new();
    let mut second = 0;
    let mut sizes = [60, 3_600, 100_000].map(|until| {
        (second..until).for_each(|second| measured.second(second));
        second = until;
        (measured.allocated(until), peak())
    });
    let (minute, minute_peak) = sizes[0];
    sizes.iter_mut().for_each(|size| *size = (size.0.saturating_sub(minute), size.1 - minute_peak));
    eprintln!("beyond the first minute: {sizes:?}");
    let [_, hour, day] = sizes;
    assert!(hour.0 <= 12 * MIB && hour.1 <= 20 * MIB, "{hour:?} after an hour");
    assert!(day.0 <= 40 * MIB && day.1 <= 64 * MIB, "{day:?} after a day");
}
