//! Words for scenes of a rendezvous: a gatherer, and parts that join it, all on this machine.

use crate::common::{CALM, Ended, Place, Running, poll, try_poll};
use farfield_base::Sample;
use std::fs;
use std::time::Duration;

/// Parts join and are ready in a second, and in a minute on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// A gatherer that listens.
pub struct Gathering {
    pub running: Running,
    pub address: String,
}

impl Gathering {
    /// Begins it for the scenario `s.toml`, with its ticket in `ticket` and the whole in `whole`.
    pub fn begin(place: &Place, words: &str) -> Gathering {
        let listening = "--listen 127.0.0.1:0 --ticket ticket -o whole";
        Gathering::of(place.begin(&format!("gather s.toml {listening} {words} {CALM}")))
    }

    /// Waits for its address.
    pub fn of(running: Running) -> Gathering {
        let address = poll("the gatherer to listen", || {
            let said = running.said();
            let (_, rest) = said.split_once("are to join at ")?;
            Some(rest.split_once(": ")?.0.to_owned())
        });
        Gathering { running, address }
    }

    /// A part that joins.
    pub fn join(&self, place: &Place, words: &str) -> Running {
        place.begin(&format!("run --join {} --ticket ticket {words}", self.address))
    }

    /// Waits until it has said `words`; where it does not, what it said instead is what one wants to know.
    #[track_caller]
    pub fn await_words(&self, words: &str) {
        let found = try_poll(PATIENCE, || self.running.said().contains(words).then_some(()));
        assert!(found.is_some(), "`{words}` is not in: {}", self.running.said());
    }

    /// Its end, with the run directory of the whole.
    pub fn ended(self, place: &Place) -> Ended {
        Ended { directory: place.path("whole"), ..self.running.ended() }
    }
}

/// A scenario of so many requests a second at `url`.
pub fn open(url: &str, duration: &str) -> String {
    format!(
        "target = '{url}/'\n[run]\nduration = '{duration}'\nwarm-up = '200ms'\n[load]\nmodel = 'open'\narrivals = '400/s'\n"
    )
}

/// Samples as text, in an order of their own.
pub fn sorted(samples: Vec<Sample>) -> Vec<String> {
    let mut lines: Vec<String> = samples.iter().map(|sample| format!("{sample:?}")).collect();
    lines.sort();
    lines
}

/// The files of a part that has kept what it measured.
pub fn has_samples(ended: &Ended, place: &Place, directory: &str) -> bool {
    let part = Ended {
        directory: place.path(directory),
        stdout: String::new(),
        stderr: ended.stderr.clone(),
        ..*ended
    };
    fs::metadata(part.directory.join("summary.json")).is_ok() && !part.samples().is_empty()
}
