//! An open loop at half of what nginx can take: is the intended rate met, and is each request sent on time?
//!
//! farfield's arrivals are a Poisson process, which the others do not offer: theirs are evenly spaced, as the
//! easier task.

use super::generator::farfield::{Farfield, Summary};
use super::generator::h2load::H2load;
use super::generator::oha::Oha;
use super::generator::vegeta::Vegeta;
use super::generator::wrk::Wrk;
use super::generator::{Generator, Pace, Reuse, Version, Work};
use super::lab::{Lab, Measured};
use super::page::Table;
use super::spread::Spread;
use super::{absent, goal};
use anyhow::Result;
use std::collections::BTreeSet;

/// Concurrent connections, for generators that take their number.
const CONNECTIONS: u32 = 64;

/// The largest error of the sent rate.
const RATE_ERROR_MAX: f64 = 0.001;

/// The latest that the 99th percentile of sends may be, in microseconds.
const LATENESS_P99_US_MAX: f64 = 200.0;

/// The runs of one generator.
#[derive(Default)]
struct Runs {
    per_s: Vec<f64>,
    error: Vec<f64>,
    cpu_us: Vec<f64>,
    lateness_p50_us: Vec<f64>,
    lateness_p99_us: Vec<f64>,
    /// The checks that failed in the runs' verdicts.
    doubts: BTreeSet<String>,
}

/// Measures nginx's capacity, then offers half of it.
pub fn half_of_capacity(lab: &Lab) -> Result<String> {
    let (there, absent_text) = absent(lab, &[&Farfield, &Oha, &Vegeta, &H2load]);
    let nginx = lab.nginx()?;
    let closed = Work {
        url: nginx.url("/1k"),
        connections: CONNECTIONS,
        seconds: lab.extent.seconds,
        pace: Pace::Closed,
        reuse: Reuse::KeepAlive,
        version: Version::Http1,
    };
    let capacity = capacity(lab, &closed)?;
    let per_s = (capacity / 200.0) as u32 * 100;
    let open = Work { pace: Pace::Open(per_s), ..closed };

    let heads =
        ["generator", "sent/s", "off by", "lateness p50, µs", "lateness p99, µs", "CPU a request, µs"];
    let mut table = Table::new(&heads);
    let mut goals = String::new();
    for &generator in &there {
        let is_ours = generator.name() == Farfield.name();
        let mut runs = Runs::default();
        for _ in 0..lab.extent.pairs {
            let (measured, output) = lab.drive(generator, &open)?;
            runs.add(&measured, f64::from(per_s), is_ours.then(|| Summary::parse(&output)).transpose()?)?;
        }
        if is_ours {
            goals = runs.goals();
        }
        table.row(runs.row(generator.name()));
    }
    Ok(format!(
        "nginx takes {capacity:.0} requests a second (closed loop, {CONNECTIONS} connections); {per_s} are offered.\n\n\
         {}\n\
         Lateness is from when a request was due to when it was sent; the others do not report theirs. A generator's\n\
         rate is off by what it sent or completed against what was intended; farfield's against the arrivals that\n\
         its Poisson process had.\n{absent_text}\n{goals}",
        table.to_markdown()
    ))
}

/// Requests a second that nginx takes from the best closed loop there is.
fn capacity(lab: &Lab, closed: &Work) -> Result<f64> {
    let (there, _) = absent(lab, &[&Farfield, &Wrk]);
    let mut best: f64 = 0.0;
    for generator in there {
        let mut per_s = Vec::new();
        for _ in 0..lab.extent.pairs {
            per_s.push(lab.drive(generator, closed)?.0.report.per_s);
        }
        best = best.max(Spread::of(per_s).median);
    }
    Ok(best)
}

impl Runs {
    fn add(&mut self, measured: &Measured, intended_per_s: f64, ours: Option<Summary>) -> Result<()> {
        self.cpu_us.push(measured.cpu_us_per_request());
        let (sent, intended) = match &ours {
            None => (measured.report.per_s, intended_per_s),
            Some(summary) => {
                (summary.number("/steady/rates/sent_per_s")?, summary.number("/steady/rates/offered_per_s")?)
            }
        };
        self.per_s.push(sent);
        self.error.push((sent / intended - 1.0).abs());
        if let Some(summary) = &ours {
            self.lateness_p50_us.push(summary.quantile_us("/generator/lateness", "p50")?);
            self.lateness_p99_us.push(summary.quantile_us("/generator/lateness", "p99")?);
            self.doubts.extend(summary.failed_checks());
        }
        Ok(())
    }

    fn row(&self, name: &str) -> [String; 6] {
        let cell = |values: &[f64]| match values {
            [] => "—".to_owned(),
            values => format!("{:.0}", Spread::of(values.iter().copied())),
        };
        [
            name.to_owned(),
            cell(&self.per_s),
            percent(Spread::of(self.error.iter().copied())),
            cell(&self.lateness_p50_us),
            cell(&self.lateness_p99_us),
            Spread::of(self.cpu_us.iter().copied()).to_string(),
        ]
    }

    fn goals(&self) -> String {
        let error = Spread::of(self.error.iter().copied());
        let lateness = Spread::of(self.lateness_p99_us.iter().copied());
        let doubts: Vec<&str> = self.doubts.iter().map(String::as_str).collect();
        let doubts = if doubts.is_empty() { "none".to_owned() } else { doubts.join(", ") };
        goal("intended rate met to 0.1 %", &percent(error), error.median <= RATE_ERROR_MAX)
            + &goal(
                "send lateness p99 at most 200 µs",
                &format!("{lateness:.0} µs"),
                lateness.median <= LATENESS_P99_US_MAX,
            )
            + &goal("failed checks of farfield's own verdicts: none", &doubts, self.doubts.is_empty())
    }
}

fn percent(share: Spread) -> String {
    let Spread { median, min, max } = share;
    format!("{:.3} %", Spread { median: median * 100.0, min: min * 100.0, max: max * 100.0 })
}

#[cfg(test)]
mod tests {
    use super::super::generator::Report;
    use super::*;
    use xtask::hold::usage::Usage;

    fn measured(per_s: f64) -> Measured {
        let usage = Usage { user_us: 4000, system_us: 1000, peak_kib: 0 };
        Measured { report: Report { completed: 1000, failed: 0, per_s }, usage }
    }

    #[test]
    fn others_are_held_against_what_was_asked() {
        let mut runs = Runs::default();
        runs.add(&measured(990.0), 1000.0, None).unwrap();
        let row = runs.row("oha");
        assert_eq!(row[2], "1.000 (1.000–1.000) %");
        assert_eq!(row[3], "—");
        assert_eq!(row[5], "5.00 (5.00–5.00)");
    }

    #[test]
    fn ours_is_held_against_its_arrivals() {
        let text = r#"{ "steady": { "rates": { "sent_per_s": 1009.0, "offered_per_s": 1010.0 } },
            "verdict": { "checks": [ { "name": "lateness", "state": "failed" } ] },
            "generator": { "lateness": { "quantiles": [
                { "name": "p50", "value_ns": 20000 }, { "name": "p99", "value_ns": 250000 } ] } } }"#;
        let mut runs = Runs::default();
        runs.add(&measured(1009.0), 1000.0, Some(Summary::parse(text).unwrap())).unwrap();
        let goals = runs.goals();
        assert!(goals.contains("0.099 (0.099–0.099) %, met"), "{goals}");
        assert!(goals.contains("250 (250–250) µs, missed"), "{goals}");
        assert!(goals.contains("Measured: lateness, missed"), "{goals}");
    }
}
