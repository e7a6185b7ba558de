//! `--on`: runs that are made by parts, which are started here, at hosts or by Slurm. A run of a sweep or of
//! a search is such a run too, as a child process that has the flags of its parent.

use super::super::gather::{GatherRequest, reached_at, refuse_place};
use super::super::joined::time;
use super::super::run::end_with;
use super::hosts::listen_for_parts;
use super::ssh::{Program, Ssh, Start};
use super::started::{PartStart, gathered};
use crate::exit::Exit;
use crate::flags::on::{Door, OnFlags};
use crate::flags::watch::RunFormat;
use crate::flags::{Format, RunFlags};
use crate::problem::Problem;
use farfield_base::Part;
use farfield_engine::interrupt;
use farfield_scenario::RunPlan;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The program that starts tasks of Slurm.
const SRUN: &str = "srun";
/// Where parts of this machine are listened for.
const LOOPBACK: &str = "127.0.0.1:0";
/// Where tasks of Slurm are listened for, whose nodes may have IPv4 alone.
const ANYWHERE: &str = "0.0.0.0:0";

/// Makes one run by parts, and prints its result.
pub fn run(flags: &RunFlags, door: &Door, plan: &RunPlan) -> Result<Exit, Problem> {
    refuse_place(&flags.load)?;
    refuse_of_one_process(flags)?;
    super::super::run::refuse_part(plan, "a run by --on")?;
    if matches!(door, Door::Local(_)) && plan.scenario().capture.is_some() {
        return Err(Problem::usage(
            "capture: parts of --on local keep nothing beside the run: leave it out, or start them with `farfield gather`",
        ));
    }
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    if let Some(parent) = flags.with_parent {
        end_with(parent, &stop);
    }
    let OnFlags { on_ssh, on_listen, on_wait, .. } = &flags.on;
    let request = GatherRequest {
        what: flags.what.as_deref(),
        overlay: flags.overlay(),
        flag: "--on",
        // The scenario has it, by --out.
        out: None,
        wait_ns: time(on_wait, "--on-wait")?,
        format: match flags.format {
            RunFormat::Json => Format::Json,
            RunFormat::Text | RunFormat::Jsonl => Format::Text,
        },
        quiet: flags.quiet,
    };
    let listen = |free: &str| crate::metrics::listen(on_listen.as_deref().unwrap_or(free), "--on-listen");
    match door {
        Door::Local(count) => {
            let program = std::env::current_exe();
            let program =
                program.map_err(|error| Problem::failed(format!("cannot find farfield: {error}")))?;
            // The gatherer has all that parts leave there, if its disk takes it.
            let home = farfield_files::temporary_folder("farfield-parts-");
            let home =
                home.map_err(|error| Problem::failed(format!("cannot make a temporary folder: {error}")))?;
            gathered(request, *count, listen(LOOPBACK)?, &stop, |at, parts| {
                parts
                    .iter()
                    .map(|part| local(program.as_os_str().to_owned(), at, *part, home.path()))
                    .collect()
            })
        }
        Door::Ssh(hosts) => {
            let listener = listen_for_parts(on_listen.as_deref(), "--on-listen")?;
            let program = Program::own()?;
            gathered(request, door.parts(), listener, &stop, |at, parts| {
                let address = Some(at.ip()).filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string());
                let by_ssh = |(host, part): (&String, &Part)| PartStart::Ssh {
                    ssh: Ssh { host: host.clone(), command: on_ssh.clone() },
                    program: program.clone(),
                    start: Start { port: at.port(), part: *part, address: address.clone() },
                };
                hosts.iter().zip(parts).map(by_ssh).collect()
            })
        }
        Door::Slurm(count) => {
            gathered(request, *count, listen(ANYWHERE)?, &stop, |at, _| vec![tasks(*count, at)])
        }
    }
}

/// Refuses flags of a run that only one process makes.
fn refuse_of_one_process(flags: &RunFlags) -> Result<(), Problem> {
    let watch = &flags.watch;
    let of_one = [
        ("--ui", watch.ui.is_some()),
        ("--metrics", watch.metrics.is_some()),
        ("--metrics-push", !watch.metrics_push.is_empty()),
        ("--metrics-otlp", !watch.metrics_otlp.is_empty()),
        ("--shell", flags.shell.is_some()),
        ("--beside", !flags.beside.is_empty()),
        ("--format jsonl", flags.format == RunFormat::Jsonl),
    ];
    match of_one.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Problem::usage(format!("{flag} is of one process; leave it out with --on"))),
        None => Ok(()),
    }
}

/// A part as a process of this machine. It ends with this one, however that ends.
fn local(program: OsString, at: SocketAddr, part: Part, home: &Path) -> PartStart {
    let mut command = Command::new(program);
    command.arg("run").arg(format!("--join={at}")).arg(format!("--part={part}"));
    command.arg(format!("--with-parent={}", std::process::id()));
    command.arg("--out").arg(home.join(part.own().start.to_string()));
    // Its line of the result names a folder that is soon gone.
    command.stdout(Stdio::null());
    PartStart::Command { name: format!("part {part}"), command }
}

/// All parts as tasks of Slurm: a step of the job that this is in, or a job that waits for its nodes.
fn tasks(count: u32, at: SocketAddr) -> PartStart {
    let mut command = Command::new(SRUN);
    // An invalid part ends with a code of its own, and is no reason to end the others.
    command.arg(format!("--ntasks={count}")).args(["--export=ALL", "--kill-on-bad-exit=0"]);
    command.args(["farfield", "run"]).arg(format!("--join={}", reached_at(at))).arg("--part=auto");
    command.stdout(Stdio::piped());
    PartStart::Command { name: "slurm".to_owned(), command }
}

/// Checks, before the first of several runs, that its parts can be started: that each host answers, and has
/// this program from now on.
pub fn check(on: &OnFlags, stop: &AtomicBool) -> Result<(), Problem> {
    match &on.on {
        None | Some(Door::Local(_)) => Ok(()),
        Some(Door::Slurm(_)) => {
            let asked = Command::new(SRUN).arg("--version").stdin(Stdio::null()).output();
            match asked {
                Ok(_) => Ok(()),
                Err(error) => Err(Problem::failed(format!("--on slurm: {SRUN} cannot be run here: {error}"))),
            }
        }
        Some(Door::Ssh(hosts)) => {
            let program = Program::own()?;
            let hosts: BTreeSet<&String> = hosts.iter().collect();
            let answers = thread::scope(|scope| {
                let asked: Vec<_> = hosts
                    .iter()
                    .map(|host| {
                        let ssh = Ssh { host: (*host).clone(), command: on.on_ssh.clone() };
                        let program = &program;
                        scope.spawn(move || ssh.provide(program, stop).map_err(|why| (ssh.host, why)))
                    })
                    .collect();
                let lost = || Err((String::new(), "it was not asked".to_owned()));
                asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| lost())).collect::<Vec<_>>()
            });
            if stop.load(Ordering::Relaxed) {
                return Err(Problem::interrupted("interrupted before the first run"));
            }
            match answers.into_iter().find_map(Result::err) {
                Some((host, why)) => Err(Problem::failed(format!("--on: {host}: {why}; nothing was run"))),
                None => Ok(()),
            }
        }
    }
}
