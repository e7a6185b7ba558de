//! The limits of the verdict: what a scenario may set under `[verdict]`, and which of them it changed.

use farfield_base::{Duration, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The limits beyond which a run is invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct VerdictLimits {
    /// The least share of the requests that must succeed, of those whose end was seen; 0 allows that none
    /// does. Default 0.01.
    pub succeeded: Share,
    /// The longest p99 of send lateness. Default 1 ms.
    pub lateness_p99: Duration,
    /// The longest p99 of event-loop lag. Default 5 ms.
    pub loop_lag_p99: Duration,
    /// The largest share of its time that any worker may compute. Default 0.9.
    pub worker_busy: Share,
    /// The largest relative error of the achieved rate. Default 0.01.
    pub rate_error: Share,
    /// The largest relative residual of Little's law. Default 0.05.
    pub littles_law: Share,
    /// The largest relative error of the interactive response time law, for a closed load. Default 0.1.
    pub response_time_law: Share,
    /// Arrivals that may be dropped. Default 0.
    pub dropped_arrivals: u64,
    /// The longest p99 of how late packets leave an emulated network for the server. Default 1 ms.
    pub departure_lateness_p99: Duration,
    /// The longest p99 of how long packets wait for the server's kernel, kept from it by others than the
    /// server. Default 1 ms.
    pub delivery_lateness_p99: Duration,
    /// The longest p99 of how long packets from the server's kernel wait until their shard reads them.
    /// Default 1 ms.
    pub pickup_lateness_p99: Duration,
    /// The longest p99 of how late packets reach emulated clients. Default 1 ms.
    pub arrival_lateness_p99: Duration,
    /// The longest p99 of how late packets are taken over from another shard. Default 1 ms.
    pub crossing_lateness_p99: Duration,
    /// The longest time for which a worker may not look at what is due or has come. Default 100 ms.
    pub longest_stall: Duration,
    /// The largest share of its time that a worker may be ready and find no processor, where no schedule
    /// shows what is late. Default 0.02.
    pub machine_busy: Share,
    /// The largest share of the time in which the server could run for which others may hold its processors.
    /// Default 0.05.
    pub server_held_up: Share,
    /// The share of the time of the workers' processors that the host of a virtual machine takes away,
    /// within which it is no cause of lateness; by default what it can have made late counts. Default
    /// 0.002.
    pub host_steal: Share,
    /// The largest share of the workers' time for which the quota of farfield's control group may be used
    /// up, where no schedule shows what is late. Default 0.002.
    pub throttled: Share,
    /// Requests that may fail for want of a descriptor or a local address. Default 0.
    pub generator_lacked: u64,
    /// The longest time, at the end of the load, in which no byte comes from the server though requests are
    /// due. Default 1 s, in runs shorter than 10 s a tenth of the measured part.
    pub server_silent: Duration,
    /// The longest time, at the end of the load, in which requests fail by resets, broken replies or
    /// statuses of 500 and more, and none succeeds. Default 1 s, in runs shorter than 10 s a tenth of the
    /// measured part.
    pub server_failing: Duration,
    /// The largest mean absolute error of a time against the packets of a capture; less than 1 % of the
    /// time's mean is never an error. Default 100 µs.
    pub capture_error: Duration,
    /// The largest share of requests that a capture has and the samples lack, or the other way round.
    /// Default 0.001.
    pub capture_unmatched: Share,
    /// The least share of the answered requests whose times must be compared with a capture's to call it
    /// agreement. Default 0.9.
    pub capture_compared: Share,
}

impl Default for VerdictLimits {
    fn default() -> VerdictLimits {
        let share = |share| Share::new(share).expect("a literal from 0 to 1");
        VerdictLimits {
            succeeded: share(0.01),
            lateness_p99: Duration::from_ms(1),
            loop_lag_p99: Duration::from_ms(5),
            worker_busy: share(0.9),
            rate_error: share(0.01),
            littles_law: share(0.05),
            response_time_law: share(0.1),
            dropped_arrivals: 0,
            departure_lateness_p99: Duration::from_ms(1),
            delivery_lateness_p99: Duration::from_ms(1),
            pickup_lateness_p99: Duration::from_ms(1),
            arrival_lateness_p99: Duration::from_ms(1),
            crossing_lateness_p99: Duration::from_ms(1),
            longest_stall: Duration::from_ms(100),
            machine_busy: share(0.02),
            server_held_up: share(0.05),
            host_steal: share(0.002),
            throttled: share(0.002),
            generator_lacked: 0,
            server_silent: Duration::from_secs(1),
            server_failing: Duration::from_secs(1),
            capture_error: Duration::from_us(100),
            capture_unmatched: share(0.001),
            capture_compared: share(0.9),
        }
    }
}

/// A limit that is not the default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedLimit {
    /// Key in the scenario's `[verdict]`.
    pub key: String,
    /// The scenario's value, in a scenario's notation.
    pub value: String,
    /// The default value.
    pub default: String,
}

impl VerdictLimits {
    /// The limits that differ from their defaults, by key.
    pub fn changed(&self) -> Vec<ChangedLimit> {
        let (own, defaults) = (keys(self), keys(&VerdictLimits::default()));
        let pairs = own.into_iter().zip(defaults);
        pairs
            .filter(|((_, value), (_, default))| value != default)
            .map(|((key, value), (_, default))| ChangedLimit { key, value, default })
            .collect()
    }
}

/// Each key with its value in words, in the order of the keys.
fn keys(limits: &VerdictLimits) -> Vec<(String, String)> {
    let Ok(Value::Object(map)) = serde_json::to_value(limits) else { unreachable!("limits are a table") };
    let in_words = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    map.into_iter().map(|(key, value)| (key, in_words(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_a_changed_limit() {
        assert_eq!(VerdictLimits::default().changed(), []);
        let limits: VerdictLimits =
            serde_json::from_str(r#"{"lateness-p99": "5ms", "dropped-arrivals": 3, "littles-law": 0.05}"#)
                .expect("limits");
        let changed = limits.changed();
        let shown: Vec<_> = changed.iter().map(|limit| [&limit.key, &limit.value, &limit.default]).collect();
        assert_eq!(shown, [["dropped-arrivals", "3", "0"], ["lateness-p99", "5ms", "1ms"]]);
    }
}
