//! The first commands of the README, ten times each: whether each is valid, and its lateness.
//!
//! Nothing is held to a processor, the server neither, and each command runs in a folder of its own as it was
//! typed.

use super::generator::farfield::{Invalid, Summary};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::process;

/// Runs of each command.
const RUNS: usize = 10;
/// The options of most of them.
const SECONDS: u32 = 10;

/// A command as it is typed, but for the server's address; and where its summary has the lateness of its
/// load.
struct Typed {
    shown: &'static str,
    words: &'static [&'static str],
    late_at: &'static str,
}

const URL: &str = "URL";
const DEPARTURES: &str = "/network/departure_lateness";
const SENDS: &str = "/generator/lateness";

const COMMANDS: [Typed; 4] = [
    Typed { shown: "farfield", words: &[], late_at: DEPARTURES },
    Typed {
        shown: "farfield run --server 'nginx -g \"daemon off;\"' --rtt 80ms -c 1000",
        words: &["run", "--server", "nginx -g \"daemon off;\"", "--rtt", "80ms", "-c", "1000"],
        late_at: DEPARTURES,
    },
    Typed {
        shown: "farfield run URL -R 5000 -d 10s",
        words: &["run", URL, "-R", "5000", "-d", "10s"],
        late_at: SENDS,
    },
    Typed { shown: "farfield run URL -n 1", words: &["run", URL, "-n", "1"], late_at: SENDS },
];

/// Runs them all, in turn.
pub fn validity(lab: &Lab) -> Result<String> {
    let runs = if lab.extent.quick { 1 } else { RUNS };
    let nginx = lab.nginx_anywhere()?;
    let url = nginx.url("/1k");
    let mut late = [const { Vec::new() }; COMMANDS.len()];
    let mut valid = [0; COMMANDS.len()];
    let mut invalid = Invalid::default();
    for _ in 0..runs {
        for (number, typed) in COMMANDS.iter().enumerate() {
            let summary = lab.host.undisturbed(SECONDS, || typed.run(lab, &url))?;
            valid[number] += usize::from(invalid.add(&summary));
            // A run of one request has no percentile.
            late[number].extend(summary.quantile_us(typed.late_at, "p99"));
        }
    }
    let mut table = Table::new(&["command", "valid", "late p99, µs"]);
    let mut goals = String::new();
    for ((typed, late), valid) in COMMANDS.iter().zip(late).zip(valid) {
        let late = if late.is_empty() { "—".to_owned() } else { format!("{:.0}", Spread::of(late)) };
        let came = format!("{valid} of {runs}");
        table.row([format!("`{}`", typed.shown), came.clone(), late]);
        goals += &goal(&format!("`{}` valid each time", typed.shown), &came, valid == runs);
    }
    Ok(format!("{}\n{}\n\n{goals}", table.to_markdown(), invalid.in_words()))
}

impl Typed {
    /// Runs it in an empty folder, and reads the summary that it leaves there.
    fn run(&self, lab: &Lab, url: &str) -> Result<Summary> {
        let folder = tempfile::tempdir_in(lab.scratch())?;
        let mut command = Command::new(lab.farfield());
        command.args(self.words.iter().map(|&word| if word == URL { url } else { word }));
        eprintln!("  {}", process::words(&command));
        let output =
            command.current_dir(&folder).stdin(Stdio::null()).output().context("cannot start farfield")?;
        let Some(directory) = only_entry(&folder.path().join("farfield-runs"))? else {
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            bail!("`{}` left no run directory:\n{text}", process::words(&command));
        };
        Summary::parse(&fs::read_to_string(directory.join("summary.json"))?)
    }
}

/// The only thing in `folder`, if there is one.
fn only_entry(folder: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(None) };
    Ok(entries.flatten().map(|entry| entry.path()).find(|path| path.is_dir()))
}
