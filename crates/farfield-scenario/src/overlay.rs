//! Flags laid over the scenario: each is short for a key, and `--set` reaches every key.
//!
//! File and flags become one TOML document, which is read into types once: a flag can do nothing that the
//! file cannot, and an invalid value gets the same message.

use crate::ScenarioError;
use farfield_base::Window;
use toml::{Table, Value};

/// Keys and a request that the command line lays over a scenario.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// Keys with their values, in the order in which they take effect.
    settings: Vec<Setting>,
    /// `KEY=VALUE`, each, which take effect after these.
    pub sets: Vec<String>,
    /// The request for a URL.
    pub request: TypedRequest,
    /// One session is gone through once, without think times, and nothing is measured.
    pub(crate) once: bool,
    /// The network's time has no end: it is that of a shell, a route or a path.
    pub(crate) has_no_end: bool,
}

/// A request as the command line describes it.
#[derive(Debug, Clone, Default)]
pub struct TypedRequest {
    /// The request's method.
    pub method: Option<String>,
    /// The request's header fields, `Name: value`.
    pub headers: Vec<String>,
    /// The request's body; `@` begins the name of a file.
    pub body: Option<String>,
}

impl TypedRequest {
    /// True if no part of the request is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.method.is_none() && self.body.is_none() && self.headers.is_empty()
    }
}

/// One key that a flag sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The key, with the tables that it lies in before it: `load.users`.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The flag, as it is named in messages.
    pub flag: String,
}

impl Setting {
    fn new(key: &str, flag: &str, value: Value) -> Setting {
        Setting { key: key.to_owned(), value, flag: flag.to_owned() }
    }

    fn is_of(&self, key: &str) -> bool {
        self.key == key
    }

    /// True if the key is about emulated clients or their server, and selects their plane.
    fn is_emulated(&self) -> bool {
        matches!(self.key.split('.').next(), Some("network" | "server"))
    }
}

/// The key of programs beside the users: those of flags are added to the document's.
const PROGRAMS: &str = "network.program";

/// The key that `--users` sets in a closed load; other models have another.
const USERS: &str = "load.users";

/// The stages of a load: of rates, which make it open, or of a closed load's users.
const STAGES: &str = "load.stages";

/// Keys that stages take the place of, and that take the place of stages.
const INSTEAD: [(&str, &[&str]); 2] = [("stages", &["users", "ramp", "arrivals"]), ("arrivals", &["stages"])];

/// Keys that `--workers` and `--processors` set: on sockets, and with emulated clients.
const OF_WORKERS: [(&str, &str); 2] =
    [("sockets.workers", "network.shards"), ("sockets.processors", "network.processors")];

impl Overlay {
    /// Lets the network's time have no end, whatever the length of a run.
    pub fn without_end(&mut self) {
        self.has_no_end = true;
    }

    /// The overlay by which one session is gone through once.
    pub fn once() -> Overlay {
        Overlay { once: true, ..Overlay::default() }
    }

    /// The overlay that says what to ask of a URL.
    pub fn asking(request: TypedRequest) -> Overlay {
        Overlay { request, ..Overlay::default() }
    }

    /// Sets `key` to what `flag` says. Lists of several flags for one key add up.
    ///
    /// The key `load.users` is that of the model's users, and `sockets.workers` and `sockets.processors` are
    /// those of the shards where clients are emulated; `load.arrivals` makes a load open.
    pub fn set(&mut self, key: &str, flag: &str, value: impl Into<Value>) {
        let value = value.into();
        let before = self.settings.iter_mut().find(|setting| setting.is_of(key));
        match (before.map(|setting| &mut setting.value), value) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (_, value) => self.settings.push(Setting::new(key, flag, value)),
        }
    }

    /// Runs `command`, or the user's shell, at a client of `class` beside the users.
    pub fn add_program(&mut self, flag: &str, class: &str, command: Option<&str>) {
        let what = match command {
            Some(command) => ("command".to_owned(), command.into()),
            None => ("shell".to_owned(), true.into()),
        };
        let program = Table::from_iter([("class".to_owned(), class.into()), what]);
        self.set(PROGRAMS, flag, vec![Value::Table(program)]);
    }

    /// The overlay with `key` set to what `flag` says.
    #[must_use]
    pub fn with(mut self, key: &str, flag: &str, value: impl Into<Value>) -> Overlay {
        self.set(key, flag, value);
        self
    }

    /// The words of a command line that lay the same over a scenario.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for Setting { value, flag, .. } in &self.settings {
            // Its value has been rewritten already.
            let flag = if flag == "--resolve" { "--connect-to" } else { flag };
            match value {
                // A flag without a value, whichever its key takes.
                Value::Boolean(_) => words.push(flag.to_owned()),
                Value::Array(list) => words.extend(list.iter().map(|value| word(flag, value))),
                value => words.push(word(flag, value)),
            }
        }
        let TypedRequest { method, headers, body } = &self.request;
        words.extend(method.iter().map(|method| format!("--method={method}")));
        words.extend(headers.iter().map(|header| format!("--header={header}")));
        words.extend(body.iter().map(|body| format!("--body={body}")));
        words.extend(self.sets.iter().map(|set| format!("--set={set}")));
        words
    }

    /// True if a flag sets `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.settings.iter().any(|setting| setting.is_of(key))
    }

    /// The text that a flag sets `key` to.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.settings.iter().rfind(|setting| setting.is_of(key)).and_then(|setting| setting.value.as_str())
    }
}

fn word(flag: &str, value: &Value) -> String {
    match value.as_str() {
        Some(text) => format!("{flag}={text}"),
        None => format!("{flag}={value}"),
    }
}

/// The keys that `flags` set in `document`, in the order in which they take effect.
pub fn settings(flags: &Overlay, document: &Table) -> Result<Vec<Setting>, ScenarioError> {
    let implied = implied_plane(flags, document)?;
    let written = flags.text("plane").or(document.get("plane").and_then(Value::as_str));
    let on_sockets = written.map_or(implied.is_none(), |plane| plane == "sockets");
    let has_rates = || flags.text(STAGES).is_some_and(|stages| stages.contains('/'));
    let opens = (flags.has("load.arrivals") || has_rates()) && model_of(document) != Some("hybrid");
    let model = if opens { "open" } else { model_of(document).unwrap_or("closed") };
    let placed = |setting: &Setting| {
        let of_workers = OF_WORKERS.iter().find(|(own, _)| !on_sockets && setting.is_of(own));
        let key = match (of_workers, model) {
            (Some((_, of_shards)), _) => of_shards,
            (None, "open" | "hybrid") if setting.is_of(USERS) => "load.users-max",
            (None, "overload") if setting.is_of(USERS) => "load.descriptors",
            _ => return setting.clone(),
        };
        Setting::new(key, &setting.flag, setting.value.clone())
    };
    // It takes the keys of another model away.
    let flag = if flags.has("load.arrivals") { "--rate" } else { "--stages" };
    let opened = opens.then(|| Setting::new("load.model", flag, "open".into()));
    let mut settings: Vec<Setting> = implied.into_iter().chain(opened).collect();
    settings.extend(flags.settings.iter().map(placed));
    for setting in settings.iter_mut().filter(|setting| setting.is_of(PROGRAMS)) {
        let written = document.get("network").and_then(|network| network.get("program")?.as_array());
        let added = setting.value.as_array().cloned().unwrap_or_default();
        setting.value = Value::Array([written.cloned().unwrap_or_default(), added].concat());
    }
    for text in &flags.sets {
        settings.push(typed(text)?);
    }
    Ok(settings)
}

/// The plane, where neither a flag nor the document names one and flags or keys are about emulated clients.
fn implied_plane(flags: &Overlay, document: &Table) -> Result<Option<Setting>, ScenarioError> {
    let emulated = flags.settings.iter().find(|setting| setting.is_emulated());
    let written = flags.text("plane").or(document.get("plane").and_then(Value::as_str));
    if let (Some(Setting { flag, .. }), Some("sockets")) = (emulated, written) {
        return Err(ScenarioError::invalid(format!(
            "{flag}: the sockets plane has no emulated clients and starts no server; leave it out, or write \
             --plane emulated"
        )));
    }
    let flag = match emulated {
        _ if flags.has("plane") => return Ok(None),
        Some(_) if document.contains_key("plane") => return Ok(None),
        Some(setting) => setting.flag.as_str(),
        None if is_far_from_target(flags, document) => "[network]",
        None => return Ok(None),
    };
    Ok(Some(Setting::new("plane", flag, "emulated".into())))
}

/// True if there is a target with a network before it, or with what says where its server is, and no plane:
/// then clients are emulated ones.
fn is_far_from_target(flags: &Overlay, document: &Table) -> bool {
    let is_set = |table: &str| {
        let of_table = |text: &String| text.trim_start().starts_with(&format!("{table}."));
        document.contains_key(table) || flags.sets.iter().any(of_table)
    };
    let has_target = document.contains_key("target") || flags.has("target");
    let has_plane = document.contains_key("plane") || document.contains_key("simulated");
    has_target && !has_plane && (is_set("network") || is_set("server"))
}

fn model_of(document: &Table) -> Option<&str> {
    document.get("load")?.get("model")?.as_str()
}

/// Reads `KEY=VALUE`: the value as TOML where it is such, else as text.
fn typed(text: &str) -> Result<Setting, ScenarioError> {
    let refuse = || ScenarioError::invalid(format!("--set {text}: write KEY=VALUE, such as load.users=20"));
    let (key, value) = text.split_once('=').ok_or_else(refuse)?;
    let path: Vec<&str> = key.split('.').map(str::trim).collect();
    if path.contains(&"") {
        return Err(refuse());
    }
    let value = format!("value = {}", value.trim())
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::from(value.trim()));
    Ok(Setting { key: path.join("."), value, flag: format!("--set {text}") })
}

/// Lays `settings` over `document`. A model of load that replaces another takes the other's keys away with
/// it, and a load that names no model is closed.
pub fn lay_over(document: &mut Table, settings: &[Setting]) -> Result<(), ScenarioError> {
    for (key, replaced) in INSTEAD {
        if let Some(load) = document.get_mut("load").and_then(Value::as_table_mut)
            && settings.iter().any(|setting| setting.key.strip_prefix("load.") == Some(key))
        {
            load.retain(|own, _| !replaced.contains(&own));
        }
    }
    for setting in settings {
        let model = model_of(document);
        if setting.is_of("load.model") && (model.is_none() || model != setting.value.as_str()) {
            document.remove("load");
        }
        let path: Vec<&str> = setting.key.split('.').collect();
        let (last, mut tables) = path.split_last().expect("a text has a part at least");
        let mut table = &mut *document;
        // Flows are named: `flow.api.load.arrivals`.
        if let [list, name, inner @ ..] = tables
            && *list == "flow"
            && let Some(place) = place_of_flow(table, name)
        {
            (table, tables) = (flow_at(table, place).expect("it was found there"), inner);
        }
        for name in tables {
            let entry = table.entry(*name).or_insert_with(|| Value::Table(Table::new()));
            table = entry.as_table_mut().ok_or_else(|| {
                let Setting { key, flag, .. } = setting;
                ScenarioError::invalid(format!("{flag}: `{name}` in `{key}` holds a value, not keys"))
            })?;
        }
        table.insert((*last).to_owned(), setting.value.clone());
    }
    if let Some(run) = document.get_mut("run").and_then(Value::as_table_mut)
        && (run.contains_key("requests") || run.contains_key("sessions"))
    {
        // A few requests or sessions would all be over within the default warm-up, and many would not be
        // over with the default measured part.
        run.entry("warm-up").or_insert_with(|| Value::from("0s"));
        run.entry("duration").or_insert_with(|| Value::from(Window::BY_COUNT.to_string()));
    }
    if document.get("session").is_some_and(|session| session.get("replay").is_some()) {
        // A recording has no warm-up: its first session would be over within the default one.
        let run = document.entry("run").or_insert_with(|| Value::Table(Table::new()));
        if let Some(run) = run.as_table_mut() {
            run.entry("warm-up").or_insert_with(|| Value::from("0s"));
        }
    }
    if let Some(load) = document.get_mut("load") {
        name_model(load);
    }
    for flow in document.get_mut("flow").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(load) = flow.get_mut("load") {
            name_model(load);
        }
    }
    Ok(())
}

/// The place of the flow of this name.
fn place_of_flow(document: &Table, name: &str) -> Option<usize> {
    let flows = document.get("flow")?.as_array()?;
    flows.iter().position(|flow| flow.get("name").and_then(Value::as_str) == Some(name))
}

fn flow_at(document: &mut Table, place: usize) -> Option<&mut Table> {
    document.get_mut("flow")?.as_array_mut()?.get_mut(place)?.as_table_mut()
}

/// Makes a `load` that names no model a closed one.
fn name_model(load: &mut Value) {
    if let Some(load) = load.as_table_mut() {
        load.entry("model").or_insert_with(|| Value::from("closed"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(document: &str, flags: &Overlay) -> Table {
        let mut document: Table = document.parse().expect("TOML");
        let settings = settings(flags, &document).expect("flags that do");
        lay_over(&mut document, &settings).expect("keys that fit");
        document
    }

    #[test]
    fn stages_take_the_place_of_what_they_are_instead_of() {
        let flags = Overlay::default().with("load.stages", "--stages", "1m:100,1m:0");
        let expected = "load = { model = 'closed', think = '1s', stages = '1m:100,1m:0' }";
        for document in ["load = { users = 5, think = '1s', ramp = '9s' }", "load.think = '1s'"] {
            assert_eq!(laid(document, &flags), expected.parse::<Table>().expect("TOML"), "{document}");
        }
        // With a number of users they begin with it.
        let from = flags.clone().with("load.users", "--users", 7);
        let expected = "load = { model = 'closed', users = 7, stages = '1m:100,1m:0' }";
        assert_eq!(laid("load = { users = 5 }", &from), expected.parse::<Table>().expect("TOML"));
        // Rates are of an open load, or of sessions.
        let rates = Overlay::default().with("load.stages", "--stages", "1m:100/s");
        let expected = "load = { model = 'open', stages = '1m:100/s' }";
        for document in ["load = { users = 5 }", "load = { model = 'open', arrivals = '5/s' }"] {
            assert_eq!(laid(document, &rates), expected.parse::<Table>().expect("TOML"), "{document}");
        }
        let expected = "load = { model = 'hybrid', think = '1s', stages = '1m:100/s' }";
        let document = "load = { model = 'hybrid', think = '1s', arrivals = '5/s' }";
        assert_eq!(laid(document, &rates), expected.parse::<Table>().expect("TOML"));
        // And a rate takes the place of stages.
        let rate = Overlay::default().with("load.arrivals", "--rate", "5/s");
        let expected = "load = { model = 'open', arrivals = '5/s' }";
        let document = "load = { model = 'open', stages = '1m:5/s' }";
        assert_eq!(laid(document, &rate), expected.parse::<Table>().expect("TOML"));
    }

    #[test]
    fn a_rate_makes_the_load_open() {
        let flags =
            Overlay::default().with("load.users", "--users", 9).with("load.arrivals", "--rate", "500/s");
        let laid = laid("[load]\nmodel = 'closed'\nthink = '1s'", &flags);
        let expected = "[load]\nmodel = 'open'\narrivals = '500/s'\nusers-max = 9";
        assert_eq!(laid, expected.parse().expect("TOML"));
    }

    #[test]
    fn a_rate_of_sessions_stays_one() {
        let flags = Overlay::default().with("load.arrivals", "--rate", "5/s");
        let laid = laid("[load]\nmodel = 'hybrid'\nthink = '1s'", &flags);
        let expected = "[load]\nmodel = 'hybrid'\nthink = '1s'\narrivals = '5/s'";
        assert_eq!(laid, expected.parse().expect("TOML"));
    }

    #[test]
    fn set_takes_toml_and_plain_text() {
        let sets = ["load.users=20", "load.think=2s", "output.samples='none'"].map(str::to_owned).to_vec();
        let laid = laid("", &Overlay { sets, ..Overlay::default() });
        let expected = "load = { model = 'closed', users = 20, think = '2s' }\noutput.samples = 'none'";
        assert_eq!(laid, expected.parse().expect("TOML"));
    }

    /// The default warm-up would outlast a few requests, and nothing would be measured; the default length
    /// would cut many.
    #[test]
    fn a_number_of_requests_goes_without_a_warm_up_and_to_its_end() {
        let expected =
            "load = { model = 'closed' }\nrun = { requests = 5, warm-up = '0s', duration = '24h' }";
        let expected: Table = expected.parse().expect("TOML");
        let with = |document: &str, flags: Overlay| {
            let mut laid = laid(document, &flags);
            laid.entry("load").or_insert_with(|| "model = 'closed'".parse::<Table>().expect("TOML").into());
            laid
        };
        assert_eq!(with("run.requests = 5", Overlay::default()), expected);
        assert_eq!(with("", Overlay::default().with("run.requests", "--requests", 5)), expected);
        let sets = vec!["run.requests=5".to_owned()];
        assert_eq!(with("", Overlay { sets, ..Overlay::default() }), expected);
        let sessions =
            "load = { model = 'closed' }\nrun = { sessions = 5, warm-up = '0s', duration = '24h' }";
        let flags = Overlay::default().with("run.sessions", "--sessions", 5);
        assert_eq!(with("", flags), sessions.parse().expect("TOML"));
        let kept = with("run = { requests = 5, warm-up = '2s' }", Overlay::default());
        assert_eq!(kept["run"]["warm-up"].as_str(), Some("2s"));
        let both =
            Overlay::default().with("run.duration", "--duration", "3s").with("run.requests", "--requests", 5);
        assert_eq!(with("", both)["run"]["duration"].as_str(), Some("3s"));
        assert_eq!(
            with("run.duration = '4s'\nrun.requests = 7", Overlay::default())["run"]["duration"].as_str(),
            Some("4s")
        );
    }

    #[test]
    fn a_recording_goes_without_a_warm_up() {
        let warm_up = |document: &str| laid(document, &Overlay::default())["run"]["warm-up"].clone();
        assert_eq!(warm_up("session.replay.file = 'a.har'").as_str(), Some("0s"));
        assert_eq!(warm_up("run.warm-up = '2s'\nsession.replay.file = 'a.har'").as_str(), Some("2s"));
    }

    #[test]
    fn flags_of_emulated_clients_are_refused_on_the_sockets_plane() {
        let refused = |document: &str, flags: &Overlay| {
            let problem = settings(flags, &document.parse().expect("TOML")).expect_err(document);
            assert!(problem.to_string().starts_with("--rtt: "), "{problem}");
        };
        let flags = Overlay::default().with("network.rtt", "--rtt", "80ms");
        refused("plane = 'sockets'", &flags);
        refused("", &flags.with("plane", "--plane", "sockets"));
    }

    #[test]
    fn set_without_a_key_is_refused() {
        assert!(typed("=5").is_err());
        assert!(typed("users").is_err());
    }
}
