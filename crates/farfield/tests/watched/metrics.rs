//! Metrics of a run: as Prometheus reads them while it goes on, and pushed to collectors good and bad.

use super::{client, text, url_said};
use crate::common::{CALM, Ended, Place, Process, Signal, count, poll, skip};
use farfield_base::Outcome;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

/// A port that nothing listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// The value of a series in text, by its name and labels as they are written.
fn value(metrics: &str, series: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    line.parse().ok()
}

#[test]
fn a_run_is_read_while_it_goes_on() {
    let place = Place::new();
    let running = place.begin(&format!("run -R 100 -d 10m --warm-up 1s -t 1 --metrics 0 --out run {CALM}"));
    let url = url_said(&running, "metrics at ");
    let agent = client();
    let completed = "farfield_completed_total{phase=\"measured\"}";
    let metrics = poll("measured replies", || {
        let metrics = text(agent.get(&url).call().ok()?);
        value(&metrics, completed).filter(|count| *count > 50.0).map(|_| metrics)
    });
    let requests = "farfield_requests_total{phase=\"measured\",outcome=\"ok\",fault=\"none\"}";
    let times = "farfield_response_seconds_count{phase=\"measured\",outcome=\"ok\"}";
    assert_eq!(value(&metrics, requests), value(&metrics, times), "{metrics}");
    assert_eq!(value(&metrics, "farfield_run_ended"), Some(0.0));
    assert!(value(&metrics, "farfield_connected_total{phase=\"warm-up\"}") > Some(0.0), "{metrics}");
    let other = agent.get(&url).header("Host", "evil.example").call().expect("an answer");
    assert_eq!(other.status(), 421, "a name that leads here");
    running.signal(Signal::INT);
    running.ended().exits(130);
    assert!(agent.get(&url).call().is_err(), "nothing listens any more");
}

/// Debian's Prometheus, with an API that takes remote writes, and a scrape of `target` once a second.
fn prometheus(place: &Place, target: u16) -> Option<(Process, String)> {
    let port = free_port();
    let config = format!(
        "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\nscrape_configs:\n  - job_name: scraped\n    static_configs:\n      \
         - targets: ['127.0.0.1:{target}']\n"
    );
    let config = place.write("prometheus.yml", config);
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", place.path("tsdb").display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}")).arg("--web.enable-remote-write-receiver");
    let log = File::create(place.path("prometheus.log")).expect("own file");
    command.stdout(log.try_clone().expect("a descriptor")).stderr(log);
    if Command::new("prometheus").arg("--version").output().is_err() {
        return None;
    }
    let process = Process::start(&mut command, place);
    let url = format!("http://127.0.0.1:{port}");
    poll("Prometheus to be ready", || {
        client().get(format!("{url}/-/ready")).call().ok().filter(|answer| answer.status() == 200)
    });
    Some((process, url))
}

/// The values of a query, one for each series.
fn query(prometheus: &str, query: &str) -> Vec<f64> {
    let answer =
        client().get(format!("{prometheus}/api/v1/query")).query("query", query).call().expect("an answer");
    let answer: Value = serde_json::from_str(&text(answer)).expect("JSON");
    let series = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
    series
        .iter()
        .map(|one| one["value"][1].as_str().and_then(|text| text.parse().ok()).expect("a number"))
        .collect()
}

/// The last push is the result, to the request; scrapes meanwhile are of the same run.
#[test]
fn prometheus_has_the_result() {
    let place = Place::new();
    let port = free_port();
    let Some((_process, prometheus)) = prometheus(&place, port) else {
        return skip("prometheus_has_the_result", "no prometheus");
    };
    let words = format!("-R 100 -d 10m --warm-up 1s --metrics 127.0.0.1:{port} --metrics-push {prometheus}");
    let running = place.begin_run(&words);
    // Where others keep the processors busy, scrapes come late.
    let scraped = "last_over_time(farfield_completed_total{job=\"scraped\",phase=\"measured\"}[10m])";
    poll("a scrape of the measured part", || {
        query(&prometheus, scraped).first().filter(|count| **count > 0.0).copied()
    });
    running.signal(Signal::INT);
    let ended = running.ended().exits(130);
    assert!(!ended.stderr.contains("metrics:"), "{}", ended.stderr);
    let summary = ended.summary();
    let ok = count(&summary.steady, Outcome::Ok) as f64;
    let pushed = |name: &str| query(&prometheus, &format!("last_over_time({name}[10m])"));
    assert_eq!(pushed("farfield_requests_total{job=\"farfield\",phase=\"measured\",outcome=\"ok\"}"), [ok]);
    assert_eq!(pushed("farfield_response_seconds_count{job=\"farfield\",phase=\"measured\"}"), [ok]);
    assert_eq!(
        pushed("farfield_response_seconds_bucket{job=\"farfield\",phase=\"measured\",le=\"+Inf\"}"),
        [ok]
    );
    assert_eq!(pushed("farfield_run_ended{job=\"farfield\",run=\"run-1\"}"), [1.0]);
    let quantile = "histogram_quantile(0.99, last_over_time(farfield_response_seconds_bucket{job=\"farfield\",phase=\"measured\"}[10m]))";
    assert!(query(&prometheus, quantile).iter().all(|p99| *p99 > 0.0), "buckets make a quantile");
    assert_eq!(
        pushed("farfield_run_info{job=\"scraped\",plane=\"sockets\"}"),
        [1.0],
        "it was scraped as well"
    );
}

/// A collector of this test's own, which answers with `status`; it passes on what it was sent.
fn collector(status: &'static str) -> (u16, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (send, sent) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let send = send.clone();
            std::thread::spawn(move || while answer(&stream, status, &send).is_some() {});
        }
    });
    (port, sent)
}

fn answer(stream: &TcpStream, status: &str, send: &std::sync::mpsc::Sender<(String, Vec<u8>)>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 9\r\n\r\nbad\x1b[2Jx\n").ok()?;
    send.send((head, body)).ok()
}

fn simulated(place: &Place, more: &str) -> Ended {
    place.run(&format!("--plane simulated -c 4 --think 20ms {more}"))
}

#[test]
fn a_collector_gets_opentelemetry_metrics_with_the_result() {
    let place = Place::new();
    let (port, sent) = collector("200 OK");
    let ended = simulated(&place, &format!("--metrics-otlp http://user:word@127.0.0.1:{port}")).exits(0);
    let (head, body) = sent.try_iter().last().expect("a push");
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains("authorization: basic dxnlcjp3b3jk"), "{head}");
    let document: Value = serde_json::from_slice(&body).expect("JSON");
    let metrics =
        document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().expect("metrics").clone();
    let requests = metrics.iter().find(|metric| metric["name"] == "farfield_requests").expect("requests");
    let points = requests["sum"]["dataPoints"].as_array().expect("points");
    let measured = points.iter().find(|point| {
        let attributes = point["attributes"].as_array().expect("attributes");
        attributes.iter().any(|one| one["value"]["stringValue"] == "measured")
    });
    let ok = count(&ended.summary().steady, Outcome::Ok) as f64;
    assert_eq!(measured.expect("the measured part")["asDouble"], ok);
}

#[test]
fn a_collector_that_fails_costs_a_warning_and_nothing_else() {
    let place = Place::new();
    let (refuses, _) = collector("503 Service Unavailable");
    // It takes connections, and never answers.
    let hangs = TcpListener::bind("127.0.0.1:0").expect("a port");
    let hangs_at = hangs.local_addr().expect("an address");
    let absent = free_port();
    let words = format!(
        "--metrics-push http://127.0.0.1:{refuses}/w --metrics-push http://{hangs_at} --metrics-otlp http://127.0.0.1:{absent}"
    );
    let ended = simulated(&place, &words).exits(0);
    for part in [
        &format!(
            "http://127.0.0.1:{refuses}/w failed, the last figures too; the first one: status 503: bad\\u001B[2Jx"
        ),
        &format!("http://{hangs_at}/api/v1/write failed"),
        &format!("http://127.0.0.1:{absent}/v1/metrics failed"),
    ] {
        assert!(ended.stderr.contains(part.as_str()), "`{part}` is not in: {}", ended.stderr);
    }
}

#[test]
fn what_cannot_be_served_or_pushed_to_is_refused_before_the_run() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    for (words, code, parts) in [
        (format!("--metrics {port}"), 1, ["--metrics: cannot listen", "another program listens there"]),
        ("--metrics nowhere".to_owned(), 2, ["--metrics nowhere", "9464"]),
        ("--metrics-push https://a/".to_owned(), 2, ["--metrics-push: ", "over https"]),
        ("--metrics-otlp 4318".to_owned(), 2, ["--metrics-otlp: ", "4318"]),
        (format!("--ui={port}"), 1, ["--ui: cannot listen", "in use"]),
    ] {
        let ended = place.farfield(&format!("run --plane simulated {words} -o refused")).exits(code);
        ended.says(&parts);
        assert!(!place.path("refused").exists(), "{words}: it has begun");
    }
}
