//! `farfield gather`: holds the rendezvous of a run's parts, and merges what comes back.

mod progress;

use super::joined::{SCENARIO, TOKEN, host, time};
use super::merge::show_merged;
use super::run::{new_directory, read, write_page};
use crate::exit::Exit;
use crate::flags::Format;
use crate::flags::gather::{GatherFlags, RendezvousFlags};
use crate::flags::scenario::LoadFlags;
use crate::metrics::listen;
use crate::output;
use crate::problem::Problem;
use farfield_base::{Bytes, Duration, Part};
use farfield_engine::rendezvous::{
    GatherError, GatherKey, GatherSettings, Gatherer, HandoutFile, News, RendezvousResult, ReturnedPart,
    Ticket, ticket,
};
use farfield_engine::{MergeError, PartsOfRun, RunDirectory, descriptors, interrupt};
use farfield_files::temporary_folder;
use farfield_scenario::Overlay;
use progress::GatherLines;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bytes that a part sends beside its samples: a day's counts take some 200 MB.
const BESIDE_SAMPLES: u64 = 1 << 30;
/// Time without figures after which a part that runs is given up.
const QUIET: Duration = Duration::from_secs(60);
/// Bytes of one file of a scenario.
const FILE_MAX: Bytes = Bytes(16 << 20);

/// Gathers the parts of a run.
pub fn gather(flags: &GatherFlags) -> Result<Exit, Problem> {
    let parts = parts(flags)?;
    let key = match &flags.key {
        None => GatherKey::generate(),
        Some(file) => {
            let text = farfield_files::read_typed_text(file, Bytes(ticket::TEXT_MAX as u64));
            let wrong =
                |error: &dyn std::fmt::Display| Problem::usage(format!("--key {}: {error}", file.display()));
            text.map_err(|error| wrong(&error))?.parse().map_err(|error| wrong(&error))?
        }
    };
    let listener = listen(&flags.listen, "--listen")?;
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let request = GatherRequest::of(&flags.what, &flags.rendezvous)?;
    let rendezvous = Rendezvous::begin(request, parts, key, listener)?;
    rendezvous.announce(flags.ticket.as_deref(), flags.key.is_some())?;
    rendezvous.hold(&stop)
}

/// The parts that are asked for.
fn parts(flags: &GatherFlags) -> Result<Vec<Part>, Problem> {
    let weights = match flags.parts {
        Some(parts) => vec![1; parts as usize],
        None => flags.weights.clone(),
    };
    let of = weights.iter().try_fold(0_u32, |sum, weight| sum.checked_add(*weight));
    let of = of.filter(|_| weights.len() > 1 && weights.iter().all(|weight| *weight > 0));
    let wrong = "--weights: write whole numbers above 0, two at least, such as 3,1,1";
    let of = of.ok_or_else(|| Problem::usage(wrong))?;
    let mut from = 1;
    let parts = weights.iter().map(|weight| {
        let part = Part::units(from, from + weight - 1, of).map_err(Problem::usage);
        from += weight;
        part
    });
    parts.collect()
}

/// The request for a run of several parts.
pub struct GatherRequest<'a> {
    /// The URL or the scenario; farfield's built-in server if absent.
    pub what: Option<&'a str>,
    /// The keys that are laid over it.
    pub overlay: Overlay,
    /// The flag that says that there are parts.
    pub flag: &'a str,
    /// The run directory of the whole; the scenario's, or one of its own, if absent.
    pub out: Option<PathBuf>,
    /// Time for all parts to come and be ready.
    pub wait_ns: u64,
    /// Format of the result.
    pub format: Format,
    /// True if no progress is printed.
    pub quiet: bool,
}

impl<'a> GatherRequest<'a> {
    /// The request of a command that gathers.
    pub fn of(what: &'a str, flags: &RendezvousFlags) -> Result<GatherRequest<'a>, Problem> {
        refuse_place(&flags.load)?;
        Ok(GatherRequest {
            what: Some(what),
            overlay: flags.overlay(),
            flag: "--parts",
            out: flags.out.clone(),
            wait_ns: time(&flags.wait, "--wait")?,
            format: flags.format,
            quiet: flags.quiet,
        })
    }
}

/// Refuses flags that say which part this is, and when it starts.
pub(super) fn refuse_place(load: &LoadFlags) -> Result<(), Problem> {
    if load.part.is_some() || load.start_at.is_some() {
        return Err(Problem::usage("--part and --start-at are the gatherer's to give; leave them out"));
    }
    Ok(())
}

/// A rendezvous that is held.
pub struct Rendezvous {
    gatherer: Gatherer,
    ticket: Ticket,
    address: SocketAddr,
    created: RunDirectory,
    parts: usize,
    format: Format,
    quiet: bool,
    has_page: bool,
}

impl Rendezvous {
    /// Reads the scenario, and begins to admit its parts.
    pub fn begin(
        request: GatherRequest,
        parts: Vec<Part>,
        key: GatherKey,
        listener: TcpListener,
    ) -> Result<Rendezvous, Problem> {
        let GatherRequest { what, overlay, flag, out, wait_ns, format, quiet } = request;
        let overlay = overlay.with("run.part", flag, parts[0].to_string().as_str());
        let plan = read(what, &overlay)?;
        let scenario = plan.scenario();
        if scenario.run.start_at.is_some() {
            return Err(Problem::usage("run.start-at: the gatherer gives the start; leave this out"));
        }
        let (name, samples) = (scenario.name.clone(), scenario.output.disk_budget.0);
        let has_page = scenario.output.report;
        let out = out.or_else(|| scenario.output.directory.clone());
        let (files, scenario) = hand_out(plan, parts[0])?;
        let settings = GatherSettings {
            parts,
            files,
            scenario,
            bytes_max: samples.saturating_add(BESIDE_SAMPLES),
            farfield: env!("CARGO_PKG_VERSION").to_owned(),
            wait_ns,
            quiet_ns: QUIET.as_ns(),
        };
        let created = match &out {
            Some(out) => RunDirectory::create(out),
            None => new_directory(&name),
        };
        let created = created.map_err(Problem::failed)?;
        descriptors::raise();
        let unheard = |error: std::io::Error| Problem::failed(format!("cannot listen for parts: {error}"));
        let address = listener.local_addr().map_err(unheard)?;
        let (ticket, parts) = (key.ticket(), settings.parts.len());
        let gatherer =
            Gatherer::begin(listener, key, settings, &created.path().join("parts")).map_err(unheard)?;
        Ok(Rendezvous { gatherer, ticket, address, created, parts, format, quiet, has_page })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The ticket of its parts.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Says how parts join. The ticket is written into `file`, or printed unless parts have it already.
    fn announce(&self, file: Option<&Path>, is_known: bool) -> Result<(), Problem> {
        let (parts, address) = (self.parts, self.address);
        let how = match file {
            Some(file) => {
                let written =
                    farfield_files::output::put_new_private(file, format!("{}\n", self.ticket).as_bytes());
                written.map_err(|error| {
                    // Nothing was put into it.
                    let _ = std::fs::remove_dir(self.created.path());
                    Problem::failed(format!("--ticket {}: {error}", file.display()))
                })?;
                format!(" --ticket {}", file.display())
            }
            None if is_known => String::new(),
            None => format!("\n  with {TOKEN}={}", self.ticket),
        };
        let named = reached_at(address);
        output::put_error(format_args!(
            "farfield: {parts} parts are to join at {address}: farfield run --join {named}{how}\n"
        ));
        Ok(())
    }

    /// Holds it to the end of the run, and prints the result.
    pub fn hold(self, stop: &Arc<AtomicBool>) -> Result<Exit, Problem> {
        self.hold_with(stop, || {})
    }

    /// Rendezvous to its end and its result, as by [`hold`](Rendezvous::hold); `on_start` is called when all
    /// parts are ready.
    pub fn hold_with(self, stop: &Arc<AtomicBool>, on_start: impl Fn()) -> Result<Exit, Problem> {
        let mut lines = GatherLines::new(self.quiet);
        let gathered = self.gatherer.gather(stop, |news| {
            if matches!(news, News::Starting { .. }) {
                on_start();
            }
            lines.print(&news);
        });
        lines.end();
        let gathered = gathered.map_err(|error| {
            // Nothing was put into it.
            let _ = std::fs::remove_dir(self.created.path());
            match error {
                GatherError::Interrupted => Problem::interrupted(error),
                error => Problem::failed(error),
            }
        })?;
        self.merge(&gathered)
    }

    /// Merges the parts that came back. One whose files are no good is lost, as one that did not.
    fn merge(&self, gathered: &RendezvousResult) -> Result<Exit, Problem> {
        let (mut returned, mut lost) = (gathered.returned.clone(), gathered.lost.clone());
        let mut lose = |returned: &mut Vec<ReturnedPart>, is: &dyn Fn(&ReturnedPart) -> bool, why: &str| {
            for gone in returned.extract_if(.., |returned| is(returned)) {
                let why = format!("{}: {why}", gone.name);
                output::put_error(format_args!("farfield: lost {why}\n"));
                lost.push(why);
            }
            lost.clone()
        };
        loop {
            let paths: Vec<(Part, PathBuf)> =
                returned.iter().map(|returned| (returned.part, returned.directory.clone())).collect();
            let (read, unsound) = PartsOfRun::read_sound(&paths);
            for (part, why) in unsound {
                lose(&mut returned, &|returned| returned.part == part, &why);
            }
            let lost = lose(&mut returned, &|_| false, "");
            if returned.is_empty() {
                return Err(self.nothing(gathered.interrupted, &lost));
            }
            let mut parts = read.map_err(Problem::failed)?;
            lost.iter()
                .for_each(|lost| parts.warn(format!("{lost}; what it had measured is not in this run")));
            match parts.write(&self.created) {
                Ok(summary) => {
                    if self.has_page {
                        write_page(&self.created);
                    }
                    show_merged(&summary, &self.created, self.format)?;
                    // One that came when all had ended has ended nothing.
                    let interrupted = gathered.interrupted && !summary.complete;
                    return Ok(Exit::of_run(&summary, interrupted, false));
                }
                Err(MergeError::Unreadable { path, why })
                    if returned.iter().any(|returned| path.starts_with(&returned.directory)) =>
                {
                    lose(&mut returned, &|returned| path.starts_with(&returned.directory), &why);
                }
                Err(error) => return Err(Problem::failed(error)),
            }
        }
    }

    /// The end of a rendezvous from which nothing came back.
    fn nothing(&self, interrupted: bool, lost: &[String]) -> Problem {
        // What it has kept of its parts stays.
        let _ = std::fs::remove_dir(self.created.path());
        let lost = if lost.is_empty() { "none had begun".to_owned() } else { lost.join("; ") };
        match interrupted {
            true => {
                Problem::interrupted(format!("interrupted, and no part came back with its files: {lost}"))
            }
            false => Problem::failed(format!("no part came back with its files: {lost}")),
        }
    }
}

/// The place that parts on other machines connect to, where `address` is listened at: an address for all is
/// none to connect to.
pub(super) fn reached_at(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("{}:{}", host(), address.port()),
        false => address.to_string(),
    }
}

/// The scenario of `plan` with its files, as parts get them; and the scenario as parts that are given no
/// other flags have it in common.
fn hand_out(plan: farfield_scenario::RunPlan, part: Part) -> Result<(Vec<HandoutFile>, String), Problem> {
    let unkept = |error: &dyn std::fmt::Display| {
        Problem::failed(format!("the scenario cannot be handed out: {error}"))
    };
    let home = temporary_folder("farfield-gather-").map_err(|error| unkept(&error))?;
    let folder = home.path().join("handout");
    let directory = RunDirectory::create_new(&folder).map_err(|error| unkept(&error))?;
    let scenario = plan.hand_out(&directory)?;
    directory.replace(SCENARIO, scenario.as_bytes()).map_err(|error| unkept(&error))?;
    let part = Overlay::default().with("run.part", "--parts", part.to_string().as_str());
    let shared = read(folder.join(SCENARIO).to_str(), &part)?.shared_by_parts();
    let mut files = vec![HandoutFile { name: SCENARIO.to_owned(), content: scenario.into_bytes() }];
    let mut folders = vec![folder.join("inputs")];
    while let Some(next) = folders.pop() {
        // There is none where the scenario names no files.
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let content = farfield_files::read(&path, FILE_MAX).map_err(|error| unkept(&error))?;
            let name = path.strip_prefix(&folder).ok().and_then(Path::to_str);
            let name =
                name.ok_or_else(|| unkept(&format!("{} has a name that is not UTF-8", path.display())))?;
            files.push(HandoutFile { name: name.to_owned(), content });
        }
    }
    Ok((files, shared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Command, Flags};
    use clap::Parser;

    fn parts_of(words: &str) -> Result<String, String> {
        let line = format!("farfield gather s.toml {words}");
        let flags = Flags::try_parse_from(line.split(' ')).map_err(|error| error.to_string())?;
        let Some(Command::Gather(flags)) = flags.command else { panic!("another command") };
        let parts = parts(&flags).map_err(|problem| problem.to_string())?;
        Ok(parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn parts_are_equal_or_by_weight() {
        assert_eq!(parts_of("--parts 3").as_deref(), Ok("1/3 2/3 3/3"));
        assert_eq!(parts_of("--weights 3,1,1").as_deref(), Ok("1..3/5 4/5 5/5"));
        for wrong in [
            "--parts 1",
            "--parts 4097",
            "--weights 3",
            "--weights 0,1",
            "--weights 4000,97",
            "--weights 4294967295,2",
            "",
        ] {
            assert!(parts_of(wrong).is_err(), "{wrong}");
        }
    }
}
