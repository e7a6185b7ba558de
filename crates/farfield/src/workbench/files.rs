//! The runs of a folder and the scenario files of another, as the page lists them.

use super::programs;
use super::refusal::KeyRefusal;
use crate::problem::Problem;
use farfield_base::{Bytes, printable};
use farfield_measure::{Quantile, Summary};
use farfield_report::RunDirectory;
use farfield_report::comparison::side::run_directories;
use farfield_report::directory::SUMMARY_FILE;
use farfield_report::figures::{percent, rate, time};
use farfield_scenario::starts::StartedProgram;
use farfield_scenario::{Overlay, RunPlan, ScenarioError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use toml::Table;

/// Bytes of a scenario file that is shown or saved.
const SCENARIO_BYTES_MAX: u64 = 1 << 20;
/// Characters of a name that a file is given.
const NAME_MAX: usize = 60;
/// Scenario files that are listed.
const FILES_MAX: usize = 500;

/// True if `name` is the name of something in a folder, and neither a path nor hidden.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 255 && !name.starts_with('.') && !name.contains(['/', '\0'])
}

/// A summary as it was when it was read: when it was written, its length, and its line in the list.
type CachedSummary = (Option<SystemTime>, u64, Value);

/// The runs of a folder. What was read is kept, so that a list of a thousand runs is read once.
#[derive(Debug)]
pub struct RunList {
    folder: PathBuf,
    known: Mutex<BTreeMap<PathBuf, CachedSummary>>,
}

impl RunList {
    pub fn of(folder: PathBuf) -> RunList {
        RunList { folder, known: Mutex::default() }
    }

    /// The runs, the newest first by their start; those that cannot be read come last. A folder that is not
    /// there yet has none.
    pub fn json(&self) -> Result<Value, String> {
        if !self.folder.exists() {
            return Ok(json!([]));
        }
        let directories = run_directories(&self.folder).map_err(|error| error.to_string())?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|path, _| directories.contains(path));
        let mut list = Vec::new();
        for path in directories.into_iter().rev() {
            let file = fs::metadata(path.join(SUMMARY_FILE)).ok();
            let written = file.as_ref().and_then(|file| file.modified().ok());
            let length = file.map_or(0, |file| file.len());
            match known.get(&path) {
                Some((at, bytes, line)) if (*at, *bytes) == (written, length) => list.push(line.clone()),
                _ => {
                    let line = line(&path);
                    list.push(line.clone());
                    known.insert(path, (written, length, line));
                }
            }
        }
        let started = |run: &Value| run["started"].as_str().unwrap_or_default().to_owned();
        list.sort_by_key(|run| std::cmp::Reverse(started(run)));
        Ok(Value::Array(list))
    }
}

/// A run in the list.
fn line(path: &Path) -> Value {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The name is what its report is asked for by; what is shown of it has no control characters.
    let shown = printable(&name, &[]);
    match RunDirectory::open(path) {
        Err(error) => {
            json!({ "name": name, "shown": shown, "verdict": "UNREADABLE", "why": printable(&error.to_string(), &[]) })
        }
        Ok(run) => {
            let summary = run.summary();
            let heading = &summary.heading;
            let safe = |text: &str| printable(text, &[]).into_owned();
            json!({
                "name": name,
                "shown": shown,
                "verdict": verdict(summary),
                "rate": summary.steady.rates.map(|rates| rate(rates.succeeded_per_s)),
                "p99": p99(summary),
                "errors": summary.steady.error_share.map(percent),
                "load": safe(&heading.load_words),
                "scenario": safe(&heading.scenario),
                "target": safe(&heading.target),
                "started": safe(&heading.started_at),
                "note": heading.note.as_deref().map(safe),
                "order": order(summary),
            })
        }
    }
}

/// The figures as numbers, by which the page sorts.
fn order(summary: &Summary) -> Value {
    json!({
        "rate": summary.steady.rates.map(|rates| rates.succeeded_per_s),
        "p99": p99_ns(summary).map(|(ns, _)| ns),
        "errors": summary.steady.error_share,
    })
}

fn verdict(summary: &Summary) -> &'static str {
    match (summary.complete, summary.verdict.valid) {
        (false, _) => "INCOMPLETE",
        (true, false) => "INVALID",
        (true, true) => "VALID",
    }
}

fn p99(summary: &Summary) -> Option<String> {
    p99_ns(summary)
        .map(|(ns, is_lower_bound)| format!("{}{}", if is_lower_bound { ">" } else { "" }, time(ns)))
}

/// The p99 of response times, estimated where requests had no end, and whether it is more than that.
fn p99_ns(summary: &Summary) -> Option<(u64, bool)> {
    if let Some(estimate) = &summary.steady.estimates.response {
        return estimate.quantile(Quantile::P99).map(|found| (found.value_ns, found.is_lower_bound));
    }
    let times = summary.steady.times.response.as_ref();
    times.and_then(|times| times.quantile_ns(Quantile::P99)).map(|ns| (ns, false))
}

/// The scenario files of a folder.
#[derive(Debug)]
pub struct ScenarioFiles {
    folder: PathBuf,
}

impl ScenarioFiles {
    pub fn of(folder: PathBuf) -> ScenarioFiles {
        ScenarioFiles { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of the files, in order.
    pub fn list(&self) -> Result<Vec<String>, String> {
        let unreadable = |error| format!("the folder {} cannot be read: {error}", self.folder.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_scenario_name(&name) && entry.path().is_file() {
                names.push(name);
            }
        }
        names.sort();
        names.truncate(FILES_MAX);
        Ok(names)
    }

    /// The name, if there is a file of it.
    pub fn existing(&self, name: &str) -> Result<String, String> {
        if !is_scenario_name(name) || !self.folder.join(name).is_file() {
            return Err("there is no such scenario file: save it first".to_owned());
        }
        Ok(name.to_owned())
    }

    /// The name of a file that is not there yet, for a scenario of this text: the scenario's own.
    pub fn free_name(&self, text: &str) -> String {
        let table: Table = text.parse().unwrap_or_default();
        let name = table.get("name").and_then(toml::Value::as_str).unwrap_or("scenario");
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        let stem: String = name.chars().map(plain).take(NAME_MAX).collect();
        let stem = Some(stem.trim_matches('-')).filter(|stem| !stem.is_empty()).unwrap_or("scenario");
        let mut names = std::iter::once(format!("{stem}.toml"))
            .chain((2..).map(|number: u64| format!("{stem}-{number}.toml")));
        let is_free = |name: &String| fs::symlink_metadata(self.folder.join(name)).is_err();
        names.find(is_free).expect("numbers do not run out")
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Result<String, String> {
        let path = self.folder.join(self.existing(name)?);
        farfield_files::read_text(&path, Bytes(SCENARIO_BYTES_MAX))
            .map_err(|error| format!("{}: {error}", printable(name, &[])))
    }

    /// Writes a file; one that is there only to `replace` it.
    pub fn save(&self, name: &str, text: &str, replace: bool) -> Result<(), String> {
        if !is_scenario_name(name) {
            return Err("write a name that ends in .toml, without slashes, such as shop.toml".to_owned());
        }
        let path = self.folder.join(name);
        if !replace && fs::symlink_metadata(&path).is_ok() {
            return Err(format!("{name} is there already"));
        }
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(format!("{name} is no regular file"));
        }
        let failed = |error: std::io::Error| format!("cannot write {name}: {error}");
        // In one step, so that a run that starts meanwhile reads either text whole.
        let mut draft = tempfile::NamedTempFile::new_in(&self.folder).map_err(failed)?;
        draft.write_all(text.as_bytes()).map_err(failed)?;
        draft.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Checks a text as the file of this name: the scenario of a run with its programs, or what is wrong.
    pub fn check(&self, name: &str, text: &str) -> Result<Value, KeyRefusal> {
        let plan = self.plan(name, text)?;
        Ok(json!({ "resolved": plan.scenario().to_toml(), "programs": programs::json(&plan.starts()) }))
    }

    /// The programs that a run of a file starts. Of a file that is no scenario there are none: its run says
    /// what is wrong, and starts nothing.
    pub fn starts(&self, name: &str) -> Result<Vec<StartedProgram>, String> {
        let text = self.text(name)?;
        Ok(self.plan(name, &text).map(|plan| plan.starts()).unwrap_or_default())
    }

    fn plan(&self, name: &str, text: &str) -> Result<RunPlan, KeyRefusal> {
        let name = if is_scenario_name(name) { name } else { "scenario.toml" };
        let path = self.folder.join(name);
        let read = farfield_scenario::from_text(text, Some(&path), &Overlay::default());
        read.map_err(|error| {
            let at = match &error {
                ScenarioError::Key { key, sentence, .. } => Some(KeyRefusal::at(key, sentence)),
                ScenarioError::Invalid(_) | ScenarioError::Unavailable(_) => None,
            };
            let sentence = Problem::from(error).to_string();
            let folder = format!("{}/", self.folder.display());
            let sentence = sentence.strip_prefix(&folder).unwrap_or(&sentence).to_owned();
            match at {
                Some(at) => at.in_words(sentence),
                None => KeyRefusal::from(sentence),
            }
        })
    }
}

/// True if `name` is that of a scenario file.
fn is_scenario_name(name: &str) -> bool {
    is_plain_name(name) && name.ends_with(".toml") && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_paths_nor_hidden() {
        for name in ["shop.toml", "ä b.toml", "<script>.toml"] {
            assert!(is_scenario_name(name), "{name}");
        }
        for name in [
            "",
            ".toml",
            "..",
            "../a.toml",
            "a/b.toml",
            "/etc/a.toml",
            "a",
            "a\n.toml",
            "a\0.toml",
            ".a.toml",
        ] {
            assert!(!is_scenario_name(name), "{name:?}");
        }
    }

    #[test]
    fn a_file_is_replaced_only_if_asked_for_and_a_link_never() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ScenarioFiles::of(folder.path().to_owned());
        assert_eq!(files.save("a.toml", "seed = 1\n", false), Ok(()));
        assert!(files.save("a.toml", "seed = 2\n", false).is_err());
        assert_eq!(files.text("a.toml").as_deref(), Ok("seed = 1\n"));
        assert_eq!(files.save("a.toml", "seed = 2\n", true), Ok(()));
        assert_eq!(files.text("a.toml").as_deref(), Ok("seed = 2\n"));
        std::os::unix::fs::symlink("a.toml", folder.path().join("link.toml")).expect("a link");
        assert!(files.save("link.toml", "x", true).is_err());
        assert_eq!(files.list(), Ok(vec!["a.toml".to_owned(), "link.toml".to_owned()]));
        assert!(files.text("../a.toml").is_err() && files.text("b.toml").is_err());
    }

    #[test]
    fn a_check_names_file_line_and_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ScenarioFiles::of(folder.path().to_owned());
        let wrong = files.check("s.toml", "name = 'x'\n[load]\nusres = 3").expect_err("a mistake").json();
        let whole = wrong["error"].as_str().expect("a sentence");
        assert!(whole.starts_with("s.toml:3") && whole.contains("`users`"), "{wrong}");
        assert_eq!(wrong["key"], "load.usres");
        let of_flow = "[[flow]]\nname = 'a'\n[[flow]]\nname = 'b'\nload = { users = 0 }";
        let wrong = files.check("s.toml", of_flow).expect_err("a mistake").json();
        assert_eq!(wrong["key"], "flow[1].load.users");
        assert!(wrong["sentence"].as_str().is_some_and(|text| text.starts_with("`users` is 0")), "{wrong}");
        let right = files.check("s.toml", "seed = 7").expect("a scenario");
        assert!(right["resolved"].as_str().is_some_and(|text| text.contains("seed = 7")), "{right}");
    }
}
