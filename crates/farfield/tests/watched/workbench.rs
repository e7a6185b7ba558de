//! The workbench over HTTP, as its page and as strangers use it: runs started, watched and stopped, and
//! what is refused. A browser drives it in `browser`.

use super::{client, text, url_said};
use crate::common::{CALM, Place, Running, Signal, poll};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use ureq::http::Response;
use ureq::{Agent, Body};

/// A workbench, and a client that has its token.
pub struct Bench {
    pub place: Place,
    pub running: Running,
    pub origin: String,
    pub token: String,
    agent: Agent,
}

impl Bench {
    pub fn begin() -> Bench {
        Bench::begin_with("ui runs")
    }

    pub fn begin_with(words: &str) -> Bench {
        let place = Place::new();
        let running = place.begin(words);
        let url = poll("the workbench to say where it is", || {
            let said = fs::read_to_string(running.stdout()).ok()?;
            Some(said.split_once("is at ")?.1.split_once('\n')?.0.to_owned())
        });
        let (origin, token) = url.split_once("/#token=").expect("a token");
        Bench { place, running, origin: origin.to_owned(), token: token.to_owned(), agent: client() }
    }

    pub fn get(&self, path: &str) -> Response<Body> {
        let bearer = format!("Bearer {}", self.token);
        self.agent
            .get(format!("{}{path}", self.origin))
            .header("Authorization", bearer)
            .call()
            .expect("an answer")
    }

    /// Sends a command; returns the status and the answer.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.agent.post(format!("{}{path}", self.origin));
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        let answer =
            request.header("Content-Type", "application/json").send(body.to_string()).expect("an answer");
        let status = answer.status().as_u16();
        (status, serde_json::from_str(&text(answer)).expect("JSON"))
    }

    /// Saves a scenario of a run of ten minutes, and starts it.
    pub fn start_long_run(&self) -> u64 {
        let verdict = CALM.split_whitespace().filter(|word| *word != "--set").map(quoted).collect::<Vec<_>>();
        let scenario = format!(
            "load = {{ model = 'open', arrivals = '50/s' }}\nrun = {{ warm-up = '200ms', duration = '10m', drain = '1s' }}\n{}",
            verdict.join("\n")
        );
        let (status, answer) =
            self.post("/api/save", &json!({ "file": "long.toml", "text": scenario, "replace": true }));
        assert_eq!((status, answer), (200, json!({})), "{scenario}");
        let (status, answer) = self.post("/api/start", &json!({ "file": "long.toml" }));
        assert_eq!(status, 200, "{answer}");
        answer["id"].as_u64().expect("a number")
    }

    /// Follows the events until one is as `wanted`.
    pub fn watch(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut answer = self.get("/api/events");
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let lines = BufReader::new(answer.body_mut().as_reader()).lines().map_while(Result::ok);
        let events = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        let mut events = events.filter(|event| wanted(event));
        events.next().expect("such an event before the stream ends")
    }

    /// The directory of the only run.
    fn run(&self) -> PathBuf {
        let mut runs = fs::read_dir(self.place.path("runs")).expect("a folder of runs").map_while(Result::ok);
        let run = runs.next().expect("a run").path();
        assert!(runs.next().is_none(), "one run");
        run
    }
}

/// `KEY=VALUE` as a line of TOML.
fn quoted(setting: &str) -> String {
    let (key, value) = setting.split_once('=').expect("a setting");
    match value.parse::<f64>() {
        Ok(_) => format!("{key} = {value}"),
        Err(_) => format!("{key} = '{value}'"),
    }
}

fn why_incomplete(run: &std::path::Path) -> Option<String> {
    let summary = fs::read_to_string(run.join("summary.json")).ok()?;
    let summary: Value = serde_json::from_str(&summary).ok()?;
    summary["incomplete_reason"].as_str().map(str::to_owned)
}

#[test]
fn a_run_is_started_watched_and_stopped_and_kept() {
    let bench = Bench::begin();
    let id = bench.start_long_run();
    let seen = bench.watch(|event| event["figures"]["outcomes"][0][0] == "ok");
    assert_eq!((&seen["running"], &seen["scenario"]), (&json!(true), &json!("long.toml")));
    assert!(seen["figures"]["phase"].as_str().is_some_and(|words| words.starts_with("measuring")), "{seen}");
    assert!(seen["figures"]["charts"][0].as_str().is_some_and(|svg| svg.starts_with("<svg")), "{seen}");
    assert_eq!(bench.post("/api/stop", &json!({ "id": id })), (200, json!({})));
    let ended = bench.watch(|event| event["running"] == false);
    assert_eq!(ended["exit"], 130, "{ended}");
    let (status, answer) = bench.post("/api/stop", &json!({ "id": id }));
    assert_eq!((status, &answer["error"]), (422, &json!("the run has ended already")));
    assert_eq!(why_incomplete(&bench.run()).as_deref(), Some("it was interrupted"));
    let list: Value = serde_json::from_str(&text(bench.get("/api/runs"))).expect("JSON");
    assert_eq!(list["runs"][0]["verdict"], "INCOMPLETE", "{list}");
    let name = list["runs"][0]["name"].as_str().expect("a name");
    let report = bench.get(&format!("/report?run={name}"));
    let policy = report.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("sandbox allow-scripts"), "{policy}");
    assert!(text(report).contains(">INCOMPLETE</h2>"));
    bench.running.signal(Signal::INT);
    bench.running.ended().exits(0);
}

#[test]
fn no_run_outlives_the_workbench() {
    for signal in [Signal::INT, Signal::KILL] {
        let bench = Bench::begin();
        bench.start_long_run();
        bench.watch(|event| event["figures"]["outcomes"][0][0] == "ok");
        let run = bench.run();
        bench.running.signal(signal);
        let ended = bench.running.ended();
        assert_eq!(ended.code, if signal == Signal::INT { Some(0) } else { None }, "{}", ended.stderr);
        // The run's own summary, and not a checkpoint: it has ended by itself, and kept what it measured.
        let why = poll("the run to end", || why_incomplete(&run).filter(|why| why == "it was interrupted"));
        assert_eq!(why, "it was interrupted", "{signal:?}");
    }
}

#[test]
fn strangers_get_nothing() {
    let bench = Bench::begin();
    let agent = client();
    let url = |path: &str| format!("{}{path}", bench.origin);
    let bearer = format!("Bearer {}", bench.token);
    // 24 bytes, which are said once.
    assert!(bench.token.len() == 48 && bench.token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let said = fs::read_to_string(bench.running.stdout()).expect("own file") + &bench.running.said();
    assert_eq!(said.matches(&bench.token).count(), 1, "{said}");
    // Neither a token in a URL nor one in a cookie is one: both reach others.
    let cookie = format!("token={0}; farfield={0}", bench.token);
    for path in
        ["/api/about", "/api/runs", "/api/events", "/report?run=a", "/compare?run=a&run=b", "/nothing"]
    {
        let separator = if path.contains('?') { '&' } else { '?' };
        let with_token = format!("{path}{separator}token={}", bench.token);
        for (path, cookie) in [(path, "a=b"), (path, &cookie), (with_token.as_str(), "a=b")] {
            let refused = agent.get(url(path)).header("Cookie", cookie).call().expect("an answer");
            assert_eq!(refused.status(), 401, "{path}, {cookie}");
            assert_eq!(refused.headers()["www-authenticate"], "Bearer");
            assert!(!refused.headers().contains_key("set-cookie"), "{path}");
        }
    }
    // The page's files are the same everywhere, and say what to do.
    let page = agent.get(url("/")).call().expect("an answer");
    assert!(!page.headers().contains_key("set-cookie"));
    assert!(text(page).contains("Open the whole URL"));
    let rebound = agent.get(url("/")).header("Authorization", &bearer).header("Host", "evil.example:80");
    assert_eq!(rebound.call().expect("an answer").status(), 421);
    let start = json!({ "file": "long.toml" }).to_string();
    for (name, value, status) in [
        ("Origin", "http://evil.example", 403),
        ("Sec-Fetch-Site", "cross-site", 403),
        ("Content-Type", "text/plain", 415),
    ] {
        let mut request = agent.post(url("/api/start")).header("Authorization", &bearer).header(name, value);
        if name != "Content-Type" {
            request = request.header("Content-Type", "application/json");
        }
        assert_eq!(request.send(&start).expect("an answer").status(), status, "{name}: {value}");
    }
    let page = bench.get("/");
    assert_eq!(page.headers()["referrer-policy"], "no-referrer");
    let policy = page.headers()["content-security-policy"].to_str().expect("text");
    assert!(
        policy.contains("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
}

/// Two runs of virtual time, whose comparison knows that one has twice the load of the other.
#[test]
fn chosen_runs_are_compared_in_a_sandbox() {
    let bench = Bench::begin();
    for (name, rate) in [("a", 200), ("b", 400)] {
        bench.place.farfield(&format!("run --plane simulated -R {rate} -d 10s -q -o runs/{name}")).exits(0);
    }
    let compared = bench.get("/compare?run=a&run=b");
    assert_eq!(compared.status(), 200);
    let policy = compared.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("sandbox"), "{policy}");
    let page = text(compared);
    assert!(page.contains("open, 200/s") && page.contains("open, 400/s"), "{page}");
    assert!(page.contains("<td class=\"found better\">"), "the rate has doubled: {page}");
    let one = bench.get("/compare?run=a&run=a");
    assert_eq!(one.status(), 422);
    assert!(text(one).contains("named twice"));
}

/// Neither files outside the folders, nor what is wrong with a command, end in anything but a sentence.
#[test]
fn what_is_wrong_is_a_sentence() {
    let bench = Bench::begin();
    bench.place.write("secret.txt", "nobody's business");
    for path in [
        "/api/again?run=../runs",
        "/api/again?run=%2e%2e",
        "/api/again?run=absent",
        "/report?run=../runs",
        "/report?run=%2e%2e",
        "/report?run=",
        "/report?run=/etc",
        "/compare?run=a",
        "/compare?run=../a&run=b",
        "/api/scenario?file=../secret.txt",
        "/api/scenario?file=secret.txt",
        "/nothing",
    ] {
        let answer = bench.get(path);
        let status = answer.status().as_u16();
        let said = text(answer);
        assert!((400..500).contains(&status) && !said.contains("business"), "{path}: {status} {said}");
    }
    for (path, body) in [
        ("/api/start", json!({ "file": "absent.toml" })),
        ("/api/start", json!({ "file": "--help" })),
        ("/api/stop", json!({ "id": 7 })),
        ("/api/save", json!({ "file": "../x.toml", "text": "" })),
        ("/api/check", json!({ "text": "seed = 'x'" })),
        ("/api/draw", json!({ "key": "load.think", "value": "soon" })),
        ("/api/draw", json!({ "key": "load.stages", "value": [{ "for": "soon", "to": "1" }] })),
        ("/api/write", json!({ "text": "= 1", "values": {} })),
        ("/api/nothing", json!({})),
    ] {
        let (status, answer) = bench.post(path, &body);
        assert!(
            (400..500).contains(&status) && answer["error"].is_string(),
            "{path} {body}: {status} {answer}"
        );
    }
    let (_, wrong) =
        bench.post("/api/check", &json!({ "file": "s.toml", "text": "x = 1\n[load]\nusres = 1" }));
    assert!(wrong["error"].as_str().is_some_and(|sentence| sentence.contains("s.toml:")), "{wrong}");
    let scenario = "[session]\nstate = [{ name = 'a', path = '/' }, { name = 'b', path = '/${no}' }]";
    let (_, wrong) = bench.post("/api/check", &json!({ "file": "s.toml", "text": scenario }));
    assert_eq!(wrong["key"], "session.state[1].path", "{wrong}");
    assert!(wrong["sentence"].as_str().is_some_and(|sentence| !sentence.contains("s.toml")), "{wrong}");
    // A run that cannot begin says why.
    bench.post("/api/save", &json!({ "file": "wrong.toml", "text": "[load]\nusres = 1" }));
    assert_eq!(bench.post("/api/start", &json!({ "file": "wrong.toml" })).0, 200);
    let ended = bench.watch(|event| event["running"] == false);
    assert_eq!(ended["exit"], 2, "{ended}");
    assert!(ended["messages"].as_str().is_some_and(|said| said.contains("`users`")), "{ended}");
}

/// A scenario that would start two programs, of which each leaves a file behind.
const STARTS: &str = "plane = 'emulated'\n[load]\nusers = 2\n[run]\nwarm-up = '100ms'\nduration = '1s'\ndrain = '1s'\n[network]\nrtt = '1ms'\nclients = 4
[server]\ncommand = 'touch SERVED; exec sleep 600'\nready = 'started'\n[[network.program]]\nclass = 'clients'\ncommand = 'touch BESIDE'\n";

/// Commands run once somebody has confirmed them, as they are then: neither without, nor with a
/// confirmation of others, nor where the file is another by the time that the run reads it.
#[test]
fn programs_are_started_as_they_were_confirmed_or_not_at_all() {
    let bench = Bench::begin();
    let marks = ["SERVED", "BESIDE", "OTHER"].map(|name| bench.place.path(name));
    let scenario = STARTS.replace("SERVED", &marks[0].display().to_string());
    let scenario = scenario.replace("BESIDE", &marks[1].display().to_string());
    let save = |text: &str| {
        let body = json!({ "file": "a.toml", "text": text, "replace": true });
        assert_eq!(bench.post("/api/save", &body), (200, json!({})));
    };
    save(&scenario);
    let checked = bench.post("/api/check", &json!({ "file": "a.toml", "text": scenario })).1;
    assert_eq!(checked["programs"].as_array().map(Vec::len), Some(2), "{checked}");
    let (status, asks) = bench.post("/api/start", &json!({ "file": "a.toml" }));
    assert_eq!(status, 409, "{asks}");
    let commands: Vec<&str> = asks["programs"]
        .as_array()
        .expect("programs")
        .iter()
        .filter_map(|one| one["command"].as_str())
        .collect();
    assert!(commands[0].starts_with("touch ") && commands[0].ends_with("; exec sleep 600"), "{commands:?}");
    assert!(commands[1].ends_with("BESIDE"), "{commands:?}");
    assert!(asks["programs"][0]["user"].as_str().is_some_and(|user| !user.is_empty()), "{asks}");
    // A confirmation of other commands.
    save(&scenario.replace("touch", "mkdir"));
    let stale = json!({ "file": "a.toml", "confirmed": asks["confirm"] });
    assert_eq!(bench.post("/api/start", &stale).0, 409);
    let list: Value = serde_json::from_str(&text(bench.get("/api/runs"))).expect("JSON");
    assert_eq!(list["started"], json!([]), "nothing was begun");
    assert!(marks.iter().all(|mark| !mark.exists()), "nothing was started");
    // A run that finds another file than the one that was confirmed.
    let other = scenario.replace("SERVED", "OTHER");
    bench.place.write("a.toml", other);
    let digest = asks["confirm"].as_str().expect("a digest");
    let ended = bench.place.farfield(&format!("run a.toml --starts-only {digest} --out other")).exits(1);
    assert!(ended.stderr.contains("was changed after its programs were confirmed"), "{}", ended.stderr);
    assert!(marks.iter().all(|mark| !mark.exists()) && !bench.place.path("other").exists());
}

/// With the confirmation it runs; where this machine allows no emulated plane, its message says so, and
/// not that the programs are others.
#[test]
fn a_confirmed_run_begins() {
    let bench = Bench::begin();
    let scenario = STARTS.replace("touch SERVED; ", "").replace("touch BESIDE", "true");
    bench.post("/api/save", &json!({ "file": "a.toml", "text": scenario }));
    let (_, asks) = bench.post("/api/start", &json!({ "file": "a.toml" }));
    let (status, answer) =
        bench.post("/api/start", &json!({ "file": "a.toml", "confirmed": asks["confirm"] }));
    assert_eq!((status, &answer["id"]), (200, &json!(1)), "{answer}");
    let ended = bench.watch(|event| event["running"] == false);
    let said = ended["messages"].as_str().expect("messages");
    assert!(!said.contains("was changed after its programs were confirmed"), "{said}");
}

/// Reports and comparisons, and nothing that writes or runs.
#[test]
fn a_read_only_workbench_shows_and_does_nothing() {
    let bench = Bench::begin_with("ui runs --read-only");
    bench.place.write("a.toml", "seed = 1\n");
    bench.place.farfield("run --plane simulated -R 200 -d 2s -q -o runs/a").exits(0);
    assert_eq!(bench.get("/report?run=a").status(), 200);
    let list: Value = serde_json::from_str(&text(bench.get("/api/runs"))).expect("JSON");
    assert_eq!(list["runs"][0]["name"], "a");
    for (path, body) in [
        ("/api/start", json!({ "file": "a.toml" })),
        ("/api/save", json!({ "file": "b.toml", "text": "" })),
        ("/api/check", json!({ "file": "a.toml", "text": "seed = 1" })),
        ("/api/stop", json!({ "id": 1 })),
    ] {
        let (status, answer) = bench.post(path, &body);
        assert_eq!(status, 403, "{path}: {answer}");
        assert!(
            answer["error"].as_str().is_some_and(|sentence| sentence.contains("--read-only")),
            "{answer}"
        );
    }
    assert_eq!(bench.get("/api/scenario?file=a.toml").status(), 403);
    assert!(!bench.place.path("b.toml").exists());
}

/// A file that nobody writes into is refused at once, and holds up nobody. Work that really is stuck is in
/// the tests of `web/work.rs`.
#[test]
fn checks_of_a_pipe_are_refused_at_once() {
    let bench = Bench::begin();
    let fifo = bench.place.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .expect("a FIFO");
    let scenario = format!("[requests]\nfile = '{}'\n", fifo.display());
    let body = json!({ "file": "a.toml", "text": scenario }).to_string();
    let bearer = format!("Bearer {}", bench.token);
    let checks: Vec<std::thread::JoinHandle<()>> = (0..8)
        .map(|_| {
            let (url, bearer, body) = (format!("{}/api/check", bench.origin), bearer.clone(), body.clone());
            std::thread::spawn(move || {
                let request = client().post(url).header("Authorization", bearer);
                let answer = request.header("Content-Type", "application/json").send(body);
                let answer = text(answer.expect("an answer"));
                assert!(answer.contains("but a pipe"), "{answer}");
            })
        })
        .collect();
    for _ in 0..3 {
        for path in ["/", "/api/about", "/api/runs", "/api/scenarios"] {
            assert_eq!(bench.get(path).status(), 200, "{path}");
        }
    }
    assert_eq!(bench.post("/api/stop", &json!({ "id": 1 })).0, 422);
    for check in checks {
        check.join().expect("an answer");
    }
}

/// `--ui`: the page of a run, which ends it as Ctrl-C does.
#[test]
fn the_page_of_a_run_shows_and_ends_it() {
    let place = Place::new();
    let running = place.begin(&format!("run -R 50 -d 10m --warm-up 200ms -t 1 -q --ui --out run {CALM}"));
    let url = url_said(&running, "shown at ");
    let (origin, token) = url.split_once("/#token=").expect("a token");
    let agent = client();
    let bearer = format!("Bearer {token}");
    let mut answer =
        agent.get(format!("{origin}/api/events")).header("Authorization", &bearer).call().expect("an answer");
    let lines = BufReader::new(answer.body_mut().as_reader()).lines().map_while(Result::ok);
    let mut events =
        lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let seen = events.find(|event| event["figures"]["outcomes"][0][0] == "ok").expect("figures");
    assert_eq!((&seen["running"], &seen["name"]), (&json!(true), &json!("run")));
    let stop = agent.post(format!("{origin}/api/stop")).header("Authorization", &bearer);
    let stop = stop.header("Content-Type", "application/json").send("{}").expect("an answer");
    assert_eq!(stop.status(), 200);
    let last = events.last().expect("a last event");
    assert_eq!(last["running"], false, "{last}");
    running.ended().exits(130);
}

/// Figures for programs: a first line, one a second, and a last one with the result.
#[test]
fn lines_of_json_begin_with_the_run_and_end_with_its_result() {
    let place = Place::new();
    let ended = place.run("-R 50 -d 2s --format jsonl").exits(0);
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().expect("a kind")).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("run", "result"));
    assert!(kinds[1..kinds.len() - 1].iter().all(|kind| *kind == "figures") && kinds.len() >= 4, "{kinds:?}");
    let (last, result) = (&lines[lines.len() - 2], &lines[lines.len() - 1]);
    assert_eq!(
        (&result["exit"], &last["summary"]),
        (&json!(0), &result["summary"]),
        "the last figures are the result"
    );
    let offered: u64 = lines
        .iter()
        .filter_map(|line| line["rows"].as_array())
        .flatten()
        .fold(std::collections::BTreeMap::new(), |mut seconds, row| {
            seconds.insert(row["second"].as_u64(), row["offered"].as_u64().unwrap_or(0));
            seconds
        })
        .values()
        .sum();
    assert!(offered > 0, "{}", ended.stdout);
}
