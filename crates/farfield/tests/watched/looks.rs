//! Pages as they look: each kind at four widths, in light and in dark colours, in one Chromium that lays them
//! out. `looks.js` finds what a person would see: what sticks out, what lies upon other text, drawings that
//! are cut, charts that are small beside empty boxes, faint lines; axe-core finds what keeps people from
//! using a page.
//!
//! Pictures of all pages lie in the target folder, `tmp/pages/`, after a test.

use super::driver::Browser;
use super::form::{open_flows, write_flows};
use super::workbench::Bench;
use crate::common::Place;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const WIDTHS: [u32; 4] = [360, 768, 1280, 1920];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// Widths and colours of pictures and of axe-core, which takes longest: a desk by day and a phone by night.
const READ: [(u32, &str); 2] = [(1280, "light"), (360, "dark")];
/// Further pages of a kind that axe-core has seen.
const SEEN: [&str; 3] = ["report-stages", "report-open", "report-empty"];
/// Pixels of a picture from the top.
const PICTURE_MAX: u64 = 8_000;

const FAULTS: &str = include_str!("looks.js");

/// Users, pages and stages before a model of a server, with clients of two classes.
const STAGES: &str = "name = 'a <b>name</b> & more'\nnote = 'after the index: <script>alert(1)</script>'\nplane = 'simulated'\n\
    load = { model = 'closed', think = '50ms', stages = [{ to = 20, for = '4s' }, { to = 20, for = '4s', name = 'hold' }] }\n\
    run = { warm-up = '1s' }\nthresholds = ['p99<400ms']\n[simulated]\nworkers = 2\nservice-time = '2ms'\n\
    [[network.class]]\nname = 'near'\nrtt = '10ms'\n[[network.class]]\nname = 'far'\nrtt = '150ms'\n";

/// A server with one worker, and few users.
const SERVER: &str = "plane = 'simulated'\nload = { model = 'closed', users = 4, think = { distribution = \
    'exponential', mean = '50ms' } }\nrun = { duration = '4s', warm-up = '0s' }\nnetwork = { rtt = '1ms' }\n\
    [simulated]\nworkers = 1\nservice-time = '2ms'\n";

/// Two flows, a host beside the target, streams of events, and failures of several codes on several paths.
fn mixed(target: &str, other: &str) -> String {
    format!(
        "name = 'mixed'\ntarget = '{target}/'\n[run]\nwarm-up = '500ms'\nduration = '2500ms'\ndrain = '500ms'\n\
         [connections]\nrequest-timeout = '300ms'\n[[host]]\nurl = '{other}/'\nname = 'cdn'\n\
         [[flow]]\nname = 'browse'\nload = {{ users = 10, think = '20ms' }}\n\
         requests = {{ request = [{{ path = '/bytes/1000', weight = 20 }}, {{ path = '/status/404' }}, \
         {{ path = '/status/503' }}, {{ path = '/delay/0.5' }}, {{ path = '{other}/a-long-name-of-a-path-that-is-on-another-host.html?query=1' }}] }}\n\
         [[flow]]\nname = 'feed'\nload = {{ users = 3, think = '20ms' }}\nrequests = {{ request = [{{ path = '/events/20/10/60' }}] }}\n"
    )
}

/// A log of two pages an hour, each with an image.
fn log() -> String {
    let line = |at: u32| {
        let (minute, second, path) =
            (at / 30 % 60, at % 30, ["/a.html", "/a.png", "/b.html", "/b.png"][at as usize % 4]);
        format!(
            "10.0.{}.{} - - [01/Feb/2001:10:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 {}\n",
            at / 250,
            at % 250,
            900 + at % 77
        )
    };
    (0..900).map(line).collect()
}

/// The folder of pictures.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).expect("the target folder");
    folder
}

/// Faults of a page at each width and in both colour schemes, of the one that is shown without a URL; none if
/// it looks right.
fn faults(browser: &Browser, kind: &str, url: &str) -> Vec<String> {
    let mut all = Vec::new();
    if !url.is_empty() {
        browser.open(url);
    }
    for scheme in SCHEMES {
        browser.emulate(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
        for width in WIDTHS {
            browser.emulate(
                "Emulation.setDeviceMetricsOverride",
                &json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
            );
            let place = format!("{kind} at {width} px, {scheme}");
            // A frame later the page's own observers of sizes have run.
            browser.wait_for_frame();
            let found = browser.run(FAULTS);
            let found = found.as_array().into_iter().flatten().filter_map(Value::as_str);
            all.extend(found.map(|fault| format!("{place}: {fault}")));
            if READ.contains(&(width, scheme)) {
                if !SEEN.contains(&kind) {
                    browser.is_accessible(&place);
                }
                let picture = browser.whole_picture(width, PICTURE_MAX);
                fs::write(pictures().join(format!("{kind}-{width}-{scheme}.png")), picture)
                    .expect("a picture");
            }
        }
    }
    all
}

/// A run's report of four kinds, two sides compared, a sweep, a search for capacity, and a fit.
#[test]
fn pages_look_right_at_every_width_in_light_and_dark() {
    let place = Place::new();
    let Some(browser) = Browser::begin(&place, "pages_look_right_at_every_width_in_light_and_dark") else {
        return;
    };
    let (target, other) = (place.serve(""), place.serve("--error-rate 0.1"));
    place.write("mixed.toml", mixed(&target.url, &other.url));
    place.write("stages.toml", STAGES);
    place.write("server.toml", SERVER);
    place.write("access.log", log());
    for (words, name) in [
        ("run mixed.toml -t 1", "mixed"),
        ("run stages.toml", "stages"),
        ("run --plane simulated -R 200 -d 8s", "open"),
        ("run --plane simulated -R 1 -d 100ms --warm-up 0s", "empty"),
    ] {
        // A busy machine makes a run invalid, whose page is to look right as well.
        place.farfield(&format!("{words} -q -o {name}"));
    }
    let sweep = "sweep server.toml --vary network.rtt=1ms,20ms --vary load.users=4,8 --repeats 3 -o swept -q";
    place.farfield(sweep).exits(0);
    let compared = place.farfield("compare swept/point-01 swept/point-03 --format html").exits(0).stdout;
    place.write("compared.html", compared);
    place.farfield("capacity server.toml --slo p99<40ms --seed 9 --budget 5s -o trials -q");
    place.farfield("fit access.log -o fitted --single-distributions").exits(0);
    let pages = [
        ("report-mixed", "mixed/report.html"),
        ("report-stages", "stages/report.html"),
        ("report-open", "open/report.html"),
        ("report-empty", "empty/report.html"),
        ("compare", "compared.html"),
        ("sweep", "swept/sweep.html"),
        ("capacity", "trials/capacity.html"),
        ("fit", "fitted/report.html"),
    ];
    let of_page = |(kind, file): (&str, &str)| {
        let page = place.path(file);
        assert!(page.is_file(), "{file}");
        faults(&browser, kind, &format!("file://{}", page.display()))
    };
    let all: Vec<String> = pages.into_iter().flat_map(of_page).collect();
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
    browser.is_quiet("file:");
}

/// The workbench: its list of runs, its form and a run.
#[test]
fn the_workbench_looks_right_at_every_width_in_light_and_dark() {
    let bench = Bench::begin();
    let test = "the_workbench_looks_right_at_every_width_in_light_and_dark";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    bench.place.write("stages.toml", STAGES);
    for name in ["first", "a-second-run-with-a-name-that-is-longer-than-most-names-of-runs"] {
        bench.place.farfield(&format!("run stages.toml -q --no-report -o runs/{name}"));
    }
    let mut all = Vec::new();
    for (kind, shown) in [("runs", "#runs-rows tr"), ("new", "#field-load-model")] {
        browser.open("about:blank");
        browser.open(&format!("{}/#token={}&{kind}", bench.origin, bench.token));
        browser.wait(&format!("document.querySelector('{shown}')"));
        all.extend(faults(&browser, &format!("workbench-{kind}"), ""));
    }
    // The form with rows of each kind in it.
    write_flows(&bench);
    open_flows(&browser, &bench);
    all.extend(faults(&browser, "workbench-flows", ""));
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

/// Each fault, planted by itself into a page without any, is found and named, and nothing else is.
#[test]
fn planted_faults_are_found() {
    let place = Place::new();
    let Some(browser) = Browser::begin(&place, "planted_faults_are_found") else { return };
    let chart = |more: &str, text: &str| {
        format!(
            "<svg viewBox='0 0 480 300' style='width:100%;height:auto;display:block' role='img' aria-label='c'><rect width='480' height='300' fill='#fff'/>\
             <g class='scales' data-x='linear 0 1 50 450' data-y='linear 0 1 260 40' data-kind=''/>\
             <g class='series' data-name='s'><polyline points='50,50 450,200' fill='none' stroke='#0072b2'/></g>{more}\
             <text x='60' y='20' fill='#222'>{text}</text></svg>"
        )
    };
    let whole = chart("", "a name");
    let plain = format!("<figure style='margin:0'>{whole}</figure>");
    let boxes = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20em,100%),1fr));gap:15px";
    for (fault, inside) in [
        ("", plain.clone()),
        ("px wide in a window", "<div style='width:3000px'>wide</div>".to_owned()),
        (
            "sticks out of the window",
            "<p style='position:relative;left:-200px;width:90%'>far left</p>".to_owned(),
        ),
        (
            "hides its end",
            "<p style='width:60px;overflow:hidden;white-space:nowrap'>a sentence without an end</p>"
                .to_owned(),
        ),
        (
            "scrolls by the pointer alone",
            "<div style='width:100px;overflow-x:auto'><p style='width:300px'>wide</p></div>".to_owned(),
        ),
        (
            "overlap",
            "<p style='margin:0'>one sentence</p><p style='margin:-1.2em 0 0'>another one</p>".to_owned(),
        ),
        ("leaves its drawing", chart("<text x='-30' y='100' fill='#222'>cut at the left</text>", "a")),
        ("faint text", chart("<text x='100' y='100' fill='#bbb'>faint</text>", "a")),
        ("faint line", whole.replace("stroke='#0072b2'", "stroke='#f0e442'")),
        // As it was: buttons that became cells of the grid in which charts stand.
        (
            "a chart of",
            format!("<div class='pair' style='{boxes}'>{whole}<p>save as SVG</p><p>save as PNG</p></div>"),
        ),
        ("of its chart's height", whole.replace("1 260 40", "1 260 180")),
    ] {
        let page = format!(
            "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>t</title>\
             <body style='max-width:1000px;margin:1em auto;padding:0 15px;background:#fff;color:#222'><h1>A page</h1>{plain}{inside}</body></html>"
        );
        let file = place.write("planted.html", page);
        browser.open(&format!("file://{}", file.display()));
        browser.emulate(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
        );
        let found = browser.run(FAULTS);
        let found: Vec<&str> = found.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        match fault {
            "" => assert_eq!(found, [""; 0]),
            fault => assert!(found.iter().any(|one| one.contains(fault)), "{fault}: {found:?}"),
        }
    }
}
