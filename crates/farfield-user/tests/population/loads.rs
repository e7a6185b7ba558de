//! The models of load, in virtual time and against their formulas.

use crate::scene::{Scene, Server, ms};
use farfield_base::{Duration, Instant, LoadCounts, Outcome, Sample, Window};

/// A closed user's cycle is a round trip for the connection the first time, then reply and think time: N
/// users complete N / (R + Z) a second (the interactive response time law).
#[test]
fn closed_users_follow_the_response_time_law() {
    let scene = Scene::of("{ model = 'closed', users = 20, think = '85ms' }");
    let stage = scene.play();
    // R = 10 ms of path and 5 ms of service, Z = 85 ms; a user's first page takes 10 ms more, so that its
    // pages begin at 0, 110, 210 … ms.
    let pages_a_user = 1 + (10_000_usize - 110).div_ceil(100);
    assert_eq!(stage.samples.len(), 20 * pages_a_user);
    for sample in stage.ok() {
        let connect = if sample.number == 0 { 10 } else { 0 };
        assert_eq!(sample.response_time(), ms(15 + connect));
        assert_eq!(sample.service_time(), Some(ms(15)));
    }
    assert_eq!(stage.attempts.len(), 20, "persistent connections are used for all requests");
}

#[test]
fn an_open_load_never_waits_for_the_server() {
    let mut scene = Scene::of("{ model = 'open', arrivals = { process = 'constant', rate = '100/s' } }");
    scene.server = Server { mute: true, ..Server::default() };
    let stage = scene.play();
    assert_eq!(stage.samples.len(), 1000);
    for sample in &stage.samples {
        assert_eq!(sample.begun(), Some(sample.due), "an arrival waited");
    }
    assert_eq!(stage.open_most, 1000, "each arrival that finds all users busy brings its own connection");
}

#[test]
fn visitors_of_an_open_load_come_back_on_their_connections() {
    let scene = Scene::of("{ model = 'open', arrivals = { process = 'constant', rate = '100/s' } }");
    let stage = scene.play();
    // 15 ms a reply and a connect of 10 ms for newcomers, arrivals 10 ms apart: three at once at most.
    assert!(stage.attempts.len() <= 3, "{} connections", stage.attempts.len());
    assert_eq!(stage.count(Outcome::Ok), 1000);
}

#[test]
fn arrivals_beyond_the_users_allowed_are_dropped_and_recorded() {
    let mut scene =
        Scene::of("{ model = 'open', arrivals = { process = 'constant', rate = '100/s' }, users-max = 7 }");
    scene.server = Server { mute: true, ..Server::default() };
    scene.length = Duration::from_secs(2);
    let stage = scene.play();
    assert_eq!(stage.count(Outcome::Dropped), 200 - 7);
}

/// Sessions arrive openly; inside one, a page begins a think time after the page before has ended.
#[test]
fn requests_inside_a_session_wait() {
    let scene = Scene::of(
        "{ model = 'hybrid', arrivals = { process = 'constant', rate = '10/s' }, requests = 3, think = '100ms' }",
    );
    let stage = scene.play();
    let mut sessions: std::collections::BTreeMap<u32, Vec<&Sample>> = Default::default();
    for sample in stage.ok() {
        sessions.entry(sample.user).or_default().push(sample);
    }
    assert_eq!(sessions.len(), 100);
    let whole = sessions.values().filter(|pages| pages.len() == 3).count();
    assert!(whole >= 97, "only sessions at the end are cut short: {whole}");
    for pages in sessions.values() {
        for pair in pages.windows(2) {
            assert_eq!(pair[1].due, pair[0].done + ms(100));
        }
    }
}

/// Banga and Druschel 1999, section 4.2: D descriptors make attempts at D/T, whatever the server does.
#[test]
fn overload_attempts_follow_d_over_t() {
    for descriptors in [1, 7, 100, 1000] {
        for server in [
            Server { deaf: true, ..Server::default() },
            Server { mute: true, ..Server::default() },
            Server { refuses: true, ..Server::default() },
            Server::default(),
        ] {
            let deaf = server.deaf;
            let mut scene = Scene::of(&format!(
                "{{ model = 'overload', descriptors = {descriptors}, timeout = '500ms' }}"
            ));
            scene.server = server;
            scene.length = Duration::from_secs(5);
            let stage = scene.play();
            assert_eq!(stage.attempts.len(), descriptors * 10, "D/T for 5 s");
            for (place, at) in stage.attempts.iter().enumerate() {
                let exact = (place as u128 * 500_000_000 / descriptors as u128) as u64;
                assert!(at.as_ns().abs_diff(exact) <= 1, "attempts are spread evenly over T");
            }
            let abandoned = if deaf { descriptors * 10 } else { 0 };
            assert_eq!((stage.abandoned, stage.count(Outcome::ConnectAbandoned)), (abandoned, abandoned));
        }
    }
}

/// The paper's tight loop: an answered attempt is followed by the next at once.
#[test]
fn overload_at_once_adds_what_the_server_answers() {
    let mut scene =
        Scene::of("{ model = 'overload', descriptors = 4, timeout = '500ms', restart = 'at-once' }");
    scene.length = Duration::from_secs(2);
    let stage = scene.play();
    // Each descriptor connects in one round trip of 10 ms.
    assert_eq!(stage.attempts.len(), 4 * 200 - (0..4).map(|n| n * 125 / 10).sum::<usize>());
}

#[test]
fn a_count_of_requests_ends_the_load() {
    for load in ["{ model = 'closed', users = 7 }", "{ model = 'open', arrivals = '400/s' }"] {
        let mut scene = Scene::of(load);
        scene.requests_max = Some(123);
        assert_eq!(scene.play().count(Outcome::Ok), 123, "{load}");
    }
}

/// Two users on three workers ask for what one worker's would: the third worker keeps nothing back.
#[test]
fn a_count_of_requests_is_asked_for_whatever_workers_there_are() {
    for (users, workers) in [(2, 3), (3, 2), (1, 4)] {
        let mut scene = Scene::of(&format!("{{ model = 'closed', users = {users} }}"));
        (scene.length, scene.requests_max) = (Window::BY_COUNT, Some(100));
        let stages = (0..workers).map(|worker| scene.play_share(worker, workers));
        let asked: Vec<usize> = stages.map(|stage| stage.samples.len()).collect();
        assert_eq!(asked.iter().sum::<usize>(), 100, "{users} users: {asked:?}");
    }
}

/// ARCHITECTURE.md, invariants: what a user does belongs to the user, so three workers together do what one
/// does.
#[test]
fn workers_share_a_load_without_changing_it() {
    for load in [
        "{ model = 'closed', users = 11, think = { distribution = 'exponential', mean = '80ms' } }",
        "{ model = 'open', arrivals = '300/s' }",
        "{ model = 'hybrid', arrivals = '30/s', think = { distribution = 'weibull', shape = 0.7, scale = '60ms' } }",
        "{ model = 'overload', descriptors = 10, timeout = '100ms' }",
        "{ model = 'closed', stages = '2s:11,1s:2,0s:7,3s:7', think = { distribution = 'exponential', mean = '80ms' } }",
        "{ model = 'open', stages = '4s:300/s,2s:0/s' }",
        "{ model = 'hybrid', stages = '4s:60/s,2s:0/s', think = '60ms' }",
    ] {
        let mut scene = Scene::of(load);
        scene.policy = toml::from_str("policy = 'one-request'").expect("a policy");
        scene.requests =
            crate::scene::requests("[[request]]\npath='/a'\n[[request]]\npath='/b'\nembedded=['/c', '/d']");
        let life = |sample: &Sample| (sample.due, sample.done, sample.user, sample.request);
        let mut alone: Vec<_> = scene.play().samples.iter().map(life).collect();
        let shares = (0..3).map(|worker| scene.play_share(worker, 3));
        let mut together: Vec<_> =
            shares.flat_map(|stage| stage.samples).map(|sample| life(&sample)).collect();
        alone.sort();
        together.sort();
        assert!(alone.len() > 500, "{load}");
        assert_eq!(alone, together, "{load}");
    }
}

#[test]
fn the_same_seed_plays_the_same_scene() {
    let scene = Scene::of(
        "{ model = 'hybrid', arrivals = '50/s', think = { distribution = 'exponential', mean = '50ms' } }",
    );
    assert_eq!(scene.play().samples, scene.play().samples);
}

/// A dead server is not met with a storm of attempts: a user whose connection failed pauses.
#[test]
fn users_of_a_dead_server_pause() {
    let mut scene = Scene::of("{ model = 'closed', users = 1 }");
    scene.server = Server { refuses: true, ..Server::default() };
    let stage = scene.play();
    // 10 ms to be refused, 100 ms of pause.
    assert_eq!(stage.attempts.len(), 10_000_usize.div_ceil(110));
    assert_eq!(stage.count(Outcome::ConnectRefused), stage.attempts.len());
}

#[test]
fn users_begin_spread_over_the_ramp() {
    let scene = Scene::of("{ model = 'closed', users = 10, think = '1m', ramp = '5s' }");
    let begun: Vec<_> = scene.play().samples.iter().map(|sample| sample.due).collect();
    assert_eq!(begun, (0..10).map(|n| Instant::ZERO + ms(500 * n)).collect::<Vec<_>>());
}

/// Requests that were due and never begun are counted, so that a generator which falls behind is found out.
#[test]
fn load_that_was_never_come_to_is_counted() {
    for load in [
        "{ model = 'open', arrivals = { process = 'constant', rate = '100/s' } }",
        "{ model = 'overload', descriptors = 50, timeout = '500ms' }",
    ] {
        let mut scene = Scene::of(load);
        assert_eq!(came_of(&scene), (1000, 1000, 0), "{load}");
        scene.stuck_from = Instant::from_ns(6_000_000_000);
        assert_eq!(came_of(&scene), (1000, 600, 0), "{load}");
        scene.stuck_from = Instant::MAX;
        scene.requests_max = Some(70);
        assert_eq!(came_of(&scene), (70, 70, 0), "{load}");
    }
}

/// Counts of requests scheduled, begun and dropped; nothing was sent again.
fn came_of(scene: &Scene) -> (u64, u64, u64) {
    let LoadCounts { scheduled, begun, dropped, resent, .. } = scene.play().counts;
    assert_eq!(resent, 0);
    (scheduled, begun, dropped)
}

/// The pages of a walk follow its links, however long it is: here each page links to the next alone, round a
/// ring.
#[test]
fn a_walk_goes_on_from_page_to_page() {
    let objects: Vec<String> =
        (0..100).map(|n| format!(r#"{{"path":"/{n}.html","kind":"html","size":100,"cost":"0s"}}"#)).collect();
    let pages: Vec<String> = (0..100)
        .map(|n| {
            format!(
                r#"{{"object":{n},"weight":1,"embedded":[],"links":[{{"page":{},"weight":1}}]}}"#,
                (n + 1) % 100
            )
        })
        .collect();
    let site = format!(r#"{{"seed":1,"objects":[{}],"pages":[{}]}}"#, objects.join(","), pages.join(","));
    let spec: farfield_traffic::RequestSetSpec =
        toml::from_str("site = 'ring.json'\norder = 'walk'").expect("requests");
    let mut load = |_: &std::path::Path| Ok(site.clone().into_bytes());
    let mut scene = Scene::of("{ model = 'closed', users = 3, think = '1ms' }");
    scene.requests = spec.resolve(&mut load, farfield_base::random::Seed(1)).expect("a ring");
    let stage = scene.play();
    for user in 0..3 {
        let asked: Vec<u32> = stage.samples.iter().filter(|s| s.user == user).map(|s| s.request).collect();
        assert!(
            asked.len() > 300 && asked.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 100),
            "{asked:?}"
        );
    }
}

/// A load by count goes on until all are done, however slow the server is.
#[test]
fn a_load_by_count_has_no_other_end() {
    let mut scene = Scene::of("{ model = 'closed', users = 2 }");
    (scene.length, scene.requests_max) = (Window::BY_COUNT, Some(400));
    scene.server.service = ms(500);
    let stage = scene.play();
    assert_eq!((stage.count(Outcome::Ok), stage.samples.len()), (400, 400));
    assert_eq!((stage.counts.unbegun, stage.counts.given_up), (0, None));
    let last = stage.samples.last().expect("the last").done;
    assert!(last > Instant::ZERO + ms(100_000), "{last:?}");
    // With a length, whichever comes first.
    scene.length = Duration::from_secs(10);
    let stage = scene.play();
    assert!(stage.samples.len() < 50 && stage.counts.unbegun > 350, "{}", stage.counts.unbegun);
    assert_eq!(stage.samples.len() as u64 + stage.counts.unbegun, 400);
}

/// Before a server that is dead it is given up once nothing has come for two time limits of a request; not
/// before one that pauses for less, nor where users think for longer.
#[test]
fn a_load_by_count_is_given_up_where_the_server_is_dead() {
    let mut scene = Scene::of("{ model = 'closed', users = 3 }");
    (scene.length, scene.requests_max) = (Window::BY_COUNT, Some(1000));
    scene.policy.request_timeout = Some(Duration::from_secs(4));
    for server in [
        Server { mute: true, ..Server::default() },
        Server { deaf: true, ..Server::default() },
        Server { refuses: true, ..Server::default() },
    ] {
        scene.server = server;
        let stage = scene.play();
        let last = stage.samples.last().expect("some failed").done;
        assert!(
            (Instant::ZERO + Duration::from_secs(8)..Instant::ZERO + Duration::from_secs(14)).contains(&last)
        );
        assert!(stage.samples.len() < 1000 && stage.count(Outcome::Ok) == 0);
        let silent = stage.counts.given_up.expect("it was given up");
        assert!((Duration::from_secs(8)..Duration::from_secs(14)).contains(&silent), "{silent:?}");
        assert_eq!(stage.samples.len() as u64 + stage.counts.unbegun, 1000);
    }
    // A load with a length is not.
    scene.length = Duration::from_secs(60);
    let stage = scene.play();
    assert_eq!(stage.counts.given_up, None);
    // Users who think for a minute are answered each time.
    let mut scene = Scene::of("{ model = 'closed', users = 1, think = '1m' }");
    (scene.length, scene.requests_max) = (Window::BY_COUNT, Some(20));
    scene.policy.request_timeout = Some(Duration::from_secs(4));
    let stage = scene.play();
    assert_eq!((stage.count(Outcome::Ok), stage.counts.given_up), (20, None));
}
