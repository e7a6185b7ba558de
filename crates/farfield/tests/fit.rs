//! `farfield fit` and `farfield advise` as people use them: a log in, a folder out that `farfield run` takes.

mod common;

use common::Place;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

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
    common::skip(test, "there is no folder of published logs, see FARFIELD_LOGS");
    None
}

#[test]
fn a_fit_writes_a_folder_that_a_run_takes() {
    let place = Place::new();
    place.write("access.log", log());
    let ended = place.farfield("fit access.log -o site --speed 60 --single-laws").exits(0);
    assert!(ended.stdout.lines().count() <= 40, "{}", ended.stdout);
    for part in ["120 of 3.00 clicks", "think time, s", "next: farfield run site/scenario.toml"] {
        assert!(ended.stdout.contains(part), "`{part}` is not in:\n{}", ended.stdout);
    }
    let text = |name: &str| fs::read_to_string(place.path(&format!("site/{name}"))).expect(name);
    assert!(text("scenario.toml").contains("/bytes/905?/p5.html"));
    let site: farfield_traffic::Site = serde_json::from_str(&text("site.json")).expect("a site");
    let page = site.pages().iter().find(|page| site.object(page).path == "/p5.html").expect("it was clicked");
    let inside: Vec<&str> =
        page.embedded.iter().map(|at| site.objects()[*at as usize].path.as_str()).collect();
    assert_eq!((site.object(page).size.0, inside), (905, vec!["/p5.png"]));
    let page = text("report.html");
    for part in ["think time", "<svg", "Hurst", "Popularity", "Other thresholds"] {
        assert!(page.contains(part), "`{part}` is not in the page");
    }
    for elsewhere in ["http://", "https://", "src=", "<script", "url("] {
        assert!(!page.contains(elsewhere), "the page needs `{elsewhere}` from elsewhere");
    }
    let shown = place.farfield("run site/scenario.toml --show-scenario").exits(0);
    assert!(shown.stdout.contains("model = \"hybrid\""), "{}", shown.stdout);
    let run = place.run("site/scenario.toml -d 3s --warm-up 1s").exits(0);
    let steady = run.summary().steady;
    // 120 sessions of 3 clicks in 14 minutes, 60 times as fast, and as many pictures: about 50 requests a second.
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
    place.farfield("fit access.log -o site --single-laws").exits(0);
    let from_log = place.farfield("advise keepalive access.log --single-laws --workers 4").exits(0);
    let from_report = place.farfield("advise keepalive site/fit.json --workers 4").exits(0);
    assert_eq!(from_log.stdout, from_report.stdout);
    for part in ["early close", "theorem 1", "least work       a timeout of 0 s", "<- now"] {
        assert!(from_log.stdout.contains(part), "`{part}` is not in:\n{}", from_log.stdout);
    }
}

/// The paths that the log has, for a server that has them.
#[test]
fn a_target_gets_the_logs_own_paths() {
    let place = Place::new();
    place.write("access.log", log());
    place.farfield("fit access.log -o site --single-laws --target http://127.0.0.1:8080/").exits(0);
    let scenario = fs::read_to_string(place.path("site/scenario.toml")).expect("written");
    assert!(
        scenario.contains("path = \"/p5.html\"") && scenario.contains("target = \"http://127.0.0.1:8080/\"")
    );
    place.farfield("run site/scenario.toml --show-scenario").exits(0);
}

#[test]
fn published_logs_become_scenarios() {
    let Some(folder) = published("published_logs_become_scenarios") else { return };
    let place = Place::new();
    for (name, speed, rate) in [
        ("nasa_jul95_first10k.clf.xz", 30, 3.0..60.0),
        ("nginx_2025_combined_10k.log.xz", 20_000, 3.0..150.0),
        ("sdsc-http.txt.xz", 60, 5.0..100.0),
    ] {
        let short = &name[..4];
        let log = folder.join(name);
        let words = format!("fit {} -o {short} --speed {speed} --single-laws", log.display());
        let ended = place.farfield(&words).exits(0);
        assert!(ended.stdout.lines().count() <= 40, "{}", ended.stdout);
        let shown = place.farfield(&format!("run {short}/scenario.toml --show-scenario")).exits(0);
        assert!(shown.stdout.contains("model = \"hybrid\""));
        let run = place.run(&format!("{short}/scenario.toml -d 4s --warm-up 2s")).exits(0);
        let steady = run.summary().steady;
        let found = steady.requests as f64 / 4.0;
        assert!(rate.contains(&found), "{name}: {found} requests a second");
        assert_eq!(steady.error_share, Some(0.0), "{name}");
    }
}
