//! The load that a search raises: the key that sets it, its unit, and the load of the first trial.

use crate::problem::Problem;
use farfield_base::Rate;
use farfield_scenario::{RunPlan, Scenario};
use farfield_traffic::load::LoadModel;
use toml::{Table, Value};

/// The unit of sessions that arrive.
const SESSIONS: &str = "sessions/s";

/// The load that rises.
#[derive(Debug, Clone, PartialEq)]
pub struct RisingLoad {
    /// The key that sets it.
    pub key: String,
    /// The load's unit.
    pub unit: &'static str,
    /// The load is a whole number.
    pub whole: bool,
    /// The scenario's own.
    pub own: f64,
}

impl RisingLoad {
    /// The load of the plan's model. Only for a peak may the load be more than a server takes.
    pub fn of(plan: &RunPlan, is_peak: bool) -> Result<RisingLoad, Problem> {
        let is_flow = !plan.scenario().flow.is_empty();
        let Some(load) = plan.loads().next().filter(|_| !is_flow) else {
            return Err(Problem::usage(
                "a search raises one load, and each [[flow]] has its own: search with a scenario of one of them",
            ));
        };
        if !load.stages().is_empty() {
            return Err(Problem::usage(
                "a search raises one load, and load.stages are several: leave them out",
            ));
        }
        let (arrivals, unit) = match load {
            LoadModel::Closed { users, .. } => {
                let (key, own) = ("load.users".to_owned(), f64::from(users.get()));
                return Ok(RisingLoad { key, unit: "users", whole: true, own });
            }
            LoadModel::Open { arrivals, .. } => (arrivals, unit_of_pages(plan.scenario())),
            LoadModel::Hybrid { arrivals, .. } => (arrivals, SESSIONS),
            LoadModel::Overload(overload) if is_peak => {
                let (key, own) = ("load.descriptors".to_owned(), f64::from(overload.descriptors.get()));
                return Ok(RisingLoad { key, unit: "descriptors", whole: true, own });
            }
            LoadModel::Overload(_) => {
                return Err(Problem::usage(
                    "an overload has no capacity under goals: it offers more than a server takes; find its --peak, or use \
                     a closed, an open or a hybrid load",
                ));
            }
        };
        let key = rate_key(plan.scenario());
        match (key, arrivals.mean_rate()) {
            (Some(key), Some(rate)) => {
                Ok(RisingLoad { key: key.to_owned(), unit, whole: false, own: rate.as_per_second() })
            }
            _ => Err(Problem::usage(
                "a search needs arrivals with one rate, which it raises: `load.arrivals` of a rate, or with a \
                 key `rate`",
            )),
        }
    }

    /// True if what arrives by itself are sessions, each of which then has a user who waits for replies.
    pub fn is_of_sessions(&self) -> bool {
        self.unit == SESSIONS
    }

    /// A load as the key takes it.
    pub fn value(&self, load: f64) -> String {
        if self.whole { format!("{load:.0}") } else { format!("{load}/s") }
    }

    /// Reads a load as it is typed: users, or a rate.
    pub fn read(&self, flag: &str, text: &str) -> Result<f64, Problem> {
        let refuse = |error: &dyn std::fmt::Display| Problem::usage(format!("{flag} {text}: {error}"));
        match (self.whole, text.parse::<u32>()) {
            (true, Ok(users @ 1..)) => Ok(f64::from(users)),
            (true, _) => Err(refuse(&format!("write a number of {}, such as 20", self.unit))),
            (false, Ok(rate @ 1..)) => Ok(f64::from(rate)),
            (false, _) => match text.parse::<Rate>().map(Rate::as_per_second) {
                Ok(rate) if rate > 0.0 => Ok(rate),
                Ok(_) => Err(refuse(&"a load is more than none")),
                Err(error) => Err(refuse(&error)),
            },
        }
    }
}

/// Pages of several requests are not requests.
fn unit_of_pages(scenario: &Scenario) -> &'static str {
    let is_single = |table: &Table| {
        let requests = table.get("requests").and_then(Value::as_table);
        let session = table.contains_key("session");
        !session && requests.is_none_or(|requests| !requests.contains_key("site"))
    };
    match scenario.to_toml().parse::<Table>() {
        Ok(table) if is_single(&table) => "requests/s",
        _ => "pages/s",
    }
}

fn rate_key(scenario: &Scenario) -> Option<&'static str> {
    let table: Table = scenario.to_toml().parse().ok()?;
    match table.get("load")?.get("arrivals")? {
        Value::String(_) => Some("load.arrivals"),
        Value::Table(arrivals) if arrivals.contains_key("rate") => Some("load.arrivals.rate"),
        _ => None,
    }
}
