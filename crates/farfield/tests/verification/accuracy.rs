//! The table of docs/accuracy.md on times compared with packets: nginx at half of its capacity over sockets,
//! and behind emulated clients, once by the packets at the clients' own interfaces and once by those that
//! the server's kernel saw.
//!
//! Prints errors. How large they are depends on the machine; asserted is what does not: that each request is
//! found in the packets, and that both agree in everything but lateness.

use crate::common::nginx::Nginx;
use crate::common::wan::{DebianServer, Wan, find};
use crate::common::{Ended, Place, skip};
use farfield_verify::{TimeKind, Verification};
use std::fs;
use std::path::Path;

/// The result that the run, or the command, left.
fn result(directory: &Path) -> Verification {
    let text = fs::read_to_string(directory.join("verify.json")).expect("verify.json");
    serde_json::from_str(&text).expect("a verification")
}

/// Prints the rows of a table, and asserts that nothing but lateness was found.
#[track_caller]
fn show(what: &str, found: &Verification) {
    println!("{what}: {} requests", found.matched.requests);
    for errors in found.times.iter().filter(|errors| errors.pairs > 0) {
        let us = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{:.2}", ns / 1e3));
        println!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            errors.time.name(),
            us(errors.mean_absolute_ns),
            us(errors.max_absolute_ns.map(|ns| ns as f64)),
            us(errors.mean_ns),
            us(errors.beyond_path_ns),
            us(errors.packets.mean_ns),
            errors.distance.map_or("-".to_owned(), |distance| format!("{distance:.4}")),
        );
    }
    let clocks = found.clocks.estimate.expect("matched requests");
    println!("clocks apart by {:.2} ± {:.2} µs", clocks.offset_ns / 1e3, clocks.offset_error_ns / 1e3);
    let late =
        |name: &str| name.ends_with("-times") && name != "rounded-times" || name.starts_with("arrivals-");
    let wrong: Vec<_> = found.findings.iter().filter(|f| f.disagrees && !late(&f.name)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(found.matched.requests > 100, "{:?}", found.matched);
}

#[test]
fn times_over_sockets() {
    let test = "times_over_sockets";
    let Some(program) = find(test, "nginx") else { return };
    let place = Place::new();
    place.write("www/1k", vec![b'x'; 1 << 10]);
    let server = Nginx::start(&program, &place, "access_log off;", "root HOME/www;");
    let url = format!("http://{}/1k", server.address);
    let full = place.run(&format!("{url} -c 32 -d 2s")).exits(0).summary();
    let capacity = full.steady.rates.expect("a measured part").succeeded_per_s;
    let half = (capacity / 2.0) as u64;
    println!("capacity {capacity:.0} requests/s, offered {half}/s");
    for policy in ["persistent", "one-request"] {
        let rate = if policy == "persistent" { half } else { half / 4 };
        let run = place.run(&format!("{url} -R {rate} --policy {policy} --capture -d 5s"));
        if run.code == Some(1) && !rustix::process::geteuid().is_root() {
            return skip(test, "no permission to capture");
        }
        show(&format!("sockets, {policy}, {rate}/s"), &result(&run.directory));
        cost(&run);
    }
}

/// Prints what capturing took.
fn cost(run: &Ended) {
    let summary = run.summary();
    for capture in &summary.captures {
        println!(
            "{}: {} packets, {} lost, {:.2} s",
            capture.file,
            capture.packets,
            capture.lost,
            capture.cpu_ns as f64 / 1e9
        );
    }
}

#[test]
fn times_of_emulated_clients() {
    let test = "times_of_emulated_clients";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let scenario = "
        [load]\nmodel = 'open'\narrivals = '400/s'\n\
        [connections]\npolicy = 'one-request'\n\
        [[requests.request]]\npath = '/1k'\n\
        [run]\nwarm-up = '1s'\nduration = '5s'\n\
        [network]\nclients = 20\nrtt = '10ms'\n\
        [capture]\nkernel = true\n\
        clients = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]\n";
    let run = wan.run(scenario, "");
    let found = result(&run.directory);
    show("emulated, at the clients", &found);
    // Those of TLS and of events have no pair.
    let is_there = |time: TimeKind| time != TimeKind::Tls && !time.is_of_events();
    let mut times = found.times.iter().filter(|errors| is_there(errors.time));
    assert!(times.all(|errors| errors.max_absolute_ns == Some(0)), "{:?}", found.times);
    cost(&run);
    let directory = run.directory.display();
    let kernel = run.directory.join("capture-kernel.pcapng");
    if kernel.exists() {
        wan.place.farfield(&format!("verify {directory} --capture {}", kernel.display()));
        let found = result(&run.directory);
        assert!(found.capture.at_gateway && found.clocks.same, "{:?}", found.capture);
        show("emulated, by the server's kernel", &found);
        let service =
            found.times.iter().find(|errors| errors.time == TimeKind::Service).expect("service times");
        assert!(service.beyond_path_ns.is_some());
    }
}
