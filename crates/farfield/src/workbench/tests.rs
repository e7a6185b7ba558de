//! Answers of the workbench, without sockets: hostile names are data, never markup, and its page has no
//! script but its files.

use super::children::WorkbenchRuns;
use super::shown::shown;
use super::site::{Access, Workbench, is_page_file, page_file};
use crate::live::figures::{Figures, RunFacts};
use crate::live::view::View;
use crate::web::{Site, WebRequest};
use farfield_base::{Duration, Instant, Outcome, Window};
use farfield_measure::series::SeriesRow;
use farfield_measure::summary::SummaryContext;
use farfield_measure::{EngineStats, Fold, Heading, LoadKind, Summary, VerdictLimits};
use farfield_testkit::samples::request;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

/// Names that would be markup, script, an end of text or a control sequence where they are not escaped.
const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "<!-- <![CDATA[ ]]>",
    "\x1b[2J\u{1}\u{202e}x",
    "&lt;script&gt; &amp;#60;",
];

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// A summary with this text wherever one may stand.
fn summary(text: &str) -> Summary {
    let heading = Heading {
        farfield: "0".to_owned(),
        note: None,
        path: None,
        scenario: text.to_owned(),
        target: text.to_owned(),
        seed: 1,
        load: LoadKind::Open,
        load_words: text.to_owned(),
        started_at: text.to_owned(),
    };
    let window = Window { measure_from: at(1000), measure_to: at(11_000) };
    let mut fold = Fold::of_classes(window, &[text.to_owned(), "far".to_owned()]);
    fold = fold.naming_states(vec![text.to_owned(), "buy".to_owned()]);
    fold.record(&request(at(2000), at(2010), Outcome::Ok));
    let limits = VerdictLimits::default();
    let context = SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
    Summary::checkpoint(context, &fold, &mut EngineStats::default(), at(5000), &|| {})
}

/// The facts of a run with this text wherever one may stand.
fn facts(text: &str) -> RunFacts {
    RunFacts {
        target: text.to_owned(),
        load: text.to_owned(),
        plane: "sockets".to_owned(),
        measure_from: at(1000),
        measure_to: at(11_000),
        cool_down: Duration::ZERO,
        virtual_time: false,
        changes: Vec::new(),
    }
}

fn asked(path: &str) -> WebRequest {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query = crate::web::query_of(query);
    WebRequest { method: Method::GET, path: path.to_owned(), query, body: Vec::new().into() }
}

/// Control characters and turns of the direction of writing in the texts of a document.
fn hostile_letters(json: &Value) -> bool {
    match json {
        Value::String(text) => text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'),
        Value::Array(all) => all.iter().any(hostile_letters),
        Value::Object(all) => all.values().any(hostile_letters),
        _ => false,
    }
}

#[test]
fn figures_of_hostile_names_are_texts_and_charts_are_ours() {
    for hostile in HOSTILE {
        let mut view = View::new(facts(hostile), false);
        let row = SeriesRow { second: 2, offered: 1, completed: 1, ..SeriesRow::default() };
        let summary = Some(summary(hostile));
        view.take(
            Figures { now: at(5000), rows: vec![row], connections: 1, summary, ..Figures::default() },
            at(5000),
        );
        let json = shown(&view, at(5000));
        assert!(!hostile_letters(&json), "{hostile:?}: {json}");
        for chart in json["charts"].as_array().expect("charts") {
            let chart = chart.as_str().expect("a chart");
            assert!(!chart.contains("<script") && !chart.contains("alert"), "{hostile:?}: {chart}");
        }
        assert_eq!(json["outcomes"][0][0], "ok");
    }
}

/// The newest run is first whatever it is called: runs have names of their users' choice.
#[test]
fn runs_are_listed_by_their_start() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, started) in
        [("b", "2026-01-01T00:00:00Z"), ("c", "2026-01-03T00:00:00Z"), ("a", "2026-01-02T00:00:00Z")]
    {
        let mut summary = summary("x");
        summary.heading.started_at = started.to_owned();
        fs::create_dir(folder.path().join(name)).expect("a folder");
        fs::write(folder.path().join(name).join("summary.json"), summary.to_json()).expect("written");
    }
    let here = folder.path().to_owned();
    let children = Arc::new(WorkbenchRuns::new(here.clone(), here.clone()));
    let workbench = Workbench::new(here.clone(), here, children, Access::Whole);
    let list: Value = serde_json::from_slice(workbench.answer(&asked("/api/runs")).whole()).expect("JSON");
    let runs = list["runs"].as_array().expect("runs");
    assert_eq!(runs.iter().map(|run| &run["name"]).collect::<Vec<_>>(), ["c", "a", "b"]);
}

/// A run that was stopped has ended: nothing of it is to come.
#[test]
fn a_run_that_was_stopped_is_incomplete_and_no_check_of_it_is_to_come() {
    let mut view = View::new(facts("x"), false);
    view.figures.summary = Some(summary("x"));
    let under_way = shown(&view, at(5000)).to_string();
    assert!(under_way.contains("most are made at the end") && under_way.contains("not yet"), "{under_way}");
    view.ended = true;
    let ended = shown(&view, at(5000));
    assert_eq!(ended["verdict"]["state"], "doubt");
    assert!(
        ended["verdict"]["words"].as_str().is_some_and(|words| words.starts_with("INCOMPLETE: ")),
        "{ended}"
    );
    assert!(!ended.to_string().contains("not yet"), "{ended}");
}

#[test]
fn runs_of_hostile_names_are_listed_and_reported_as_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, hostile) in HOSTILE.iter().enumerate() {
        let name = format!("{number} {}", hostile.replace('/', "|"));
        fs::create_dir(folder.path().join(&name)).expect("a folder");
        fs::write(folder.path().join(&name).join("summary.json"), summary(hostile).to_json())
            .expect("written");
    }
    let here = folder.path().to_owned();
    let children = Arc::new(WorkbenchRuns::new(here.clone(), here.clone()));
    let workbench = Workbench::new(here.clone(), here, children, Access::Whole);
    let list: Value = serde_json::from_slice(workbench.answer(&asked("/api/runs")).whole()).expect("JSON");
    let runs = list["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), HOSTILE.len());
    for run in runs {
        let mut shown = run.clone();
        // By this name, and only by it, the page asks for a report.
        shown.as_object_mut().expect("an object").remove("name");
        assert!(!hostile_letters(&shown), "{shown}");
        let name = run["name"].as_str().expect("a name");
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let answer = workbench.answer(&asked(&format!("/report?run={encoded}")));
        let page = String::from_utf8(answer.whole().to_vec()).expect("UTF-8");
        assert!(page.starts_with("<!doctype html>"), "{name:?}: {page}");
        assert_eq!(page.matches("<script").count(), 1, "{name:?}: the report's own script");
    }
}

/// Content from the server is text to the page, whose policy allows no inline script or style.
#[test]
fn the_page_has_no_way_to_make_markup_of_text() {
    let scripts = [
        "/app.js",
        "/dom.js",
        "/token.js",
        "/events.js",
        "/pages.js",
        "/runs.js",
        "/kept.js",
        "/form.js",
        "/fields.js",
    ];
    for path in ["/", "/style.css"].into_iter().chain(scripts) {
        let page = page_file(path).expect(path);
        let text = String::from_utf8(page.whole().to_vec()).expect("UTF-8");
        for banned in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "srcdoc",
            "http://",
            "https://",
            " style=",
            "javascript:",
            "<script>",
            "@import",
            "url(",
        ] {
            assert!(!text.contains(banned), "{path} has `{banned}`");
        }
        let inline = text.split(" on").skip(1).any(|rest| {
            let word: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            path == "/" && rest[word.len()..].starts_with('=')
        });
        assert!(!inline, "{path} has a listener in markup");
    }
    assert!(page_file("/../Cargo.toml").is_none() && !is_page_file("/api/about"));
}

/// The document of reports has no origin, and so neither the token nor a way to ask the workbench.
#[test]
fn reports_are_shown_in_a_document_without_an_origin() {
    let policy = page_file("/frame").expect("the document").policy();
    let (sandbox, rest) = policy.split_once(';').expect("directives");
    assert_eq!(sandbox, "sandbox allow-scripts allow-downloads");
    assert!(rest.contains("default-src 'none'") && !rest.contains("connect-src"), "{policy}");
    assert!(rest.contains("frame-ancestors 'self'"), "no other page has it in a frame: {policy}");
    assert!(page_file("/").expect("the page").policy().contains("frame-ancestors 'none'"));
}

#[test]
fn a_workbench_that_is_read_only_shows_runs_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("a")).expect("a folder");
    fs::write(folder.path().join("a/summary.json"), summary("a").to_json()).expect("written");
    fs::write(folder.path().join("a.toml"), "seed = 1\n").expect("written");
    let here = folder.path().to_owned();
    let children = Arc::new(WorkbenchRuns::new(here.clone(), here.clone()));
    let workbench = Workbench::new(here.clone(), here, children, Access::ReadOnly);
    for path in ["/", "/api/about", "/api/runs", "/report?run=a"] {
        assert_eq!(workbench.answer(&asked(path)).status(), StatusCode::OK, "{path}");
    }
    let about: Value = serde_json::from_slice(workbench.answer(&asked("/api/about")).whole()).expect("JSON");
    assert_eq!(about["read_only"], true);
    for path in ["/api/scenarios", "/api/scenario?file=a.toml", "/api/form", "/api/again?run=a"] {
        assert_eq!(workbench.answer(&asked(path)).status(), StatusCode::FORBIDDEN, "{path}");
    }
    for path in ["check", "write", "read", "draw", "save", "start", "stop", "describe", "delete", "nothing"] {
        let body =
            r#"{ "file": "a.toml", "text": "seed = 2", "replace": true, "id": 1, "run": "a", "name": "b" }"#;
        let path = format!("/api/{path}");
        let command = WebRequest { method: Method::POST, body: body.into(), ..asked(&path) };
        assert_eq!(workbench.answer(&command).status(), StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("a.toml")).expect("the file"), "seed = 1\n");
    let kept = fs::read_to_string(folder.path().join("a/summary.json")).expect("the summary");
    assert_eq!(kept, summary("a").to_json());
}

/// Programs are confirmed as they are shown, and are shown without hidden letters.
#[test]
fn programs_are_shown_without_hidden_letters_and_confirmed_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().to_owned();
    let children = Arc::new(WorkbenchRuns::new(here.join("runs"), here.clone()));
    let workbench = Workbench::new(here.join("runs"), here, children, Access::Whole);
    let scenario = "plane = 'emulated'\n[server]\ncommand = \"true \\u202Eeslaf\\u0007\"\nuser = 'nobody'\n";
    fs::write(folder.path().join("a.toml"), scenario).expect("written");
    let start = |body: &Value| {
        let body = body.to_string().into();
        let answer = workbench.answer(&WebRequest { method: Method::POST, body, ..asked("/api/start") });
        (answer.status(), serde_json::from_slice::<Value>(answer.whole()).expect("JSON"))
    };
    for unconfirmed in
        [json!({}), json!({ "confirmed": "" }), json!({ "confirmed": "0" }), json!({ "confirmed": true })]
    {
        let mut body = unconfirmed.clone();
        body["file"] = json!("a.toml");
        let (status, asks) = start(&body);
        assert_eq!(status, StatusCode::CONFLICT, "{unconfirmed}: {asks}");
        assert!(!hostile_letters(&asks), "{asks}");
        let program = &asks["programs"][0];
        assert_eq!((&program["key"], &program["user"]), (&json!("server.command"), &json!("nobody")));
        assert!(program["command"].as_str().is_some_and(|line| line.starts_with("true ")), "{asks}");
    }
    // The confirmation was of another content of the file: nothing of the new one is started.
    let (_, asks) = start(&json!({ "file": "a.toml" }));
    fs::write(folder.path().join("a.toml"), scenario.replace("nobody", "root")).expect("written");
    let (status, again) = start(&json!({ "file": "a.toml", "confirmed": asks["confirm"] }));
    assert_eq!((status, &again["programs"][0]["user"]), (StatusCode::CONFLICT, &json!("root")), "{again}");
    assert_ne!(again["confirm"], asks["confirm"]);
    assert!(!folder.path().join("runs").exists(), "no run was begun");
}
