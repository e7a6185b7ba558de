//! Flows of users, counted by others: the server's own log, the packets, and Locust with the same users.

use crate::common::nginx::Nginx;
use crate::common::wan::find;
use crate::common::{Ended, Place, alone, poll};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::process::Command;

/// A line of nginx's log: the instant, in seconds of Unix, the connection, the path and the method.
struct Logged {
    at: f64,
    connection: u64,
    path: String,
    method: String,
}

fn logged(place: &Place, expected: usize) -> Vec<Logged> {
    let text = || fs::read_to_string(place.path("access.log")).unwrap_or_default();
    poll("nginx to log all requests", || (text().lines().count() >= expected).then_some(()));
    let line = |line: &str| {
        let [at, connection, method, path] =
            line.split(' ').collect::<Vec<_>>().try_into().expect("four fields");
        Logged {
            at: at.parse().expect("seconds"),
            connection: connection.parse().expect("a number"),
            path: path.to_owned(),
            method: method.to_owned(),
        }
    };
    text().lines().map(line).collect()
}

fn serve(test: &str, place: &Place) -> Option<Nginx> {
    let program = find(test, "nginx")?;
    let log = "log_format own '$msec $connection $request_method $uri'; access_log HOME/access.log own;";
    Some(Nginx::start(&program, place, log, "location / { return 200 'some text'; }"))
}

fn verify(place: &Place, ended: &Ended) -> Ended {
    place.farfield(&format!("verify {}", ended.directory.display()))
}

#[track_caller]
fn contains(ended: &Ended, parts: &[&str]) {
    for part in parts {
        assert!(ended.stdout.contains(part), "`{part}` is not in: {}", ended.stdout);
    }
}

/// Three flows of as many models of load, each with what it asks for.
const SHOP: &str = "run = { warm-up = '0s', duration = '3s' }\n\
    [[flow]]\nname = 'browse'\nload = { users = 6, think = '90ms' }\n\
    session = { state = [{ name = 'home', path = '/' }, { name = 'list', path = '/list' }] }\n\
    [[flow]]\nname = 'api'\nthresholds = ['errors<1%', 'requests>50']\n\
    load = { model = 'open', arrivals = { process = 'constant', rate = '40/s' } }\n\
    requests = { request = [{ path = '/api/a' }, { path = '/api/b', weight = 3 }] }\n\
    [[flow]]\nname = 'checkout'\nload = { model = 'hybrid', arrivals = '8/s', think = '20ms' }\n\
    session = { state = [{ name = 'cart', path = '/cart' }, \
    { name = 'pay', path = '/pay', method = 'POST', body = 'card=1' }] }\n";

#[test]
fn nginx_sees_each_flow() {
    let test = "nginx_sees_each_flow";
    let place = Place::new();
    let Some(nginx) = serve(test, &place) else { return };
    place.write("shop.toml", format!("target = 'http://{}/'\n{SHOP}", nginx.address));
    let ended = place.run("shop.toml -d 3s --warm-up 0s --capture -t 2").exits(0);
    let samples = ended.samples();
    let log = logged(&place, samples.len());
    let asked = |paths: &[&str]| log.iter().filter(|own| paths.contains(&own.path.as_str())).count() as u64;
    let summary = ended.summary();
    assert_eq!(log.len(), samples.len());
    let flows: Vec<(&str, u64)> =
        summary.flows.iter().map(|own| (own.name.as_str(), own.steady.requests)).collect();
    // Without a warm-up, what was asked is all of the measured part, but for what began at its very end.
    let expected = [
        ("browse", asked(&["/", "/list"])),
        ("api", asked(&["/api/a", "/api/b"])),
        ("checkout", asked(&["/cart", "/pay"])),
    ];
    for (found, expected) in flows.iter().zip(expected) {
        assert_eq!(found.0, expected.0);
        assert!(found.1.abs_diff(expected.1) <= 4, "{flows:?}, and the log has {expected:?}");
    }
    assert_eq!(flows[1].1, 120, "constant arrivals");
    assert!(log.iter().all(|own| (own.method == "POST") == (own.path == "/pay")));
    let states: Vec<&str> = summary.states.iter().map(|own| own.name.as_str()).collect();
    assert_eq!(states, ["browse/home", "browse/list", "checkout/cart", "checkout/pay"]);
    let paths: Vec<&str> = summary.paths.iter().map(|own| own.path.as_str()).collect();
    assert!(paths.contains(&"/api/a") && !paths.contains(&"/cart"), "{paths:?}");
    let kept: Vec<&str> = summary.thresholds.iter().map(|own| own.text.as_str()).collect();
    assert_eq!(kept, ["errors{api}<1%", "requests{api}>50"]);
    assert!(summary.thresholds.iter().all(|own| own.passed));
    contains(&ended, &["flow  ", "browse", "api", "checkout"]);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    // Each flow's arrivals, think times and mix are held against its own load, and its figures counted again.
    let verified = verify(&place, &ended).exits(0);
    contains(&verified, &["AGREES", "flow        api", "arrivals    120 of 120", "flow        checkout"]);
    // The run is played again from what it left.
    let kept = ended.directory.join("scenario.toml");
    let again = place.run(&format!("{} -d 2s", kept.display())).exits(0);
    assert_eq!(again.summary().flows.len(), 3);
    nginx.end();
}

/// A summary that gives a flow what is another's is found out.
#[test]
fn a_flow_with_others_figures_is_found_out() {
    let place = Place::new();
    place.write("shop.toml", format!("plane = 'simulated'\n{SHOP}"));
    let ended = place.run("shop.toml -d 3s --warm-up 0s --capture").exits(0);
    verify(&place, &ended).exits(0);
    let path = ended.directory.join("summary.json");
    let mut summary: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).expect("a summary")).expect("JSON");
    let (one, other) = (summary["flows"][0]["steady"].clone(), summary["flows"][2]["steady"].clone());
    summary["flows"][0]["steady"] = other;
    summary["flows"][2]["steady"] = one;
    fs::write(&path, summary.to_string()).expect("a file of the test's own");
    let verified = verify(&place, &ended);
    contains(&verified, &["DISAGREES", "summary-wrong", "flows"]);
    assert_ne!(verified.code, Some(0));
}

/// In virtual time one flow does the same without the others, to the nanosecond, from as many clients.
#[test]
fn flows_do_not_touch_each_other() {
    let place = Place::new();
    let top = "plane = 'simulated'\nnetwork = { clients = 60 }\n";
    place.write("shop.toml", format!("{top}{SHOP}"));
    let api = SHOP.split("[[flow]]\n").nth(2).expect("the second flow");
    let head = SHOP.split("[[flow]]\n").next().expect("a head");
    place.write("api.toml", format!("{top}{head}[[flow]]\n{api}"));
    let figures = |ended: Ended| {
        let summary = ended.summary();
        let flow = summary.flows.iter().find(|own| own.name == "api").expect("the flow").clone();
        let times = flow.steady.times.response.expect("times");
        // Not their intervals: sessions of another flow tie together what the server does.
        let quantiles: Vec<u64> = times.quantiles.iter().map(|own| own.value_ns).collect();
        let moments = (times.mean_ns, times.sd_ns, times.min_ns, times.max_ns);
        (flow.steady.requests, moments, quantiles, flow.steady.outcomes)
    };
    let together = figures(place.run("shop.toml -d 3s").exits(0));
    let by_itself = figures(place.run("api.toml -d 3s").exits(0));
    assert_eq!(together, by_itself);
}

/// Users of Locust and of farfield who do the same: two kinds, with think times of one value and of an
/// interval.
#[test]
fn locust_and_farfield_are_alike_to_the_server() {
    let test = "locust_and_farfield_are_alike_to_the_server";
    let python = std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into());
    let has = Command::new(&python).args(["-c", "import locust"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        return farfield_testkit::skip(test, "locust is missing: python3 -m pip install locust");
    }
    let _alone = alone();
    // On a busy machine either may be late now and then.
    let mut differences = Vec::new();
    for _ in 0..3 {
        let (Some(ours), Some(theirs)) = (farfield_users(test), locust_users(test, &python)) else { return };
        match ["/read", "/write"].into_iter().find_map(|path| difference(&ours, &theirs, path)) {
            None => return,
            Some(difference) => differences.push(difference),
        }
    }
    panic!("{differences:#?}");
}

/// The log of a server that two flows of farfield asked.
fn farfield_users(test: &str) -> Option<Vec<Logged>> {
    let place = Place::new();
    let nginx = serve(test, &place)?;
    let text = format!(
        "target = 'http://{}/'\n\
         [[flow]]\nname = 'reader'\nload = {{ users = 8, think = '100ms', ramp = '0s' }}\n\
         requests = {{ request = [{{ path = '/read' }}] }}\n\
         [[flow]]\nname = 'writer'\nload = {{ users = 3, ramp = '0s', \
         think = {{ distribution = 'uniform', min = '50ms', max = '350ms' }} }}\n\
         requests = {{ request = [{{ path = '/write', method = 'POST', body = 'x' }}] }}\n",
        nginx.address
    );
    place.write("two.toml", text);
    let ended = place.run("two.toml -d 6s --warm-up 0s").exits(0);
    let log = logged(&place, ended.samples().len());
    nginx.end();
    Some(log)
}

/// The log of a server that the same users of Locust asked.
fn locust_users(test: &str, python: &OsStr) -> Option<Vec<Logged>> {
    let place = Place::new();
    let nginx = serve(test, &place)?;
    place.write("locustfile.py", include_str!("flows/locustfile.py"));
    let target = format!("http://{}", nginx.address);
    let output = Command::new(python)
        .args(["-m", "locust", "-f", "locustfile.py", "--headless", "--only-summary", "--host", &target])
        .args(["-u", "11", "-r", "1000", "-t", "6s"])
        .current_dir(place.path("."))
        .output()
        .expect("locust starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = logged(&place, 100);
    nginx.end();
    Some(log)
}

/// The difference, in words, of the times between requests for `path` in two logs.
fn difference(ours: &[Logged], theirs: &[Logged], path: &str) -> Option<String> {
    let [ours, theirs] = [ours, theirs].map(|log| gaps(log, path));
    assert!(ours.len() > 50 && theirs.len() > 50, "{path}: {} and {}", ours.len(), theirs.len());
    let mean = |gaps: &[f64]| gaps.iter().sum::<f64>() / gaps.len() as f64;
    let squared_error = |gaps: &[f64]| {
        let mean = mean(gaps);
        let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
        squares / (gaps.len() - 1) as f64 / gaps.len() as f64
    };
    // Locust's users take a few milliseconds of the one processor that they all share.
    let apart = mean(&theirs) - mean(&ours);
    let error = (squared_error(&ours) + squared_error(&theirs)).sqrt();
    if !(-0.01 - 4.0 * error..0.03 + 4.0 * error).contains(&apart) {
        return Some(format!("{path}: {apart} s apart in the mean, with a standard error of {error} s"));
    }
    // Times of one value are the value itself and what a machine adds, whose distributions differ.
    let [n, m] = [ours.len(), theirs.len()].map(|count| count as f64);
    // D is above this once in a thousand (Smirnov 1948), and 0.1 more for what a machine adds.
    let most = 1.95 * ((n + m) / (n * m)).sqrt() + 0.1;
    let distance = distance(&ours, &theirs);
    (path == "/write" && distance > most).then(|| format!("{path}: D = {distance}, above {most}"))
}

/// The times between the requests for `path` on each connection: users keep theirs.
fn gaps(log: &[Logged], path: &str) -> Vec<f64> {
    let mut by_connection: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for own in log.iter().filter(|own| own.path == path) {
        by_connection.entry(own.connection).or_default().push(own.at);
    }
    let mut gaps: Vec<f64> =
        by_connection.values().flat_map(|at| at.windows(2).map(|pair| pair[1] - pair[0])).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

/// The largest distance of the distribution functions of two sorted samples.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    let share =
        |sorted: &[f64], at: f64| sorted.partition_point(|own| *own <= at) as f64 / sorted.len() as f64;
    one.iter().chain(other).map(|at| (share(one, *at) - share(other, *at)).abs()).fold(0.0, f64::max)
}
