//! `farfield shell` between a real client and a real server: one stream, small round trips, and packets.
//!
//! The ceiling beside it is the least that can stand between two TUN devices: a thread that copies packets
//! (`crates/farfield-engine/examples/bare_path.rs`, which is also what both are loaded with). They run in
//! turn.

use super::goal;
use super::lab::{Lab, Ran};
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::process;

/// The path's time there and back.
const ROUND_TRIP_US: f64 = 1_000.0;
/// Messages there and back in a run.
const MESSAGES: u32 = 5_000;

/// Traffic that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Stream,
    Echo,
    /// Datagrams of one socket.
    Packets,
    /// Datagrams of 64 sockets in turn.
    Flows,
}

/// Path between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    Shell,
    Bare,
}

/// The figures of one load, run by run.
#[derive(Debug, Default)]
struct Runs {
    shell: Vec<f64>,
    bare: Vec<f64>,
    /// Packets that a second of the forwarding thread's processor time passes on.
    shell_per_cpu: Vec<f64>,
    bare_per_cpu: Vec<f64>,
}

/// Streams, round trips and packets through a path that only takes time.
pub fn between_kernels(lab: &Lab) -> Result<String> {
    let bare = build()?;
    let loads = [Load::Stream, Load::Echo, Load::Packets, Load::Flows];
    let [stream, echo, packets, flows] = loads.map(|load| -> Result<Runs> {
        let mut runs = Runs::default();
        for turn in 0..lab.extent.pairs {
            let mut order = [Between::Shell, Between::Bare];
            if turn % 2 == 1 {
                order.reverse();
            }
            for between in order {
                runs.add(between, &run(lab, &bare, load, between)?, lab)?;
            }
        }
        Ok(runs)
    });
    Ok(text(&stream?, &echo?, &packets?, &flows?))
}

fn text(stream: &Runs, echo: &Runs, packets: &Runs, flows: &Runs) -> String {
    let mut table = Table::new(&["1 ms there and back, no rate", "farfield shell", "bare copy", "ratio"]);
    let mut row = |words: &str, ours: &[f64], theirs: &[f64], scale: f64, digits: usize| {
        let [one, other] = [ours, theirs].map(|runs| Spread::of(runs.iter().map(|figure| figure / scale)));
        table.row([
            words.to_owned(),
            format!("{one:.digits$}"),
            format!("{other:.digits$}"),
            Spread::of_ratios(ours, theirs).to_string(),
        ]);
    };
    row("one TCP stream, Gb/s", &stream.shell, &stream.bare, 1e9, 2);
    row("64 B there and back, median, µs", &echo.shell, &echo.bare, 1e3, 0);
    for (of, runs) in [("one socket", packets), ("64 sockets in turn", flows)] {
        row(&format!("64 B datagrams of {of} that arrive, 1,000/s"), &runs.shell, &runs.bare, 1e3, 0);
        let words = format!("those of {of}, passed on in a second of the thread's time, 1,000");
        row(&words, &runs.shell_per_cpu, &runs.bare_per_cpu, 1e3, 0);
    }
    let rate = Spread::of(stream.shell.iter().map(|bits| bits / 1e9));
    let added = Spread::of(echo.shell.iter().map(|ns| ns / 1e3 - ROUND_TRIP_US));
    let packets_goal = |of: &str, runs: &Runs| {
        let per_core = Spread::of(runs.shell_per_cpu.iter().map(|packets| packets / 1e3));
        goal(
            &format!("300,000 packets a second on one processor, of {of}"),
            &format!("{per_core:.0} thousand"),
            per_core.median >= 300.0,
        )
    };
    let goals = [
        goal("one stream at 5 Gb/s or more", &format!("{rate:.2} Gb/s"), rate.median >= 5.0),
        goal("64 B there and back at most 60 µs above 1 ms", &format!("{added:.0} µs"), added.median <= 60.0),
        packets_goal("one socket", packets),
        packets_goal("64 sockets in turn", flows),
    ];
    format!("{}\n{}", table.to_markdown(), goals.concat())
}

fn run(lab: &Lab, bare: &Path, load: Load, between: Between) -> Result<Ran> {
    let (program, address) = match between {
        Between::Shell => (lab.farfield(), "shell"),
        Between::Bare => (bare, "192.0.2.1:80"),
    };
    let bare = bare.to_str().context("a path of UTF-8")?;
    let (server, seconds) = (format!("{bare} serve"), lab.extent.seconds.to_string());
    let mut command = Command::new(program);
    match between {
        Between::Shell => command.args(["shell", "--rtt", "1ms", "--server", &server, "--"]),
        Between::Bare => command.args(["forward", &server, "--"]),
    };
    let messages = MESSAGES.to_string();
    command.arg(bare).args(match load {
        Load::Stream => ["stream", address, &seconds],
        Load::Echo => ["echo", address, &messages],
        Load::Packets => ["packets", address, &seconds],
        Load::Flows => ["flows", address, &seconds],
    });
    lab.measure_anywhere(&command, lab.extent.seconds)
}

impl Runs {
    fn add(&mut self, between: Between, ran: &Ran, lab: &Lab) -> Result<()> {
        let figure: f64 =
            ran.output.trim().parse().with_context(|| format!("no number in {:?}", ran.output))?;
        let said = fs::read_to_string(lab.scratch().join("errors"))?;
        let per_cpu = per_cpu(&said).with_context(|| format!("no packets in {said:?}"))?;
        let (figures, per_cpus) = match between {
            Between::Shell => (&mut self.shell, &mut self.shell_per_cpu),
            Between::Bare => (&mut self.bare, &mut self.bare_per_cpu),
        };
        figures.push(figure);
        per_cpus.push(per_cpu);
        Ok(())
    }
}

/// Packets that a second of processor time passes on, as either program says on standard error: `farfield:
/// 19 packets up and 6 down in 1.20ms of processor time`, or `bare_path: 25 packets in 1200000 ns`.
pub(super) fn per_cpu(said: &str) -> Option<f64> {
    if let Some(line) = said.lines().find_map(|line| line.strip_prefix("bare_path: ")) {
        let (packets, nanoseconds) = line.strip_suffix(" ns")?.split_once(" packets in ")?;
        return Some(packets.parse::<f64>().ok()? * 1e9 / nanoseconds.parse::<f64>().ok()?);
    }
    let line = said.lines().find(|line| line.contains(" of processor time"))?;
    let (counts, time) = line.strip_prefix("farfield: ")?.split_once(" down in ")?;
    let (up, down) = counts.split_once(" packets up and ")?;
    let (time, _) = time.split_once(" of processor time")?;
    Some((number(up)? + number(down)?) / seconds(time)?)
}

/// A number in groups of three, or as it is.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// A time as farfield prints it.
fn seconds(text: &str) -> Option<f64> {
    [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]
        .into_iter()
        .find_map(|(unit, scale)| Some(number(text.strip_suffix(unit)?)? * scale))
}

/// Builds the program that loads both, and is the ceiling.
pub(super) fn build() -> Result<PathBuf> {
    let example = ["--package", "farfield-engine", "--example", "bare_path"];
    process::run(process::cargo().args(["build", "--profile", process::SHIPPED]).args(example))?;
    Ok(process::builds()?.join(process::SHIPPED).join("examples/bare_path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_say_what_their_thread_did() {
        let bare = "bare_path: 2500 packets in 5000000 ns\n";
        assert_eq!(per_cpu(bare), Some(500_000.0));
        let shell = "farfield: this is 198.18.0.1\nfarfield: 2000 packets up and 1000 down in 6.00ms of processor time; 3 lost\n";
        assert_eq!(per_cpu(shell).map(f64::round), Some(500_000.0));
        assert_eq!(per_cpu("farfield: on time\n"), None);
        assert_eq!(seconds("1,200s"), Some(1_200.0));
    }

    #[test]
    fn goals_are_those_of_the_issue() {
        let runs = |shell: f64| Runs {
            shell: vec![shell],
            bare: vec![shell],
            shell_per_cpu: vec![400_000.0],
            bare_per_cpu: vec![500_000.0],
        };
        let good = text(&runs(6e9), &runs(1_050_000.0), &runs(1e5), &runs(1e5));
        assert_eq!(good.matches(", met").count(), 4, "{good}");
        let bad = text(&runs(4e9), &runs(1_070_000.0), &runs(1e5), &runs(1e5));
        assert_eq!(bad.matches(", missed").count(), 2, "{bad}");
    }
}
