//! Runs that are kept, in the workbench over HTTP: made again with changes, named and noted anew, deleted;
//! and that nothing else of the disk is reached by it.

use super::driver::Browser;
use super::workbench::Bench;
use super::{client, text};
use farfield_measure::Summary;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A workbench with a short run in virtual time, of a name that is markup.
fn with_a_run() -> Bench {
    let bench = Bench::begin();
    bench.place.write("urls", "/index.html\n/bytes/100\n");
    let scenario = "name = '<b>first</b>'\nplane = 'simulated'\nrequests.file = 'urls'\n\
                    load = { model = 'open', arrivals = '50/s' }\nrun = { warm-up = '0s', duration = '2s' }\n";
    bench.place.write("first.toml", scenario);
    bench.place.farfield("run first.toml -q -o runs/first").exits(0);
    bench
}

fn summary_of(run: &Path) -> Summary {
    let json = fs::read_to_string(run.join("summary.json")).expect("a summary");
    Summary::from_json(&json).expect("a summary")
}

fn json_of(bench: &Bench, path: &str) -> (u16, Value) {
    let answer = bench.get(path);
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&text(answer)).expect("JSON"))
}

#[test]
fn a_run_is_made_again_with_changes() {
    let bench = with_a_run();
    let first = bench.place.path("runs/first");
    let before = fs::read_to_string(first.join("scenario.toml")).expect("a scenario");
    let (status, again) = json_of(&bench, "/api/again?run=first");
    assert_eq!((status, &again["file"]), (200, &json!("b-first--b.toml")), "{again}");
    let copy = first.join("inputs/urls").display().to_string();
    assert!(again["text"].as_str().is_some_and(|text| text.contains(&copy)), "{again}");
    // As the form does: the text is read into fields, one is changed, and they are laid over the text.
    let (_, read) = bench.post("/api/read", &json!({ "text": again["text"] }));
    let mut values = read["values"].clone();
    assert_eq!((&values["plane"], &values["name"]), (&json!("simulated"), &json!("<b>first</b>")), "{read}");
    values["load.arrivals"] = json!("100/s");
    let (status, written) = bench.post("/api/write", &json!({ "text": again["text"], "values": values }));
    assert_eq!(status, 200, "{written}");
    let file = json!({ "file": again["file"], "text": written["text"] });
    let (status, checked) = bench.post("/api/check", &file);
    assert_eq!(status, 200, "{checked}");
    assert_eq!(bench.post("/api/save", &file), (200, json!({})));
    assert_eq!(json_of(&bench, "/api/again?run=first").1["file"], "b-first--b-2.toml", "the file is taken");
    let (status, started) = bench.post("/api/start", &json!({ "file": again["file"] }));
    assert_eq!(status, 200, "{started}");
    let ended = bench.watch(|event| event["running"] == false);
    assert_eq!(ended["exit"], 0, "{ended}");
    let second = bench.place.path("runs").join(ended["name"].as_str().expect("a name"));
    let (old, new) = (summary_of(&first), summary_of(&second));
    let shares = |summary: &Summary| {
        let mut paths: Vec<String> = summary.paths.iter().map(|path| path.path.clone()).collect();
        paths.sort();
        paths
    };
    assert_eq!(new.heading.seed, old.heading.seed);
    assert_eq!(shares(&new), shares(&old), "the same requests");
    assert!(old.heading.load_words.contains("50/s") && new.heading.load_words.contains("100/s"));
    assert_eq!(fs::read_to_string(first.join("scenario.toml")).expect("a scenario"), before);
    // What was changed since is not run again as if it were the same.
    fs::write(first.join("inputs/urls"), "/other\n").expect("own file");
    let (status, refused) = json_of(&bench, "/api/again?run=first");
    assert_eq!(status, 422, "{refused}");
    assert!(
        refused["error"].as_str().is_some_and(|sentence| sentence.contains("was changed since")),
        "{refused}"
    );
}

#[test]
fn a_kept_run_gets_another_name_and_note_and_keeps_its_figures() {
    let bench = with_a_run();
    bench.place.farfield("run first.toml -q -o runs/2026-01-31T12-00-00Z-b-first--b").exits(0);
    let before = summary_of(&bench.place.path("runs/first"));
    let asked = json!({ "run": "first", "name": " with <i>index</i> ", "note": "after\u{202e} the index" });
    let name = "with--i-index--i";
    assert_eq!(bench.post("/api/describe", &asked), (200, json!({ "run": name })));
    assert!(!bench.place.path("runs/first").exists());
    let run = bench.place.path("runs").join(name);
    let mut after = summary_of(&run);
    assert_eq!(after.heading.scenario, "with <i>index</i>");
    assert_eq!(after.heading.note.as_deref(), Some("after\\u202E the index"));
    after.heading.scenario.clone_from(&before.heading.scenario);
    after.heading.note = None;
    assert_eq!(after.to_json(), before.to_json(), "nothing else has changed");
    let page = fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(page.contains("with &lt;i&gt;index&lt;/i&gt;") && !page.contains("<i>index"), "escaped");
    let shown = bench.place.farfield(&format!("report runs/{name}")).exits(0).stdout;
    assert!(shown.starts_with("with <i>index</") && shown.contains("\nnote        after"), "{shown}");
    assert_eq!(json_of(&bench, &format!("/api/again?run={name}")).0, 200, "its scenario is as it was");
    let (_, list) = json_of(&bench, "/api/runs");
    let listed = list["runs"].as_array().expect("runs").iter().find(|run| run["name"] == name);
    assert_eq!(listed.expect("the run")["note"], "after\\u202E the index", "{list}");

    // The instant in a directory's name stays; a name that is taken gets a number.
    let dated = json!({ "run": "2026-01-31T12-00-00Z-b-first--b", "name": "c" });
    let dated = bench.post("/api/describe", &dated).1;
    assert_eq!(dated, json!({ "run": "2026-01-31T12-00-00Z-c" }));
    bench.place.farfield("run first.toml -q -o runs/second").exits(0);
    let taken = json!({ "run": "second", "name": "with <i>index</i>" });
    assert_eq!(bench.post("/api/describe", &taken).1, json!({ "run": format!("{name}-2") }));
    // Where there is no free name, the directory keeps its own, and the answer says so.
    for number in 1..100 {
        let name = if number == 1 { "x".to_owned() } else { format!("x-{number}") };
        fs::create_dir(bench.place.path("runs").join(name)).expect("a folder");
    }
    let second = format!("{name}-2");
    let (status, answer) = bench.post("/api/describe", &json!({ "run": second, "name": "x" }));
    let says = "name and note are changed; the directory keeps its name: too many runs have this name";
    assert_eq!((status, answer), (200, json!({ "run": second, "says": says })));
    assert_eq!(summary_of(&bench.place.path("runs").join(&second)).heading.scenario, "x");
    // Nor is one renamed that has the new name, with a number.
    let back = json!({ "run": second, "name": "with <i>index</i>" });
    assert_eq!(bench.post("/api/describe", &back), (200, json!({ "run": second })));
    // A note alone; and none again.
    for (note, kept) in [("x", Some("x")), ("", None)] {
        let asked = json!({ "run": name, "name": "with <i>index</i>", "note": note });
        assert_eq!(bench.post("/api/describe", &asked), (200, json!({ "run": name })));
        assert_eq!(summary_of(&run).heading.note.as_deref(), kept);
    }
    let long = "a".repeat(201);
    for (asked, says) in [
        (json!({ "run": name, "name": " " }), "write a name"),
        (json!({ "run": name, "name": &long[..61] }), "write a name"),
        (json!({ "run": name, "name": "a", "note": long }), "200 characters"),
        (json!({ "run": "../runs", "name": "a" }), "no such run"),
        (json!({ "run": "absent", "name": "a" }), "no such run"),
        (json!({ "name": "a" }), "no such run"),
    ] {
        let (status, answer) = bench.post("/api/describe", &asked);
        let sentence = answer["error"].as_str().unwrap_or_default();
        assert!(status == 422 && sentence.contains(says), "{asked}: {status} {answer}");
    }
    assert_eq!(summary_of(&run).heading.scenario, "with <i>index</i>");
}

#[test]
fn a_run_is_deleted_and_nothing_else() {
    let bench = with_a_run();
    let (runs, first) = (bench.place.path("runs"), bench.place.path("runs/first"));
    let outside = bench.place.path("outside");
    bench.place.farfield("run first.toml -q -o outside").exits(0);
    symlink(&outside, runs.join("link")).expect("a link");
    fs::create_dir_all(runs.join("sweep/1")).expect("a folder");
    fs::copy(first.join("summary.json"), runs.join("sweep/1/summary.json")).expect("copied");
    let names = [
        "..",
        ".",
        "",
        "/",
        "../outside",
        "first/../../outside",
        "link",
        "link/",
        "sweep",
        "sweep/1",
        "absent",
        "first/",
        "first\0",
        "%66irst",
    ];
    for name in names {
        for path in ["/api/delete", "/api/describe"] {
            let (status, answer) = bench.post(path, &json!({ "run": name, "name": "x" }));
            assert!(status == 422 && answer["error"].is_string(), "{path} {name:?}: {status} {answer}");
        }
    }
    // Nobody without the token deletes, or reads a scenario.
    let agent = client();
    for authorization in ["", "Bearer 0123", &format!("Basic {}", bench.token)] {
        for (path, body) in
            [("/api/delete", r#"{"run":"first"}"#), ("/api/describe", r#"{"run":"first","name":"x"}"#)]
        {
            let request =
                agent.post(format!("{}{path}", bench.origin)).header("Authorization", authorization);
            let refused = request.header("Content-Type", "application/json").send(body).expect("an answer");
            assert_eq!(refused.status(), 401, "{path}, {authorization}");
        }
        let request = agent.get(format!("{}/api/again?run=first", bench.origin));
        let refused = request.header("Authorization", authorization).call().expect("an answer");
        assert_eq!(refused.status(), 401, "{authorization}");
    }
    assert!(first.join("summary.json").is_file() && runs.join("sweep/1/summary.json").is_file());
    assert!(
        outside.join("summary.json").is_file() && summary_of(&outside).heading.scenario == "<b>first</b>"
    );

    assert_eq!(bench.post("/api/delete", &json!({ "run": "first" })), (200, json!({})));
    assert!(!first.exists());
    let (_, list) = json_of(&bench, "/api/runs");
    assert!(
        list["runs"].as_array().is_some_and(|runs| runs.iter().all(|run| run["name"] != "first")),
        "{list}"
    );
    assert_eq!(bench.post("/api/delete", &json!({ "run": "first" })).0, 422, "it is gone");
}

/// A run that goes on is neither renamed nor deleted under its feet; once it has ended it may be.
#[test]
fn a_run_that_is_under_way_is_left_alone() {
    let bench = Bench::begin();
    let id = bench.start_long_run();
    let seen = bench.watch(|event| event["figures"]["outcomes"][0][0] == "ok");
    let name = seen["name"].as_str().expect("a name");
    let run = json!({ "run": name, "name": "x" });
    for path in ["/api/delete", "/api/describe"] {
        let (status, answer) = bench.post(path, &run);
        assert_eq!(
            (status, &answer["error"]),
            (422, &json!("the run is left as it is: it is under way, or being changed")),
            "{path}"
        );
    }
    assert!(bench.place.path("runs").join(name).join("summary.json").is_file());
    bench.post("/api/stop", &json!({ "id": id }));
    bench.watch(|event| event["running"] == false);
    assert_eq!(bench.post("/api/delete", &run), (200, json!({})));
    assert!(!bench.place.path("runs").join(name).exists());
}

/// The form never has another scenario below the name of a run, and asks before it replaces changes.
#[test]
fn the_form_has_the_scenario_that_its_title_says() {
    let bench = with_a_run();
    let Some(browser) = Browser::begin(&bench.place, "the_form_has_the_scenario_that_its_title_says") else {
        return;
    };
    let other = json!({ "file": "other.toml", "text": "name = 'other'\nplane = 'simulated'\n" });
    assert_eq!(bench.post("/api/save", &other).0, 200);
    let again = || {
        browser.value("(location.hash = '#runs')");
        browser.value("(location.hash = '#new/first')");
    };
    let title = |says: &str| {
        browser.wait(&format!("document.querySelector('#new-title').textContent === '{says}'"));
    };
    let text = "document.querySelector('#text').value";
    let status = "document.querySelector('#new-status').textContent";
    let opens_other = || {
        browser.wait(
            "[...document.querySelectorAll('#files option')].some((one) => one.value === 'other.toml')",
        );
        browser.choose("#files", "other.toml");
        browser.click("#open");
        browser.wait(&format!("{text}.includes(\"'other'\")"));
        title("New run");
    };
    browser.open(&format!("{}/#token={}&new", bench.origin, bench.token));
    again();
    title("first again, with changes");
    browser.wait(&format!("{text}.includes('first')"));
    // Another file is opened, and it is run again once more.
    opens_other();
    again();
    title("first again, with changes");
    assert_eq!(browser.value(&format!("{text}.includes('first')")), true);
    // The answer about the run is late: what was opened meanwhile stays.
    opens_other();
    browser.run(
        "const own = window.fetch; window.late = 0; window.fetch = async (...given) => {\
         if (!String(given[0]).includes('/api/again')) return own(...given);\
         await new Promise((done) => setTimeout(done, 1500));\
         return own(...given).finally(() => { window.late++; }); };",
    );
    again();
    opens_other();
    browser.wait("window.late > 0");
    browser.value("new Promise((done) => setTimeout(() => done(true), 300))");
    assert_eq!(browser.value(&format!("{text}.includes(\"'other'\")")), true);
    title("New run");
    // A run whose scenario cannot be read has no title over what is there.
    browser.value("(location.hash = '#new/absent')");
    browser.wait("document.querySelector('#new-status').className === 'wrong'");
    title("New run");
    // Changes are asked about.
    browser.value("(window.asked = 0, window.confirm = () => (window.asked++, false))");
    browser.value("(document.querySelector('#text').value += '# changed')");
    again();
    browser.wait(&format!("{status} === 'The form is left as it was.'"));
    assert_eq!(browser.value(&format!("{text}.includes('# changed')")), true);
    browser.click("#open");
    browser.wait("window.asked === 2");
    title("New run");
    browser.value("(window.confirm = () => true)");
    again();
    title("first again, with changes");
    assert_eq!(browser.value(&format!("{text}.includes('first') && !{text}.includes('# changed')")), true);
}
