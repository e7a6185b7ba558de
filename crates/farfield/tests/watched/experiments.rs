//! Searches for capacity and sweeps in the workbench: listed, shown while they go on and once they have
//! ended; and that their names lead to nothing else.

use super::driver::Browser;
use super::text;
use super::workbench::Bench;
use crate::common::poll;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const SERVER: &str = "plane = 'simulated'\nload = { model = 'closed', users = 4, think = { distribution =\
    'exponential', mean = '50ms' } }\nrun = { duration = '4s', warm-up = '0s' }\nnetwork = { rtt = '1ms' }\n\
    simulated = { service-time = '10ms', workers = 1 }\n";

/// The page of an experiment, and whether it has ended.
fn page_of(bench: &Bench, name: &str) -> (u16, Option<String>, String) {
    let answer = bench.get(&format!("/experiment?name={name}"));
    let ended = answer.headers().get("farfield-ended").map(|value| value.to_str().expect("text").to_owned());
    (answer.status().as_u16(), ended, text(answer))
}

/// A workbench with a sweep of two points and a search.
fn with_experiments() -> Bench {
    let bench = Bench::begin();
    bench.place.write("server.toml", SERVER);
    let sweep = "sweep server.toml --vary network.rtt=1ms,20ms --repeats 2 -o runs/swept -q";
    bench.place.farfield(sweep).exits(0);
    let search = "capacity server.toml --slo p99<40ms --seed 9 --budget 5s -o runs/trials -q";
    bench.place.farfield(search);
    bench
}

#[test]
fn experiments_are_shown_as_they_ended_and_before_by_their_runs() {
    let bench = with_experiments();
    let runs = bench.place.path("runs");
    let listed = || {
        let list: Value = serde_json::from_str(&text(bench.get("/api/runs"))).expect("JSON");
        list["experiments"].clone()
    };
    let line = |name: &str, kind: &str, ended: bool| json!({ "name": name, "shown": name, "kind": kind, "ended": ended });
    assert_eq!(listed(), json!([line("trials", "search", true), line("swept", "sweep", true)]));
    for (name, file, over) in [("swept", "sweep.html", "point"), ("trials", "capacity.html", "load")] {
        let kept = fs::read_to_string(runs.join(name).join(file)).expect("a page");
        let (status, ended, page) = page_of(&bench, name);
        assert_eq!((status, ended.as_deref(), &page), (200, Some("1"), &kept), "{name}");
        // As it was before its end: the runs, and no page yet.
        fs::remove_file(runs.join(name).join(file)).expect("own file");
        let (status, ended, page) = page_of(&bench, name);
        assert_eq!((status, ended.as_deref()), (200, Some("0")), "{name}: {page}");
        assert!(
            page.contains(&format!("{name}, so far")) && page.contains(&format!(">{over}</text>")),
            "{page}"
        );
        assert!(page.matches("<circle").count() >= 4, "dots of the curve: {page}");
    }
    let (_, _, page) = page_of(&bench, "swept");
    assert!(page.contains("4 runs so far, 4 of them valid") && page.contains("network.rtt=20ms"), "{page}");
    assert_eq!(listed(), json!([line("trials", "search", false), line("swept", "sweep", false)]));
    let policy = bench.get("/experiment?name=swept").headers()["content-security-policy"].clone();
    assert!(policy.to_str().expect("text").starts_with("sandbox allow-scripts"), "{policy:?}");
}

/// A sweep that is under way: its page has the runs that are made, and one more as one more is made.
#[test]
fn the_page_of_a_sweep_grows() {
    let bench = Bench::begin();
    bench
        .place
        .write("real.toml", "load.users = 1\nrun = { duration = '400ms', warm-up = '0s', drain = '1s' }\n");
    let sweep = "sweep real.toml --vary load.users=1,2 --repeats 3 -o runs/grows -q";
    let running = bench.place.begin(sweep);
    let made = || {
        let (status, ended, page) = page_of(&bench, "grows");
        let count = page
            .split_once(" runs so far")
            .and_then(|(before, _)| before.rsplit('>').next()?.parse::<u32>().ok());
        (status, ended, count)
    };
    let first = poll("a first run", || made().2.filter(|count| *count > 0));
    let second = poll("another run", || made().2.filter(|count| *count > first));
    assert!(second <= 7, "{second}");
    running.ended();
    let (status, ended, _) = made();
    assert_eq!((status, ended.as_deref()), (200, Some("1")));
}

#[test]
fn names_of_experiments_lead_to_nothing_else() {
    let bench = with_experiments();
    let (runs, outside) = (bench.place.path("runs"), bench.place.path("outside"));
    fs::create_dir(&outside).expect("own folder");
    bench.place.write("outside/capacity.html", "nobody's business");
    symlink(&outside, runs.join("link")).expect("a link");
    fs::create_dir(runs.join("planted")).expect("own folder");
    symlink(outside.join("capacity.html"), runs.join("planted/capacity.html")).expect("a link");
    fs::create_dir(runs.join("none")).expect("own folder");
    for name in [
        "..",
        "../outside",
        "link",
        "planted",
        "none",
        "absent",
        "",
        ".",
        "swept/point-01",
        "%2e%2e%2foutside",
    ] {
        let (status, _, page) = page_of(&bench, name);
        assert!(status == 404 && !page.contains("business"), "{name}: {status} {page}");
    }
    let refused =
        super::client().get(format!("{}/experiment?name=swept", bench.origin)).call().expect("an answer");
    assert_eq!(refused.status(), 401);
    // Texts of a design are texts.
    let design = runs.join("swept/point-01/repeat-1/design.json");
    let mut planted: Value = serde_json::from_slice(&fs::read(&design).expect("a design")).expect("JSON");
    planted["point"] = json!("<img src=x onerror=alert(1)>");
    fs::write(&design, planted.to_string()).expect("own file");
    fs::remove_file(runs.join("swept/sweep.html")).expect("own file");
    let (_, _, page) = page_of(&bench, "swept");
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;") && !page.contains("<img"), "{page}");
    assert!(page.contains("4 runs so far"), "{page}");
    // No figures from outside.
    let summary = runs.join("swept/point-01/repeat-2/summary.json");
    fs::rename(&summary, outside.join("summary.json")).expect("own file");
    symlink(outside.join("summary.json"), &summary).expect("a link");
    let (status, _, page) = page_of(&bench, "swept");
    assert!(status == 200 && page.contains("3 runs so far"), "{page}");
    // A folder is an experiment by its first run, which is no link either, and by nothing further below.
    for (name, run) in [("late", "other/deep"), ("linked", "0002")] {
        fs::create_dir_all(runs.join(name).join(run)).expect("own folders");
        fs::copy(&design, runs.join(name).join(run).join("design.json")).expect("copied");
    }
    symlink("0002", runs.join("linked/0001")).expect("a link");
    for name in ["late", "linked"] {
        assert_eq!(page_of(&bench, name).0, 404, "{name}");
    }
}

/// In the page: from the list, while it goes on, and to its end without a click.
#[test]
fn an_experiment_is_followed_to_its_end_in_the_page() {
    let bench = with_experiments();
    let test = "an_experiment_is_followed_to_its_end_in_the_page";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    let (page, aside) = (bench.place.path("runs/swept/sweep.html"), bench.place.path("aside.html"));
    fs::rename(&page, &aside).expect("own file");
    browser.open(&format!("{}/#token={}", bench.origin, bench.token));
    browser.wait("!document.querySelector('#experiments').hidden");
    browser.click("#experiments summary");
    browser.is_accessible("the list of experiments");
    assert!(
        browser
            .value("document.querySelector('#experiments').textContent")
            .to_string()
            .contains("sweep, not ended")
    );
    browser.click("#experiments a[href='#experiment/swept']");
    browser.wait("document.querySelector('#page-frame iframe')");
    let shown = |words: &str| {
        poll(words, || {
            browser.enter("#page-frame iframe");
            let text = browser.value("document.body.textContent");
            browser.leave_frame();
            text.as_str().is_some_and(|text| text.contains(words)).then_some(())
        });
    };
    shown("4 runs so far");
    // The driver finds a frame in one step and enters it in another: by then it is the last one.
    browser.value("(document.querySelector('#page-frame iframe').id = 'growing')");
    fs::rename(&aside, &page).expect("own file");
    browser.wait("document.querySelector('#page-frame iframe:not(#growing)')");
    shown("How to read this");
    browser.is_quiet(&bench.origin);
}
