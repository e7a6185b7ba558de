//! `[[network.server]]`: servers beside that of `[server]`, at places of their own.

use crate::mistake::Mistake;
use crate::network::{ClassSpec, NetworkSpec, OtherServerSpec};
use crate::scenario::Scenario;
use farfield_emulator::Servers;
use farfield_emulator::layout::Layout;
use farfield_engine::plane::PlaneKind;
use farfield_model::ServerPlan;
use farfield_net::topology::NodeId;
use farfield_traffic::file::Load;
use farfield_traffic::site::Site;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The name of the server of `[server]` for programs.
pub(crate) const FIRST: &str = "server";

impl Scenario {
    /// The models of servers beside the first, each with its number among the servers.
    pub(crate) fn model_servers(
        &self,
        spec: &NetworkSpec,
        load: &mut Load<'_>,
        site: Option<&Site>,
    ) -> Result<Vec<(u16, Arc<ServerPlan>)>, Mistake> {
        let mut models = Vec::new();
        for (nth, server) in spec.server.iter().enumerate() {
            let Some(model) = &server.model else { continue };
            let (plan, _) = self.server_plan(model, load, site).map_err(|mistake| {
                let key = mistake.key.replacen("simulated", &format!("network.server[{nth}].model"), 1);
                Mistake { key, ..mistake }
            })?;
            models.push((nth as u16 + 1, plan));
        }
        Ok(models)
    }

    /// The addresses of the servers beside the first, in order: those written, else the next behind the
    /// first one's.
    pub(crate) fn other_servers(&self, spec: &NetworkSpec) -> Vec<Servers> {
        let first = self.server.clone().unwrap_or_default();
        let (v4, v6) = (first.ipv4.to_bits(), first.ipv6.to_bits());
        let addresses = spec.server.iter().zip(1..).map(|(server, nth): (_, u32)| Servers {
            v4: server.ipv4.unwrap_or(Ipv4Addr::from_bits(v4.wrapping_add(nth))),
            v6: server.ipv6.unwrap_or(Ipv6Addr::from_bits(v6.wrapping_add(nth.into()))),
            port: server.port.get(),
        });
        addresses.collect()
    }
}

/// Refuses servers that are not distinct, or not where the network can have them.
pub(crate) fn check(scenario: &Scenario, spec: &NetworkSpec) -> Result<(), Mistake> {
    if spec.server.is_empty() {
        return Ok(());
    }
    if scenario.plane == PlaneKind::Simulated {
        let sentence =
            "the simulated plane has one model of a server; write `plane = \"emulated\"`, or remove it";
        return Err(Mistake::at("network.server", sentence));
    }
    if spec.backbone.is_some() {
        let sentence =
            "a backbone has one server; write a topology, of which servers are hosts, or remove it";
        return Err(Mistake::at("network.server", sentence));
    }
    let mut names = vec![FIRST];
    let first = scenario.servers();
    let mut taken = vec![(IpAddr::V4(first.v4), FIRST), (IpAddr::V6(first.v6), FIRST)];
    for (nth, (server, servers)) in spec.server.iter().zip(scenario.other_servers(spec)).enumerate() {
        let at =
            |key: &str, sentence: String| Err(Mistake::at(format!("network.server[{nth}].{key}"), sentence));
        let is_label = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        if server.name.is_empty() || !server.name.chars().all(is_label) {
            return at("name", format!("`{}` is no host's name; write one such as `b`", server.name));
        }
        if names.contains(&server.name.as_str()) {
            return at("name", format!("there is a server `{}` already; write another name", server.name));
        }
        names.push(&server.name);
        for (address, key) in [(IpAddr::V4(servers.v4), "ipv4"), (IpAddr::V6(servers.v6), "ipv6")] {
            if let Some((_, other)) = taken.iter().find(|(other, _)| *other == address) {
                return at(key, format!("{address} is the address of `{other}` already; write another"));
            }
            taken.push((address, &server.name));
        }
        if server.model.is_some() {
            check_model(scenario, spec, server).map_or(Ok(()), |(key, sentence)| at(key, sentence))?;
        }
        let links =
            [("rtt", server.rtt.is_some()), ("up", server.up.is_some()), ("down", server.down.is_some())];
        match (&spec.topology, links.into_iter().find(|(_, written)| *written), &server.host) {
            (Some(_), Some((key, _)), _) => {
                return at(key, "links are those of the topology; remove this key".to_owned());
            }
            (Some(_), None, None) => {
                return at("name", "in a topology a server is a host; write which with `host`".to_owned());
            }
            (None, _, Some(_)) => {
                return at("host", "hosts are those of a topology, and there is none".to_owned());
            }
            (Some(_), None, Some(_)) | (None, _, None) => {}
        }
    }
    Ok(())
}

/// The key of a server with a model that contradicts it, with why.
fn check_model(
    scenario: &Scenario,
    spec: &NetworkSpec,
    server: &OtherServerSpec,
) -> Option<(&'static str, String)> {
    let refuse = |key, sentence: &str| Some((key, sentence.to_owned()));
    if server.command.is_some() || server.directory.is_some() {
        let key = if server.command.is_some() { "command" } else { "directory" };
        return refuse(key, "a model is no program; remove this key or `model`");
    }
    if spec.shards.get() > 1 {
        return refuse("model", "a model is in one shard, with all its clients; write `network.shards = 1`");
    }
    if server.model.as_ref().is_some_and(|model| model.tls.is_some()) {
        return refuse("model.tls", "a model beside real servers has no cryptography; remove this key");
    }
    let asks_it = |class: &&ClassSpec| class.server.as_ref() == Some(&server.name);
    let class = spec.class.iter().find(asks_it).filter(|_| scenario.is_secure())?;
    let sentence = format!("users of `{}` ask it over https, which it does not speak", class.name);
    refuse("model", &format!("{sentence}; write a target with http, or a real server"))
}

/// The hosts of a topology that are servers beside `first`.
pub(crate) fn hosts(
    spec: &NetworkSpec,
    hosts: &BTreeMap<&str, NodeId>,
    first: NodeId,
) -> Result<Vec<NodeId>, Mistake> {
    let mut taken = vec![first];
    for (nth, server) in spec.server.iter().enumerate() {
        let refuse = |sentence: String| Mistake::at(format!("network.server[{nth}].host"), sentence);
        let name = server.host.as_deref().unwrap_or_default();
        let host = hosts.get(name).copied().ok_or_else(|| {
            refuse(format!("there is no host `{name}` in the topology; add it to its `hosts`"))
        })?;
        if taken.contains(&host) {
            return Err(refuse(format!("host `{name}` is a server already; name each once")));
        }
        taken.push(host);
    }
    taken.remove(0);
    Ok(taken)
}

/// Gives each class the server that it names, and refuses servers among the clients' addresses.
pub(crate) fn assign(layout: &mut Layout, spec: &NetworkSpec) -> Result<(), Mistake> {
    let mut of_classes = Vec::new();
    for (place, class) in spec.class.iter().enumerate() {
        let number = match class.server.as_deref() {
            None | Some(FIRST) => Some(0),
            Some(name) => spec.server.iter().position(|server| server.name == name).map(|nth| nth + 1),
        };
        of_classes.push(number.map(|number| number as u16).ok_or_else(|| {
            let names = spec.server.iter().map(|server| server.name.as_str());
            let names: Vec<&str> = std::iter::once(FIRST).chain(names).collect();
            let asked = class.server.as_deref().unwrap_or_default();
            let sentence = format!("there is no server `{asked}`; there are {}", names.join(", "));
            Mistake::at(format!("network.class[{place}].server"), sentence)
        })?);
    }
    for (nth, servers) in layout.network.others.servers.iter().enumerate() {
        let addresses = [IpAddr::V4(servers.v4), IpAddr::V6(servers.v6)];
        let blocks = [layout.clients_v4, layout.clients_v6];
        let held = addresses.iter().find_map(|address| {
            let block = blocks.iter().flatten().find(|block| block.contains(*address))?;
            Some(format!("clients' addresses in {block} would hold the server's, {address}; write another"))
        });
        if let Some(sentence) = held {
            return Err(Mistake::at(format!("network.server[{nth}].ipv4"), sentence));
        }
    }
    if !spec.server.is_empty() {
        layout.assign_servers(of_classes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use std::path::Path;

    const TWO: &str = "plane = 'emulated'\n[[network.server]]\nname = 'b'\nrtt = '10ms'
        [[network.class]]\nname = 'home'\nrtt = '20ms'\nserver = 'b'\n";

    fn refused(text: &str) -> String {
        from_text(text, Some(Path::new("a.toml")), &Overlay::default()).expect_err(text).to_string()
    }

    #[test]
    fn a_class_has_the_server_that_it_names() {
        let plan = from_text(TWO, Some(Path::new("a.toml")), &Overlay::default()).expect("a scenario");
        let network = plan.network().expect("clients");
        assert_eq!(network.plan.servers_of(0).v4.to_string(), "192.0.2.2");
        assert_eq!(network.round_trips.least.to_string(), "30ms");
        let again = from_text(&plan.scenario().to_toml(), Some(Path::new("a.toml")), &Overlay::default());
        assert_eq!(again.expect("it reads its own").scenario().network, plan.scenario().network);
    }

    #[test]
    fn servers_are_distinct_and_where_they_can_be() {
        let with = |from: &str, to: &str| {
            assert!(TWO.contains(from), "{from}");
            refused(&TWO.replace(from, to))
        };
        let text = with("server = 'b'", "server = 'c'");
        assert!(text.contains("there is no server `c`; there are server, b"), "{text}");
        let text = with("name = 'b'", "name = 'server'");
        assert!(text.contains("there is a server `server` already"), "{text}");
        assert!(with("name = 'b'", "name = 'a b'").contains("is no host's name"));
        let text = with("name = 'b'", "name = 'b'\nipv4 = '192.0.2.1'");
        assert!(text.contains("192.0.2.1 is the address of `server` already"), "{text}");
        let text = with("name = 'b'", "name = 'b'\nipv4 = '198.18.0.200'");
        assert!(text.contains("would hold the server's, 198.18.0.200"), "{text}");
        let text = with("rtt = '10ms'", "host = 'b'");
        assert!(text.contains("there is none"), "{text}");
        let text = with("emulated", "simulated");
        assert!(text.contains("one model of a server"), "{text}");
        let text = with("name = 'b'", "name = 'b'\ncommand = 'nginx'\nmodel = {}");
        assert!(
            text.contains("network.server[0].command") && text.contains("a model is no program"),
            "{text}"
        );
        let text = with("name = 'b'", "name = 'b'\nmodel = { tls = {} }");
        assert!(text.contains("network.server[0].model.tls"), "{text}");
        let text = with("name = 'b'", "name = 'b'\nmodel = { service-time = 'slow' }");
        assert!(text.contains("network.server[0].model.service-time"), "{text}");
        let modelled = TWO.replace("name = 'b'", "name = 'b'\nmodel = {}");
        let two_shards = "[network]\nshards = 2\nclients = 4\n[[network.server]]";
        let text = refused(&modelled.replacen("[[network.server]]", two_shards, 1));
        assert!(text.contains("network.server[0].model") && text.contains("in one shard"), "{text}");
        let text = refused(&format!("target = 'https://a/'\n{modelled}"));
        assert!(text.contains("users of `home` ask it over https"), "{text}");
    }
}
