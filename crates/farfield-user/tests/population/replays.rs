//! Recorded sessions asked for again, in virtual time.

use crate::scene::{Scene, ms};
use farfield_base::{Duration, Instant, PagePart, Sample};

const CLOSED: &str = "{ model = 'closed', users = 1 }";

fn line(client: &str, second: u32, path: &str) -> String {
    format!("{client} - - [10/Oct/2000:13:55:{second:02} -0700] \"GET {path} HTTP/1.0\" 200 10\n")
}

/// Due instant of each sample, in milliseconds, and the request that it was for.
fn due(samples: &[Sample], user: u32) -> Vec<(u64, u32)> {
    let own = samples.iter().filter(|sample| sample.user == user);
    own.map(|sample| (sample.due.as_ns() / 1_000_000, sample.request)).collect()
}

#[test]
fn a_log_is_asked_for_at_its_instants() {
    let log =
        [line("a", 0, "/x"), line("b", 1, "/y"), line("a", 2, "/y"), line("a", 3, "/x"), line("b", 5, "/x")]
            .concat();
    let exact = Scene::replay("access.log", &log, "", CLOSED).play();
    assert_eq!(due(&exact.samples, 0), [(0, 0), (2000, 1), (3000, 0)]);
    assert_eq!(due(&exact.samples, 1), [(1000, 1), (5000, 0)]);
    let quick = Scene::replay("access.log", &log, "speed = 2", CLOSED).play();
    assert_eq!(due(&quick.samples, 0), [(0, 0), (1000, 1), (1500, 0)]);
    assert_eq!(quick.counts.begun, 2);
    // A page takes 15 ms, and the first of a connection 10 more.
    let gaps = Scene::replay("access.log", &log, "timing = 'gaps'", CLOSED).play();
    assert_eq!(due(&gaps.samples, 0), [(0, 0), (2025, 1), (3040, 0)]);
    assert_eq!(gaps.attempts.len(), 2, "a session keeps its connection");
}

/// One recording, as many users as the load has: each goes through sessions in turn, from its own begin.
#[test]
fn a_recording_is_played_by_many_users() {
    let log =
        [line("a", 0, "/x"), line("b", 1, "/y"), line("a", 2, "/y"), line("a", 3, "/x"), line("b", 5, "/x")]
            .concat();
    let load = "{ model = 'closed', users = 4, ramp = '400ms', think = '500ms' }";
    let exact = Scene::replay("access.log", &log, "in-turn = true", load).play();
    assert_eq!(due(&exact.samples, 0)[..4], [(0, 0), (2000, 1), (3000, 0), (3515, 0)]);
    assert_eq!(due(&exact.samples, 1)[..3], [(100, 1), (4100, 0), (4615, 1)]);
    assert_eq!(due(&exact.samples, 2)[..3], [(200, 0), (2200, 1), (3200, 0)]);
    let gaps = Scene::replay("access.log", &log, "in-turn = true\ntiming = 'gaps'", load).play();
    assert_eq!(due(&gaps.samples, 0)[..3], [(0, 0), (2025, 1), (3040, 0)]);
    // Sessions that arrive play them in turn, too.
    let load = "{ model = 'hybrid', arrivals = { process = 'constant', rate = '1/s' } }";
    let arrived = Scene::replay("access.log", &log, "in-turn = true", load).play();
    assert_eq!(due(&arrived.samples, 0), [(500, 0), (2500, 1), (3500, 0)]);
    assert_eq!(due(&arrived.samples, 3), [(3500, 1), (7500, 0)]);
}

/// Requests that were due while the page before was not over begin late, and their response time counts that.
#[test]
fn a_slow_server_makes_exact_instants_late() {
    let log = [line("a", 0, "/x"), line("a", 1, "/y")].concat();
    let mut scene = Scene::replay("access.log", &log, "", CLOSED);
    scene.server.service = Duration::from_secs(3);
    let stage = scene.play();
    assert_eq!(due(&stage.samples, 0), [(0, 0), (1000, 1)]);
    assert_eq!(stage.samples[1].sent.instant(), Some(stage.samples[0].done));
    assert!(stage.samples[1].response_time() > Duration::from_secs(4));
}

#[test]
fn httperfs_sessions_go_round() {
    let text = "/a think=0.2\n\t/i\n\t/j\n/b\n\n/a\n\t/j\n";
    let stage = Scene::replay("s.wsesslog", text, "timing = 'gaps'", CLOSED).play();
    let asked: Vec<_> = stage.samples.iter().map(|sample| (sample.request, sample.page)).collect();
    use PagePart::{Begins, Ends, Inside, Whole};
    assert_eq!(asked[..6], [(0, Begins), (1, Inside), (2, Ends), (3, Whole), (0, Begins), (2, Ends)]);
    assert_eq!(asked[6..12], asked[..6]);
    assert_eq!(stage.samples[3].due, stage.samples[2].done + ms(200));
    assert!(stage.samples.iter().all(|sample| sample.done > Instant::ZERO));
}
