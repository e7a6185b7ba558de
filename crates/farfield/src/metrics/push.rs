//! Metrics pushed to a collector: a thread for each, so that one that hangs holds up no other, and no run.
//!
//! A push that fails is not repeated: the next one has all that it had. What failed is reported at the end of
//! the run, with the first reason.

use super::families::{RunLabels, families};
use super::snapshot::Snapshot;
use super::{otlp, remote_write};
use farfield_base::{Duration, printable};
use farfield_os::processors;
use farfield_scenario::Url;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// Time limit of a push.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of a refusal that are read, and characters of it that are shown.
const REFUSAL_MAX: usize = 300;

/// The form of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Prometheus' remote write.
    RemoteWrite,
    /// The OpenTelemetry Protocol.
    Otlp,
}

/// A collector.
#[derive(Debug)]
pub struct PushTarget {
    /// Without credentials.
    url: String,
    authorization: Option<String>,
    encoding: Encoding,
}

impl PushTarget {
    /// The collector at a URL; where it has no path, at the path that is usual.
    ///
    /// # Errors
    /// A sentence about the URL.
    pub fn of(text: &str, encoding: Encoding) -> Result<PushTarget, String> {
        let url = text.parse::<Url>().map_err(|error| error.to_string())?;
        if url.is_secure() {
            return Err("metrics are pushed over http only; name a collector of this machine (Prometheus in agent mode, the \
                        OpenTelemetry Collector), which passes them on over https"
                .to_owned());
        }
        let path = match (url.path(), encoding) {
            ("/", Encoding::RemoteWrite) => "/api/v1/write",
            ("/", Encoding::Otlp) => "/v1/metrics",
            (path, _) => path,
        };
        Ok(PushTarget {
            url: format!("http://{}{path}", url.authority()),
            authorization: url.authorization(),
            encoding,
        })
    }

    /// Pushes a snapshot; an error as a sentence.
    fn push(&self, agent: &ureq::Agent, run: &RunLabels, snapshot: &Snapshot) -> Result<(), String> {
        let families = families(run, snapshot);
        let (headers, body) = match self.encoding {
            Encoding::RemoteWrite => {
                (&remote_write::HEADERS[..], remote_write::encode(&families, run, snapshot.unix_ms))
            }
            Encoding::Otlp => {
                (&[("Content-Type", "application/json")][..], otlp::encode(&families, run, snapshot))
            }
        };
        let mut request = agent.post(&self.url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let mut response = request.send(&body).map_err(|error| error.to_string())?;
        if response.status().is_success() {
            return Ok(());
        }
        let status = response.status().as_u16();
        let why = response.body_mut().with_config().limit(REFUSAL_MAX as u64 * 4).read_to_string();
        let why: String = printable(why.unwrap_or_default().trim(), &[]).chars().take(REFUSAL_MAX).collect();
        Err(if why.is_empty() { format!("status {status}") } else { format!("status {status}: {why}") })
    }
}

/// A thread that pushes.
#[derive(Debug)]
pub struct Pusher {
    url: String,
    snapshots: Sender<Arc<Snapshot>>,
    thread: JoinHandle<Tally>,
}

/// Counts of pushes and of failures among them.
#[derive(Debug, Default)]
struct Tally {
    pushes: u64,
    failed: u64,
    first_failure: Option<String>,
    last_failed: bool,
}

impl Pusher {
    /// Begins to push to `target`.
    pub fn begin(target: PushTarget, run: Arc<RunLabels>) -> io::Result<Pusher> {
        let (snapshots, taken) = channel();
        let url = target.url.clone();
        let thread = Builder::new().name("metrics push".to_owned());
        let thread = thread.spawn(move || push_all(&target, &run, &taken))?;
        Ok(Pusher { url, snapshots, thread })
    }

    /// Pushes a snapshot, unless a newer one comes before it can be.
    pub fn push(&self, snapshot: &Arc<Snapshot>) {
        // An error means that the thread has panicked, which its end reports.
        let _ = self.snapshots.send(Arc::clone(snapshot));
    }

    /// Pushes what is left, and ends; a sentence about what failed, if anything did.
    pub fn end(self) -> Option<String> {
        drop(self.snapshots);
        let Ok(tally) = self.thread.join() else {
            return Some(format!("metrics: pushing to {} ended by a bug of farfield", self.url));
        };
        let why = tally.first_failure?;
        let last = if tally.last_failed { ", the last figures too" } else { "" };
        Some(format!(
            "metrics: {} of {} pushes to {} failed{last}; the first one: {why}",
            tally.failed, tally.pushes, self.url
        ))
    }
}

fn push_all(target: &PushTarget, run: &RunLabels, snapshots: &Receiver<Arc<Snapshot>>) -> Tally {
    // Below workers, and never without a share: the last push has the result.
    let _ = processors::set_background();
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT.to_std()))
        .max_redirects(0)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent("farfield")
        .build();
    let agent = ureq::Agent::new_with_config(config);
    let mut tally = Tally::default();
    while let Ok(snapshot) = snapshots.recv() {
        // All figures are totals so far: only the newest counts.
        let snapshot = snapshots.try_iter().last().unwrap_or(snapshot);
        let pushed = target.push(&agent, run, &snapshot);
        tally.pushes += 1;
        tally.failed += u64::from(pushed.is_err());
        tally.last_failed = pushed.is_err();
        if let Err(error) = pushed {
            tally.first_failure.get_or_insert(error);
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_means_the_usual_one() {
        let url = |text: &str, encoding| PushTarget::of(text, encoding).map(|target| target.url);
        assert_eq!(
            url("http://127.0.0.1:9090", Encoding::RemoteWrite),
            Ok("http://127.0.0.1:9090/api/v1/write".to_owned())
        );
        assert_eq!(url("http://[::1]:4318/", Encoding::Otlp), Ok("http://[::1]:4318/v1/metrics".to_owned()));
        assert_eq!(url("http://a:1/x?y=1", Encoding::Otlp), Ok("http://a:1/x?y=1".to_owned()));
        let secret = PushTarget::of("http://user:word@a/", Encoding::Otlp).expect("a URL");
        assert!(!secret.url.contains("word") && secret.authorization.is_some());
        assert!(url("https://a/", Encoding::Otlp).expect_err("no TLS").contains("over https"));
        assert!(url("9090", Encoding::Otlp).is_err());
    }
}
