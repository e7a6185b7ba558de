//! `[[network.cross-traffic]]`: flows on the links that clients share, once these are laid out.

use crate::mistake::Mistake;
use farfield_emulator::layout::Layout;
use farfield_emulator::{CrossFlow, SharedLinkId};
use farfield_net::{CrossTraffic, LinkName};

/// Adds `flows` to the links of `layout`.
///
/// # Errors
/// If a link is not there, no client's packets take it, or its MTU is smaller than the flow's packets.
pub(crate) fn add(layout: &mut Layout, flows: &[CrossTraffic]) -> Result<(), Mistake> {
    for (place, traffic) in flows.iter().enumerate() {
        let key = format!("network.cross-traffic[{place}]");
        let Some(link) = layout.links.iter().position(|name| *name == traffic.link) else {
            return Err(Mistake::at(format!("{key}.link"), missing(&traffic.link, &layout.links)));
        };
        let mtu = layout.network.shared[link].mtu_of_link().as_bytes();
        if traffic.packet_bytes > mtu {
            let sentence = format!(
                "packets of {} bytes do not fit the MTU of {}, which is {mtu}; write smaller ones, or a larger MTU",
                traffic.packet_bytes, traffic.link
            );
            return Err(Mistake::at(format!("{key}.packet"), sentence));
        }
        layout
            .network
            .cross_traffic
            .push(CrossFlow { link: SharedLinkId::at(link), traffic: traffic.clone() });
    }
    Ok(())
}

/// The sentence about a link that clients do not share, with those that they do.
fn missing(link: &LinkName, links: &[LinkName]) -> String {
    const NAMED_MOST: usize = 6;
    let named: Vec<String> = links.iter().take(NAMED_MOST).map(|name| format!("`{name}`")).collect();
    let more = if links.len() > NAMED_MOST { ", …" } else { "" };
    match (link, named.is_empty()) {
        (LinkName::SharedUp | LinkName::SharedDown, true) => {
            format!("no link is shared; write `network.shared`, of which `{link}` is a direction")
        }
        (LinkName::Between { .. }, true) => {
            format!(
                "the packets of no two clients take a link `{link}`; name a link of a topology that several share"
            )
        }
        _ => format!(
            "the packets of no two clients take a link `{link}`; they share {}{more}",
            named.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use std::path::Path;

    fn read(text: &str) -> Result<crate::RunPlan, String> {
        let text = format!("plane = 'simulated'\nload = {{ model = 'closed', users = 4 }}\n{text}\n");
        from_text(&text, Some(Path::new("s.toml")), &Overlay::default()).map_err(|error| error.to_string())
    }

    const SHARED: &str = "[network.shared]\nup = { rate = '1Mbit' }\ndown = { rate = '2Mbit', mtu = 1000 }\n";

    #[test]
    fn flows_find_their_links() {
        let flow = "[[network.cross-traffic]]\nlink = 'shared.up'\nrate = '500kbit'\narrivals = 'constant'";
        read(&format!("{SHARED}{flow}")).expect("a link that is there");
        let topology = "[network.topology]\nserver = 'www'\nhosts = ['www', 'a', 'b']\nrouters = ['core']\n\
                        links = [{ from = 'www', to = 'core', link = { rate = '1Gbit', delay = '1ms' } }, \
                        { from = 'core', to = 'a', link = { rate = '8Mbit' } }, \
                        { from = 'core', to = 'b', link = { rate = '8Mbit' } }]\n";
        let between = |from, to| {
            let text = "[[network.cross-traffic]]\nrate = '1Mbit'\nlink = ";
            read(&format!("{topology}{text}{{ from = '{from}', to = '{to}' }}"))
        };
        between("www", "core").expect("a link of both clients");
        between("core", "www").expect("its other direction");
        let sentence = between("core", "nowhere").expect_err("no such node");
        assert!(sentence.contains("`core to nowhere`") && sentence.contains("`www to core`"), "{sentence}");
    }

    #[test]
    fn mistakes_say_where_and_what_would_do() {
        let refuse = |text: &str, parts: &[&str]| {
            let sentence = read(text).expect_err(text);
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        };
        let flow = |link: &str| format!("[[network.cross-traffic]]\nlink = '{link}'\nrate = '1Mbit'");
        refuse(&flow("shared.up"), &["s.toml:4", "network.cross-traffic[0].link", "network.shared"]);
        refuse(&format!("{SHARED}{}", flow("shared.down")), &["cross-traffic[0].packet", "1500", "1000"]);
        refuse(&format!("{SHARED}{}", flow("access")), &["shared.down"]);
    }
}
