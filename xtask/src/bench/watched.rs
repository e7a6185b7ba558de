//! The cost of watching a run: an open loop that nobody watches, one with the live view on a terminal, one
//! whose figures are scraped each second, and one with a page open in the workbench, in turn.
//!
//! Time for the watching is read from the process's own threads: those that a run which nobody watches does
//! not have. Whether it disturbs the load must show in lateness and in what users see.

use super::generator::farfield::{self, Summary};
use super::generator::{Pace, Reuse, Version, Work};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use xtask::{process, system};

/// Requests offered in a second: half of what one processor could.
const PER_S: u32 = 20_000;
/// The share of the generator's processor time that the live view may take.
const SHARE_MAX: f64 = 0.01;
/// Between two readings of the threads' processor time.
const LOOK: Duration = Duration::from_millis(100);

/// Watcher of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watcher {
    Nobody,
    /// A terminal of 200 × 60, wide enough for all charts.
    Terminal,
    /// Prometheus, played by a GET of `/metrics` each second; it waits for 15 s by default.
    Metrics,
    /// A browser, played by a reader of the events.
    Page,
}

const WATCHERS: [Watcher; 4] = [Watcher::Nobody, Watcher::Terminal, Watcher::Metrics, Watcher::Page];

impl Watcher {
    fn name(self) -> &'static str {
        match self {
            Watcher::Nobody => "nobody",
            Watcher::Terminal => "live view, 200 × 60",
            Watcher::Metrics => "`--metrics`, read each second",
            Watcher::Page => "`--ui`, one page open",
        }
    }
}

/// One run.
#[derive(Debug)]
struct Figures {
    /// Nanoseconds of processor time, by the thread's name.
    threads: BTreeMap<String, u64>,
    lateness_p99_us: f64,
    service_p99_us: f64,
    completed_per_s: f64,
    is_valid: bool,
}

impl Figures {
    /// The share of those threads that are not `usual`.
    fn share_besides(&self, usual: &BTreeSet<&String>) -> f64 {
        let all: u64 = self.threads.values().sum();
        let extra: u64 =
            self.threads.iter().filter(|(name, _)| !usual.contains(name)).map(|(_, ns)| ns).sum();
        extra as f64 / all as f64
    }

    fn cpu_ns(&self) -> f64 {
        self.threads.values().sum::<u64>() as f64
    }
}

/// Runs with each watcher, in turn.
pub fn in_turn(lab: &Lab) -> Result<String> {
    let nginx = lab.nginx_anywhere()?;
    let mut runs: [Vec<Figures>; 4] = Default::default();
    for turn in 0..lab.extent.pairs {
        for step in 0..WATCHERS.len() {
            // Each comes first in some turn, so that a machine that grows slower favours none.
            let number = (turn + step) % WATCHERS.len();
            let figures =
                lab.host.undisturbed(lab.extent.seconds, || one(lab, WATCHERS[number], &nginx.url("/1k")))?;
            runs[number].push(figures);
        }
    }
    let usual: BTreeSet<&String> = runs[0].iter().flat_map(|run| run.threads.keys()).collect();
    let heads =
        ["watched by", "its threads, %", "processor time ÷", "lateness p99, µs", "service p99 ÷", "valid"];
    let mut table = Table::new(&heads);
    let column = |runs: &[Figures], of: fn(&Figures) -> f64| runs.iter().map(of).collect::<Vec<f64>>();
    let against =
        |runs: &[Figures], all: &[Figures], of| Spread::of_ratios(&column(runs, of), &column(all, of));
    for (watcher, with) in WATCHERS.iter().zip(&runs) {
        let share = Spread::of(with.iter().map(|run| 100.0 * run.share_besides(&usual)));
        table.row([
            watcher.name().to_owned(),
            format!("{share:.2}"),
            against(with, &runs[0], |run| run.cpu_ns() / run.completed_per_s).to_string(),
            format!("{:.0}", Spread::of(column(with, |run| run.lateness_p99_us))),
            against(with, &runs[0], |run| run.service_p99_us).to_string(),
            format!("{} of {}", with.iter().filter(|run| run.is_valid).count(), with.len()),
        ]);
    }
    let view = Spread::of(runs[1].iter().map(|run| 100.0 * run.share_besides(&usual)));
    Ok(format!(
        "{PER_S} requests offered in a second:\n\n{}\n{}",
        table.to_markdown(),
        goal(
            &format!("the live view takes at most {} % of the generator's processor time", SHARE_MAX * 100.0),
            &format!("{view:.2} %"),
            view.median <= SHARE_MAX * 100.0
        )
    ))
}

/// A run that `watcher` looks at.
#[expect(clippy::disallowed_methods, reason = "threads are looked at while they run")]
fn one(lab: &Lab, watcher: Watcher, url: &str) -> Result<Figures> {
    let (pace, reuse) = (Pace::Open(PER_S), Reuse::KeepAlive);
    let seconds = lab.extent.seconds;
    let work = Work { url: url.to_owned(), connections: 0, seconds, pace, reuse, version: Version::Http1 };
    let mut command = farfield::of_work(lab.farfield(), &work, lab.scratch());
    if watcher != Watcher::Nobody {
        // It says where it can be looked at.
        command = without(&command, "--quiet");
    }
    match watcher {
        Watcher::Nobody | Watcher::Terminal => {}
        Watcher::Metrics => drop(command.args(["--metrics", "0"])),
        Watcher::Page => drop(command.arg("--ui")),
    }
    farfield::remove_run(lab.scratch())?;
    eprintln!("  {}", process::words(&command));
    let pid = lab.scratch().join("pid");
    let errors = lab.scratch().join("errors");
    let mut child = spawn(&command, watcher == Watcher::Terminal, &pid, &errors)?;
    let mut looker = Looker::new(watcher, &errors);
    let limit = Instant::now() + Duration::from_secs(u64::from(2 * seconds) + 60);
    let mut threads = Threads::default();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > limit {
            child.kill()?;
            bail!("a run that was watched by {} did not end", watcher.name());
        }
        threads.read(&pid);
        looker.look()?;
        sleep(LOOK);
    };
    if !matches!(status.code(), Some(0 | 3)) {
        bail!("`{}` failed ({status}):\n{}", process::words(&command), fs::read_to_string(&errors)?);
    }
    looker.end()?;
    let summary = fs::read_to_string(lab.scratch().join(farfield::DIRECTORY).join("summary.json"))?;
    let summary = Summary::parse(&summary)?;
    Ok(Figures {
        threads: threads.by_name(),
        lateness_p99_us: summary.quantile_us("/generator/lateness", "p99")?,
        service_p99_us: summary.quantile_us("/steady/times/service", "p99")?,
        completed_per_s: summary.number("/steady/rates/succeeded_per_s")?,
        is_valid: summary.is_valid(),
    })
}

/// `command` without one of its arguments.
fn without(command: &Command, unwanted: &str) -> Command {
    let mut fewer = Command::new(command.get_program());
    fewer.args(command.get_args().filter(|&argument| argument != unwanted));
    fewer
}

/// Starts `command` by a shell that leaves the process id of what it becomes; in a terminal if it needs one.
fn spawn(command: &Command, in_terminal: bool, pid: &Path, errors: &Path) -> Result<Child> {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    let arguments: Vec<_> =
        std::iter::once(command.get_program().to_string_lossy()).chain(arguments).collect();
    // Paths of the bench's own folders, and flags: no word needs quotes.
    let words = format!("echo $$ >{}; exec {}", pid.display(), arguments.join(" "));
    let mut started = if in_terminal {
        let script = system::find("script").context("script is missing (apt-get install bsdutils)")?;
        let mut started = Command::new(script);
        started.args(["-qefc", &format!("stty columns 200 rows 60; {words}"), "/dev/null"]);
        started.env("TERM", "xterm-256color");
        started
    } else {
        let mut started = Command::new("sh");
        started.args(["-c", &words]);
        started
    };
    // A terminal whose input ends would be closed; this one's lasts as long as the child.
    started.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(File::create(errors)?);
    started.spawn().with_context(|| format!("cannot start {}", process::words(command)))
}

/// Reads what there is to see, once a second.
struct Looker {
    watcher: Watcher,
    errors: PathBuf,
    reader: Option<Child>,
    looked: Option<Instant>,
    seen: usize,
}

impl Looker {
    fn new(watcher: Watcher, errors: &Path) -> Looker {
        Looker { watcher, errors: errors.to_owned(), reader: None, looked: None, seen: 0 }
    }

    #[expect(clippy::disallowed_methods, reason = "a scraper has a clock")]
    fn look(&mut self) -> Result<()> {
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= Duration::from_secs(1));
        if !matches!(self.watcher, Watcher::Metrics | Watcher::Page) || !is_due {
            return Ok(());
        }
        let said = fs::read_to_string(&self.errors)?;
        let Some(url) = said.split_whitespace().find(|word| word.starts_with("http://")) else {
            return Ok(());
        };
        self.looked = Some(Instant::now());
        if self.watcher == Watcher::Metrics {
            let text = process::output(Command::new("curl").args(["-sSf", url]))?;
            self.seen += usize::from(text.starts_with(b"# "));
        } else if self.reader.is_none() {
            let (origin, token) = url.split_once("/#token=").context("a token")?;
            let mut curl = Command::new("curl");
            curl.args(["-sSNf", "-H", &format!("Authorization: Bearer {token}")]);
            curl.arg(format!("{origin}/api/events")).stdout(Stdio::piped());
            self.reader = Some(curl.spawn()?);
        }
        Ok(())
    }

    /// Makes sure that something was seen: a watcher that was refused would cost nothing.
    fn end(self) -> Result<()> {
        let seen = match (self.watcher, self.reader) {
            (Watcher::Metrics, _) => self.seen,
            (Watcher::Page, Some(mut reader)) => {
                let output = reader.stdout.take().context("its output was asked for")?;
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                let seen = lines.filter(|line| line.starts_with("data:")).count();
                reader.wait()?;
                seen
            }
            (Watcher::Page, None) => 0,
            (Watcher::Nobody | Watcher::Terminal, _) => return Ok(()),
        };
        if seen < 2 {
            bail!("{} saw nothing of the run", self.watcher.name());
        }
        Ok(())
    }
}

/// The processor time of a process's threads, by thread.
#[derive(Debug, Default)]
struct Threads(BTreeMap<PathBuf, (String, u64)>);

impl Threads {
    /// Reads it again; threads that have ended keep their last reading.
    fn read(&mut self, pid: &Path) {
        let Ok(pid) = fs::read_to_string(pid) else { return };
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.trim())) else { return };
        for thread in threads.flatten() {
            let of = |name: &str| fs::read_to_string(thread.path().join(name)).ok();
            let ns = of("schedstat").and_then(|text| text.split_whitespace().next()?.parse().ok());
            if let (Some(name), Some(ns)) = (of("comm"), ns) {
                self.0.insert(thread.path(), (name.trim().to_owned(), ns));
            }
        }
    }

    fn by_name(self) -> BTreeMap<String, u64> {
        let mut by_name = BTreeMap::new();
        for (name, ns) in self.0.into_values() {
            *by_name.entry(name).or_default() += ns;
        }
        by_name
    }
}
