//! `farfield route` between two network cards, and between two network namespaces: one stream, small round
//! trips, and packets. Cards are packet sockets on veth pairs, namespaces have TUN devices; both run in turn,
//! with the same client, server and path.

use super::lab::{Lab, Ran};
use super::page::Table;
use super::shell;
use super::spread::Spread;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Messages there and back in a run.
const MESSAGES: &str = "5000";
const SERVER: &str = "10.0.9.101";

/// Makes machines of namespaces, has farfield route between them, loads the server, and ends all. Its words
/// are farfield, the program that loads, the kind of ends, and the words of the load.
const SCRIPT: &str = r#"
set -e
farfield=$1 bare=$2 ends=$3; shift 3
trap 'kill $clients $servers $server $router 2>/dev/null || true' EXIT
unshare --net sleep 1000 & clients=$!
unshare --net sleep 1000 & servers=$!
own=$(readlink /proc/self/ns/net)
for machine in $clients $servers; do
    while [ "$(readlink /proc/$machine/ns/net)" = "$own" ]; do sleep 0.01; done
    nsenter -t $machine --net ip link set lo up
done
if [ $ends = cards ]; then
    ip link add eth1 type veth peer name eth0 netns $clients; ip link set eth1 up
    ip link add eth2 type veth peer name eth0 netns $servers; ip link set eth2 up
    for machine in $clients $servers; do nsenter -t $machine --net ip link set eth0 up; done
    dev=eth0 words="--between eth1,eth2 --client 10.0.9.1"
else
    dev=lo words="--clients-netns $clients --server-netns $servers --client 10.0.9.1"
fi
bits=$([ $ends = cards ] && echo 24 || echo 32)
nsenter -t $clients --net ip address add 10.0.9.1/$bits dev $dev
nsenter -t $servers --net ip address add 10.0.9.101/$bits dev $dev
nsenter -t $servers --net "$bare" serve & server=$!
errors=$(mktemp)
"$farfield" route 10.0.9.101 $words --rtt 1ms 2>"$errors" & router=$!
until grep -q '^farfield: routing' "$errors"; do kill -0 $router; sleep 0.05; done
nsenter -t $clients --net "$bare" "$@"
kill -TERM $router
wait $router || [ $? = 3 ]
cat "$errors" >&2
rm "$errors"
"#;

/// The figures of one load, run by run.
#[derive(Debug, Default)]
struct Runs {
    cards: Vec<f64>,
    namespaces: Vec<f64>,
    cards_per_cpu: Vec<f64>,
    namespaces_per_cpu: Vec<f64>,
}

/// Streams, round trips and packets through a route that only takes time.
pub fn between_machines(lab: &Lab) -> Result<String> {
    let bare = shell::build()?;
    let (address, seconds) = (format!("{SERVER}:80"), lab.extent.seconds.to_string());
    let loads =
        [["stream", &address, &seconds], ["echo", &address, MESSAGES], ["packets", &address, &seconds]];
    let [stream, echo, packets] = loads.map(|load| -> Result<Runs> {
        let mut runs = Runs::default();
        for turn in 0..lab.extent.pairs {
            let mut order = ["cards", "namespaces"];
            if turn % 2 == 1 {
                order.reverse();
            }
            for ends in order {
                runs.add(ends, &run(lab, &bare, &load, ends)?, lab)?;
            }
        }
        Ok(runs)
    });
    Ok(text(&stream?, &echo?, &packets?))
}

fn text(stream: &Runs, echo: &Runs, packets: &Runs) -> String {
    let mut table =
        Table::new(&["1 ms there and back, no rate", "between cards", "between namespaces", "ratio"]);
    let mut row = |words: &str, cards: &[f64], namespaces: &[f64], scale: f64, digits: usize| {
        let spread = |runs: &[f64]| Spread::of(runs.iter().map(|figure| figure / scale));
        let (one, other) = (spread(cards), spread(namespaces));
        table.row([
            words.to_owned(),
            format!("{one:.digits$}"),
            format!("{other:.digits$}"),
            Spread::of_ratios(cards, namespaces).to_string(),
        ]);
    };
    row("one TCP stream, Gb/s", &stream.cards, &stream.namespaces, 1e9, 2);
    row("64 B there and back, median, µs", &echo.cards, &echo.namespaces, 1e3, 0);
    row("64 B datagrams, 1,000/s", &packets.cards, &packets.namespaces, 1e3, 0);
    let of_thread = "datagrams a second of the thread's time, 1,000";
    row(of_thread, &packets.cards_per_cpu, &packets.namespaces_per_cpu, 1e3, 0);
    table.to_markdown()
}

fn run(lab: &Lab, bare: &Path, load: &[&str], ends: &str) -> Result<Ran> {
    let mut command = Command::new("unshare");
    command.args(["--net", "--", "/bin/sh", "-c", SCRIPT, "sh"]);
    command.arg(lab.farfield()).arg(bare).arg(ends).args(load);
    lab.measure_anywhere(&command, lab.extent.seconds)
}

impl Runs {
    fn add(&mut self, ends: &str, ran: &Ran, lab: &Lab) -> Result<()> {
        let figure: f64 =
            ran.output.trim().parse().with_context(|| format!("no number in {:?}", ran.output))?;
        let said = fs::read_to_string(lab.scratch().join("errors"))?;
        let per_cpu = shell::per_cpu(&said).with_context(|| format!("no packets in {said:?}"))?;
        let (figures, per_cpus) = match ends {
            "cards" => (&mut self.cards, &mut self.cards_per_cpu),
            _ => (&mut self.namespaces, &mut self.namespaces_per_cpu),
        };
        figures.push(figure);
        per_cpus.push(per_cpu);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_load_has_a_row() {
        let runs = |figure: f64| Runs {
            cards: vec![figure],
            namespaces: vec![2.0 * figure],
            cards_per_cpu: vec![300_000.0],
            namespaces_per_cpu: vec![400_000.0],
        };
        let text = text(&runs(4e9), &runs(1_050_000.0), &runs(1e5));
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains("4.00") && text.contains("8.00") && text.contains("0.5"), "{text}");
    }
}
