//! The simulated plane: packet events a second and memory over the number of clients, and what a second
//! thread adds.
//!
//! An example of `farfield-emulator` is what runs; here it is called and its rows are read.

use super::goal;
use super::lab::{self, Lab};
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result, bail};
use std::process::Command;
use xtask::process;

/// The curve, and how short it may be to see that all works.
const CLIENTS: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];
const CLIENTS_QUICK: [u32; 2] = [1_000, 10_000];

/// A row of the example for one number of clients.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    clients: u32,
    requests: u64,
    packet_events: u64,
    /// Millions a second.
    packet_rate: f64,
    packet_ns: f64,
    event_ns: f64,
    /// Of memory, a client.
    bytes: f64,
}

/// Clients behind links of their own and one router.
pub fn far_away(lab: &Lab) -> Result<String> {
    let (mut text, rows) = curve(lab, "")?;
    let thinking = rows.last().context("a row")?;
    let open = rows_of(&example(lab, &[format!("{}open", 100_000.min(thinking.clients))])?)?;
    let open = open.first().context("a row of open connections")?;
    let bytes = |row: &Row| format!("{:.0} B", row.bytes);
    text += &goal("at most 1 KB a thinking client", &bytes(thinking), thinking.bytes <= 1024.0);
    text += &goal("at most 4 KB a client with a connection open", &bytes(open), open.bytes <= 4096.0);
    Ok(text)
}

/// Clients behind IP-TNE's backbone of four subnetworks.
pub fn backbone(lab: &Lab) -> Result<String> {
    Ok(curve(lab, "backbone")?.0)
}

/// One thread and two in turn.
pub fn shards(lab: &Lab) -> Result<String> {
    let output = example(lab, &["shards".to_owned()])?;
    let rows = output.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &["pair", _, events, windows, one, two, busy] = &words[..] else { return None };
        Some([events, windows, one, two, busy].map(|word| word.parse::<f64>().unwrap_or(f64::NAN)))
    });
    let rows: Vec<[f64; 5]> = rows.collect();
    if rows.is_empty() {
        bail!("the example printed no pairs:\n{output}");
    }
    let column = |number: usize| rows.iter().map(|row| row[number]).collect::<Vec<_>>();
    let ratio = Spread::of_ratios(&column(3), &column(2));
    let mut table =
        Table::new(&["4,096 clients on four subnets", "million events/s", "processors", "÷ one thread"]);
    table.row(["one thread".into(), Spread::of(column(2)).to_string(), "1".into(), "1".into()]);
    let (two, busy) = (Spread::of(column(3)), Spread::of(column(4)));
    table.row(["two threads".into(), two.to_string(), busy.to_string(), ratio.to_string()]);
    Ok(format!(
        "{}\n{:.0} events in {:.0} windows a run, {} pairs of runs.\n\n{}",
        table.to_markdown(),
        rows[0][0],
        rows[0][1],
        rows.len(),
        goal("at least 1.6 × the events a second of one thread", &ratio, ratio.median >= 1.6)
    ))
}

fn curve(lab: &Lab, kind: &str) -> Result<(String, Vec<Row>)> {
    let clients: &[u32] = if lab.extent.quick { &CLIENTS_QUICK } else { &CLIENTS };
    let mut rows = Vec::new();
    for clients in clients {
        // A process each, so that none inherits the memory of one before.
        rows.extend(rows_of(&example(lab, &[format!("{clients}{kind}")])?)?);
    }
    let heads =
        ["clients", "requests", "packet events", "million/s", "ns each", "ns an event", "bytes a client"];
    let mut table = Table::new(&heads);
    for row in &rows {
        table.row([
            row.clients.to_string(),
            row.requests.to_string(),
            row.packet_events.to_string(),
            format!("{:.2}", row.packet_rate),
            format!("{:.0}", row.packet_ns),
            format!("{:.0}", row.event_ns),
            format!("{:.0}", row.bytes),
        ]);
    }
    let most = rows.last().context("a row")?;
    let costs = || rows.iter().map(|row| row.event_ns);
    let range = costs().fold(0.0, f64::max) / costs().fold(f64::INFINITY, f64::min);
    let asked = "at least 3 million packet events a second at 1,000,000 clients";
    let text = format!(
        "{}\n{}{}",
        table.to_markdown(),
        goal(asked, &format!("{:.2} million", most.packet_rate), most.packet_rate >= 3.0),
        goal("a cost an event within 2 × over the curve", &format!("{range:.2} ×"), range <= 2.0),
    );
    Ok((text, rows))
}

/// The example's output for these arguments.
fn example(lab: &Lab, words: &[String]) -> Result<String> {
    let mut command = Command::new(lab::example(lab, "simulated_speed")?);
    command.args(words);
    eprintln!("  {}", process::words(&command));
    Ok(String::from_utf8_lossy(&process::output(&mut command)?).into_owned())
}

fn rows_of(output: &str) -> Result<Vec<Row>> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let clients = words.next()?.parse().ok()?;
        let numbers: Vec<f64> = words.skip(1).map_while(|word| word.parse().ok()).collect();
        let &[requests, packet_events, packet_rate, _, packet_ns, event_ns, bytes, ..] = &numbers[..] else {
            return None;
        };
        let (requests, packet_events) = (requests as u64, packet_events as u64);
        Some(Row { clients, requests, packet_events, packet_rate, packet_ns, event_ns, bytes })
    };
    let rows: Vec<Row> = output.lines().filter_map(row).collect();
    if rows.is_empty() {
        bail!("the example printed no rows:\n{output}");
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let output = "  clients      kind   requests\n     1000  thinking      20071       260842      1.37      1.65       728       607        3935     0.2\n";
        let rows = rows_of(output).unwrap();
        let expected = Row {
            clients: 1000,
            requests: 20_071,
            packet_events: 260_842,
            packet_rate: 1.37,
            packet_ns: 728.0,
            event_ns: 607.0,
            bytes: 3935.0,
        };
        assert_eq!(rows, [expected]);
        assert!(rows_of("nothing\n").is_err());
    }
}
