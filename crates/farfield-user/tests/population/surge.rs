//! SURGE's user equivalents (Barford and Crovella 1998): when they are ON and OFF.

use crate::scene::{Scene, Server, Stage, ms};
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Duration, Instant, Sample, Window};
use farfield_traffic::distribution::{Distribution, TimesSpec};

const PAGE: &str = "[[request]]\npath = '/'\nembedded = ['/1', '/2', '/3']";
const ACTIVE: &str = "{ distribution = 'weibull', shape = 0.382, scale = '1.46s' }";
const INACTIVE: &str = "{ distribution = 'pareto', shape = 1.5, scale = '1s' }";

/// The stage's server takes 15 ms for a reply, and a connection takes 10 ms.
const REPLY: Duration = Duration::from_ms(15);
const CONNECT: Duration = Duration::from_ms(10);

fn distribution(text: &str) -> Distribution {
    #[derive(serde::Deserialize)]
    struct Document {
        times: TimesSpec,
    }
    let document: Document = toml::from_str(&format!("times = {text}")).expect("a distribution");
    document.times.resolve(&mut |_| unreachable!("no files")).expect("a distribution")
}

fn surge(users: u32, policy: &str) -> Scene {
    let load = format!("{{ model = 'closed', users = {users}, think = {INACTIVE}, active-off = {ACTIVE} }}");
    let mut scene = Scene::of(&load);
    scene.policy = toml::from_str(policy).expect("a policy");
    scene.requests = crate::scene::requests(&format!("order = 'in-order'\n{PAGE}"));
    scene.length = Duration::from_secs(2_000);
    scene
}

fn of_user(stage: &Stage, user: u32) -> Vec<Sample> {
    stage.samples.iter().filter(|sample| sample.user == user).copied().collect()
}

fn draw(times: &Distribution, rng: &mut Stream) -> Duration {
    times.sample_duration(rng)
}

/// Each request is due when the user's own stream says, to the nanosecond: an active OFF time after each of a
/// page's requests but the last, an inactive one after that.
#[test]
fn on_and_off_begin_exactly_as_drawn() {
    let scene = surge(4, "policy = 'one-request'");
    let stage = scene.play();
    let (active, inactive) = (distribution(ACTIVE), distribution(INACTIVE));
    for user in 0..4 {
        let mut rng = Seed(1).stream(Purpose::User, u64::from(user));
        let samples = of_user(&stage, user);
        assert!(samples.len() > 100, "user {user} asked {} times", samples.len());
        let mut due = Instant::ZERO;
        for (place, sample) in samples.iter().enumerate() {
            assert_eq!((sample.due, sample.begun()), (due, Some(due)), "user {user}, request {place}");
            assert_eq!(sample.request as usize, place % 4);
            let done = due + CONNECT + REPLY;
            if done < Instant::ZERO + scene.length {
                assert_eq!(sample.done, done);
            }
            due = done + draw(if place % 4 < 3 { &active } else { &inactive }, &mut rng);
        }
        assert!(due >= Instant::ZERO + scene.length, "user {user} stopped at {due:?}");
    }
}

/// Without an inactive OFF time the page follows at once, as WASP's users do (Nahum et al. 2001, section
/// 3.3).
#[test]
fn without_think_time_only_active_off_times_are_left() {
    let mut scene = Scene::of("{ model = 'closed', users = 1, active-off = '100ms' }");
    scene.requests = crate::scene::requests(PAGE);
    let stage = scene.play();
    let cycle = REPLY.times(4) + ms(300);
    for (place, sample) in stage.samples.iter().enumerate() {
        let (page, part) = (place as u64 / 4, place as u64 % 4);
        let begin = Instant::ZERO + cycle.times(page) + if page > 0 { CONNECT } else { Duration::ZERO };
        let connect = if page == 0 && part > 0 { CONNECT } else { Duration::ZERO };
        assert_eq!(sample.due, begin + connect + (REPLY + ms(100)).times(part));
    }
    assert_eq!(stage.samples.len(), 27 * 4 + 3, "the 28th page is cut short 9960 ms after the begin");
}

/// Renewal reward: a user that embeds E objects completes (1 + E) / (R₀ + E (A + R) + Z) a second, A and Z
/// being the means of its OFF times. Within five standard errors of so many cycles, and the two at the ends.
#[test]
fn the_rate_of_a_user_is_that_of_its_mean_times() {
    let (users, seconds, embedded) = (100, 10_000, 3.0);
    let mut scene = surge(users, "");
    let think = "{ distribution = 'pareto', shape = 3.5, scale = '1s' }";
    let load = format!("{{ model = 'closed', users = {users}, think = {think}, active-off = {ACTIVE} }}");
    scene.load = Scene::of(&load).load;
    scene.length = Duration::from_secs(seconds);
    let completed = scene.play().ok().count() as f64;
    // Weibull's mean is a Γ(1 + 1/k), and Γ(1 + 1/0.382) = 3.7931; its second moment a² Γ(1 + 2/k), Γ(6.2356)
    // = 180.26.
    let (mean, second) = (1.46 * 3.793_1, 1.46 * 1.46 * 180.26);
    let variance = second - mean * mean;
    // Pareto's are α / (α - 1), and α / ((α - 1)² (α - 2)).
    let (think_mean, think_variance) = (3.5 / 2.5, 3.5 / (2.5 * 2.5 * 1.5));
    let cycle = 0.015 * (1.0 + embedded) + embedded * mean + think_mean;
    let cycles = f64::from(users) * seconds as f64 / cycle;
    let relative = (embedded * variance + think_variance).sqrt() / cycle / cycles.sqrt();
    let expected = (1.0 + embedded) * cycles;
    assert!(
        (completed / expected - 1.0).abs() < 5.0 * relative + 2.0 * cycle / seconds as f64,
        "{completed} requests, and {expected} are to be expected, within {:.2} %",
        100.0 * relative
    );
    assert!(relative < 0.01);
}

/// Each of a user's connections takes OFF times by itself: six at once behind the page's own request, and
/// then each after what it carried.
#[test]
fn each_connection_takes_times_of_its_own() {
    let mut scene = Scene::of("{ model = 'closed', users = 1, active-off = '100ms' }");
    scene.policy = toml::from_str("parallel = 6").expect("a policy");
    scene.requests = crate::scene::requests(
        "[[request]]\npath = '/'\nembedded = ['/1','/2','/3','/4','/5','/6','/7','/8','/9','/10']",
    );
    let stage = scene.play();
    let page = &stage.samples[..11];
    let main = page[0].done;
    let late: Vec<u64> = page[1..].iter().map(|sample| sample.due.since(main).as_ns() / 1_000_000).collect();
    // One connection is open, and its request ends a round trip before those of the five others.
    assert_eq!(late, [100, 100, 100, 100, 100, 100, 215, 225, 225, 225]);
    assert!(page.iter().all(|sample| sample.begun() == Some(sample.due)));
    assert_eq!(stage.open_most, 6);
}

/// A redirection is no embedded object; those that are found while the page comes have OFF times where there
/// is room.
#[test]
fn sessions_wait_before_what_their_pages_embed() {
    let session = "page-load = 'browser'\n[[state]]\nname = 'a'\npath = '/moved'";
    let mut scene =
        Scene::of("{ model = 'closed', users = 1, active-off = '100ms', think = '1s' }").session(session);
    scene.server = Server {
        script: Some(|request| {
            let body = "<img src=/1><img src=/2>";
            match request.split(' ').nth(1) {
                Some("/moved") => {
                    "HTTP/1.1 302 Found\r\nLocation: /page\r\nContent-Length: 0\r\n\r\n".to_owned()
                }
                Some("/page") => format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ),
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
            }
        }),
        ..Server::default()
    };
    let stage = scene.play();
    let dues: Vec<u64> = stage.samples[..4].iter().map(|sample| sample.due.as_ns() / 1_000_000).collect();
    assert_eq!(dues, [0, 25, 140, 255]);
    assert_eq!(stage.samples[4].due.since(stage.samples[3].done), Duration::from_secs(1));
}

/// Pages that are held back are neither in the system, nor forgotten by a load that ends after a count of
/// requests.
#[test]
fn pages_that_were_begun_are_finished() {
    let mut scene = Scene::of("{ model = 'closed', users = 3, active-off = '300ms' }");
    scene.requests = crate::scene::requests(PAGE);
    scene.requests_max = Some(12);
    let stage = scene.play();
    assert_eq!(stage.ok().count(), 12);
    scene.requests_max = None;
    scene.length = ms(700);
    let cut = scene.play();
    assert!(cut.samples.iter().all(|sample| sample.due < Instant::ZERO + ms(700)));
    assert_eq!(cut.samples.len(), 3 * 3, "the page, and what was due 325 and 640 ms after its begin");
}

/// Three workers do what one does, whatever the connections.
#[test]
fn workers_share_user_equivalents_without_changing_them() {
    for policy in ["policy = 'one-request'", "parallel = 2", "policy = 'pipelined'\npipeline-depth = 2"] {
        for model in
            ["model = 'closed', users = 11, ramp = '1s'", "model = 'hybrid', arrivals = '2/s', requests = 4"]
        {
            let mut scene = Scene::of(&format!("{{ {model}, think = {INACTIVE}, active-off = {ACTIVE} }}"));
            scene.policy = toml::from_str(policy).expect("a policy");
            scene.requests = crate::scene::requests(PAGE);
            scene.length = Duration::from_secs(200);
            let life = |sample: &Sample| (sample.due, sample.done, sample.user, sample.request);
            let mut alone: Vec<_> = scene.play().samples.iter().map(life).collect();
            let shares = (0..3).flat_map(|worker| scene.play_share(worker, 3).samples);
            let mut together: Vec<_> = shares.map(|sample| life(&sample)).collect();
            alone.sort();
            together.sort();
            assert!(alone.len() > 400, "{model}, {policy}: {}", alone.len());
            assert_eq!(alone, together, "{model}, {policy}");
        }
    }
}

/// A page that takes its OFF times is one page, timed from its first request to its last.
#[test]
fn a_page_ends_with_its_last_object() {
    let scene = surge(2, "");
    let stage = scene.play();
    let window = Window { measure_from: Instant::ZERO, measure_to: Instant::ZERO + scene.length };
    for user in 0..2 {
        for (place, sample) in of_user(&stage, user).iter().enumerate() {
            if window.contains(sample.done) {
                assert_eq!(sample.page.ends(), place % 4 == 3, "request {place}");
            }
        }
    }
}
