//! When users come and what they ask for.
//!
//! - [`distribution`]: the distributions that think times, gaps and counts follow;
//! - [`arrival`]: the instants at which requests or sessions come;
//! - [`request`]: what is asked for, and in which order;
//! - [`site`]: objects, pages, links and popularity, from models and from files;
//! - [`session`]: sessions whose requests depend on replies;
//! - [`load`]: the models of load, which put the three together.
//!
//! Each comes in two forms. What a scenario says is a *spec*: it reads from TOML, refuses what cannot be
//! meant in one sentence, and writes back to what reads as the same value. A spec may name files. `resolve`
//! hands them in through a [loader](file::Load), and gives the form that draws: without files, I/O or
//! failure, and without allocation in a draw.
//!
//! Nothing here reads a clock or opens a file, and nothing knows HTTP's bytes or the network.

pub mod alias;
pub mod amount;
pub mod arrival;
pub mod distribution;
pub mod file;
pub mod load;
pub mod request;
pub mod session;
pub mod site;

pub use amount::{Amount, Dimension};
pub use arrival::{ArrivalProcess, ArrivalSpec, Arrivals};
pub use distribution::{Distribution, DistributionSpec};
pub use file::{FileError, Load};
pub use load::{LoadModel, LoadSpec};
pub use request::{Page, Request, RequestId, RequestSet, RequestSetSpec, RequestSpec};
pub use site::{Site, SiteModel, SiteModelSpec};
