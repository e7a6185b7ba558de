//! The server that a tool sends to: as it is given, or as the tool's own arguments name it.

use crate::problem::Problem;
use std::ffi::{OsStr, OsString};
use std::net::{SocketAddr, ToSocketAddrs};

/// A server, by name and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName {
    /// Name or address, without brackets.
    pub host: String,
    /// The server's port.
    pub port: u16,
}

/// Stand-ins in the tool's arguments.
const STAND_INS: [&str; 3] = ["{url}", "{host}", "{port}"];

impl ServerName {
    /// Reads `http://host:port/path`, `host:port` or `[::1]:8080`.
    ///
    /// # Errors
    /// A sentence, for `https` among others: packets of TLS show no requests.
    pub fn read(text: &str) -> Result<ServerName, Problem> {
        if text.starts_with("https://") {
            return Err(Problem::usage(format!(
                "{text}: requests inside TLS cannot be seen in packets; let the tool send to an http:// port"
            )));
        }
        let wrong =
            || Problem::usage(format!("{text}: write a server as http://127.0.0.1:8080/ or 127.0.0.1:8080"));
        let is_url = text.starts_with("http://");
        let authority = text.trim_start_matches("http://").split(['/', '?', '#']).next().unwrap_or_default();
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.starts_with('[') => {
                (host, port.parse().map_err(|_| wrong())?)
            }
            _ if is_url => (authority, 80),
            _ => return Err(wrong()),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() { Err(wrong()) } else { Ok(ServerName { host: host.to_owned(), port }) }
    }

    /// The server in a tool's arguments: the first URL, or what follows `--server` and `--port` (httperf).
    pub fn of_arguments(arguments: &[OsString]) -> Option<Result<ServerName, Problem>> {
        let texts: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let url = texts.iter().find_map(|text| {
            let begin = text.find("http://").or_else(|| text.find("https://"))?;
            Some(&text[begin..])
        });
        if let Some(url) = url {
            return Some(ServerName::read(url));
        }
        let host = option(&texts, "--server")?;
        let port = option(&texts, "--port").and_then(|port| port.parse().ok()).unwrap_or(80);
        Some(Ok(ServerName { host: host.to_owned(), port }))
    }

    /// The server's addresses.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>, Problem> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found: Vec<SocketAddr> = found
            .map_err(|error| Problem::failed(format!("cannot find the server {}: {error}", self.host)))?
            .collect();
        match found.is_empty() {
            true => Err(Problem::failed(format!("the server {} has no address", self.host))),
            false => Ok(found),
        }
    }

    /// The beginning of a URL, without a `/` at its end.
    pub fn url(&self) -> String {
        match self.host.contains(':') {
            true => format!("http://[{}]:{}", self.host, self.port),
            false => format!("http://{}:{}", self.host, self.port),
        }
    }
}

/// The value of an option: the argument behind it, or what follows `=`.
pub fn option<'a>(arguments: &[&'a str], name: &str) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(at, argument)| {
        let rest = argument.strip_prefix(name)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if rest.is_empty() => arguments.get(at + 1).copied(),
            None => None,
        }
    })
}

/// True if a stand-in for the server is among the arguments.
pub fn has_stand_in(arguments: &[OsString]) -> bool {
    let has = |argument: &OsStr| {
        let text = argument.to_string_lossy();
        STAND_INS.iter().any(|name| text.contains(name))
    };
    arguments.iter().any(|argument| has(argument))
}

/// The arguments with stand-ins replaced. Those that are not UTF-8 stay as they are.
pub fn filled_in(arguments: &[OsString], server: &ServerName) -> Vec<OsString> {
    let fill = |argument: &OsString| match argument.to_str() {
        Some(text) => text
            .replace("{url}", &server.url())
            .replace("{host}", &server.host)
            .replace("{port}", &server.port.to_string())
            .into(),
        None => argument.clone(),
    };
    arguments.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn found(line: &str) -> Option<(String, u16)> {
        let server = ServerName::of_arguments(&arguments(line))?.ok()?;
        Some((server.host, server.port))
    }

    #[test]
    fn the_server_is_found_in_what_each_tool_is_given() {
        let at = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(found("wrk -c10 http://127.0.0.1:8080/x"), at("127.0.0.1", 8080));
        assert_eq!(found("ab -n 1 http://localhost/"), at("localhost", 80));
        assert_eq!(found("h2load --h1 http://[::1]:81/a:b"), at("::1", 81));
        assert_eq!(found("httperf --server 10.0.0.2 --port=8080 --rate 5"), at("10.0.0.2", 8080));
        assert_eq!(found("locust --host=http://u:p@shop:8089 -u 5"), at("shop", 8089));
        assert_eq!(found("k6 run script.js"), None);
        assert!(ServerName::of_arguments(&arguments("wrk https://shop/")).expect("a URL").is_err());
        for wrong in ["", ":80", "http://", "127.0.0.1", "http://h:99999/"] {
            assert!(ServerName::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn stand_ins_are_replaced() {
        let server = ServerName { host: "::1".to_owned(), port: 81 };
        let line = arguments("jmeter -Jport={port} -Jhost={host} {url}/x");
        assert!(has_stand_in(&line) && !has_stand_in(&arguments("wrk http://h/")));
        assert_eq!(filled_in(&line, &server), arguments("jmeter -Jport=81 -Jhost=::1 http://[::1]:81/x"));
    }
}
