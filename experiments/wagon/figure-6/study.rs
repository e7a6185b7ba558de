//! WAGON's figures 3 to 10: what table 4's traffic makes of requests and packets over time: counts at three
//! scales, H, the distribution of requests a second, and how long they remember.

use crate::page::{Claim, Page, Table};
use crate::study::marginal;
use crate::study::memory::{Memory, hurst_between, line_of, mean, variance_curve, variances};
use crate::study::setting::Setting;
use crate::study::traffic::Traffic;
use crate::study::traffic::process::Process;
use crate::study::traffic::run::{Ran, Run};
use anyhow::{Context, Result};
use farfield_base::Duration;
use farfield_fit::Ranking;
use farfield_fit::series::{autocorrelation, white_noise_band};
use farfield_report::chart::{Axis, Chart, Mark, Series};

/// Sessions a second: the paper's λ = 0.008 in a millisecond.
const RATE: f64 = 8.0;
/// The paper's figures of packets.
const HURST: f64 = 0.73;
/// Lags of the correlation.
const LAGS: usize = 100;

/// The measurements, over seeds.
struct Seen {
    /// Of packets in slots of 100 ms, as figure 4 has them.
    packets: Vec<Memory>,
    /// Distributions of requests a second.
    distributions: Vec<Ranking>,
    /// Correlations of requests a second.
    correlations: Vec<Vec<f64>>,
    /// The distance from 0 that correlations of independent counts have.
    band: f64,
    /// H of the long process by ranges of scales, in seconds.
    long: Vec<(usize, usize, f64)>,
}

/// Runs the study.
pub fn study(setting: &Setting) -> Result<Page> {
    let seeds = setting.pick(1, 3);
    let (warm_up, duration) = setting.pick((300, 600), (1_800, 3_600));
    let run = |seed| Run {
        traffic: Traffic::random(RATE),
        seed,
        warm_up: Duration::from_secs(warm_up),
        duration: Duration::from_secs(duration),
        shared: "100Mbit",
        has_packets: true,
    };
    let runs: Vec<Ran> = (1..=seeds).map(|seed| run(seed).made(setting)).collect::<Result<_>>()?;
    let days = setting.pick(1, 20);
    let counts = Process::new(&Traffic::random(RATE), 1)?.requests_a_second(3_600.0, days * 86_400);
    let seen = Seen::of(&runs, &counts)?;
    let requests_a_second = mean(runs.iter().map(|ran| mean(ran.requests_in(Duration::from_secs(1)))));
    Ok(Page {
        title: "Requests and packets of table 4's traffic over time".to_owned(),
        source: "Liu, Niclausse, Jalpa-Villanueva and Barbier 1999, \"Traffic model and performance evaluation of Web \
                 servers\", section 3.3, figures 3 to 10".to_owned(),
        saw: SAW.to_owned(),
        here: here(&run(1), seeds, days, requests_a_second, &runs),
        claims: claims(&seen),
        noticed: noticed(&seen),
        tables: vec![
            memory_table(&runs)?,
            correlation_table(&seen),
            marginal::table("Requests a second, seed 1", &seen.distributions[0]),
            long_table(&seen, days),
        ],
        charts: charts(&runs[0], &counts, &seen)?,
    })
}

const SAW: &str = "\
With 8 sessions a second the numbers of packets are bursty at scales of 10 ms, 100 ms and 1 s (figures 3 to 5), and the variance of
their averages gives H = 0.73 (figure 6). The number of requests a second follows a Weibull distribution (figure 8), as in INRIA's log
(figure 7), and is highly and for long correlated, in the log (figure 9) and in WAGON's traffic alike (figure 10).";

fn here(run: &Run, seeds: u64, days: usize, requests_a_second: f64, runs: &[Ran]) -> String {
    let doubts: Vec<&str> = runs.iter().flat_map(|ran| &ran.doubts).map(String::as_str).collect();
    let verdict = match doubts.as_slice() {
        [] => "all call themselves valid".to_owned(),
        doubts => format!("some call themselves invalid: {}", doubts.join(", ")),
    };
    format!(
        "The traffic of table 4 on the simulated plane, {} s after {} s that are left out, with seeds 1 to {seeds}; {verdict}. The scenario is \
         this, but for the seed; what the paper does not say is ours: equal shares of table 5's paths, four \
         persistent connections, a server that is never the limit.\n\n```toml\n{}```\n\n\
         Requests are counted when they are sent, {requests_a_second:.0} a second; packets where they pass between the network and \
         the server, both ways. To see what no hour can show, the sessions' process alone, in which pages take no time, is \
         drawn for {days} days. H comes from the variance of averages, which is the paper's way, and from wavelets (octave \
         4 on) and local Whittle (n^0.7 frequencies), which have intervals.",
        run.duration.as_secs_f64(),
        run.warm_up.as_secs_f64(),
        run.scenario(),
    )
}

impl Seen {
    fn of(runs: &[Ran], long: &[f64]) -> Result<Seen> {
        let second = Duration::from_secs(1);
        let packets = runs.iter().map(|ran| Memory::of(&ran.packets_in(Duration::from_ms(100))));
        let series: Vec<Vec<f64>> = runs.iter().map(|ran| ran.requests_in(second)).collect();
        let distributions: Option<Vec<Ranking>> =
            series.iter().map(|counts| marginal::of_counts(counts)).collect();
        let correlations =
            series.iter().map(|counts| autocorrelation(counts, LAGS)).collect::<Result<Vec<_>, _>>()?;
        let variances = variances(long);
        let between = |from, to| hurst_between(&variances, from, to).map(|hurst| (from, to, hurst));
        let ranges =
            [(1, 16), (16, 64), (64, 256), (256, 1_024), (1_024, 4_096), (4_096, 16_384), (16_384, 65_536)];
        Ok(Seen {
            packets: packets.collect::<Result<_>>()?,
            distributions: distributions.context("the counts are no material for a distribution")?,
            correlations,
            band: white_noise_band(series[0].len()),
            long: ranges.into_iter().filter_map(|(from, to)| between(from, to)).collect(),
        })
    }

    /// The mean correlation over seeds at `lag`.
    fn correlation(&self, lag: usize) -> f64 {
        mean(self.correlations.iter().map(|correlation| correlation[lag]))
    }

    /// The first lag at which the mean correlation is within the band of independent counts.
    fn forgotten_at(&self) -> Option<usize> {
        (1..=LAGS).find(|lag| self.correlation(*lag) <= self.band)
    }
}

fn claims(seen: &Seen) -> Vec<Claim> {
    let hurst = mean(seen.packets.iter().map(|memory| memory.aggregated));
    let agree = seen.packets.iter().filter(|memory| memory.agree()).count();
    let weibull = seen
        .distributions
        .iter()
        .filter(|distributions| distributions.candidates[0].name == "weibull")
        .count();
    let firsts: Vec<&str> =
        seen.distributions.iter().map(|distributions| distributions.candidates[0].name.as_str()).collect();
    let forgotten = seen.forgotten_at();
    let longest = seen.long.last().map_or(f64::NAN, |range| range.2);
    let over = seen.long.last().map_or(0, |range| range.0);
    vec![
        Claim::new(
            "packets in slots of 100 ms have H = 0.73 by the variance of averages, within 0.05",
            format!("{hurst:.2} in the mean of {} runs", seen.packets.len()),
            (hurst - HURST).abs() <= 0.05,
        ),
        Claim::new(
            "they are self-similar: wavelets and local Whittle agree within their intervals",
            format!("in {agree} of {} runs", seen.packets.len()),
            agree == seen.packets.len(),
        ),
        Claim::new(
            "requests a second follow a Weibull distribution best",
            format!("first of the single distributions: {}", firsts.join(", ")),
            weibull == seen.distributions.len(),
        ),
        Claim::new(
            "requests a second are highly correlated: above 0.2 from one second to the next",
            format!("{:.2}, and {:.2} at 10 s", seen.correlation(1), seen.correlation(10)),
            seen.correlation(1) > 0.2,
        ),
        Claim::new(
            "and for long: above the band of independent counts for 50 s",
            match forgotten {
                Some(lag) => format!("within it at {lag} s"),
                None => format!(
                    "above it for {LAGS} s: {:.2} there, the band is {:.2}",
                    seen.correlation(LAGS),
                    seen.band
                ),
            },
            forgotten.is_none_or(|lag| lag > 50),
        ),
        Claim::new(
            "the memory does not end: H stays above 0.6 at the longest scales, too",
            format!("{longest:.2} from {over} s on"),
            longest > 0.6,
        ),
    ]
}

fn noticed(seen: &Seen) -> String {
    let (from, to, most) =
        seen.long.iter().copied().max_by(|a, b| a.2.total_cmp(&b.2)).unwrap_or((0, 0, f64::NAN));
    format!(
        "Memory comes from sessions, and ends with them. Sessions arrive as a Poisson process, and neither the inverse Gaussian distribution \
         of clicks nor the lognormal one of think times has a tail heavy enough for long-range dependence: from the length of \
         sessions on, minutes, H falls back to ½. In between the variance grows from that of clicks to that of whole sessions, by \
         E(N²) / E(N) = 13 for the number N of clicks, and where it does so fastest H comes out at {most:.2} ({from} to {to} s). An \
         estimate over scales from a tenth of a second to minutes is a mean over these, and depends on which they are.\n\n\
         That packets are self-similar is judged by two estimators, which find one H within their intervals at the scales that an hour \
         has, from seconds to minutes. It holds beside a memory that ends, since that shows at scales of hours, of which the long process \
         alone has enough. And it says no more than that the two do not contradict each other there: in slots of 10 ms they find \
         another H than in slots of 100 ms.\n\n\
         Two things raise it that may have been in the paper's experiment: a network that is nearly full \
         ([wagon-figure-14](../figure-14/page.md)), and counting before sessions have come under way. The quick form of this study does \
         that, with ten minutes from the fifth on: H is 0.67 then, and the correlation from one second to the next 0.28."
    )
}

fn memory_table(runs: &[Ran]) -> Result<Table> {
    let heads =
        ["series", "seed", "mean a slot", "H, variance of averages", "H, wavelets", "H, local Whittle"];
    let mut table = Table::new("H of each series, with intervals of 95 % where theory has one.", &heads);
    for (slot, name) in [(10, "10 ms"), (100, "100 ms"), (1_000, "1 s")] {
        for (what, of) in
            [("packets", Ran::packets_in as fn(&Ran, Duration) -> Vec<f64>), ("requests", Ran::requests_in)]
        {
            for (seed, ran) in (1..).zip(runs) {
                let counts = of(ran, Duration::from_ms(slot));
                let [aggregated, wavelet, whittle] = Memory::of(&counts)?.cells();
                let a_slot = format!("{:.2}", mean(counts.iter().copied()));
                table.push([
                    format!("{what} in {name}"),
                    format!("{seed}"),
                    a_slot,
                    aggregated,
                    wavelet,
                    whittle,
                ]);
            }
        }
    }
    Ok(table)
}

fn correlation_table(seen: &Seen) -> Table {
    let lags = [1, 2, 5, 10, 20, 50, 100];
    let heads: Vec<String> =
        std::iter::once("seed".to_owned()).chain(lags.map(|lag| format!("{lag} s"))).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let says = format!("Correlation of requests a second; independent counts lie within ±{:.3}.", seen.band);
    let mut table = Table::new(says, &heads);
    for (seed, correlation) in (1..).zip(&seen.correlations) {
        let cells = lags.map(|lag| format!("{:.3}", correlation[lag]));
        table.push(std::iter::once(format!("{seed}")).chain(cells));
    }
    table
}

fn long_table(seen: &Seen, days: usize) -> Table {
    let says = format!("H by range of scales: {days} days of the sessions' process, requests a second.");
    let mut table = Table::new(says, &["scales", "H"]);
    for (from, to, hurst) in &seen.long {
        table.push([format!("{from} to {to} s"), format!("{hurst:.2}")]);
    }
    table
}

fn charts(ran: &Ran, long: &[f64], seen: &Seen) -> Result<Vec<Chart>> {
    let second = Duration::from_secs(1);
    let packets = ran.packets_in(Duration::from_ms(100));
    let variance = Chart::new(
        "Variance of averages against the scale",
        Axis::logarithmic("scale, s"),
        Axis::logarithmic("variance over that at the first scale"),
        vec![
            variance_curve("packets in 100 ms", &packets, 0.1),
            variance_curve("requests in 1 s", &ran.requests_in(second), 1.0),
            variance_curve("the sessions' process, requests in 1 s", long, 1.0),
            line_of(0.5, 0.1, 300.0),
            line_of(HURST, 0.1, 300.0),
        ],
    );
    let lag = |(lag, correlation): (usize, &f64)| (lag as f64, *correlation);
    let correlation = Chart::new(
        "Correlation of requests a second",
        Axis::linear("lag, s"),
        Axis::linear("correlation"),
        vec![
            Series::new(
                "requests a second, seed 1",
                Mark::Line,
                seen.correlations[0].iter().enumerate().skip(1).map(lag),
            ),
            Series::new(
                "independent counts: 95 % below",
                Mark::Dashes,
                vec![(1.0, seen.band), (LAGS as f64, seen.band)],
            ),
        ],
    );
    let mut charts = vec![variance, correlation];
    charts.push(marginal::chart(
        "Requests a second against distributions",
        &ran.requests_in(second),
        &seen.distributions[0],
    ));
    for (slot, title, x) in [
        (10, "Packets in slots of 10 ms", "time, slots of 10 ms"),
        (100, "Packets in slots of 100 ms", "time, slots of 100 ms"),
        (1_000, "Packets in slots of 1 s", "time, slots of 1 s"),
    ] {
        let counts = ran.packets_in(Duration::from_ms(slot));
        let points = counts.iter().take(400).enumerate().map(|(at, count)| (at as f64, *count));
        charts.push(Chart::new(
            title,
            Axis::linear(x),
            Axis::linear("packets"),
            vec![Series::new("packets, seed 1", Mark::Line, points)],
        ));
    }
    Ok(charts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::State;
    use farfield_base::random::{Purpose, Seed};
    use farfield_fit::series::hurst::{HurstEstimate, HurstEstimator};
    use farfield_fit::{Component, Family};

    fn memory(aggregated: f64, wavelet: f64, whittle: f64) -> Memory {
        let estimate = |method, hurst| HurstEstimate { method, hurst, standard_error: Some(0.01) };
        Memory {
            aggregated,
            wavelet: Some(estimate(HurstEstimator::Wavelet, wavelet)),
            whittle: estimate(HurstEstimator::LocalWhittle, whittle),
        }
    }

    fn distributions(family: Family, theta: [f64; 2]) -> Ranking {
        let distribution = Component::new(family, theta).unwrap().distribution().unwrap();
        let mut rng = Seed(2).stream(Purpose::User, 0);
        let counts: Vec<f64> = (0..4_000).map(|_| distribution.sample_count(&mut rng) as f64).collect();
        marginal::of_counts(&counts).unwrap()
    }

    fn fine() -> Seen {
        let falling = (0..=LAGS).map(|lag| 0.9f64.powf(lag as f64 / 5.0)).collect();
        Seen {
            packets: vec![memory(0.75, 0.74, 0.75)],
            distributions: vec![distributions(Family::Weibull, [4.0, 150.0])],
            correlations: vec![falling],
            band: 0.03,
            long: vec![(1, 16, 0.6), (16, 64, 0.8), (4_096, 16_384, 0.7)],
        }
    }

    fn judged(seen: &Seen) -> Vec<bool> {
        claims(seen).iter().map(|claim| claim.state == State::Holds).collect()
    }

    #[test]
    fn numbers_that_contradict_a_claim_fail_it() {
        assert_eq!(judged(&fine()), [true; 6]);
        let other = |change: &dyn Fn(&mut Seen)| {
            let mut seen = fine();
            change(&mut seen);
            judged(&seen).iter().position(|holds| !holds)
        };
        assert_eq!(other(&|seen| seen.packets[0].aggregated = 0.6), Some(0));
        assert_eq!(other(&|seen| seen.packets[0] = memory(0.73, 0.7, 0.9)), Some(1));
        assert_eq!(
            other(&|seen| seen.distributions[0] = distributions(Family::Lognormal, [5.0, 0.5])),
            Some(2)
        );
        assert_eq!(other(&|seen| seen.correlations[0][1] = 0.1), Some(3));
        assert_eq!(other(&|seen| seen.correlations[0][40] = 0.0), Some(4));
        assert_eq!(other(&|seen| seen.long[2].2 = 0.52), Some(5));
    }
}
