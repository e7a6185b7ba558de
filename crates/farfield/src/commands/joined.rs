//! `farfield run --join`: a part of a run that is gathered elsewhere. The scenario comes from the gatherer,
//! and so does the start; the result stays here, and goes to the gatherer.

use super::rank::Rank;
use super::run::{self, CompletedRun};
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::flags::watch::RunFormat;
use crate::output;
use crate::problem::Problem;
use crate::progress::{ProgressDisplay, Watch};
use farfield_base::{Bytes, Duration, Part};
use farfield_engine::rendezvous::{HandoutFile, JoinSettings, Member, Ticket, ticket};
use farfield_files::Folder;
use farfield_files::temporary::{LockedFolder, locked_folder, remove_abandoned};
use farfield_scenario::RunPlan;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The variable of the environment that has the ticket.
pub const TOKEN: &str = "FARFIELD_TOKEN";
/// The scenario in a handout.
pub const SCENARIO: &str = "scenario.toml";

/// Makes the part that the gatherer at `address` gives.
pub fn run(flags: &RunFlags, address: &str) -> Result<Exit, Problem> {
    if let Some(what) = &flags.what {
        return Err(Problem::usage(format!(
            "{what}: the scenario comes from the gatherer; leave it out with --join"
        )));
    }
    if flags.show_scenario {
        return Err(Problem::usage(
            "--show-scenario: the scenario comes from the gatherer, and a part runs it",
        ));
    }
    if flags.load.start_at.is_some() || flags.repeat.is_asked() {
        return Err(Problem::usage(
            "--start-at and repeats are no part's, whose start comes from the gatherer",
        ));
    }
    let mut joining = JoinSettings {
        address: address.to_owned(),
        ticket: ticket_of(flags.join.ticket.as_deref())?,
        part: None,
        rank: None,
        farfield: env!("CARGO_PKG_VERSION").to_owned(),
        host: host(),
        wait_ns: time(&flags.join.join_within, "--join-within")?,
    };
    match flags.load.part.as_deref() {
        Some("auto") => joining.rank = Some(Rank::of_environment()?.rank),
        Some(part) => joining.part = Some(part.parse::<Part>().map_err(Problem::usage)?),
        None => {}
    }
    let member = Arc::new(Member::join(&joining).map_err(Problem::failed)?);
    let done = drive(flags, &member).inspect_err(|problem| match problem.is_interrupted() {
        // Another process may take its place, if there is no start yet.
        true => member.leave(&problem.to_string()),
        false => member.fail(&problem.to_string()),
    });
    let done = done.map_err(|problem| match member.ended() {
        Some(why) => Problem::failed(format!("{why}; nothing was measured")),
        None => problem,
    })?;
    let kept = member.hand_over(&done.directory);
    let directory = done.directory.display();
    if let Some(why) = member.ended() {
        output::put_error(format_args!(
            "farfield: {why}; what part {} had measured is in {directory}\n",
            member.part()
        ));
    } else if let Err(why) = &kept {
        output::put_error(format_args!(
            "farfield: the gatherer does not have this part: {why}; it is in {directory}\n"
        ));
    }
    match flags.format {
        RunFormat::Text => output::put(&line(&done, member.part(), kept.is_ok()))?,
        RunFormat::Json => output::put(&done.summary.to_json())?,
        RunFormat::Jsonl => {
            output::put(&crate::live::wire::result(&done.directory, done.exit.code(), &done.summary))?
        }
    }
    Ok(if kept.is_err() && done.exit == Exit::Fine { Exit::Failed } else { done.exit })
}

/// One line of the result: that of the whole is with the gatherer.
fn line(done: &CompletedRun, part: Part, kept: bool) -> String {
    let valid = if done.summary.verdict.valid { "valid" } else { "INVALID" };
    let at = if kept { "with the gatherer and in" } else { "in" };
    format!(
        "part {part}: {valid}, {} requests; {at} {}\n",
        done.summary.steady.requests,
        done.directory.display()
    )
}

/// Runs the scenario of the gatherer.
fn drive(flags: &RunFlags, member: &Arc<Member>) -> Result<CompletedRun, Problem> {
    let folder = unpack(member.files())
        .map_err(|error| Problem::failed(format!("the scenario cannot be kept: {error}")))?;
    let mut flags = flags.clone();
    // The gatherer's word on it counts.
    flags.load.part = None;
    let overlay = flags.overlay().with("run.part", "--join", member.part().to_string().as_str());
    let plan = checked(run::read(folder.path().join(SCENARIO).to_str(), &overlay)?, &flags)?;
    member.holds(plan.shared_by_parts());
    run::drive(
        plan,
        Watch { member: Some(Arc::clone(member)), ..run::watch(&flags, ProgressDisplay::Nothing)? },
    )
}

/// The gatherer's plan without what it has no say in here: the place of the result, and programs.
fn checked(mut plan: RunPlan, flags: &RunFlags) -> Result<RunPlan, Problem> {
    if let Some(program) = plan.starts().first() {
        return Err(Problem::failed(format!(
            "the gatherer's scenario would start `{}` here, and a part starts no programs of it",
            program.line()
        )));
    }
    if flags.result.out.is_none() {
        plan.forget_directory();
    }
    Ok(plan)
}

/// Names of folders with handouts begin so.
const HANDOUT: &str = "farfield-part-";

/// A folder with the files of a handout, which may have passwords: those that killed parts left are removed.
fn unpack(files: &[HandoutFile]) -> std::io::Result<LockedFolder> {
    remove_abandoned(HANDOUT);
    let home = locked_folder(HANDOUT)?;
    let folder = Folder::open(home.path())?;
    for HandoutFile { name, content } in files {
        let names: Vec<&str> = name.split('/').collect();
        folder.create_below(&names)?.write_all(content)?;
    }
    Ok(home)
}

/// The ticket of the file, or of the environment.
pub fn ticket_of(file: Option<&Path>) -> Result<Ticket, Problem> {
    let text = match file {
        Some(file) => farfield_files::read_typed_text(file, Bytes(ticket::TEXT_MAX as u64))
            .map_err(|error| Problem::usage(format!("--ticket {}: {error}", file.display())))?,
        None => std::env::var(TOKEN).map_err(|_| {
            Problem::usage(format!(
                "--join needs the gatherer's ticket: name its file by --ticket, or set {TOKEN}"
            ))
        })?,
    };
    text.parse().map_err(Problem::usage)
}

/// The name of this machine.
pub fn host() -> String {
    let name = farfield_files::system::read_text("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// A time that a flag gives, in nanoseconds.
pub fn time(given: &str, flag: &str) -> Result<u64, Problem> {
    let time: Result<Duration, _> = crate::flags::keys::with_seconds(given).parse();
    time.map(Duration::as_ns).map_err(|error| Problem::usage(format!("{flag}: {error}")))
}
