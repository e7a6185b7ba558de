//! A sweep over configurations of a real server: words as values, a server started anew for each run.

use crate::common::Place;
use crate::common::wan::{find, may_build};
use std::collections::BTreeMap;

const TEST: &str = "two_configurations_are_swept";

/// nginx with keep-alive and without, 20 ms away: each run has its server, and the table of the runs shows
/// what each did with connections. Valid or not, as the machine is busy, it does that.
#[test]
fn two_configurations_are_swept() {
    let Some(nginx) = may_build(TEST).then(|| find(TEST, "nginx")).flatten() else { return };
    let place = Place::new();
    for (name, timeout) in [("keeping", 60), ("closing", 0)] {
        let config = format!(
            "daemon off; worker_processes 1; pid {name}.pid; error_log stderr;
            events {{ }} http {{ access_log off; keepalive_timeout {timeout}; keepalive_requests 1000000;
            server {{ listen 8080; location / {{ return 200 hello; }} }} }}"
        );
        place.write(&format!("{name}.conf"), config);
    }
    let command = |name: &str| {
        let home = place.path("").display().to_string();
        format!("{} -p {home} -e stderr -c {name}.conf", nginx.display())
    };
    let vary = format!("server.command={},{}", command("keeping"), command("closing"));
    let words = "sweep http://10.9.0.1:8080/ -c 4 -d 500ms --warm-up 100ms --rtt 20ms --repeats 1 -q -o swept \
                 --format csv";
    let words: Vec<&str> = words.split_whitespace().chain(["--vary", &vary]).collect();
    let ended = place.farfield_with(&words);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?} {}", ended.code, ended.stderr);
    let mut lines = ended.stdout.lines();
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let rows: Vec<BTreeMap<&str, &str>> =
        lines.map(|line| names.iter().copied().zip(line.split(',')).collect()).collect();
    let number = |row: &BTreeMap<&str, &str>, name: &str| {
        row.get(name).and_then(|cell| cell.parse::<f64>().ok()).unwrap_or_else(|| panic!("{name}: {row:?}"))
    };
    assert!(rows.len() >= 2, "{}", ended.stdout);
    for row in &rows {
        let a_connection = number(row, "connections.requests_mean");
        match row["server.command"].contains("closing.conf") {
            true => assert!(a_connection <= 1.0, "{row:?}"),
            false => assert!(a_connection > 2.0, "{row:?}"),
        }
        assert!(number(row, "steady.times.response.min_ns") >= 20e6, "{row:?}");
    }
}
