//! A weak server on a strong machine: `[server] cpu` and `memory`, kept to by control groups, reported, and
//! gone with the run.

use crate::common::wan::{DebianServer, Wan};
use crate::common::{Ended, Place, skip};
use farfield_measure::engine_stats::ServerLimits;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// More users than a twentieth of a processor can answer, so that the server is never idle.
const SATURATED: &str = "
[load]
model = 'closed'
users = 64
[run]
warm-up = '1s'
duration = '3s'
drain = '30s'
[network]
clients = 64
rtt = '1ms'
[[requests.request]]
path = '/1k'
";

/// The run, the effect of the limits, and requests answered in a second; `None`, and `test` is skipped, where
/// this machine has no control groups to write.
fn limited(test: &str, wan: &Wan, words: &str) -> Option<(Ended, ServerLimits, f64)> {
    let running = wan.begin(SATURATED, &format!("--set verdict.succeeded=0 {words}"));
    let id = running.id();
    let ended = running.ended();
    if ended.stderr.contains("cannot be enforced") {
        skip(test, &ended.stderr);
        return None;
    }
    let summary = ended.summary();
    let rate = summary.steady.rates.expect("a measured part").succeeded_per_s;
    assert_eq!(groups(id), Vec::<OsString>::new());
    Some((ended, summary.server_limits.expect("limits were set"), rate))
}

/// Control groups that process `owner` left.
fn groups(owner: u32) -> Vec<OsString> {
    let below = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
    let groups = below("/sys/fs/cgroup".into()).flat_map(|hierarchy| below(hierarchy.path()));
    let names = groups.map(|group| group.file_name());
    names.filter(|name| name.to_string_lossy().starts_with(&format!("farfield-{owner}-"))).collect()
}

/// Capacity follows the limit: a fifth of the processor time answers about a fifth of the requests. A machine
/// that is busy with other work takes from the larger share, and wakes cost the smaller one more: hence 2 to
/// 12, not 5.
#[test]
fn a_fifth_of_the_processor_time_is_a_fifth_of_the_capacity() {
    let test = "a_fifth_of_the_processor_time_is_a_fifth_of_the_capacity";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let Some((ended, more, rate)) = limited(test, &wan, "--server-cpu 0.1") else { return };
    let Some((_, less, lower_rate)) = limited(test, &wan, "--server-cpu 0.02") else { return };
    assert!((2.0..12.0).contains(&(rate / lower_rate)), "{rate}/s with 0.1, {lower_rate}/s with 0.02");
    assert_eq!((more.cpu, more.period_ns), (Some(0.1), Some(10_000_000)));
    assert_eq!((less.cpu, less.period_ns), (Some(0.02), Some(50_000_000)));
    assert!(less.throttled_periods > 0 && less.throttled_ns > 1_000_000_000, "{less:?}");
    assert!(ended.stdout.contains("server      cpu 0.10, throttled in "), "{}", ended.stdout);
    assert_eq!(wan.processes(), Vec::<String>::new());
}

/// The share is that of the server and of the kernel's thread that receives for it: together they take no
/// more, and so the server takes less than without.
#[test]
fn a_share_holds_the_receive_work_as_well() {
    let test = "a_share_holds_the_receive_work_as_well";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    // A connection for each request, so that much of the work is the kernel's.
    let words = "--server-cpu 0.05 --policy one-request";
    let Some((_, _, without)) = limited(test, &wan, words) else { return };
    let all = format!("{words} --set server.cpu-of=all");
    let Some((ended, limits, rate)) = limited(test, &wan, &all) else { return };
    assert!(rate < without, "{rate}/s with the receive work in the share, {without}/s without");
    assert!(limits.throttled_periods > 0, "{limits:?}");
    let changed = &ended.summary().verdict.changed_limits;
    assert!(changed.iter().any(|limit| limit.key.contains("delivery-lateness")), "{changed:?}");
    assert_eq!(wan.processes(), Vec::<String>::new());
}

/// A process beside nginx wants more memory than both may have: it is killed, and the run says so.
#[test]
fn memory_that_runs_out_is_reported() {
    let test = "memory_that_runs_out_is_reported";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let wan = wan.beside("(sleep 1; head -c 1G /dev/zero | tail -n 1 > /dev/null)");
    let Some((ended, limits, _)) = limited(test, &wan, "--server-memory 48MiB") else { return };
    assert_eq!(limits.memory_bytes, Some(48 << 20));
    assert!(limits.oom_kills >= 1, "{limits:?}");
    assert!(ended.stdout.contains("OOM kills"), "{}", ended.stdout);
    let warnings = ended.summary().warnings;
    assert!(
        warnings.iter().any(|warning| warning.contains("memory = \"48MiB\" was used up")),
        "{warnings:?}"
    );
}

#[test]
fn limits_that_cannot_be_are_refused_with_their_key() {
    let place = Place::new();
    let refused = |words: &str, says: &str| {
        let ended = place.farfield(&format!("run {words} --show-scenario"));
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{words}: {}", ended.stderr);
    };
    refused("--server-cpu 0", "0 processors cannot be a limit");
    refused("--server-memory 100", "100B of memory hold no server");
    let own = std::process::id();
    for (flag, key) in
        [("--server-cpu 0.5", "cpu"), ("--server-memory 1GiB", "memory"), ("--server-user 1", "user")]
    {
        let text = format!("--server-{key}: process {own} runs already");
        let ended = place.farfield(&format!("run {flag} --set server.pid={own} -d 1s"));
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(&text), "{}", ended.stderr);
    }
    let ended = place.farfield("run --plane simulated --server-cpu 0.5 -d 1s");
    assert!(
        ended.code == Some(2) && ended.stderr.contains("--server-cpu: the simulated plane"),
        "{}",
        ended.stderr
    );
}
