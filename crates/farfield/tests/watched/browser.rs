//! The report and the workbench in Chromium, used as a person uses them.

use super::driver::Browser;
use super::workbench::Bench;
use crate::common::Place;
use serde_json::json;
use std::fs;

/// The lines of a chart over time, by its place.
fn points(browser: &Browser, chart: usize) -> String {
    let of = format!("[...document.querySelectorAll('svg:has(g.scales[data-kind=time])')][{chart}]");
    let points = browser.value(&format!(
        "[...{of}.querySelectorAll('g.series polyline')].map((line) => line.getAttribute('points')).join('|')"
    ));
    points.as_str().expect("points").to_owned()
}

const FIRST: &str = "svg:has(g.scales[data-kind=time])";

#[test]
fn a_report_is_read_magnified_saved_and_accessible() {
    let place = Place::new();
    let Some(browser) = Browser::begin(&place, "a_report_is_read_magnified_saved_and_accessible") else {
        return;
    };
    let run = place.run("--plane simulated -R 200 -d 20s").exits(0);
    let page = place.path("report.html");
    place
        .farfield(&format!("report {} --format html --out {}", run.directory.display(), page.display()))
        .exits(0);
    browser.open(&format!("file://{}", page.display()));
    assert!(browser.value("document.querySelector('.verdict h2').textContent") == "VALID");

    // Hover: the cursor is at the same second in all charts over time.
    browser.point(FIRST, 0.5, None);
    let readings = browser.value("[...document.querySelectorAll('svg:has(g.scales[data-kind=time]) .reading')].map((text) => text.textContent)");
    let readings: Vec<&str> =
        readings.as_array().expect("texts").iter().filter_map(|text| text.as_str()).collect();
    let second = readings[0].split(':').next().expect("a second");
    assert!(second.parse::<f64>().is_ok_and(|second| (5.0..16.0).contains(&second)), "{readings:?}");
    assert!(
        readings.len() >= 2 && readings.iter().all(|text| text.starts_with(&format!("{second}:"))),
        "{readings:?}"
    );
    assert!(readings[0].contains("completed"), "{readings:?}");

    // Zoom: a part of the axis in all charts over time, and back.
    let whole = [points(&browser, 0), points(&browser, 1)];
    browser.point(FIRST, 0.4, Some(0.6));
    let magnified = [points(&browser, 0), points(&browser, 1)];
    assert!(whole[0] != magnified[0] && whole[1] != magnified[1], "both are magnified");
    assert!(magnified[0].split(' ').count() < whole[0].split(' ').count());
    let ticks = browser.value(&format!("[...document.querySelector('{FIRST}').querySelectorAll('.x-ticks text')].map((text) => Number(text.textContent))"));
    let ticks: Vec<f64> =
        ticks.as_array().expect("ticks").iter().filter_map(serde_json::Value::as_f64).collect();
    assert!(ticks.len() >= 3 && ticks.iter().all(|tick| (6.0..16.0).contains(tick)), "{ticks:?}");
    browser.value("[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith('show the whole') && !one.hidden).click()");
    assert_eq!([points(&browser, 0), points(&browser, 1)], whole);

    // Theme.
    let paper = || {
        browser
            .value("getComputedStyle(document.body).backgroundColor")
            .as_str()
            .expect("a colour")
            .to_owned()
    };
    browser.click("button.theme");
    assert_eq!(paper(), "rgb(255, 255, 255)");
    browser.is_accessible("the report in light colours");
    browser.click("button.theme");
    assert_eq!(paper(), "rgb(24, 24, 24)");
    browser.is_accessible("the report in dark colours");

    // Save.
    for (kind, begins) in [("SVG", &b"<svg "[..]), ("PNG", b"\x89PNG\r\n")] {
        browser.value(&format!("[...document.querySelectorAll('button')].find((one) => one.textContent === 'save as {kind}').click()"));
        let bytes = browser.saved(&format!("Throughput.{}", kind.to_lowercase()));
        assert!(bytes.starts_with(begins) && bytes.len() > 1000, "{kind}: {} bytes", bytes.len());
    }
    browser.resize(400, 800);
    assert_eq!(
        browser.value("document.documentElement.scrollWidth <= window.innerWidth"),
        true,
        "it fits a phone"
    );
    // Charts over time keep their size, so that their labels are as large as those of others.
    let sizes = browser.value("[...document.querySelectorAll('svg:has(g.scales)')].map((svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)");
    let sizes: Vec<f64> =
        sizes.as_array().expect("sizes").iter().filter_map(serde_json::Value::as_f64).collect();
    assert!(sizes.len() > 3 && sizes.iter().all(|size| *size > 0.7), "{sizes:?}");
    browser.is_quiet("file:");
}

#[test]
fn the_workbench_writes_starts_shows_and_stops_a_run() {
    let bench = Bench::begin();
    let test = "the_workbench_writes_starts_shows_and_stops_a_run";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    let hostile = "<img src=x onerror=\"document.title='owned'\">.toml";
    assert_eq!(bench.post("/api/save", &json!({ "file": hostile, "text": "" })).0, 200);
    browser.open(&format!("{}/?token={}#new", bench.origin, bench.token));
    browser.wait("document.querySelector('#field-load-model')");
    assert_eq!(browser.value("location.search"), "", "the token has left the address");

    // A part without a field that applies is not there: clients have no paths on the sockets plane.
    let empty = "[...document.querySelectorAll('#form fieldset')].filter((part) => part.offsetParent !== null &&\
                 ![...part.children].some((one) => one.tagName !== 'LEGEND' && one.offsetParent !== null)).length";
    assert_eq!(browser.value(empty), 0);

    // The form writes the scenario beside it.
    browser.fill("#field-name", "from the browser");
    browser.choose("#field-load-model", "hybrid");
    browser.fill("#field-load-arrivals", "20/s");
    browser.choose("#field-load-think", "exponential");
    browser.fill("[data-name=mean]", "200ms");
    browser.wait("document.querySelector('.drawn svg polyline')");
    assert_eq!(
        browser.value("document.querySelector('#field-load-users').offsetParent === null"),
        true,
        "it does not apply"
    );
    browser.fill("#field-run-duration", "10m");
    browser.fill("#field-run-warm-up", "200ms");
    browser.fill("#field-run-drain", "1s");
    browser.wait("/drain = .1s/.test(document.querySelector('#text').value)");
    browser.wait("document.querySelector('#new-status').textContent === 'The scenario is valid.'");
    let written = browser.value("document.querySelector('#text').value");
    let written = written.as_str().expect("a text");
    for part in [
        "name = \"from the browser\"",
        "model = \"hybrid\"",
        "distribution = \"exponential\"",
        "mean = \"200ms\"",
    ] {
        assert!(written.contains(part), "`{part}` is not in: {written}");
    }
    // What is wrong is said, with its line.
    let text = "document.querySelector('#text')";
    browser.value(&format!(
        "({text}.value = {text}.value.replace('10m', '10 parsecs'), {text}.dispatchEvent(new Event('input')))"
    ));
    browser.wait("document.querySelector('#new-status').textContent.includes('run.duration')");
    browser.value(&format!(
        "({text}.value = {text}.value.replace('10 parsecs', '10m'), {text}.dispatchEvent(new Event('input')))"
    ));
    browser.wait("document.querySelector('#new-status').textContent === 'The scenario is valid.'");
    browser.is_accessible("the form");

    // Started, shown, stopped.
    browser.fill("#file", "browser.toml");
    browser.click("#start");
    browser.wait("location.hash === '#run/1'");
    browser.wait("document.querySelector('#run-phase').textContent.startsWith('measuring')");
    browser.wait("document.querySelector('#run-outcomes').textContent.includes('ok')");
    browser.wait("document.querySelector('#run-charts polyline')");
    browser.is_accessible("a run");
    browser.resize(400, 800);
    assert_eq!(
        browser.value("document.documentElement.scrollWidth <= window.innerWidth"),
        true,
        "it fits a phone"
    );
    browser.click("#stop");
    browser.wait("document.querySelector('#run-phase').textContent.startsWith('ended: stopped')");

    // The list of runs, with a run of a hostile name.
    let run =
        fs::read_dir(bench.place.path("runs")).expect("runs").next().expect("a run").expect("a run").path();
    let twin = bench.place.path("runs").join("<img src=x onerror=\"document.title='owned'\">");
    fs::create_dir(&twin).expect("a folder");
    fs::copy(run.join("summary.json"), twin.join("summary.json")).expect("copied");
    browser.value("(location.hash = '#runs')");
    browser.wait("document.querySelectorAll('#runs-rows tr').length === 2");
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    assert_eq!(browser.value("document.title"), "Runs · farfield");
    assert_eq!(
        browser.value("document.documentElement.scrollWidth <= window.innerWidth"),
        true,
        "it fits a phone"
    );
    browser.resize(1280, 900);
    browser.fill("#search", "INCOMPLETE onerror");
    browser.wait("document.querySelectorAll('#runs-rows tr').length === 1");
    browser.is_accessible("the list of runs");
    for _ in 0..2 {
        browser.click("#theme");
    }
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(24, 24, 24)");
    browser.is_accessible("the list of runs in dark colours");
    browser.is_quiet(&bench.origin);
    let report = browser.value("document.querySelector('#runs-rows a').href");
    browser.open(report.as_str().expect("a URL"));
    browser.wait("document.querySelector('button.theme')");
    assert_eq!(browser.value("document.querySelector('.verdict h2').textContent"), "INCOMPLETE");
}
