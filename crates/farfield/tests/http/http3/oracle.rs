//! HTTP/3 before aioquic, which shares nothing with farfield's clients: replies of every form, and servers
//! that do what none should, each with its name.

use super::{TRUSTING, connections};
use crate::common::caddy::free_on_both;
use crate::common::secure::{Authority, VALID};
use crate::common::{Ended, Place, Process, Signal, count, poll};
use farfield_base::Outcome;
use std::fs;
use std::net::SocketAddr;
use std::process::Command;

struct Oracle {
    place: Place,
    process: Process,
    address: SocketAddr,
}

impl Oracle {
    fn start(test: &str) -> Option<Oracle> {
        let python = std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into());
        let can = Command::new(&python).args(["-c", "import aioquic"]).output();
        if !can.is_ok_and(|output| output.status.success()) {
            farfield_testkit::skip(test, "python3 cannot import aioquic");
            return None;
        }
        let place = Place::new();
        Authority::new(&place).certify(&place, "shop.test", VALID);
        let address = free_on_both();
        let [script, log] = [place.write("oracle.py", include_str!("oracle.py")), place.path("oracle.log")];
        let mut command = Command::new(python);
        command.arg(script).arg(address.port().to_string());
        command.args([place.path("shop.test.pem"), place.path("shop.test.key")]);
        command.stdout(fs::File::create(log).expect("own file"));
        command.stderr(fs::File::create(place.path("oracle.err")).expect("own file"));
        let process = Process::start(&mut command, &place);
        let mut oracle = Oracle { place, process, address };
        poll("aioquic to listen", || {
            if oracle.asked().first().is_some_and(|line| line == "ready") {
                return Some(());
            }
            let errors = fs::read_to_string(oracle.place.path("oracle.err")).unwrap_or_default();
            oracle.process.ended().map(|ended| panic!("aioquic ended: {ended}: {errors}"))
        });
        Some(oracle)
    }

    /// Its log: the line that says that it is ready, then the requests to it.
    fn asked(&self) -> Vec<String> {
        let text = fs::read_to_string(self.place.path("oracle.log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn run(&self, path: &str, words: &str) -> Ended {
        self.place.run(&format!("https://{}{path} {TRUSTING} {words}", self.address))
    }

    fn end(mut self) {
        self.process.signal(Signal::TERM);
        self.process.wait();
    }
}

/// Everything is answered, and as often as the server was asked.
#[test]
fn replies_of_every_form_are_read() {
    let Some(oracle) = Oracle::start("replies_of_every_form_are_read") else { return };
    for path in ["/plain", "/reserved", "/interim", "/goaway"] {
        for words in ["", "--policy one-request", "--policy multiplexed --set connections.streams=5"] {
            let before = oracle.asked().len();
            let ended = oracle.run(path, &format!("-n 20 -c 2 {words}")).exits(0);
            let samples = ended.samples();
            let read = |own: &&farfield_base::Sample| own.outcome == Outcome::Ok && own.body_bytes == 4096;
            assert_eq!(samples.iter().filter(read).count(), samples.len(), "{path} {words}: {samples:?}");
            let asked = oracle.asked().len() - before;
            match path {
                // Requests that it has read, and said that it will not process, were sent twice.
                "/goaway" => {
                    assert!(asked >= samples.len() && connections(&samples) > 2, "{asked}: {samples:?}")
                }
                _ => assert_eq!(asked, samples.len(), "{path} {words}"),
            }
        }
    }
    oracle.end();
}

#[test]
fn what_no_server_should_do_is_named() {
    let Some(oracle) = Oracle::start("what_no_server_should_do_is_named") else { return };
    for (path, outcome) in [
        ("/reset", Outcome::Reset),
        ("/endless", Outcome::TimedOut),
        ("/bomb", Outcome::HeadTooLarge),
        ("/settings-twice", Outcome::BadFrame),
        ("/wrong-length", Outcome::Truncated),
        ("/too-many-streams", Outcome::BadQuic),
    ] {
        let ended = oracle.run(path, "-n 4 -c 2 --set connections.request-timeout=500ms").exits(3);
        let summary = ended.summary();
        let all = summary.steady.requests;
        assert!(all >= 4 && count(&summary.steady, outcome) == all, "{path}: {:?}", summary.steady.outcomes);
    }
    // It has lived through all of that.
    oracle.run("/plain", "-n 4 -c 2").exits(0);
    oracle.end();
}
