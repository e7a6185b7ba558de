//! The activity of users: sessions of states, a recording, or pages of a set of requests.

use super::flow::FlowScenario;
use super::mistake::Mistake;
use super::{Scenario, Url};
use farfield_base::random::Seed;
use farfield_engine::PlaneKind;
use farfield_http::http1::RequestError;
use farfield_origin::Site as OriginSite;
use farfield_traffic::file::Load;
use farfield_traffic::request::RequestSet;
use farfield_traffic::session::replay::Replay;
use farfield_traffic::session::{Session, SessionError};
use farfield_traffic::site::Site;
use farfield_traffic::{LoadSpec, RequestSetSpec, RequestSpec};
use farfield_user::{Itinerary, Target};
use std::net::SocketAddr;

/// The activity of users, ready to be encoded.
#[derive(Debug, Clone)]
pub enum Activity {
    /// Sessions of states.
    Sessions(Box<Session>),
    /// The sessions of a recording.
    Recording(Replay),
    /// Pages.
    Requests(RequestSet),
}

/// The activity of users, encoded and described.
#[derive(Debug)]
pub struct EncodedActivity {
    /// The requests.
    pub encoded: Encoded,
    /// In words, where it is more than the target's one page.
    pub in_words: Option<String>,
    /// Warnings for the reader of the result.
    pub warnings: Vec<String>,
}

/// Requests with their Host field, or still without it.
#[derive(Debug)]
pub enum Encoded {
    /// For a host that the scenario determines.
    Whole(Itinerary),
    /// For the built-in server, whose port is unknown until it listens.
    ForBuiltIn(Activity),
}

impl Activity {
    /// The requests of a run, for these hosts, of which the target is the first.
    pub fn itinerary(self, hosts: &[Target]) -> Result<Itinerary, RequestError> {
        match self {
            Activity::Sessions(session) => Itinerary::sessions(*session, hosts),
            Activity::Recording(replay) => Itinerary::replays(replay, hosts),
            Activity::Requests(requests) => Itinerary::pages(requests, hosts),
        }
    }

    /// The number of its requests that are distinguished.
    pub fn request_count(&self) -> u32 {
        match self {
            Activity::Sessions(session) => session.requests(),
            Activity::Recording(replay) => replay.requests.requests().len() as u32,
            Activity::Requests(requests) => requests.requests().len() as u32,
        }
    }

    fn in_words(&self) -> Option<String> {
        match self {
            Activity::Sessions(session) => Some(format!("sessions of {} states", session.states.len())),
            Activity::Recording(replay) => Some(format!("{} recorded sessions", replay.sessions.len())),
            Activity::Requests(requests) => {
                let pages = requests.pages().len();
                (pages > 1).then(|| format!("{pages} pages"))
            }
        }
    }

    fn warnings(&self) -> Vec<String> {
        match self {
            Activity::Sessions(session) => session.warnings.clone(),
            Activity::Requests(_) => Vec::new(),
            Activity::Recording(replay) => {
                let warnings = replay.reading.warnings();
                warnings.into_iter().map(|warning| format!("session.replay: {warning}")).collect()
            }
        }
    }

    /// The table that describes it.
    fn key(&self) -> &'static str {
        match self {
            Activity::Sessions(_) | Activity::Recording(_) => "session",
            Activity::Requests(_) => "requests",
        }
    }
}

impl Scenario {
    /// The activity of users. Files come from `load`; pages are those of the requested `site`, if one is.
    pub fn activity(&self, load: &mut Load<'_>, site: Option<&Site>) -> Result<Activity, Mistake> {
        let Some(spec) = &self.session else { return self.requests(load, site).map(Activity::Requests) };
        let wrong = |error: SessionError| Mistake::at(format!("session.{}", error.key), error.sentence);
        let target = self.target.as_ref().map(Url::authority);
        let Some(replay) = spec.resolve_replay(load, target.as_deref(), &self.host_roots()).map_err(wrong)?
        else {
            let session = spec.resolve(load, Seed(self.seed)).map_err(wrong)?;
            if self.plane == PlaneKind::Simulated {
                self.simulated.clone().unwrap_or_default().check_replies(&session)?;
            }
            self.check_websockets(&session)?;
            return Ok(Activity::Sessions(Box::new(session)));
        };
        let has_instants = replay.sessions.iter().all(|session| session.starts.is_some());
        if has_instants && self.load != LoadSpec::default() {
            let sentence = "`session.replay.in-turn = false`: each session begins when it was recorded; leave the load out";
            return Err(Mistake::at("load", sentence));
        }
        Ok(Activity::Recording(replay))
    }

    fn requests(&self, load: &mut Load<'_>, site: Option<&Site>) -> Result<RequestSet, Mistake> {
        let seed = Seed(self.seed);
        let spec = self.requests_or_default();
        // Users of one flow may ask for a list where others go through the site.
        let requests = match site.filter(|_| spec.site().is_some()) {
            Some(site) => spec.resolve_over(site, load, seed),
            None => {
                let target = self.target.as_ref().map(Url::authority);
                spec.resolve_for(load, seed, target.as_deref(), &self.host_roots())
            }
        };
        requests.map_err(|error| Mistake::in_file("requests", &error))
    }

    /// The activity, encoded if the host is known, and refused if one of its requests cannot be written as
    /// HTTP.
    pub fn asked(&self, activity: Activity) -> Result<EncodedActivity, Mistake> {
        let (in_words, warnings, key) = (activity.in_words(), activity.warnings(), activity.key());
        let refuse = |error: RequestError| match error {
            RequestError::Host(_) if self.target.is_some() => Mistake::at("target", error),
            _ => Mistake::at(key, error),
        };
        let encoded = match self.host() {
            Some(host) => Encoded::Whole(activity.itinerary(&self.http_targets(host)).map_err(refuse)?),
            None => {
                let stand_in = self.http_targets("localhost".to_owned());
                activity.clone().itinerary(&stand_in).map_err(refuse)?;
                Encoded::ForBuiltIn(activity)
            }
        };
        Ok(EncodedActivity { encoded, in_words, warnings })
    }

    /// The Host field of requests; unknown for a built-in server that is yet to listen.
    fn host(&self) -> Option<String> {
        match (&self.target, self.plane) {
            (Some(url), _) => Some(url.authority()),
            (None, PlaneKind::Sockets) => None,
            (None, PlaneKind::Emulated | PlaneKind::Simulated) => {
                let servers = self.servers();
                let url = Url::of(SocketAddr::from((servers.v4, servers.port)));
                Some(url.over_tls_if(self.is_secure()).authority())
            }
        }
    }

    /// The target of requests at `host`.
    pub fn http_target(&self, host: String) -> Target {
        let authorization = self.target.as_ref().and_then(Url::authorization);
        Target {
            host,
            version: self.http.of_users(self.chooses_version()),
            authorization,
            secure: self.is_secure(),
            proxy: self.connections.proxy.clone(),
        }
    }

    /// The requests that are written. Else the path of the URL; of the built-in server all of its pages with
    /// what is embedded in them; of another server, or a model of one, its root.
    pub fn requests_or_default(&self) -> RequestSetSpec {
        if let Some(written) = &self.requests {
            return written.clone();
        }
        let target = |path: &str| path.to_owned().try_into().expect("a URL's path can be asked for");
        let is_built_in = self.target.is_none() && self.plane != PlaneKind::Simulated && !self.is_started();
        if !is_built_in {
            let path = self.target.as_ref().map_or("/", Url::path);
            return RequestSetSpec::one(RequestSpec::get(target(path)));
        }
        let config = self.origin.clone().unwrap_or_default();
        let site = OriginSite::generate(config.site, Seed(config.seed));
        let page = |page: &farfield_origin::Page| RequestSpec {
            embedded: page.objects().iter().map(|object| target(object.path())).collect(),
            ..RequestSpec::get(target(page.path()))
        };
        RequestSetSpec::new(site.pages().iter().map(page).collect(), None, None)
            .expect("a site has pages, and few")
    }

    /// Refuses bounds on sessions where users are in none.
    pub fn check_bounds_on_sessions(&self) -> Result<(), Mistake> {
        let in_sessions =
            |flow: &FlowScenario| flow.scenario.session.is_some() || flow.scenario.load.has_sessions();
        let has_sessions = self.flows().iter().any(in_sessions);
        let keys = [
            ("run.sessions", self.run.sessions.is_some()),
            ("run.finish-sessions", !self.run.finish_sessions.is_zero()),
        ];
        if let (false, Some((key, _))) = (has_sessions, keys.into_iter().find(|(_, written)| *written)) {
            return Err(Mistake::at(key, "users are in no sessions; write `[session]`, or a `hybrid` load"));
        }
        Ok(())
    }

    /// Refuses sessions beside requests, or under a load that has no users who wait.
    pub fn check_sessions(&self) -> Result<(), Mistake> {
        if self.session.is_none() {
            return Ok(());
        }
        if self.requests.is_some() {
            let sentence = "a `[session]` says all that is asked for; leave out one of both";
            return Err(Mistake::at("requests", sentence));
        }
        if !self.load.has_users_who_wait() {
            let sentence = "sessions have users who wait for replies; write `closed` or `hybrid`";
            return Err(Mistake::at("load.model", sentence));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use std::path::Path;

    const STATE: &str = "[[session.state]]\nname = 'home'\npath = '/'\n";

    #[test]
    fn what_is_shown_reads_as_the_same() {
        let text = format!(
            "load = {{ model = 'hybrid', arrivals = '5/s' }}\n{STATE}extract = {{ t = {{ css = 'input', attribute = 'value' }} }}\n\
             [[session.state]]\nname = 'buy'\nform = {{ fields = {{ t = '${{t}}' }} }}\non-failure = 'retry 2'\n\
             check = {{ status = ['2xx', 302], contains = 'a', header = {{ x = true }} }}\n"
        );
        let read = |text: &str| {
            from_text(text, Some(Path::new("s.toml")), &Overlay::default()).expect(text).scenario
        };
        let scenario = read(&text);
        assert_eq!(read(&scenario.to_toml()), scenario);
    }

    #[test]
    fn mistakes_are_reported_with_file_line_and_key() {
        let check = |text: &str, parts: &[&str]| {
            let read = from_text(text, Some(Path::new("s.toml")), &Overlay::default());
            let sentence = read.expect_err(text).to_string();
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        };
        let second = format!("{STATE}[[session.state]]\nname = 'buy'\npath = '/buy'\n");
        check(
            &format!("{second}body = 'x=${{tokn}}'\n"),
            &["s.toml:7: session.state[1].body: ", "nothing defines `${tokn}`"],
        );
        check(
            &format!("{second}body = 'x=${{to kn}}'\n"),
            &["s.toml:7: session.state[1].body: ", "names no variable"],
        );
        check(
            &format!("{STATE}extract.t = {{ regex = '(' }}\n"),
            &["s.toml:4: session.state[0].extract.t.regex: "],
        );
        check(&format!("{STATE}chek = 1\n"), &["s.toml:4: ", "there is no key `chek`", "`check`"]);
        check(&format!("{STATE}on-failure = 'stop'\n"), &["s.toml:4: ", "go-on"]);
        check(
            &format!("[session.transitions]\nhome = {{ end = 0.9 }}\n{STATE}"),
            &["s.toml:2: ", "sum to 0.9"],
        );
        check(
            &format!("[load]\nmodel = 'open'\narrivals = '5/s'\n{STATE}"),
            &["s.toml:2: load.model: ", "hybrid"],
        );
        check("[run]\nsessions = 5\n", &["s.toml:2: run.sessions: ", "[session]", "hybrid"]);
        check("[run]\nfinish-sessions = '5s'\n", &["s.toml:2: run.finish-sessions: ", "no sessions"]);
        check(&format!("{STATE}[[requests.request]]\npath = '/'\n"), &["s.toml:4: requests: "]);
        check(
            &format!("[[session.data]]\nfile = 'no.csv'\n{STATE}"),
            &["s.toml:2: session.data[0].file: no.csv: "],
        );
    }
}
