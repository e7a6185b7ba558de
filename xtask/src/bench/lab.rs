//! The environment of the benches: the processors, a scratch folder, the programs, and one way to run and
//! measure them.

use super::generator::farfield::{self, Summary};
use super::generator::{Generator, Report, Work};
use super::host::Host;
use super::server::Server;
use anyhow::{Context, Result, bail};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask::hold;
use xtask::hold::usage::Usage;
use xtask::nginx::Speaks;
use xtask::process;
use xtask::system;

/// The exit code of a farfield that has measured and doubts itself: on one processor at full speed, rightly.
const MEASURED_BUT_INVALID: i32 = 3;

/// The extent of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Runs of each generator, one after another in turn.
    pub pairs: usize,
    /// Seconds a run.
    pub seconds: u32,
    /// Seconds of the long run whose memory must not grow.
    pub long_seconds: u32,
    /// Points between the ends of a range are left out.
    pub quick: bool,
}

/// The result of one run.
#[derive(Debug, Clone)]
pub struct Ran {
    /// All that it printed.
    pub output: String,
    /// Its processor time and memory.
    pub usage: Usage,
    /// From its start to its end.
    pub took: Duration,
}

/// The result of one run of a generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Its report.
    pub report: Report,
    /// Its processor time and memory.
    pub usage: Usage,
}

impl Measured {
    /// Microseconds of the generator's processor time for each request that was completed.
    pub fn cpu_us_per_request(&self) -> f64 {
        self.usage.cpu_us() as f64 / self.report.completed as f64
    }
}

/// The place where benches work.
#[derive(Debug)]
pub struct Lab {
    /// The extent of a measurement.
    pub extent: Extent,
    /// Steal by the machine's host meanwhile.
    pub host: Host,
    farfield: PathBuf,
    /// True if that is no build of this checkout.
    is_given: bool,
    earlier: Option<PathBuf>,
    peers: PathBuf,
    scratch: TempDir,
    server_cpu: usize,
    generator_cpu: usize,
}

impl Lab {
    /// A lab on the first two processors that may be used, with farfield as `build` left it.
    pub fn new(extent: Extent) -> Result<Lab> {
        let allowed = sched_getaffinity(Pid::from_raw(0))?;
        let mut processors = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false));
        let (Some(server_cpu), Some(generator_cpu)) = (processors.next(), processors.next()) else {
            bail!("the benches need two processors: one for the server, one for the generator");
        };
        let builds = process::builds()?;
        let scratch = tempfile::Builder::new().prefix("farfield-bench-").tempdir()?;
        Ok(Lab {
            extent,
            host: Host::default(),
            farfield: process::farfield()?,
            is_given: false,
            earlier: None,
            peers: builds.join("peers/bin"),
            scratch,
            server_cpu,
            generator_cpu,
        })
    }

    /// The lab of another farfield.
    pub fn with_farfield(self, farfield: PathBuf) -> Lab {
        Lab { farfield, is_given: true, ..self }
    }

    /// The name of a farfield that is no build of this checkout.
    pub fn given(&self) -> Option<String> {
        let name = self.farfield.file_name().filter(|_| self.is_given)?;
        Some(name.to_string_lossy().into_owned())
    }

    /// The lab with an earlier farfield to compare with.
    pub fn with_earlier(self, earlier: Option<PathBuf>) -> Lab {
        Lab { earlier, ..self }
    }

    /// The earlier farfield.
    pub fn earlier(&self) -> Option<&Path> {
        self.earlier.as_deref()
    }

    /// Starts nginx on the servers' processor.
    pub fn nginx(&self) -> Result<Server> {
        self.nginx_speaking(Speaks::default())
    }

    /// Starts nginx on the servers' processor, speaking what is asked for.
    pub fn nginx_speaking(&self, speaks: Speaks) -> Result<Server> {
        Server::nginx(&nginx()?, self.scratch(), self.server_cpu, speaks)
    }

    /// Starts Caddy on the servers' processor.
    pub fn caddy(&self) -> Result<Server> {
        let program = system::find("caddy").context("caddy is not installed (apt-get install caddy)")?;
        Server::caddy(&program, self.scratch(), self.server_cpu)
    }

    /// Starts nginx on whichever processors the kernel chooses.
    pub fn nginx_anywhere(&self) -> Result<Server> {
        Server::nginx(&nginx()?, self.scratch(), None, Speaks::default())
    }

    /// Starts farfield's own origin with these flags.
    pub fn origin(&self, knobs: &[&str]) -> Result<Server> {
        Server::origin(&self.farfield, knobs, self.server_cpu)
    }

    /// Starts farfield's own origin with these flags on whichever processors the kernel chooses.
    pub fn origin_anywhere(&self, knobs: &[&str]) -> Result<Server> {
        Server::origin(&self.farfield, knobs, None)
    }

    /// The executable of farfield.
    pub fn farfield(&self) -> &Path {
        &self.farfield
    }

    /// The generators' processor and the servers', where both share them.
    pub fn both(&self) -> [usize; 2] {
        [self.generator_cpu, self.server_cpu]
    }

    /// A folder for what runs leave.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The executable of a generator, if it is installed.
    pub fn program(&self, generator: &dyn Generator) -> Option<PathBuf> {
        if generator.name() == "farfield" {
            return Some(self.farfield.clone());
        }
        let own = self.peers.join(generator.name());
        if own.is_file() { Some(own) } else { system::find(generator.name()) }
    }

    /// Lets an installed `generator` do `work`.
    pub fn drive(&self, generator: &dyn Generator, work: &Work) -> Result<(Measured, String)> {
        let program = self.program(generator).with_context(|| format!("{} is missing", generator.name()))?;
        let command = generator.command(&program, work, self.scratch())?;
        let ran = self.measure(&command, work.seconds)?;
        let report = generator.parse(&ran.output).with_context(|| {
            format!("cannot read what `{}` printed:\n{}", process::words(&command), ran.output)
        })?;
        if report.completed == 0 {
            bail!("`{}` completed no request:\n{}", process::words(&command), ran.output);
        }
        Ok((Measured { report, usage: ran.usage }, ran.output))
    }

    /// Runs a farfield command that prints its summary.
    pub fn farfield_run(&self, command: &Command, seconds: u32) -> Result<(Summary, Usage)> {
        let ran = self.measure(command, seconds)?;
        Ok((Summary::parse(&ran.output)?, ran.usage))
    }

    /// Runs a farfield command that prints its summary, on whichever processors it chooses.
    pub fn farfield_run_anywhere(&self, command: &Command, seconds: u32) -> Result<Summary> {
        Summary::parse(&self.measure_on(None, command, seconds)?.output)
    }

    /// Runs `command`, which should take about `seconds`, on the generators' processor.
    pub fn measure(&self, command: &Command, seconds: u32) -> Result<Ran> {
        self.measure_on(Some(self.generator_cpu), command, seconds)
    }

    /// Runs `command`, which should take about `seconds`, on whichever processors the kernel chooses.
    pub fn measure_anywhere(&self, command: &Command, seconds: u32) -> Result<Ran> {
        self.measure_on(None, command, seconds)
    }

    fn measure_on(&self, cpu: Option<usize>, command: &Command, seconds: u32) -> Result<Ran> {
        self.host.undisturbed(seconds, || self.measure_once(cpu, command, seconds))
    }

    #[expect(clippy::disallowed_methods, reason = "how long a program takes is what is measured")]
    fn measure_once(&self, cpu: Option<usize>, command: &Command, seconds: u32) -> Result<Ran> {
        farfield::remove_run(self.scratch())?;
        let file = |name: &str| self.scratch().join(name);
        let (output, errors, usage) = (file("output"), file("errors"), file("usage"));
        let limit_s = 2 * seconds + 60;
        let mut held = hold::held(command, cpu, Some((&usage, limit_s)));
        eprintln!("  {}", process::words(command));
        let began = Instant::now();
        let status = held
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .stderr(File::create(&errors)?)
            .status()
            .with_context(|| format!("cannot start {}", process::words(command)))?;
        let took = began.elapsed();
        let output = String::from_utf8_lossy(&fs::read(&output)?).into_owned();
        if !status.success() && status.code() != Some(MEASURED_BUT_INVALID) {
            let errors = String::from_utf8_lossy(&fs::read(&errors)?).into_owned();
            bail!("`{}` failed ({status}; it had {limit_s} s):\n{output}{errors}", process::words(command));
        }
        Ok(Ran { output, usage: fs::read_to_string(&usage)?.parse()?, took })
    }
}

fn nginx() -> Result<PathBuf> {
    system::find("nginx").context("nginx is missing")
}

/// Builds an example of a crate of the product; returns its executable.
pub fn example(lab: &Lab, name: &str) -> Result<PathBuf> {
    let example = ["--workspace", "--example", name];
    process::run(process::cargo().args(["build", "--profile", process::SHIPPED]).args(example))?;
    Ok(lab.farfield().parent().context("the program lies in a folder")?.join("examples").join(name))
}
