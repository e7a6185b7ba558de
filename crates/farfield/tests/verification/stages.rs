//! Loads in stages, counted by others: the server's own log on sockets, packets in virtual time.

use crate::common::nginx::Nginx;
use crate::common::wan::find;
use crate::common::{Ended, Place, poll};
use farfield_base::{Instant, Outcome};
use farfield_traffic::stages::UsersCourse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The log of nginx: when each request was over, in seconds of Unix, and its connection.
fn logged(place: &Place, expected: usize) -> Vec<(f64, u64)> {
    let text = || fs::read_to_string(place.path("access.log")).unwrap_or_default();
    poll("nginx to log all requests", || (text().lines().count() >= expected).then_some(()));
    let line = |line: &str| {
        let (at, connection) = line.split_once(' ').expect("two fields");
        (at.parse().expect("seconds"), connection.parse().expect("a number"))
    };
    text().lines().map(line).collect()
}

fn serve(test: &str, place: &Place) -> Option<Nginx> {
    let program = find(test, "nginx")?;
    place.write("www/page", vec![b'x'; 1024]);
    let log = "log_format own '$msec $connection'; access_log HOME/access.log own;";
    Some(Nginx::start(&program, place, log, "root HOME/www;"))
}

/// Requests of each second of the run by nginx's log: each is over at most so late after it was due, as the
/// samples say, and no earlier.
fn by_second(ended: &Ended, log: &[(f64, u64)]) -> BTreeMap<u64, usize> {
    let start = ended.summary().clock.expect("a run that has ended").start_unix_ns as f64 / 1e9;
    let mut seconds = BTreeMap::new();
    for (at, _) in log {
        *seconds.entry((at - start).max(0.0) as u64).or_default() += 1;
    }
    seconds
}

#[test]
fn nginx_sees_the_rates_that_were_asked_for() {
    let test = "nginx_sees_the_rates_that_were_asked_for";
    let place = Place::new();
    let Some(nginx) = serve(test, &place) else { return };
    // On the half second, so that a millisecond more or less moves no request from one second to another.
    let stages = "500ms:0/s,0s:40/s,2s:40/s,2s:120/s,0s:20/s,1s:20/s";
    let words = format!(
        "http://{}/page --stages {stages} --set load.spacing=even --warm-up 0s -d 5500ms",
        nginx.address
    );
    let ended = place.run(&words).exits(0);
    let samples = ended.samples();
    let asked = [20, 40, 45, 80, 65, 10];
    let due = |second: u64| samples.iter().filter(|own| own.due.as_ns() / 1_000_000_000 == second).count();
    assert_eq!([0, 1, 2, 3, 4, 5].map(due), asked);
    let log = logged(&place, samples.len());
    nginx.end();
    assert_eq!(log.len(), samples.len());
    // A request that was due at the end of a second may be answered in the next: as many as the samples say.
    let seconds = by_second(&ended, &log);
    let late =
        samples.iter().filter(|own| own.done.as_ns() / 1_000_000_000 > own.due.as_ns() / 1_000_000_000);
    let late = late.count() + 2;
    for (second, asked) in asked.into_iter().enumerate() {
        let found = seconds.get(&(second as u64)).copied().unwrap_or(0);
        assert!(
            found.abs_diff(asked) <= late,
            "second {second}: {found} for {asked}, {late} late: {seconds:?}"
        );
    }
    let summary = ended.summary();
    // The last arrival comes 25 ms before the end of the last stage, whose rate is over all of its time.
    assert_eq!(summary.phases.steady_ns, 5_500_000_000);
    let rate = |nth: usize| summary.stages[nth].steady.rates.expect("a rate").offered_per_s;
    assert!((rate(3) - 20.0).abs() < 1e-9, "{}", rate(3));
    let stages: Vec<(&str, u64)> =
        summary.stages.iter().map(|own| (own.name.as_str(), own.steady.requests)).collect();
    assert_eq!(stages, [("stage-1", 0), ("stage-3", 80), ("stage-4", 160), ("stage-6", 20)]);
    assert_eq!(summary.stages[2].course, "40/s to 120/s");
    let text = ended.stdout.replace("  ", " ");
    assert!(
        text.contains("stage-4") && ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn nginx_sees_the_users_come_and_go() {
    let test = "nginx_sees_the_users_come_and_go";
    let place = Place::new();
    let Some(nginx) = serve(test, &place) else { return };
    let stages = "1s:8,1s:8,2s:0";
    let words =
        format!("http://{}/page --stages {stages} --think 40ms -t 2 --warm-up 0s -d 4s", nginx.address);
    let ended = place.run(&words).exits(0);
    let samples = ended.samples();
    let log = logged(&place, samples.len());
    nginx.end();
    assert_eq!(log.len(), samples.len());
    assert!(samples.iter().all(|own| own.outcome == Outcome::Ok));
    let course = UsersCourse::new(0, &stages.parse().expect("stages"));
    let start = ended.summary().clock.expect("a run that has ended").start_unix_ns as f64 / 1e9;
    // Each user has a connection of its own, from its begin to its last page.
    let mut connections: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (at, connection) in &log {
        connections.entry(*connection).or_default().push(at - start);
    }
    assert_eq!(connections.len(), 8);
    let mut begun: Vec<f64> = connections.values().map(|own| own[0]).collect();
    begun.sort_by(f64::total_cmp);
    for (user, begun) in begun.into_iter().enumerate() {
        let stay = course.stay(user as u32, Instant::ZERO).expect("a stay");
        // nginx's clock has milliseconds, and is updated when it wakes.
        assert!(begun > stay.from.since(Instant::ZERO).as_secs_f64() - 0.005, "user {user} at {begun}");
        let last = samples.iter().filter(|own| own.user == user as u32).map(|own| own.due).max();
        assert!(last.is_some_and(|last| last < stay.until), "user {user}: {last:?} {stay:?}");
    }
    let users: BTreeSet<u32> = samples.iter().map(|own| own.user).collect();
    assert_eq!(users.len(), 8);
}

/// Each model of load in stages, with a threshold of one: the summary is its samples and its packets.
#[test]
fn stages_in_virtual_time_agree_with_their_packets() {
    let place = Place::new();
    for (number, load) in [
        "{ model = 'closed', users = 4, stages = '2s:20,2s:20,0s:3,2s:3,2s:9', think = '30ms' }",
        "{ model = 'open', stages = [{ for = '2s', to = '200/s' }, { name = 'top', for = '2s', to = '200/s' }, { for = '3s', to = '0/s' }] }",
        "{ model = 'hybrid', stages = '2s:20/s,3s:40/s,1s:0/s', think = '20ms' }",
    ]
    .into_iter()
    .enumerate()
    {
        let scenario = format!(
            "plane = 'simulated'\nload = {load}\nnetwork.rtt = '4ms'\n\
             simulated = {{ workers = 4, service-time = '1ms' }}\noutput.samples = 'all'\n"
        );
        place.write("s.toml", scenario);
        let of = if number == 1 { "top" } else { "stage-2" };
        let threshold = format!("rate{{{of}}}>10/s");
        let count = if number == 0 { "-n 900" } else { "-n 300" };
        let all = [8, 7, 6][number];
        let whole = format!("--warm-up 0s -d {all}s");
        let later = format!("--warm-up 1s -d {}s", all - 1);
        for more in [&whole, &later, "--warm-up 0s -d 3s", count] {
            let words = format!("s.toml --capture --threshold {threshold} {more}");
            let ended = place.run(&words).exits(0);
            let summary = ended.summary();
            assert!(summary.stages.len() >= 2 && summary.thresholds[0].passed, "{load} {more}");
            let sum: u64 = summary.stages.iter().map(|own| own.steady.requests).sum();
            assert_eq!(sum, summary.steady.requests, "{load} {more}");
            let verified = place.farfield(&format!("verify {}", ended.directory.display()));
            assert_eq!(verified.code, Some(0), "{load} {more}: {verified:?}");
        }
    }
}

#[test]
fn stages_that_cannot_be_run_are_refused_with_their_line() {
    let place = Place::new();
    for (load, said) in [
        ("model = 'closed'\nstages = [{ for = '1m', to = -5 }]", "`-5` is no number of users"),
        ("model = 'closed'\nstages = '1m:4000000000'", "`4000000000` is no number of users"),
        ("model = 'closed'\nusers = 4000000000\nstages = '1m:0'", "`users` is 4000000000"),
        ("model = 'closed'\nstages = [{ to = 5 }]", "a stage has no `for`"),
        ("model = 'closed'\nstages = [{ for = '1m' }]", "a stage has no `to`"),
        ("model = 'closed'\nstages = []", "`stages` is empty"),
        ("model = 'closed'\nstages = '0s:5'", "the stages take no time"),
        ("model = 'closed'\nstages = '1m:0'", "the stages stay at 0"),
        ("model = 'closed'\nstages = '2000h:5,9000h:5'", "write at most"),
        ("model = 'closed'\nstages = '1m'", "`1m` is no stage"),
        ("model = 'closed'\nstages = '1m:5'\nramp = '1s'", "`ramp` beside `stages`"),
        (
            "model = 'closed'\nstages = [{ name = 'a', for = '1m', to = 5 }, { name = 'a', for = '1m', to = 0 }]",
            "two stages are named `a`",
        ),
        ("model = 'closed'\nstages = [{ name = 'a}<1s', for = '1m', to = 5 }]", "a stage is named"),
        ("model = 'open'\nstages = '1m:100/s'\narrivals = '5/s'", "`arrivals` beside `stages`"),
        ("model = 'open'\nstages = '1m:-4/s'", "-4/s"),
        ("model = 'open'\nspacing = 'even'\narrivals = '5/s'", "`spacing` without `stages`"),
        (
            "model = 'open'\nstages = '1m:5/s'\n[run]\nset-aside = true",
            "stages of load.stages begin and end when they do",
        ),
        ("model = 'open'\nstages = '1m:5/s'\n[run]\nwarm-up = '2m'", "the stages are over after 1m"),
    ] {
        place.write("s.toml", format!("target = 'http://127.0.0.1:9/'\n[load]\n{load}\n"));
        let ended = place.farfield("run s.toml");
        assert_ne!(ended.code, Some(0), "{load}");
        assert!(ended.stderr.contains(said) && ended.stderr.contains("s.toml"), "{load}: {}", ended.stderr);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    }
    // All of them are measured, unless the scenario says otherwise.
    for (more, warm_up, duration) in [
        ("", "0s", "1.5s"),
        ("--warm-up 500ms", "500ms", "1s"),
        ("-d 1s", "0s", "1s"),
        ("--warm-up 100ms -d 3s", "100ms", "3s"),
    ] {
        let words = format!("run http://127.0.0.1:9/ --stages 1s:5/s,500ms:0/s --show-scenario {more}");
        let shown = place.farfield(&words).exits(0).stdout;
        let run = format!("warm-up = \"{warm_up}\"\nduration = \"{duration}\"\n");
        assert!(shown.contains(&run), "{more}: {shown}");
    }
    let ended = place.farfield("run http://127.0.0.1:9/ --stages 1m:5 --threshold p99{top}<1s");
    assert!(ended.stderr.contains("the stages are `stage-1`"), "{}", ended.stderr);
    place.write("s.toml", "target = 'http://127.0.0.1:9/'\nload = { model = 'closed', stages = '1m:5' }\n");
    let ended = place.farfield("capacity s.toml --slo p99<1s");
    assert!(ended.stderr.contains("load.stages"), "{}", ended.stderr);
}
