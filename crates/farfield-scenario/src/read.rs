//! Sources of a scenario: a file, a URL, or flags alone.

use crate::brought;
use crate::document::Document;
use crate::error::ScenarioError;
use crate::overlay::{Overlay, TypedRequest};
use crate::plan::RunPlan;
use crate::values::Url;
use farfield_files::input::SCENARIO_MAX;
use std::io;
use std::path::Path;
use toml::{Table, Value};

/// Reads the scenario in the file at `path`, with all that it describes. A scenario file is valid if this
/// succeeds.
///
/// ```
/// # fn main() -> Result<(), farfield_scenario::ScenarioError> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/wan.toml");
/// let plan = farfield_scenario::read(path)?;
/// let network = plan.network().expect("the plane has emulated clients");
/// assert_eq!(network.plan.clients.len(), 1000);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The first mistake, with file, line and key, and what would do.
pub fn read(path: impl AsRef<Path>) -> Result<RunPlan, ScenarioError> {
    let path = path.as_ref();
    let text = farfield_files::read_text(path, SCENARIO_MAX);
    from_text(&text.map_err(|error| unreadable(path, &error))?, Some(path), &Overlay::default())
}

/// The scenario in the file at `path`, whose name a user typed, with `flags` laid over it. It may be a pipe,
/// or a recording, a log or a list of requests, which becomes a scenario.
///
/// # Errors
/// As [`read`].
pub fn from_file(path: &Path, flags: &Overlay) -> Result<RunPlan, ScenarioError> {
    if let Some(table) = brought::scenario_of(path, flags) {
        return RunPlan::of(Document::of(table?), flags);
    }
    let text = farfield_files::read_typed_text(path, SCENARIO_MAX);
    from_text(&text.map_err(|error| unreadable(path, &error))?, Some(path), flags)
}

fn unreadable(path: &Path, error: &io::Error) -> ScenarioError {
    ScenarioError::invalid(format!(
        "cannot read the scenario {}: {error}; a server's URL begins with http://",
        path.display()
    ))
}

/// The plan of a run that requests `url`, with `flags` laid over it.
pub fn from_url(url: &str, flags: &Overlay) -> Result<RunPlan, ScenarioError> {
    let mut text = Table::new();
    text.insert("target".into(), url.into());
    text.insert("requests".into(), Value::Table(the_request(url, &flags.request)?));
    from_request(text, flags)
}

/// The plan of tables whose one request comes from flags.
fn from_request(tables: Table, flags: &Overlay) -> Result<RunPlan, ScenarioError> {
    let mut document = Document::of(tables);
    for (part, flag, given) in [
        ("body", "--body", flags.request.body.is_some()),
        ("method", "-X", flags.request.method.is_some()),
        ("headers", "-H", !flags.request.headers.is_empty()),
    ] {
        if given {
            document.attribute(&format!("requests.request[0].{part}"), flag);
        }
    }
    RunPlan::of(document, flags)
}

/// The plan of a run without a URL or a scenario: the server is the one that `--target` or `--server` names,
/// or the built-in one, whose pages are requested.
pub fn from_flags(flags: &Overlay) -> Result<RunPlan, ScenarioError> {
    if flags.request.is_empty() {
        return from_text("", None, flags);
    }
    let target = match (flags.text("target"), flags.has("server.command")) {
        (Some(url), _) => url,
        (None, true) => "http://127.0.0.1/",
        (None, false) => {
            let sentence = "-X, -H and --body say what to ask of a URL; name it, or `--target URL`";
            return Err(ScenarioError::invalid(sentence));
        }
    };
    let mut text = Table::new();
    text.insert("requests".into(), Value::Table(the_request(target, &flags.request)?));
    from_request(text, flags)
}

/// The one request of a run that was given a URL.
fn the_request(url: &str, typed: &TypedRequest) -> Result<Table, ScenarioError> {
    let url: Url = url.parse().map_err(ScenarioError::invalid)?;
    let mut request = Table::new();
    request.insert("path".into(), url.path().into());
    if let Some(method) = &typed.method {
        request.insert("method".into(), method.as_str().into());
    }
    if let Some(body) = &typed.body {
        // As in curl, `@` begins the name of a file.
        let body = match body.strip_prefix('@') {
            Some(file) => Value::Table(Table::from_iter([("file".to_owned(), Value::from(file))])),
            None => body.as_str().into(),
        };
        request.insert("body".into(), body);
        if typed.method.is_none() {
            request.insert("method".into(), "POST".into());
        }
    }
    let mut headers = Table::new();
    for header in &typed.headers {
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

/// The scenario `text` of the file at `path`, or of none, with `flags` laid over it. Other files are
/// relative to its folder.
///
/// # Errors
/// The first mistake in the text, in a file that it names or in a flag.
pub fn from_text(text: &str, path: Option<&Path>, flags: &Overlay) -> Result<RunPlan, ScenarioError> {
    let document = Document::parse(text, path)?;
    if path.is_some() && !flags.request.is_empty() {
        return Err(ScenarioError::invalid(
            "-X, -H and --body say what to ask of a URL; in a scenario write [[requests.request]]",
        ));
    }
    RunPlan::of(document, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use farfield_base::Duration;
    use farfield_engine::PlaneKind;

    fn read_text(text: &str) -> Result<Scenario, String> {
        let path = Path::new("s.toml");
        let plan = from_text(text, Some(path), &Overlay::default()).map_err(|error| error.to_string());
        plan.map(|plan| plan.scenario)
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

    /// The default time limit of a request is the measured part, from 5 to 30 s.
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
    fn the_scenarios_that_farfield_comes_with_are_valid() {
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
    fn mistakes_are_reported_with_line_and_key() {
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
        check("target = 'ftp://x/'", &["s.toml:1", "target", "https"]);
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

    /// `--plane sockets` runs a scenario of another plane, and ignores that plane's tables.
    #[test]
    fn a_plane_given_as_a_flag_ignores_other_planes_tables() {
        let flags = Overlay::default().with("plane", "--plane", "sockets");
        let text = "plane = 'emulated'\n[network]\nrtt = '80ms'";
        let scenario = from_text(text, Some(Path::new("s.toml")), &flags).expect("a scenario").scenario;
        assert_eq!((scenario.ignored.as_slice(), &scenario.network), (&["network"][..], &None));
        assert_eq!(read_text(&scenario.to_toml()).map(|again| again.plane), Ok(PlaneKind::Sockets));
    }

    /// Repeated fields are all sent, and `@` ahead of a body names a file, as in curl.
    #[test]
    fn header_fields_are_repeated_and_bodies_read_from_files() {
        let headers = ["X-A: 1", "X-A: 2", "X-B: 3"].map(str::to_owned).to_vec();
        let request = TypedRequest { headers, body: Some("@Cargo.toml".into()), method: None };
        let flags = Overlay::asking(request);
        let shown = from_url("http://127.0.0.1:8080/", &flags).expect("a scenario").scenario.to_toml();
        for part in ["x-a = [\"1\", \"2\"]", "x-b = \"3\"", "file = \"Cargo.toml\""] {
            assert!(shown.contains(part), "`{part}` is not in: {shown}");
        }
    }

    /// The flags' request is sent to the URL, whether that is the argument or `--target`.
    #[test]
    fn what_is_asked_for_does_not_depend_on_where_the_url_is_written() {
        let asked = |target: Option<&str>| {
            let headers = vec!["X-A: b".into()];
            let request = TypedRequest { method: Some("PUT".into()), headers, body: Some("c".into()) };
            let flags = Overlay::asking(request);
            match target {
                Some(target) => flags.with("target", "--target", target),
                None => flags,
            }
        };
        let url = "http://127.0.0.1:80/a?b";
        let (one, other) = (from_url(url, &asked(None)), from_flags(&asked(Some(url))));
        assert_eq!(
            one.as_ref().expect("a scenario").scenario.to_toml(),
            other.expect("a scenario").scenario.to_toml()
        );
        let shown = one.expect("a scenario").scenario.to_toml();
        assert!(["PUT", "x-a", "/a?b"].iter().all(|part| shown.contains(part)), "{shown}");
        let problem = from_flags(&asked(None)).expect_err("nothing to ask");
        assert!(problem.to_string().contains("--target"), "{problem}");
    }

    #[test]
    fn what_is_wrong_with_a_request_names_its_flag() {
        let refused = |request: TypedRequest| {
            let flags = Overlay::asking(request);
            from_url("http://127.0.0.1/", &flags).expect_err("refused").to_string()
        };
        let missing = refused(TypedRequest { body: Some("@missing".into()), ..TypedRequest::default() });
        assert!(missing.starts_with("--body: missing: "), "{missing}");
        let reserved =
            refused(TypedRequest { headers: vec!["Content-Length: 3".into()], ..TypedRequest::default() });
        assert!(reserved.starts_with("-H: "), "{reserved}");
    }

    /// Mistakes in files and requests are found when the scenario is read, with file, line and key.
    #[test]
    fn mistakes_in_files_and_requests_have_a_line() {
        let check = |text: &str, expected: &str| {
            let sentence = read_text(text).expect_err(text);
            assert!(sentence.starts_with(expected), "`{expected}` does not begin: {sentence}");
        };
        let gaps = "arrivals = { process = 'gaps', file = 'missing', loop = true }";
        check(&format!("[load]\nmodel = 'open'\n{gaps}"), "s.toml:3: load.arrivals.file: missing: ");
        check("name = 'x'\n[requests]\nfile = 'missing'", "s.toml:3: requests.file: missing: ");
        check("name = 'x'\nrequests.site = 'missing.toml'", "s.toml:2: requests.site: missing.toml: ");
        let times = "service-time = { distribution = 'empirical', file = 'missing' }";
        check(
            &format!("plane = 'simulated'\n[simulated]\n{times}"),
            "s.toml:3: simulated.service-time.file: missing: ",
        );
        let header = "[[requests.request]]\npath = '/'\nheaders = { connection = 'close' }";
        check(header, "s.toml:1: requests: ");
    }

    #[test]
    fn a_flags_mistake_names_the_flag() {
        let flags = Overlay::default().with("load.think", "--think", "soon");
        let problem = from_text("", None, &flags).expect_err("no time");
        assert!(problem.to_string().contains("--think"), "{problem}");
    }
}
