//! `farfield fit` and `farfield advise` as people use them: a log in, a folder out that `farfield run` takes,
//! with the built-in server and with nginx, on loopback and across the WAN.

use crate::common::nginx::Nginx;
use crate::common::wan::{self, Wan};
use crate::common::{Ended, Place};
use farfield_base::Outcome;
use farfield_fit::FitReport;
use farfield_traffic::Site;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A log of people who look at a few pages with a picture each, fourteen minutes of it.
fn log() -> String {
    let mut lines = Vec::new();
    for session in 0..120u32 {
        let mut at = session * 7;
        for click in 0..1 + (session * 7) % 5 {
            let page = (session * session + click * 3) % 11;
            lines.push((at, session, format!("/p{page}.html"), 900 + page));
            lines.push((at, session, format!("/p{page}.png"), 3_000));
            at += 3 + (session * 31 + click * 17) % 40;
        }
    }
    lines.sort();
    lines.iter().fold(String::new(), |mut log, (at, session, path, bytes)| {
        let (minute, second) = (at / 60, at % 60);
        let _ = writeln!(
            log,
            "10.0.0.{session} - - [01/Feb/2001:10:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 {bytes}"
        );
        log
    })
}

/// The published logs, where they lie beside the checkout or `FARFIELD_LOGS` says.
fn published(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/logs");
    let folder: PathBuf = std::env::var_os("FARFIELD_LOGS").map_or(beside, Into::into);
    if folder.is_dir() {
        return Some(folder);
    }
    crate::common::skip(test, "there is no folder of published logs, see FARFIELD_LOGS");
    None
}

#[test]
fn a_fit_writes_a_folder_that_a_run_takes() {
    let place = Place::new();
    place.write("access.log", log());
    let ended = place.farfield("fit access.log -o site --speed 60 --single-distributions").exits(0);
    assert!(ended.stdout.lines().count() <= 60, "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    for part in ["120 of 3.00 clicks", "think time, s", "next: farfield run site/scenario.toml"] {
        assert!(ended.stdout.contains(part), "`{part}` is not in:\n{}", ended.stdout);
    }
    let text = |name: &str| fs::read_to_string(place.path(&format!("site/{name}"))).expect(name);
    let scenario = text("scenario.toml");
    assert!(scenario.contains("site = \"site.json\"") && scenario.contains("order = \"walk\""), "{scenario}");
    let site: farfield_traffic::Site = serde_json::from_str(&text("site.json")).expect("a site");
    let page = site.pages().iter().find(|page| site.object(page).path == "/p5.html").expect("it was clicked");
    let inside: Vec<&str> =
        page.embedded.iter().map(|at| site.objects()[*at as usize].path.as_str()).collect();
    assert_eq!((site.object(page).size.0, inside), (905, vec!["/p5.png"]));
    let [view] = page.views.as_slice() else { panic!("everybody fetched the picture: {:?}", page.views) };
    assert_eq!((view.weight, &view.embedded), (page.weight, &page.embedded));
    let page = text("report.html");
    let parts = [
        "<svg",
        "Hurst",
        "Popularity",
        "Other thresholds",
        ">think time, s: quantiles<",
        ">Clicks by thresholds<",
    ];
    for part in parts {
        assert!(page.contains(part), "`{part}` is not in the page");
    }
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for elsewhere in ["http://", "https://", " src=", "url("] {
        assert!(!outside.contains(elsewhere), "the page needs `{elsewhere}` from elsewhere");
    }
    // One script, which its policy names.
    assert!(page.matches("<script").count() == 1 && page.contains("script-src 'sha256-"), "{page:.600}");
    let shown = place.farfield("run site/scenario.toml --show-scenario").exits(0);
    assert!(shown.stdout.contains("model = \"hybrid\""), "{}", shown.stdout);
    let run = place.run("site/scenario.toml -d 3s --warm-up 1s").exits(0);
    let steady = run.summary().steady;
    // 120 sessions of 3 clicks in 14 minutes, 60 times as fast, and as many pictures: about 50 requests a
    // second.
    let rate = steady.requests as f64 / 3.0;
    assert!((20.0..100.0).contains(&rate), "{rate} requests a second");
    assert_eq!(steady.error_share, Some(0.0));
}

#[test]
fn a_fit_overwrites_nothing_and_says_what_is_wrong() {
    let place = Place::new();
    place.write("access.log", log());
    place.write("noise.log", "nothing\nthat is\na log\n");
    place.write("there/fit.json", "{}");
    let says = |words: &str, part: &str| {
        let ended = place.farfield(words).exits(2);
        assert!(ended.stderr.contains(part), "`{part}` is not in: {}", ended.stderr);
    };
    says("fit access.log -o there", "there/fit.json exists");
    says("fit noise.log", "--format");
    says("fit noise.log --format common", "none of the 3 lines");
    says("fit missing.log", "missing.log");
    says("fit access.log --speed 0", "--speed 0");
    says("fit access.log --t-min 1h", "--t-min");
    says("fit access.log --field color=x", "--field color=x");
    says("fit access.log --target ftp://x/", "--target");
    says("advise keepalive access.log --workers 0", "--workers 0");
    assert!(!place.path("fit").exists(), "nothing is left behind");
}

#[test]
fn advice_from_a_log_is_that_from_its_report() {
    let place = Place::new();
    place.write("access.log", log());
    place.farfield("fit access.log -o site --single-distributions").exits(0);
    let from_log = place.farfield("advise keepalive access.log --single-distributions --workers 4").exits(0);
    let from_report = place.farfield("advise keepalive site/fit.json --workers 4").exits(0);
    assert_eq!(from_log.stdout, from_report.stdout);
    for part in ["early close", "theorem 1", "least work       a timeout of 0 s", "<- now"] {
        assert!(from_log.stdout.contains(part), "`{part}` is not in:\n{}", from_log.stdout);
    }
}

/// A page every forty minutes or so, for eleven days: at the log's pace ten minutes show nothing.
fn slow_log() -> String {
    (0..400u32).fold(String::new(), |mut log, visit| {
        let at = visit * 2_400 + (visit * visit * 37) % 1_800;
        let (day, hour, minute, second) = (1 + at / 86_400, at / 3_600 % 24, at / 60 % 60, at % 60);
        let _ = writeln!(
            log,
            "10.0.{}.{} - - [{day:02}/Feb/2001:{hour:02}:{minute:02}:{second:02} +0000] \"GET /p{}.html HTTP/1.1\" 200 900",
            visit / 200,
            visit % 200,
            visit % 7
        );
        log
    })
}

/// The advice behind `next: `, in one line.
fn next(ended: &Ended) -> String {
    let text = ended.stdout.split_once("next: ").expect("what comes next").1;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_run_of_a_slow_log_shows_something_and_says_how_long_it_takes() {
    let place = Place::new();
    place.write("slow.log", slow_log());
    let ended = place.farfield("fit slow.log -o slow --single-distributions").exits(0);
    let next = next(&ended);
    assert!(
        next.contains("slow/scenario.toml takes 8.0 min") && next.contains("times the log's pace"),
        "{next}"
    );
    // Its own next, with nothing changed but the plane, on which ten minutes are a moment.
    let run = place.run("slow/scenario.toml --plane simulated -d 480s --warm-up 1s").exits(0);
    let requests = run.summary().steady.requests;
    assert!(requests >= 150, "{requests} requests where {next} was said");
    // A speed that the user gives is kept.
    let ended = place.farfield("fit slow.log -o as-it-was --single-distributions --speed 1").exits(0);
    assert!(!ended.stdout.contains("times the log's pace"), "{}", ended.stdout);
    let ended = place.farfield("fit slow.log -o course --single-distributions --course").exits(0);
    let next = self::next(&ended);
    assert!(next.contains("takes 11.1 days") && next.contains("--speed 1"), "{next}");
}

#[test]
fn a_wrong_date_is_set_aside_and_said() {
    let place = Place::new();
    let wrong = "10.0.0.1 - - [01/Jan/1970:00:00:05 +0000] \"GET /p1.html HTTP/1.1\" 200 900\n";
    place.write("right.log", log());
    place.write("wrong.log", log() + wrong);
    let right = place.farfield("fit right.log -o right --single-distributions").exits(0);
    let ended = place.farfield("fit wrong.log -o wrong --single-distributions").exits(0);
    for part in [
        "dates            2001-02-01 10:00:00 to 2001-02-01 10:",
        "; 1 set aside",
        "! 1 request is set aside: its date cannot be, 1970-01-01 00:00:05 UTC",
    ] {
        assert!(ended.stdout.contains(part), "`{part}` is not in:\n{}", ended.stdout);
    }
    assert!(!right.stdout.contains("set aside"), "{}", right.stdout);
    let report = |folder: &str| -> FitReport {
        let text = fs::read_to_string(place.path(&format!("{folder}/fit.json"))).expect("a report");
        serde_json::from_str(&text).expect("a report")
    };
    let (right, wrong) = (report("right"), report("wrong"));
    assert_eq!((right.covers, &right.counts, right.arrivals), (wrong.covers, &wrong.counts, wrong.arrivals));
}

/// One request, and many at one instant: what the run shows is foretold as it is, and what nobody can know is
/// said.
#[test]
fn a_log_of_one_instant_makes_no_wonders() {
    let place = Place::new();
    let line = |client: u32| {
        format!("10.0.4.{client} - - [01/Feb/2001:10:59:30 +0000] \"GET /p{client}.html HTTP/1.1\" 200 900\n")
    };
    for (count, foretold) in [(1, "with about 10 requests"), (40, "with about 400 requests")] {
        place.write("access.log", (0..count).map(line).collect::<String>());
        let ended = place.farfield(&format!("fit access.log -o of-{count} --single-distributions")).exits(0);
        for part in [foretold, "! All requests have one date"] {
            assert!(ended.stdout.contains(part), "`{part}` is not in:\n{}", ended.stdout);
        }
        let run =
            place.run(&format!("of-{count}/scenario.toml --plane simulated -d 10s --warm-up 1s")).exits(0);
        let requests = run.summary().steady.requests;
        let count = u64::from(count);
        assert!((count..=20 * count).contains(&requests), "{requests} requests of {count}");
    }
}

/// Proxies' and scanners' requests: what `run` refuses is not written, and `--show-scenario` refuses what
/// `run` does.
#[test]
fn a_fit_writes_nothing_that_a_run_refuses() {
    let place = Place::new();
    let line = |second: u32, request: &str| {
        format!("10.0.3.1 - - [01/Feb/2001:10:59:{second:02} +0000] \"{request} HTTP/1.1\" 200 900\n")
    };
    let noise = line(1, "OPTIONS *")
        + &line(20, "GET http://other.example/abs.html")
        + &line(40, "CONNECT other.example:443");
    // Lines that a server logs of a handshake of TLS, of a client that says nothing, and of another protocol.
    let none = |second: u32, request: &str| line(second, request).replace(" HTTP/1.1", "");
    let noise =
        noise + &none(41, "\\x16\\x03\\x01\\x02") + &none(42, "-") + &none(43, "OPTIONS sip:nm SIP/2.0");
    let noise = noise + &line(44, "GET /p1.html?x=1") + &line(45, "GET /p1.html?x=2");
    let requests = log().lines().count() + 5;
    place.write("access.log", log() + &noise);
    let fit = "fit access.log --single-distributions --target http://127.0.0.1:9/";
    let said = place.farfield(&format!("{fit} -o site")).exits(0).stdout;
    for part in [
        &format!("requests         {requests} over"),
        "left out         3 lines that are no request of HTTP (first: `\\x16\\x03\\x01\\x02`)",
        "queries          2 requests have one",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    let kept = place.farfield(&format!("{fit} --keep-query -o kept")).exits(0).stdout;
    assert!(!kept.contains("queries   "), "{kept}");
    place.write("noise.log", none(41, "\\x16\\x03"));
    place
        .farfield("fit noise.log --format common")
        .exits(2)
        .says(&["none of the 1 lines", "asks for `\\x16\\x03`"]);
    let scenario = fs::read_to_string(place.path("site/scenario.toml")).expect("written");
    assert!(scenario.contains("path = \"/abs.html\"") && !scenario.contains("other.example"), "{scenario}");
    place.farfield("run site/scenario.toml --show-scenario").exits(0);
    place.write("bad.toml", "[[requests.request]]\npath = '*'\n");
    let refused = place.farfield("run bad.toml").exits(2);
    let shown = place.farfield("run bad.toml --show-scenario").exits(2);
    assert_eq!(shown.stderr, refused.stderr);
    assert!(shown.stdout.is_empty(), "{}", shown.stdout);
}

/// The paths that the log has, for a server that has them.
#[test]
fn a_target_gets_the_logs_own_paths() {
    let place = Place::new();
    place.write("access.log", log());
    place.farfield("fit access.log -o site --single-distributions --target http://127.0.0.1:8080/").exits(0);
    let scenario = fs::read_to_string(place.path("site/scenario.toml")).expect("written");
    assert!(
        scenario.contains("path = \"/p5.html\"") && scenario.contains("target = \"http://127.0.0.1:8080/\"")
    );
    place.farfield("run site/scenario.toml --show-scenario").exits(0);
}

/// A log of what no folder of files has as it is: queries, escapes, `/a` beside `/a/b`, long names, other
/// methods.
fn awkward_log() -> String {
    let long = "n".repeat(400);
    let requests = [
        "GET /".to_owned(),
        "GET /a".into(),
        "GET /a/".into(),
        "GET /a/b.html".into(),
        "GET /a%20b%2Fc.html".into(),
        "POST /form.php".into(),
        "HEAD /a/b.html".into(),
        "GET /caf%E9.html".into(),
        "OPTIONS *".into(),
        format!("GET /{long}.html"),
        "GET /q.php?x=1".into(),
        "GET /../up/./x.html".into(),
        "GET /100%.html".into(),
    ];
    let lines = (0..300usize).map(|at| {
        let (minute, second) = (at / 30, at * 2 % 60);
        let request = &requests[at % requests.len()];
        format!(
            "10.0.1.{} - - [01/Feb/2001:10:{minute:02}:{second:02} +0000] \"{request} HTTP/1.1\" 200 {}\n",
            at / 3,
            700 + at % requests.len()
        )
    });
    lines.collect()
}

/// nginx that serves the files of a folder of `place`.
fn serve(program: &Path, place: &Place) -> Nginx {
    Nginx::start(program, place, "access_log off;", "root HOME/www;")
}

/// A run in which everything was answered with status 200, and as many bytes as the site says.
#[track_caller]
fn all_served(ended: &Ended, site: &Site) -> f64 {
    let samples = ended.samples();
    for sample in &samples {
        let object = &site.objects()[sample.request as usize];
        let found = (sample.outcome, sample.status, sample.body_bytes);
        assert_eq!(found, (Outcome::Ok, 200, object.size.0), "{}: {sample:?}", object.path);
    }
    let steady = ended.summary().steady;
    assert!(steady.requests > 5, "only {} requests", steady.requests);
    steady.requests as f64
}

fn site(place: &Place, folder: &str) -> Site {
    let text = fs::read_to_string(place.path(&format!("{folder}/site.json"))).expect("a site");
    serde_json::from_str(&text).expect("a site")
}

/// Requests a second of users in the log, so many times as fast.
fn rate_of(place: &Place, folder: &str, speed: u32) -> f64 {
    let text = fs::read_to_string(place.path(&format!("{folder}/fit.json"))).expect("a report");
    let report: FitReport = serde_json::from_str(&text).expect("a report");
    report.popularity.requests as f64 / report.covers.as_secs_f64() * f64::from(speed)
}

/// The published logs, how much faster they are driven, and between what multiples of the log's rate a few
/// seconds of it are: sessions come in bursts, and the one of 2025 has a page that was seen with hundreds of
/// objects.
const PUBLISHED: [(&str, u32, [f64; 2]); 3] = [
    ("nasa_jul95_first10k.clf.xz", 100, [0.6, 1.5]),
    ("nginx_2025_combined_10k.log.xz", 40_000, [0.3, 3.0]),
    ("sdsc-http.txt.xz", 200, [0.6, 1.5]),
];

/// Fits of the published logs, by name: a folder in the place, and what was printed.
#[derive(Default)]
struct Fits {
    place: Option<Place>,
    printed: BTreeMap<&'static str, String>,
}

impl Fits {
    /// Those that all tests share that hold them at a time, and that go with the last of them: a fit takes
    /// seconds.
    fn shared() -> Arc<Mutex<Fits>> {
        static SHARED: Mutex<Weak<Mutex<Fits>>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().expect("nothing panics with it");
        shared.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            *shared = Arc::downgrade(&new);
            new
        })
    }
}

/// Copies the fit of the published log `name` into the folder `to`, and returns what it printed.
#[track_caller]
fn fitted(fits: &Mutex<Fits>, logs: &Path, (name, speed): (&'static str, u32), to: &Path) -> String {
    let mut fits = fits.lock().unwrap_or_else(PoisonError::into_inner);
    let Fits { place, printed } = &mut *fits;
    let place = place.get_or_insert_with(Place::new);
    let printed = printed.entry(name).or_insert_with(|| {
        let log = logs.join(name);
        let words = format!("fit {} -o f --speed {speed} --single-distributions", log.display());
        let printed = place.farfield(&words).exits(0).stdout;
        fs::rename(place.path("f"), place.path(name)).expect("own folder");
        printed
    });
    fs::create_dir_all(to).expect("own folder");
    for file in fs::read_dir(place.path(name)).expect("a fit's folder") {
        let file = file.expect("a file of the fit");
        fs::copy(file.path(), to.join(file.file_name())).expect("own folder");
    }
    printed.clone()
}

#[test]
fn published_logs_become_scenarios_and_sites() {
    let test = "published_logs_become_scenarios_and_sites";
    let Some(logs) = published(test) else { return };
    let fits = Fits::shared();
    let _alone = crate::common::alone();
    let nginx = wan::find(test, "nginx");
    for (name, speed, range) in PUBLISHED {
        let place = Place::new();
        let printed = fitted(&fits, &logs, (name, speed), &place.path("f"));
        assert!(printed.lines().count() <= 60, "{}", printed);
        assert!(printed.lines().all(|line| line.chars().count() <= 80), "{}", printed);
        let (site, rate) = (site(&place, "f"), rate_of(&place, "f", speed));
        let near = |requests: f64, who: &str| {
            let found = requests / 3.0 / rate;
            assert!(found > range[0] && found < range[1], "{name}, {who}: {found} times the log's rate");
        };
        let run = place.run("f/scenario.toml -d 3s --warm-up 3s").exits(0);
        near(all_served(&run, &site), "built in");
        let Some(nginx) = &nginx else { continue };
        place.farfield("site make f/site.json www").exits(0);
        let server = serve(nginx, &place);
        let run = place
            .run(&format!("f/scenario.toml -d 3s --warm-up 3s --target http://{}/", server.address))
            .exits(0);
        near(all_served(&run, &site), "nginx");
        server.end();
    }
}

#[test]
fn what_no_file_can_be_called_is_served_all_the_same() {
    let test = "what_no_file_can_be_called_is_served_all_the_same";
    let Some(nginx) = wan::find(test, "nginx") else { return };
    let place = Place::new();
    place.write("access.log", awkward_log());
    let ended = place.farfield("fit access.log -o f --keep-query --speed 60 --single-distributions").exits(0);
    for part in
        [" objects with ", " left out: they have no path", " paths are changed", "other methods than GET"]
    {
        assert!(ended.stdout.contains(part), "`{part}` is not in:\n{}", ended.stdout);
    }
    place.farfield("site make f/site.json www").exits(0);
    let site = site(&place, "f");
    all_served(&place.run("f/scenario.toml -d 2s").exits(0), &site);
    let server = serve(&nginx, &place);
    let run = place.run(&format!("f/scenario.toml -d 2s --target http://{}/", server.address)).exits(0);
    all_served(&run, &site);
    server.end();
}

/// nginx in a namespace before emulated clients, with what was fitted; and the built-in server there.
#[test]
fn what_was_fitted_runs_across_the_wan() {
    let test = "what_was_fitted_runs_across_the_wan";
    let fitted_root = |config: String| config.replace("/www;", "/fitted;");
    let network = "[network]\nclients = 500\nrtt = '40ms'\n";
    let across = |wan: &Wan| {
        wan.place.farfield("site make site.json fitted").exits(0);
        let fitted = fs::read_to_string(wan.place.path("scenario.toml")).expect("a scenario");
        let scenario = fitted.replacen("plane = \"sockets\"\n", "", 1) + network;
        let site = site(&wan.place, ".");
        all_served(&wan.run(&scenario, "-d 3s --warm-up 2s --set run.drain=30s").exits(0), &site);
        (scenario, site)
    };
    let Some(wan) = Wan::configured(test, wan::DebianServer::Nginx, fitted_root) else { return };
    let fits = Fits::shared();
    let _alone = crate::common::alone();
    wan.place.write("access.log", log());
    wan.place.farfield("fit access.log -o . --speed 60 --single-distributions").exits(0);
    let (scenario, site) = across(&wan);
    let ended = wan.begin_without_server(&scenario, "-d 2s --warm-up 1s").ended().exits(0);
    all_served(&ended, &site);
    assert_eq!(wan.processes(), Vec::<String>::new());
    let Some(logs) = published(test) else { return };
    for (name, speed, _) in PUBLISHED {
        let wan = Wan::configured(test, wan::DebianServer::Nginx, fitted_root).expect("it was there");
        fitted(&fits, &logs, (name, speed), &wan.place.path(""));
        across(&wan);
    }
}
