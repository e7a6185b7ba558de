//! Servers that become slow in mid-run and answer on: nothing is invalid, and a warning says when it was.

use crate::common::wan::Wan;
use crate::common::{Ended, Place, poll, skip};
use farfield_base::Outcome;
use farfield_measure::Summary;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

/// The second from which on requests took longer, and the medians before and after in milliseconds, as the
/// warning has them.
fn change_of(warnings: &[String]) -> Option<[f64; 3]> {
    let reported =
        warnings.iter().find(|warning| warning.starts_with("requests took longer from second "))?;
    let numbers: Vec<f64> = reported.split([' ', ':']).filter_map(|word| word.parse().ok()).collect();
    Some(numbers.try_into().unwrap_or_else(|numbers| panic!("{numbers:?} in: {reported}")))
}

/// The median response time of each second, in milliseconds, and how many it is of.
fn medians_ms(ended: &Ended) -> Vec<(f64, usize)> {
    let mut seconds: Vec<Vec<f64>> = Vec::new();
    for sample in ended.samples().iter().filter(|sample| sample.outcome == Outcome::Ok) {
        let second = sample.done.as_secs_f64() as usize;
        seconds.resize_with(seconds.len().max(second + 1), Vec::new);
        seconds[second].push(sample.response_time().as_secs_f64() * 1e3);
    }
    let median = |mut times: Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        (times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN), times.len())
    };
    seconds.into_iter().map(median).collect()
}

/// True if each of the measured whole seconds behind `between` has at least twice the median of each before
/// it, and the medians of both sides are `reported`.
fn changes(medians_ms: &[(f64, usize)], between: usize, reported: [f64; 2]) -> bool {
    let side = |seconds: Range<usize>| {
        let answered = medians_ms[seconds].iter().filter(|(_, count)| *count > 0);
        let mut side: Vec<f64> = answered.map(|(ms, _)| *ms).collect();
        side.sort_unstable_by(f64::total_cmp);
        side
    };
    let sides = [side(1..between), side(between + 1..medians_ms.len().min(12))];
    let middles = sides.each_ref().map(|side| side[(side.len() - 1) / 2]);
    // The series reports the lower end of a bin, which is up to 1/64 of its times wide.
    let in_bin =
        |(middle, reported): (&f64, f64)| (-0.001..1.0 / 64.0 + 0.001).contains(&(1.0 - reported / middle));
    let agree = middles.iter().zip(reported).all(in_bin);
    agree && sides[1][0] > 1.99 * sides[0][sides[0].len() - 1]
}

/// A link carries a kilobyte each millisecond until second 5, and a tenth of that from then on: for requests
/// that are 20 ms apart that is a transfer of 10 ms more. In virtual time all is exact.
#[test]
fn a_path_that_becomes_slow_in_virtual_time() {
    let place = Place::new();
    // Milliseconds at which a packet may pass; the trace repeats after its last line.
    let at = (1..=12_000_u32).filter(|ms| *ms < 5_000 || ms % 10 == 0);
    place.write("rates", at.map(|ms| format!("{ms}\n")).collect::<String>());
    place.write(
        "s.toml",
        "plane = 'simulated'\n[load]\nmodel = 'open'\narrivals = '50/s'\n[network]\nclients = 10\n\
         [[network.class]]\nname = 'all'\nup = { delay = '1ms' }\ndown = { delay = '1ms', trace = 'rates' }\n\
         [simulated]\nreply-size = '100B'\n",
    );
    let ended = place.run("s.toml --warm-up 1s -d 9s").exits(0);
    let warnings = ended.summary().warnings;
    let [second, before, after] = change_of(&warnings).unwrap_or_else(|| panic!("{warnings:?}"));
    assert_eq!(second, 5.0);
    assert!(before < 4.0 && after > 2.0 * before, "{before} ms, {after} ms");
}

/// A server whose processor time is cut from one processor to a thousandth of one in mid-run, by its control
/// group. That its limit held it back is reported as well. Where other work slows the server before, or lets
/// it answer after, no run can show this change: one of three has to.
#[test]
fn a_server_that_loses_its_processor() {
    let test = "a_server_that_loses_its_processor";
    let farfield = env!("CARGO_BIN_EXE_farfield");
    let command = vec![farfield.to_owned(), "serve".into(), "0.0.0.0:80".into()];
    let Some(wan) = Wan::of(test, command) else { return };
    let mut disturbed = Vec::new();
    while disturbed.len() < 3 {
        let ended = match run_without_processor(&wan) {
            Ok(ended) => ended,
            Err(why) => return skip(test, &why),
        };
        match is_slowed(&ended) {
            Ok(()) => return,
            Err(why) => disturbed.push(why),
        }
    }
    panic!("{disturbed:#?}");
}

/// The run of such a server, or why no limit can be set.
fn run_without_processor(wan: &Wan) -> Result<Ended, String> {
    // A thousandth of a processor, and the tick of some milliseconds by which the kernel may be late to
    // take it away, serve fewer in a second than the users who wait: all are late, whatever else the machine
    // does.
    let scenario = "load = { model = 'closed', users = 200, think = '500ms', ramp = '500ms' }\n\
                    network = { clients = 200, rtt = '2ms' }\n\
                    requests.request = [{ path = '/bytes/1000' }]\nrun = { warm-up = '1s', duration = '11s' }";
    let run = wan.begin(scenario, "--server-cpu 1 --set verdict.server-silent=1m");
    let group = |name: &str| -> Option<PathBuf> {
        let own = format!("farfield-{}-", run.id());
        let below =
            |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let hierarchies = below("/sys/fs/cgroup".into()).chain(["/sys/fs/cgroup".into()]);
        let is_own =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own));
        // A group that only counts may stand in another hierarchy.
        let folders = hierarchies.flat_map(below).filter(is_own);
        folders.map(|folder| folder.join(name)).find(|path| path.exists())
    };
    let checkpoint =
        || Summary::from_json(&fs::read_to_string(run.directory.join("summary.json")).ok()?).ok();
    poll("four seconds to be measured", || {
        let measured = checkpoint().is_some_and(|summary| summary.phases.steady_ns > 4_000_000_000);
        // It does not begin where no limits can be kept to.
        (measured || run.said().contains("cannot be enforced")).then_some(())
    });
    let written = match (group("cpu.cfs_quota_us"), group("cpu.max")) {
        // A millisecond of each second, the least that the kernel takes.
        (Some(quota), _) => {
            fs::write(quota.with_file_name("cpu.cfs_period_us"), "1000000").and(fs::write(quota, "1000"))
        }
        (None, Some(both)) => fs::write(both, "1000 1000000"),
        (None, None) => return Err(run.ended().stderr),
    };
    written.expect("a limit");
    // The requests that are open at the end may make it invalid.
    Ok(run.ended())
}

/// `Ok` if the run has the warning, its samples show what it says, and its limit is reported; or what is
/// missing.
fn is_slowed(ended: &Ended) -> Result<(), String> {
    let medians = medians_ms(ended);
    let warnings = ended.summary().warnings;
    let [second, before, after] =
        change_of(&warnings).ok_or_else(|| format!("{warnings:?}; in ms, by second: {medians:?}"))?;
    let reported = format!("second {second}: {before} ms, {after} ms; {medians:?}");
    let at = second as usize;
    // The samples say so too.
    let agrees = |between: &usize| changes(&medians, *between, [before, after]);
    if second < 5.0 || after < 2.0 * before || ![at - 1, at].iter().any(agrees) {
        return Err(reported);
    }
    // Its limit held it back in most of the time from there on.
    let limits = ended.summary().server_limits.expect("limits were set");
    let throttled_s = limits.throttled_ns as f64 / 1e9;
    if limits.throttled_periods == 0 || throttled_s < 0.5 * (11.0 - second) {
        return Err(format!("{limits:?}; {reported}"));
    }
    assert!(ended.stdout.contains("server      cpu 1.00, throttled in "), "{}", ended.stdout);
    Ok(())
}
