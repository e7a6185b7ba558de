//! The links that clients share, drawn as a tree from the servers outwards: the load of each and what it
//! dropped, in both directions. The same stands in a table.

use super::{NAMES, escaped, table};
use crate::chart::tree::{Bar, Shape, Tree, TreeNode};
use crate::figures::{count, percent, three_digits, time};
use farfield_measure::Summary;
use farfield_measure::engine_stats::{AttachedStats, LinkStats, TopologyStats};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

/// Rows of the tree; a reader finds nothing in more.
const ROWS: usize = 120;

/// The section, where clients share links.
pub(super) fn section(page: &mut String, summary: &Summary) {
    let Some(topology) = summary.network.as_ref().map(|network| &network.topology) else { return };
    if topology.links.is_empty() {
        return;
    }
    page.push_str(
        "<h3>Links that clients share</h3>\n<p>From the servers outwards. The load is the share of its rate that a link \
         carried over the whole run, with its warm-up and its drain; dropped is what its queue dropped, the wire \
         lost or the link refused.</p>\n<div class=\"tree\">\n",
    );
    let mut rows = Drawing::of(topology).rows();
    let further = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let legend = ["towards the server", "from the server"].map(str::to_owned);
    page.push_str(&Tree { title: "Load and drops of links".to_owned(), legend, rows }.html());
    page.push_str("</div>\n");
    if further > 0 {
        let _ = writeln!(page, "<p>{further} further rows are not drawn.</p>");
    }
    if topology.links_left_out + topology.clients_left_out > 0 {
        let _ = writeln!(
            page,
            "<p>{} further links, which carried less, and {} further clients are not in the summary.</p>",
            count(topology.links_left_out),
            count(topology.clients_left_out)
        );
    }
    links(page, topology);
}

/// All that is known of each link, as a table.
fn links(page: &mut String, topology: &TopologyStats) {
    let dash = || "–".to_owned();
    let row = |link: &LinkStats| {
        vec![
            escaped(&link.from),
            escaped(&link.to),
            link.bits_per_second.map_or_else(dash, bits),
            time(link.delay_ns),
            link.load.map_or_else(dash, percent),
            count(link.packets),
            count(link.impairments.dropped),
            count(link.impairments.lost),
            count(link.impairments.refused),
        ]
    };
    let mut all: Vec<&LinkStats> = topology.links.iter().collect();
    if all.len() > 2 * NAMES {
        all.sort_by_key(|link| std::cmp::Reverse((link.impairments.gone(), link.bytes)));
    }
    let rows: Vec<Vec<String>> = all.iter().take(2 * NAMES).map(|link| row(link)).collect();
    let which = match all.len() > rows.len() {
        true => format!("{} of {} links, those that dropped most first", rows.len(), all.len()),
        false => "All links as a table".to_owned(),
    };
    let _ = writeln!(page, "<details><summary>{which}</summary>");
    let heads = ["from", "to", "rate", "delay", "load", "packets", "dropped", "lost", "refused"];
    table(page, &heads, &rows);
    page.push_str("</details>\n");
}

/// Bits a second in decimal units: `10.0Mbit/s`.
fn bits(per_second: f64) -> String {
    let units = [(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")];
    let fits = |(scale, _): &(f64, &str)| per_second / scale < 999.5;
    let (scale, unit) = units.into_iter().find(fits).unwrap_or(units[3]);
    format!("{}{unit}", three_digits(per_second / scale))
}

/// The links by their nodes, and who is at the nodes.
struct Drawing<'a> {
    topology: &'a TopologyStats,
    /// For each node its neighbours that are further from the servers.
    children: BTreeMap<&'a str, Vec<&'a str>>,
    /// Links that the tree passes over, by the node where they begin.
    others: BTreeMap<&'a str, Vec<&'a LinkStats>>,
}

impl<'a> Drawing<'a> {
    /// The tree of the fewest links from the servers, in the order of the links.
    fn of(topology: &'a TopologyStats) -> Drawing<'a> {
        let mut neighbours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for LinkStats { from, to, .. } in &topology.links {
            neighbours.entry(to).or_default().push(from);
            neighbours.entry(from).or_default().push(to);
        }
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut edges: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut known: BTreeSet<&str> = topology.servers.iter().map(String::as_str).collect();
        let mut next: VecDeque<&str> = topology.servers.iter().map(String::as_str).collect();
        while let Some(node) = next.pop_front() {
            for neighbour in neighbours.get(node).into_iter().flatten() {
                if known.insert(neighbour) {
                    children.entry(node).or_default().push(neighbour);
                    edges.extend([(node, *neighbour), (*neighbour, node)]);
                    next.push_back(neighbour);
                }
            }
        }
        let mut others: BTreeMap<&str, Vec<&LinkStats>> = BTreeMap::new();
        for link in &topology.links {
            if !edges.contains(&(link.from.as_str(), link.to.as_str())) {
                others.entry(&link.from).or_default().push(link);
            }
        }
        Drawing { topology, children, others }
    }

    fn rows(&self) -> Vec<TreeNode> {
        let mut rows = Vec::new();
        for server in &self.topology.servers {
            self.add(&mut rows, (server, 0), [None, None], Shape::Filled);
        }
        rows
    }

    /// Adds a node, those who are at it, and what lies beyond it.
    fn add(
        &self,
        rows: &mut Vec<TreeNode>,
        (node, depth): (&'a str, usize),
        bars: [Option<Bar>; 2],
        shape: Shape,
    ) {
        if let Some(class) = self.only_client(node) {
            let name = plain(&format!("{node}, {class}"));
            return rows.push(TreeNode { depth, name, shape: Shape::Leaf, bars });
        }
        let name = if shape == Shape::Filled { format!("{node} (server)") } else { node.to_owned() };
        rows.push(TreeNode { depth, name: plain(&name), shape, bars });
        let depth = depth + 1;
        for AttachedStats { class, clients, .. } in self.topology.attached.iter().filter(|at| at.node == node)
        {
            let name = format!("{} × {class}", count(*clients));
            rows.push(TreeNode { depth, name: plain(&name), shape: Shape::Leaf, bars: [None, None] });
        }
        for link in self.others.get(node).into_iter().flatten() {
            let name = format!("another way to {}", link.to);
            let bars = [Some(bar(link)), None];
            rows.push(TreeNode { depth, name: plain(&name), shape: Shape::Way, bars });
        }
        for &child in self.children.get(node).into_iter().flatten() {
            let link = |from: &str, to: &str| {
                self.topology.links.iter().find(|link| link.from == from && link.to == to).map(bar)
            };
            self.add(rows, (child, depth), [link(child, node), link(node, child)], Shape::Open);
        }
    }

    /// The class of the one client that is all there is at a node, such as a host with a link of its own.
    fn only_client(&self, node: &str) -> Option<&'a str> {
        let is_end = !self.children.contains_key(node) && !self.others.contains_key(node);
        let mut attached = self.topology.attached.iter().filter(|group| group.node == node);
        let first = attached.next().filter(|group| group.clients == 1 && is_end)?;
        attached.next().is_none().then_some(first.class.as_str())
    }
}

/// A name from elsewhere, without control characters; markup is escaped as the chart is drawn.
fn plain(name: &str) -> String {
    farfield_base::printable(name, &[]).into_owned()
}

fn bar(link: &LinkStats) -> Bar {
    let gone = link.impairments.gone();
    let mut text = match link.load {
        Some(load) => percent(load),
        None => format!("{} packets", count(link.packets)),
    };
    if gone > 0 {
        let _ = write!(text, ", {} gone", count(gone));
    }
    Bar { share: link.load, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::LinkImpairments;

    fn link(from: &str, to: &str, load: f64, dropped: u64) -> LinkStats {
        let (from, to) = (from.to_owned(), to.to_owned());
        let impairments = LinkImpairments { dropped, ..LinkImpairments::default() };
        LinkStats { from, to, load: Some(load), impairments, ..LinkStats::default() }
    }

    /// A server behind a core with two routers, of which one also reaches the other.
    fn topology() -> TopologyStats {
        let attached =
            |class: &str, node: &str| AttachedStats { class: class.into(), node: node.into(), clients: 30 };
        TopologyStats {
            links: vec![
                link("core", "www", 0.9, 7),
                link("www", "core", 0.2, 0),
                link("east", "core", 0.1, 0),
                link("core", "east", 0.3, 0),
                link("west", "core", 0.1, 0),
                link("core", "west", 0.4, 0),
                link("east", "west", 0.5, 0),
                link("pc", "west", 0.6, 0),
            ],
            attached: vec![
                attached("fibre", "east"),
                attached("modem", "west"),
                AttachedStats { clients: 1, ..attached("tower", "pc") },
            ],
            servers: vec!["www".to_owned()],
            ..TopologyStats::default()
        }
    }

    #[test]
    fn every_link_and_every_group_of_clients_is_drawn_once() {
        let topology = topology();
        let rows = Drawing::of(&topology).rows();
        let words: Vec<(usize, &str)> = rows.iter().map(|row| (row.depth, row.name.as_str())).collect();
        let expected = [
            (0, "www (server)"),
            (1, "core"),
            (2, "east"),
            (3, "30 × fibre"),
            (3, "another way to west"),
            (2, "west"),
            (3, "30 × modem"),
            (3, "pc, tower"),
        ];
        assert_eq!(words, expected);
        let bars: Vec<&Bar> = rows.iter().flat_map(|row| row.bars.iter().flatten()).collect();
        assert_eq!(bars.len(), topology.links.len());
        assert_eq!((bars[0].share, bars[0].text.as_str()), (Some(0.9), "90%, 7 gone"));
        assert_eq!((bars[1].share, bars[1].text.as_str()), (Some(0.2), "20%"));
    }

    #[test]
    fn rates_have_units() {
        assert_eq!((bits(1e7), bits(56_000.0)), ("10.0Mbit/s".to_owned(), "56.0kbit/s".to_owned()));
    }
}
