//! The scenario: one TOML file, read into types that cannot be wrong.
//!
//! [`read`] puts the file and the flags together and says in one sentence, with file, line and key, what cannot
//! be meant. [`Scenario::resolve`] turns the result into what the engine runs.

use crate::document::Document;
use crate::error::ScenarioError;
use crate::kinds::{Samples, Url};
use crate::mistake::Mistake;
use crate::network::NetworkSpec;
use crate::overlay::Overlay;
use crate::server::ServerSpec;
use crate::simulated::{CaptureSpec, SimulatedSpec};
use farfield_base::{Bytes, Duration};
use farfield_engine::Sources;
use farfield_measure::{Threshold, VerdictLimits};
use farfield_origin::OriginConfig;
use farfield_traffic::session::SessionSpec;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::Policy;
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// All that a run is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Scenario {
    /// The name in reports, and of the run directory.
    pub name: String,
    /// Where all chance comes from.
    pub seed: u64,
    /// The server to drive; the built-in one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Url>,
    /// The version that requests announce.
    pub http: HttpVersion,
    /// What carries the bytes.
    pub plane: Plane,
    /// Conditions that the result is held against.
    pub thresholds: Vec<Threshold>,
    /// The same, and the run ends once one is broken.
    pub aborts: Vec<Threshold>,
    /// How long, and how much.
    pub run: RunSpec,
    /// When users act.
    pub load: LoadSpec,
    /// What they ask for; the target's own path, or the built-in server's pages, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSetSpec>,
    /// Sessions in which requests depend on replies, in place of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSpec>,
    /// How they use connections.
    pub connections: Policy,
    /// The sockets plane.
    pub sockets: SocketsSpec,
    /// The emulated and the simulated plane: clients, and the links between them and the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
    /// The emulated plane: who serves, and how its kernel does TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSpec>,
    /// The simulated plane: the model of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedSpec>,
    /// Which packets are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureSpec>,
    /// The built-in server, where there is no target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginConfig>,
    /// When the run is to be called invalid.
    pub verdict: VerdictLimits,
    /// What is kept.
    pub output: OutputSpec,
    /// Tables of another plane, which `--plane sockets` has the run ignore.
    #[serde(skip)]
    pub ignored: Vec<&'static str>,
}

/// The tables that are about clients on a network, or about a server before them.
pub(crate) const OF_A_NETWORK: [&str; 4] = ["network", "server", "capture", "simulated"];

/// The version that requests announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0.
    #[serde(rename = "1.0")]
    Http10,
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    Http11,
}

/// What carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plane {
    /// The kernel's own sockets.
    #[default]
    Sockets,
    /// Emulated clients, each with an address, a TCP and a path of its own, against a real server.
    Emulated,
    /// The same clients against a model of a server, in virtual time.
    Simulated,
}

/// `[run]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RunSpec {
    /// How long users act before measuring begins.
    pub warm_up: Duration,
    /// How long is measured.
    pub duration: Duration,
    /// How long replies are awaited after the load has ended.
    pub drain: Duration,
    /// Requests after which no more are begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<NonZeroU64>,
    /// Sessions after which no more are begun; the run ends with the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<NonZeroU64>,
    /// How long sessions that are open at the end of the measured part may go on.
    pub finish_sessions: Duration,
    /// What requests are that are still open after the drain.
    pub unfinished: Unfinished,
}

/// What requests count as that are still open when the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// Errors, which take longer than they had lasted.
    #[default]
    Error,
    /// Nothing: they are counted among the outcomes alone.
    Ignore,
}

/// `[sockets]`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SocketsSpec {
    /// Addresses that clients connect from, in turn. Absent: the whole of 127.0.0.0/8 if the target is there, and
    /// else the kernel's choice. An empty list is the kernel's choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Sources>,
    /// Worker threads. Absent: one for every processor, or half of them if the server is on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<NonZeroU32>,
    /// The processors that farfield keeps to; all it may use if empty.
    pub processors: Vec<usize>,
}

/// `[output]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OutputSpec {
    /// The run directory; under `farfield-runs`, by time and name, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Which samples are kept: `"all"`, `"none"`, or k for every k-th.
    pub samples: Samples,
    /// The most that samples may take on disk.
    pub disk_budget: Bytes,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            name: "run".to_owned(),
            seed: 1,
            target: None,
            http: HttpVersion::default(),
            plane: Plane::default(),
            thresholds: Vec::new(),
            aborts: Vec::new(),
            run: RunSpec::default(),
            load: LoadSpec::default(),
            requests: None,
            session: None,
            connections: Policy::default(),
            sockets: SocketsSpec::default(),
            network: None,
            server: None,
            simulated: None,
            capture: None,
            origin: None,
            verdict: VerdictLimits::default(),
            output: OutputSpec::default(),
            ignored: Vec::new(),
        }
    }
}

impl Default for RunSpec {
    fn default() -> RunSpec {
        RunSpec {
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            requests: None,
            sessions: None,
            finish_sessions: Duration::ZERO,
            unfinished: Unfinished::default(),
        }
    }
}

impl Default for OutputSpec {
    fn default() -> OutputSpec {
        OutputSpec { directory: None, samples: Samples::default(), disk_budget: Bytes(4 << 30) }
    }
}

/// The scenario in the file at `path`, with `flags` laid over it.
pub fn read(path: &Path, flags: &Overlay) -> Result<Scenario, ScenarioError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        ScenarioError::invalid(format!(
            "cannot read the scenario {}: {error}; a server's URL begins with http://",
            path.display()
        ))
    })?;
    from_text(&text, Some(path), flags)
}

/// A run that asks `url` for one thing.
pub fn from_url(url: &str, flags: &Overlay) -> Result<Scenario, ScenarioError> {
    let mut text = Table::new();
    text.insert("target".into(), url.into());
    text.insert("requests".into(), Value::Table(the_request(url, flags)?));
    from_text(&text.to_string(), None, flags)
}

/// A run that was given neither a URL nor a scenario: the server is the one that `--target` or `--server` names, or the
/// built-in one, which has pages of its own.
pub fn from_flags(flags: &Overlay) -> Result<Scenario, ScenarioError> {
    if !asks(flags) {
        return from_text("", None, flags);
    }
    let target = match (&flags.target, &flags.server) {
        (Some(url), _) => url.as_str(),
        (None, Some(_)) => "http://127.0.0.1/",
        (None, None) => {
            let sentence = "-X, -H and --body say what to ask of a URL; name it, or `--target URL`";
            return Err(ScenarioError::invalid(sentence));
        }
    };
    let mut text = Table::new();
    text.insert("requests".into(), Value::Table(the_request(target, flags)?));
    from_text(&text.to_string(), None, flags)
}

/// Whether the flags say what to ask for.
fn asks(flags: &Overlay) -> bool {
    flags.method.is_some() || flags.body.is_some() || !flags.headers.is_empty()
}

/// The one request of a run that was given a URL.
fn the_request(url: &str, flags: &Overlay) -> Result<Table, ScenarioError> {
    let url: Url = url.parse().map_err(ScenarioError::invalid)?;
    let mut request = Table::new();
    request.insert("path".into(), url.path().into());
    if let Some(method) = &flags.method {
        request.insert("method".into(), method.as_str().into());
    }
    if let Some(body) = &flags.body {
        // As curl has it: what follows `@` is the name of a file.
        let body = match body.strip_prefix('@') {
            Some(file) => Value::Table(Table::from_iter([("file".to_owned(), Value::from(file))])),
            None => body.as_str().into(),
        };
        request.insert("body".into(), body);
        if flags.method.is_none() {
            request.insert("method".into(), "POST".into());
        }
    }
    let mut headers = Table::new();
    for header in &flags.headers {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            ScenarioError::invalid(format!(
                "-H '{header}': write a name, a colon and a value, as in 'Accept: text/html'"
            ))
        })?;
        let values = headers.entry(name.trim().to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        values.as_array_mut().expect("inserted as a list").push(value.trim().into());
    }
    if !headers.is_empty() {
        request.insert("headers".into(), Value::Table(headers));
    }
    let mut set = Table::new();
    set.insert("request".into(), Value::Array(vec![Value::Table(request)]));
    Ok(set)
}

/// Puts the text and the flags together.
pub fn from_text(text: &str, path: Option<&Path>, flags: &Overlay) -> Result<Scenario, ScenarioError> {
    let mut document = Document::parse(text, path)?;
    if path.is_some() && asks(flags) {
        return Err(ScenarioError::invalid(
            "-X, -H and --body say what to ask of a URL; in a scenario write [[requests.request]]",
        ));
    }
    document.lay_over(flags)?;
    let named = document.contains("name");
    let ignored = match flags.plane.as_deref() {
        Some("sockets") => OF_A_NETWORK.into_iter().filter(|table| document.remove(table)).collect(),
        _ => Vec::new(),
    };
    let mut scenario: Scenario = document.typed()?;
    scenario.ignored = ignored;
    if !named && let Some(stem) = document.stem() {
        scenario.name = stem;
    }
    let timeout = Policy::request_timeout_for(scenario.run.duration);
    scenario.connections.request_timeout.get_or_insert(timeout);
    let mut load = |file: &Path| std::fs::read(document.folder().join(file));
    let located = |mistake: Mistake| document.locate(&mistake);
    scenario.measured_part().map_err(located)?;
    scenario.network(&mut load).map_err(located)?;
    scenario.fixed_replies(&mut load).map_err(located)?;
    scenario.session(&mut load).map_err(located)?;
    Ok(scenario)
}

impl Scenario {
    /// Checks that there is a measured part.
    fn measured_part(&self) -> Result<(), Mistake> {
        let nothing = "a measured part of 0s measures nothing; write how long to measure, such as 10s";
        match self.run.duration {
            Duration::ZERO => Err(Mistake::at("run.duration", nothing)),
            _ => Ok(()),
        }
    }

    /// The scenario as TOML, with every key that has a value.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario is written as it was read")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Scenario, String> {
        let path = Path::new("s.toml");
        from_text(text, Some(path), &Overlay::default()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn what_is_shown_reads_as_the_same() {
        for text in [
            "",
            "target = 'http://127.0.0.1:80/x?y=1'\nload = { users = 3, think = '2s' }",
            "load = { model = 'open', arrivals = '500/s' }\nconnections.policy = 'one-request'",
            "load = { model = 'overload', descriptors = 20, timeout = '200ms' }\nthresholds = ['p99<200ms']",
            "run.unfinished = 'ignore'",
            "[[requests.request]]\npath = '/a'\nembedded = ['/b']\n[output]\nsamples = 10\n[run]\nrequests = 5",
            "sockets.sources = ['127.0.0.0/8', '::1']\norigin.service-time = '2ms'",
        ] {
            let scenario = read_text(text).expect(text);
            let shown = scenario.to_toml();
            assert_eq!(read_text(&shown).as_ref(), Ok(&scenario), "{shown}");
        }
    }

    /// A request may take as long as the measured part, from 5 to 30 s, unless the scenario says otherwise.
    #[test]
    fn the_request_timeout_fits_the_run() {
        let timeout = |text: &str| read_text(text).expect(text).connections.request_timeout;
        for (duration, seconds) in [("1s", 5), ("4s", 5), ("10s", 10), ("20s", 20), ("1m", 30), ("2h", 30)] {
            let text = format!("run.duration = '{duration}'");
            assert_eq!(timeout(&text), Some(Duration::from_secs(seconds)), "{duration}");
        }
        assert_eq!(timeout(""), Some(Duration::from_secs(10)), "the default run is of 10 s");
        assert_eq!(
            timeout("run.duration = '1h'\nconnections.request-timeout = '2m'"),
            Some(Duration::from_secs(120))
        );
        assert!(read_text("").expect("a scenario").to_toml().contains("request-timeout = \"10s\""));
    }

    #[test]
    fn the_scenarios_that_farfield_comes_with_can_be_meant() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).expect("the scenarios") {
            let path = entry.expect("a scenario").path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("text");
            let scenario = from_text(&text, Some(&path), &Overlay::default());
            assert!(scenario.is_ok(), "{scenario:?}");
            read += 1;
        }
        assert!(read >= 4, "{read} scenarios");
    }

    #[test]
    fn mistakes_are_told_with_line_and_key() {
        let check = |text: &str, parts: &[&str]| {
            let sentence = read_text(text).expect_err(text);
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        };
        check("name = 'x'\n[load]\nusres = 3", &["s.toml:3", "usres", "`users`"]);
        check("[load]\nusers = -3", &["s.toml:2", "users"]);
        check("[load]\nmodel = 'opne'\narrivals='5/s'", &["s.toml:2: load.model: ", "opne", "`open`"]);
        check("[run]\nduration = '10 parsecs'", &["s.toml:2", "run.duration", "300ms"]);
        check("[output]\nsamples = 0", &["s.toml:2", "output.samples"]);
        check("thresholds = ['p99<fast']", &["s.toml:1", "thresholds"]);
        check("name = ", &["s.toml:1"]);
        check("target = 'https://x/'", &["s.toml:1", "target", "http"]);
        check("[connections]\nparallel = 0", &["s.toml:2", "connections.parallel"]);
        check("load = { model='overload', descriptors=3, timeout='0s' }", &["s.toml:1", "timeout"]);
        check(
            "load = { model='open', arrivals = {process='bursts', rate='5/s', factor=6, share='20%'} }",
            &["s.toml:1"],
        );
        check("[load]\nmodel='overload'\ndescriptors=3\ntimeout='-3s'", &["s.toml:4: load.timeout: `-3s`"]);
        check("[load]\nmodel = 'open'\narrivals = '-5/s'", &["s.toml:3: load.arrivals: `-5/s`"]);
        check("[load]\nmodel = 'closed'\nusers = 0", &["s.toml:3: load.users: "]);
        check("[verdict]\nworker-busy = 1.5", &["s.toml:2", "verdict.worker-busy"]);
        check("[run]\nduration = '0s'", &["s.toml:2", "run.duration", "10s"]);
        check("thresholds = ['p99{dsl}<1s']", &["s.toml:1", "thresholds", "`dsl`", "sockets"]);
        check("[run]\nduration = '1s'\n[server]\ncommand = 'x'", &["s.toml:3", "server", "emulated"]);
        check("[network]\nrtt = '80ms'", &["s.toml:1", "network", "emulated"]);
    }

    /// The same file on the sockets plane: said on the command line, it is meant.
    #[test]
    fn a_plane_that_was_typed_ignores_other_planes_tables() {
        let flags = Overlay { plane: Some("sockets".into()), ..Overlay::default() };
        let text = "plane = 'emulated'\n[network]\nrtt = '80ms'";
        let scenario = from_text(text, Some(Path::new("s.toml")), &flags).expect("a scenario");
        assert_eq!((scenario.ignored.as_slice(), &scenario.network), (&["network"][..], &None));
        assert_eq!(read_text(&scenario.to_toml()).map(|again| again.plane), Ok(Plane::Sockets));
    }

    /// As curl has it: repeated fields are all sent, and `@` before a body names a file.
    #[test]
    fn header_fields_are_repeated_and_bodies_read_from_files() {
        let headers = ["X-A: 1", "X-A: 2", "X-B: 3"].map(str::to_owned).to_vec();
        let flags = Overlay { headers, body: Some("@form.bin".into()), ..Overlay::default() };
        let shown = from_url("http://127.0.0.1:8080/", &flags).expect("a scenario").to_toml();
        for part in ["x-a = [\"1\", \"2\"]", "x-b = \"3\"", "file = \"form.bin\""] {
            assert!(shown.contains(part), "`{part}` is not in: {shown}");
        }
    }

    /// What the flags say to ask for is asked for, wherever the URL was written.
    #[test]
    fn what_is_asked_for_does_not_depend_on_where_the_url_is_written() {
        let asked = |target: Option<&str>| Overlay {
            target: target.map(str::to_owned),
            method: Some("PUT".into()),
            headers: vec!["X-A: b".into()],
            body: Some("c".into()),
            ..Overlay::default()
        };
        let url = "http://127.0.0.1:80/a?b";
        let (one, other) = (from_url(url, &asked(None)), from_flags(&asked(Some(url))));
        assert_eq!(one.as_ref().expect("a scenario").to_toml(), other.expect("a scenario").to_toml());
        let shown = one.expect("a scenario").to_toml();
        assert!(["PUT", "x-a", "/a?b"].iter().all(|part| shown.contains(part)), "{shown}");
        let problem = from_flags(&asked(None)).expect_err("nothing to ask");
        assert!(problem.to_string().contains("--target"), "{problem}");
    }

    #[test]
    fn a_flags_mistake_names_the_flag() {
        let flags = Overlay { think: Some("soon".into()), ..Overlay::default() };
        let problem = from_text("", None, &flags).expect_err("no time");
        assert!(problem.to_string().contains("--think"), "{problem}");
    }
}
