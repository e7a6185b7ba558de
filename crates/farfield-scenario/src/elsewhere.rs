//! Connections that go elsewhere than the name of the target says, as curl's `--connect-to` and `--resolve`
//! have it: the name stays in requests, in the handshake's SNI and in what a certificate is held against.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// `HOST:PORT:OTHER-HOST:OTHER-PORT`: connections to the first go to the second. What is empty is any, or as
/// it was; an address of IPv6 stands in brackets. In place of the other host may stand several addresses,
/// with commas between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConnectTo {
    host: Option<String>,
    port: Option<u16>,
    other_host: Option<String>,
    other_port: Option<u16>,
}

impl ConnectTo {
    /// The first of `rules` that is about `host` and `port`.
    fn first_about<'a>(rules: &'a [ConnectTo], host: &str, port: u16) -> Option<&'a ConnectTo> {
        rules.iter().find(|rule| {
            rule.host.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(host))
                && rule.port.is_none_or(|own| own == port)
        })
    }

    /// True if one of `rules` is about `host` and `port`.
    pub fn is_about(rules: &[ConnectTo], host: &str, port: u16) -> bool {
        ConnectTo::first_about(rules, host, port).is_some()
    }

    /// Host and port to which connections to `host` and `port` go, by the first of `rules` that is about
    /// them.
    pub fn place(rules: &[ConnectTo], host: &str, port: u16) -> (String, u16) {
        let rule = ConnectTo::first_about(rules, host, port);
        let other = rule.and_then(|rule| rule.other_host.clone());
        (other.unwrap_or_else(|| host.to_owned()), rule.and_then(|rule| rule.other_port).unwrap_or(port))
    }

    /// curl's `--resolve HOST:PORT:ADDRESS`.
    ///
    /// # Errors
    /// A sentence, if it is none.
    pub fn resolving(text: &str) -> Result<ConnectTo, String> {
        let parts = parts(text);
        let [host, port, address] = &parts[..] else {
            return Err(format!("`{text}` is not HOST:PORT:ADDRESS, such as shop.test:443:127.0.0.1"));
        };
        let host = if host == "*" { "" } else { host };
        ConnectTo::of([host, port, address, ""], text)
    }

    fn of([host, port, other_host, other_port]: [&str; 4], text: &str) -> Result<ConnectTo, String> {
        let name = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        let is_list = |list: &str| list.split(',').all(|address| address.parse::<IpAddr>().is_ok());
        if other_host.contains(',') && !is_list(other_host) {
            return Err(format!("`{other_host}` in `{text}` is no list of addresses"));
        }
        let number =
            |part: &str| match part {
                "" => Ok(None),
                digits => digits.parse::<u16>().ok().filter(|port| *port > 0).map(Some).ok_or_else(|| {
                    format!("`{digits}` in `{text}` is no port; write a number from 1 to 65535")
                }),
            };
        Ok(ConnectTo {
            host: name(host),
            port: number(port)?,
            other_host: name(other_host),
            other_port: number(other_port)?,
        })
    }
}

/// The parts between colons, of which those in brackets are none; without the brackets.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut in_brackets) = (vec![String::new()], false);
    for letter in text.chars() {
        let last = parts.last_mut().expect("there is one from the start");
        match letter {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            ':' if !in_brackets => parts.push(String::new()),
            letter => last.push(letter),
        }
    }
    parts
}

impl FromStr for ConnectTo {
    type Err = String;

    fn from_str(text: &str) -> Result<ConnectTo, String> {
        let parts = parts(text);
        let [host, port, other_host, other_port] = &parts[..] else {
            return Err(format!(
                "`{text}` is not HOST:PORT:OTHER-HOST:OTHER-PORT, such as shop.test:443:127.0.0.1:9443"
            ));
        };
        ConnectTo::of([host, port, other_host, other_port], text)
    }
}

impl TryFrom<String> for ConnectTo {
    type Error = String;

    fn try_from(text: String) -> Result<ConnectTo, String> {
        text.parse()
    }
}

impl From<ConnectTo> for String {
    fn from(rule: ConnectTo) -> String {
        rule.to_string()
    }
}

impl fmt::Display for ConnectTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = |host: &Option<String>| match host {
            Some(own) if own.contains(':') => format!("[{own}]"),
            own => own.clone().unwrap_or_default(),
        };
        let port = |port: Option<u16>| port.map_or_else(String::new, |port| port.to_string());
        let (from, to) = (host(&self.host), host(&self.other_host));
        write!(f, "{from}:{}:{to}:{}", port(self.port), port(self.other_port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_curls() {
        let placed = |rule: &str, host: &str, port: u16| {
            let rule: ConnectTo = rule.parse().expect(rule);
            assert_eq!(rule.to_string().parse(), Ok(rule.clone()), "it reads again");
            ConnectTo::place(&[rule], host, port)
        };
        let to = |host: &str, port: u16| (host.to_owned(), port);
        assert_eq!(placed("shop.test:443:127.0.0.1:9443", "SHOP.test", 443), to("127.0.0.1", 9443));
        assert_eq!(placed("shop.test:443:127.0.0.1:9443", "shop.test", 80), to("shop.test", 80));
        assert_eq!(placed("::[::1]:", "any.test", 8080), to("::1", 8080));
        assert_eq!(placed("[::1]:80::81", "::1", 80), to("::1", 81));
        let resolved =
            |text: &str| ConnectTo::place(&[ConnectTo::resolving(text).expect(text)], "a.test", 80);
        assert_eq!(resolved("a.test:80:127.0.0.2,127.0.0.3"), to("127.0.0.2,127.0.0.3", 80));
        assert_eq!(placed("a.test:80:127.0.0.2,[::1]:81", "a.test", 80), to("127.0.0.2,::1", 81));
        for list in ["127.0.0.2,b.test", ",", "127.0.0.2,"] {
            assert!(ConnectTo::resolving(&format!("a:80:{list}")).is_err(), "{list}");
        }
        assert_eq!(resolved("*:80:[::1]"), to("::1", 80));
        for text in ["", "a", "a:1:b", "a:x:b:1", "a:0:b:1", "a:1:b:70000", "a:1:b:2:c"] {
            assert!(text.parse::<ConnectTo>().is_err(), "{text}");
        }
        assert!(ConnectTo::resolving("a:80").is_err());
    }
}
