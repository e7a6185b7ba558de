//! The largest rate at which the emulated plane is on time with its defaults: nine runs of ten are valid.
//!
//! A ladder of rates is climbed with one run each until one is invalid; then the highest valid rung is run up
//! to ten times, and where two of them are invalid the one below. At half of what is asked for, lateness is
//! measured.

use super::far::Far;
use super::generator::Reuse;
use super::generator::farfield::{Invalid, Summary};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::Result;

/// Runs at a rate, and how many of them must be valid.
const RUNS: usize = 10;
const VALID: usize = 9;
/// Seconds of a run that are measured: what makes a run invalid shows in each second of it.
const SECONDS: u32 = 2;

/// The criterion for one way of using connections.
struct Case {
    reuse: Reuse,
    words: &'static str,
    asked_per_s: u32,
    step_per_s: u32,
}

const CASES: [Case; 2] = [
    Case { reuse: Reuse::OneRequest, words: "a connection each", asked_per_s: 16_000, step_per_s: 2_000 },
    Case { reuse: Reuse::KeepAlive, words: "kept alive", asked_per_s: 40_000, step_per_s: 5_000 },
];

/// 10,000 clients at 50 ms, 1 KB.
pub fn largest(lab: &Lab) -> Result<String> {
    let mut table = Table::new(&[
        "10,000 clients at 50 ms",
        "valid up to, 1/s",
        "late p99 there, µs",
        "late p99 at half, µs",
    ]);
    let (mut goals, mut invalid) = (String::new(), Invalid::default());
    for case in &CASES {
        let rungs = Rungs { lab, case };
        let (per_s, late) = rungs.climb(&mut invalid)?;
        let half = case.asked_per_s / 2;
        let half_late =
            (0..lab.extent.pairs).map(|_| late_us(&rungs.run(half)?)).collect::<Result<Vec<f64>>>()?;
        let half_late = Spread::of(half_late);
        let words = case.words;
        table.row([
            words.to_owned(),
            per_s.to_string(),
            late.map_or("—".to_owned(), |late| format!("{late:.0}")),
            format!("{half_late:.0} at {half}"),
        ]);
        let asked = case.asked_per_s;
        goals +=
            &goal(&format!("{words}, valid at {asked}/s or more"), &format!("{per_s}/s"), per_s >= asked);
        let asked = format!("{words}, lateness p99 at most 100 µs at {half}/s");
        goals += &goal(&asked, &format!("{half_late:.0} µs"), half_late.median <= 100.0);
    }
    Ok(format!(
        "Valid: {VALID} of {} runs of {SECONDS} s. Defaults only.\n\n{}\n{}\n\n{goals}",
        runs(lab),
        table.to_markdown(),
        invalid.in_words()
    ))
}

fn runs(lab: &Lab) -> usize {
    if lab.extent.quick { 2 } else { RUNS }
}

fn late_us(summary: &Summary) -> Result<f64> {
    summary.quantile_us("/network/departure_lateness", "p99")
}

/// The rates of one case.
struct Rungs<'a> {
    lab: &'a Lab,
    case: &'a Case,
}

impl Rungs<'_> {
    fn run(&self, per_s: u32) -> Result<Summary> {
        let rest = format!(
            "[load]\nmodel = \"open\"\narrivals = \"{per_s}/s\"\n[network]\nclients = 10000\nrtt = \"50ms\"\n"
        );
        Far { reuse: self.case.reuse, seconds: SECONDS, ..Far::of(self.lab, &rest) }.run(self.lab)
    }

    /// The largest valid rate and how late it was, 0 if even the lowest rung was invalid; counts in `invalid`
    /// which checks failed.
    fn climb(&self, invalid: &mut Invalid) -> Result<(u32, Option<Spread>)> {
        let Case { asked_per_s, step_per_s, .. } = *self.case;
        let mut rung = asked_per_s;
        while rung < 2 * asked_per_s && invalid.add(&self.run(rung + step_per_s)?) {
            rung += step_per_s;
        }
        while rung > 0 {
            let mut late = Vec::new();
            let mut bad = 0;
            let runs = runs(self.lab);
            // One of ten may be invalid; with fewer runs none.
            let bad_max = if runs == RUNS { RUNS - VALID } else { 0 };
            while late.len() < runs && bad <= bad_max {
                let summary = self.run(rung)?;
                late.push(late_us(&summary)?);
                bad += usize::from(!invalid.add(&summary));
            }
            if bad <= bad_max {
                return Ok((rung, Some(Spread::of(late))));
            }
            rung = rung.saturating_sub(step_per_s);
        }
        Ok((0, None))
    }
}
