//! Thresholds of a summary, read from their text and held against the samples: `p99(connect){dsl}<200ms`.

use super::Recount;
use super::expected::Expected;
use super::part::{PartCounts, RequestScope, RunPart};
use farfield_base::{Duration, Outcome, Rate, Share};
use serde_json::Value;

/// A threshold as it is written.
struct ThresholdText<'a> {
    metric: &'a str,
    timing: &'a str,
    scope: Option<&'a str>,
    comparison: &'a str,
    value: &'a str,
}

impl<'a> ThresholdText<'a> {
    fn read(text: &'a str) -> Option<ThresholdText<'a>> {
        // A path in braces may contain signs.
        let first = text.find(['<', '>', '=', '{'])?;
        let from = if text[first..].starts_with('{') { text.rfind('}')? } else { 0 };
        let at = from + text[from..].find(['<', '>', '='])?;
        let (left, right) = text.split_at(at);
        let signs = if right[1..].starts_with('=') { 2 } else { 1 };
        let (left, scope) = match left.trim().split_once('{') {
            Some((left, scope)) => (left.trim(), Some(scope.strip_suffix('}')?.trim())),
            None => (left.trim(), None),
        };
        let (metric, timing) = match left.split_once('(') {
            Some((metric, timing)) => (metric.trim(), timing.strip_suffix(')')?.trim()),
            None => (left, "response"),
        };
        Some(ThresholdText {
            metric,
            timing,
            scope,
            comparison: &right[..signs],
            value: right[signs..].trim(),
        })
    }

    /// The field of a summary's times.
    fn field(&self) -> String {
        self.timing.replace('-', "_")
    }

    /// A percentile in parts of a billion.
    fn per_billion(&self) -> Option<u64> {
        let percent: f64 = self.metric.strip_prefix('p')?.parse().ok()?;
        Some((percent * 1e7).round() as u64)
    }

    fn holds(&self, value: f64, limit: f64) -> bool {
        match self.comparison {
            "<" => value < limit,
            "<=" => value <= limit,
            ">" => value > limit,
            "==" => value == limit,
            _ => value >= limit,
        }
    }

    fn is_time(&self) -> bool {
        ["mean", "min", "max", "sd"].contains(&self.metric) || self.per_billion().is_some()
    }

    /// True if it is of a share of the replies.
    fn is_share(&self) -> bool {
        self.metric.starts_with("status.") && self.value.ends_with('%')
    }

    /// The unit, and the limit in it.
    fn limit(&self) -> Option<(&'static str, f64)> {
        match self.metric {
            _ if self.is_time() => Some(("ns", self.value.parse::<Duration>().ok()?.as_ns() as f64)),
            "errors" => Some(("share", self.value.parse::<Share>().ok()?.as_f64())),
            "rate" | "sent" | "offered" | "event-rate" => {
                Some(("per_second", self.value.parse::<Rate>().ok()?.as_per_second()))
            }
            _ if self.is_share() => Some(("share", self.value.parse::<Share>().ok()?.as_f64())),
            _ => Some(("count", self.value.parse::<u64>().ok()? as f64)),
        }
    }
}

/// A number that was found, from one to another by the bins of a histogram, and whether the true one is only
/// known to be more.
#[derive(Clone, Copy)]
struct MeasuredRange {
    low: f64,
    high: f64,
    is_lower_bound: bool,
}

impl MeasuredRange {
    fn exactly(value: f64) -> MeasuredRange {
        MeasuredRange { low: value, high: value, is_lower_bound: false }
    }

    fn between(counts: [u64; 2]) -> MeasuredRange {
        let [low, high] = counts.map(|count| count as f64);
        MeasuredRange { low, high, is_lower_bound: false }
    }

    fn of((ns, is_lower_bound): (f64, bool)) -> MeasuredRange {
        MeasuredRange { low: ns - 1.0, high: ns + 1.0, is_lower_bound }
    }

    fn expected(self) -> Expected {
        let slack = 1e-9 * self.high.abs() + 1e-12;
        Expected::Between { low: self.low - slack, high: self.high + slack }
    }
}

/// The results of the thresholds `said`, each by its text.
pub fn expected(of: &Recount<'_>, said: &Value) -> Expected {
    let Some(list) = said.as_array() else { return Expected::Open };
    let result = |own: &Value| {
        let text = own.get("text").and_then(Value::as_str).unwrap_or_default();
        one(of, own, text).unwrap_or_else(|| not_counted(own, text))
    };
    Expected::List(list.iter().map(result).collect())
}

/// The result of one that samples do not show, of a path for instance: its limit, and whether it passed by
/// the number that the summary has, which is unread.
fn not_counted(own: &Value, text: &str) -> Expected {
    let written = ThresholdText::read(text);
    let limit = written.as_ref().and_then(|written| Some((written, written.limit()?)));
    let Some((written, (unit, limit))) = limit else {
        return Expected::record([("text", Expected::word(text))]);
    };
    let measured = own.get("measured").and_then(Value::as_f64);
    Expected::record([
        ("text", Expected::word(text)),
        ("limit", Expected::near(limit)),
        ("unit", Expected::word(unit)),
        ("passed", Expected::Flag(measured.is_some_and(|value| written.holds(value, limit)))),
    ])
}

/// The result of one; `None` if it cannot be read, or is of what is not counted.
fn one(of: &Recount<'_>, own: &Value, text: &str) -> Option<Expected> {
    let written = ThresholdText::read(text)?;
    let (unit, limit) = written.limit()?;
    // Samples have the longest gap of each stream alone.
    let is_of_events = written.timing == "event-gap" || written.metric == "event-rate";
    if is_of_events && of.events.is_none() {
        return None;
    }
    let counted = match written.scope {
        None => PartCounts::part(of, RunPart::Steady, RequestScope::All),
        Some(scope) if let Some(flow) = of.counted_of_flow(scope) => flow,
        Some(scope) if let Some(host) = of.counted_of_host(scope) => host,
        Some(scope) if let Some(stage) = of.counted_of_stage(scope) => stage,
        Some(scope) => match of.classes.iter().position(|class| class == scope) {
            Some(class) => PartCounts::part(of, RunPart::Steady, RequestScope::Class(class as u16)),
            None => {
                let place = of.states.iter().position(|state| state == scope)?;
                PartCounts::state(of, of.request_of_state(place))
            }
        },
    };
    let found = measure(&written, &counted);
    let holds = |value: f64| written.holds(value, limit);
    let passed = match found {
        None => Expected::Flag(false),
        Some(found) if holds(found.low) != holds(found.high) => Expected::Open,
        Some(found) => {
            let shows = !(found.is_lower_bound && written.comparison.starts_with('<'));
            Expected::Flag(holds(found.low) && shows)
        }
    };
    Some(Expected::record([
        ("text", Expected::word(text)),
        ("measured", found.map_or(Expected::Nothing, MeasuredRange::expected)),
        ("is_lower_bound", Expected::Flag(found.is_some_and(|found| found.is_lower_bound))),
        ("interval", interval(of, &written, &counted)),
        ("limit", Expected::near(limit)),
        ("unit", Expected::word(unit)),
        (
            "beyond_share",
            own.get("beyond_share").map_or(Expected::Open, |_| beyond(&written, limit, &counted)),
        ),
        ("requests", own.get("requests").map_or(Expected::Open, |_| Expected::Count(counted.requests))),
        ("passed", passed),
    ]))
}

/// The share of times beyond the limit of a percentile; older runs have none.
fn beyond(written: &ThresholdText<'_>, limit: f64, counted: &PartCounts) -> Expected {
    if written.per_billion().is_none() || !written.comparison.starts_with('<') {
        return Expected::Nothing;
    }
    let Some(times) = counted.time(&written.field()) else { return Expected::Nothing };
    let counted = || times.seen.beyond(limit).unwrap_or(Expected::Nothing);
    times.estimate.as_ref().map_or_else(counted, |estimate| Expected::near(estimate.beyond(limit)))
}

fn measure(written: &ThresholdText<'_>, counted: &PartCounts) -> Option<MeasuredRange> {
    let events = &counted.events;
    let rate = |count: u64| (counted.lasted_ns > 0).then(|| MeasuredRange::exactly(counted.per_s(count)));
    if written.is_time() {
        let times = counted.time(&written.field())?;
        let estimate = times.estimate.as_ref();
        let whole = |ns: f64| MeasuredRange { low: ns - 1.0, high: ns + 1.0, is_lower_bound: false };
        return match written.metric {
            "mean" => estimate.map_or_else(
                || {
                    times
                        .seen
                        .mean()
                        .map(|mean| MeasuredRange { low: mean - 1.0, ..MeasuredRange::exactly(mean) })
                },
                |estimate| Some(MeasuredRange::of(estimate.mean())),
            ),
            "max" => estimate.map_or_else(
                || times.seen.ends().map(|[_, longest]| MeasuredRange::exactly(longest as f64)),
                |estimate| Some(MeasuredRange::of(estimate.max())),
            ),
            "min" => times.seen.ends().map(|[shortest, _]| MeasuredRange::exactly(shortest as f64)),
            "sd" => times.seen.deviation().map(whole),
            _ => {
                let per_billion = written.per_billion()?;
                estimate.map_or_else(
                    || match times.seen.quantile(per_billion)? {
                        Expected::Between { low, high } => {
                            Some(MeasuredRange { low, high, is_lower_bound: false })
                        }
                        _ => None,
                    },
                    |estimate| Some(MeasuredRange::of(estimate.quantile(per_billion))),
                )
            }
        };
    }
    match written.metric {
        "errors" => counted.error_share.map(MeasuredRange::exactly),
        "rate" => rate(events.succeeded),
        "sent" => rate(events.sent),
        "offered" => rate(events.offered),
        "requests" => Some(MeasuredRange::exactly(counted.requests as f64)),
        "event-rate" => rate(counted.reply_events?),
        "stalls" => counted.streams.stalled.map(MeasuredRange::between),
        name if name.starts_with("status.") => {
            let wanted = name.strip_prefix("status.")?.to_lowercase();
            let is_it = |status: u16| match wanted.strip_suffix("xx") {
                // A code beyond the classes is of the last one.
                Some(class) => (status / 100).min(5).to_string() == class,
                None => status.to_string() == wanted,
            };
            let sum = |is: &dyn Fn(u16) -> bool| -> u64 {
                counted.statuses.iter().filter(|(status, _)| is(**status)).map(|(_, count)| *count).sum()
            };
            let (own, all) = (sum(&is_it), sum(&|_| true));
            match written.is_share() {
                true => (all > 0).then(|| MeasuredRange::exactly(own as f64 / all as f64)),
                false => Some(MeasuredRange::exactly(own as f64)),
            }
        }
        name => {
            let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)?;
            Some(MeasuredRange::exactly(counted.count(outcome) as f64))
        }
    }
}

fn interval(of: &Recount<'_>, written: &ThresholdText<'_>, counted: &PartCounts) -> Expected {
    if !of.has_intervals {
        return Expected::Open;
    }
    let ends = |ends: [f64; 2], by: f64| {
        let end = |value: f64| Expected::Near { value, by: by * value.abs() + 1e-9 };
        Expected::List(ends.map(end).to_vec())
    };
    let times = counted.time(&written.field()).filter(|times| times.estimate.is_none());
    let batches = times.and_then(|times| Some((times, times.batches.as_ref().ok()?)));
    match written.metric {
        "mean" => batches
            .and_then(|(times, batches)| {
                let mean = times.seen.mean()?.floor();
                Some(ends(batches.mean_factors().ok()?.map(|factor| mean * factor), 1e-6))
            })
            .unwrap_or(Expected::Nothing),
        "errors" => counted.error_interval.map_or(Expected::Nothing, |own| ends(own, 1e-6)),
        "rate" => counted.succeeded_interval.map_or(Expected::Nothing, |own| ends(own, 1e-6)),
        _ => batches
            .and_then(|(times, batches)| {
                let ranks = batches.ranks(written.per_billion()?).ok()?;
                Some(times.seen.between(ranks))
            })
            .unwrap_or(Expected::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_they_are_written() {
        let read = |text| {
            let own = ThresholdText::read(text)?;
            Some((own.metric, own.timing, own.scope, own.comparison, own.value))
        };
        assert_eq!(read("p99<200ms"), Some(("p99", "response", None, "<", "200ms")));
        assert_eq!(read("p99.9(connect){dsl} >= 1s"), Some(("p99.9", "connect", Some("dsl"), ">=", "1s")));
        assert_eq!(read("nothing"), None);
        assert_eq!(read("requests{/a==}==0"), Some(("requests", "response", Some("/a=="), "==", "0")));
        let limit = |text| ThresholdText::read(text)?.limit();
        assert_eq!(limit("p99<200ms"), Some(("ns", 2e8)));
        assert_eq!(limit("errors<1%"), Some(("share", 0.01)));
        assert_eq!(limit("rate>=500/s"), Some(("per_second", 500.0)));
        assert_eq!(limit("timed-out<=3"), Some(("count", 3.0)));
        assert_eq!(read("status.5xx{/a} == 0"), Some(("status.5xx", "response", Some("/a"), "==", "0")));
        assert_eq!(limit("status.429<1%"), Some(("share", 0.01)));
        assert_eq!(limit("status.429<1"), Some(("count", 1.0)));
    }
}
