//! Models of load as tables, before it is known whether their keys go together.

use super::{ClosedSpec, HybridSpec, OpenSpec, at_least_one, five_pages, no_time, ten};
use crate::arrival::{ArrivalSpec, Spacing};
use crate::distribution::{CountsSpec, TimesSpec};
use crate::stages::{Stages, USERS_MAX};
use farfield_base::{Duration, Rate};
use serde::{Deserialize, Deserializer};
use std::num::NonZeroU32;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Closed {
    users: Option<i64>,
    stages: Option<Stages<u32>>,
    #[serde(default = "no_time")]
    think: TimesSpec,
    active_off: Option<TimesSpec>,
    ramp: Option<Duration>,
}

impl TryFrom<Closed> for ClosedSpec {
    type Error = String;

    fn try_from(Closed { users, stages, think, active_off, ramp }: Closed) -> Result<ClosedSpec, String> {
        let (least, usual, most) =
            if stages.is_some() { (0, 0, USERS_MAX) } else { (1, ten().get(), u32::MAX) };
        let count = |given: i64| {
            let users = u32::try_from(given).ok().filter(|users| (least..=most).contains(users));
            users.ok_or_else(|| format!("`users` is {given}; write a whole number from {least} to {most}"))
        };
        let users = users.map_or(Ok(usual), count)?;
        if let Some(nothing) = stages.as_ref().and_then(|stages| stages.emptiness(users)) {
            return Err(nothing);
        }
        if stages.is_some() && ramp.is_some() {
            return Err("`ramp` beside `stages`, which say when users begin: write one of both".to_owned());
        }
        Ok(ClosedSpec { users, stages, think, active_off, ramp })
    }
}

/// Arrivals, or the stages of their rate.
fn arrivals(
    arrivals: Option<ArrivalSpec>,
    stages: Option<Stages<Rate>>,
    spacing: Option<Spacing>,
) -> Result<ArrivalSpec, String> {
    match (arrivals, stages, spacing) {
        (Some(_), Some(_), _) => {
            Err("`arrivals` beside `stages`, which are their rate over time: write one of both".to_owned())
        }
        (_, None, Some(_)) => {
            Err("`spacing` without `stages`: write it in the table of `arrivals`".to_owned())
        }
        (Some(arrivals), None, None) => Ok(arrivals),
        (None, Some(stages), spacing) => {
            ArrivalSpec::along(stages, spacing.unwrap_or_default()).map_err(|error| error.to_string())
        }
        (None, None, None) => Err("missing field `arrivals`".to_owned()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Open {
    arrivals: Option<ArrivalSpec>,
    stages: Option<Stages<Rate>>,
    spacing: Option<Spacing>,
    #[serde(default, deserialize_with = "users_max")]
    users_max: Option<NonZeroU32>,
}

impl TryFrom<Open> for OpenSpec {
    type Error = String;

    fn try_from(written: Open) -> Result<OpenSpec, String> {
        let arrivals = arrivals(written.arrivals, written.stages, written.spacing)?;
        Ok(OpenSpec { arrivals, users_max: written.users_max })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Hybrid {
    arrivals: Option<ArrivalSpec>,
    stages: Option<Stages<Rate>>,
    spacing: Option<Spacing>,
    #[serde(default = "five_pages")]
    requests: CountsSpec,
    #[serde(default = "no_time")]
    think: TimesSpec,
    active_off: Option<TimesSpec>,
    #[serde(default, deserialize_with = "users_max")]
    users_max: Option<NonZeroU32>,
}

impl TryFrom<Hybrid> for HybridSpec {
    type Error = String;

    fn try_from(written: Hybrid) -> Result<HybridSpec, String> {
        let Hybrid { arrivals: own, stages, spacing, requests, think, active_off, users_max } = written;
        Ok(HybridSpec { arrivals: arrivals(own, stages, spacing)?, requests, think, active_off, users_max })
    }
}

fn users_max<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroU32>, D::Error> {
    at_least_one("users-max", deserializer).map(Some)
}
