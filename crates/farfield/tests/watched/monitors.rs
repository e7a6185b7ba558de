//! Monitoring of servers: real servers that run out of something, found and named; and monitors whose target
//! is missing, forbidden or gone.
//!
//! A busy machine slows all of this and changes none of it: what is checked are counts, limits and causes.

use crate::common::wan::{DebianServer, Wan};
use crate::common::{Ended, Place, Process, Signal, poll, skip};
use farfield_measure::Bottleneck;
use farfield_measure::bottleneck::BottleneckCause;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// A row of `monitors.parquet`.
#[derive(Debug, Clone)]
struct Row {
    second: u64,
    at_ns: u64,
    source: String,
    tier: String,
    name: String,
    pid: Option<u64>,
    metric: String,
    value: f64,
}

/// All rows of the file in `directory`.
fn rows(directory: &Path) -> Vec<Row> {
    let file = File::open(directory.join("monitors.parquet")).expect("monitors.parquet");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let read = |row: parquet::record::Row| Row {
        second: row.get_ulong(0).expect("second"),
        at_ns: row.get_ulong(1).expect("at_ns"),
        source: row.get_string(2).expect("source").clone(),
        tier: row.get_string(3).expect("tier").clone(),
        name: row.get_string(4).expect("name").clone(),
        pid: row.get_ulong(5).ok(),
        metric: row.get_string(6).expect("metric").clone(),
        value: row.get_double(7).expect("value"),
    };
    reader.get_row_iter(None).expect("rows").map(|row| read(row.expect("a row"))).collect()
}

/// Values of a metric of a source.
fn values(rows: &[Row], source: &str, metric: &str) -> Vec<f64> {
    let wanted = |row: &&Row| row.source == source && row.metric == metric;
    rows.iter().filter(wanted).map(|row| row.value).collect()
}

fn bottleneck(ended: &Ended) -> Bottleneck {
    ended.summary().bottleneck.unwrap_or_else(|| panic!("nothing was read: {}", ended.stdout))
}

const FORTY_USERS: &str = "
[load]
model = 'closed'
users = 40
think = '200ms'
[run]
warm-up = '1s'
duration = '5s'
drain = '1s'
unfinished = 'ignore'
[network]
clients = 40
rtt = '1ms'
[[requests.request]]
path = '/1k'
";

/// Four processes, each held by the user who came first: the others wait to be accepted, and the processor
/// idles. As the study's Apache with its MaxRequestWorkers.
#[test]
fn apache_runs_out_of_workers() {
    let test = "apache_runs_out_of_workers";
    let few = |config: String| {
        let config = config.replace("MaxRequestWorkers 256", "MaxRequestWorkers 4\nServerLimit 4");
        let config = config.replace("StartServers 128", "StartServers 4");
        let config = config.replace("MinSpareServers 8", "MinSpareServers 1");
        config.replace("KeepAliveTimeout 100ms", "KeepAliveTimeout 60")
    };
    let Some(wan) = Wan::configured(test, DebianServer::Apache, few) else { return };
    let ended = wan.run(FORTY_USERS, "--set verdict.succeeded=0");
    let found = bottleneck(&ended);
    assert_eq!(found.first, Some(BottleneckCause::Workers), "{found:#?}");
    // Four workers, and the process that starts them.
    let words = "the server's 5 processes took no more connections from second ";
    assert!(found.in_words.starts_with(words), "{}", found.in_words);
    assert!(ended.stdout.contains("bottleneck  the server's 5 processes"), "{}", ended.stdout);
    let rows = rows(&ended.directory);
    // All but the four that are served.
    let waiting = values(&rows, "listener", "accept_queue");
    assert!(waiting.contains(&36.0), "{waiting:?}");
    assert!(values(&rows, "listener", "accept_queue_limit").iter().all(|limit| *limit == 4096.0));
    assert_eq!(wan.processes(), Vec::<String>::new());
}

/// Sixty-four descriptors for forty connections and files: the process has none left.
#[test]
fn nginx_runs_out_of_descriptors() {
    let test = "nginx_runs_out_of_descriptors";
    let few = |config: String| format!("worker_rlimit_nofile 32; {config}").replace("16384", "32");
    let Some(wan) = Wan::configured(test, DebianServer::Nginx, few) else { return };
    let wan = limited_descriptors(wan, 32);
    let ended = wan.run(FORTY_USERS, "--set verdict.succeeded=0");
    let found = bottleneck(&ended);
    let full = found.exhausted.iter().find(|one| one.cause == BottleneckCause::Descriptors);
    let full = full.unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(full.limit, Some(32.0));
    assert!(full.value >= 31.0 && full.name == "nginx", "{full:?}");
    assert!(found.exhausted.iter().all(|one| one.cause != BottleneckCause::Workers), "{found:#?}");
}

/// The server under a limit of descriptors.
fn limited_descriptors(wan: Wan, limit: u32) -> Wan {
    wan.under(&format!("ulimit -n {limit}; exec"))
}

/// A quota that a server without pauses uses up.
#[test]
fn a_servers_quota_is_used_up() {
    let test = "a_servers_quota_is_used_up";
    let Some(wan) = Wan::new(test, DebianServer::Nginx) else { return };
    let scenario = FORTY_USERS.replace("think = '200ms'", "think = '0s'");
    let ended = wan.run(&scenario, "--server-cpu 0.02 --set verdict.succeeded=0");
    if ended.stderr.contains("cannot be enforced") {
        return skip(test, &ended.stderr);
    }
    let found = bottleneck(&ended);
    assert_eq!(found.first, Some(BottleneckCause::Cpu), "{found:#?}");
    assert!(
        found.in_words.contains("the server's limit of 0.02 processors was used up"),
        "{}",
        found.in_words
    );
}

/// A server that farfield did not start, on loopback, is found by its port.
#[test]
fn a_server_on_loopback_is_found_by_its_port() {
    let place = Place::new();
    let served = place.serve("");
    let port: u64 = served.url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let ended = place.run(&format!("{} -c 4 -d 3s --think 10ms", served.url)).exits(0);
    let rows = rows(&ended.directory);
    let of_server = |row: &&Row| row.source == "process" && row.tier == "server";
    let pids: Vec<_> = rows.iter().filter(of_server).filter_map(|row| row.pid).collect();
    assert!(!pids.is_empty() && pids.iter().all(|pid| *pid == u64::from(served.id())), "{pids:?}");
    let listeners: Vec<_> = rows.iter().filter(|row| row.source == "listener").map(|row| &row.name).collect();
    let address = format!("127.0.0.1:{port}");
    assert!(!listeners.is_empty() && listeners.iter().all(|name| **name == address), "{listeners:?}");
    // One connection for each user.
    assert!(values(&rows, "network", "sockets_established").contains(&4.0));
    // The generator on the same axis, and the monitor's own cost.
    for metric in ["cpu_user_processors", "resident_bytes", "monitor_cpu_processors"] {
        assert!(!values(&rows, "generator", metric).is_empty(), "{metric}");
    }
    assert!(rows.iter().any(|row| row.source == "thread" && row.name == "worker-0"));
    assert!(rows.iter().all(|row| row.at_ns >= row.second * 1_000_000_000), "a reading follows its second");
    assert!(bottleneck(&ended).seconds >= 2);
}

#[test]
fn monitors_may_be_turned_off() {
    let place = Place::new();
    let served = place.serve("");
    for words in ["--no-monitor", "--set monitor=false"] {
        let ended = place.run(&format!("{} -c 1 --think 10ms {words}", served.url)).exits(0);
        assert!(!ended.directory.join("monitors.parquet").exists());
        assert_eq!(ended.summary().bottleneck, None);
        assert!(
            fs::read_to_string(ended.directory.join("scenario.toml"))
                .expect("a scenario")
                .contains("monitor = false")
        );
    }
}

/// The built-in server is part of this process: its numbers are, and the run says so.
#[test]
fn the_built_in_server_is_the_generators() {
    let place = Place::new();
    let ended = place.run("-c 2 --think 10ms -d 2s").exits(0);
    let found = bottleneck(&ended);
    assert!(
        found.notes.iter().any(|note| note.contains("the built-in server runs in farfield")),
        "{found:?}"
    );
}

/// Two tiers: a process that ends in the middle, and one that never was. The run goes on, and says so.
#[test]
fn a_tier_that_vanishes_is_said_and_the_rest_goes_on() {
    let place = Place::new();
    let served = place.serve("");
    let database = Process::start(Command::new("/bin/sleep").arg("1000"), &place);
    // Above the largest number that the kernel gives (proc_sys_kernel(5)).
    let scenario = format!(
        "target = '{}'\n[load]\nusers = 2\nthink = '10ms'\n[run]\nduration = '4s'\n\
         [[monitor.tier]]\nname = 'database'\npid = {}\n[[monitor.tier]]\nname = 'cache'\npid = 2000000000\n",
        served.url,
        database.id()
    );
    let file = place.write("tiers.toml", scenario);
    let running = place.begin_run(&format!("{} -d 4s", file.display()));
    running.await_checkpoint();
    drop(database);
    let ended = running.ended().exits(0);
    let notes = bottleneck(&ended).notes;
    let says = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(says("all processes of tier database were gone after"), "{notes:?}");
    assert!(says("of tier cache: there is none"), "{notes:?}");
    let rows = rows(&ended.directory);
    let last = rows.iter().filter(|row| row.tier == "server").map(|row| row.second).max();
    assert!(last >= Some(3), "{last:?}");
    assert!(ended.stdout.contains("  note"), "{}", ended.stdout);
}

/// An exporter that the test plays.
struct Exporter {
    url: String,
    /// The heads of its requests.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Exporter {
    /// Answers `replies` requests with a counter that is 50 more each time, and a gauge; then is gone.
    fn start(replies: u32) -> Exporter {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/metrics", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut served = 0;
            'connections: while served < replies {
                let (stream, _) = listener.accept().expect("a connection");
                let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
                while served < replies {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        if reader.read_line(&mut head).unwrap_or(0) == 0 {
                            continue 'connections;
                        }
                    }
                    heads.lock().expect("no panic").push(head.to_lowercase());
                    served += 1;
                    let body = format!(
                        "# TYPE jobs_total counter\njobs_total{{queue=\"a\"}} {}\n# TYPE depth gauge\ndepth 7\n\
                         # TYPE other gauge\nother 1\n",
                        served * 50
                    );
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                    if (&stream).write_all((head + &body).as_bytes()).is_err() {
                        continue 'connections;
                    }
                }
            }
        });
        Exporter { url, asked }
    }
}

/// Rates are exact for the instants of the readings, secrets stay in the request, and an exporter that goes
/// away leaves a gap that is counted.
#[test]
fn an_exporter_is_read_until_it_is_gone() {
    const SECRET: &str = "Bearer-4711-of-the-test";
    let place = Place::new();
    let served = place.serve("");
    let exporter = Exporter::start(4);
    let scenario = format!(
        "target = '{}'\n[load]\nusers = 2\nthink = '10ms'\n[[monitor.prometheus]]\nname = 'far'\nurl = '{}'\n\
         metrics = ['jobs_*', 'depth']\nheaders = {{ authorization = '${{env.SECRET_OF_THE_TEST}}' }}\n",
        served.url, exporter.url
    );
    let file = place.write("far.toml", scenario);
    let ended = crate::common::shell(
        &place,
        &format!(
            "SECRET_OF_THE_TEST={SECRET} FARFIELD run {} {} -t 1 --warm-up 1s -d 6s -q -o run",
            file.display(),
            crate::common::CALM
        ),
    );
    let ended = ended.exits(0);
    let rows = rows(&ended.directory);
    let of_exporter = |metric: &str| -> Vec<&Row> {
        rows.iter().filter(|row| row.tier == "far" && row.metric == metric).collect()
    };
    let jobs = of_exporter("jobs_total_per_s");
    assert!(
        !jobs.is_empty() && jobs.iter().all(|row| row.name == "queue=\"a\"" && row.source == "prometheus")
    );
    for pair in jobs.windows(2) {
        let elapsed = (pair[1].at_ns - pair[0].at_ns) as f64 / 1e9;
        assert!((pair[1].value * elapsed - 50.0).abs() < 1e-6, "{pair:?}");
    }
    assert!(of_exporter("depth").iter().all(|row| row.value == 7.0));
    assert!(of_exporter("other").is_empty());
    let asked = exporter.asked.lock().expect("no panic");
    assert!(asked.len() == 4 && asked.iter().all(|head| head.contains(&SECRET.to_lowercase())), "{asked:?}");
    let notes = bottleneck(&ended).notes;
    let failed = notes.iter().find(|note| note.starts_with("Prometheus exporter far")).expect("a note");
    assert!(failed.contains("readings failed, the first after"), "{failed}");
    assert!(!ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET));
    for entry in
        fs::read_dir(&ended.directory).expect("a run").flatten().filter(|entry| entry.path().is_file())
    {
        let bytes = fs::read(entry.path()).expect("a file");
        let found = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!found, "{} has the secret", entry.path().display());
    }
}

/// A run that is killed leaves what was read.
#[test]
fn readings_survive_a_kill() {
    let place = Place::new();
    let served = place.serve("");
    let running = place.begin_run(&format!("{} -c 1 --think 10ms -d 60s", served.url));
    poll("the first readings", || {
        let there = running.directory.join("monitors.parquet").exists();
        there.then(|| !rows(&running.directory).is_empty()).filter(|some| *some)
    });
    running.signal(Signal::KILL);
    let ended = running.ended();
    assert!(rows(&ended.directory).iter().any(|row| row.tier == "server"));
}
