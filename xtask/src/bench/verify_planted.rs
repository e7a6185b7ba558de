//! Findings of `farfield verify`: 45 errors planted in a run of each plane, its summary and its capture, and
//! nothing in 200 runs in which there is none.
//!
//! The errors are planted by an example of the crate `farfield`, which asks the program that is measured
//! about each. A clean run is compared with its packets at its end. That it disagrees with them is a false
//! alarm, unless the run says by other checks that the machine held it up: then times may be wrong.

use super::goal;
use super::lab::{self, Lab};
use super::page::Table;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::process;

/// Clean runs of each plane.
const CLEAN: usize = 200;
/// Planted errors.
const ERRORS: usize = 45;
/// Places of errors, as the example names them.
const PLACES: [&str; 4] = ["summary", "samples", "clock", "capture"];
/// The check of the verdict.
const CHECK: &str = "capture-agrees";

/// Sessions of three requests over two seconds: some 400 requests.
const LOAD: &str = "[load]\nmodel = 'hybrid'\narrivals = '60/s'\nrequests = 3\nthink = '20ms'\n\
    [run]\nwarm-up = '300ms'\nduration = '2s'\n";

/// A plane, and a scenario for it.
struct Plane {
    name: &'static str,
    scenario: String,
}

fn planes(origin: &str) -> [Plane; 3] {
    let plane = |name, scenario| Plane { name, scenario };
    let network = "[network]\nclients = 10\nrtt = '10ms'\n";
    let path = "[[requests.request]]\npath = '/bytes/1000'\n";
    [
        plane("sockets", format!("target = '{origin}'\n{LOAD}{path}[capture]\ngateway = true\n")),
        plane(
            "emulated",
            format!(
                "plane = 'emulated'\n{LOAD}{path}{network}[capture]\nclients = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
            ),
        ),
        plane(
            "simulated",
            format!(
                "plane = 'simulated'\n{LOAD}{network}[simulated]\nworkers = 4\nservice-time = '1ms'\n\
                 reply-size = '1kB'\n[capture]\ngateway = true\n"
            ),
        ),
    ]
}

/// Findings on one plane.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// Errors planted and found, by place.
    by_place: BTreeMap<String, [usize; 2]>,
    missed: Vec<String>,
    clean: usize,
    /// Clean runs that disagree with their packets, and are late by no other check.
    alarms: usize,
    /// Those that are late by another check as well.
    late: usize,
    /// Findings of both, with their number.
    names: BTreeMap<String, usize>,
}

/// Plants errors in a run of each plane, and counts what is found in clean ones.
pub fn on_each_plane(lab: &Lab) -> Result<String> {
    let example = lab::example(lab, "verify_planted")?;
    let origin = lab.origin_anywhere(&[])?;
    let mut heads = vec!["plane", "found"];
    heads.extend(PLACES);
    heads.extend(["clean runs", "false alarms", "late"]);
    let mut table = Table::new(&heads);
    let (mut notes, mut goals) = (String::new(), String::new());
    for plane in planes(&origin.url("/")) {
        let found = plane.measure(lab, &example)?;
        let sum = |at: usize| found.by_place.values().map(|counts| counts[at]).sum::<usize>();
        let of = |[caught, planted]: [usize; 2]| format!("{caught} of {planted}");
        let mut row = vec![plane.name.to_owned(), of([sum(0), sum(1)])];
        row.extend(PLACES.map(|place| of(found.by_place.get(place).copied().unwrap_or_default())));
        row.extend([found.clean, found.alarms, found.late].map(|count| count.to_string()));
        table.row(row);
        for missed in &found.missed {
            notes += &format!("- Not found on the {} plane: {missed}.\n", plane.name);
        }
        for (name, count) in &found.names {
            notes += &format!("- Found in {count} clean runs of the {} plane: `{name}`.\n", plane.name);
        }
        goals += &goal(
            &format!("all {ERRORS} found on the {} plane, no false alarm", plane.name),
            &format!("{}, {}", sum(0), found.alarms),
            sum(0) == ERRORS && found.alarms == 0,
        );
    }
    Ok(format!("{}\n{notes}\n{goals}", table.to_markdown()))
}

impl Plane {
    fn measure(&self, lab: &Lab, example: &Path) -> Result<Found> {
        let folder = lab.scratch().join(format!("verify-{}", self.name));
        fs::create_dir_all(&folder)?;
        let file = folder.join("scenario.toml");
        fs::write(&file, &self.scenario)?;
        let mut found = Found::default();
        let planted = self.planted_run(lab, &file, &folder)?;
        let mut command = Command::new(example);
        command.arg(lab.farfield()).arg(&planted).arg(folder.join("planted"));
        eprintln!("  {}", process::words(&command));
        found.read(&String::from_utf8_lossy(&process::output(&mut command)?))?;
        let runs = if lab.extent.quick { 3 } else { CLEAN };
        for seed in 1..=runs {
            let directory = run(lab, &file, &folder.join("clean"), seed)?;
            found.add(&directory)?;
            fs::remove_dir_all(directory)?;
        }
        Ok(found)
    }

    /// A run that agrees with its packets, to plant errors in; of a few, where the machine holds some up.
    fn planted_run(&self, lab: &Lab, file: &Path, folder: &Path) -> Result<PathBuf> {
        for turn in 1..=10 {
            let directory = run(lab, file, &folder.join(format!("run-{turn}")), turn)?;
            if state_of_check(&directory)?.as_deref() == Some("passed") {
                return Ok(directory);
            }
        }
        bail!("no run of the {} plane agrees with its packets", self.name)
    }
}

/// Runs the scenario with this seed into `to`.
fn run(lab: &Lab, file: &Path, to: &Path, seed: usize) -> Result<PathBuf> {
    let mut command = Command::new(lab.farfield());
    command.arg("run").arg(file).args(["-q", "--seed", &seed.to_string(), "-o"]).arg(to);
    let output = command.stdin(Stdio::null()).output().context("cannot start farfield")?;
    if !matches!(output.status.code(), Some(0 | 3)) {
        bail!("`{}` failed: {}", process::words(&command), String::from_utf8_lossy(&output.stderr));
    }
    Ok(to.to_owned())
}

fn json(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}

fn checks(directory: &Path) -> Result<Vec<(String, String)>> {
    let summary = json(&directory.join("summary.json"))?;
    let checks = summary.pointer("/verdict/checks").and_then(Value::as_array).cloned().unwrap_or_default();
    let word = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    Ok(checks.iter().map(|check| (word(check, "name"), word(check, "state"))).collect())
}

fn state_of_check(directory: &Path) -> Result<Option<String>> {
    Ok(checks(directory)?.into_iter().find(|(name, _)| name == CHECK).map(|(_, state)| state))
}

impl Found {
    /// Reads the rows that the example prints: `found` or `missed`, the place, and the error in words.
    fn read(&mut self, output: &str) -> Result<()> {
        for line in output.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(result), Some(place), Some(what)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            if !PLACES.contains(&place) {
                continue;
            }
            let counts = self.by_place.entry(place.to_owned()).or_default();
            counts[0] += usize::from(result == "found");
            counts[1] += 1;
            if result != "found" {
                self.missed.push(what.to_owned());
            }
        }
        let planted: usize = self.by_place.values().map(|counts| counts[1]).sum();
        if planted != ERRORS {
            bail!("the example planted {planted} errors in place of {ERRORS}:\n{output}");
        }
        Ok(())
    }

    /// Counts a clean run.
    fn add(&mut self, directory: &Path) -> Result<()> {
        self.clean += 1;
        let failed: Vec<String> = checks(directory)?
            .into_iter()
            .filter(|(_, state)| state == "failed")
            .map(|(name, _)| name)
            .collect();
        if !failed.iter().any(|name| name == CHECK) {
            return Ok(());
        }
        if failed.len() == 1 {
            self.alarms += 1
        } else {
            self.late += 1
        }
        let verified = json(&directory.join("verify.json"))?;
        for finding in verified["findings"].as_array().into_iter().flatten() {
            if finding["disagrees"] == true {
                let name = finding["name"].as_str().unwrap_or_default().to_owned();
                *self.names.entry(name).or_default() += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_must_be_all() {
        let mut found = Found::default();
        let mut output: String = (0..44).map(|n| format!("found summary error {n}\n")).collect();
        assert!(Found::default().read(&output).is_err());
        output += "missed clock packets 50 µs later\n";
        found.read(&output).unwrap();
        assert_eq!(found.by_place["summary"], [44, 44]);
        assert_eq!(
            (found.by_place["clock"], &found.missed[..]),
            ([0, 1], &["packets 50 µs later".to_owned()][..])
        );
    }
}
