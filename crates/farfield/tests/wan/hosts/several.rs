//! A page on three hosts across the emulated plane: each is at a place of its own in the network.

use super::programs::{asked_in, nginx_with};
use crate::common::wan::{DebianServer, Wan};
use farfield_base::{HostNumber, Outcome, Sample};

/// A page, whose objects are on two hosts that are further away than its own, on two shards: each host's log
/// has the samples of that host, from the addresses of the same clients, and `verify` agrees with packets.
#[test]
fn a_page_is_on_three_hosts() {
    let test = "a_page_is_on_three_hosts";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let config = wan.read("server.conf");
    for name in ["b", "c"] {
        let own = config.replace("/access.log", &format!("/{name}.log"));
        wan.place.write(&format!("{name}.conf"), own.replace("/pid", &format!("/{name}.pid")));
    }
    let [a, b, c] = ["server.conf", "b.conf", "c.conf"].map(|config| nginx_with(&wan, config));
    let scenario = format!(
        "target = 'http://shop.test/'
        server.command = {a}
        server.ready = 'tcp:80'
        thresholds = ['errors{{api}}<1%']
        [load]\nmodel = 'closed'\nusers = 12\nthink = '150ms'
        [connections]\nparallel = 2
        [[host]]\nname = 'api'\nurl = 'http://api.shop.test/'\nserver = 'b'
        [[host]]\nurl = 'http://cdn.test/'\nserver = 'c'
        [[requests.request]]\npath = '/4k'
        embedded = ['http://api.shop.test/1k', 'http://cdn.test/1k', '/1k', 'http://cdn.test/4k']
        [run]\nwarm-up = '0s'\nduration = '4s'
        [network]\nshards = 2
        [[network.server]]\nname = 'b'\nrtt = '20ms'\ncommand = {b}
        [[network.server]]\nname = 'c'\nrtt = '60ms'\ncommand = {c}
        [[network.class]]\nname = 'near'\nrtt = '20ms'
        [[network.class]]\nname = 'far'\nrtt = '80ms'\n",
    );
    let ended = wan.begin_without_server(&scenario, "--capture").ended().exits(0);
    let (summary, samples) = (ended.summary(), ended.samples());
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok), "{samples:?}");
    let names: Vec<&str> = summary.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["target", "api", "cdn.test"]);
    for (number, log) in ["access.log", "b.log", "c.log"].iter().enumerate() {
        let own: Vec<&Sample> =
            samples.iter().filter(|sample| sample.host == HostNumber::at(number)).collect();
        let asked = asked_in(&wan, log);
        assert!(own.len() > 50, "{log}: {}", own.len());
        assert_eq!(asked.len(), own.len(), "{log}");
        let from = |users: Vec<u32>| users.into_iter().collect::<std::collections::BTreeSet<u32>>().len();
        let addresses: std::collections::BTreeSet<&str> = asked.iter().map(|(who, _)| &**who).collect();
        assert_eq!(addresses.len(), from(own.iter().map(|sample| sample.user).collect()), "{log}");
        // Each host's own distance, behind that of the class.
        for (class, path_ms) in [(0, 20.0), (1, 80.0)] {
            let of_class = own.iter().filter(|sample| sample.class == class);
            let least = of_class.filter_map(|sample| sample.service_time()).min().expect("replies");
            let (least, expected) = (least.as_secs_f64() * 1e3, path_ms + [0.0, 20.0, 60.0][number]);
            assert!((expected..expected + 15.0).contains(&least), "{log}: {least} ms, class {class}");
        }
        // Objects of a page may be due behind the end, while the run drains.
        let measured = own.iter().filter(|sample| sample.due.as_secs_f64() < 4.0).count() as u64;
        assert_eq!(summary.hosts[number].steady.requests, measured, "{log}");
        assert!(measured > 50, "{log}: {measured}");
    }
    let verified = wan.place.farfield(&format!("verify {}", ended.directory.display())).exits(0);
    assert!(verified.stdout.contains("AGREES"), "{}", verified.stdout);
}

/// Models are hosts as well: users ask a model beside a real server, over paths of their own.
#[test]
fn a_model_is_a_host() {
    let test = "a_model_is_a_host";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let scenario = "
        [load]\nmodel = 'closed'\nusers = 4\nthink = '100ms'
        [[host]]\nname = 'api'\nurl = 'http://api/'\nserver = 'm'
        [[session.state]]\nname = 'home'\npath = '/1k'
        [[session.state]]\nname = 'call'\npath = 'http://api/v1/${user}'
        [run]\nwarm-up = '0s'\nduration = '3s'
        [network]\nrtt = '20ms'\nclients = 4
        [[network.server]]\nname = 'm'\nrtt = '30ms'\nmodel = { service-time = '10ms', reply-size = '300 B' }\n";
    let ended = wan.run(scenario, "").exits(0);
    let samples = ended.samples();
    let of_model: Vec<&Sample> = samples.iter().filter(|sample| sample.host != HostNumber::TARGET).collect();
    assert!(of_model.len() > 20 && of_model.len().abs_diff(samples.len() / 2) < 8, "{}", of_model.len());
    assert!(of_model.iter().all(|sample| sample.outcome == Outcome::Ok && sample.body_bytes == 300));
    let least = of_model.iter().filter_map(|sample| sample.service_time()).min().expect("replies");
    assert!((60.0..75.0).contains(&(least.as_secs_f64() * 1e3)), "{least}");
    assert_eq!(asked_in(&wan, "access.log").len(), samples.len() - of_model.len());
}
