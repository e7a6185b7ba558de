//! `report.html` of a fit: plots of the data beside the distributions for every variable, the models that
//! were tried, and the limits of the log.

use super::summary::{arrivals_are, date, name, passed, with_unit};
use crate::chart::{Axis, Chart, Mark, Series, escaped};
use crate::html;
use farfield_base::Instant;
use farfield_fit::arrivals::SessionArrivals;
use farfield_fit::counts::{RequestCounts, ScaleIndex};
use farfield_fit::report::{CurvePoint, VariableFit};
use farfield_fit::scenario::FittedTraffic;
use farfield_fit::{Candidate, Estimate, FitReport};
use std::fmt::Write;

const STYLE: &str = ".plots{display:flex;flex-wrap:wrap;gap:1em}.plots>*{flex:1 1 440px;max-width:480px}\
    .preferred{font-weight:600}.doubt{color:#7a4b00}";

/// The HTML page of a fit.
pub fn page(report: &FitReport, traffic: &FittedTraffic) -> String {
    let mut html = html::begin("What the log says", STYLE);
    overview(&mut html, report);
    html.push_str("<h2>The scenario</h2>\n");
    sentences(&mut html, &traffic.words, "");
    sentences(&mut html, &traffic.doubts, "doubt");
    html.push_str("<h2>Variables</h2>\n<p>Each plot has the share of values above a value, for the data (dots) and for the \
         distribution that the scenario takes or would take (line): both axes are logarithmic, so that tails show.</p>\n");
    for fit in &report.variables {
        variable(&mut html, fit);
    }
    if let Some(counts) = &report.counts {
        requests(&mut html, counts);
    }
    popularity(&mut html, report);
    sensitivity(&mut html, report);
    html.push_str(html::END);
    html
}

fn overview(html: &mut String, report: &FitReport) {
    let (read, crawlers) = (&report.read, &report.crawlers);
    let _ = write!(
        html,
        "<p>{} lines: {} requests over {}, {} broken, {} without a request. ",
        read.lines,
        read.requests,
        with_unit(report.covers.as_secs_f64()),
        read.broken,
        read.nothing
    );
    if report.left_out > 0 {
        let _ = write!(html, "{} requests are left out, beyond what is kept in memory. ", report.left_out);
    }
    let _ = writeln!(
        html,
        "Of {} visitors {} are crawlers by their agent, {} by asking for /robots.txt, {} by their rate; their {} requests \
         are in nothing below.</p>",
        crawlers.visitors, crawlers.by_agent, crawlers.by_robots, crawlers.by_rate, crawlers.requests
    );
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
        html.push_str("<p>The first broken lines:</p>\n<table><tr><th>line</th><th>why</th></tr>\n");
        for shown in &read.shown {
            let _ = writeln!(html, "<tr><td>{}</td><td>{}</td></tr>", shown.line, escaped(&shown.why));
        }
        html.push_str("</table>\n");
    }
    if let Some(arrivals) = report.arrivals {
        let _ = writeln!(
            html,
            "<p>Sessions arrive at {:.4} a second. Of {} stretches of {} gaps {:.0} % pass for exponential and {:.0} % for \
             uncorrelated at the level of 5 %: 95 % of either would be a Poisson process, of the second a renewal process. Long logs \
             fail such a test by effects that nobody would notice: here gaps are {:.3} from those of a Poisson process, as distribution \
             functions go (below {:.2} it will do), and the correlation of neighbours is {:.2} (below {:.1}). So they are {}.</p>",
            arrivals.rate,
            arrivals.stretches,
            arrivals.gaps,
            100.0 * arrivals.exponential_passed,
            100.0 * arrivals.uncorrelated_passed,
            arrivals.distance,
            SessionArrivals::DISTANCE_NIL,
            arrivals.correlation,
            SessionArrivals::CORRELATION_NIL,
            arrivals_are(&arrivals)
        );
    }
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
    let preferred = fit.ranking.preferred(fit.mean);
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
    let _ = writeln!(
        html,
        "<h3>{title}</h3>\n<div class=\"plots\">{}<div>\n<p>{} values, {} of them fitted, {} of zero left out. Mean {:.5}, standard \
         deviation {:.5}.</p>",
        chart.html(),
        fit.values,
        fit.fitted,
        fit.zeros,
        fit.mean,
        fit.deviation
    );
    ranking(html, fit, preferred);
    sentences(html, &fit.ranking.caveats, "doubt");
    sentences(html, &fit.ranking.left_out, "");
    html.push_str("</div></div>\n");
}

/// The best distributions of the ranking, and the one that is taken.
fn ranking(html: &mut String, fit: &VariableFit, preferred: Option<&Candidate>) {
    const SHOWN: usize = 6;
    html.push_str("<table><tr><th>distribution</th><th>λ²</th><th>A²</th><th>D</th><th>passed</th></tr>\n");
    let candidates = &fit.ranking.candidates;
    let shown = candidates.iter().enumerate().filter(|(at, c)| *at < SHOWN || Some(*c) == preferred);
    for candidate in shown.map(|(_, candidate)| candidate) {
        let class = if Some(candidate) == preferred { " class=\"preferred\"" } else { "" };
        let goodness = &candidate.goodness;
        let _ = writeln!(
            html,
            "<tr{class}><td>{}</td><td>{:.3}</td><td>{:.2}</td><td>{:.3}</td><td>{}</td></tr>",
            candidate.name,
            goodness.lambda_squared,
            goodness.anderson_darling,
            goodness.kolmogorov_smirnov,
            passed(candidate)
        );
    }
    html.push_str("</table>\n");
    if let Some(distribution) = preferred {
        let estimate = |e: &Estimate| match e.error {
            Some(error) => format!("{} = {:.4} ± {:.4}", e.name, e.value, 1.96 * error),
            None => format!("{} = {:.4}", e.name, e.value),
        };
        let estimates: Vec<String> = distribution.estimates.iter().map(estimate).collect();
        let _ = writeln!(html, "<p>{}: {}.</p>", distribution.name, estimates.join(", "));
    }
}

fn requests(html: &mut String, counts: &RequestCounts) {
    let _ = writeln!(
        html,
        "<h2>Requests over time</h2>\n<p>{} slots of {}: {:.4} requests in each, variance {:.4}, {:.1} % empty, the peak {:.1} \
         times the mean. The marginal is the variable \u{201c}requests a slot\u{201d}.</p>\n<div class=\"plots\">",
        counts.slots,
        with_unit(counts.slot.as_secs_f64()),
        counts.mean,
        counts.variance,
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
    html.push_str("<table><tr><th>Hurst parameter by</th><th>H</th><th>95 %</th></tr>\n");
    for reading in &counts.hurst {
        let interval = reading.interval.map_or("no theory".to_owned(), |(l, h)| format!("{l:.3} to {h:.3}"));
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{:.3}</td><td>{interval}</td></tr>",
            reading.method, reading.hurst
        );
    }
    html.push_str("</table>\n");
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
            "Zipf's law holds for the first {} objects, which have {:.1} % of the requests, with the exponent {:.3} ± {:.3}.",
            zipf.ranks,
            100.0 * zipf.share,
            zipf.exponent,
            1.96 * zipf.error
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
         above the second.</p>\n<table><tr><th>T min</th><th>T max</th><th>sessions</th><th>clicks</th><th>think time</th>\
         <th>embedded</th></tr>\n",
    );
    for row in &report.sensitivity {
        let class = if row.thresholds == report.thresholds { " class=\"preferred\"" } else { "" };
        let _ = writeln!(
            html,
            "<tr{class}><td>{}</td><td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td><td>{:.2}</td></tr>",
            row.thresholds.t_min,
            row.thresholds.t_max,
            row.sessions,
            row.clicks_mean,
            with_unit(row.think_mean.as_secs_f64()),
            row.embedded_mean
        );
    }
    html.push_str("</table>\n");
}
