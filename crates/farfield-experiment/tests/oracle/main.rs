//! Searches for capacity against the reference library of MLRsearch (RFC 9971), `MLRsearch` of PyPI: given
//! the same outcomes of trials, both find the same bounds.

use farfield_base::Duration;
use farfield_experiment::report::Method;
use farfield_experiment::{
    Answer, GoalReading, Needs, Observed, Runner, SearchPlan, Stop, Throughput, Trial, Validity, search,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The width of the bounds that both look for, over the lower one.
const WIDTH: f64 = 0.01;
/// The share that may be lost.
const LOSS: f64 = 0.001;

/// A server that loses what is beyond its capacity.
struct Server {
    capacity: f64,
}

impl Runner for Server {
    fn run(&mut self, trial: &Trial) -> Result<Observed, Stop> {
        let loss = (1.0 - self.capacity / trial.load).max(0.0);
        let margin = if loss > 0.0 { (LOSS / loss).min(4.0) } else { 4.0 };
        let goal = GoalReading {
            goal: "errors<0.1%".to_owned(),
            measured: Some(loss),
            margin,
            kept: loss <= LOSS,
            beyond_share: None,
            allowed_share: None,
            requests_needed: 1,
            ..GoalReading::default()
        };
        Ok(Observed {
            validity: Validity::Valid,
            offered_per_s: trial.load,
            requests: u64::MAX,
            achieved_per_s: trial.load * (1.0 - loss),
            body_bytes_per_s: 0.0,
            median_ns: None,
            p99_ns: None,
            error_share: Some(loss),
            goals: vec![goal],
            backlog_share: 0.0,
            gave_out: None,
            warm_up_ns: 0,
            settled_ns: None,
            end_ns: 0,
            halves_ratio: None,
            directory: PathBuf::new(),
            took_s: trial.length.as_secs_f64(),
        })
    }
}

fn bounds(capacity: f64) -> [f64; 2] {
    let plan = SearchPlan {
        experiment: "capacity".to_owned(),
        goals: vec!["errors<0.1%".to_owned()],
        peak_of: Throughput::Requests,
        key: "load.arrivals".to_owned(),
        unit: "requests/s".to_owned(),
        whole: false,
        from: 100.0,
        to: None,
        generator: None,
        length: Duration::from_secs(4),
        needs: Needs::default(),
        precision: WIDTH,
        budget: Duration::from_secs(600),
        first_budget: None,
        seed: 1,
    };
    match search(&plan, &mut Server { capacity }).answer {
        Answer::Found { low, high, method: Method::Bounds, .. } => [low, high],
        other => panic!("{other:?}"),
    }
}

/// The bounds that the library finds; `None` where Python has none.
fn reference(capacities: &[f64]) -> Option<Vec<[f64; 2]>> {
    let python = || Command::new(std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into()));
    let may_import = python().args(["-c", "import MLRsearch"]).output();
    may_import.ok().filter(|output| output.status.success())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/mlrsearch.py");
    let output = python().arg(script).args(capacities.iter().map(f64::to_string)).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let numbers = text.split_whitespace().map(|number| number.parse::<f64>().expect("a number"));
    Some(numbers.collect::<Vec<f64>>().chunks_exact(2).map(|two| [two[0], two[1]]).collect())
}

/// Lower and upper bounds of both lie within the width of each other, on both sides of the load at which a
/// thousandth is lost.
#[test]
fn the_reference_library_finds_the_same_bounds() {
    let capacities = [2.5, 12.3, 104.0, 800.0, 5_431.0, 45_678.0];
    let Some(reference) = reference(&capacities) else {
        return farfield_testkit::skip("the_reference_library_finds_the_same_bounds", "no MLRsearch of PyPI");
    };
    assert_eq!(reference.len(), capacities.len());
    for (capacity, theirs) in capacities.into_iter().zip(reference) {
        let ours = bounds(capacity);
        let most = capacity / (1.0 - LOSS);
        for [low, high] in [ours, theirs] {
            // Loads have four digits here, and steps of their width there.
            assert!(low <= most * 1.0005 && most <= high * 1.0005, "{low} to {high}: {most}");
            assert!(high <= low * (1.0 + WIDTH) * 1.001, "{low} to {high}");
        }
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            assert!((ours / theirs - 1.0).abs() <= WIDTH * 1.1, "{ours} is not {theirs}, of {capacity}");
        }
    }
}
