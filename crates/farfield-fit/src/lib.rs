//! Models from logs: sessions, pages and popularity are found in an access log, and distributions are fitted
//! to them.
//!
//! - [`log`]: lines of a log into requests, a stream of bytes at a time;
//! - [`visits`]: the requests of all visitors, kept in columns within a stated limit;
//! - [`dates`]: what a log's dates look like, and which of them cannot be;
//! - [`session`], [`crawler`]: who is a user, where sessions begin and end, what is a page;
//! - [`arrivals`]: whether sessions come as a Poisson process;
//! - [`counts`]: requests by slot of time, and how long their number remembers;
//! - [`popularity`], [`locality`], [`site`]: what is asked for, how soon again, and from where;
//! - [`observation`]: what a log does to values: it rounds and cuts them, and takes differences;
//! - [`points`] to [`ranking`]: maximum likelihood of what was observed, mixtures, goodness of fit, and the
//!   order of distributions;
//! - [`report`]: all of it in one value, which serializes;
//! - [`scenario`]: a load and a set of requests from the report;
//! - [`keepalive`]: the keep-alive timeout that the fitted think times call for.
//!
//! After the session model and the fitting of Z. Liu, N. Niclausse, C. Jalpa-Villanueva and S. Barbier,
//! "Traffic Model and Performance Evaluation of Web Servers", INRIA RR-3840, 1999, section 2. No file is
//! opened here: bytes come in as a reader.

pub mod arrivals;
mod climb;
pub mod counts;
pub mod crawler;
mod estimate;
pub mod goodness;
pub mod information;
mod intern;
pub mod keepalive;
pub mod locality;
pub mod mixture;
mod number;
pub mod observation;
mod paths;
pub mod points;
pub mod popularity;
pub mod ranking;
pub mod report;
pub mod reservoir;
pub mod scenario;
pub mod series;
mod served;
pub mod session;
pub mod site;
mod views;
pub mod visits;

pub use farfield_traffic::distribution::{Component, Family, Model};
pub use goodness::{Goodness, Subsamples, goodness, subsamples};
pub use information::{StandardErrors, standard_errors};
pub use mixture::{Effort, MixtureFit, fit_mixture};
pub use observation::Observation;
pub use points::{Points, PointsError};
pub use ranking::{Candidate, Estimate, FitError, Ranking, Trials, fit_single, rank};
pub use report::{FitReport, FitSettings, Variable, VariableFit};
pub use visits::{Limits, Taking, Visits};
