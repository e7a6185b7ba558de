//! A link that takes no packets, always or for a while: its far end is beyond reach, or a filter stands
//! before it. Only the decision, as with the [MTU](crate::mtu): the router before the link says so to a
//! packet's sender.
//!
//! ```toml
//! unreachable = "host"                                                  # for the whole run
//! unreachable = { answer = "network", from = "10s", to = "15s" }
//! ```

use farfield_base::{Duration, Instant, TextOrTable};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The answer of the router before a closed link to senders, in words that ICMP of both families has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClosureAnswer {
    /// The destination does not answer: host unreachable; of IPv6, address unreachable.
    Host,
    /// There is no route to it: network unreachable; of IPv6, no route.
    Network,
    /// A filter forbids it: administratively prohibited.
    Prohibited,
    /// Nothing: packets vanish.
    Nothing,
}

/// Times at which a link takes no packets, and the answer to senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closure {
    /// The answer to senders.
    pub answer: ClosureAnswer,
    /// From then on.
    pub from: Instant,
    /// Until then; `Instant::MAX` is for good.
    pub to: Instant,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ClosureKeys {
    answer: ClosureAnswer,
    #[serde(default)]
    from: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<Duration>,
}

impl Closure {
    /// The answer to a packet at `now`; `None` where the link is open.
    pub fn at(&self, now: Instant) -> Option<ClosureAnswer> {
        (self.from <= now && now < self.to).then_some(self.answer)
    }
}

impl TryFrom<ClosureKeys> for Closure {
    type Error = String;

    fn try_from(ClosureKeys { answer, from, to }: ClosureKeys) -> Result<Closure, String> {
        if to.is_some_and(|to| to <= from) {
            return Err(
                "`to` is not after `from`; write later instants of the run, such as to = \"15s\"".to_owned()
            );
        }
        let to = to.map_or(Instant::MAX, |to| Instant::ZERO + to);
        Ok(Closure { answer, from: Instant::ZERO + from, to })
    }
}

impl Serialize for Closure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let to = (self.to != Instant::MAX).then(|| self.to.since(Instant::ZERO));
        let from = self.from.since(Instant::ZERO);
        if from == Duration::ZERO && to.is_none() {
            return self.answer.serialize(serializer);
        }
        ClosureKeys { answer: self.answer, from, to }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Closure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Closure, D::Error> {
        TextOrTable {
            expected: "\"host\", \"network\", \"prohibited\" or \"nothing\", or a table of `answer`, `from` and `to`",
            text: |text| {
                let answer = match text {
                    "host" => ClosureAnswer::Host,
                    "network" => ClosureAnswer::Network,
                    "prohibited" => ClosureAnswer::Prohibited,
                    "nothing" => ClosureAnswer::Nothing,
                    other => {
                        return Err(format!(
                            "`{other}` is no answer of a router; write host, network, prohibited or nothing"
                        ));
                    }
                };
                ClosureKeys { answer, from: Duration::ZERO, to: None }.try_into()
            },
            number: None,
            table: |written: ClosureKeys| written.try_into(),
        }
        .read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Link {
        unreachable: Closure,
    }

    fn read(text: &str) -> Result<Closure, String> {
        let link: Link = toml::from_str(text).map_err(|error| error.to_string())?;
        let written = toml::to_string(&link).expect("it can be written");
        assert_eq!(toml::from_str::<Link>(&written).as_ref(), Ok(&link), "{written}");
        Ok(link.unreachable)
    }

    #[test]
    fn it_holds_from_its_beginning_to_before_its_end() {
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let closure =
            read("unreachable = { answer = 'network', from = '10s', to = '15s' }").expect("a period");
        let said = [9, 10, 14, 15].map(|secs| closure.at(at(secs)).is_some());
        assert_eq!(said, [false, true, true, false]);
        assert_eq!(closure.at(at(12)), Some(ClosureAnswer::Network));
        for (name, answer) in [
            ("host", ClosureAnswer::Host),
            ("network", ClosureAnswer::Network),
            ("prohibited", ClosureAnswer::Prohibited),
            ("nothing", ClosureAnswer::Nothing),
        ] {
            let closure = read(&format!("unreachable = '{name}'")).expect("an answer");
            assert_eq!([at(0), at(1 << 20)].map(|now| closure.at(now)), [Some(answer); 2]);
        }
        let later = read("unreachable = { answer = 'host', from = '1s' }").expect("an answer");
        assert_eq!([at(0), at(1)].map(|now| later.at(now).is_some()), [false, true]);
    }

    #[test]
    fn mistakes_say_what_would_do() {
        let refuse = |text: &str, hint: &str| {
            let error = read(text).expect_err(text);
            assert!(error.contains(hint), "{error}");
        };
        refuse("unreachable = 'hosts'", "host, network, prohibited or nothing");
        refuse("unreachable = { answer = 'host', from = '2s', to = '2s' }", "`to` is not after `from`");
        refuse("unreachable = { from = '2s' }", "missing field `answer`");
        refuse("unreachable = { answer = 'host', until = '2s' }", "unknown field `until`");
        refuse("unreachable = true", "\"prohibited\"");
    }
}
