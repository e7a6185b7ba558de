//! Answers of the workbench: its page, runs and reports, scenario files, the form, and commands.
//!
//! A run that starts programs is started only with the digest of them, which the answer to the first attempt
//! has, with the programs for somebody to read. The run itself is held to it. Names of runs and of files are
//! single names in their folders: nothing else of the disk can be asked for.

use super::children::WorkbenchRuns;
use super::experiments::Experiments;
use super::files::{RunList, ScenarioFiles};
use super::kept::KeptRuns;
use super::refusal::KeyRefusal;
use super::{draw, fields, form, programs};
use crate::problem::Problem;
use crate::web::work::Work;
use crate::web::{Site, WebReply, WebRequest};
use farfield_base::printable;
use farfield_report::comparison::drawing::ComparisonCharts;
use farfield_report::comparison::metric::Metric;
use farfield_report::comparison::scoped::ScopedMetric;
use farfield_report::comparison::{self, html};
use farfield_report::{RunDirectory, page};
use farfield_scenario::{inputs, starts};
use hyper::header::HeaderName;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// The files of the page, by their paths.
const PAGE: [(&str, &str, &str); 11] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("/app.js", "text/javascript; charset=utf-8", include_str!("page/app.js")),
    ("/dom.js", "text/javascript; charset=utf-8", include_str!("page/dom.js")),
    ("/token.js", "text/javascript; charset=utf-8", include_str!("page/token.js")),
    ("/events.js", "text/javascript; charset=utf-8", include_str!("page/events.js")),
    ("/pages.js", "text/javascript; charset=utf-8", include_str!("page/pages.js")),
    ("/runs.js", "text/javascript; charset=utf-8", include_str!("page/runs.js")),
    ("/kept.js", "text/javascript; charset=utf-8", include_str!("page/kept.js")),
    ("/form.js", "text/javascript; charset=utf-8", include_str!("page/form.js")),
    ("/fields.js", "text/javascript; charset=utf-8", include_str!("page/fields.js")),
];

/// The document in which the page shows reports and comparisons: it has the policy of strange pages, and
/// shows what the page hands to it.
const FRAME: (&str, &str) = ("/frame", include_str!("page/frame.html"));

/// True if this is the path of a file of the page.
pub fn is_page_file(path: &str) -> bool {
    path == FRAME.0 || PAGE.iter().any(|(known, _, _)| *known == path)
}

/// A file of the page.
pub fn page_file(path: &str) -> Option<WebReply> {
    if path == FRAME.0 {
        return Some(WebReply::strange_page(FRAME.1.to_owned()));
    }
    let (_, kind, text) = PAGE.iter().find(|(known, _, _)| *known == path)?;
    Some(WebReply::file(kind, *text))
}

/// The field of a reply that says whether the experiment on its page has ended: `1`, or `0`.
const ENDED: HeaderName = HeaderName::from_static("farfield-ended");
/// Runs that are compared at once.
const COMPARED_MAX: usize = 20;

/// The rights of whoever has the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// All of it.
    Whole,
    /// See runs, their reports and comparisons.
    ReadOnly,
}

/// The workbench.
pub struct Workbench {
    access: Access,
    folder: PathBuf,
    runs: RunList,
    experiments: Experiments,
    kept: KeptRuns,
    scenarios: ScenarioFiles,
    children: Arc<WorkbenchRuns>,
}

impl Workbench {
    /// The workbench of the runs in `folder` and the scenario files in `scenarios`.
    pub fn new(
        folder: PathBuf,
        scenarios: PathBuf,
        children: Arc<WorkbenchRuns>,
        access: Access,
    ) -> Workbench {
        let runs = RunList::of(folder.clone());
        let (kept, scenarios) = (KeptRuns::of(folder.clone()), ScenarioFiles::of(scenarios));
        let experiments = Experiments::of(folder.clone());
        Workbench { access, folder, runs, experiments, kept, scenarios, children }
    }

    fn read(&self, asked: &WebRequest) -> WebReply {
        match asked.path.as_str() {
            "/api/about" => WebReply::json(&json!({
                "single": false,
                "read_only": self.access == Access::ReadOnly,
                "version": env!("CARGO_PKG_VERSION"),
                "folder": self.folder.to_string_lossy(),
                "scenarios": self.scenarios.folder().to_string_lossy(),
            })),
            "/api/runs" => match self.runs.json() {
                Ok(runs) => WebReply::json(&json!({
                    "runs": runs,
                    "experiments": self.experiments.json(),
                    "started": self.children.json(),
                })),
                Err(sentence) => WebReply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &sentence),
            },
            "/api/events" => match self.children.hub().join() {
                Some(events) => WebReply::events(events),
                None => WebReply::refusal(StatusCode::SERVICE_UNAVAILABLE, "too many pages show these runs"),
            },
            "/api/scenarios" => answered(self.scenarios.list().map(|names| json!({ "files": names }))),
            "/api/scenario" => {
                let name = asked.value("file").unwrap_or_default();
                answered(self.scenarios.text(name).map(|text| json!({ "text": text })))
            }
            "/api/form" => WebReply::json(&fields::json()),
            "/api/again" => answered(self.again(asked.value("run").unwrap_or_default())),
            "/report" => self.report(asked.value("run").unwrap_or_default()),
            "/compare" => self.compare(asked),
            "/experiment" => match self.experiments.page(asked.value("name").unwrap_or_default()) {
                Ok((page, ended)) => WebReply::strange_page(page).with(ENDED, if ended { "1" } else { "0" }),
                Err(sentence) => WebReply::sentence(StatusCode::NOT_FOUND, &sentence),
            },
            path => page_file(path).unwrap_or_else(WebReply::nothing),
        }
    }

    fn command(&self, asked: &WebRequest) -> WebReply {
        let Ok(Value::Object(body)) = serde_json::from_slice(&asked.body) else {
            return WebReply::refusal(StatusCode::BAD_REQUEST, "the command is no object of JSON");
        };
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_set = |name: &str| body.get(name).and_then(Value::as_bool).unwrap_or(false);
        let nothing = |done: Result<(), String>| done.map(|()| json!({}));
        match asked.path.as_str() {
            "/api/check" => answered(self.scenarios.check(text("file"), text("text"))),
            "/api/write" => {
                answered(form::write(text("text"), body.get("values")).map(|text| json!({ "text": text })))
            }
            "/api/read" => answered(form::read(text("text")).map(|values| json!({ "values": values }))),
            "/api/draw" => match text("key") {
                "load.stages" => answered(draw::course(text("from"), body.get("value"))),
                key => answered(draw::drawn(key, body.get("value"))),
            },
            "/api/save" => {
                answered(nothing(self.scenarios.save(text("file"), text("text"), is_set("replace"))))
            }
            "/api/start" => self.start(text("file"), text("confirmed")),
            "/api/describe" => {
                let described = self.kept.describe(text("run"), text("name"), text("note"));
                answered(described.map(|described| described.json()))
            }
            "/api/delete" => answered(nothing(self.kept.remove(text("run")))),
            "/api/stop" => {
                let id = body.get("id").and_then(Value::as_u64).unwrap_or_default();
                answered(nothing(self.children.stop(id)))
            }
            _ => WebReply::nothing(),
        }
    }

    /// Starts a run of a file. Where it starts programs, `confirmed` is the digest of these; else the answer
    /// has them, and what confirms them.
    fn start(&self, file: &str, confirmed: &str) -> WebReply {
        let file = match self.scenarios.existing(file) {
            Ok(file) => file,
            Err(sentence) => return answered(Err(sentence)),
        };
        let programs = match self.scenarios.starts(&file) {
            Ok(programs) => programs,
            Err(sentence) => return answered(Err(sentence)),
        };
        let digest = starts::digest(&programs);
        if !programs.is_empty() && confirmed != digest {
            let was_confirmed = !confirmed.is_empty();
            let sentence = match was_confirmed {
                true => {
                    "the scenario starts other programs than those that were confirmed; read them, and confirm anew"
                }
                false => "the scenario starts programs; read them, and confirm with `confirmed`",
            };
            let programs = programs::json(&programs);
            let asks = json!({ "error": sentence, "programs": programs, "confirm": digest });
            return WebReply::json(&asks).of(StatusCode::CONFLICT);
        }
        answered(self.children.start(&file, &digest).map(|id| json!({ "id": id })))
    }

    /// The scenario of a run, to be changed and run again, and a name for its file.
    fn again(&self, name: &str) -> Result<Value, String> {
        let directory = self.kept.path(name)?;
        let text = inputs::scenario_for_anywhere(&directory)
            .map_err(|error| printable(&Problem::from(error).to_string(), &[]).into_owned())?;
        Ok(json!({ "text": text, "file": self.scenarios.free_name(&text) }))
    }

    fn report(&self, name: &str) -> WebReply {
        match self
            .kept
            .path(name)
            .and_then(|path| RunDirectory::open(path).map_err(|error| error.to_string()))
        {
            Ok(run) => WebReply::strange_page(page::render(&run)),
            Err(sentence) => WebReply::sentence(StatusCode::NOT_FOUND, &sentence),
        }
    }

    fn compare(&self, asked: &WebRequest) -> WebReply {
        let names = asked.query.iter().filter(|(name, _)| name == "run").map(|(_, run)| run.as_str());
        let paths: Result<Vec<PathBuf>, String> =
            names.take(COMPARED_MAX).map(|name| self.kept.path(name)).collect();
        let compared = paths.and_then(|paths| {
            if paths.len() < 2 {
                return Err("name two runs at least: the others are compared with the first".to_owned());
            }
            let sides = comparison::open(&paths).map_err(|error| error.to_string())?;
            let compared =
                comparison::compare(&sides[0], &sides[1..], &Metric::DEFAULT.map(ScopedMetric::from));
            Ok(html::render(&compared, &[], &ComparisonCharts::of(&sides)))
        });
        match compared {
            Ok(page) => WebReply::strange_page(page),
            Err(sentence) => WebReply::sentence(StatusCode::UNPROCESSABLE_ENTITY, &sentence),
        }
    }
}

/// JSON, or a sentence that says what is wrong with what was asked for, with its key where it has one.
fn answered<E: Into<KeyRefusal>>(result: Result<Value, E>) -> WebReply {
    match result {
        Ok(value) => WebReply::json(&value),
        Err(refused) => {
            let refused: KeyRefusal = refused.into();
            WebReply::json(&refused.json()).of(StatusCode::UNPROCESSABLE_ENTITY)
        }
    }
}

/// True if a path is about scenarios, and not about runs.
fn is_of_scenarios(path: &str) -> bool {
    matches!(path, "/api/scenarios" | "/api/scenario" | "/api/form" | "/api/again")
}

impl Site for Workbench {
    fn is_public(&self, path: &str) -> bool {
        is_page_file(path)
    }

    fn work(&self, asked: &WebRequest) -> Work {
        match asked.path.as_str() {
            "/api/runs" | "/api/scenarios" | "/api/scenario" | "/api/save" | "/api/delete" => Work::Folder,
            "/api/check" | "/api/write" | "/api/read" | "/api/draw" | "/api/start" | "/api/again" => {
                Work::Check
            }
            "/report" | "/compare" | "/experiment" | "/api/describe" => Work::Report,
            "/api/stop" => Work::Stop,
            _ => Work::Memory,
        }
    }

    fn answer(&self, asked: &WebRequest) -> WebReply {
        let is_reading = asked.method == Method::GET && !is_of_scenarios(&asked.path);
        if self.access == Access::ReadOnly && !is_reading {
            let sentence = "this workbench is read-only: it shows runs, and neither changes them, writes scenarios nor starts \
                            runs; begin it without --read-only";
            return WebReply::refusal(StatusCode::FORBIDDEN, sentence);
        }
        match asked.method {
            Method::GET => self.read(asked),
            Method::POST => self.command(asked),
            _ => WebReply::nothing(),
        }
    }
}
