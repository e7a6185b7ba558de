//! Runs one program on one processor, with room for connections, tied to the life of its starter; and
//! measures it.
//!
//! A hidden task of this program stands between the benches and what they run, since what it sets is
//! inherited by the program that it turns into. Measuring needs a process of its own too: the kernel sums
//! processor time over all children that were waited for, and here there is only one, with what it waited for
//! itself. The peak of memory is the program's alone: a server that it starts may well take more.

pub mod usage;

use anyhow::{Context, Result};
use clap::Args;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;
use usage::Usage;

/// Descriptors wanted: those of 10,000 users, and more.
const DESCRIPTORS: u64 = 65_536;
/// Time between two looks at a program's memory.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Runs a program on one processor.
#[derive(Debug, Args)]
pub struct HoldArgs {
    /// The processor.
    #[arg(long)]
    cpu: Option<usize>,
    /// File for the program's usage, written once it has ended.
    #[arg(long)]
    usage: Option<PathBuf>,
    /// Seconds after which a measured program is ended.
    #[arg(long, default_value_t = 3600)]
    limit_s: u32,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    words: Vec<OsString>,
}

/// `command`, held on `cpu`, or anywhere. With a file in `measured` it is measured too, and ended after so
/// many seconds.
pub fn held(command: &Command, cpu: impl Into<Option<usize>>, measured: Option<(&Path, u32)>) -> Command {
    let mut holder = this_program();
    if let Some(cpu) = cpu.into() {
        holder.arg("--cpu").arg(cpu.to_string());
    }
    if let Some((usage, limit_s)) = measured {
        holder.arg("--usage").arg(usage).arg("--limit-s").arg(limit_s.to_string());
    }
    holder.arg("--").arg(command.get_program()).args(command.get_args());
    holder
}

/// Holds what the arguments say; returns its exit code if it was measured, and else does not return.
pub fn run(args: &HoldArgs) -> Result<ExitCode> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
    if let Some(cpu) = args.cpu {
        let mut processors = CpuSet::new();
        processors.set(cpu)?;
        sched_setaffinity(Pid::from_raw(0), &processors)
            .with_context(|| format!("cannot keep to processor {cpu}"))?;
    }
    widen_descriptors()?;
    if let Some(usage) = &args.usage {
        // The alarm ends this process, and its end that of the program.
        nix::unistd::alarm::set(args.limit_s);
        let (status, peak_kib) = watched(&mut this_program().arg("--").args(&args.words).spawn()?)?;
        let all = children_usage()?;
        let of_program = Usage { peak_kib: peak_kib.unwrap_or(all.peak_kib), ..all };
        std::fs::write(usage, of_program.to_string())
            .with_context(|| format!("cannot write {}", usage.display()))?;
        return Ok(ExitCode::from(code(status)));
    }
    let mut command = Command::new(&args.words[0]);
    let error = command.args(&args.words[1..]).exec();
    Err(error).with_context(|| format!("cannot start {}", args.words[0].display()))
}

/// The program that runs, even if its file has been replaced by a newer build meanwhile.
fn this_program() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("hold");
    command
}

/// Root may have as many descriptors as it wants; others what is granted.
fn widen_descriptors() -> Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = soft.max(DESCRIPTORS);
    if setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted.max(hard)).is_err() {
        setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard)?;
    }
    Ok(())
}

/// Waits for the program; the most memory that it had resident up to the last look, in KiB, if there was time
/// for one.
#[expect(clippy::disallowed_methods, reason = "a real program is looked at by the clock")]
fn watched(program: &mut Child) -> Result<(ExitStatus, Option<u64>)> {
    let status_file = format!("/proc/{}/status", program.id());
    let mut peak_kib = None;
    loop {
        // One that has ended has no memory any more, and one that cannot be read has just ended.
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
        peak_kib = kib.or(peak_kib);
        if let Some(ended) = program.try_wait()? {
            return Ok((ended, peak_kib));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Of the program, and of what it waited for.
fn children_usage() -> Result<Usage> {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let us = |time: nix::sys::time::TimeVal| time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64;
    Ok(Usage {
        user_us: us(used.user_time()),
        system_us: us(used.system_time()),
        peak_kib: u64::try_from(used.max_rss()).unwrap_or(0),
    })
}

/// The exit code as a shell would have it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
