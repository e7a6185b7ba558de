//! `farfield export`: the sessions that a scenario draws, for other generators.
//!
//! Two generators can so be given the same workload: the sessions as httperf's `--wsesslog` reads them, the
//! gaps between their beginnings, and both as a table. Nothing is sent to the server.

mod drawn;
mod files;

use crate::exit::Exit;
use crate::flags::export::ExportFlags;
use crate::output;
use crate::problem::Problem;
use drawn::DrawnSession;
use farfield_scenario::{HttpVersion, Prepared, RunPlan};
use farfield_user::Reuse;
use std::path::Path;

/// Sessions that httperf 0.9 reads of a file (`MAX_SESSION_TEMPLATES` in its wsesslog.c).
const HTTPERF_SESSIONS: usize = 1_000;

/// Draws the sessions, and writes the files that the flags name.
pub fn export(flags: &ExportFlags) -> Result<Exit, Problem> {
    let ExportFlags { wsesslog, gaps, csv, .. } = flags;
    if [wsesslog, gaps, csv].iter().all(|file| file.is_none()) {
        return Err(Problem::usage("nothing to write; name a file with --wsesslog, --gaps or --csv"));
    }
    let plan = read(flags)?;
    let title = format!("{}, seed {}", plan.scenario().name, plan.scenario().seed);
    let Prepared { run, .. } = plan.prepare(super::run::now_rfc3339())?;
    let sessions = drawn::sessions(&run.settings)
        .map_err(|undrawable| Problem::usage(format!("{}: {undrawable}", flags.scenario)))?;
    if let Some(file) = wsesslog {
        let text =
            files::session_log(&format!("farfield export: {title}"), &sessions).map_err(Problem::failed)?;
        write(file, &text)?;
    }
    if let Some(file) = gaps {
        write(file, &files::gaps(&sessions))?;
    }
    if let Some(file) = csv {
        write(file, &files::table(&sessions))?;
    }
    output::put(&summary(&sessions, wsesslog.as_deref()))?;
    Ok(Exit::Fine)
}

/// Reads the scenario, over HTTP/1 whatever it says: the server that is made up speaks no other, and what is
/// asked for is the same. Requests that would go as streams at once go ahead of their replies instead.
fn read(flags: &ExportFlags) -> Result<RunPlan, Problem> {
    let plan = super::run::read(Some(&flags.scenario), &flags.overlay())?;
    if !matches!(plan.scenario().http, HttpVersion::Http2 | HttpVersion::Http3 | HttpVersion::Auto) {
        return Ok(plan);
    }
    let mut overlay = flags.overlay();
    overlay.sets.push("http='1.1'".to_owned());
    let policy = &plan.scenario().connections;
    if policy.policy == Reuse::Multiplexed {
        overlay.sets.push("connections.policy='pipelined'".to_owned());
        overlay.sets.push(format!("connections.pipeline-depth={}", policy.streams));
    }
    super::run::read(Some(&flags.scenario), &overlay)
}

fn summary(sessions: &[DrawnSession], wsesslog: Option<&Path>) -> String {
    let pages = sessions.iter().flat_map(|session| &session.pages);
    let (count, requests) = (sessions.len(), pages.map(|page| page.requests.len()).sum::<usize>());
    let mut text = format!("{count} sessions with {requests} requests\n");
    if let Some(file) = wsesslog {
        text += &format!("httperf --wsesslog={count},0,{}\n", file.display());
        if count > HTTPERF_SESSIONS {
            text += &format!(
                "httperf reads at most {HTTPERF_SESSIONS} sessions of a file: export a shorter run, such as with -d\n"
            );
        }
    }
    text
}

fn write(file: &Path, text: &str) -> Result<(), Problem> {
    farfield_files::output::put(file, text.as_bytes())
        .map_err(|error| Problem::failed(format!("{} cannot be written: {error}", file.display())))
}
