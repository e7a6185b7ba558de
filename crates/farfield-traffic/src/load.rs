//! Models of load: the times of requests.
//!
//! The terms are those of Schroeder, Wierman and Harchol-Balter (2006, "Open versus closed: a cautionary
//! tale"): in a *closed* load a fixed number of users each wait for a reply, think and ask again; in an
//! *open* load requests arrive independently of earlier ones; a *hybrid* (partly open) load has sessions
//! that arrive openly, inside of which requests wait for each other. *Overload* is the S-Client of Banga and
//! Druschel (1999, section 4): attempts to connect at a rate that no server can hold back.
//!
//! A user equivalent of SURGE (Barford and Crovella 1998) is a user of a closed or a hybrid load who is ON
//! while it fetches a page, with an *active OFF time* before each object that the page embeds, and OFF for an
//! *inactive OFF time*, the think time, after it.
//!
//! A model of load decides times only, never how the bytes travel.
//!
//! Questions that other crates have about a model are methods of [`LoadSpec`] or [`LoadModel`] that match
//! every model, so that the compiler asks each of them of a new one.

mod written;

use crate::arrival::{ArrivalProcess, ArrivalSpec, Spacing};
use crate::distribution::{CountsSpec, Distribution, DistributionSpec, TimesSpec};
use crate::file::{FileError, Load};
use crate::stages::{Stages, UsersCourse};
use farfield_base::{Duration, Instant, Rate, StageSpan};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::num::NonZeroU32;

/// A model of load as a scenario writes it, distinguished by its `model` key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum LoadSpec {
    /// A fixed number of users, each with one page at a time.
    Closed(ClosedSpec),
    /// Pages arrive.
    Open(OpenSpec),
    /// Sessions arrive, and wait inside.
    Hybrid(Box<HybridSpec>),
    /// Attempts to connect, independent of the server's replies.
    Overload(Overload),
}

/// `model = "closed"`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "written::Closed")]
pub struct ClosedSpec {
    /// Number of users, 10 by default; with stages their number at the beginning, none by default.
    pub users: u32,
    /// Stages of the number of users, after which the load is over. Users begin as the number grows, and
    /// leave after their page as it falls. Without, their number is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Stages<u32>>,
    /// The time from the end of one page to the beginning of the user's next; none by default.
    pub think: TimesSpec,
    /// SURGE's active OFF time: from the end of one of a page's requests to the beginning of the next in its
    /// place, on each of a user's connections; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_off: Option<TimesSpec>,
    /// The time over which the users begin, evenly; all at once if it is 0. By default it is chosen from
    /// the length of a user's cycle where that is known, and 0 elsewhere. Stages have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Duration>,
}

/// `model = "open"`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "written::Open")]
pub struct OpenSpec {
    /// Arrivals of pages; a scenario writes them or, in their place, the `stages` of their rate.
    pub arrivals: ArrivalSpec,
    /// Limit of users at once; arrivals beyond are dropped and counted. No limit by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_max: Option<NonZeroU32>,
}

/// `model = "hybrid"`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "written::Hybrid")]
pub struct HybridSpec {
    /// Arrivals of sessions; a scenario writes them or, in their place, the `stages` of their rate.
    pub arrivals: ArrivalSpec,
    /// Pages a session, each with what is embedded in it; geometric with mean 5 by default.
    pub requests: CountsSpec,
    /// The time from the end of one page to the beginning of the session's next; none by default.
    pub think: TimesSpec,
    /// SURGE's active OFF time, as in a closed load; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_off: Option<TimesSpec>,
    /// Limit of sessions at once; arrivals beyond are dropped and counted. No limit by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_max: Option<NonZeroU32>,
}

/// `model = "overload"`: D descriptors keep trying to connect. An attempt that is not answered within T is
/// dropped silently and started anew. A connection that is established goes on beside them and never
/// holds back a new attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overload {
    /// D: descriptors that try to connect.
    #[serde(deserialize_with = "descriptors")]
    pub descriptors: NonZeroU32,
    /// T: timeout of an attempt. Above the largest round trip of the path, or else attempts
    /// are dropped that the server is about to answer (section 4.2). 500 ms by default, as in the paper.
    #[serde(default = "half_a_second", deserialize_with = "timeout")]
    timeout: Duration,
    /// Instant at which a descriptor begins its next attempt.
    #[serde(default)]
    pub restart: Restart,
    /// Limit of established connections at once; attempts answered beyond are closed at once. No
    /// limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "established_max")]
    pub established_max: Option<NonZeroU32>,
}

/// Instant at which a descriptor of an [`Overload`] begins its next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Every T exactly, answered or not: the attempt rate is D / T whatever the server does.
    #[default]
    Paced,
    /// Attempt as soon as the last was answered or T has passed, the paper's loop: the attempt rate is D / T
    /// for a server that answers nothing, and above it for one that answers.
    AtOnce,
}

/// Users whose number goes along stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsersInStages {
    /// Number of users over time.
    pub course: UsersCourse,
    /// The stages, by name.
    pub spans: Vec<StageSpan>,
}

/// A model of load, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadModel {
    /// A fixed number of users, each with one page at a time.
    Closed {
        /// Number of users; with stages, of those that are there at once.
        users: NonZeroU32,
        /// The stages of their number.
        stages: Option<Box<UsersInStages>>,
        /// Seconds from the end of one page to the beginning of the user's next.
        think: Distribution,
        /// Seconds from the end of one of a page's requests to the beginning of the next in its place.
        active_off: Option<Distribution>,
        /// The time over which the users begin, evenly.
        ramp: Duration,
    },
    /// Pages arrive.
    Open {
        /// Arrivals of pages.
        arrivals: ArrivalProcess,
        /// Limit of users at once.
        users_max: Option<NonZeroU32>,
    },
    /// Sessions arrive, and wait inside.
    Hybrid {
        /// Arrivals of sessions.
        arrivals: ArrivalProcess,
        /// Pages a session.
        requests: Distribution,
        /// Seconds from the end of one page to the beginning of the session's next.
        think: Distribution,
        /// Seconds from the end of one of a page's requests to the beginning of the next in its place.
        active_off: Option<Distribution>,
        /// Limit of sessions at once.
        users_max: Option<NonZeroU32>,
    },
    /// Attempts to connect, independent of the server's replies.
    Overload(Overload),
}

impl LoadModel {
    /// Sessions that begin at these instants, which do not decrease. Their later requests come from the
    /// recording.
    pub fn recorded(starts: Vec<Instant>) -> LoadModel {
        let no_time =
            || no_time().resolve(&mut |_| unreachable!("a constant names no file")).expect("no file");
        LoadModel::Hybrid {
            arrivals: ArrivalProcess::recorded(starts),
            requests: no_time(),
            think: no_time(),
            active_off: None,
            users_max: None,
        }
    }

    /// The users of the whole run, if their number is known before it; for an overload, its descriptors.
    pub fn users(&self) -> Option<NonZeroU32> {
        match self {
            LoadModel::Closed { users, .. } => Some(*users),
            LoadModel::Overload(overload) => Some(overload.descriptors),
            LoadModel::Open { .. } | LoadModel::Hybrid { .. } => None,
        }
    }

    /// True if each of the [`users`](Self::users) always has a connection open, where users keep connections
    /// between requests (`kept`) or not.
    pub fn holds_connections(&self, kept: bool) -> bool {
        match self {
            LoadModel::Closed { think, .. } => kept || think.mean() == 0.0,
            LoadModel::Overload(_) => true,
            LoadModel::Open { .. } | LoadModel::Hybrid { .. } => false,
        }
    }

    /// True if sessions arrive and the requests of one depend on each other, so that only sessions are
    /// independent.
    pub fn has_session_arrivals(&self) -> bool {
        match self {
            LoadModel::Hybrid { .. } => true,
            LoadModel::Closed { .. } | LoadModel::Open { .. } | LoadModel::Overload(_) => false,
        }
    }

    /// True if users ask again as soon as they are answered, so that no instant is scheduled.
    pub fn asks_at_once(&self) -> bool {
        match self {
            LoadModel::Closed { think, .. } => think.mean() <= 0.0,
            LoadModel::Open { .. } | LoadModel::Hybrid { .. } | LoadModel::Overload(_) => false,
        }
    }

    /// The stages of the load, in order; none of a load without.
    pub fn stages(&self) -> &[StageSpan] {
        match self {
            LoadModel::Closed { stages, .. } => stages.as_ref().map_or(&[], |stages| &stages.spans),
            LoadModel::Open { arrivals, .. } | LoadModel::Hybrid { arrivals, .. } => arrivals.stages(),
            LoadModel::Overload(_) => &[],
        }
    }

    /// Time by which those who make parts of the load may start after one another, for their sum to be the
    /// load still: a hundredth of its shortest stage, 100 ms at most, where users and arrivals depend on
    /// nothing else than a rate; a millisecond where arrivals have instants or bursts of their own.
    pub fn start_tolerance(&self) -> Duration {
        const STEADY: Duration = Duration::from_ms(100);
        const BURSTS: Duration = Duration::from_ms(1);
        let shape =
            match self {
                LoadModel::Closed { .. } => STEADY,
                LoadModel::Open { arrivals, .. } | LoadModel::Hybrid { arrivals, .. } => {
                    if arrivals.is_steady() { STEADY } else { BURSTS }
                }
                // Attempts are paced over all descriptors.
                LoadModel::Overload(_) => BURSTS,
            };
        let shortest = self.stages().iter().map(|stage| stage.to.since(stage.from)).min();
        shortest.map_or(shape, |stage| STEADY.min(Duration::from_ns(stage.as_ns() / 100)))
    }

    /// The limit of users at once, if there is one.
    pub fn users_max(&self) -> Option<NonZeroU32> {
        match self {
            LoadModel::Open { users_max, .. } | LoadModel::Hybrid { users_max, .. } => *users_max,
            LoadModel::Closed { .. } | LoadModel::Overload(_) => None,
        }
    }

    /// [`users_max`](Self::users_max), to be set; `None` for a model that needs none, since it does not
    /// bring a user with each arrival.
    pub fn users_max_mut(&mut self) -> Option<&mut Option<NonZeroU32>> {
        match self {
            LoadModel::Open { users_max, .. } | LoadModel::Hybrid { users_max, .. } => Some(users_max),
            LoadModel::Closed { .. } | LoadModel::Overload(_) => None,
        }
    }

    /// True if load is due at instants that do not depend on replies, and can therefore be begun late or not
    /// at all.
    pub fn has_arrivals(&self) -> bool {
        match self {
            LoadModel::Open { .. } | LoadModel::Hybrid { .. } | LoadModel::Overload(_) => true,
            LoadModel::Closed { .. } => false,
        }
    }

    /// The mean number of arrivals (of pages, sessions or attempts) from `from` to `to`, if it is known.
    pub fn expected_arrivals(&self, from: Instant, to: Instant) -> Option<f64> {
        match self {
            LoadModel::Open { arrivals, .. } | LoadModel::Hybrid { arrivals, .. } => {
                arrivals.expected(from, to)
            }
            LoadModel::Overload(overload) => match overload.restart {
                Restart::Paced => overload.attempts().expected(from, to),
                Restart::AtOnce => None,
            },
            LoadModel::Closed { .. } => None,
        }
    }

    /// The mean number of pages asked for from `from` to `to`, if it is known before the run and does not
    /// depend on the server.
    pub fn expected_pages(&self, from: Instant, to: Instant) -> Option<f64> {
        match self {
            LoadModel::Open { .. } | LoadModel::Overload(_) => self.expected_arrivals(from, to),
            LoadModel::Closed { .. } | LoadModel::Hybrid { .. } => None,
        }
    }

    /// T, the time after which an attempt to connect is dropped, of a model that has one.
    pub fn attempt_timeout(&self) -> Option<Duration> {
        match self {
            LoadModel::Overload(overload) => Some(overload.timeout()),
            LoadModel::Closed { .. } | LoadModel::Open { .. } | LoadModel::Hybrid { .. } => None,
        }
    }

    /// The distribution of what a user waits before each object that a page embeds, in seconds.
    pub fn active_off(&self) -> Option<&Distribution> {
        match self {
            LoadModel::Closed { active_off, .. } | LoadModel::Hybrid { active_off, .. } => {
                active_off.as_ref()
            }
            LoadModel::Open { .. } | LoadModel::Overload(_) => None,
        }
    }
}

impl LoadSpec {
    /// The model itself, with the files it names read through `load`.
    ///
    /// # Errors
    /// A file that cannot be read, or does not hold what it is named for.
    pub fn resolve(&self, load: &mut Load<'_>) -> Result<LoadModel, FileError> {
        let mut off = |spec: &Option<TimesSpec>| spec.as_ref().map(|spec| spec.resolve(load)).transpose();
        Ok(match self {
            LoadSpec::Closed(ClosedSpec { users, stages, think, active_off, ramp }) => LoadModel::Closed {
                active_off: off(active_off)?,
                users: self.users().expect("a closed load has users"),
                stages: stages.as_ref().map(|stages| {
                    let course = UsersCourse::new(*users, stages);
                    Box::new(UsersInStages { course, spans: stages.spans(*users) })
                }),
                think: think.resolve(load)?,
                ramp: ramp.unwrap_or_default(),
            },
            LoadSpec::Open(OpenSpec { arrivals, users_max }) => {
                LoadModel::Open { arrivals: arrivals.resolve(load)?, users_max: *users_max }
            }
            LoadSpec::Hybrid(spec) => LoadModel::Hybrid {
                active_off: off(&spec.active_off)?,
                arrivals: spec.arrivals.resolve(load)?,
                requests: spec.requests.resolve(load)?,
                think: spec.think.resolve(load)?,
                users_max: spec.users_max,
            },
            LoadSpec::Overload(overload) => LoadModel::Overload(*overload),
        })
    }

    /// True if users wait for a reply before they ask again, as those of a session do.
    pub fn has_users_who_wait(&self) -> bool {
        match self {
            LoadSpec::Closed(_) | LoadSpec::Hybrid(_) => true,
            LoadSpec::Open(_) | LoadSpec::Overload(_) => false,
        }
    }

    /// True if the model itself groups pages into sessions.
    pub fn has_sessions(&self) -> bool {
        match self {
            LoadSpec::Hybrid(_) => true,
            LoadSpec::Closed(_) | LoadSpec::Open(_) | LoadSpec::Overload(_) => false,
        }
    }

    /// The time that the stages of the load take, if it has some.
    pub fn stages_last(&self) -> Option<Duration> {
        match self {
            LoadSpec::Closed(closed) => closed.stages.as_ref().map(Stages::lasts),
            LoadSpec::Open(OpenSpec { arrivals, .. }) => arrivals.stages().map(Stages::lasts),
            LoadSpec::Hybrid(hybrid) => hybrid.arrivals.stages().map(Stages::lasts),
            LoadSpec::Overload(_) => None,
        }
    }

    /// The stages of the load, in order; none of a load without.
    pub fn stage_spans(&self) -> Vec<StageSpan> {
        match self {
            LoadSpec::Closed(closed) => {
                closed.stages.as_ref().map(|stages| stages.spans(closed.users)).unwrap_or_default()
            }
            LoadSpec::Open(OpenSpec { arrivals, .. }) => arrivals.stage_spans(),
            LoadSpec::Hybrid(hybrid) => hybrid.arrivals.stage_spans(),
            LoadSpec::Overload(_) => Vec::new(),
        }
    }

    /// The users, where each is a person who comes back: of stages, those that are there at once.
    pub fn users(&self) -> Option<NonZeroU32> {
        match self {
            LoadSpec::Closed(closed) => NonZeroU32::new(closed.users_at_once()),
            LoadSpec::Open(_) | LoadSpec::Hybrid(_) | LoadSpec::Overload(_) => None,
        }
    }

    /// D, the descriptors that try to connect, of a model that has them.
    pub fn descriptors(&self) -> Option<NonZeroU32> {
        match self {
            LoadSpec::Overload(overload) => Some(overload.descriptors),
            LoadSpec::Closed(_) | LoadSpec::Open(_) | LoadSpec::Hybrid(_) => None,
        }
    }

    /// T, the time after which an attempt to connect is dropped, of a model that has one (`load.timeout`).
    pub fn attempt_timeout(&self) -> Option<Duration> {
        match self {
            LoadSpec::Overload(overload) => Some(overload.timeout()),
            LoadSpec::Closed(_) | LoadSpec::Open(_) | LoadSpec::Hybrid(_) => None,
        }
    }
}

impl Default for LoadSpec {
    /// Ten users who do not think.
    fn default() -> LoadSpec {
        LoadSpec::Closed(ClosedSpec::new(ten()))
    }
}

impl OpenSpec {
    /// Pages that arrive, however many at once.
    pub fn new(arrivals: ArrivalSpec) -> OpenSpec {
        OpenSpec { arrivals, users_max: None }
    }
}

impl HybridSpec {
    /// Sessions that arrive, however many at once, of five pages in the mean and without think time.
    pub fn new(arrivals: ArrivalSpec) -> HybridSpec {
        HybridSpec { arrivals, requests: five_pages(), think: no_time(), active_off: None, users_max: None }
    }
}

impl ClosedSpec {
    /// `users` who do not think.
    pub fn new(users: NonZeroU32) -> ClosedSpec {
        ClosedSpec { users: users.get(), stages: None, think: no_time(), active_off: None, ramp: None }
    }

    /// The most users at once.
    fn users_at_once(&self) -> u32 {
        let in_stages = self.stages.iter().flat_map(Stages::iter).map(|stage| stage.to).max();
        self.users.max(in_stages.unwrap_or(0))
    }
}

impl Overload {
    /// `descriptors` that try to connect, each for up to `timeout`; `None` for no time.
    pub fn new(descriptors: NonZeroU32, timeout: Duration, restart: Restart) -> Option<Overload> {
        let some = !timeout.is_zero();
        some.then_some(Overload { descriptors, timeout, restart, established_max: None })
    }

    /// T: how long an attempt may go unanswered, above zero.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// D / T: the rate of attempts when paced, and the least rate of them at once.
    pub fn attempt_rate(&self) -> Rate {
        Rate::per_second(f64::from(self.descriptors.get()) / self.timeout.as_secs_f64())
            .expect("a finite number of descriptors over a time above zero")
    }

    /// The attempts of a paced overload: evenly spaced at [`attempt_rate`](Self::attempt_rate), the n-th that
    /// of descriptor n modulo D, so that each descriptor has one every T.
    pub fn attempts(&self) -> ArrivalProcess {
        ArrivalProcess::steady(self.attempt_rate(), Spacing::Even)
    }
}

fn ten() -> NonZeroU32 {
    NonZeroU32::new(10).expect("ten is not zero")
}

fn no_time() -> TimesSpec {
    Duration::ZERO.into()
}

fn five_pages() -> CountsSpec {
    let pages = DistributionSpec::geometric(5.0).expect("five is a mean above one");
    CountsSpec::try_from(pages).expect("a geometric distribution has no unit")
}

fn half_a_second() -> Duration {
    Duration::from_ms(500)
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match Duration::deserialize(deserializer)? {
        Duration::ZERO => Err(de::Error::custom(
            "`timeout` is 0; write a time above the largest round trip of the path, such as `500ms`",
        )),
        timeout => Ok(timeout),
    }
}

fn descriptors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU32, D::Error> {
    at_least_one("descriptors", deserializer)
}

fn established_max<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroU32>, D::Error> {
    at_least_one("established-max", deserializer).map(Some)
}

fn at_least_one<'de, D: Deserializer<'de>>(key: &str, deserializer: D) -> Result<NonZeroU32, D::Error> {
    let given = i64::deserialize(deserializer)?;
    u32::try_from(given).ok().and_then(NonZeroU32::new).ok_or_else(|| {
        de::Error::custom(format!("`{key}` is {given}; write a whole number from 1 to {}", u32::MAX))
    })
}
