//! The workbench's form in Chromium: stages, hosts, flows and sessions, made in it and gone through it.

use super::driver::Browser;
use super::workbench::Bench;
use serde_json::{Value, json};
use std::fs;
use toml::Table;

/// Flows with sessions and stages, a host, and keys that the form does not have beside those that it has.
const FLOWS: &str = r#"# A comment.
target = "http://127.0.0.1:9/"
thresholds = ["p99{api}<200ms"]

[verdict]
worker-busy = 0.9

[[host]]
url = "http://127.0.0.1:8/"
name = "files"

[[flow]]
name = "browse"

[flow.load]
users = 2
stages = "1s:2,0s:4,2s:0"
think = { distribution = "inverse-gaussian", mean = 2.0, shape = 3.0 }

[flow.session]
cookies = false

[flow.session.transitions]
home = { list = 1.0 }
list = { end = 1.0 }

[[flow.session.data]]
file = "users.csv"

[[flow.session.state]]
name = "home"
path = "/"
embedded = ["/style.css"]
check = { status = [200, "300-399"], contains = "Welcome" }
extract.item = { css = "a.item", attribute = "href", default = "" }

[[flow.session.state]]
name = "list"
path = "${item}"
body = """
a=1
b=${user}
"""

[[flow]]
name = "api"
load = { model = "open", arrivals = "5/s", users-max = 9 }
requests = { request = [{ path = "/a", weight = 2, headers = { x = "1" } }, { path = "http://127.0.0.1:8/b" }] }
"#;

const VALID: &str = "document.querySelector('#new-status').textContent === 'The scenario is valid.'";

/// Writes the scenario of flows, and the file that it names.
pub fn write_flows(bench: &Bench) {
    bench.place.write("flows.toml", FLOWS);
    bench.place.write("users.csv", "name\nann\nbob\n");
}

/// Shows the scenario of flows in the form.
#[track_caller]
pub fn open_flows(browser: &Browser, bench: &Bench) {
    browser.open("about:blank");
    browser.open(&format!("{}/#token={}&new", bench.origin, bench.token));
    browser.wait("document.querySelector('#files option[value=\"flows.toml\"]')");
    browser.wait(VALID);
    browser.choose("#files", "flows.toml");
    browser.click("#open");
    browser.wait("document.querySelectorAll('#field-flow > fieldset').length === 2");
    browser.wait(VALID);
    browser.wait("document.querySelector('#field-flow .drawn svg polyline')");
}

/// True once a sentence is shown at what `selector` names.
#[track_caller]
fn wait_for_mistake(browser: &Browser, selector: &str, words: &str) {
    browser.wait(&format!("document.querySelector(\"{selector}\")?.textContent.includes('{words}')"));
}

fn table(text: &str) -> Table {
    text.parse().expect(text)
}

/// The scenario beside the form.
#[track_caller]
fn scenario(browser: &Browser) -> Table {
    table(browser.value("document.querySelector('#text').value").as_str().expect("a text"))
}

/// Three stages are filled in, drawn, corrected where they are wrong, and run.
#[test]
fn a_load_of_three_stages_is_made_in_the_form_and_run() {
    let bench = Bench::begin();
    let test = "a_load_of_three_stages_is_made_in_the_form_and_run";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    browser.open(&format!("{}/#token={}&new", bench.origin, bench.token));
    browser.wait("document.querySelector('#field-load-model')");
    browser.wait(VALID);
    browser.choose("#field-plane", "simulated");
    browser.fill("#field-load-think + .parameters input", "100ms");
    let cell = |nth: u32, key: &str| format!("#field-load-stages tr:nth-child({nth}) [data-key={key}]");
    for (nth, (lasts, to)) in (1..).zip([("1s", "4"), ("9s", "9"), ("2s", "many"), ("1s", "0")]) {
        browser.click("#field-load-stages-add");
        browser.fill(&cell(nth, "for"), lasts);
        browser.fill(&cell(nth, "to"), to);
    }
    // The stage that is wrong is shown as such; another one is removed, and it is the one that it was.
    let wrong = "#field-load-stages tr:nth-child(3) .wrong:not([hidden])";
    wait_for_mistake(&browser, wrong, "`many` is no number of users");
    browser.click("#field-load-stages tr:nth-child(2) [aria-label^=Remove]");
    let wrong = "#field-load-stages tr:nth-child(2) .wrong:not([hidden])";
    wait_for_mistake(&browser, wrong, "`many` is no number of users");
    assert_eq!(
        browser.value(&format!("document.querySelector('{}').ariaInvalid", cell(2, "to"))),
        "true",
        "assistive programs have it too"
    );
    browser.fill(&cell(2, "to"), "4");
    browser.fill(&cell(2, "name"), "plateau");
    browser.wait("document.querySelector('#text').value.includes('plateau')");
    browser.wait(VALID);
    assert_eq!(browser.value("document.querySelectorAll('#form .wrong:not([hidden])').length"), 0);
    browser.wait("document.querySelector('#form .drawn svg polyline')");
    browser.is_accessible("the form with stages");
    let expected = "model = 'closed'\nthink = '100ms'\nstages = [{ for = '1s', to = 4 }, \
                    { for = '2s', to = 4, name = 'plateau' }, { for = '1s', to = 0 }]";
    let mut load = scenario(&browser)["load"].as_table().expect("a load").clone();
    load.entry("model").or_insert_with(|| "closed".into());
    assert_eq!(load, table(expected));

    browser.fill("#file", "stages.toml");
    browser.click("#start");
    browser.wait("location.hash === '#run/1'");
    browser.wait("document.querySelector('#run-phase').textContent.startsWith('ended')");
    let mut runs = fs::read_dir(bench.place.path("runs")).expect("runs");
    let run = runs.next().expect("a run").expect("a run").path();
    let summary = fs::read_to_string(run.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let names: Vec<&Value> =
        summary["stages"].as_array().expect("stages").iter().map(|stage| &stage["name"]).collect();
    assert_eq!(names, ["stage-1", "plateau", "stage-3"]);
    browser.is_quiet(&bench.origin);
}

/// A scenario of flows and sessions is opened, a field of it changed, and saved: nothing else of it differs.
#[test]
fn a_scenario_of_flows_goes_through_the_form_whole() {
    let bench = Bench::begin();
    let test = "a_scenario_of_flows_goes_through_the_form_whole";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    write_flows(&bench);
    open_flows(&browser, &bench);
    let others = "[...document.querySelectorAll('#form .help')].map((line) => line.textContent).join()";
    let others = browser.value(others);
    for key in ["session.transitions", "session.data", "embedded", "verdict"] {
        assert!(others.as_str().is_some_and(|text| text.contains(key)), "{key} is not named: {others}");
    }
    browser.is_accessible("flows in the form");
    let metrics = json!({ "width": 360, "height": 900, "deviceScaleFactor": 1, "mobile": false });
    browser.emulate("Emulation.setDeviceMetricsOverride", &metrics);
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert_eq!(browser.value(fits), true, "it fits a phone");
    browser.emulate("Emulation.clearDeviceMetricsOverride", &json!({}));

    // A mistake of a flow is shown at its field, and goes with it.
    let of_flow = |nth: u32, key: &str| {
        format!("#field-flow > fieldset:nth-child({nth}) > .fields > .field > [data-key='{key}']")
    };
    browser.fill(&of_flow(2, "load.arrivals"), "-5/s");
    wait_for_mistake(&browser, "#field-flow > fieldset:nth-child(2) .wrong:not([hidden])", "-5/s");
    browser.fill(&of_flow(2, "load.arrivals"), "5/s");
    browser.wait(VALID);
    assert_eq!(browser.value("document.querySelectorAll('#form .wrong:not([hidden])').length"), 0);

    browser.fill(&of_flow(1, "load.users"), "3");
    browser.wait("document.querySelector('#text').value.includes('users = 3')");
    browser.wait(VALID);
    browser.click("#save");
    browser.wait("document.querySelector('#new-status').textContent === 'Saved as flows.toml.'");
    let saved = fs::read_to_string(bench.place.path("flows.toml")).expect("the file");
    let mut expected = table(FLOWS);
    expected["flow"][0]["load"]["users"] = toml::Value::Integer(3);
    assert_eq!(table(&saved), expected);
    browser.is_quiet(&bench.origin);
}

/// A flow takes over the load that was there, and gets a session of a step with a check and a value; where it
/// is removed, the load is there again.
#[test]
fn a_flow_with_a_session_is_made_in_the_form() {
    let bench = Bench::begin();
    let test = "a_flow_with_a_session_is_made_in_the_form";
    let Some(browser) = Browser::begin(&bench.place, test) else { return };
    browser.open(&format!("{}/#token={}&new", bench.origin, bench.token));
    browser.wait("document.querySelector('#field-load-model')");
    browser.wait(VALID);
    browser.fill("#field-load-users", "3");
    browser.click("#field-flow-add");
    let is_shown = "document.querySelector('#field-load-users').offsetParent !== null";
    assert_eq!(browser.value(is_shown), false, "the flow has a load of its own");
    let flow = "#field-flow > fieldset > .fields >";
    browser.fill(&format!("{flow} .field > [data-key=name]"), "browse");
    browser.click(&format!("{flow} .field > [id$=session-state-add]"));
    let step = format!("{flow} .field [id$=session-state] > fieldset > .fields >");
    browser.fill(&format!("{step} .field > [data-key=name]"), "home");
    browser.fill(&format!("{step} .field > [data-key=path]"), "/");
    browser.fill(&format!("{step} .field > [data-key='check.contains']"), "hello");
    browser.click(&format!("{step} .field > [id$=extract-add]"));
    browser.fill(&format!("{step} .field [data-key=what]"), "a");
    browser.fill(&format!("{step} .field td > [data-key=name]"), "item");
    let row = format!("{step} .field td > .wrong:not([hidden])");
    wait_for_mistake(&browser, &row, "choose how");
    browser.choose(&format!("{step} .field td > [data-key=by]"), "css");
    browser.wait("document.querySelector('#text').value.includes('extract')");
    browser.wait(VALID);
    let expected = "[[flow]]\nname = 'browse'\nload = { users = 3 }\n[[flow.session.state]]\nname = 'home'\n\
                    path = '/'\ncheck.contains = ['hello']\nextract.item.css = 'a'\n";
    assert_eq!(scenario(&browser), table(expected));
    browser.is_accessible("a flow in the form");

    browser.click("#field-flow > fieldset > .tools > [aria-label^=Remove]");
    browser.wait("document.querySelector('#text').value.includes('[load]')");
    assert_eq!(browser.value(is_shown), true);
    assert_eq!(scenario(&browser), table("[load]\nusers = 3\n"));
    browser.is_quiet(&bench.origin);
}
