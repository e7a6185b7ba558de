//! Runs one program on one processor, with room for connections, tied to the life of its starter; and measures it.
//!
//! A hidden task of this program stands between the benches and what they run, since what it sets is inherited
//! by the program that it turns into. Measuring needs a process of its own too: the kernel sums processor time
//! over all children that were waited for, and here there is only one. The peak of memory is that of the child
//! from before it became the program, if that was higher: some megabytes, those of this program.

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
use std::process::{Command, ExitCode, ExitStatus};
use usage::Usage;

/// Descriptors wanted: those of 10,000 users, and more.
const DESCRIPTORS: u64 = 65_536;

/// Runs a program on one processor.
#[derive(Debug, Args)]
pub struct HoldArgs {
    /// The processor.
    #[arg(long)]
    cpu: Option<usize>,
    /// Where to write what the program used, once it has ended.
    #[arg(long)]
    usage: Option<PathBuf>,
    /// Seconds after which a measured program is ended.
    #[arg(long, default_value_t = 3600)]
    limit_s: u32,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    words: Vec<OsString>,
}

/// `command`, held on `cpu`, or anywhere. With a file in `measured` it is measured too, and ended after so many seconds.
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
        let status = this_program().arg("--").args(&args.words).status()?;
        std::fs::write(usage, children_usage()?.to_string())
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
