//! Flags laid over the scenario: each is short for a key, and `--set` reaches every key.
//!
//! File and flags become one TOML document, which is read into types once: a flag can do nothing that the
//! file cannot, and an invalid value gets the same message.

use crate::ScenarioError;
use farfield_base::Window;
use std::path::PathBuf;
use toml::{Table, Value};

/// The flags that set keys, a field for each, as typed.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// Users of a closed load, or how many an open load may have at once.
    pub users: Option<u32>,
    /// The length of the measured part.
    pub duration: Option<String>,
    /// The rate of an open load.
    pub rate: Option<String>,
    /// Requests after which the run ends.
    pub requests: Option<u64>,
    /// Sessions after which the run ends.
    pub sessions: Option<u64>,
    /// Worker threads.
    pub workers: Option<u32>,
    /// The time before measuring.
    pub warm_up: Option<String>,
    /// Disturbed seconds are set aside.
    pub set_aside: bool,
    /// The think time.
    pub think: Option<String>,
    /// The server's URL.
    pub target: Option<String>,
    /// The policy of connections.
    pub policy: Option<String>,
    /// Connections of a user.
    pub parallel: Option<u16>,
    /// The plane.
    pub plane: Option<String>,
    /// Emulated clients.
    pub clients: Option<u32>,
    /// The emulated clients' round trip.
    pub rtt: Option<String>,
    /// The emulated clients' access link.
    pub access: Option<String>,
    /// The command that starts the server.
    pub server: Option<String>,
    /// The process of a server that runs already.
    pub server_pid: Option<u32>,
    /// The network namespace of a server that runs already.
    pub server_netns: Option<String>,
    /// The container of a server that runs already.
    pub container: Option<String>,
    /// Processors that the server may take.
    pub server_cpu: Option<f64>,
    /// Memory that the server may take.
    pub server_memory: Option<String>,
    /// The user that the server runs as.
    pub server_user: Option<String>,
    /// Threads of emulated clients.
    pub shards: Option<u32>,
    /// The gateway's device.
    pub gateway: Option<String>,
    /// The network card by which a server on another machine is reached.
    pub interface: Option<String>,
    /// Programs beside the users, each with the class of its client.
    pub beside: Vec<(String, String)>,
    /// The class of the client in whose place the user's shell is.
    pub shell: Option<String>,
    /// Whether packets between clients and server are kept.
    pub capture: bool,
    /// The file of the CA that is trusted.
    pub cacert: Option<PathBuf>,
    /// Whether certificates are accepted without verification.
    pub insecure: bool,
    /// The file of the users' certificates.
    pub certificate: Option<PathBuf>,
    /// The file of their private keys.
    pub key: Option<PathBuf>,
    /// The version of HTTP.
    pub http: Option<String>,
    /// The request's method.
    pub method: Option<String>,
    /// The request's header fields, `Name: value`.
    pub headers: Vec<String>,
    /// The request's body; `@` begins the name of a file.
    pub body: Option<String>,
    /// Addresses that clients connect from.
    pub sources: Vec<String>,
    /// Where connections go instead of the target's host and port, as curl's `--connect-to` has it.
    pub connect_to: Vec<String>,
    /// Which of the addresses of the target's name connections go to.
    pub addresses: Option<String>,
    /// The Unix socket that connections go to.
    pub unix_socket: Option<String>,
    /// The proxy that connections go to.
    pub proxy: Option<String>,
    /// Processors of the generator.
    pub processors: Vec<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// `KEY=VALUE`, each.
    pub sets: Vec<String>,
    /// Conditions on the result.
    pub thresholds: Vec<String>,
    /// Conditions that end the run.
    pub aborts: Vec<String>,
    /// The run directory.
    pub out: Option<PathBuf>,
    /// Whether no page of the run is written.
    pub no_report: bool,
    /// Whether nothing is monitored.
    pub no_monitor: bool,
    /// The samples that are kept.
    pub samples: Option<String>,
    /// Whether one session is gone through once, without think times, and nothing is measured.
    pub once: bool,
}

/// One key that a flag sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The key, from the outermost table inwards.
    pub path: Vec<String>,
    /// The value.
    pub value: Value,
    /// The flag, as it is named in messages.
    pub flag: String,
}

/// The keys that `flags` set, in the order in which they take effect.
pub fn settings(flags: &Overlay, document: &Table) -> Result<Vec<Setting>, ScenarioError> {
    let mut settings = Vec::new();
    let mut set = |key: &str, flag: &str, value: Option<Value>| {
        if let Some(value) = value {
            let path = key.split('.').map(str::to_owned).collect();
            settings.push(Setting { path, value, flag: flag.to_owned() });
        }
    };
    let text = |text: &Option<String>| text.as_ref().map(|text| Value::from(text.as_str()));
    let count = |count: Option<u64>| count.map(|count| Value::from(i64::try_from(count).unwrap_or(i64::MAX)));
    let list = |list: &[String]| (!list.is_empty()).then(|| Value::from(list.to_vec()));

    set("target", "--target", text(&flags.target));
    // Each of these is about emulated clients, and selects their plane.
    let emulated = [
        ("--clients", flags.clients.is_some()),
        ("--rtt", flags.rtt.is_some()),
        ("--access", flags.access.is_some()),
        ("--server", flags.server.is_some()),
        ("--server-pid", flags.server_pid.is_some()),
        ("--server-netns", flags.server_netns.is_some()),
        ("--container", flags.container.is_some()),
        ("--server-cpu", flags.server_cpu.is_some()),
        ("--server-memory", flags.server_memory.is_some()),
        ("--server-user", flags.server_user.is_some()),
        ("--shards", flags.shards.is_some()),
        ("--gateway", flags.gateway.is_some()),
        ("--interface", flags.interface.is_some()),
        ("--beside", !flags.beside.is_empty()),
        ("--shell", flags.shell.is_some()),
    ];
    let has_no_network = match &flags.plane {
        Some(plane) => plane == "sockets",
        None => document.get("plane").and_then(Value::as_str) == Some("sockets"),
    };
    if let (true, Some((flag, _))) = (has_no_network, emulated.iter().find(|(_, given)| *given)) {
        return Err(ScenarioError::invalid(format!(
            "{flag}: the sockets plane has no emulated clients and starts no server; leave it out, or write \
             --plane emulated"
        )));
    }
    let implied = emulated.iter().find(|(_, given)| *given && !document.contains_key("plane"));
    if let (None, Some((flag, _))) = (&flags.plane, implied) {
        set("plane", flag, Some("emulated".into()));
    }
    let is_far = flags.plane.is_none() && implied.is_none() && is_far_from_target(flags, document);
    if is_far {
        set("plane", "[network]", Some("emulated".into()));
    }
    set("plane", "--plane", text(&flags.plane));
    set("network.clients", "--clients", count(flags.clients.map(u64::from)));
    set("network.rtt", "--rtt", text(&flags.rtt));
    set("network.access", "--access", text(&flags.access));
    set("server.command", "--server", text(&flags.server));
    set("server.pid", "--server-pid", count(flags.server_pid.map(u64::from)));
    set("server.netns", "--server-netns", text(&flags.server_netns));
    set("server.container", "--container", text(&flags.container));
    set("server.cpu", "--server-cpu", flags.server_cpu.map(Value::from));
    set("server.memory", "--server-memory", text(&flags.server_memory));
    set("server.user", "--server-user", text(&flags.server_user));
    set("network.shards", "--shards", count(flags.shards.map(u64::from)));
    set("network.gateway", "--gateway", text(&flags.gateway));
    set("network.interface", "--interface", text(&flags.interface));
    let flag = if flags.beside.is_empty() { "--shell" } else { "--beside" };
    set("network.program", flag, programs(flags, document));
    set("capture.gateway", "--capture", flags.capture.then(|| Value::from(true)));
    if let Some(rate) = &flags.rate {
        if model_of(document) != Some("hybrid") {
            set("load.model", "--rate", Some("open".into()));
        }
        set("load.arrivals", "--rate", Some(rate.as_str().into()));
    }
    let model = if flags.rate.is_some() && model_of(document) != Some("hybrid") {
        "open"
    } else {
        model_of(document).unwrap_or("closed")
    };
    let users = match model {
        "open" | "hybrid" => "load.users-max",
        "overload" => "load.descriptors",
        _ => "load.users",
    };
    set(users, "--users", count(flags.users.map(u64::from)));
    set("load.think", "--think", text(&flags.think));
    set("run.duration", "--duration", text(&flags.duration));
    set("run.warm-up", "--warm-up", text(&flags.warm_up));
    set("run.set-aside", "--set-aside", flags.set_aside.then(|| Value::from(true)));
    set("run.requests", "--requests", count(flags.requests));
    set("run.sessions", "--sessions", count(flags.sessions));
    let written = flags.plane.as_deref().or(document.get("plane").and_then(Value::as_str));
    let on_sockets = written.map_or(implied.is_none() && !is_far, |plane| plane == "sockets");
    let (workers, own_processors) = match on_sockets {
        true => ("sockets.workers", "sockets.processors"),
        false => ("network.shards", "network.processors"),
    };
    set(workers, "--workers", count(flags.workers.map(u64::from)));
    set("sockets.sources", "--source", list(&flags.sources));
    set("sockets.connect-to", "--connect-to", list(&flags.connect_to));
    set("connections.addresses", "--addresses", text(&flags.addresses));
    set("connections.unix-socket", "--unix-socket", text(&flags.unix_socket));
    set("connections.proxy", "--proxy", text(&flags.proxy));
    let processors: Vec<Value> = flags.processors.iter().map(|cpu| Value::from(i64::from(*cpu))).collect();
    set(own_processors, "--processors", (!processors.is_empty()).then(|| Value::from(processors)));
    set("connections.policy", "--policy", text(&flags.policy));
    set("connections.parallel", "--parallel", count(flags.parallel.map(u64::from)));
    set("http", "--http", text(&flags.http));
    let path = |path: &PathBuf| Value::from(path.to_string_lossy().as_ref());
    set("tls.ca", "--cacert", flags.cacert.as_ref().map(path));
    set("tls.verify", "--insecure", flags.insecure.then(|| Value::from(false)));
    set("tls.certificate", "--cert", flags.certificate.as_ref().map(path));
    set("tls.key", "--key", flags.key.as_ref().map(path));
    set("monitor", "--no-monitor", flags.no_monitor.then(|| Value::from(false)));
    set("output.report", "--no-report", flags.no_report.then(|| Value::from(false)));
    set("seed", "--seed", count(flags.seed));
    set("thresholds", "--threshold", list(&flags.thresholds));
    set("aborts", "--abort", list(&flags.aborts));
    set(
        "output.directory",
        "--out",
        flags.out.as_ref().map(|path| Value::from(path.to_string_lossy().as_ref())),
    );
    let samples = flags.samples.as_ref().map(|which| match which.parse::<i64>() {
        Ok(every) => Value::from(every),
        Err(_) => Value::from(which.as_str()),
    });
    set("output.samples", "--samples", samples);
    for text in &flags.sets {
        settings.push(typed(text)?);
    }
    Ok(settings)
}

/// The document's programs and those of flags behind them, if there are any of the latter.
fn programs(flags: &Overlay, document: &Table) -> Option<Value> {
    let entry = |class: &String, key: &str, value: Value| {
        let pairs = [("class".to_owned(), class.as_str().into()), (key.to_owned(), value)];
        Value::Table(pairs.into_iter().collect())
    };
    let beside = flags.beside.iter().map(|(class, command)| entry(class, "command", command.as_str().into()));
    let shell = flags.shell.iter().map(|class| entry(class, "shell", true.into()));
    let added: Vec<Value> = beside.chain(shell).collect();
    let written = document.get("network").and_then(|network| network.get("program")?.as_array());
    (!added.is_empty()).then(|| Value::Array([written.cloned().unwrap_or_default(), added].concat()))
}

/// Whether there is a target with a network before it, or with what says where its server is, and no plane:
/// then clients are emulated ones.
fn is_far_from_target(flags: &Overlay, document: &Table) -> bool {
    let is_set = |table: &str| {
        let of_table = |text: &String| text.trim_start().starts_with(&format!("{table}."));
        document.contains_key(table) || flags.sets.iter().any(of_table)
    };
    let has_target = document.contains_key("target") || flags.target.is_some();
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
    let path: Vec<String> = key.trim().split('.').map(|part| part.trim().to_owned()).collect();
    if path.iter().any(String::is_empty) {
        return Err(refuse());
    }
    let value = format!("value = {}", value.trim())
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::from(value.trim()));
    Ok(Setting { path, value, flag: format!("--set {text}") })
}

/// Lays `settings` over `document`. A model of load that replaces another takes the other's keys away with
/// it, and a load that names no model is closed.
pub fn lay_over(document: &mut Table, settings: &[Setting]) -> Result<(), ScenarioError> {
    for setting in settings {
        let replaces_model = setting.path == ["load", "model"]
            && model_of(document).is_some_and(|model| Some(model) != setting.value.as_str());
        if replaces_model || setting.path == ["load", "model"] && model_of(document).is_none() {
            document.remove("load");
        }
        let (last, tables) = setting.path.split_last().expect("a path has a key");
        let mut table = &mut *document;
        for name in tables {
            let entry = table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
            table = entry.as_table_mut().ok_or_else(|| {
                let whole = setting.path.join(".");
                ScenarioError::invalid(format!(
                    "{}: `{name}` in `{whole}` holds a value, not keys",
                    setting.flag
                ))
            })?;
        }
        table.insert(last.clone(), setting.value.clone());
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
    if let Some(load) = document.get_mut("load").and_then(Value::as_table_mut) {
        load.entry("model").or_insert_with(|| Value::from("closed"));
    }
    Ok(())
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
    fn a_rate_makes_the_load_open() {
        let flags = Overlay { rate: Some("500/s".into()), users: Some(9), ..Overlay::default() };
        let laid = laid("[load]\nmodel = 'closed'\nthink = '1s'", &flags);
        let expected = "[load]\nmodel = 'open'\narrivals = '500/s'\nusers-max = 9";
        assert_eq!(laid, expected.parse().expect("TOML"));
    }

    #[test]
    fn a_rate_of_sessions_stays_one() {
        let flags = Overlay { rate: Some("5/s".into()), ..Overlay::default() };
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
        assert_eq!(with("", Overlay { requests: Some(5), ..Overlay::default() }), expected);
        let sets = vec!["run.requests=5".to_owned()];
        assert_eq!(with("", Overlay { sets, ..Overlay::default() }), expected);
        let sessions =
            "load = { model = 'closed' }\nrun = { sessions = 5, warm-up = '0s', duration = '24h' }";
        let flags = Overlay { sessions: Some(5), ..Overlay::default() };
        assert_eq!(with("", flags), sessions.parse().expect("TOML"));
        let kept = with("run = { requests = 5, warm-up = '2s' }", Overlay::default());
        assert_eq!(kept["run"]["warm-up"].as_str(), Some("2s"));
        let both = Overlay { duration: Some("3s".to_owned()), requests: Some(5), ..Overlay::default() };
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
        let flags = Overlay { rtt: Some("80ms".into()), ..Overlay::default() };
        refused("plane = 'sockets'", &flags);
        refused("", &Overlay { plane: Some("sockets".into()), ..flags });
    }

    #[test]
    fn set_without_a_key_is_refused() {
        assert!(typed("=5").is_err());
        assert!(typed("users").is_err());
    }
}
