//! What a user types first on the emulated plane is valid, and on time by what farfield chooses itself: who
//! runs on which processor, and when users begin.

mod common;

use common::wan::{CALM_PACKETS, Kind, Wan, find};
use common::{CALM, Ended, skip};
use farfield_base::{Duration, Instant};
use farfield_engine::os::processors;
use farfield_measure::verdict::{Check, CheckState};

/// The README's command, with a server of the test's own, for three seconds. This machine may be busy with
/// other tests and other people's work: so late packets and a full processor make nothing invalid here. That
/// packets are late by no more than a millisecond on a quiet machine is for `cargo xtask bench far-valid`;
/// what decides it is held here.
fn typed(wan: &Wan, more: &str) -> Ended {
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    let allowed = format!("{home}/allowed");
    let server = format!(
        "grep Cpus_allowed_list /proc/self/status > {allowed}; exec nginx -p {home} -c {home}/server.conf -g 'daemon off;'"
    );
    typed_before(wan, &server, more)
}

/// A run with another line of shell as its server.
fn typed_before(wan: &Wan, server: &str, more: &str) -> Ended {
    let directory = wan.place.path("typed");
    let out = directory.to_str().expect("a plain path");
    let words = ["run", "--server", server, "--rtt", "80ms", "-c", "1000", "-d", "3s", "-q", "-o", out];
    let limits: Vec<&str> = CALM
        .split_whitespace()
        .chain(CALM_PACKETS.split_whitespace())
        .chain(more.split_whitespace())
        .collect();
    let ended = wan.place.farfield_with(&[&words[..], &limits].concat());
    Ended { directory, ..ended }
}

fn nginx(test: &str) -> Option<Wan> {
    let wan = Wan::configured(test, Kind::Nginx, |config| config.replace("daemon off;", ""))?;
    // The page that nginx welcomes with is as long.
    wan.place.write("www/index.html", [b'x'; 615]);
    Some(wan)
}

/// When each user began, in order of their numbers.
fn begun(ended: &Ended) -> Vec<Instant> {
    let mut first = vec![Instant::MAX; 1000];
    for sample in ended.samples() {
        let first = &mut first[sample.user as usize];
        *first = sample.due.min(*first);
    }
    first
}

#[test]
fn the_readmes_emulated_command_is_valid() {
    let Some(wan) = nginx("the_readmes_emulated_command_is_valid") else { return };
    let ended = typed(&wan, "").exits(0);
    // Spread over two round trips, one to connect and one to ask: the model's own instants, however busy the
    // machine is.
    let step = Duration::from_ms(160).as_ns() / 1000;
    let expected: Vec<Instant> = (0..1000).map(|user| Instant::from_ns(user * step)).collect();
    assert_eq!(begun(&ended), expected);
    assert!(ended.summary().verdict.valid);
    // The scenario that is kept says what was chosen.
    let kept = std::fs::read_to_string(ended.directory.join("scenario.toml")).expect("a kept scenario");
    assert!(kept.contains("ramp = \"160ms\""), "{kept}");
}

#[test]
fn lockstep_is_what_one_has_to_ask_for() {
    let Some(wan) = nginx("lockstep_is_what_one_has_to_ask_for") else { return };
    let ended = typed(&wan, "--set load.ramp=0s").exits(0);
    assert_eq!(begun(&ended), [Instant::ZERO; 1000]);
}

/// The server is where the summary says, and no shard is there.
#[test]
fn the_server_runs_on_the_processors_that_shards_leave() {
    let Some(wan) = nginx("the_server_runs_on_the_processors_that_shards_leave") else { return };
    let summary = typed(&wan, "").exits(0).summary();
    let placement = summary.generator.placement.expect("a placement");
    let own = processors::allowed().expect("a set of processors");
    let on = wan.read("allowed");
    let on = on.trim().rsplit('\t').next().unwrap_or_default();
    if let [.., last] = own[..]
        && own.len() > 1
    {
        assert_eq!(summary.generator.processors, [last as u32], "{placement}");
        assert!(placement.contains(&format!("shard on {last}")), "{placement}");
        assert!(placement.contains(&format!(" on {on},")), "server on {on}, but: {placement}");
        assert!(!on.split(',').any(|part| part == last.to_string()), "server on {on}, shard on {last}");
    } else {
        assert!(placement.starts_with("1 processor"), "{placement}");
    }

    // Asked for, it is elsewhere.
    let first = own[0].to_string();
    let summary = typed_again(&wan, &format!("--processors {first}"));
    assert_eq!(summary.generator.processors, [own[0] as u32]);
    assert!(summary.generator.placement.is_some_and(|placement| placement.contains("as asked")));
}

fn typed_again(wan: &Wan, more: &str) -> farfield_measure::Summary {
    std::fs::remove_dir_all(wan.place.path("typed")).expect("own folder");
    typed(wan, more).exits(0).summary()
}

/// A server that binds itself to the shard's processor, as nginx does with `worker_cpu_affinity`, is kept
/// off it by its control group, or reported where there is none.
#[test]
fn a_server_cannot_bind_itself_to_the_shards_processor() {
    let test = "a_server_cannot_bind_itself_to_the_shards_processor";
    let own = processors::allowed().expect("a set of processors");
    let [first, .., last] = own[..] else { return skip(test, "there is one processor") };
    let Some(taskset) = find(test, "taskset") else { return };
    let Some(wan) = nginx(test) else { return };
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/').to_owned();
    let taskset = taskset.display();
    let server = format!(
        "{taskset} -pc {last} $$; {taskset} -pc {first},{last} $$; grep Cpus_allowed_list /proc/self/status > \
         {home}/allowed; exec nginx -p {home} -c {home}/server.conf -g 'daemon off;'"
    );
    let ended = typed_before(&wan, &server, "").exits(0);
    let on = wan.read("allowed");
    let on = on.trim().rsplit('\t').next().unwrap_or_default();
    let is_apart = |check: &Check| check.name == "server-apart";
    let apart = ended.summary().verdict.checks.into_iter().find(is_apart).expect("the check");
    match apart.measured {
        Some(0.0) => assert!(!on.split([',', '-']).any(|part| part == last.to_string()), "it is on {on}"),
        // No control group may be made here. Nothing was late, by limits like these.
        _ => assert_eq!(apart.state, CheckState::Skipped, "{apart:?}"),
    }
}
