//! Metrics as text, for Prometheus to read ("Exposition formats", version 0.0.4).

use super::families::{Family, MetricType, Value};
use super::snapshot::Buckets;
use std::fmt::Write;

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The families as text.
pub fn encode(families: &[Family]) -> String {
    let mut text = String::new();
    for Family { name, help, kind, points, .. } in families {
        let kind = match kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
        };
        // Help is ours: it has neither backslashes nor line ends.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for point in points {
            match &point.value {
                Value::Number(value) => line(&mut text, name, "", &point.labels, None, *value),
                Value::Histogram(buckets) => {
                    for (bound, count) in cumulative(buckets) {
                        line(&mut text, name, "_bucket", &point.labels, Some(&bound), count as f64);
                    }
                    line(&mut text, name, "_sum", &point.labels, None, buckets.sum_ns as f64 / 1e9);
                    line(&mut text, name, "_count", &point.labels, None, buckets.count as f64);
                }
            }
        }
    }
    text
}

/// The bounds as the label `le` has them, with the times up to each.
pub fn cumulative(buckets: &Buckets) -> impl Iterator<Item = (String, u64)> {
    let counts = buckets.up_to.iter().copied().chain(std::iter::repeat(0));
    let below = Buckets::bounds().map(|bound| bound.as_secs_f64().to_string()).zip(counts);
    below.chain([("+Inf".to_owned(), buckets.count)])
}

fn line(
    text: &mut String,
    name: &str,
    suffix: &str,
    labels: &[(&str, String)],
    bound: Option<&str>,
    value: f64,
) {
    let mut pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    pairs.extend(bound.map(|bound| format!("le=\"{bound}\"")));
    let labels = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
    let _ = writeln!(text, "{name}{suffix}{labels} {value}");
}

/// The value of a label between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::families::families;
    use crate::metrics::families::tests::{labels, snapshot};

    #[test]
    fn counters_gauges_and_histograms_as_prometheus_reads_them() {
        let text = encode(&families(&labels(), &snapshot()));
        for line in [
            "# TYPE farfield_requests_total counter",
            "farfield_requests_total{phase=\"measured\",outcome=\"ok\",fault=\"none\"} 4",
            "farfield_requests_total{phase=\"measured\",outcome=\"timed-out\",fault=\"client\"} 1",
            "# TYPE farfield_response_seconds histogram",
            "farfield_response_seconds_bucket{phase=\"measured\",outcome=\"ok\",le=\"0.002\"} 0",
            "farfield_response_seconds_bucket{phase=\"measured\",outcome=\"ok\",le=\"0.005\"} 4",
            "farfield_response_seconds_bucket{phase=\"measured\",outcome=\"ok\",le=\"+Inf\"} 4",
            "farfield_response_seconds_sum{phase=\"measured\",outcome=\"ok\"} 0.012",
            "farfield_response_seconds_count{phase=\"measured\",outcome=\"ok\"} 4",
            "farfield_response_seconds_bucket{phase=\"warm-up\",outcome=\"ok\",le=\"60\"} 0",
            "farfield_connections_open 7",
            "farfield_requests_in_system 3",
            "farfield_run_elapsed_seconds 2.5",
            "farfield_response_quantile_seconds{quantile=\"0.99\"} 0.003",
            "farfield_check_failed{check=\"lateness\"} 1",
            "farfield_flow_requests_total{flow=\"api\",outcome=\"ok\",fault=\"none\"} 4",
            "farfield_host_response_seconds_count{host=\"cdn.test\",outcome=\"ok\"} 4",
        ] {
            assert!(text.lines().any(|found| found == line), "`{line}` is not in:\n{text}");
        }
    }

    #[test]
    fn hostile_names_stay_within_their_quotes() {
        let text = encode(&families(&labels(), &snapshot()));
        let class = "class=\"a\\\"\\\\\\\\u000A\"";
        assert!(text.contains(&format!("farfield_class_requests_total{{{class},outcome=\"ok\"")), "{text}");
        for line in text.lines() {
            assert!(line.starts_with("farfield_") || line.starts_with("# "), "{line}");
        }
        let mut samples: Vec<&str> =
            text.lines().filter_map(|line| line.rsplit_once(' ').map(|(id, _)| id)).collect();
        samples.retain(|id| id.starts_with("farfield_"));
        let all = samples.len();
        samples.sort_unstable();
        samples.dedup();
        assert_eq!(samples.len(), all, "no series twice");
    }
}
