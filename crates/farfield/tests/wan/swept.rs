//! A sweep over configurations of a real server: words as values, a server started anew for each run.

use crate::common::Place;
use crate::common::wan::{find, may_build};
use farfield_measure::Summary;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

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

/// Servers by name, 20 ms away: each serves the files that are asked for, keeps connections as it should,
/// and nothing of it is left behind. Valid or not, as the machine is busy, it does that.
#[test]
fn servers_by_name_serve_what_is_asked_for() {
    const TEST: &str = "servers_by_name_serve_what_is_asked_for";
    let there = may_build(TEST) && find(TEST, "nginx").is_some() && find(TEST, "apache2").is_some();
    if !there {
        return;
    }
    let place = Place::new();
    let temporary = temporary_folder(&place);
    let names = ["@nginx", "@nginx keep-alive=0s", "@apache", "@apache-prefork processes=9"];
    for (number, name) in names.into_iter().enumerate() {
        let words = "run http://10.9.0.1:8080/bytes/3000 -c 4 -d 2s --warm-up 100ms --rtt 20ms -q";
        let (command, out) = (format!("--set=server.command={name}"), format!("-ran-{number}"));
        let out = format!("--out={}", place.path(&out[1..]).display());
        let words: Vec<&str> = words.split_whitespace().chain([command.as_str(), out.as_str()]).collect();
        let mut farfield = std::process::Command::new(env!("CARGO_BIN_EXE_farfield"));
        farfield.env("TMPDIR", &temporary);
        let ended = place.begin_by(farfield, &words).ended();
        assert!(matches!(ended.code, Some(0 | 3)), "{name}: {:?} {}", ended.code, ended.stderr);
        let summary = std::fs::read_to_string(place.path(&format!("ran-{number}/summary.json")));
        let summary = Summary::from_json(&summary.expect("a summary")).expect("a summary");
        let rates = summary.steady.rates.expect("a measured part");
        let body = rates.body_bytes_per_s / rates.succeeded_per_s;
        assert!((body - 3000.0).abs() < 1.0, "{name}: {body}");
        let closes = name.ends_with("=0s");
        assert_eq!(summary.connections.requests_mean <= Some(1.0), closes, "{name}");
    }
    assert_eq!(std::fs::read_dir(&temporary).expect("own folder").count(), 0, "folders are left");
}

/// A folder for temporary files below the place, which workers of Apache may read, who are another user's.
fn temporary_folder(place: &Place) -> PathBuf {
    let temporary = place.path("temporary");
    std::fs::create_dir(&temporary).expect("own folder");
    for folder in [place.path(""), temporary.clone()] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder, open).expect("own folder");
    }
    temporary
}

/// The capacity of nginx and of Apache, held to a twentieth of a processor and 20 ms away: whatever the
/// machine lets the search find in ten seconds, its trials are runs before that server. With more time it
/// goes on from there, with the same trials first and as long as they were.
#[test]
fn the_capacity_of_real_servers_is_searched_for() {
    const TEST: &str = "the_capacity_of_real_servers_is_searched_for";
    let there = may_build(TEST) && find(TEST, "nginx").is_some() && find(TEST, "apache2").is_some();
    if !there {
        return;
    }
    let place = Place::new();
    let temporary = temporary_folder(&place);
    let searched = |name: &str, more: &str| -> Value {
        let words = format!(
            "capacity http://10.9.0.1:8080/bytes/3000 --plane emulated --rtt 20ms --slo p99<300ms --set=server.cpu=0.05 \
             --set=server.command={name} --out={}{name} --format json -q {more}",
            place.path("trials").display()
        );
        let mut farfield = std::process::Command::new(env!("CARGO_BIN_EXE_farfield"));
        farfield.env("TMPDIR", &temporary);
        let words: Vec<&str> = words.split_whitespace().collect();
        let ended = place.begin_by(farfield, &words).ended();
        assert!(matches!(ended.code, Some(0 | 3)), "{name}: {:?} {}", ended.code, ended.stderr);
        serde_json::from_str(&ended.stdout).expect("JSON")
    };
    let trials = |report: &Value| report["trials"].as_array().cloned().expect("trials");
    let apache = searched("@apache", "--budget 10s");
    let first = searched("@nginx", "--budget 10s");
    for trial in trials(&apache).iter().chain(&trials(&first)) {
        let directory = trial["observed"]["directory"].as_str().expect("a directory");
        let summary = std::fs::read_to_string(place.path(directory).join("summary.json"));
        let summary = Summary::from_json(&summary.expect("a summary")).expect("a summary");
        assert!(summary.steady.requests > 0, "{directory}");
    }
    assert_eq!(first["length_ns"], 10_000_000_000_u64 / 12, "a twelfth of the budget");
    let more = searched("@nginx", "--budget 16s");
    assert_eq!(more["length_ns"], first["length_ns"]);
    let (first, more) = (trials(&first), trials(&more));
    assert!(more.len() >= first.len() && first.len() >= 3, "{} and {} trials", first.len(), more.len());
    assert_eq!(more[..first.len()], first[..]);
}

/// Settings, TLS and names that a server by name does not have are refused in a line, before anything runs.
#[test]
fn what_a_server_by_name_cannot_do_is_refused() {
    let place = Place::new();
    for (target, more, part) in [
        ("http://a/", "server.command=@ngnix", "is no server that farfield knows"),
        ("http://a/", "server.command=@nginx workers=2", "is no setting of @nginx"),
        ("https://a/", "server.command=@nginx", "speaks HTTP/1 in cleartext"),
        ("http://a/", "server.cpu-of=all", "write `server.cpu` as well"),
    ] {
        let set = format!("--set={more}");
        let ended = place.farfield_with(&[
            "run",
            target,
            "--plane",
            "emulated",
            "--show-scenario",
            "--set=server.command=@nginx",
            &set,
        ]);
        assert_eq!(ended.code, Some(2), "{more}: {}", ended.stderr);
        assert!(ended.stderr.contains(part), "{more}: {}", ended.stderr);
    }
}
