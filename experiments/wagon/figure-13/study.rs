//! WAGON's figure 13 and section 4.1: the same traffic with gaps, clicks and think times constant at their
//! means.

use crate::page::{Claim, Page, Table};
use crate::study::marginal;
use crate::study::memory::{Memory, line_of, mean, variance_curve};
use crate::study::setting::Setting;
use crate::study::traffic::Traffic;
use crate::study::traffic::run::{Ran, Run};
use anyhow::{Context, Result};
use farfield_base::Duration;
use farfield_fit::Ranking;
use farfield_fit::series::{autocorrelation, white_noise_band};
use farfield_report::chart::{Axis, Chart, Mark, Series};

const RATE: f64 = 8.0;
const LAGS: usize = 100;
/// The largest distance from 0 of a correlation that counts as close to it.
const CLOSE: f64 = 0.1;

/// One kind of traffic, measured over seeds.
struct Seen {
    name: &'static str,
    /// Of requests in slots of 1 s.
    memory: Vec<Memory>,
    /// Correlations of requests a second.
    correlations: Vec<Vec<f64>>,
    /// Distributions of requests a second, and of gaps between requests.
    counts: Vec<Ranking>,
    gaps: Vec<Ranking>,
    requests_a_second: f64,
    doubts: Vec<String>,
    /// Of the first seed.
    series: Vec<f64>,
}

/// Runs the study.
pub fn study(setting: &Setting) -> Result<Page> {
    let seeds = setting.pick(1, 2);
    let (warm_up, duration) = setting.pick((300, 600), (1_800, 3_600));
    let run = |traffic, seed| Run {
        traffic,
        seed,
        warm_up: Duration::from_secs(warm_up),
        duration: Duration::from_secs(duration),
        shared: "100Mbit",
        has_packets: false,
    };
    let made = |name, traffic| -> Result<Seen> {
        let runs = (1..=seeds).map(|seed| run(traffic, seed).made(setting)).collect::<Result<Vec<_>>>()?;
        Seen::of(name, &runs)
    };
    let constant = made("constant", Traffic::constant(RATE))?;
    let random = made("random", Traffic::random(RATE))?;
    let band = white_noise_band(constant.series.len());
    let doubts: Vec<&str> = constant.doubts.iter().chain(&random.doubts).map(String::as_str).collect();
    let verdict = if doubts.is_empty() {
        "all call themselves valid".to_owned()
    } else {
        format!("not all are valid: {}", doubts.join(", "))
    };
    Ok(Page {
        title: "The same traffic with everything constant".to_owned(),
        source: "Liu, Niclausse, Jalpa-Villanueva and Barbier 1999, \"Traffic model and performance evaluation of Web \
                 servers\", section 4.1 and figure 13".to_owned(),
        saw: SAW.to_owned(),
        here: format!(
            "The runs of [wagon-figure-6](../figure-6/page.md), {duration} s after {warm_up} s with seeds 1 to {seeds}, once as they are and once \
             with a session every 125 ms, five clicks and 36.78 s between them; {verdict}. Users still walk the site by chance, and \
             pages, their sizes and what they embed are the same."
        ),
        claims: claims(&constant, &random),
        noticed: noticed(&constant, &random, band),
        tables: vec![
            memory_table(&[&constant, &random]),
            correlation_table(&[&constant, &random], band),
            marginal::table("Constant traffic, requests a second, seed 1", &constant.counts[0]),
            marginal::table("Constant traffic, gaps between requests in seconds, seed 1", &constant.gaps[0]),
            marginal::table("Random traffic, gaps between requests in seconds, seed 1", &random.gaps[0]),
        ],
        charts: charts(&constant, &random, band),
    })
}

const SAW: &str = "\
With the random distributions replaced by their means the mean load is the same, but the correlation of requests a second is close to zero, H is
close to 0.5, and a lognormal distribution in place of a Weibull one fits the requests' marginal best. A benchmark with deterministic
arrivals therefore says little of a server under real traffic.";

impl Seen {
    fn of(name: &'static str, runs: &[Ran]) -> Result<Seen> {
        let series: Vec<Vec<f64>> = runs.iter().map(|ran| ran.requests_in(Duration::from_secs(1))).collect();
        let none = "there are too few requests for a distribution";
        let counts: Option<Vec<Ranking>> = series.iter().map(|counts| marginal::of_counts(counts)).collect();
        let gaps: Option<Vec<Ranking>> = runs.iter().map(|ran| marginal::of_values(&ran.gaps_s())).collect();
        Ok(Seen {
            name,
            memory: series.iter().map(|counts| Memory::of(counts)).collect::<Result<_>>()?,
            correlations: series
                .iter()
                .map(|counts| autocorrelation(counts, LAGS))
                .collect::<Result<_, _>>()?,
            counts: counts.context(none)?,
            gaps: gaps.context(none)?,
            requests_a_second: mean(series.iter().map(|counts| mean(counts.iter().copied()))),
            doubts: runs.iter().flat_map(|ran| ran.doubts.clone()).collect(),
            series: series.into_iter().next().context("there is a run")?,
        })
    }

    fn hurst(&self) -> f64 {
        mean(self.memory.iter().map(|memory| memory.aggregated))
    }

    /// The mean correlation over seeds at `lag`.
    fn correlation(&self, lag: usize) -> f64 {
        mean(self.correlations.iter().map(|correlation| correlation[lag]))
    }

    /// The lag of at least `from` with the mean correlation farthest from 0.
    fn farthest(&self, from: usize) -> usize {
        let far = |lag: &usize| self.correlation(*lag).abs();
        (from..=LAGS).max_by(|a, b| far(a).total_cmp(&far(b))).expect("there are lags")
    }
}

fn claims(constant: &Seen, random: &Seen) -> Vec<Claim> {
    let farthest = constant.farthest(1);
    let first = |rankings: &[Ranking]| -> String {
        rankings
            .iter()
            .map(|distributions| distributions.candidates[0].name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let all = |rankings: &[Ranking], name: &str| {
        rankings.iter().all(|distributions| distributions.candidates[0].name == name)
    };
    let off = constant.requests_a_second / random.requests_a_second - 1.0;
    vec![
        Claim::new(
            "the mean load is that of the random traffic, within 5 %",
            format!(
                "{:.1} and {:.1} requests a second ({:+.1} %)",
                constant.requests_a_second,
                random.requests_a_second,
                100.0 * off
            ),
            off.abs() <= 0.05,
        ),
        Claim::new(
            format!(
                "the correlation of requests a second is close to zero: within ±{CLOSE} from 1 s to {LAGS} s"
            ),
            format!("{:.2} at {farthest} s, farther than anywhere else", constant.correlation(farthest)),
            constant.correlation(farthest).abs() <= CLOSE,
        ),
        Claim::new(
            "H is close to 0.5: within 0.05, by the variance of averages",
            format!("{:.2}, where the random traffic has {:.2}", constant.hurst(), random.hurst()),
            (constant.hurst() - 0.5).abs() <= 0.05,
        ),
        Claim::new(
            "H is below that of the random traffic",
            format!("{:.2} and {:.2}", constant.hurst(), random.hurst()),
            constant.hurst() < random.hurst(),
        ),
        Claim::new(
            "a lognormal distribution fits requests a second best",
            format!("first of the single distributions: {}", first(&constant.counts)),
            all(&constant.counts, "lognormal"),
        ),
        Claim::new(
            "a lognormal distribution fits the gaps between requests best",
            format!("first of the single distributions: {}", first(&constant.gaps)),
            all(&constant.gaps, "lognormal"),
        ),
        Claim::new(
            "of the random traffic, a Weibull distribution fits the gaps between requests best",
            format!("first of the single distributions: {}", first(&random.gaps)),
            all(&random.gaps, "weibull"),
        ),
    ]
}

fn noticed(constant: &Seen, random: &Seen, band: f64) -> String {
    let later = constant.farthest(10);
    let (meeting, known) = overlapping(constant, random);
    format!(
        "What correlation is left is that of pages that take seconds on a slow path: {:.2} at 1 s, {:.2} at 5 s. From 10 s on it is at most \
         {:.2} ({later} s), beside ±{band:.2} of independent counts. The paper speaks of requests a second in one place and of gaps between \
         requests in another; both are shown.\n\n\
         That H is below that of the random traffic is of means over {seeds} seeds by the variance of averages, which has no interval. Of the \
         intervals that wavelets and local Whittle have, {meeting} of {known} overlap with that of the same seed's random traffic: \
         other seeds may turn the order around.",
        constant.correlation(1),
        constant.correlation(5),
        constant.correlation(later).abs(),
        seeds = constant.memory.len(),
    )
}

/// Number of the intervals of H that overlap between both kinds of traffic, seed by seed, and of all.
fn overlapping(constant: &Seen, random: &Seen) -> (usize, usize) {
    let intervals = |memory: &Memory| {
        [memory.wavelet.and_then(|estimate| estimate.interval()), memory.whittle.interval()]
    };
    let pairs = constant.memory.iter().zip(&random.memory);
    let overlaps: Vec<bool> = pairs
        .flat_map(|(one, other)| intervals(one).into_iter().zip(intervals(other)))
        .filter_map(|(one, other)| one.zip(other))
        .map(|(one, other)| one.0.max(other.0) <= one.1.min(other.1))
        .collect();
    (overlaps.iter().filter(|overlaps| **overlaps).count(), overlaps.len())
}

fn memory_table(all: &[&Seen]) -> Table {
    let heads = [
        "traffic",
        "seed",
        "requests a second",
        "H, variance of averages",
        "H, wavelets",
        "H, local Whittle",
    ];
    let mut table =
        Table::new("H of requests in slots of 1 s, with intervals of 95 % where theory has one.", &heads);
    for seen in all {
        for (seed, memory) in (1..).zip(&seen.memory) {
            let [aggregated, wavelet, whittle] = memory.cells();
            let mean = format!("{:.1}", seen.requests_a_second);
            table.push([seen.name.to_owned(), format!("{seed}"), mean, aggregated, wavelet, whittle]);
        }
    }
    table
}

fn correlation_table(all: &[&Seen], band: f64) -> Table {
    let lags = [1, 2, 5, 10, 20, 37, 50, 100];
    let heads: Vec<String> =
        std::iter::once("traffic".to_owned()).chain(lags.map(|lag| format!("{lag} s"))).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let says = format!(
        "Correlation of requests a second, means over seeds; those of independent counts lie within ±{band:.3}."
    );
    let mut table = Table::new(says, &heads);
    for seen in all {
        let cells = lags.map(|lag| format!("{:.3}", seen.correlation(lag)));
        table.push(std::iter::once(seen.name.to_owned()).chain(cells));
    }
    table
}

fn charts(constant: &Seen, random: &Seen, band: f64) -> Vec<Chart> {
    let correlation = |seen: &Seen| {
        Series::new(
            format!("{} traffic", seen.name),
            Mark::Line,
            (1..=LAGS).map(|lag| (lag as f64, seen.correlation(lag))),
        )
    };
    let level = |name: &str, at: f64| Series::new(name, Mark::Dashes, vec![(1.0, at), (LAGS as f64, at)]);
    vec![
        Chart::new(
            "Correlation of requests a second",
            Axis::linear("lag, s"),
            Axis::linear("correlation"),
            vec![
                correlation(constant),
                correlation(random),
                level("independent counts: 95 % between", band),
                level("and", -band),
            ],
        ),
        Chart::new(
            "Variance of averages against the scale",
            Axis::logarithmic("scale, s"),
            Axis::logarithmic("variance over that at 1 s"),
            vec![
                variance_curve("constant traffic", &constant.series, 1.0),
                variance_curve("random traffic", &random.series, 1.0),
                line_of(0.5, 1.0, 200.0),
                line_of(0.73, 1.0, 200.0),
            ],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::State;
    use farfield_base::random::{Purpose, Seed};
    use farfield_fit::series::hurst::{HurstEstimate, HurstEstimator};
    use farfield_fit::{Component, Family};

    fn distributions(family: Family, theta: [f64; 2]) -> Ranking {
        let distribution = Component::new(family, theta).unwrap().distribution().unwrap();
        let mut rng = Seed(2).stream(Purpose::User, 0);
        marginal::of_values(&(0..4_000).map(|_| distribution.sample(&mut rng)).collect::<Vec<_>>()).unwrap()
    }

    fn seen(hurst: f64, correlation: f64, gaps: Ranking) -> Seen {
        let estimate = |method| HurstEstimate { method, hurst, standard_error: Some(0.01) };
        Seen {
            name: "made up",
            memory: vec![Memory {
                aggregated: hurst,
                wavelet: Some(estimate(HurstEstimator::Wavelet)),
                whittle: estimate(HurstEstimator::LocalWhittle),
            }],
            correlations: vec![(0..=LAGS).map(|lag| if lag == 0 { 1.0 } else { correlation }).collect()],
            counts: vec![distributions(Family::Lognormal, [5.0, 0.2])],
            gaps: vec![gaps],
            requests_a_second: 100.0,
            doubts: vec![],
            series: vec![1.0; 600],
        }
    }

    fn judged(hurst: f64, correlation: f64, constant_gaps: Ranking) -> Vec<bool> {
        let random = seen(0.73, 0.5, distributions(Family::Weibull, [0.6, 0.01]));
        claims(&seen(hurst, correlation, constant_gaps), &random)
            .iter()
            .map(|claim| claim.state == State::Holds)
            .collect()
    }

    #[test]
    fn numbers_that_contradict_a_claim_fail_it() {
        let lognormal = || distributions(Family::Lognormal, [-5.0, 1.0]);
        assert_eq!(judged(0.5, 0.02, lognormal()), [true; 7]);
        assert_eq!(judged(0.5, -0.2, lognormal()), [true, false, true, true, true, true, true]);
        assert_eq!(judged(0.6, 0.02, lognormal()), [true, true, false, true, true, true, true]);
        assert_eq!(judged(0.8, 0.02, lognormal()), [true, true, false, false, true, true, true]);
        let weibull = distributions(Family::Weibull, [0.6, 0.01]);
        assert_eq!(judged(0.5, 0.02, weibull), [true, true, true, true, true, false, true]);
    }

    /// Both estimators of what is made up have intervals of ±0.0196.
    #[test]
    fn intervals_that_overlap_are_counted() {
        let made_up = |hurst| seen(hurst, 0.0, distributions(Family::Weibull, [0.6, 0.01]));
        assert_eq!(overlapping(&made_up(0.56), &made_up(0.59)), (2, 2));
        assert_eq!(overlapping(&made_up(0.56), &made_up(0.61)), (0, 2));
    }
}
