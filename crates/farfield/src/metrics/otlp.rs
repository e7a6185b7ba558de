//! Metrics in the OpenTelemetry Protocol, version 1, as JSON over HTTP (OTLP/HTTP, "JSON Protobuf Encoding").
//!
//! 64-bit integers are strings there. Totals count from the start of the run (cumulative temporality).

use super::families::{Family, MetricType, RunLabels, Value};
use super::snapshot::{Buckets, Snapshot};
use serde_json::{Value as Json, json};

/// Cumulative aggregation temporality.
const CUMULATIVE: u8 = 2;

/// The body of a request with the families of `snapshot`.
pub fn encode(families: &[Family], run: &RunLabels, snapshot: &Snapshot) -> Vec<u8> {
    let now_ns = u128::from(snapshot.unix_ms) * 1_000_000;
    let start_ns = now_ns.saturating_sub(u128::from(snapshot.now.as_ns()));
    let metrics: Vec<Json> = families.iter().map(|family| metric(family, start_ns, now_ns)).collect();
    let resource = attributes(&[
        ("service.name", "farfield".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", run.run.clone()),
        ("farfield.run", run.run.clone()),
        ("farfield.scenario", run.scenario.clone()),
    ]);
    let scope = json!({ "name": "farfield", "version": env!("CARGO_PKG_VERSION") });
    let document = json!({
        "resourceMetrics": [{
            "resource": { "attributes": resource },
            "scopeMetrics": [{ "scope": scope, "metrics": metrics }],
        }],
    });
    document.to_string().into_bytes()
}

fn metric(family: &Family, start_ns: u128, now_ns: u128) -> Json {
    let points = family.points.iter().map(|point| {
        let mut json = json!({
            "attributes": attributes(&point.labels),
            "startTimeUnixNano": start_ns.to_string(),
            "timeUnixNano": now_ns.to_string(),
        });
        match &point.value {
            Value::Number(value) => json["asDouble"] = json!(value),
            Value::Histogram(buckets) => {
                json["count"] = json!(buckets.count.to_string());
                json["sum"] = json!(buckets.sum_ns as f64 / 1e9);
                json["bucketCounts"] = json!(counts(buckets));
                json["explicitBounds"] = Buckets::bounds().map(|bound| bound.as_secs_f64()).collect();
            }
        }
        json
    });
    let points: Vec<Json> = points.collect();
    // The suffix of totals is Prometheus' own, which a collector adds.
    let name = family.name.strip_suffix("_total").unwrap_or(family.name);
    let mut json = json!({ "name": name, "description": family.help, "unit": family.unit });
    match family.kind {
        MetricType::Counter => {
            json["sum"] =
                json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true });
        }
        MetricType::Gauge => json["gauge"] = json!({ "dataPoints": points }),
        MetricType::Histogram => {
            json["histogram"] = json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE });
        }
    }
    json
}

fn attributes(labels: &[(&str, String)]) -> Vec<Json> {
    labels.iter().map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } })).collect()
}

/// The times in each bucket, and those above all bounds.
fn counts(buckets: &Buckets) -> Vec<String> {
    let mut up_to: Vec<u64> = buckets.up_to.clone();
    up_to.resize(Buckets::bounds().count(), 0);
    up_to.push(buckets.count);
    let below = std::iter::once(0).chain(up_to.iter().copied());
    up_to.iter().zip(below).map(|(up_to, below)| (up_to - below).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::families::families;
    use crate::metrics::families::tests::{labels, snapshot};

    #[test]
    fn sums_gauges_and_histograms_as_the_protocol_has_them() {
        let (run, snapshot) = (labels(), snapshot());
        let body = encode(&families(&run, &snapshot), &run, &snapshot);
        let document: Json = serde_json::from_slice(&body).expect("JSON");
        let resource = &document["resourceMetrics"][0];
        assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "farfield");
        let metrics = resource["scopeMetrics"][0]["metrics"].as_array().expect("metrics");
        let named = |name: &str| metrics.iter().find(|metric| metric["name"] == name).expect(name);
        let requests = &named("farfield_requests")["sum"];
        assert_eq!(
            (&requests["isMonotonic"], &requests["aggregationTemporality"]),
            (&json!(true), &json!(2))
        );
        assert_eq!(requests["dataPoints"][0]["asDouble"], 4.0);
        assert_eq!(requests["dataPoints"][0]["startTimeUnixNano"], "1699999997623000000");
        assert_eq!(requests["dataPoints"][0]["timeUnixNano"], "1700000000123000000");
        assert_eq!(named("farfield_connections_open")["gauge"]["dataPoints"][0]["asDouble"], 7.0);
        let times = &named("farfield_response_seconds")["histogram"]["dataPoints"][1];
        let bounds = times["explicitBounds"].as_array().expect("bounds");
        let counts: Vec<u64> = times["bucketCounts"]
            .as_array()
            .expect("counts")
            .iter()
            .map(|count| count.as_str().and_then(|count| count.parse().ok()).expect("a count"))
            .collect();
        assert_eq!(counts.len(), bounds.len() + 1);
        assert_eq!((counts.iter().sum::<u64>(), &times["count"]), (4, &json!("4")));
        let filled = counts.iter().position(|count| *count == 4).expect("a bucket");
        assert_eq!((&bounds[filled - 1], &bounds[filled]), (&json!(0.002), &json!(0.005)));
    }
}
