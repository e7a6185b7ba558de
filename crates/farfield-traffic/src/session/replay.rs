//! Recorded sessions, replayed: httperf's `--wsesslog` files, HAR files of browsers, access logs.
//!
//! A [`Replay`] is a set of requests, and for each session its pages in order, with their times.
//! Equal requests are one. Replies are ignored; a session's requests stay together, on one
//! user's connections. What a recording has and is not asked for is counted by reason.

mod body;
mod har;
mod log;
pub mod reading;
pub mod server;
mod wsesslog;

use crate::file::{self, FileError, Load};
use crate::request::{Page, Request, RequestId, RequestSet, RequestTarget};
use farfield_base::{Duration, Instant};
use farfield_log::FieldMap;
pub use har::{recorded_server, recorded_target, scripted_paths};
use reading::ReplayAccount;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `[session] replay = { … }`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReplaySpec {
    /// The file; compressed ones are read as they are.
    pub file: PathBuf,
    /// Layout of the file; by default recognized by its extension and its first lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ReplayFormat>,
    /// Timing of the replay.
    #[serde(default)]
    pub timing: ReplayTiming,
    /// Speed relative to the recording.
    #[serde(default = "as_it_was")]
    pub speed: Speed,
    /// Users of the load ask for its sessions in turn, each as often as users come to it; otherwise each
    /// session is asked for once, at its own instant. By default where the scenario has a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_turn: Option<bool>,
    /// Treatment of requests whose bodies an archive does not have.
    #[serde(default)]
    pub missing_bodies: MissingBodies,
    /// Layout of an access log's lines: a name, or a pattern; by default recognized by the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Names of the fields of JSON lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<FieldMap>,
}

/// Treatment of requests whose bodies an archive does not have. Those of an access log, which has none, are
/// sent without, and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingBodies {
    /// The requests are not sent.
    #[default]
    LeaveOut,
    /// The requests are sent with what the archive has of their bodies, which may be nothing.
    SendEmpty,
}

/// Format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ReplayFormat {
    /// httperf's `--wsesslog`.
    Wsesslog,
    /// HTTP Archive, version 1.2.
    Har,
    /// An access log, whose format its lines decide.
    Log,
}

/// Timing of a replay relative to the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayTiming {
    /// The instants: each page is due when it was, in sessions that are asked for in turn so long after the
    /// user's begin as it was after the recorded one's. One that is due before the page before it is over
    /// begins late.
    #[default]
    Exact,
    /// The gaps: each page is due so long after the one before as it was.
    Gaps,
}

/// Speed relative to the recording: above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Speed(f64);

impl TryFrom<f64> for Speed {
    type Error = String;

    fn try_from(speed: f64) -> Result<Speed, String> {
        match speed.is_finite() && (1e-6..=1e6).contains(&speed) {
            true => Ok(Speed(speed)),
            false => Err(format!("`speed` is {speed}; write a number from 0.000001 to 1000000, such as 2.0")),
        }
    }
}

impl From<Speed> for f64 {
    fn from(speed: Speed) -> f64 {
        speed.0
    }
}

fn as_it_was() -> Speed {
    Speed(1.0)
}

/// Recorded sessions, ready to be asked for again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// All requests, and the pages that they make up.
    pub requests: RequestSet,
    /// The sessions, in the order of their beginnings.
    pub sessions: Vec<ReplayedSession>,
    /// Timing of the replay.
    pub timing: ReplayTiming,
    /// Account of what was taken of the recording, and what was not.
    pub reading: ReplayAccount,
}

/// A recorded session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedSession {
    /// Start of the session, counted from the first of the recording; nothing where the recording has no
    /// instants, and where users ask for its sessions in turn.
    pub starts: Option<Instant>,
    /// Pages in order; there is at least one.
    pub pages: Vec<ReplayedPage>,
}

/// A page of a recorded session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayedPage {
    /// Index among the pages of the set.
    pub page: u32,
    /// Start of the page, counted from the session's beginning.
    pub at: Duration,
    /// Time from its end, as far as that was recorded, to the next page.
    pub think: Duration,
}

/// A page as a recording has it: what was asked for first, and what was embedded.
#[derive(Debug, Default)]
struct RecordedPage {
    requests: Vec<Request>,
    at: Duration,
    think: Duration,
}

/// A session as a recording has it.
type RecordedSession = (Option<Instant>, Vec<RecordedPage>);

impl ReplaySpec {
    /// The recording, read through `load`, for requests to `target`, as a Host field has it, where that is
    /// known, and to the hosts `beside` it, of archives: the roots of their URLs.
    pub fn resolve(
        &self,
        load: &mut Load<'_>,
        target: Option<&str>,
        beside: &[String],
    ) -> Result<Replay, FileError> {
        let bytes = file::read(&self.file, load)?;
        let whole = |problem: &str| FileError::Whole { path: self.file.clone(), problem: problem.to_owned() };
        let format = self.format.or_else(|| self.format_by_name()).unwrap_or(ReplayFormat::Log);
        let (mut recorded, reading) = match format {
            ReplayFormat::Wsesslog => wsesslog::read(&self.file, &bytes)?,
            ReplayFormat::Har => har::read(&self.file, &bytes, (target, beside), self.missing_bodies)?,
            ReplayFormat::Log => log::read(self, &bytes, target)?,
        };
        recorded.retain(|(_, pages)| !pages.is_empty());
        if recorded.is_empty() {
            return Err(FileError::Nothing { path: self.file.clone(), why: reading.warnings() });
        }
        let instants = recorded.iter().all(|(starts, _)| starts.is_some());
        if self.timing == ReplayTiming::Exact && !instants {
            return Err(whole("has no instants; write `timing = \"gaps\"`"));
        }
        let mut set = Set::default();
        let in_turn = self.in_turn.unwrap_or(false);
        let sessions = recorded.into_iter().map(|(starts, pages)| ReplayedSession {
            starts: starts
                .filter(|_| !in_turn)
                .map(|at| Instant::ZERO + self.scaled(at.since(Instant::ZERO))),
            pages: pages.into_iter().map(|page| self.page(&mut set, page)).collect(),
        });
        let sessions = sessions.collect();
        let requests = RequestSet::in_order(set.requests, set.pages)
            .ok_or_else(|| whole("has more requests than there are numbers"))?;
        Ok(Replay { requests, sessions, timing: self.timing, reading })
    }

    fn format_by_name(&self) -> Option<ReplayFormat> {
        match self.file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "har" => Some(ReplayFormat::Har),
            "wsesslog" | "wlog" => Some(ReplayFormat::Wsesslog),
            _ => None,
        }
    }

    fn scaled(&self, time: Duration) -> Duration {
        Duration::from_ns((time.as_ns() as f64 / self.speed.0) as u64)
    }

    fn page(&self, set: &mut Set, page: RecordedPage) -> ReplayedPage {
        let (at, think) = (self.scaled(page.at), self.scaled(page.think));
        ReplayedPage { page: set.page(page.requests), at, think }
    }
}

/// Requests and pages that are alike are one.
#[derive(Default)]
struct Set {
    requests: Vec<Request>,
    pages: Vec<Page>,
    known_requests: BTreeMap<String, u32>,
    known_pages: BTreeMap<Vec<u32>, u32>,
}

impl Set {
    fn request(&mut self, request: Request) -> u32 {
        let key = format!("{} {} {:?} {:?}", request.method, request.path, request.headers, request.body);
        *self.known_requests.entry(key).or_insert_with(|| {
            self.requests.push(request);
            self.requests.len() as u32 - 1
        })
    }

    fn page(&mut self, requests: Vec<Request>) -> u32 {
        let numbers: Vec<u32> = requests.into_iter().map(|request| self.request(request)).collect();
        *self.known_pages.entry(numbers.clone()).or_insert_with(|| {
            let embedded = numbers[1..].iter().map(|number| RequestId(*number)).collect();
            self.pages.push(Page { main: RequestId(numbers[0]), embedded });
            self.pages.len() as u32 - 1
        })
    }
}

/// True if a path can be asked for as it was recorded.
fn sendable(path: &str) -> bool {
    path.starts_with('/') && path.is_ascii() && RequestTarget::try_from(path.to_owned()).is_ok()
}

#[cfg(test)]
mod tests;
