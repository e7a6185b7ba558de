//! Memory over an hour: small and moderate loads on all planes, drawn over time.
//!
//! Those that keep real time run at the same time. The machine is shared by all of them, and may be by other
//! work: what is measured is memory, which does not depend on whether a run is on time. Those of virtual time
//! run one after the other, and their hour is a virtual one.

use super::generator::farfield::{self, Summary};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::process;

/// The pictures beside the page.
const PICTURE: Picture = Picture {
    path: "docs/pictures/memory.svg",
    title: "Resident memory of seven runs over an hour",
    of: "minutes",
};
const PICTURE_OF_VIRTUAL_TIME: Picture = Picture {
    path: "docs/pictures/memory-simulated.svg",
    title: "Resident memory of three simulations over a virtual hour",
    of: "virtual minutes",
};
/// Time between two readings, and where a virtual hour passes within seconds.
const EVERY: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_millis(10);
/// The hour.
const HOUR_S: u32 = 3_600;
/// Seconds of a run after which its memory is compared with that of its end.
const BEGUN_S: f64 = 60.0;
/// The memory that a run may take beyond that, in MiB.
const GROWTH_MIB_MAX: f64 = 16.0;
/// Seconds that a simulation may take.
const PATIENCE_S: u32 = 1_800;

/// Target of a load.
#[derive(Debug, Clone, Copy)]
enum Target {
    Nginx,
    /// farfield's own server, over TLS.
    Secured,
    /// farfield's own server, behind emulated paths.
    Emulated,
}

/// The loads that run side by side: names, targets and flags. Real-time shards would take the processors from
/// others.
const LOADS: [(&str, Target, &str); 7] = [
    ("sockets, 4 users thinking 100 ms", Target::Nginx, "-c 4 --think 100ms"),
    ("sockets, open, 800/s", Target::Nginx, "-R 800"),
    ("sockets, TLS, open, 200/s", Target::Secured, "-R 200 -k --http 1.1"),
    ("sockets, HTTP/2 over TLS, open, 200/s", Target::Secured, "-R 200 -k --http 2"),
    ("sockets, HTTP/3, open, 100/s", Target::Secured, "-R 100 -k --http 3"),
    ("emulated, 4 users thinking 100 ms", Target::Emulated, "-c 4 --think 100ms"),
    ("emulated, open, 300/s", Target::Emulated, "-R 300"),
];
/// The simulations of an hour: as small as the smallest load of real time, as many requests as on sockets,
/// and as on the emulated plane, where an arrival is a page.
const SIMULATED: [(&str, &str); 3] = [
    ("simulated, 4 users thinking 100 ms", "-c 4 --think 100ms"),
    ("simulated, open, 800/s", "-R 800"),
    ("simulated, open, 2,000/s", "-R 2000"),
];
const EMULATED: [&str; 6] = ["--plane", "emulated", "--rtt", "20ms", "--set", "network.real-time=false"];

/// Virtual seconds of the simulations.
const SIMULATED_S: [u32; 3] = [60, 3_600, 1_000_000];
/// The memory that the longest of them may take beyond the shortest, in MiB.
const SIMULATED_MIB_MAX: f64 = 64.0;

/// A picture of memory over time: where it is kept, what it shows, and of what time.
#[derive(Debug, Clone, Copy)]
struct Picture {
    path: &'static str,
    title: &'static str,
    of: &'static str,
}

/// A run whose memory is read.
struct Watched {
    name: &'static str,
    child: Child,
    /// Seconds since its start, and resident memory in MiB.
    readings: Vec<(f64, f64)>,
}

/// An hour of each load.
pub fn an_hour(lab: &Lab) -> Result<String> {
    let seconds = if lab.extent.quick { 90 } else { HOUR_S };
    let nginx = lab.nginx_anywhere()?;
    let secured = lab.origin_anywhere(&["--tls"])?;
    let mut runs = Vec::new();
    for (number, (name, target, flags)) in LOADS.into_iter().enumerate() {
        let mut command = Command::new(lab.farfield());
        let directory = lab.scratch().join(format!("hour-{number}"));
        command.args(["run", "-q", "-d", &format!("{seconds}s"), "--out"]).arg(directory);
        match target {
            Target::Nginx => command.arg(nginx.url("/1k")),
            Target::Secured => command.arg(secured.url("/bytes/1kB")),
            Target::Emulated => command.args(EMULATED),
        };
        command.args(flags.split_whitespace());
        eprintln!("  {}", process::words(&command));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        runs.push(Watched { name, child: child.context("cannot start farfield")?, readings: Vec::new() });
    }
    watch(&mut runs, EVERY, |_| ())?;
    let mut table = Table::new(&["load", "MiB after 60 s", "half-way", "at the end", "growth", "most"]);
    let mut worst = 0.0_f64;
    for run in &runs {
        let all = run.readings.iter().map(|(_, mib)| *mib);
        let cells = [run.at(BEGUN_S)?, run.at(f64::from(seconds) / 2.0)?, run.at(f64::from(seconds))?];
        let growth = cells[2] - cells[0];
        worst = worst.max(growth);
        let numbers = cells.into_iter().map(|mib| format!("{mib:.1}"));
        let rest = [format!("{growth:+.1}"), format!("{:.1}", all.fold(0.0, f64::max))];
        table.row([run.name.to_owned()].into_iter().chain(numbers).chain(rest));
    }
    if !lab.extent.quick {
        fs::write(PICTURE.path, drawn(&runs, PICTURE))
            .with_context(|| format!("cannot write {}", PICTURE.path))?;
    }
    let bound = "an hour takes at most 16 MiB more than its first minute";
    let met = goal(bound, &format!("{worst:+.1} MiB"), worst <= GROWTH_MIB_MAX);
    Ok(format!("{}\n{met}", table.to_markdown()))
}

/// An hour of virtual time of each load, one after the other. Such an hour may pass within a second: what it
/// takes is compared with what a run of a minute takes, not with that of its own first minute.
pub fn a_virtual_hour(lab: &Lab) -> Result<String> {
    let hour_s = if lab.extent.quick { 120 } else { HOUR_S };
    let mut table = Table::new(&["load", "a minute, most MiB", "an hour, most MiB", "growth"]);
    let (mut runs, mut worst) = (Vec::new(), 0.0_f64);
    for (number, (name, flags)) in SIMULATED.into_iter().enumerate() {
        let command = |seconds: u32, out: &str| {
            let mut command = Command::new(lab.farfield());
            command.args(["run", "-q", "--plane", "simulated", "--rtt", "20ms", "--warm-up", "0s"]);
            command.args(["-d", &format!("{seconds}s")]).args(flags.split_whitespace());
            command.arg("--out").arg(lab.scratch().join(out));
            command
        };
        let most = |seconds| {
            let command = command(seconds, farfield::DIRECTORY);
            Ok::<_, anyhow::Error>(lab.measure_anywhere(&command, PATIENCE_S)?.usage.peak_mib())
        };
        let [minute, hour] = [most(60)?, most(hour_s)?];
        worst = worst.max(hour - minute);
        let cells = [format!("{minute:.1}"), format!("{hour:.1}"), format!("{:+.1}", hour - minute)];
        table.row([name.to_owned()].into_iter().chain(cells));
        let watched = format!("watched-{number}");
        runs.push(watch_virtual(name, command(hour_s, &watched), &lab.scratch().join(&watched))?);
    }
    if !lab.extent.quick {
        let picture = PICTURE_OF_VIRTUAL_TIME;
        let svg = drawn(&runs, picture);
        fs::write(picture.path, svg).with_context(|| format!("cannot write {}", picture.path))?;
    }
    let bound = "a virtual hour takes at most 16 MiB more than a virtual minute";
    let met = goal(bound, &format!("{worst:+.1} MiB"), worst <= GROWTH_MIB_MAX);
    Ok(format!("{}\n{met}", table.to_markdown()))
}

/// The memory of a simulation that writes into `directory`, over its virtual time.
fn watch_virtual(name: &'static str, mut command: Command, directory: &Path) -> Result<Watched> {
    eprintln!("  {}", process::words(&command));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.context("cannot start farfield")?;
    let mut run = [Watched { name, child, readings: Vec::new() }];
    // Pairs of clock and virtual seconds, by the results that were written last; at a steady pace between
    // them.
    let mut passed = vec![(0.0, 0.0)];
    watch(&mut run, SOON, |elapsed_s| {
        let is_later = |now: &f64| passed.last().is_none_or(|(_, last)| now > last);
        let now = virtual_s_of(directory).filter(is_later);
        passed.extend(now.map(|now| (elapsed_s, now)));
    })?;
    let [mut run] = run;
    run.readings = in_virtual_time(&run.readings, &passed);
    Ok(run)
}

/// The virtual seconds that a run's results are of.
fn virtual_s_of(directory: &Path) -> Option<f64> {
    let text = fs::read_to_string(directory.join("summary.json")).ok()?;
    let summary: serde_json::Value = serde_json::from_str(&text).ok()?;
    summary["phases"]["steady_ns"].as_f64().map(|ns| ns / 1e9)
}

/// Readings with the virtual time of each in place of the clock's, which are known together at `passed`.
fn in_virtual_time(readings: &[(f64, f64)], passed: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let at = |clock: f64| {
        let pair = passed.windows(2).find(|pair| clock <= pair[1].0)?;
        let ((from, from_s), (to, to_s)) = (pair[0], pair[1]);
        (to > from).then(|| from_s + (clock - from) / (to - from) * (to_s - from_s))
    };
    readings.iter().filter_map(|(clock, mib)| Some((at(*clock)?, *mib))).collect()
}

/// Simulations of a minute, an hour and a million seconds, with a request a second.
pub fn virtual_seconds(lab: &Lab) -> Result<String> {
    let mut table = Table::new(&["virtual seconds", "requests", "processor time, s", "most, MiB"]);
    let mut peaks = Vec::new();
    for seconds in SIMULATED_S {
        let seconds = if lab.extent.quick { seconds.min(10_000) } else { seconds };
        let mut command = Command::new(lab.farfield());
        command.args(["run", "--plane", "simulated", "-R", "1", "--quiet", "--format", "json"]);
        command
            .arg("-d")
            .arg(format!("{seconds}s"))
            .arg("--out")
            .arg(lab.scratch().join(farfield::DIRECTORY));
        let ran = lab.measure_anywhere(&command, PATIENCE_S)?;
        let requests = Summary::parse(&ran.output)?.outcomes(|_| true);
        let cpu_s = ran.usage.cpu_us() as f64 / 1e6;
        table.row([
            seconds.to_string(),
            requests.to_string(),
            format!("{cpu_s:.1}"),
            format!("{:.1}", ran.usage.peak_mib()),
        ]);
        peaks.push(ran.usage.peak_mib());
    }
    let growth = peaks[2] - peaks[0];
    let bound = "a million virtual seconds take at most 64 MiB more than sixty";
    let met = goal(bound, &format!("{growth:+.1} MiB"), growth <= SIMULATED_MIB_MAX);
    Ok(format!("{}\n{met}", table.to_markdown()))
}

impl Watched {
    /// Its memory at the last reading up to `seconds` after its start.
    fn at(&self, seconds: f64) -> Result<f64> {
        let before = self.readings.iter().rev().find(|(at, _)| *at <= seconds);
        before.map(|(_, mib)| *mib).with_context(|| format!("{} ended before it was read", self.name))
    }
}

/// Reads the memory of all runs `every` so often until each has ended, and calls `look` as often with the
/// seconds since the start.
#[expect(clippy::disallowed_methods, reason = "readings are some time of the clock apart")]
fn watch(runs: &mut [Watched], every: Duration, mut look: impl FnMut(f64)) -> Result<()> {
    let begun = Instant::now();
    loop {
        let mut live = 0;
        for run in runs.iter_mut() {
            if run.child.try_wait()?.is_none() {
                live += 1;
                let mib = resident_mib(run.child.id());
                run.readings.extend(mib.map(|mib| (begun.elapsed().as_secs_f64(), mib)));
            }
        }
        if live == 0 {
            return Ok(());
        }
        look(begun.elapsed().as_secs_f64());
        std::thread::sleep(every);
    }
}

/// Resident memory of a process, proc_pid_status(5).
fn resident_mib(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// Width and height of the picture, and the margins of its plot: left, top, right, bottom.
const SIZE: (f64, f64) = (720.0, 400.0);
const MARGINS: [f64; 4] = [48.0, 80.0, 16.0, 40.0];
/// Colours of the loads, which differ in brightness too.
const INKS: [&str; 7] = ["#1b4f9c", "#c2571a", "#2a9d6f", "#8e7cc3", "#8a5a00", "#c0398b", "#4d4d4d"];

/// The memory of all runs over time.
fn drawn(runs: &[Watched], picture: Picture) -> String {
    let readings = || runs.iter().flat_map(|run| &run.readings);
    let last_s = readings().map(|(at, _)| *at).fold(1.0, f64::max);
    let most_mib = (readings().map(|(_, mib)| *mib).fold(1.0, f64::max) / 10.0).ceil() * 10.0;
    let [left, top, right, bottom] = MARGINS;
    let x = |seconds: f64| left + seconds / last_s * (SIZE.0 - left - right);
    let y = |mib: f64| SIZE.1 - bottom - mib / most_mib * (SIZE.1 - top - bottom);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" \
         aria-label=\"{2}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <g font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n",
        SIZE.0, SIZE.1, picture.title
    );
    for step in 0..=5 {
        let mib = most_mib / 5.0 * f64::from(step);
        let (from, to, at) = (left, SIZE.0 - right, y(mib));
        svg += &format!("<path d=\"M{from} {at:.1}H{to}\" stroke=\"#ddd\"/>\n");
        svg += &format!(
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{mib:.0}</text>\n",
            left - 6.0,
            at + 4.0
        );
    }
    for step in 0..=6 {
        let seconds = last_s / 6.0 * f64::from(step);
        let (at, under) = (x(seconds), SIZE.1 - bottom + 18.0);
        svg += &format!(
            "<text x=\"{at:.1}\" y=\"{under:.0}\" text-anchor=\"middle\">{:.0}</text>\n",
            seconds / 60.0
        );
    }
    svg += &format!(
        "<text x=\"8\" y=\"{:.0}\">resident memory, MiB, over {}</text>\n",
        SIZE.1 - 6.0,
        picture.of
    );
    for (place, (run, ink)) in runs.iter().zip(INKS).enumerate() {
        let points: Vec<String> =
            run.readings.iter().map(|(at, mib)| format!("{:.1},{:.1}", x(*at), y(*mib))).collect();
        svg += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.5\"/>\n",
            points.join(" ")
        );
        let (column, row) = (left + (place % 2) as f64 * 300.0, 14.0 + (place / 2) as f64 * 16.0);
        svg += &format!("<text x=\"{column}\" y=\"{row}\" fill=\"{ink}\">{}</text>\n", run.name);
    }
    svg + "</g>\n</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_and_drawn() {
        let child = Command::new("true").spawn().unwrap();
        let mine = resident_mib(std::process::id()).unwrap();
        assert!(mine > 0.1 && resident_mib(u32::MAX).is_none());
        let mut run =
            Watched { name: "a load", child, readings: vec![(0.0, 10.0), (60.0, 20.0), (3600.0, 25.0)] };
        assert_eq!(
            [run.at(59.0).unwrap(), run.at(3599.0).unwrap(), run.at(4000.0).unwrap()],
            [10.0, 20.0, 25.0]
        );
        let svg = drawn(std::slice::from_ref(&run), PICTURE);
        assert!(
            svg.contains(">a load</text>") && svg.contains(">60</text>") && svg.contains(">30</text>"),
            "{svg}"
        );
        // Ten MiB of thirty, at the left edge; twenty-five at the right one.
        assert!(svg.contains("48.0,266.7") && svg.contains("704.0,126.7"), "{svg}");
        run.child.wait().unwrap();
        run.readings.clear();
        assert!(run.at(60.0).is_err());
    }

    #[test]
    fn readings_have_the_virtual_time_between_two_results() {
        let readings = [(0.0, 1.0), (0.5, 2.0), (1.0, 3.0), (3.0, 4.0), (9.0, 5.0)];
        let passed = [(0.0, 0.0), (1.0, 100.0), (5.0, 500.0)];
        let expected = [(0.0, 1.0), (50.0, 2.0), (100.0, 3.0), (300.0, 4.0)];
        assert_eq!(in_virtual_time(&readings, &passed), expected);
    }
}
