//! Figures against what is known: queues with a formula, laws that hold for any system, and a generator that
//! is asked for more than it can do.

use crate::common::{Ended, Place, alone};
use farfield_base::{Instant, Outcome, Sample, Stamp};
use farfield_measure::verdict::CheckState;

fn ms(ms: f64) -> f64 {
    ms / 1e3
}

/// Mean response time in seconds of a queue with one server that takes `service` for each request, first
/// come, first served, when requests come as they were due.
fn lindley(samples: &[Sample], service: f64) -> f64 {
    let mut due: Vec<f64> = samples.iter().map(|sample| sample.due.as_secs_f64()).collect();
    due.sort_by(f64::total_cmp);
    let mut free = 0.0_f64;
    let total: f64 = due
        .iter()
        .map(|due| {
            free = free.max(*due) + service;
            free - due
        })
        .sum();
    total / due.len() as f64
}

/// M/D/1 at 60 %. What was offered is known to the nanosecond, so that the least mean that any server could
/// have is exact; above it there is room for a busy machine. The arrivals themselves are compared with
/// Pollaczek and Khinchine's formula.
#[test]
fn an_open_load_on_one_server_is_m_d_1() {
    let _alone = alone();
    let (service, utilisation) = (ms(5.0), 0.6);
    let place = Place::new();
    let server = place.serve("--service-time 5ms --servers 1");
    let run = place.run(&format!("{}/bytes/100 -R 120 -d 4s --warm-up 0s --seed 5", server.url)).exits(0);
    let samples = run.samples();
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok));
    assert!(samples.iter().all(|sample| sample.response_time().as_secs_f64() >= service));

    let measured = run.summary().steady.times.response.expect("requests").mean_ns as f64 / 1e9;
    let least = lindley(&samples, service);
    assert!(measured >= least, "mean {measured} s, and no server does better than {least} s");
    assert!(measured < least + ms(8.0), "mean {measured} s, at least {least} s");
    let theory = service * (1.0 + utilisation / (2.0 * (1.0 - utilisation)));
    assert!((least / theory - 1.0).abs() < 0.3, "{least} s for these arrivals, {theory} s for M/D/1");
}

/// The response time law, X = N / (R + Z), which holds for any closed system whatever the distributions.
#[test]
fn a_closed_load_follows_the_response_time_law() {
    let _alone = alone();
    let place = Place::new();
    let server = place.serve("--service-time 4ms --servers 2");
    for users in [5.0, 40.0] {
        let words = format!("{}/bytes/100 -c {users} --think 20ms -d 2s", server.url);
        let summary = place.run(&words).exits(0).summary();
        let response = summary.steady.times.response.expect("requests").mean_ns as f64 / 1e9;
        let completed = summary.steady.rates.expect("a window").succeeded_per_s;
        let law = users / (response + ms(20.0));
        assert!((completed / law - 1.0).abs() < 0.05, "{users} users: {completed}/s, by the law {law}/s");
        // Nothing serves faster than its servers can.
        assert!(completed <= 2.0 / ms(4.0) * 1.01, "{completed}/s of 500/s");
    }
}

/// With 40 users and no thinking, two servers of 4 ms are never idle: 500 requests a second, and 80 ms for
/// each.
#[test]
fn a_saturated_server_answers_at_its_capacity() {
    let _alone = alone();
    let place = Place::new();
    let server = place.serve("--service-time 4ms --servers 2");
    let summary = place.run(&format!("{}/bytes/100 -c 40 -d 2s", server.url)).exits(0).summary();
    let completed = summary.steady.rates.expect("a window").succeeded_per_s;
    assert!((completed / 500.0 - 1.0).abs() < 0.05, "{completed}/s");
    let response = summary.steady.times.response.expect("requests").mean_ns as f64 / 1e9;
    assert!((response / ms(80.0) - 1.0).abs() < 0.05, "{response} s");
}

/// The checks that failed.
fn failed(ended: &Ended) -> Vec<String> {
    let checks = ended.summary().verdict.checks;
    checks.into_iter().filter(|check| check.state == CheckState::Failed).map(|check| check.name).collect()
}

/// Two million arrivals a second are beyond one worker: the run says that it is not to be believed, and why.
#[test]
fn a_generator_that_saturates_is_found_out() {
    let _alone = alone();
    let place = Place::new();
    let words =
        "run -R 2000000 -c 200 -d 1s --warm-up 0s -t 1 --set run.drain=500ms -q -o run --samples none";
    let ended = Ended { directory: place.path("run"), ..place.farfield(words) }.exits(3);
    let failed = failed(&ended);
    for check in ["send-lateness", "achieved-rate"] {
        assert!(failed.iter().any(|failed| failed == check), "{check} is not among {failed:?}");
    }
    // The screen has the first causes; what follows from them may have no room.
    assert!(ended.stdout.contains("\nINVALID ") && ended.stdout.contains("\n  ! "), "{}", ended.stdout);
    assert!(ended.summary().complete);
}

/// The p99 of 100 requests is the 99th, and every other percentile the value at its rank, to the histogram's
/// error.
#[test]
fn percentiles_of_few_are_values_of_the_samples() {
    let place = Place::new();
    let server = place.serve("");
    let ended = place.run(&format!("{}/bytes/1000 -n 100 -c 4 --warm-up 0s", server.url)).exits(0);
    let mut times: Vec<u64> = ended.samples().iter().map(|sample| sample.response_time().as_ns()).collect();
    times.sort_unstable();
    assert_eq!(times.len(), 100);
    let reported = ended.summary().steady.times.response.expect("requests");
    assert_eq!((reported.count, reported.min_ns, reported.max_ns), (100, times[0], times[99]));
    for (name, rank) in [("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("p99.9", 100), ("p99.99", 100)]
    {
        let quantile = reported.quantiles.iter().find(|quantile| quantile.name == name).expect(name);
        let exact = times[rank - 1];
        // Three significant digits, and 1 µs at the least.
        assert!(quantile.value_ns.abs_diff(exact) as f64 <= exact as f64 * 1e-3 + 1e3, "{name}: {exact}");
    }
}

/// The instants of a request lie in their order, those of its connection included.
#[test]
fn instants_are_in_order() {
    let place = Place::new();
    for words in [
        "-c 8 --policy one-request",
        "-c 3 --parallel 6",
        "-c 3 --policy pipelined",
        "-R 300 --policy one-request",
        "-R 100 --parallel 6 --policy early-close --http 1.0",
    ] {
        // In so short a window what is open when it ends counts for much in Little's law, if the machine
        // halts just then.
        let ended = place.run(&format!("{words} -d 500ms --set verdict.littles-law=1")).exits(0);
        let samples = ended.samples();
        assert!(samples.len() > 30, "{words}: {}", samples.len());
        for sample in &samples {
            let stamps = [sample.connect_begun, sample.connected, sample.sent, sample.first_byte];
            let happened = stamps.iter().filter_map(|stamp| stamp.instant());
            let order: Vec<Instant> =
                std::iter::once(sample.due).chain(happened).chain(std::iter::once(sample.done)).collect();
            assert!(order.is_sorted(), "{words}: {sample:?}");
            assert_eq!(sample.number == 0, sample.connect_begun != Stamp::NEVER, "{words}: {sample:?}");
        }
    }
}

/// D descriptors that try for T each: D/T attempts a second, from a server that takes a twentieth of them as
/// from one that takes all.
#[test]
fn attempts_in_overload_are_d_over_t() {
    let _alone = alone();
    let place = Place::new();
    place.write(
        "overload.toml",
        "[load]\nmodel = 'overload'\ndescriptors = 60\ntimeout = '100ms'\n[connections]\npolicy = 'one-request'\n\
         [[requests.request]]\npath = '/delay/40'\n[run]\ndrain = '200ms'\n",
    );
    for (server, least_answered, most_answered) in
        [("--accept-limit 1 --backlog 1", 0.0, 0.2), ("", 0.99, 1.0)]
    {
        let server = place.serve(server);
        let run = place.run(&format!("overload.toml --target {} -d 2s", server.url)).exits(0);
        let samples = run.samples();
        let begun_within = |sample: &&Sample| {
            sample.connect_begun.instant().is_some_and(|at| (0.2..2.2).contains(&at.as_secs_f64()))
        };
        let attempts: Vec<_> = samples.iter().filter(begun_within).collect();
        let made = attempts.len() as f64;
        assert!((made / 1200.0 - 1.0).abs() < 0.02, "{made} attempts in 2 s, for 600/s");
        let answered = attempts.iter().filter(|sample| sample.outcome == Outcome::Ok).count() as f64 / made;
        assert!(
            (least_answered..=most_answered).contains(&answered),
            "{answered} of the attempts were answered"
        );
        let summary = run.summary();
        let rates = summary.steady.rates.expect("a window");
        assert_eq!(rates.connects_per_s, made / 2.0);
        // An attempt lasts for T at most: of 60, one for each descriptor, the answer may lie beyond either
        // end.
        let crossing = rates.succeeded_per_s * 2.0 - answered * made;
        assert!(crossing.abs() <= 60.0, "{crossing} answers more than attempts answered");
        assert!(summary.warnings.iter().any(|warning| warning.contains("round trip")), "T has a condition");
    }
}
