//! From a scenario to what the engine runs: files read, names looked up, the built-in server started.

use super::{HttpVersion, Scenario, Url};
use crate::problem::Problem;
use farfield_base::random::Seed;
use farfield_engine::os::processors;
use farfield_engine::sockets::Sources;
use farfield_engine::{Settings, reach};
use farfield_http::http1::Version;
use farfield_measure::{Heading, LoadKind};
use farfield_origin::{Origin, Site};
use farfield_traffic::load::{LoadModel, Restart};
use farfield_traffic::{LoadSpec, RequestSet, RequestSetSpec, RequestSpec};
use farfield_user::{Book, Target};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;

/// What a scenario has become.
pub struct Resolved {
    /// For the engine; its `output` is still to be chosen.
    pub settings: Settings,
    /// The scenario with what was left open filled in.
    pub scenario: Scenario,
    /// The built-in server, which serves for as long as this is held.
    pub origin: Option<Origin>,
}

impl Scenario {
    /// Gets everything ready. Paths in the scenario are relative to `beside`, the scenario's folder.
    pub fn resolve(mut self, beside: &Path) -> Result<Resolved, Problem> {
        let mut load_file = |path: &Path| std::fs::read(beside.join(path));
        let load =
            self.load.resolve(&mut load_file).map_err(|error| Problem::usage(format!("load: {error}")))?;
        let origin = match &self.target {
            Some(_) => None,
            None => Some(Origin::start(self.origin.clone().unwrap_or_default()).map_err(Problem::failed)?),
        };
        let (address, host) = self.server(origin.as_ref())?;
        let requests_spec = self.requests.take().unwrap_or_else(|| {
            let asked = self.target.as_ref().map(Url::path);
            default_requests(asked, origin.as_ref().map(Origin::site))
        });
        let seed = Seed(self.seed);
        let requests = requests_spec.resolve(&mut load_file, seed);
        let requests = requests.map_err(|error| Problem::usage(format!("requests: {error}")))?;
        self.requests = Some(requests_spec);
        let version = match self.http {
            HttpVersion::Http10 => Version::Http10,
            HttpVersion::Http11 => Version::Http11,
        };
        let book = Book::encode(&requests, &Target { host, version }).map_err(Problem::usage)?;
        let local = address.ip().is_loopback();
        let workers = match self.sockets.workers {
            Some(workers) => workers,
            None => default_workers(&self.sockets.processors, local)?,
        };
        self.sockets.workers = Some(workers);
        let sources = self.sockets.sources.clone().unwrap_or_else(|| {
            if local && address.is_ipv4() { Sources::loopback() } else { Sources::default() }
        });
        self.sockets.sources = Some(sources.clone());
        let warnings = self.warnings(&load, address)?;
        let heading = self.heading(&load, &requests, origin.as_ref());
        let settings = Settings {
            load,
            requests,
            book,
            policy: self.connections,
            seed,
            requests_max: self.run.requests.map(Into::into),
            target: address,
            sources,
            workers,
            processors: self.sockets.processors.clone(),
            warm_up: self.run.warm_up,
            duration: self.run.duration,
            drain: self.run.drain,
            heading,
            limits: self.verdict.clone(),
            thresholds: self.thresholds.iter().chain(&self.aborts).cloned().collect(),
            aborts: self.aborts.clone(),
            output: None,
            warnings,
        };
        Ok(Resolved { settings, scenario: self, origin })
    }

    /// The server's address, and what to call it in the Host field.
    fn server(&self, origin: Option<&Origin>) -> Result<(SocketAddr, String), Problem> {
        match (&self.target, origin) {
            (Some(url), _) => {
                let address = reach::look_up(url.host(), url.port()).map_err(Problem::failed)?;
                Ok((address, url.authority()))
            }
            (None, Some(origin)) => Ok((origin.address(), origin.address().to_string())),
            (None, None) => unreachable!("without a target the built-in server was started"),
        }
    }

    /// What the reader should know about the path: the S-Client's T must exceed the largest round trip (Banga and
    /// Druschel 1999, section 4.2), or attempts are dropped whose answer is on its way.
    fn warnings(&self, load: &LoadModel, address: SocketAddr) -> Result<Vec<String>, Problem> {
        let round_trip = reach::probe(address).map_err(Problem::failed)?;
        let timeout = match load {
            LoadModel::Overload(overload) => Some(overload.timeout()),
            _ => self.connections.abandon_after,
        };
        let Some(timeout) = timeout else { return Ok(Vec::new()) };
        let path = address.ip();
        Ok(vec![match round_trip {
            Some(took) if timeout <= took => format!(
                "T = {timeout} is no longer than one connect to {path} took just now: attempts will be dropped whose \
                 answer is on its way; set it above the largest round trip"
            ),
            _ => format!("T = {timeout} must exceed the largest round trip to {path}, which is not known"),
        }])
    }

    fn heading(&self, load: &LoadModel, requests: &RequestSet, origin: Option<&Origin>) -> Heading {
        let target = match (&self.target, origin) {
            (Some(url), _) if requests.pages().len() == 1 => url.to_string(),
            (Some(url), _) => format!("http://{} ({} pages)", url.authority(), requests.pages().len()),
            (None, Some(origin)) => {
                format!("built-in server, {}", origin.address())
            }
            (None, None) => String::new(),
        };
        let (load, load_words) = in_words(load, &self.load);
        Heading {
            farfield: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.name.clone(),
            target,
            seed: self.seed,
            load,
            load_words,
            started_at: crate::commands::run::now_rfc3339(),
        }
    }
}

/// Half of the processors for a server on this machine, which needs the others; else all of them.
fn default_workers(processors: &[usize], local: bool) -> Result<NonZeroU32, Problem> {
    let cannot_tell = |error| Problem::failed(format!("cannot tell which processors there are: {error}"));
    let own = match processors.len() {
        0 => processors::allowed().map_err(cannot_tell)?.len() / if local { 2 } else { 1 },
        own => own,
    };
    Ok(NonZeroU32::new(own as u32).unwrap_or(NonZeroU32::MIN))
}

/// The path of the URL or, for the built-in server, all of its pages with what is embedded in them.
fn default_requests(asked: Option<&str>, site: Option<&Site>) -> RequestSetSpec {
    let target = |path: &str| path.to_owned().try_into().expect("a URL's path can be asked for");
    match (asked, site) {
        (None, Some(site)) => {
            let page = |page: &farfield_origin::Page| RequestSpec {
                embedded: page.objects().iter().map(|object| target(object.path())).collect(),
                ..RequestSpec::get(target(page.path()))
            };
            RequestSetSpec::new(site.pages().iter().map(page).collect(), None, None)
                .expect("a site has pages, and few")
        }
        (asked, _) => RequestSetSpec::one(RequestSpec::get(target(asked.unwrap_or("/")))),
    }
}

fn in_words(load: &LoadModel, spec: &LoadSpec) -> (LoadKind, String) {
    let most = |users_max: &Option<NonZeroU32>| match users_max {
        Some(most) => format!(", at most {most} users"),
        None => String::new(),
    };
    match (load, spec) {
        (LoadModel::Closed { users, .. }, LoadSpec::Closed(spec)) => {
            (LoadKind::Closed, format!("closed, {users} users, think {}", brief(&spec.think)))
        }
        (LoadModel::Open { users_max, .. }, LoadSpec::Open(spec)) => {
            (LoadKind::Open, format!("open, {}{}", brief(&spec.arrivals), most(users_max)))
        }
        (LoadModel::Hybrid { users_max, .. }, LoadSpec::Hybrid(spec)) => (
            LoadKind::Hybrid,
            format!(
                "hybrid, sessions {}, think {}{}",
                brief(&spec.arrivals),
                brief(&spec.think),
                most(users_max)
            ),
        ),
        (LoadModel::Overload(overload), _) => {
            let (d, t, rate) = (overload.descriptors, overload.timeout(), overload.attempt_rate());
            let rate = match overload.restart {
                Restart::Paced => format!("{rate:.0}"),
                Restart::AtOnce => format!("at least {rate:.0}"),
            };
            (LoadKind::Overload, format!("overload, D {d}, T {t}: {rate}"))
        }
        _ => unreachable!("a model is resolved from its own spec"),
    }
}

/// A value of the scenario in as few words as its TOML has.
fn brief<T: serde::Serialize>(value: &T) -> String {
    match toml::Value::try_from(value) {
        Ok(toml::Value::String(text)) => text,
        Ok(toml::Value::Table(table)) => {
            let part = |(_, value): (&String, &toml::Value)| match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // The law or process first, then its parameters in the order of their names.
            let named = |key: &&str| table.contains_key(*key);
            let first = ["law", "process"].iter().find(|key| named(key)).copied().unwrap_or_default();
            let head = table.get_key_value(first).map(part);
            head.into_iter()
                .chain(table.iter().filter(|(key, _)| *key != first).map(part))
                .collect::<Vec<_>>()
                .join(" ")
        }
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
