//! A browser driven as a person does: Debian's Chromium, through its driver, by WebDriver (W3C) as JSON
//! over HTTP.
//!
//! Ends with the test, and its browser with it.

use super::{client, text};
use crate::common::{Place, Process, poll, skip, try_poll};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The key under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Longer than a page takes for anything on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Browser {
    driver: Process,
    session: String,
    downloads: PathBuf,
    axe: String,
}

impl Browser {
    /// A browser of 1280 by 900; `None` where this machine lacks one, which is reported for `test`.
    pub fn begin(place: &Place, test: &str) -> Option<Browser> {
        let axe = std::env::var_os("FARFIELD_AXE").and_then(|path| fs::read_to_string(path).ok());
        let Some(axe) = axe else {
            skip(test, "no axe-core: FARFIELD_AXE names no file of it");
            return None;
        };
        if Command::new("chromedriver").arg("--version").output().is_err() {
            skip(test, "no chromedriver");
            return None;
        }
        let log = place.path("driver.log");
        let mut command = Command::new("chromedriver");
        command
            .arg("--port=0")
            .stdout(File::create(&log).expect("own file"))
            .stderr(File::create(place.path("driver.err")).expect("own file"));
        let driver = Process::start(&mut command, place);
        let port = poll("the driver to say its port", || {
            let said = fs::read_to_string(&log).ok()?;
            said.split_once("successfully on port ")?.1.split_once('.').map(|(port, _)| port.to_owned())
        });
        let downloads = place.path("downloads");
        fs::create_dir_all(&downloads).expect("own folder");
        let mut browser =
            Browser { driver, session: format!("http://127.0.0.1:{port}/session"), downloads, axe };
        // Its own sandbox needs rights that a test has not; all pages are the test's own.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1280,900",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            &format!("--user-data-dir={}", place.path("profile").display()),
        ];
        let options = json!({ "args": arguments, "prefs": {
            "download.default_directory": browser.downloads,
            "profile.default_content_setting_values.automatic_downloads": 1,
        } });
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let begun = browser.post("", &capabilities);
        let id = begun["sessionId"].as_str().expect("a session");
        browser.session = format!("{}/{id}", browser.session);
        Some(browser)
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer =
            client().post(format!("{}{path}", self.session)).send(body.to_string()).expect("the driver");
        let answer: Value = serde_json::from_str(&text(answer)).expect("JSON");
        assert!(answer["value"]["error"].is_null(), "{path} {body:.300}: {answer:.600}");
        answer["value"].clone()
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let answer = client().get(format!("{}{path}", self.session)).call().expect("the driver");
        let answer: Value = serde_json::from_str(&text(answer)).expect("JSON");
        assert!(answer["value"]["error"].is_null(), "{path}: {answer:.600}");
        answer["value"].clone()
    }

    #[track_caller]
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// The value of an expression of JavaScript in the page.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": format!("return ({expression});"), "args": [] }))
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait(&self, expression: &str) {
        let found =
            try_poll(PATIENCE, || (self.value(&format!("Boolean({expression})")) == true).then_some(()));
        assert!(found.is_some(), "waited in vain for {expression}; the page logged {}", self.log());
    }

    /// The value of a script that returns one.
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until the page was drawn twice.
    #[track_caller]
    pub fn wait_for_frame(&self) {
        let script =
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(1)));";
        self.post("/execute/async", &json!({ "script": script, "args": [] }));
    }

    /// A command of Chromium's own protocol, as for widths below those of windows and for colour schemes.
    #[track_caller]
    pub fn emulate(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// A picture of the page as a PNG, from its top, of this width and at most this height.
    #[track_caller]
    pub fn whole_picture(&self, width: u32, height_max: u64) -> Vec<u8> {
        let height = self.value("document.documentElement.scrollHeight").as_u64().expect("a height");
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height.min(height_max), "scale": 1 });
        let picture =
            self.emulate("Page.captureScreenshot", &json!({ "captureBeyondViewport": true, "clip": clip }));
        STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base64")
    }

    #[track_caller]
    fn element(&self, selector: &str) -> String {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        found[ELEMENT].as_str().expect("an element").to_owned()
    }

    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.post(&format!("/element/{}/click", self.element(selector)), &json!({}));
    }

    /// Enters a frame of the page: later commands are for the document in it.
    #[track_caller]
    pub fn enter(&self, frame: &str) {
        let element = json!({ ELEMENT: self.element(frame) });
        self.post("/frame", &json!({ "id": element }));
    }

    /// Leaves the frame: later commands are for the page itself.
    #[track_caller]
    pub fn leave_frame(&self) {
        self.post("/frame", &json!({ "id": Value::Null }));
    }

    /// A tab more, which is then the one that is driven; returns the one before.
    #[track_caller]
    pub fn open_tab(&self) -> String {
        let before = self.get("/window");
        let tab = self.post("/window/new", &json!({ "type": "tab" }));
        self.turn_to(tab["handle"].as_str().expect("a tab"));
        before.as_str().expect("a tab").to_owned()
    }

    /// Drives another tab.
    #[track_caller]
    pub fn turn_to(&self, tab: &str) {
        self.post("/window", &json!({ "handle": tab }));
    }

    #[track_caller]
    pub fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    #[track_caller]
    pub fn back(&self) {
        self.post("/back", &json!({}));
    }

    /// Types into a field, in place of what is there.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/clear"), &json!({}));
        self.post(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// Chooses an option by its text.
    #[track_caller]
    pub fn choose(&self, selector: &str, option: &str) {
        self.click(&format!("{selector} option[value='{option}']"));
    }

    /// Moves the pointer to a place of an element, in shares of its width at half of its height; with a
    /// second place, a button is held down on the way there.
    #[track_caller]
    pub fn point(&self, selector: &str, from: f64, to: Option<f64>) {
        self.value(&format!("document.querySelector('{selector}').scrollIntoView({{ block: 'center' }})"));
        let element = json!({ ELEMENT: self.element(selector) });
        let width =
            self.value(&format!("document.querySelector('{selector}').getBoundingClientRect().width"));
        let width = width.as_f64().expect("a width");
        let place = |share: f64| {
            let x = ((share - 0.5) * width).round() as i64;
            json!({ "type": "pointerMove", "duration": 50, "origin": element, "x": x, "y": 0 })
        };
        let mut actions = vec![place(from)];
        if let Some(to) = to {
            let button = |kind: &str| json!({ "type": kind, "button": 0 });
            actions.extend([
                button("pointerDown"),
                place(f64::midpoint(from, to)),
                place(to),
                button("pointerUp"),
            ]);
        }
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": actions }] }),
        );
    }

    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        self.post("/window/rect", &json!({ "width": width, "height": height }));
    }

    /// The file of this name once it has been saved.
    #[track_caller]
    pub fn saved(&self, name: &str) -> Vec<u8> {
        let path = self.downloads.join(name);
        let found = try_poll(PATIENCE, || fs::read(&path).ok().filter(|bytes| !bytes.is_empty()));
        found.unwrap_or_else(|| panic!("{name} was not saved; the page logged {}", self.log()))
    }

    /// Fails if axe-core finds anything serious that keeps people from using the page.
    #[track_caller]
    pub fn is_accessible(&self, page: &str) {
        self.post("/execute/sync", &json!({ "script": self.axe, "args": [] }));
        let script = "const done = arguments[arguments.length - 1]; window.axe.run().then((found) => done(found.violations\
                      .filter(({ impact }) => impact === 'serious' || impact === 'critical')\
                      .map(({ id, nodes }) => [id, ...nodes.slice(0, 4).map((node) => node.html + ': ' + node.failureSummary)])), \
                      (error) => done(String(error)));";
        let found = self.post("/execute/async", &json!({ "script": script, "args": [] }));
        assert_eq!(found, json!([]), "{page}");
    }

    /// The page's log since it was last asked for.
    #[track_caller]
    fn log(&self) -> Value {
        self.post("/se/log", &json!({ "type": "browser" }))
    }

    /// Fails if the page has asked for anything elsewhere, or if its policy or a script of it failed.
    #[track_caller]
    pub fn is_quiet(&self, origin: &str) {
        let asked = self.value("performance.getEntriesByType('resource').map((entry) => entry.name)");
        for url in asked.as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(url.starts_with(origin) || url.starts_with("data:"), "{url} is from elsewhere");
        }
        let log = self.log();
        let severe = log.as_array().into_iter().flatten().filter(|entry| entry["level"] == "SEVERE");
        // A refusal that a page shows is no failure of the page.
        let severe: Vec<&Value> = severe.filter(|entry| entry["source"] != "network").collect();
        assert!(severe.is_empty(), "{severe:?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver is ended in any case; asked like this, it ends its browser first.
        let _ = client().delete(&self.session).call();
        let _ = self.driver.ended();
    }
}
