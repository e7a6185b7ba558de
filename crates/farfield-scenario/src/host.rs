//! `[[host]]`: hosts that users ask beside the target, such as an API, a sign-on or a cache of static files.
//!
//! A request is for the host that its URL begins with, and one with a path alone for the target. References
//! in pages and redirects lead to a host if they are of one, and else nowhere: users go to no host that the
//! scenario does not name.

use super::mistake::Mistake;
use super::other_servers::FIRST;
use super::tls::PlannedTls;
use super::{Scenario, Url};
use farfield_base::HostNumber;
use farfield_engine::PlaneKind;
use farfield_traffic::file::Load;
use farfield_traffic::session::SessionSpec;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::Target;
use serde::{Deserialize, Serialize};

/// Characters of a host's name at most.
const NAME_MAX: usize = 60;

/// `[[host]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostSpec {
    /// The host's scheme, name and port.
    pub url: Url,
    /// The host's name in results; that of the URL, with the port, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The emulated plane: the `[[network.server]]` that answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl HostSpec {
    /// The host's name in results.
    pub(crate) fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.url.authority())
    }
}

/// Hosts of the plan of a run, beside the target.
#[derive(Debug, Default)]
pub(crate) struct PlannedHosts {
    /// Each with TLS, where its scheme is https.
    pub hosts: Vec<(HostSpec, Option<PlannedTls>)>,
}

impl Scenario {
    /// Adds the hosts of URLs that requests are written with, where connections can go to any: each is one as
    /// if it were written.
    pub(crate) fn name_hosts(&mut self) {
        if self.plane != PlaneKind::Sockets || self.without_hosts().is_some() {
            return;
        }
        let mut urls: Vec<&str> = Vec::new();
        for (requests, session) in self.asked_for() {
            urls.extend(requests.into_iter().flat_map(urls_of_requests));
            urls.extend(session.into_iter().flat_map(urls_of_session));
        }
        let known = self.target.iter().chain(self.host.iter().map(|host| &host.url));
        let mut origins: Vec<String> = known.map(origin).collect();
        let flows = self.flow.iter().map(|flow| flow.name.clone());
        let mut names: Vec<String> = self.host_names().chain(flows).collect();
        let mut found = Vec::new();
        for url in urls {
            let Some(url) = root_of(url) else { continue };
            let origin = origin(&url);
            if origins.contains(&origin) {
                continue;
            }
            // Of both schemes, or of the name of something else.
            let name = names.contains(&url.authority()).then(|| origin.clone());
            names.push(url.authority());
            origins.push(origin);
            found.push(HostSpec { url, name, server: None });
        }
        self.host.extend(found);
    }

    /// Requests and sessions, as written, of the scenario and of all flows.
    fn asked_for(&self) -> impl Iterator<Item = (Option<&RequestSetSpec>, Option<&SessionSpec>)> {
        let own = std::iter::once((self.requests.as_ref(), self.session.as_ref()));
        own.chain(self.flow.iter().map(|flow| (flow.requests.as_ref(), flow.session.as_ref())))
    }

    /// Refuses hosts that cannot be distinguished, or that the plane does not have.
    pub(crate) fn check_hosts(&self) -> Result<(), Mistake> {
        if self.host.len() >= HostNumber::MOST {
            let most = HostNumber::MOST - 1;
            return Err(Mistake::at(
                "host",
                format!("{} hosts are more than {most}; write fewer", self.host.len()),
            ));
        }
        if let Some(sentence) = self.without_hosts().filter(|_| !self.host.is_empty()) {
            return Err(Mistake::at("host", sentence));
        }
        self.check_once_a_run()?;
        for (number, host) in self.host.iter().enumerate() {
            self.check_host(number, host)
                .map_err(|(key, sentence)| Mistake::at(format!("host[{number}].{key}"), sentence))?;
        }
        Ok(())
    }

    /// Refuses what is once a run beside hosts of other servers: it is asked for within the first server's
    /// network, which other servers are not in.
    fn check_once_a_run(&self) -> Result<(), Mistake> {
        let is_elsewhere = |host: &HostSpec| host.server.as_deref().is_some_and(|server| server != FIRST);
        if self.plane != PlaneKind::Emulated || !self.host.iter().any(is_elsewhere) {
            return Ok(());
        }
        let once = |session: &SessionSpec| !session.set_up.is_empty() || !session.tear_down.is_empty();
        match self.asked_for().any(|(_, session)| session.is_some_and(once)) {
            true => Err(Mistake::at(
                "host",
                "a set-up and a tear-down reach the server of [server] alone; leave them out, or the hosts that others answer for",
            )),
            false => Ok(()),
        }
    }

    /// True if some host is asked over https.
    pub fn has_secure_host(&self) -> bool {
        self.is_secure() || self.host.iter().any(|host| host.url.is_secure())
    }

    /// The reason that a run has no hosts beside the target, if it can have none.
    fn without_hosts(&self) -> Option<&'static str> {
        if self.plane == PlaneKind::Simulated {
            return Some(
                "the simulated plane has one model of a server; write `plane = \"emulated\"`, or remove it",
            );
        }
        if self.connections.unix_socket.is_some() {
            return Some("a Unix socket leads to one server; remove `connections.unix-socket`, or this");
        }
        let is_overload = |load: &LoadSpec| matches!(load, LoadSpec::Overload(_));
        self.loads().any(is_overload).then_some(
            "an overload is of connections to one server; write another `load.model`, or remove this",
        )
    }

    fn check_host(&self, number: usize, host: &HostSpec) -> Result<(), (&'static str, String)> {
        if host.url.path() != "/" {
            let sentence = format!(
                "`{}` is a page; write `{}/`, and the path where it is asked for",
                host.url,
                origin(&host.url)
            );
            return Err(("url", sentence));
        }
        let before = self.host[..number].iter().map(|other| &other.url);
        if self.target.iter().chain(before).any(|other| origin(other) == origin(&host.url)) {
            return Err(("url", format!("`{}` is a host already; write each once", origin(&host.url))));
        }
        let written = host.name.as_deref().unwrap_or("as its URL has it");
        if written.is_empty() || written.chars().count() > NAME_MAX || written.chars().any(char::is_control) {
            return Err(("name", format!("a name has 1 to {NAME_MAX} characters; write one such as `api`")));
        }
        let name = host.name();
        if name == TARGET || self.host[..number].iter().any(|other| other.name() == name) {
            return Err(("name", format!("there is a host `{name}` already; write another name")));
        }
        if self.http == crate::HttpVersion::Http3 && !host.url.is_secure() {
            return Err((
                "url",
                "HTTP/3 is always over TLS; write https://, or another version with `http`".to_owned(),
            ));
        }
        self.check_place(host).map_err(|sentence| ("server", sentence))
    }

    /// Refuses a host that no server answers for.
    fn check_place(&self, host: &HostSpec) -> Result<(), String> {
        let servers = self.network.iter().flat_map(|network| &network.server);
        match (self.plane, &host.server) {
            (PlaneKind::Emulated, None) => {
                Err("write the name of the `[[network.server]]` that answers for it".to_owned())
            }
            (PlaneKind::Emulated, Some(name)) if name == FIRST => Ok(()),
            (PlaneKind::Emulated, Some(name)) => {
                let Some(server) = servers.into_iter().find(|server| server.name == *name) else {
                    return Err(format!("there is no server `{name}`; add it with `[[network.server]]`"));
                };
                match server.model.is_some() && host.url.is_secure() {
                    true => Err(format!(
                        "the model `{name}` does not speak https; write an http:// URL, or a real server"
                    )),
                    false => Ok(()),
                }
            }
            (_, Some(_)) => Err("it is about the emulated plane; remove it".to_owned()),
            (_, None) => Ok(()),
        }
    }

    /// The roots of the hosts beside the target.
    pub(crate) fn host_roots(&self) -> Vec<String> {
        self.host.iter().map(|host| format!("{}/", origin(&host.url))).collect()
    }

    /// The names of all hosts in results.
    pub(crate) fn host_names(&self) -> impl Iterator<Item = String> {
        std::iter::once(TARGET.to_owned()).chain(self.host.iter().map(HostSpec::name))
    }

    /// Names and URLs of all hosts in results, by number; none where users ask the target alone. The URL of
    /// a built-in target is known when it listens.
    pub fn hosts_in_results(&self) -> Vec<(String, Option<String>)> {
        if self.host.is_empty() {
            return Vec::new();
        }
        let urls = self.host.iter().map(|host| Some(origin(&host.url)));
        self.host_names().zip(std::iter::once(self.target.as_ref().map(origin)).chain(urls)).collect()
    }

    /// The names and ports of all hosts as requests have them, by number; nothing of one that is not known
    /// before it listens. None where users ask the target alone, or where a request says another.
    pub fn authorities(&self) -> Vec<Option<String>> {
        let says_host = |(requests, session): (Option<&RequestSetSpec>, Option<&SessionSpec>)| {
            let of_requests = requests.is_some_and(|requests| {
                let listed = requests.requests().iter().any(|own| own.headers.has("host"));
                listed || requests.file().is_some()
            });
            let mut states = session.into_iter().flat_map(|session| &session.state);
            of_requests || states.any(|state| state.headers.keys().any(|name| name.as_str() == "host"))
        };
        if self.host.is_empty() || self.asked_for().any(says_host) {
            return Vec::new();
        }
        let target = self.target.as_ref().map(Url::authority);
        std::iter::once(target).chain(self.host.iter().map(|host| Some(host.url.authority()))).collect()
    }

    /// The targets of requests: the target itself, called `authority`, and the hosts beside it.
    pub(crate) fn http_targets(&self, authority: String) -> Vec<Target> {
        let target = self.http_target(authority);
        let beside = self.host.iter().map(|host| Target {
            host: host.url.authority(),
            version: self.http.of_users(host.url.is_secure()),
            authorization: host.url.authorization(),
            secure: host.url.is_secure(),
            proxy: target.proxy.clone(),
        });
        let beside: Vec<Target> = beside.collect();
        std::iter::once(target).chain(beside).collect()
    }

    /// The hosts beside the target, with their TLS; its files come from `load`.
    pub(crate) fn plan_hosts(&self, load: &mut Load<'_>) -> Result<PlannedHosts, Mistake> {
        let planned = |host: &HostSpec| {
            let tls = host.url.is_secure().then(|| self.tls_to(host.url.host().to_owned(), load));
            Ok((host.clone(), tls.transpose()?))
        };
        let hosts = self.host.iter().map(planned).collect::<Result<_, Mistake>>()?;
        Ok(PlannedHosts { hosts })
    }

    /// The numbers of the servers of the emulated plane that answer for the hosts.
    pub(crate) fn servers_of_hosts(&self) -> Vec<u16> {
        let servers: Vec<&str> =
            self.network.iter().flat_map(|network| &network.server).map(|server| &*server.name).collect();
        let number = |host: &HostSpec| {
            let place = servers.iter().position(|server| Some(*server) == host.server.as_deref());
            place.map_or(0, |place| place as u16 + 1)
        };
        self.host.iter().map(number).collect()
    }
}

/// The target's name among hosts.
pub(crate) const TARGET: &str = "target";

/// Scheme and authority.
fn origin(url: &Url) -> String {
    format!("{}://{}", url.scheme(), url.authority())
}

/// The root of the host of a URL, if it is one whose host is always the same.
fn root_of(url: &str) -> Option<Url> {
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|scheme| url.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)))?;
    let rest = &url[scheme.len()..];
    // Credentials are for `[[host]]` to say.
    let is_plain = |authority: &&str| !authority.contains("${") && !authority.contains('@');
    let authority = rest.split(['/', '?', '#']).next().filter(is_plain)?;
    format!("{scheme}{authority}/").parse().ok()
}

fn urls_of_requests(requests: &RequestSetSpec) -> impl Iterator<Item = &str> {
    let written = requests.requests().iter();
    written
        .flat_map(|request| std::iter::once(&request.path).chain(&request.embedded))
        .map(|path| path.as_str())
}

fn urls_of_session(session: &SessionSpec) -> impl Iterator<Item = &str> {
    let states = session.state.iter();
    states.flat_map(|state| {
        let own = state.path.iter().map(|path| path.as_str());
        own.chain(state.embedded.iter().map(|path| path.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_text;
    use crate::overlay::Overlay;

    fn read(text: &str) -> Result<Scenario, String> {
        let read = from_text(text, Some(std::path::Path::new("s.toml")), &Overlay::default());
        read.map(|plan| plan.scenario().clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn urls_of_requests_name_hosts() {
        let text = "target = 'http://shop/'\n[[host]]\nurl = 'https://api:8443'\nname = 'api'\n\
            [session]\n[[session.state]]\nname = 'a'\npath = 'https://api:8443/x'\n\
            embedded = ['http://cdn.shop/a.css', '/b.png', 'http://shop/c.png']\n\
            [[session.state]]\nname = 'b'\npath = 'https://sso:444/${user}?next=http://no/'\n\
            [load]\nmodel = 'closed'\nusers = 1\n";
        let scenario = read(text).expect("a scenario");
        let hosts: Vec<String> = scenario.host.iter().map(HostSpec::name).collect();
        assert_eq!(hosts, ["api", "cdn.shop", "sso:444"]);
        // Of both schemes, and called as the target is: each has a name.
        let both = read(
            "target = 'http://shop/'\n[[requests.request]]\npath = 'http://api/a'\n\
             embedded = ['https://api/b', 'http://target/c', 'http://u:p@other/']\n",
        );
        assert!(both.expect_err("credentials").contains("http://u:p@other/"));
        let both = read(
            "target = 'http://shop/'\n[[requests.request]]\npath = 'http://api/a'\n\
             embedded = ['https://api/b', 'http://target/c']\n",
        );
        let names: Vec<String> = both.expect("a scenario").host.iter().map(HostSpec::name).collect();
        assert_eq!(names, ["api", "https://api", "http://target"]);
        // What is shown reads as the same.
        assert_eq!(read(&scenario.to_toml()), Ok(scenario));
    }

    #[test]
    fn hosts_that_are_none_are_refused() {
        let refused = |text: &str, parts: &[&str]| {
            let text = format!("target = 'http://10.0.0.1/'\n{text}\n");
            let error = read(&text).expect_err(&text);
            for part in parts {
                assert!(error.contains(part), "`{part}` is not in: {error}");
            }
        };
        let api = "[[host]]\nurl = 'http://10.0.0.2/'";
        refused("[[host]]\nurl = 'http://10.0.0.2/x'", &["s.toml:3: host[0].url: ", "`http://10.0.0.2/`"]);
        refused("[[host]]\nurl = 'http://10.0.0.1:80/'", &["host[0].url: ", "already"]);
        refused(&format!("{api}\n{api}"), &["s.toml:5: host[1].url: ", "already"]);
        refused(&format!("{api}\nname = 'target'"), &["host[0].name: ", "already"]);
        refused(&format!("{api}\nserver = 'b'"), &["host[0].server: ", "emulated plane"]);
        refused(&format!("http = '3'\n{api}"), &["HTTP/3"]);
        let peak = "[load]\nmodel = 'closed'\nstages = [{ name = 'peak', for = '9s', to = 3 }]";
        refused(&format!("{api}\nname = 'peak'\n{peak}"), &["host[0].name: ", "a stage"]);
        refused("[[host]]\nurl = 'ftp://10.0.0.2/'", &["s.toml:3: ", "http:// and https://"]);
        let emulated = format!("plane = 'emulated'\nserver = {{ command = 'x' }}\n{api}");
        refused(&emulated, &["host[0].server: ", "[[network.server]]"]);
        refused(&format!("{emulated}\nserver = 'b'"), &["host[0].server: ", "no server `b`"]);
        let many: String = (0..32).map(|n| format!("[[host]]\nurl = 'http://10.0.1.{n}/'\n")).collect();
        refused(&many, &["host: ", "32 hosts are more than 31"]);
        let simulated =
            read("plane = 'simulated'\n[[host]]\nurl = 'http://10.0.0.2/'\n").expect_err("refused");
        assert!(simulated.contains("one model of a server"), "{simulated}");
    }
}
