//! `report.html` of a fit: plots of the data beside the distributions for every variable, the models that
//! were tried, and the limits of the log.

use super::precision::{self, significant, to_error};
use super::summary::{arrivals_are, date, heavy_in_words, left_out, name, passed, queries, with_unit};
use crate::chart::{Axis, Chart, Mark, Series, Spacing};
use crate::html::{self, escaped, table, table_of};
use farfield_base::{Duration, Instant};
use farfield_fit::arrivals::SessionArrivals;
use farfield_fit::counts::{HurstReading, RequestCounts, ScaleIndex};
use farfield_fit::process::SessionProcess;
use farfield_fit::report::{CurvePoint, Sensitivity, VariableFit};
use farfield_fit::scenario::FittedTraffic;
use farfield_fit::{Candidate, Estimate, FitReport, Model, Observation};
use std::fmt::Write;

const STYLE: &str = ".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(26em,100%),1fr));gap:1em}\
    .plots>*{min-width:0}";

/// The HTML page of a fit.
pub fn page(report: &FitReport, traffic: &FittedTraffic) -> String {
    let mut html = html::begin_family("What the log says", STYLE);
    overview(&mut html, report);
    if let Some(process) = &report.process {
        sessions_over_time(&mut html, process, traffic);
    }
    html.push_str("<h2>The scenario</h2>\n");
    sentences(&mut html, &traffic.words, "");
    sentences(&mut html, &traffic.doubts, "doubt");
    html.push_str("<h2>Variables</h2>\n<p>The first plot of each has the share of values above a value, for the data (dots) and for the \
         distribution that the scenario takes or would take (line): both axes are logarithmic, so that tails show. The second has \
         values of the data against those of the distribution that have the same share above them: a distribution that is \
         right has them on the diagonal.</p>\n");
    for fit in &report.variables {
        variable(&mut html, fit);
    }
    if let Some(counts) = &report.counts {
        requests(&mut html, counts);
    }
    popularity(&mut html, report);
    sensitivity(&mut html, report);
    html::end_family(&mut html);
    html
}

fn overview(html: &mut String, report: &FitReport) {
    let (read, crawlers) = (&report.read, &report.crawlers);
    let _ = write!(
        html,
        "<p>{} lines: {} requests over {}, {} broken, {} without a request. ",
        read.lines,
        report.requests(),
        with_unit(report.covers.as_secs_f64()),
        read.broken,
        read.nothing
    );
    for sentence in left_out(report) {
        let _ = write!(html, "Left out: {}. ", escaped(&sentence));
    }
    if let Some(sentence) = queries(report) {
        let _ = write!(html, "Queries: {}. ", escaped(&sentence));
    }
    let _ = writeln!(
        html,
        "Of {} visitors {} are crawlers by their agent, {} by asking for /robots.txt, {} by their rate, {} by the regularity of their \
         pages; their {} requests are in nothing below.</p>",
        crawlers.visitors,
        crawlers.by_agent,
        crawlers.by_robots,
        crawlers.by_rate,
        crawlers.by_regularity,
        crawlers.requests
    );
    visitors(html, report);
    let dates = &report.dates;
    let _ = writeln!(
        html,
        "<p>First request {}, last {}; {} lines out of order; the longest silence {}, from {}.</p>",
        date(Instant::from_ns(dates.first_ns)),
        date(Instant::from_ns(dates.last_ns)),
        dates.out_of_order,
        with_unit(dates.silence.as_secs_f64()),
        date(Instant::from_ns(dates.silence_from_ns))
    );
    sentences(html, &dates.doubts(&date), "doubt");
    if !read.shown.is_empty() {
        html.push_str("<p>The first broken lines:</p>\n");
        let rows = read.shown.iter().map(|shown| vec![shown.line.to_string(), escaped(&shown.why)]);
        table(html, &["line", "<why"], &rows.collect::<Vec<_>>());
    }
    if let Some(arrivals) = report.arrivals {
        session_arrivals(html, report, &arrivals);
    }
}

/// Visitors by their shares of requests, and sessions that may be one cut in two.
fn visitors(html: &mut String, report: &FitReport) {
    let shares = &report.shares;
    let _ = writeln!(
        html,
        "<p>Of the other {} visitors the busiest has {:.1} % of their requests, the busiest ten have {:.1} %, the busiest hundred {:.1} %.</p>",
        shares.visitors,
        100.0 * shares.busiest[0],
        100.0 * shares.busiest[1],
        100.0 * shares.busiest[2]
    );
    sentences(html, &heavy_in_words(report).into_iter().collect::<Vec<_>>(), "doubt");
    if report.cut.sessions > 0 {
        let _ = writeln!(
            html,
            "<p>{} sessions began after a silence of their visitor of one to three times the upper threshold, and may be parts of one that \
             was cut; {}.</p>",
            report.cut.sessions,
            match report.cut.left_out {
                true => "gaps between sessions, and their process, are those of the others",
                false => "they are too many to be left out of the gaps",
            }
        );
    }
}

/// The arrivals of sessions.
fn session_arrivals(html: &mut String, report: &FitReport, arrivals: &SessionArrivals) {
    let _ = writeln!(
        html,
        "<p>Sessions arrive at {} a second. Of {} stretches of {} gaps {:.0} % pass for exponential and {:.0} % for \
             uncorrelated at the level of 5 %: 95 % of either would be a Poisson process, of the second a renewal process. Long logs \
             fail such a test by effects that nobody would notice: here gaps are {:.3} from those of a Poisson process, as distribution \
             functions go (below {:.2} it will do), and the correlation of neighbours is {:.2} (below {:.1}). With their dispersion over longer \
             times they are: {}.</p>",
        to_error(arrivals.rate, arrivals.rate / (arrivals.gaps.max(1) as f64).sqrt()),
        arrivals.stretches,
        arrivals.gaps,
        100.0 * arrivals.exponential_passed,
        100.0 * arrivals.uncorrelated_passed,
        arrivals.distance,
        SessionArrivals::DISTANCE_NIL,
        arrivals.correlation,
        SessionArrivals::CORRELATION_NIL,
        arrivals_are(report)
    );
}

/// The dispersion of session starts by time scale, in the log and in the scenario, and the processes that
/// were compared.
fn sessions_over_time(html: &mut String, process: &SessionProcess, traffic: &FittedTraffic) {
    html.push_str("<h2>Sessions over time</h2>\n<div class=\"plots\">\n");
    let scales = || process.scales.iter();
    let over = |scale: &farfield_fit::process::ScaleDispersion| scale.over.as_secs_f64();
    let mut series = vec![
        Series::new("log", Mark::Dots, scales().map(|s| (over(s), s.index))),
        Series::new("log, Allan factor", Mark::Dots, scales().map(|s| (over(s), s.allan))),
        Series::new("Poisson, at most", Mark::Dashes, scales().map(|s| (over(s), s.poisson.1))),
    ];
    let reproduced = traffic.dispersion.iter().map(|s| (s.over.as_secs_f64(), s.scenario));
    series.push(Series::new("scenario", Mark::Line, reproduced));
    let chart = Chart::new(
        "Dispersion of session starts",
        Axis::logarithmic("counted over, s"),
        Axis::logarithmic("variance over mean"),
        series,
    );
    let _ = writeln!(
        html,
        "{}<p>Variance over mean of the sessions that begin in windows of each length: 1 for a Poisson process. The Allan factor takes \
         neighbouring windows only, so that a slow course leaves it at 1. Errors are those that the log's own length leaves, one standard \
         deviation.</p></div>",
        chart.html()
    );
    let scenario =
        |at: usize| traffic.dispersion.get(at).map_or("–".to_owned(), |scale| significant(scale.scenario));
    let row = |(at, scale): (usize, &farfield_fit::process::ScaleDispersion)| {
        vec![
            with_unit(over(scale)),
            scale.windows.to_string(),
            format!("{} ± {:.0} %", to_error(scale.index, scale.index * scale.error), 100.0 * scale.error),
            significant(scale.allan),
            scenario(at),
        ]
    };
    let rows: Vec<Vec<String>> = scales().enumerate().map(row).collect();
    table(html, &["counted over", "windows", "log", "Allan factor", "scenario"], &rows);
    let row = |compared: &farfield_fit::process::ComparedProcess| {
        let verdict = match (process.is_taken(compared), compared.explains) {
            (true, true) => "taken",
            (true, false) => "taken: the nearest",
            (false, true) => "would do as well",
            (false, false) => "no",
        };
        let along = if compared.along.is_some() { " along a course" } else { "" };
        vec![format!("{}{along}", compared.model.name()), format!("{:.2}", compared.off), verdict.to_owned()]
    };
    let rows: Vec<Vec<String>> = process.compared.iter().map(row).collect();
    table(html, &["process", "largest factor from the log", "<result"], &rows);
}

fn sentences(html: &mut String, sentences: &[String], class: &str) {
    if sentences.is_empty() {
        return;
    }
    let _ = write!(html, "<ul class=\"{class}\">");
    sentences.iter().for_each(|sentence| {
        let _ = write!(html, "<li>{}</li>", escaped(sentence));
    });
    html.push_str("</ul>\n");
}

fn variable(html: &mut String, fit: &VariableFit) {
    let title = name(fit.variable);
    let preferred = fit.taken();
    let distribution = preferred.map_or("no distribution", |candidate| candidate.name.as_str());
    let points = |of: fn(&CurvePoint) -> f64| fit.curve.iter().map(move |point| (point.value, of(point)));
    let mut series = vec![
        Series::new("data", Mark::Dots, points(|p| p.data)),
        Series::new(distribution, Mark::Line, points(|p| p.fitted)),
    ];
    if let Some(best) = fit.ranking.candidates.first().filter(|best| Some(*best) != preferred)
        && let Some(model) = best.model()
    {
        let tail = |value: f64| fit.observation.cdf_and_tail(&model, value).1;
        let points = fit.curve.iter().map(|point| (point.value, tail(point.value)));
        series.push(Series::new(format!("first: {}", best.name), Mark::Dashes, points));
    }
    let (x, y) = (Axis::logarithmic(title), Axis::logarithmic("share above"));
    let chart = Chart::new(format!("{title}: {distribution}"), x, y, series);
    let quantiles =
        preferred.and_then(|candidate| candidate.model()).map(|model| quantiles(fit, title, &model));
    let _ = writeln!(
        html,
        "<h3>{title}</h3>\n<div class=\"plots\"><div>{}</div><div>{}</div></div>\n<p>{} values, {} of them fitted, {} of zero left out. Mean {}, standard \
         deviation {}.</p>",
        chart.html(),
        quantiles.map(|chart| chart.html()).unwrap_or_default(),
        fit.values,
        fit.fitted,
        fit.zeros,
        precision::mean(fit.mean, fit.deviation, fit.fitted),
        significant(fit.deviation)
    );
    ranking(html, fit, preferred);
    sentences(html, &fit.ranking.caveats, "doubt");
    sentences(html, &fit.ranking.left_out, "");
}

/// Values of the data against those of `model` that have the same share above them.
fn quantiles(fit: &VariableFit, title: &str, model: &Model) -> Chart {
    let shown = fit.curve.iter().filter(|point| point.value > 0.0 && point.data > 0.0 && point.data < 1.0);
    let points: Vec<(f64, f64)> = shown
        .filter_map(|point| {
            Some((value_above(&fit.observation, model, point.data, point.value)?, point.value))
        })
        .collect();
    let diagonal: Vec<(f64, f64)> = points.iter().map(|(_, value)| (*value, *value)).collect();
    let series =
        vec![Series::new("data", Mark::Dots, points), Series::new("the same", Mark::Dashes, diagonal)];
    let across = Axis::logarithmic(format!("{title}, by the distribution"));
    Chart::new(format!("{title}: quantiles"), across, Axis::logarithmic("in the data"), series)
}

/// The value above which `model`, observed as the data were, has this share; found from `near` on. None if it
/// is more than a million times away.
fn value_above(observation: &Observation, model: &Model, share: f64, near: f64) -> Option<f64> {
    const FACTOR_MAX: f64 = 1e6;
    const HALVINGS: u32 = 60;
    let is_above = |value: f64| observation.cdf_and_tail(model, value).1 > share;
    let (mut low, mut high) = (near / FACTOR_MAX, near * FACTOR_MAX);
    if !is_above(low) || is_above(high) {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if is_above(middle) { low = middle } else { high = middle }
    }
    Some(high)
}

/// The best distributions of the ranking, and the one that is taken.
fn ranking(html: &mut String, fit: &VariableFit, preferred: Option<&Candidate>) {
    const SHOWN: usize = 6;
    let candidates = &fit.ranking.candidates;
    let shown = candidates.iter().enumerate().filter(|(at, c)| *at < SHOWN || Some(*c) == preferred);
    let row = |candidate: &Candidate| {
        let goodness = &candidate.goodness;
        vec![
            candidate.name.clone(),
            format!("{:.3}", goodness.lambda_squared),
            format!("{:.2}", goodness.anderson_darling),
            format!("{:.3}", goodness.kolmogorov_smirnov),
            passed(candidate),
        ]
    };
    let rows: Vec<(&str, Vec<String>)> = shown
        .map(|(_, candidate)| (if Some(candidate) == preferred { "preferred" } else { "" }, row(candidate)))
        .collect();
    let rows: Vec<(&str, &[String])> = rows.iter().map(|(class, row)| (*class, row.as_slice())).collect();
    table_of(html, &["distribution", "λ²", "A²", "D", "passed"], &rows);
    if let Some(distribution) = preferred {
        let estimate = |e: &Estimate| match e.error {
            Some(error) => format!("{} = {}", e.name, precision::with_error(e.value, 1.96 * error)),
            None => format!("{} = {}", e.name, significant(e.value)),
        };
        let estimates: Vec<String> = distribution.estimates.iter().map(estimate).collect();
        let _ = writeln!(html, "<p>{}: {}.</p>", distribution.name, estimates.join(", "));
    }
}

fn requests(html: &mut String, counts: &RequestCounts) {
    let _ = writeln!(
        html,
        "<h2>Requests over time</h2>\n<p>{} slots of {}: {} requests in each, variance {}, {:.1} % empty, the peak {:.1} \
         times the mean. The marginal is the variable \u{201c}requests a slot\u{201d}.</p>\n<div class=\"plots\">",
        counts.slots,
        with_unit(counts.slot.as_secs_f64()),
        precision::mean(counts.mean, counts.variance.sqrt(), counts.slots),
        significant(counts.variance),
        100.0 * counts.empty,
        counts.peak_to_mean
    );
    let lags = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        (1..counts.autocorrelation.len()).map(|lag| (lag as f64, value(lag))).collect()
    };
    let correlation = Chart::new(
        "Autocorrelation",
        Axis::linear("slots apart"),
        Axis::linear("correlation"),
        vec![
            Series::new("data", Mark::Dots, lags(&|lag| counts.autocorrelation[lag])),
            Series::new("independent", Mark::Dashes, lags(&|_| counts.white_noise)),
        ],
    );
    let scales = |of: fn(&ScaleIndex) -> f64| {
        counts.dispersion.iter().map(move |scale| (scale.over.as_secs_f64(), of(scale)))
    };
    let dispersion = Chart::new(
        "Index of dispersion",
        Axis::logarithmic("counted over, s"),
        Axis::logarithmic("variance over mean"),
        vec![
            Series::new("data", Mark::Dots, scales(|s| s.index)),
            Series::new("Poisson, at most", Mark::Dashes, scales(|s| s.poisson.1)),
        ],
    );
    let _ = writeln!(html, "{}{}</div>", correlation.html(), dispersion.html());
    let row = |reading: &HurstReading| {
        let interval = reading.interval.map_or("no theory".to_owned(), |(l, h)| format!("{l:.2} to {h:.2}"));
        vec![reading.method.to_string(), format!("{:.2}", reading.hurst), interval]
    };
    let rows: Vec<Vec<String>> = counts.hurst.iter().map(row).collect();
    table(html, &["Hurst parameter by", "H", "95 %"], &rows);
    sentences(html, &counts.caveats, "doubt");
}

fn popularity(html: &mut String, report: &FitReport) {
    let popularity = &report.popularity;
    let points = popularity.curve.iter().map(|point| (point.rank as f64, point.requests as f64));
    let mut series = vec![Series::new("data", Mark::Dots, points)];
    if let Some(zipf) = popularity.holds.or(popularity.all) {
        // The level of Zipf's law: its ranks have this share of all requests.
        let sum: f64 = (1..=zipf.ranks).map(|rank| (rank as f64).powf(-zipf.exponent)).sum();
        let level = zipf.share * popularity.requests as f64 / sum;
        let ranks = popularity.curve.iter().map(|point| point.rank).filter(|rank| *rank <= zipf.ranks);
        let points = ranks.map(|rank| (rank as f64, level * (rank as f64).powf(-zipf.exponent)));
        series.push(Series::new(format!("Zipf {:.2}", zipf.exponent), Mark::Line, points));
    }
    let (x, y) = (Axis::logarithmic("rank"), Axis::logarithmic("requests"));
    let chart = Chart::new("Popularity", x, y, series);
    let words = match popularity.holds {
        Some(zipf) => format!(
            "Zipf's law holds for the first {} objects, which have {:.1} % of the requests, with the exponent {}.",
            zipf.ranks,
            100.0 * zipf.share,
            precision::with_error(zipf.exponent, 1.96 * zipf.error)
        ),
        None => "Zipf's law holds for no range of ranks: the curve is what there is.".to_owned(),
    };
    let _ = writeln!(
        html,
        "<h2>Popularity</h2>\n<div class=\"plots\">{}<p>{} objects, {} of them asked for once; {:.1} % of requests were for an \
         object that had been asked for before. {words}</p></div>",
        chart.html(),
        popularity.objects,
        popularity.once,
        100.0 * report.repeated
    );
}

fn sensitivity(html: &mut String, report: &FitReport) {
    html.push_str(
        "<h2>Other thresholds</h2>\n<p>What the same log would be with others; a think time is never below the first nor \
         above the second.</p>\n",
    );
    html.push_str("<div class=\"plots\">\n");
    for (title, unit, value) in SENSITIVE {
        let _ = writeln!(html, "<div>{}</div>", of_thresholds(report, title, unit, value).html());
    }
    html.push_str("</div>\n");
    let row = |row: &Sensitivity| {
        vec![
            row.thresholds.t_min.to_string(),
            row.thresholds.t_max.to_string(),
            row.sessions.to_string(),
            format!("{:.2}", row.clicks_mean),
            with_unit(row.think_mean.as_secs_f64()),
            format!("{:.2}", row.embedded_mean),
        ]
    };
    let rows: Vec<Vec<String>> = report.sensitivity.iter().map(row).collect();
    let class = |at: usize| match report.sensitivity[at].thresholds == report.thresholds {
        true => "preferred",
        false => "",
    };
    let rows: Vec<(&str, &[String])> =
        rows.iter().enumerate().map(|(at, row)| (class(at), row.as_slice())).collect();
    table_of(html, &["T min", "T max", "sessions", "clicks", "think time", "embedded"], &rows);
}

/// A quantity that depends on thresholds: a chart's title, its unit, and the value.
type Sensitive = (&'static str, &'static str, fn(&Sensitivity) -> f64);

const SENSITIVE: [Sensitive; 4] = [
    ("Sessions by thresholds", "sessions", |row| row.sessions as f64),
    ("Clicks by thresholds", "clicks a session", |row| row.clicks_mean),
    ("Think time by thresholds", "mean think time, s", |row| row.think_mean.as_secs_f64()),
    ("Embedded objects by thresholds", "embedded objects a page", |row| row.embedded_mean),
];

/// A quantity over the upper threshold, a line for each lower one.
fn of_thresholds(report: &FitReport, title: &str, unit: &str, value: fn(&Sensitivity) -> f64) -> Chart {
    let mut lower: Vec<Duration> = report.sensitivity.iter().map(|row| row.thresholds.t_min).collect();
    lower.sort_unstable();
    lower.dedup();
    let line = |t_min: Duration| {
        let rows = report.sensitivity.iter().filter(move |row| row.thresholds.t_min == t_min);
        let points = rows.map(|row| (row.thresholds.t_max.as_secs_f64(), value(row)));
        Series::new(format!("T min {t_min}"), Mark::Marked, points)
    };
    let up = Axis { label: unit.to_owned(), spacing: Spacing::FromZero };
    Chart::new(title, Axis::logarithmic("T max, s"), up, lower.into_iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_fit::{Component, Family};

    /// In an exponential distribution, twice the value has the square of the share above it.
    #[test]
    fn quantiles_are_those_of_the_distribution() {
        let component = Component::new(Family::Exponential, [3.0, 0.0]).expect("a good parameter");
        let model = Model::single(component);
        let exact = Observation::default();
        let value = |share: f64| value_above(&exact, &model, share, 1.0).expect("a value");
        for share in [0.9, 0.5, 0.01] {
            let (once, twice) = (value(share), value(share * share));
            assert!((twice / once - 2.0).abs() < 1e-9, "{once} {twice}");
            assert!((model.cdf_and_tail(once).1 - share).abs() < 1e-9);
        }
        assert_eq!(value_above(&exact, &model, 0.5, 1e-12), None, "a million times away");
    }
}
