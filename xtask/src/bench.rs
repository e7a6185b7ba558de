//! `cargo xtask bench`: farfield beside the generators that people know, on one machine and in one run.
//!
//! The server has one processor and the generator another. Generators run in turn, and what counts is their
//! ratio in each turn: its median survives a machine that is busy with other things, absolute figures do not.

mod awake;
mod before_after;
mod beside_loops;
mod capacity;
mod capture;
mod closed;
mod compare_errors;
mod far;
mod far_overload;
mod far_valid;
mod first_commands;
mod first_requests;
mod fits;
mod floods;
mod generator;
mod handshakes;
mod host;
mod lab;
mod loops;
mod machine;
mod memory;
mod memory_hour;
mod open;
mod overload;
mod page;
mod peers;
mod report;
mod route;
mod server;
mod shards;
mod shell;
mod shell_users;
mod simulated;
mod spread;
mod sweeps;
mod verify_planted;
mod watched;

use anyhow::{Result, bail};
use awake::Awake;
use clap::Args;
use generator::Generator;
use generator::ab::Ab;
use generator::bombardier::Bombardier;
use generator::h2load::H2load;
use generator::oha::Oha;
use generator::vegeta::Vegeta;
use generator::wrk::Wrk;
use lab::{Extent, Lab};
use std::fmt::Display;
use std::path::PathBuf;
use xtask::{process, system};

/// Measures farfield beside other load generators, and keeps the tables in docs/lab/.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Benches to run; all if none is named.
    #[arg(value_parser = BENCHES.iter().map(|bench| bench.name).collect::<Vec<_>>())]
    names: Vec<String>,
    /// Short runs, to see that all works; their figures are not kept.
    #[arg(long)]
    quick: bool,
    /// Lets the run whose memory must not grow last ten minutes.
    #[arg(long)]
    long: bool,
    /// Turns of each generator.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Keeps the processors of a virtual machine awake by a program at idle priority on each, where the host
    /// takes those that sleep.
    #[arg(long)]
    keep_awake: bool,
    /// The program of an earlier farfield, for the bench `before-after`.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Measures this farfield, instead of one that is built as users have it.
    #[arg(long, value_name = "PROGRAM")]
    farfield: Option<PathBuf>,
    /// Installs generators that Debian does not have (oha, vegeta, bombardier) into the build folder.
    #[arg(long)]
    install_peers: bool,
}

/// A bench: its place on the page, and how it gets its text.
pub struct Bench {
    /// Its name on the command line and in the page's marks.
    pub name: &'static str,
    run: fn(&Lab) -> Result<String>,
    /// The programs measured beside farfield.
    beside: Beside,
}

/// The programs beside farfield in a bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// nginx on a processor of its own, and other generators in turn.
    Servers,
    /// nginx on the same processors as farfield; the bench itself says how long runs are.
    Sharing,
    /// Nothing: a simulation has the machine to itself.
    Nothing,
}

/// All there are, in the order of the page.
pub const BENCHES: &[Bench] = &[
    Bench { name: "first-commands", run: first_commands::validity, beside: Beside::Sharing },
    Bench { name: "first-requests", run: first_requests::beside_loops, beside: Beside::Sharing },
    Bench { name: "before-after", run: before_after::in_turn, beside: Beside::Sharing },
    Bench { name: "keep-alive", run: closed::keep_alive, beside: Beside::Servers },
    Bench { name: "one-request", run: closed::one_request, beside: Beside::Servers },
    Bench { name: "tls-keep-alive", run: closed::tls_keep_alive, beside: Beside::Servers },
    Bench { name: "http2", run: closed::http2, beside: Beside::Servers },
    Bench { name: "http3", run: closed::http3, beside: Beside::Servers },
    Bench { name: "tls-handshakes", run: handshakes::a_second, beside: Beside::Servers },
    Bench { name: "open-loop", run: open::half_of_capacity, beside: Beside::Servers },
    Bench { name: "capture", run: capture::with_and_without, beside: Beside::Sharing },
    Bench { name: "watched", run: watched::in_turn, beside: Beside::Sharing },
    Bench { name: "overload", run: overload::attempts, beside: Beside::Servers },
    Bench { name: "beside-loops", run: beside_loops::connections, beside: Beside::Sharing },
    Bench { name: "far", run: far::against_wrk, beside: Beside::Servers },
    Bench { name: "far-valid", run: far_valid::largest, beside: Beside::Sharing },
    Bench { name: "far-overload", run: far_overload::past_capacity, beside: Beside::Sharing },
    Bench { name: "far-backbone", run: far::backbone, beside: Beside::Servers },
    Bench { name: "far-throughput", run: far::throughput, beside: Beside::Servers },
    Bench { name: "far-shards", run: shards::one_and_two, beside: Beside::Sharing },
    Bench { name: "simulated", run: simulated::far_away, beside: Beside::Nothing },
    Bench { name: "simulated-backbone", run: simulated::backbone, beside: Beside::Nothing },
    Bench { name: "simulated-shards", run: simulated::shards, beside: Beside::Nothing },
    Bench { name: "shell", run: shell::between_kernels, beside: Beside::Sharing },
    Bench { name: "shell-users", run: shell_users::beside_wrk, beside: Beside::Sharing },
    Bench { name: "route", run: route::between_machines, beside: Beside::Sharing },
    Bench { name: "users-memory", run: memory::users, beside: Beside::Servers },
    Bench { name: "tls-memory", run: memory::secure_users, beside: Beside::Servers },
    Bench { name: "samples-memory", run: memory::samples, beside: Beside::Servers },
    Bench { name: "memory-hour", run: memory_hour::an_hour, beside: Beside::Sharing },
    Bench { name: "memory-virtual-hour", run: memory_hour::a_virtual_hour, beside: Beside::Nothing },
    Bench { name: "memory-virtual", run: memory_hour::virtual_seconds, beside: Beside::Nothing },
    Bench { name: "floods", run: floods::beyond_calm, beside: Beside::Sharing },
    Bench { name: "fits", run: fits::dispersion, beside: Beside::Nothing },
    Bench { name: "fits-memory", run: fits::memory, beside: Beside::Nothing },
    Bench { name: "capacity-simulated", run: capacity::simulated, beside: Beside::Nothing },
    Bench { name: "capacity-served", run: capacity::served, beside: Beside::Sharing },
    Bench { name: "compare-errors", run: compare_errors::pairs, beside: Beside::Nothing },
    Bench { name: "sweep", run: sweeps::side_by_side, beside: Beside::Nothing },
    Bench { name: "report", run: report::of_ten_million, beside: Beside::Nothing },
    Bench { name: "verify-planted", run: verify_planted::on_each_plane, beside: Beside::Nothing },
];

/// Runs the benches that are named.
pub fn run(args: &BenchArgs) -> Result<()> {
    if args.pairs == 0 {
        bail!("`--pairs 0` would measure nothing");
    }
    let missing = system::provide(system::FOR_BENCHES, true)?;
    if missing.iter().any(|tool| tool.program == "nginx") {
        bail!("without nginx there is nothing to measure against");
    }
    if args.install_peers {
        peers::install()?;
    }
    let lab = Lab::new(extent(args))?.with_earlier(args.against.clone());
    let lab = match &args.farfield {
        Some(farfield) => lab.with_farfield(farfield.clone()),
        None => {
            process::build_farfield()?;
            lab
        }
    };
    let awake = if args.keep_awake { Some(Awake::begin(machine::processors())?) } else { None };
    for bench in BENCHES.iter().filter(|bench| is_wanted(&args.names, bench.name)) {
        if bench.name == "before-after" && args.names.is_empty() && args.against.is_none() {
            continue;
        }
        eprintln!("{}:", bench.name);
        let mut text = format!("{}\n\n{}", (bench.run)(&lab)?.trim_end(), provenance(&lab, bench.beside));
        if awake.is_some() && bench.beside != Beside::Nothing {
            text = format!("{}\n{}\n", text.trim_end(), Awake::words());
        }
        println!("\n## {}\n\n{text}", bench.name);
        if !args.quick {
            page::keep(bench.name, &text)?;
        }
    }
    Ok(())
}

fn is_wanted(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|wanted| wanted == name)
}

fn extent(args: &BenchArgs) -> Extent {
    let (seconds, long_seconds) = match (args.quick, args.long) {
        (true, _) => (2, 6),
        (false, false) => (10, 60),
        (false, true) => (10, 600),
    };
    let pairs = if args.quick { args.pairs.min(2) } else { args.pairs };
    Extent { pairs, seconds, long_seconds, quick: args.quick }
}

/// The origin of the figures, in a few lines under each table.
fn provenance(lab: &Lab, beside: Beside) -> String {
    let given = lab.given().map(|name| format!("{name} (a program that was given)"));
    let (machine, commit) = (machine::machine(), given.unwrap_or_else(machine::commit));
    if beside == Beside::Nothing {
        return format!("Measured on {machine}.\nfarfield {commit}.\n");
    }
    let host = lab.host.take_words();
    let nginx = system::find("nginx").map(|program| machine::version(&program, "-v")).unwrap_or_default();
    if beside == Beside::Sharing {
        return format!(
            "Measured on {machine}, whose processors server and generator share.\nfarfield {commit}, nginx {nginx}.\n{host}\n"
        );
    }
    let peers: [&dyn Generator; 6] = [&Wrk, &H2load, &Ab, &Oha, &Vegeta, &Bombardier];
    let versions = peers.iter().filter_map(|peer| {
        let program = lab.program(*peer)?;
        let version = peer
            .installed_version()
            .map_or_else(|| machine::version(&program, peer.version_arg()), str::to_owned);
        Some(format!(", {} {version}", peer.name()))
    });
    format!(
        "Measured on {machine}: the server on one processor, the generator on another, {} s a run; {} turns\n\
         where generators are beside each other.\n\
         farfield {commit}, nginx {nginx}{}.\n{host}\n",
        lab.extent.seconds,
        lab.extent.pairs,
        versions.collect::<String>(),
    )
}

/// Those of `generators` that are installed, and a line that names the others.
fn absent<'a>(lab: &Lab, generators: &[&'a dyn Generator]) -> (Vec<&'a dyn Generator>, String) {
    let (there, absent): (Vec<_>, Vec<_>) =
        generators.iter().copied().partition(|generator| lab.program(*generator).is_some());
    let names: Vec<&str> = absent.iter().map(|generator| generator.name()).collect();
    let line =
        if names.is_empty() { String::new() } else { format!("\nNot installed: {}.\n", names.join(", ")) };
    (there, line)
}

/// A line with a bound, what was measured, and whether the bound is met.
fn goal(bound: &str, measured: &dyn Display, is_met: bool) -> String {
    format!("- Bound: {bound}. Measured: {measured}, {}.\n", if is_met { "met" } else { "missed" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_and_none_means_all() {
        assert!(is_wanted(&[], "overload"));
        assert!(is_wanted(&["overload".to_owned()], "overload"));
        assert!(!is_wanted(&["overload".to_owned()], "keep-alive"));
    }

    #[test]
    fn a_goal_says_whether_it_is_met() {
        assert_eq!(goal("at most 1", &0.5, true), "- Bound: at most 1. Measured: 0.5, met.\n");
        assert_eq!(goal("at most 1", &1.5, false), "- Bound: at most 1. Measured: 1.5, missed.\n");
    }
}
