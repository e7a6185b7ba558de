//! Prometheus exporters on other machines, read once a second over HTTP (node_exporter, and the exporters of
//! nginx and Apache).
//!
//! Each exporter has a thread of its own with a time limit, so that one that does not answer delays nothing.
//! Its answer is in the text format ("Exposition formats", version 0.0.4): counters become rates, and other
//! numbers stay as they are. Histograms and summaries are counters each. There is no TLS.

use crate::exposition::{Sample, parse};
use crate::subject::Subject;
use farfield_base::{Duration, Instant};
use farfield_measure::monitor::{MonitorLog, SeriesId, SeriesName, SeriesSource, metric};
use farfield_os::clock::Clock;
use farfield_os::processors;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread::Builder;

/// Time limit of a reading.
const TIMEOUT: Duration = Duration::from_ms(800);
/// Longest text that is read.
const BYTES_MAX: u64 = 8 << 20;
/// Most series that are known of one exporter: as many as a run keeps of all. One whose labels change from
/// reading to reading would have new ones without end.
const SERIES_MAX: usize = 4_096;

/// An exporter.
#[derive(Clone, PartialEq, Eq)]
pub struct PrometheusTarget {
    /// Tier of the exporter in results.
    pub name: String,
    /// The URL, which begins with `http://`.
    pub url: String,
    /// Header fields of requests. Values are secrets.
    pub headers: Vec<(String, String)>,
    /// Names of metrics to keep, in which `*` stands for any characters; the usual ones if empty.
    pub metrics: Vec<String>,
}

impl fmt::Debug for PrometheusTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut debug = f.debug_struct("PrometheusTarget");
        debug.field("name", &self.name).field("url", &self.url).field("headers", &headers);
        debug.field("metrics", &self.metrics).finish()
    }
}

/// One reading.
#[derive(Debug)]
struct Scrape {
    at: Instant,
    samples: Result<Vec<Sample>, String>,
}

/// The readings of one exporter, recorded.
#[derive(Debug)]
pub(crate) struct Exporter {
    target: PrometheusTarget,
    scrapes: Receiver<Scrape>,
    /// The thread ends when this is dropped.
    _stop: Sender<()>,
    known: BTreeMap<(String, String), KnownSeries>,
    tier: Subject,
    before: Option<Instant>,
    read: u64,
    failed: u64,
    first_failure: Option<(Instant, String)>,
    /// Numbers of series beyond those that are known.
    left_out: u64,
}

/// A series of an exporter, and its count before.
#[derive(Debug)]
struct KnownSeries {
    id: Option<SeriesId>,
    before: Option<f64>,
}

impl Exporter {
    /// Starts to read `target` once a second by the run's clock.
    pub fn start(target: PrometheusTarget, clock: Clock) -> io::Result<Exporter> {
        let (send, scrapes) = sync_channel(16);
        let (stop, stopped) = std::sync::mpsc::channel();
        let asked = target.clone();
        let thread = Builder::new().name("prometheus".to_owned());
        thread.spawn(move || scrape_on(&asked, clock, &send, &stopped))?;
        let tier = Subject::new(SeriesSource::Tier, &target.name, "", None);
        Ok(Exporter {
            target,
            scrapes,
            _stop: stop,
            known: BTreeMap::new(),
            tier,
            before: None,
            read: 0,
            failed: 0,
            first_failure: None,
            left_out: 0,
        })
    }

    /// Records what has been read since. Each reading counts in the second before it was taken.
    pub fn record(&mut self, log: &mut MonitorLog) {
        while let Ok(scrape) = self.scrapes.try_recv() {
            self.read += 1;
            match scrape.samples {
                Ok(samples) => self.record_samples(log, scrape.at, &samples),
                Err(error) => {
                    self.failed += 1;
                    self.first_failure.get_or_insert((scrape.at, error));
                }
            }
        }
    }

    /// A sentence about numbers of too many series, if there were any.
    pub fn left_out(&self) -> Option<String> {
        let PrometheusTarget { name, url, .. } = &self.target;
        (self.left_out > 0).then(|| {
            format!(
                "Prometheus exporter {name} ({url}): {} numbers are of series beyond the first {SERIES_MAX} and were left out: \
                 name those that you need with metrics in [[monitor.prometheus]]",
                self.left_out
            )
        })
    }

    /// A sentence about failed readings, if there were any.
    pub fn failures(&self) -> Option<String> {
        let (at, error) = self.first_failure.as_ref()?;
        let PrometheusTarget { name, url, .. } = &self.target;
        Some(format!(
            "Prometheus exporter {name} ({url}): {} of {} readings failed, the first after {:.0} s: {error}",
            self.failed,
            self.read,
            at.as_secs_f64()
        ))
    }

    fn record_samples(&mut self, log: &mut MonitorLog, at: Instant, samples: &[Sample]) {
        let elapsed = self.before.replace(at).map_or(0.0, |before| at.since(before).as_secs_f64());
        let Some(second) = super::second_before(at) else {
            // The first reading of a counter, from which rates are taken.
            self.rates(log, samples, 0.0);
            return;
        };
        log.begin(second, at);
        let rates = self.rates(log, samples, elapsed);
        record_standard(&mut self.tier, log, samples, &rates);
        log.end();
    }

    /// Records every sample, and returns its value or rate.
    fn rates(&mut self, log: &mut MonitorLog, samples: &[Sample], elapsed: f64) -> Vec<Option<f64>> {
        let tier = &self.target.name;
        let mut record = |sample: &Sample| {
            let key = (sample.metric.clone(), sample.labels.clone());
            if self.known.len() == SERIES_MAX && !self.known.contains_key(&key) {
                self.left_out += 1;
                return None;
            }
            let known = self.known.entry(key).or_insert_with(|| {
                let metric = match sample.is_counter {
                    true => format!("{}_per_s", sample.metric),
                    false => sample.metric.clone(),
                };
                let (tier, name) = (tier.clone(), sample.labels.clone());
                let id = log.series(SeriesName {
                    source: SeriesSource::Prometheus,
                    tier,
                    name,
                    pid: None,
                    metric,
                });
                KnownSeries { id, before: None }
            });
            let before = known.before.replace(sample.value);
            let value = match sample.is_counter {
                false => sample.value,
                // A counter that has fallen belongs to a server that was started again.
                true => before
                    .filter(|before| elapsed > 0.0 && *before <= sample.value)
                    .map(|before| (sample.value - before) / elapsed)?,
            };
            if let Some(id) = known.id {
                log.put(id, value);
            }
            Some(value)
        };
        samples.iter().map(&mut record).collect()
    }
}

/// Numbers with the meaning of one that farfield reads itself are recorded under that name as well:
/// processor time of the whole machine (node_exporter), overflows, and idle workers (Apache).
fn record_standard(tier: &mut Subject, log: &mut MonitorLog, samples: &[Sample], rates: &[Option<f64>]) {
    let (mut user, mut system, mut processors) = (None, None, 0_u32);
    for (sample, rate) in samples.iter().zip(rates) {
        let Some(rate) = *rate else { continue };
        let is = |label: &str| sample.labels.contains(label);
        match sample.metric.as_str() {
            "node_cpu_seconds_total" => {
                let of_system = [r#"mode="system""#, r#"mode="irq""#, r#"mode="softirq""#, r#"mode="steal""#];
                if is(r#"mode="user""#) || is(r#"mode="nice""#) {
                    user = Some(user.unwrap_or(0.0) + rate);
                } else if of_system.iter().any(|mode| is(mode)) {
                    system = Some(system.unwrap_or(0.0) + rate);
                } else if is(r#"mode="idle""#) {
                    processors += 1;
                }
            }
            "node_netstat_TcpExt_ListenOverflows" => tier.put(log, metric::LISTEN_OVERFLOWS, rate),
            "apache_workers" if is(r#"state="idle""#) => tier.put(log, metric::WORKERS_IDLE, rate),
            "apache_workers" if is(r#"state="busy""#) => tier.put(log, metric::WORKERS_BUSY, rate),
            _ => {}
        }
    }
    if let (Some(user), Some(system), 1..) = (user, system, processors) {
        tier.put(log, metric::CPU_USER, user);
        tier.put(log, metric::CPU_SYSTEM, system);
        tier.put(log, metric::CPU_LIMIT, f64::from(processors));
    }
}

/// The thread of an exporter.
fn scrape_on(target: &PrometheusTarget, clock: Clock, to: &SyncSender<Scrape>, stop: &Receiver<()>) {
    // If refused, it has the priority of a worker for some tenths of a millisecond a second.
    let _ = processors::set_background();
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT.to_std()))
        .max_redirects(0)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent("farfield")
        .build();
    let agent = ureq::Agent::new_with_config(config);
    loop {
        let samples = scrape(&agent, target);
        if to.send(Scrape { at: clock.now(), samples }).is_err() {
            return;
        }
        let now = clock.now();
        let next = Instant::ZERO + Duration::from_secs(now.as_ns() / 1_000_000_000 + 1);
        // Before the run's clock starts it stands at zero.
        let wait = next.since(now) + clock.until_start();
        if stop.recv_timeout(wait.to_std()) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn scrape(agent: &ureq::Agent, target: &PrometheusTarget) -> Result<Vec<Sample>, String> {
    let mut request = agent.get(&target.url);
    for (name, value) in &target.headers {
        request = request.header(name, value);
    }
    let mut response = request.call().map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(match status {
            401 | 403 => format!("status {status}: see the headers in [[monitor.prometheus]]"),
            _ => format!("status {status}"),
        });
    }
    let text = response.body_mut().with_config().limit(BYTES_MAX).read_to_string();
    let samples = parse(&text.map_err(|error| error.to_string())?, &target.metrics);
    match samples.is_empty() {
        true => Err("the reply has none of the metrics: see metrics in [[monitor.prometheus]]".to_owned()),
        false => Ok(samples),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_targets_secrets_are_not_shown() {
        let headers = vec![("authorization".to_owned(), "Bearer abc".to_owned())];
        let (name, url) = ("web".to_owned(), "http://127.0.0.1:9100/metrics".to_owned());
        let target = PrometheusTarget { name, url, headers, metrics: Vec::new() };
        let shown = format!("{target:?}");
        assert!(shown.contains("authorization") && !shown.contains("abc"), "{shown}");
    }

    /// An exporter that nothing is read from.
    fn silent() -> Exporter {
        let (_, scrapes) = sync_channel(1);
        let (stop, _) = std::sync::mpsc::channel();
        let name = "web".to_owned();
        let target = PrometheusTarget { name, url: String::new(), headers: Vec::new(), metrics: Vec::new() };
        Exporter {
            target,
            scrapes,
            _stop: stop,
            known: BTreeMap::new(),
            tier: Subject::new(SeriesSource::Tier, "web", "", None),
            before: None,
            read: 0,
            failed: 0,
            first_failure: None,
            left_out: 0,
        }
    }

    /// Other labels in each reading: what is known of them is bounded, and the first go on.
    #[test]
    fn series_without_end_are_bounded() {
        let (mut exporter, mut log) = (silent(), MonitorLog::default());
        for reading in 0..20_u32 {
            let label =
                |number: u32| if number == 0 { "first".to_owned() } else { format!("{reading}/{number}") };
            let samples: Vec<Sample> = (0..1_000)
                .map(|number| Sample {
                    metric: "nginx_x".to_owned(),
                    labels: label(number),
                    is_counter: false,
                    value: f64::from(reading),
                })
                .collect();
            exporter.record_samples(
                &mut log,
                Instant::from_ns(u64::from(reading + 1) * 1_000_000_000),
                &samples,
            );
        }
        assert_eq!(exporter.known.len(), SERIES_MAX);
        assert_eq!(exporter.left_out, 20 * 999 + 1 - SERIES_MAX as u64);
        assert!(exporter.left_out().expect("a sentence").contains("metrics"));
        let first =
            exporter.known.get(&("nginx_x".to_owned(), "first".to_owned())).expect("the first is known");
        assert_eq!(first.before, Some(19.0));
    }

    /// A text without end is read up to the limit, and is a failed reading.
    #[test]
    fn a_text_without_end_is_a_failed_reading() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/metrics", listener.local_addr().expect("an address"));
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("the reading");
            let mut sent = 0;
            let text = "nginx_x 1\n".repeat(10_000);
            assert!(stream.read(&mut [0; 4096]).expect("a request") > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("the reader is there");
            while sent < 1 << 30 && stream.write_all(text.as_bytes()).is_ok() {
                sent += text.len();
            }
            sent
        });
        let agent = ureq::Agent::new_with_defaults();
        let target = PrometheusTarget { url, ..silent().target };
        let failure = scrape(&agent, &target).expect_err("no end");
        assert!(failure.contains("limit"), "{failure}");
        drop(agent);
        let sent = server.join().expect("no panic");
        assert!(sent < 64 << 20, "{sent} bytes were taken");
    }

    /// Rates of processors become processors, as if farfield had read them itself.
    #[test]
    fn processor_time_of_a_node_is_that_of_a_tier() {
        let cpu = |mode: &str, value: f64| Sample {
            metric: "node_cpu_seconds_total".to_owned(),
            labels: format!("cpu=\"0\",mode=\"{mode}\""),
            is_counter: true,
            value,
        };
        let at = |seconds: [f64; 3]| {
            [cpu("idle", seconds[0]), cpu("user", seconds[1]), cpu("softirq", seconds[2])]
        };
        let mut exporter = silent();
        let mut log = MonitorLog::default();
        let ns = |ms: u64| Instant::from_ns(ms * 1_000_000);
        exporter.record_samples(&mut log, ns(0), &at([5.0, 1.0, 2.0]));
        exporter.record_samples(&mut log, ns(2000), &at([5.0, 2.5, 2.5]));
        let found: Vec<_> = log.names().map(|(_, name)| (name.source, name.metric.clone())).collect();
        assert!(
            found.contains(&(SeriesSource::Prometheus, "node_cpu_seconds_total_per_s".to_owned())),
            "{found:?}"
        );
        let examined = farfield_measure::bottleneck::Examined { seconds: 9, workers_poll: false };
        let words = farfield_measure::bottleneck::find(&log, examined).expect("readings").in_words;
        assert!(
            words.contains("the web took at most 100 % of 1 processor") || words.contains("full"),
            "{words}"
        );
    }
}
