//! Plants 45 errors in a run and asks a farfield about each: `verify_planted FARFIELD RUN FOLDER`.
//!
//! For each error a copy of the run is made in FOLDER, and removed when it was verified. A row says whether
//! it was found, where it was planted, and what it is.

use farfield_testkit::planted;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [farfield, run, folder] = &arguments[..] else {
        eprintln!("usage: verify_planted FARFIELD RUN FOLDER");
        return ExitCode::from(2);
    };
    fs::create_dir_all(folder).expect("a folder");
    for (number, error) in planted::errors().iter().enumerate() {
        let to = folder.join(number.to_string());
        planted::plant(error, run, &to).expect("a copy of the run");
        let output = Command::new(farfield).arg("verify").arg(&to).output().expect("farfield");
        let result = match output.status.code() {
            Some(0) => "missed",
            Some(3) => "found",
            code => panic!("{}: {code:?}: {}", error.what, String::from_utf8_lossy(&output.stderr)),
        };
        println!("{result} {} {}", error.place.name(), error.what);
        let said = String::from_utf8_lossy(&output.stdout);
        let names = said.lines().filter_map(|line| line.trim_start().strip_prefix("! "));
        eprintln!("  {}", names.collect::<Vec<_>>().join(", "));
        fs::remove_dir_all(&to).expect("own folder");
    }
    ExitCode::SUCCESS
}
