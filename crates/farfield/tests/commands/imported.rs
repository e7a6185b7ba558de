//! Scenarios that `farfield import` makes of what people have, run before a server that counts: what arrives
//! is what is in the document, and what does not is said.

mod curl;
mod har;
mod hostile;
mod jmeter;
mod openapi;
mod postman;
mod server;

use crate::common::{Ended, Place};
use server::{Arrived, Server};
use std::cell::Cell;

/// Imports the document, and runs what comes of it for so many sessions.
struct Run {
    place: Place,
    server: Server,
    /// Runs so far, each with a directory of its own.
    runs: Cell<u32>,
}

impl Run {
    fn new() -> Run {
        Run { place: Place::new(), server: Server::new(), runs: Cell::new(0) }
    }

    /// `farfield import` with these words, the scenario in `made.toml`.
    fn import(&self, words: &[&str]) -> Ended {
        let words: Vec<&str> = ["import", "-o", "made.toml"].iter().chain(words).copied().collect();
        self.place.farfield_with(&words)
    }

    /// The scenario as it was made.
    fn scenario(&self) -> String {
        std::fs::read_to_string(self.place.path("made.toml")).expect("it was made")
    }

    /// Runs the scenario; what arrived, in order.
    fn run(&self, more: &str) -> Vec<Arrived> {
        // The time that a busy machine takes is no part of this.
        let calm =
            "-q --set verdict.lateness-p99=1m --set verdict.longest-stall=1m --no-monitor --samples none";
        self.runs.set(self.runs.get() + 1);
        let ended = self.place.farfield(&format!("run made.toml {calm} {more} -o run-{}", self.runs.get()));
        // An invalid verdict is no failure here, and one that could not begin is.
        assert!(
            [Some(0), Some(3)].contains(&ended.code),
            "{}\n{}\n{}",
            ended.stdout,
            ended.stderr,
            self.scenario()
        );
        self.server.take()
    }

    /// Imports a document and runs one session; what arrived as lines of method, target and body.
    #[track_caller]
    fn lines(&self, name: &str, text: &str, more: &[&str]) -> (Ended, Vec<String>) {
        self.place.write(name, text.replace("SERVER", &self.server.address));
        let words: Vec<&str> = std::iter::once(name).chain(more.iter().copied()).collect();
        let ended = self.import(&words).exits(0);
        let arrived = self.run("--sessions 1 -c 1");
        (ended, arrived.iter().map(Arrived::line).collect())
    }
}

/// Holds that all parts are in what was said.
#[track_caller]
fn says(ended: &Ended, parts: &[&str]) {
    for part in parts {
        assert!(ended.stderr.contains(part), "`{part}` is not in: {}", ended.stderr);
    }
}

/// A file that `run` is given and does not run is named, with the command that makes a scenario of it; import
/// says what it needs.
#[test]
fn run_says_what_to_import() {
    let place = Place::new();
    for (name, text, part) in [
        ("plan.jmx", "<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\"/>", "a JMeter plan"),
        ("shop.json", "{\"info\": {\"name\": \"x\"}, \"item\": []}", "a Postman collection"),
        ("api.yaml", "openapi: 3.0.3\npaths: {}\n", "an OpenAPI document"),
        ("api.json", "{\"swagger\": \"2.0\"}", "an OpenAPI document"),
        ("cmd.sh", "#!/bin/sh\ncurl http://127.0.0.1:1/\n", "a curl command"),
    ] {
        place.write(name, text);
        place.farfield(&format!("run {name} -q")).exits(2).says(&[
            name,
            part,
            &format!("`farfield import {name} -o "),
        ]);
    }
    place.write("other.txt", "hello");
    place.farfield("import other.txt").exits(2).says(&["other.txt", "`--from`"]);
    place.farfield("import none.json").exits(1).says(&["none.json"]);
    place.write("api.yaml", "openapi: 3.0.3\npaths:\n  /a:\n    get: {}\n");
    place.farfield("import api.yaml").exits(2).says(&["api.yaml", "`--target URL`"]);
}
