//! The report and the workbench in Chromium, used as a person uses them.

use super::driver::Browser;
use super::text;
use super::workbench::Bench;
use crate::common::{Place, Signal};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// The lines of a chart over time, by its place.
fn points(browser: &Browser, chart: usize) -> String {
    let of = format!("[...document.querySelectorAll('svg:has(g.scales[data-kind=time])')][{chart}]");
    let points = browser.value(&format!(
        "[...{of}.querySelectorAll('g.series polyline')].map((line) => line.getAttribute('points')).join('|')"
    ));
    points.as_str().expect("points").to_owned()
}

const FIRST: &str = "svg:has(g.scales[data-kind=time])";

#[expect(clippy::too_many_lines, reason = "one scene, step by step")]
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

    // Charts beside each other are large, and their buttons are not.
    let heights = "[...document.querySelectorAll('figure button:not([hidden])')].map((button) => button.getBoundingClientRect().height)";
    let widths =
        "[...document.querySelectorAll('.pair svg')].map((svg) => svg.getBoundingClientRect().width)";
    let of = |numbers: &str| -> Vec<f64> {
        let numbers = browser.value(numbers);
        numbers.as_array().expect("numbers").iter().filter_map(serde_json::Value::as_f64).collect()
    };
    let (heights, widths) = (of(heights), of(widths));
    assert!(heights.len() > 8 && heights.iter().all(|height| *height < 50.0), "{heights:?}");
    assert!(widths.len() > 3 && widths.iter().all(|width| *width > 400.0), "{widths:?}");

    // Hover: the cursor is at the same second in all charts over time.
    browser.point(FIRST, 0.5, None);
    let readings = browser.value("[...document.querySelectorAll('figure:has(g.scales[data-kind=time]) .reading')].map((text) => text.textContent)");
    let readings: Vec<&str> =
        readings.as_array().expect("texts").iter().filter_map(|text| text.as_str()).collect();
    let second = readings[0].split(':').next().expect("a second");
    assert!(second.parse::<f64>().is_ok_and(|second| (5.0..16.0).contains(&second)), "{readings:?}");
    assert!(
        readings.len() >= 2 && readings.iter().all(|text| text.starts_with(&format!("{second}:"))),
        "{readings:?}"
    );
    assert!(readings[0].contains("succeeded"), "{readings:?}");

    // What is read are the run's own numbers, not those of pixels.
    let file = fs::File::open(run.directory.join("series.parquet")).expect("a series");
    let rows = farfield_measure::series::read_parquet(file).expect("rows");
    let row = &rows[second.parse::<usize>().expect("a second")];
    let exact = format!("succeeded {}", row.succeeded);
    assert!(readings[0].split("  ").any(|part| part == exact), "{exact}: {readings:?}");

    // A name in the legend hides its line, from the reading too; its number on the keyboard shows it again.
    let shown = format!("getComputedStyle(document.querySelector('{FIRST} g.series')).display !== 'none'");
    browser.click(&format!("{FIRST} g.key text"));
    assert_eq!(browser.value(&shown), false);
    browser.point(FIRST, 0.5, None);
    let reading = browser.value("document.querySelector('.reading').textContent");
    let reading = reading.as_str().expect("a text");
    assert!(reading.contains("succeeded") && !reading.contains("offered"), "{reading}");
    browser.value(&format!(
        "document.querySelector('{FIRST}').dispatchEvent(new KeyboardEvent('keydown', {{ key: '1' }}))"
    ));
    assert_eq!(browser.value(&shown), true);

    // Zoom: a part of the axis in all charts over time, and back.
    let whole = [points(&browser, 0), points(&browser, 1)];
    browser.point(FIRST, 0.4, Some(0.6));
    let magnified = [points(&browser, 0), points(&browser, 1)];
    assert!(whole[0] != magnified[0] && whole[1] != magnified[1], "both are magnified");
    assert!(magnified[0].split(' ').count() < whole[0].split(' ').count());
    // Areas are cut as their lines are.
    let areas = browser.value("[...document.querySelectorAll('polygon')].map((area) => area.getAttribute('points').split(' ').length)");
    let areas: Vec<u64> = areas.as_array().expect("areas").iter().filter_map(Value::as_u64).collect();
    assert!(areas.len() == 2 && areas.iter().all(|points| (4..40).contains(points)), "{areas:?}");
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

#[expect(clippy::too_many_lines, reason = "one scene, step by step")]
#[test]
fn the_workbench_writes_starts_shows_and_stops_a_run() {
    let bench = Bench::begin();
    let test = "the_workbench_writes_starts_shows_and_stops_a_run";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    let hostile = "<img src=x onerror=\"document.title='owned'\">.toml";
    assert_eq!(bench.post("/api/save", &json!({ "file": hostile, "text": "" })).0, 200);
    browser.open(&format!("{}/#token={}&new", bench.origin, bench.token));
    browser.wait("document.querySelector('#field-load-model')");
    assert_eq!(browser.value("location.hash"), "#new", "the token has left the address");

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
    // A mistake is reported, with its line.
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
    browser.click("#runs-rows a");
    browser.wait("document.querySelector('#page-frame iframe')");
    browser.enter("#page-frame iframe");
    browser.wait("document.querySelector('button.theme')");
    assert_eq!(browser.value("document.querySelector('.verdict h2').textContent"), "INCOMPLETE");
}

/// The list of runs: sorted, a run named and noted anew, deleted once that is confirmed, and made again with
/// changes in the form.
#[test]
fn kept_runs_are_sorted_named_deleted_and_made_again() {
    let bench = Bench::begin();
    let test = "kept_runs_are_sorted_named_deleted_and_made_again";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    for (name, rate) in [("a", 200), ("b", 400), ("c", 100)] {
        bench.place.farfield(&format!("run --plane simulated -R {rate} -d 5s -q -o runs/{name}")).exits(0);
    }
    browser.open(&format!("{}/#token={}", bench.origin, bench.token));
    browser.wait("document.querySelectorAll('#runs-rows tr').length === 3");
    let names =
        "[...document.querySelectorAll('#runs-rows td:nth-child(3)')].map((cell) => cell.textContent).join()";
    let newest_first = browser.value(names);
    let head = "th[data-by=rate]";
    for (order, direction) in [(json!("c,a,b"), json!("ascending")), (json!("b,a,c"), json!("descending"))] {
        browser.click(&format!("{head} button"));
        assert_eq!(browser.value(names), order);
        assert_eq!(browser.value(&format!("document.querySelector('{head}').ariaSort")), direction);
    }
    browser.is_accessible("the list, sorted");
    browser.click("th[data-by=run] button");
    assert_eq!(browser.value(names), "a,b,c");
    assert_eq!(browser.value("document.querySelectorAll('th[aria-sort]').length"), 1);
    browser.click("th[data-by=run] button");
    browser.click("th[data-by=run] button");
    assert_eq!(browser.value(names), newest_first);
    browser.click("th[data-by=run] button");

    let nth =
        |row: u32, button: u32| format!("#runs-rows tr:nth-child({row}) .actions > :nth-child({button})");
    let hostile = "<img src=x onerror=\"document.title='owned'\">";
    browser.click(&nth(1, 2));
    browser.wait("document.querySelector('#describe').open");
    browser.is_accessible("the question for a name");
    browser.fill("#describe-name", hostile);
    browser.fill("#describe-note", hostile);
    browser.click("#describe-yes");
    browser.wait(&format!("{names}.includes('onerror')"));
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    assert_eq!(browser.value("document.title"), "Runs · farfield");

    // Deleted only once that is confirmed.
    let rows =
        |count: u32| browser.wait(&format!("document.querySelectorAll('#runs-rows tr').length === {count}"));
    browser.value("[...document.querySelectorAll('#runs-rows tr')].find((row) => row.textContent.includes('open, 100/s')).id = 'third'");
    browser.click("#third .actions > :nth-child(3)");
    browser.wait("document.querySelector('#delete').open");
    assert_eq!(browser.value("document.querySelector('#delete-title').textContent"), "Delete c?");
    browser.is_accessible("the question before a run is deleted");
    browser.click("#delete button[value=no]");
    browser.wait("!document.querySelector('#delete').open");
    assert!(bench.place.path("runs/c/summary.json").is_file());
    rows(3);
    browser.click("#third .actions > :nth-child(3)");
    browser.click("#delete-yes");
    rows(2);
    assert!(!bench.place.path("runs/c").exists());
    browser.resize(400, 800);
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert_eq!(browser.value(fits), true, "it fits a phone");
    browser.resize(1280, 900);

    // Its scenario fills the form, and what is changed there is what runs.
    browser.value("[...document.querySelectorAll('#runs-rows tr')].find((row) => row.textContent.includes('open, 400/s')).id = 'second'");
    browser.click("#second .actions a");
    browser.wait("document.querySelector('#field-plane')?.value === 'simulated'");
    browser.wait("document.querySelector('#new-status').textContent === 'The scenario is valid.'");
    assert_eq!(browser.value("document.querySelector('#new-title').textContent"), "b again, with changes");
    browser.fill("#field-load-arrivals", "300/s");
    browser.wait("document.querySelector('#text').value.includes('300/s')");
    browser.wait("document.querySelector('#new-status').textContent === 'The scenario is valid.'");
    browser.click("#start");
    browser.wait("location.hash === '#run/1'");
    browser.wait("document.querySelector('#run-phase').textContent.startsWith('ended')");
    assert!(browser.value("document.querySelector('#run-load').textContent").to_string().contains("300/s"));
    browser.is_quiet(&bench.origin);
}

/// A server on another port of 127.0.0.1, which keeps the head of each request.
fn neighbour() -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heads = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {}
                kept.lock().expect("whole").push_str(&line);
                let body = "<!doctype html><title>neighbour</title>";
                let head =
                    "HTTP/1.1 200 OK\r\nset-cookie: own=1\r\ncontent-type: text/html\r\nconnection: close";
                let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            });
        }
    });
    (port, heads)
}

/// The workbench, its reports and its events are used; then the browser visits a server beside it.
#[test]
fn the_token_reaches_no_other_server_of_the_machine() {
    let test = "the_token_reaches_no_other_server_of_the_machine";
    let bench = Bench::begin();
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    let (port, heads) = neighbour();
    for (name, rate) in [("a", 200), ("b", 400)] {
        bench.place.farfield(&format!("run --plane simulated -R {rate} -d 5s -q -o runs/{name}")).exits(0);
    }
    let neighbour = format!("http://127.0.0.1:{port}/");
    let visit = || {
        browser.open(&neighbour);
        browser.wait("document.title === 'neighbour'");
    };
    visit();
    browser.open(&format!("{}/#token={}", bench.origin, bench.token));
    browser.wait("document.querySelectorAll('#runs-rows tr').length === 2");
    browser.click("#runs-rows a");
    browser.wait("document.querySelector('#page-frame iframe')");
    // By its address, and by a link and by a script of the page, which send a referrer and cookies of the
    // host.
    visit();
    browser.back();
    browser.wait("document.querySelector('#page-frame iframe')");
    browser.value(&format!("(() => {{ const a = document.createElement('a'); a.href = '{neighbour}link'; a.id = 'away'; document.querySelector('header').append(a); a.append('away'); }})()"));
    browser.click("#away");
    browser.wait("document.title === 'neighbour'");
    // It runs behind names of this machine as well.
    browser.open(&format!("http://localhost:{port}/name"));
    browser.wait("document.title === 'neighbour'");
    let heads = heads.lock().expect("whole").clone();
    for part in ["GET /link ", "GET /name ", "Cookie: own=1"] {
        assert!(heads.contains(part), "`{part}` has not reached it: {heads}");
    }
    assert!(!heads.contains(&bench.token), "{heads}");
    assert!(!heads.to_lowercase().contains("authorization"), "{heads}");
    assert!(!heads.contains(&bench.origin), "no referrer names the workbench: {heads}");
    browser.open(&bench.origin);
    browser.wait("document.querySelectorAll('#runs-rows tr').length === 2");
    assert_eq!(browser.value("document.cookie"), "own=1", "the workbench sets none");
}

/// Tabs, reload, the back button, a bookmark, a workbench that was started again.
#[test]
fn the_token_is_where_its_user_expects_it() {
    let test = "the_token_is_where_its_user_expects_it";
    let bench = Bench::begin_with("ui runs");
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    let asks = "!document.querySelector('#part-token').hidden";
    let shows = "!document.querySelector('#part-runs').hidden";
    browser.open(&format!("{}/#new", bench.origin));
    browser.wait(asks);
    assert_eq!(browser.value("document.querySelector('nav').offsetParent === null"), true);
    let why = browser.value("document.querySelector('#token-why').textContent");
    assert!(why.as_str().is_some_and(|why| why.contains("lacks its token")), "{why}");
    browser.is_accessible("the page without a token");
    // A text that is no URL of farfield's, then a token of another start, then the right one.
    browser.fill("#token-url", "http://127.0.0.1/");
    browser.click("#token-form button");
    browser.wait("document.querySelector('#token-wrong').textContent.includes('no URL')");
    browser.fill("#token-url", &format!("{}/#token=0123456789abcdef", bench.origin));
    browser.click("#token-form button");
    browser.wait("document.querySelector('#token-why').textContent.includes('started again')");
    browser.open(&format!("{}/#token={}", bench.origin, bench.token));
    browser.wait(shows);
    assert_eq!(browser.value("location.href"), format!("{}/", bench.origin));
    browser.reload();
    browser.wait(shows);
    browser.value("(location.hash = '#new')");
    browser.wait("document.querySelector('#field-load-model')");
    browser.back();
    browser.wait(shows);
    assert!(!browser.value("location.href").as_str().is_some_and(|url| url.contains("token")));
    // A new tab, by a bookmark: it has the token from the other one.
    let first = browser.open_tab();
    browser.open(&format!("{}/#new", bench.origin));
    browser.wait("document.querySelector('#field-load-model')");
    browser.turn_to(&first);
    browser.wait(shows);
    // A second workbench on another port knows nothing of the first one's token.
    let other = Bench::begin();
    browser.open(&other.origin);
    browser.wait(asks);
    browser.open(&format!("{}/#token={}", other.origin, other.token));
    browser.wait(shows);
    browser.open(&bench.origin);
    browser.wait(shows);
    // Another workbench on that port, with another token: the open page says so, and takes the new URL.
    let port = bench.origin.rsplit(':').next().expect("a port").to_owned();
    bench.running.signal(Signal::INT);
    bench.running.ended().exits(0);
    let again = Bench::begin_with(&format!("ui runs --listen {port}"));
    browser.wait(asks);
    browser.open(&format!("{}/#token={}", again.origin, again.token));
    browser.wait(shows);
    browser.is_quiet(&again.origin);
}

/// A stream of events is taken apart wherever it was cut.
#[test]
fn events_are_read_however_they_are_cut() {
    let bench = Bench::begin();
    let Some(browser) = Browser::begin(&bench.place, "events_are_read_however_they_are_cut") else { return };
    browser.open(&format!("{}/#token={}", bench.origin, bench.token));
    let stream = ": hello\\n\\nevent: run\\r\\ndata: {\\\"a\\\": 1}\\r\\n\\r\\ndata:two\\rdata: lines\\r\\revent: none\\n\\ndata\\n\\n";
    let of_pieces = |length: usize| {
        browser.value(&format!(
            "import('/events.js').then(({{ parser }}) => {{ const all = []; const feed = parser((event) => all.push([event.name, event.data])); \
             const stream = \"{stream}\"; for (let at = 0; at < stream.length; at += {length}) feed(stream.slice(at, at + {length})); return all; }})"
        ))
    };
    let events = json!([["run", "{\"a\": 1}"], ["message", "two\nlines"], ["message", ""]]);
    for length in [1, 2, 3, 5, 7, 11, 1000] {
        assert_eq!(of_pieces(length), events, "pieces of {length}");
    }
}

/// Programs that a run would start are read before, and started by a click alone.
#[test]
fn programs_are_read_before_they_are_started() {
    let bench = Bench::begin();
    let Some(browser) = Browser::begin(&bench.place, "programs_are_read_before_they_are_started") else {
        return;
    };
    let scenario = "plane = 'emulated'\n[server]\ncommand = 'python3 -m http.server 80'\nuser = 'nobody'\n\
                    environment = { MODE = 'test' }\n[network]\nrtt = '10ms'\n";
    assert_eq!(bench.post("/api/save", &json!({ "file": "s.toml", "text": scenario })).0, 200);
    browser.open(&format!("{}/#token={}&new", bench.origin, bench.token));
    browser.wait("document.querySelector('#files option')");
    browser.click("#open");
    browser.wait("document.querySelector('#programs').textContent.includes('python3 -m http.server 80')");
    browser.click("#start");
    browser.wait("document.querySelector('#confirm').open");
    let asked = browser.value("document.querySelector('#confirm').textContent");
    let asked = asked.as_str().expect("a text");
    for part in ["Start a program?", "python3 -m http.server 80", "as nobody", "server.command", "MODE=test"]
    {
        assert!(asked.contains(part), "`{part}` is not in: {asked}");
    }
    browser.is_accessible("the question");
    browser.click("#confirm button[value=no]");
    browser.wait("document.querySelector('#new-status').textContent.includes('not started')");
    assert_eq!(browser.value("location.hash"), "#new");
    let list: Value = serde_json::from_str(&text(bench.get("/api/runs"))).expect("JSON");
    assert_eq!(list["started"], json!([]));
}

/// Reports and comparisons inside the page: read, saved, reached by the back button; on a phone as well.
#[test]
fn reports_and_comparisons_are_shown_within_the_page_and_apart_from_it() {
    let test = "reports_and_comparisons_are_shown_within_the_page_and_apart_from_it";
    let bench = Bench::begin_with("ui runs --read-only");
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    for (name, rate) in [("b", 400), ("a", 200)] {
        bench.place.farfield(&format!("run --plane simulated -R {rate} -d 5s -q -o runs/{name}")).exits(0);
    }
    // The start of a run has whole seconds, and both may have begun in the same one.
    let file = bench.place.path("runs/b/summary.json");
    let mut summary: Value = serde_json::from_slice(&fs::read(&file).expect("the summary")).expect("JSON");
    summary["heading"]["started_at"] = json!("2026-01-01T00:00:00Z");
    fs::write(&file, summary.to_string()).expect("written");
    browser.open(&format!("{}/#token={}", bench.origin, bench.token));
    browser.wait("document.querySelectorAll('#runs-rows tr').length === 2");
    assert_eq!(browser.value("document.querySelectorAll('nav a').length"), 1, "nothing to start");
    browser.value("document.querySelectorAll('#runs-rows input').forEach((box) => box.click())");
    browser.click("#compare");
    browser.wait("document.querySelector('#page-frame iframe')");
    browser.enter("#page-frame iframe");
    browser.wait("document.body.textContent.includes('open, 400/s')");
    // The older run is the base, whatever their names: b began first.
    let base = browser.value("document.querySelector('p.name').textContent");
    assert!(base.as_str().is_some_and(|text| text.contains("open, 400/s")), "{base}");
    browser.leave_frame();
    browser.resize(400, 800);
    browser.enter("#page-frame iframe");
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert_eq!(browser.value(fits), true, "the comparison fits a phone");
    browser.leave_frame();
    browser.resize(1280, 900);
    browser.is_quiet(&bench.origin);
    browser.enter("#page-frame iframe");
    // Without an origin: neither storage nor the server is in reach.
    assert_eq!(browser.value("origin"), "null");
    let storage =
        "(() => { try { return String(sessionStorage.length); } catch (error) { return error.name; } })()";
    assert_eq!(browser.value(storage), "SecurityError");
    let asked = format!("fetch('{}/api/about').then(() => 'answered', () => 'refused')", bench.origin);
    assert_eq!(browser.value(&asked), "refused");
    let reached =
        "(() => { try { return String(parent.document.title); } catch (error) { return error.name; } })()";
    assert_eq!(browser.value(reached), "SecurityError");
    browser.leave_frame();
    browser.back();
    browser.wait("!document.querySelector('#part-runs').hidden");
    assert_eq!(browser.value("document.querySelectorAll('iframe').length"), 0, "nothing of it runs on");
    // The page in the page has the theme that was chosen around it.
    browser.click("#theme");
    browser.click("#theme");
    browser.click("#runs-rows tr:first-child a");
    browser.wait("document.querySelector('#page-save:enabled')");
    browser.enter("#page-frame iframe");
    browser.wait("document.querySelector('.verdict h2')?.textContent === 'VALID'");
    let paper = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.value(paper), "rgb(24, 24, 24)", "the dark theme");
    browser.click("button.theme");
    browser.value(
        "[...document.querySelectorAll('button')].find((one) => one.textContent === 'save as SVG').click()",
    );
    browser.leave_frame();
    assert!(browser.saved("Throughput.svg").starts_with(b"<svg "));
    browser.click("#page-save");
    assert!(browser.saved("a.html").starts_with(b"<!doctype html>"));
    browser.is_accessible("a report in the page");
    browser.resize(400, 800);
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert_eq!(browser.value(fits), true, "it fits a phone");
    browser.reload();
    browser.wait("document.querySelector('#page-save:enabled')");
    // A run that is not there.
    browser.value("(location.hash = '#report/absent')");
    browser.wait("document.querySelector('#page-status').className === 'wrong'");
}
