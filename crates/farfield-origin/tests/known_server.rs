//! The knobs that make a known server, and its life. Times are bounded from below only: how late a machine
//! is cannot be asserted, how early the origin may be can.

#![expect(clippy::disallowed_methods, reason = "tests of a real server read a real clock")]

mod client;

use client::{Client, start};
use farfield_base::{Duration, Share};
use farfield_origin::{Origin, OriginConfig, OriginError};
use std::num::NonZeroU32;
use std::thread;
use std::time::Instant;

fn at_most(count: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(count)
}

fn elapsed(since: Instant) -> Duration {
    Duration::from_ns(since.elapsed().as_nanos() as u64)
}

#[test]
fn a_delay_lasts_at_least_as_long_as_asked() {
    let origin = start(OriginConfig::default());
    let mut client = Client::connect(origin.address());
    for (path, delay) in [("/delay/30", 30_000), ("/delay/0.5", 500), ("/delay/1500us", 1500)] {
        let asked = Instant::now();
        assert_eq!(client.get(path).status, 200);
        assert!(elapsed(asked) >= Duration::from_us(delay), "{path}");
    }
}

/// One server, 10 ms a request, five requests at once: the k-th reply comes no sooner than after k services.
#[test]
fn one_server_serves_one_at_a_time() {
    let service_time = Duration::from_ms(10);
    let origin = start(OriginConfig { service_time, servers: at_most(1), ..OriginConfig::default() });
    let begun = Instant::now();
    let mut replied: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..5)
            .map(|_| {
                scope.spawn(|| {
                    Client::connect(origin.address()).get("/bytes/1");
                    elapsed(begun)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    replied.sort_unstable();
    for (replied, k) in replied.iter().zip(1..) {
        assert!(*replied >= service_time.times(k), "reply {k} after {replied}");
    }
}

/// Without a limit, all are served at once: were it one after the other, five would take 10 s.
#[test]
fn without_a_limit_all_are_served_at_once() {
    let service_time = Duration::from_secs(2);
    let origin = start(OriginConfig { service_time, ..OriginConfig::default() });
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| Client::connect(origin.address()).get("/bytes/1"));
        }
    });
    assert!(elapsed(begun) >= service_time);
    assert!(elapsed(begun) < service_time.times(4));
}

/// Numbers of the requests that fail, of 100 on one connection.
fn failed(seed: u64, rate: f64) -> Vec<usize> {
    let error_rate = Share::new(rate).unwrap();
    let origin = start(OriginConfig { seed, error_rate, ..OriginConfig::default() });
    let mut client = Client::connect(origin.address());
    let statuses: Vec<u16> = (0..100).map(|_| client.get("/bytes/1").status).collect();
    assert!(statuses.iter().all(|status| [200, 503].contains(status)));
    let failed: Vec<usize> = (0..100).filter(|number| statuses[*number] == 503).collect();
    assert_eq!(origin.served().errors, failed.len() as u64);
    failed
}

#[test]
fn the_seed_says_which_requests_fail() {
    assert!(failed(1, 0.0).is_empty());
    assert_eq!(failed(1, 1.0), (0..100).collect::<Vec<_>>());
    let third = failed(1, 0.3);
    assert!((10..50).contains(&third.len()), "{third:?}");
    assert_eq!(third, failed(1, 0.3));
    assert_ne!(third, failed(2, 0.3));
}

#[test]
fn connections_beyond_the_limit_wait_until_one_closes() {
    let origin = start(OriginConfig { accept_limit: at_most(1), ..OriginConfig::default() });
    let mut first = Client::connect(origin.address());
    assert_eq!(first.get("/bytes/1").status, 200);

    let mut second = Client::connect(origin.address());
    second.send("GET /bytes/2 HTTP/1.1\r\nHost: origin\r\n\r\n");
    assert!(second.hears_nothing_for(std::time::Duration::from_millis(100)));
    assert_eq!((origin.served().connections, origin.served().requests), (1, 1));
    assert_eq!(first.get("/bytes/1").status, 200);

    drop(first);
    assert_eq!(second.read_reply().body.len(), 2);
    assert_eq!((origin.served().connections, origin.served().connections_open), (2, 1));
}

#[test]
fn the_last_reply_of_a_connection_says_so() {
    let origin = start(OriginConfig { keep_alive_requests: at_most(3), ..OriginConfig::default() });
    let mut client = Client::connect(origin.address());
    let failed: Vec<bool> =
        (0..3).map(|_| client.get("/bytes/1").header("connection") == Some("close")).collect();
    assert_eq!(failed, [false, false, true]);
    assert!(client.is_closed());
}

#[test]
fn an_idle_connection_is_closed_after_the_timeout_and_a_busy_one_is_not() {
    let timeout = Duration::from_ms(50);
    let origin = start(OriginConfig { keep_alive_timeout: Some(timeout), ..OriginConfig::default() });
    let mut client = Client::connect(origin.address());
    assert_eq!(client.get("/delay/150").status, 200);
    let idle_before = Instant::now();
    assert_eq!(client.get("/bytes/1").status, 200);
    assert!(client.is_closed());
    assert!(elapsed(idle_before) >= timeout);
}

#[test]
fn a_timeout_of_zero_closes_after_every_reply() {
    let origin = start(OriginConfig { keep_alive_timeout: Some(Duration::ZERO), ..OriginConfig::default() });
    let mut client = Client::connect(origin.address());
    assert_eq!(client.get("/bytes/1").header("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn threads_take_connections_in_turn_and_share_the_queue() {
    let service_time = Duration::from_ms(2);
    let threads = NonZeroU32::new(3).unwrap();
    let origin =
        start(OriginConfig { threads, service_time, servers: at_most(1), ..OriginConfig::default() });
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut client = Client::connect(origin.address());
                assert!((0..5).all(|_| client.get("/bytes/100").body.len() == 100));
            });
        }
    });
    assert!(elapsed(begun) >= service_time.times(30));
    let counters = origin.served();
    assert_eq!((counters.connections, counters.requests, counters.answered), (6, 30, 30));
}

#[test]
fn serves_over_ipv6_where_the_machine_has_it() {
    let bind = "[::1]:0".parse().unwrap();
    match Origin::start(OriginConfig { bind, ..OriginConfig::default() }) {
        Ok(origin) => assert_eq!(Client::connect(origin.address()).get("/bytes/6").body.len(), 6),
        Err(OriginError::Listen { source, .. }) => {
            let none = [std::io::ErrorKind::AddrNotAvailable, std::io::ErrorKind::Unsupported];
            // EAFNOSUPPORT (97 on Linux) has no kind of its own.
            assert!(none.contains(&source.kind()) || source.raw_os_error() == Some(97), "{source}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn stopping_frees_the_port_whatever_is_in_service() {
    let first = start(OriginConfig::default());
    let bind = first.address();
    let mut idle = Client::connect(bind);
    assert_eq!(idle.get("/bytes/1").status, 200);
    let mut waiting = Client::connect(bind);
    waiting.send("GET /delay/1h HTTP/1.1\r\nHost: origin\r\n\r\n");

    first.stop();
    assert!(idle.is_closed());
    assert!(waiting.is_closed());
    assert_eq!(first.served().connections_open, 0);
    let again = start(OriginConfig { bind, ..OriginConfig::default() });
    assert_eq!(Client::connect(again.address()).get("/bytes/1").status, 200);
    first.stop();
}

#[test]
fn waiting_ends_when_it_is_stopped() {
    let origin = start(OriginConfig { threads: NonZeroU32::new(2).unwrap(), ..OriginConfig::default() });
    thread::scope(|scope| {
        let waiters = [scope.spawn(|| origin.wait()), scope.spawn(|| origin.wait())];
        assert_eq!(Client::connect(origin.address()).get("/bytes/1").status, 200);
        origin.stop();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_taken_port_is_reported_with_its_remedy() {
    let origin = start(OriginConfig::default());
    let error =
        Origin::start(OriginConfig { bind: origin.address(), ..OriginConfig::default() }).unwrap_err();
    let sentence = error.to_string();
    assert!(sentence.contains(&origin.address().to_string()) && sentence.contains("port 0"), "{sentence}");
}
