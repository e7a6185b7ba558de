//! WAGON's figure 14 and section 4.2: whether H grows with the rate of sessions when all traffic passes a
//! link of 10 Mb/s.

use crate::page::{Claim, Page, Table, percent};
use crate::study::memory::{Memory, mean};
use crate::study::setting::Setting;
use crate::study::traffic::Traffic;
use crate::study::traffic::run::{Ran, Run};
use anyhow::Result;
use farfield_base::Duration;
use farfield_report::chart::{Axis, Chart, Mark, Series};

/// The link that everything passes.
const LINK: &str = "10Mbit";
const LINK_BITS_A_SECOND: f64 = 10e6;

/// One run.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    rate: f64,
    seed: u64,
    shared: &'static str,
    /// Of packets in slots of 100 ms.
    packets: Memory,
    /// Of requests in slots of 1 s.
    requests: Memory,
    /// Bits of bodies in a second over those of the link of 10 Mb/s.
    used: f64,
    doubts: Vec<String>,
}

/// Runs the study.
pub fn study(setting: &Setting) -> Result<Page> {
    let rates: &[f64] = setting.pick(&[0.5, 4.0, 10.0], &[0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    let seeds = setting.pick(1, 4);
    let (warm_up, duration) = setting.pick((120, 300), (900, 1_800));
    let mut rows = Vec::new();
    for shared in [LINK, "1Gbit"] {
        for rate in rates {
            for seed in 1..=seeds {
                let run = Run {
                    traffic: Traffic::random(*rate),
                    seed,
                    warm_up: Duration::from_secs(warm_up),
                    duration: Duration::from_secs(duration),
                    shared,
                    has_packets: true,
                };
                rows.push(row(&run, &run.made(setting)?)?);
            }
        }
    }
    let (narrow, wide): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.shared == LINK);
    Ok(Page {
        title: "H against the rate of sessions, at a link of 10 Mb/s".to_owned(),
        source: "Liu, Niclausse, Jalpa-Villanueva and Barbier 1999, \"Traffic model and performance evaluation of Web \
                 servers\", section 4.2 and figure 14".to_owned(),
        saw: SAW.to_owned(),
        here: format!(
            "The runs of [wagon-figure-6](../figure-6/page.md) at {} to {} sessions a second, {duration} s after {warm_up} s, with seeds 1 to \
             {seeds}, once with a link of 10 Mb/s that all clients share and once with one of 1 Gb/s. H is that of packets in slots of \
             100 ms, both ways, by the variance of averages as in the paper.",
            rates[0],
            rates[rates.len() - 1],
        ),
        claims: claims(&narrow, &wide),
        noticed: NOTICED.to_owned(),
        tables: vec![table("With the link of 10 Mb/s.", &narrow), table("With the link of 1 Gb/s.", &wide)],
        charts: vec![chart(&narrow, &wide)],
    })
}

const SAW: &str = "\
Where the network between clients and server is the bottleneck, a router of 10 Mb/s, H by the variance of averages grows with the arrival
rate of sessions, from 0.5 to 10 a second (figure 14).";

const NOTICED: &str = "\
Sessions do not know of each other but through the link and the server. Where neither is busy, twice the rate is the sum of two such
processes, whose correlation, and with it H, is that of one: it cannot grow. What is left for growth is the link. Packets that
wait there smooth the short times, and what sessions bring over the long ones stays: H rises, first where the link is nearly full.
When requests are sent hardly depends on it.";

fn row(run: &Run, ran: &Ran) -> Result<Row> {
    Ok(Row {
        rate: run.traffic.rate,
        seed: run.seed,
        shared: run.shared,
        packets: Memory::of(&ran.packets_in(Duration::from_ms(100)))?,
        requests: Memory::of(&ran.requests_in(Duration::from_secs(1)))?,
        used: 8.0 * ran.bytes as f64 / run.duration.as_secs_f64() / LINK_BITS_A_SECOND,
        doubts: ran.doubts.clone(),
    })
}

/// The rates with the mean and the standard deviation of H over seeds.
fn by_rate(rows: &[Row], of: impl Fn(&Row) -> f64) -> Vec<(f64, f64, f64)> {
    let mut rates: Vec<f64> = rows.iter().map(|row| row.rate).collect();
    rates.dedup();
    let at = |rate: f64| {
        let found: Vec<f64> = rows.iter().filter(|row| row.rate == rate).map(&of).collect();
        let middle = mean(found.iter().copied());
        let spread = mean(found.iter().map(|hurst| (hurst - middle).powi(2))).sqrt();
        (rate, middle, spread)
    };
    rates.into_iter().map(at).collect()
}

/// The growth of H with a doubling of the rate, by least squares over all rows, and its standard error.
fn growth(rows: &[Row], of: impl Fn(&Row) -> f64) -> (f64, f64) {
    let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.rate.log2(), of(row))).collect();
    let (x, y) = (mean(points.iter().map(|p| p.0)), mean(points.iter().map(|p| p.1)));
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let sxx = sum(&|p| (p.0 - x).powi(2));
    let slope = sum(&|p| (p.0 - x) * (p.1 - y)) / sxx;
    let left = sum(&|p| (p.1 - y - slope * (p.0 - x)).powi(2));
    (slope, (left / (points.len() as f64 - 2.0) / sxx).sqrt())
}

fn claims(narrow: &[Row], wide: &[Row]) -> Vec<Claim> {
    let slope_text = |(slope, error): (f64, f64)| format!("{slope:+.3} ± {:.3} a doubling", 1.96 * error);
    let grows = |(slope, error): (f64, f64)| slope > 1.96 * error;
    let packets = growth(narrow, |row| row.packets.aggregated);
    let requests = growth(narrow, |row| row.requests.aggregated);
    let without = growth(wide, |row| row.packets.aggregated);
    let means = by_rate(narrow, |row| row.packets.aggregated);
    let rises = means.windows(2).all(|pair| pair[1].1 >= pair[0].1);
    let steps: Vec<String> = means.iter().map(|(_, hurst, _)| format!("{hurst:.2}")).collect();
    vec![
        Claim::new(
            "H of packets grows with the rate of sessions, where all pass 10 Mb/s",
            slope_text(packets),
            grows(packets),
        ),
        Claim::new("it does so from each rate to the next, in the means over seeds", steps.join(", "), rises),
        Claim::new("H of requests grows there, too", slope_text(requests), grows(requests)),
        Claim::new(
            "it is the bottleneck that makes it grow: with 1 Gb/s it does not",
            slope_text(without),
            !grows(without),
        ),
    ]
}

fn table(says: &str, rows: &[Row]) -> Table {
    let heads = [
        "sessions/s",
        "bodies over 10 Mb/s",
        "H of packets, variance of averages",
        "wavelets",
        "local Whittle",
        "H of requests, variance of averages",
        "valid",
    ];
    let says = format!("{says} Means over seeds, and standard deviations.");
    let mut table = Table::new(says, &heads);
    let of: [fn(&Row) -> f64; 5] = [
        |row| row.used,
        |row| row.packets.aggregated,
        |row| row.packets.wavelet.map_or(f64::NAN, |estimate| estimate.hurst),
        |row| row.packets.whittle.hurst,
        |row| row.requests.aggregated,
    ];
    let columns = of.map(|of| by_rate(rows, of));
    for (at, (rate, used, _)) in columns[0].iter().enumerate() {
        let runs: Vec<&Row> = rows.iter().filter(|row| row.rate == *rate).collect();
        let valid = runs.iter().filter(|row| row.doubts.is_empty()).count();
        let hurst = columns[1..].iter().map(|column| format!("{:.2} ± {:.2}", column[at].1, column[at].2));
        let cells = [rate.to_string(), percent(*used)].into_iter().chain(hurst);
        table.push(cells.chain(std::iter::once(format!("{valid} of {}", runs.len()))));
    }
    table
}

fn chart(narrow: &[Row], wide: &[Row]) -> Chart {
    let means = |name: &str, look, rows: &[Row], of: fn(&Row) -> f64| {
        Series::new(name, look, by_rate(rows, of).into_iter().map(|(rate, hurst, _)| (rate, hurst)))
    };
    Chart::new(
        "H against the rate of sessions",
        Axis::linear("sessions/s"),
        Axis::linear("H, variance of averages"),
        vec![
            means("packets, 10 Mb/s", Mark::Marked, narrow, |row| row.packets.aggregated),
            means("packets, 1 Gb/s", Mark::Marked, wide, |row| row.packets.aggregated),
            means("requests, 10 Mb/s", Mark::Dashes, narrow, |row| row.requests.aggregated),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::State;
    use farfield_fit::series::hurst::{HurstEstimate, HurstEstimator};

    fn rows(hurst: impl Fn(f64) -> f64) -> Vec<Row> {
        let row = |rate: f64, seed: u64| {
            let hurst = hurst(rate) + if seed == 1 { 0.005 } else { -0.005 };
            let estimate = |method| HurstEstimate { method, hurst, standard_error: Some(0.01) };
            let memory = Memory {
                aggregated: hurst,
                wavelet: Some(estimate(HurstEstimator::Wavelet)),
                whittle: estimate(HurstEstimator::LocalWhittle),
            };
            Row { rate, seed, shared: LINK, packets: memory, requests: memory, used: 0.5, doubts: vec![] }
        };
        [0.5, 2.0, 8.0].into_iter().flat_map(|rate| [row(rate, 1), row(rate, 2)]).collect()
    }

    fn judged(narrow: impl Fn(f64) -> f64, wide: impl Fn(f64) -> f64) -> Vec<bool> {
        claims(&rows(narrow), &rows(wide)).iter().map(|claim| claim.state == State::Holds).collect()
    }

    #[test]
    fn numbers_that_contradict_a_claim_fail_it() {
        let grows = |rate: f64| 0.6 + 0.02 * rate;
        let stays = |_| 0.65;
        assert_eq!(judged(grows, stays), [true; 4]);
        assert_eq!(judged(grows, grows), [true, true, true, false]);
        assert_eq!(judged(stays, stays), [false, true, false, true]);
        assert_eq!(judged(|rate| 0.8 - 0.02 * rate, stays), [false, false, false, true]);
    }

    #[test]
    fn growth_is_a_slope_with_its_error() {
        let (slope, error) = growth(&rows(|rate| 0.5 + 0.03 * rate.log2()), |row| row.packets.aggregated);
        assert!((slope - 0.03).abs() < 1e-9 && error > 0.0 && error < 0.01, "{slope} {error}");
    }
}
