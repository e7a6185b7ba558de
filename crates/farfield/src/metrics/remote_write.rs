//! Metrics in Prometheus' remote write protocol, version 1.0: protobuf, Snappy's block format.

use super::families::{Family, MetricType, RunLabels, Value};
use super::protobuf::{ProtobufMessage, snappy};
use super::text::cumulative;

/// Header fields of a request, besides the content type.
pub const HEADERS: [(&str, &str); 3] = [
    ("Content-Type", "application/x-protobuf"),
    ("Content-Encoding", "snappy"),
    ("X-Prometheus-Remote-Write-Version", "0.1.0"),
];

/// The body of a request with the families at `unix_ms`. Series have the labels of their run, since no scrape
/// adds any.
pub fn encode(families: &[Family], run: &RunLabels, unix_ms: u64) -> Vec<u8> {
    let mut request = ProtobufMessage::default();
    for family in families {
        for point in &family.points {
            let labels: Vec<(&str, &str)> =
                point.labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let mut put = |suffix: &str, more: Option<(&str, &str)>, value: f64| {
                let name = format!("{}{suffix}", family.name);
                let own = [
                    ("__name__", name.as_str()),
                    ("job", "farfield"),
                    ("run", &run.run),
                    ("scenario", &run.scenario),
                ];
                let all = labels.iter().copied().chain(own).chain(more);
                let added = series(all.collect(), value, unix_ms);
                request = std::mem::take(&mut request).message(1, added);
            };
            match &point.value {
                Value::Number(value) => put("", None, *value),
                Value::Histogram(buckets) => {
                    for (bound, count) in cumulative(buckets) {
                        put("_bucket", Some(("le", &bound)), count as f64);
                    }
                    put("_sum", None, buckets.sum_ns as f64 / 1e9);
                    put("_count", None, buckets.count as f64);
                }
            }
        }
    }
    for family in families {
        let kind = match family.kind {
            MetricType::Counter => 1,
            MetricType::Gauge => 2,
            MetricType::Histogram => 3,
        };
        let metadata = ProtobufMessage::default().number(1, kind).bytes(2, family.name.as_bytes());
        request = request.message(3, metadata.bytes(4, family.help.as_bytes()));
    }
    snappy(&request.into_bytes())
}

/// A series with one value. Labels are sorted by name, each once, as the protocol asks.
fn series(mut labels: Vec<(&str, &str)>, value: f64, unix_ms: u64) -> ProtobufMessage {
    labels.sort_unstable_by_key(|(name, _)| *name);
    labels.dedup_by_key(|(name, _)| *name);
    let mut series = ProtobufMessage::default();
    for (name, value) in labels {
        let label = ProtobufMessage::default().bytes(1, name.as_bytes()).bytes(2, value.as_bytes());
        series = series.message(1, label);
    }
    series.message(2, ProtobufMessage::default().double(1, value).number(2, unix_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a label `a` = `b`, then a sample of 1.0 at 5 ms.
    #[test]
    fn a_series_is_its_sorted_labels_and_a_sample() {
        let bytes = series(vec![("b", "2"), ("a", "1"), ("b", "2")], 1.0, 5).into_bytes();
        let label = |name: u8, value: u8| vec![0x0a, 6, 0x0a, 1, name, 0x12, 1, value];
        let mut expected = [label(b'a', b'1'), label(b'b', b'2')].concat();
        expected.extend_from_slice(&[0x12, 11, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 5]);
        assert_eq!(bytes, expected);
    }
}
