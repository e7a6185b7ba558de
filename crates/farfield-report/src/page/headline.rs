//! Headline of a page, which a reader wants first: how many succeeded, how long it took, what failed, over
//! which path; and the contents of the page.

use super::escaped;
use crate::figures::{count, from_to, percent, rate, time};
use farfield_measure::summary::{PartSummary, TimingSummary};
use farfield_measure::{Quantile, Summary};
use std::fmt::Write;

/// Fewer sections than this need no contents.
const SECTIONS_MIN: usize = 4;

/// The row of first figures, below the verdict; each with its interval, or what it consists of.
pub(super) fn row(page: &mut String, summary: &Summary) {
    let steady = &summary.steady;
    let mut put = |name: &str, value: &str, more: &str, class: &str| {
        let more = if more.is_empty() { String::new() } else { format!("<small>{more}</small>") };
        let _ = writeln!(page, "<div><dt>{name}</dt><dd{class}>{value}{more}</dd></div>");
    };
    let dash = || "–".to_owned();
    let succeeded = steady.rates.map_or_else(dash, |rates| rate(rates.succeeded_per_s));
    let interval = steady.rates.and_then(|rates| rates.succeeded_interval_per_s);
    put("succeeded", &succeeded, &interval.map_or_else(String::new, |ends| from_to(ends, rate)), "");
    for quantile in [Quantile::P50, Quantile::P99] {
        let (value, more) = of_time(steady, quantile);
        put(&format!("response time, {quantile}"), &value, &more, "");
    }
    let failed = steady
        .requests
        .saturating_sub(steady.outcomes.iter().find(|own| own.fault == "none").map_or(0, |own| own.count));
    let errors = steady.error_share.map_or_else(dash, percent);
    let of_all = format!("{} of {} requests", count(failed), count(steady.requests));
    put("errors", &errors, &of_all, "");
    if let Some(path) = &summary.heading.path {
        put("path", &escaped(path), "", " class=\"words\"");
    }
}

/// A percentile of the response time, and its interval; an estimate where requests were never answered.
fn of_time(part: &PartSummary, quantile: Quantile) -> (String, String) {
    if let Some(found) = part.estimates.response.as_ref().and_then(|all| all.quantile(quantile)) {
        let more = if found.is_lower_bound { "more than " } else { "" };
        return (format!("{more}{}", time(found.value_ns)), "with those never answered".to_owned());
    }
    let times: Option<&TimingSummary> = part.times.response.as_ref();
    let Some(found) = times.and_then(|times| times.quantile(quantile)) else {
        return ("–".to_owned(), String::new());
    };
    (time(found.value_ns), found.interval_ns.map_or_else(String::new, |ends| from_to(ends, time)))
}

/// Gives each section of the page an address, and lists them after the first mark.
pub(super) fn contents(page: &str, mark: &str) -> String {
    let mut parts = page.split("<h2>");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for part in parts {
        let name = part.split("</h2>").next().unwrap_or_default();
        let letters = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let address: String = name.chars().map(letters).collect();
        let _ = write!(whole, "<h2 id=\"{address}\">{part}");
        names.push((address, name));
    }
    // The verdict stands above them.
    let items: String = names
        .iter()
        .skip(1)
        .map(|(address, name)| format!("<li><a href=\"#{address}\">{name}</a></li>"))
        .collect();
    let list = match names.len() > SECTIONS_MIN {
        true => format!("<nav class=\"contents\" aria-label=\"Contents\"><ul>{items}</ul></nav>\n"),
        false => String::new(),
    };
    whole.replacen(mark, &list, 1)
}
