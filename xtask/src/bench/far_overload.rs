//! Past capacity: an open load of two and of four times what farfield and server do in a closed loop, with
//! and without a bound on visitors, on the emulated plane and over sockets. What is asked for beyond capacity
//! must not cost what could be done.

use super::far::Far;
use super::generator::farfield::{self, Summary};
use super::generator::{Pace, Reuse, Version, Work};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::Result;

/// Seconds of a run that are measured.
const SECONDS: u32 = 3;
/// Users of the closed loop on the emulated plane, and the most visitors of the open load where they are
/// bounded.
const FAR_USERS: u32 = 10_000;
/// The share on the sockets plane.
const NEAR_USERS: u32 = 256;
/// The least that may be left of what a closed loop does.
const LEAST: f64 = 0.8;

/// The offered load, as a multiple of the closed loop's rate.
const FACTORS: [f64; 2] = [2.0, 4.0];

/// Completed requests a second of one way to be asked for too much, with the ratio to the closed loop of its
/// turn.
#[derive(Debug, Default)]
struct Row {
    per_s: Vec<f64>,
    ratio: Vec<f64>,
    opened_per_s: Vec<f64>,
}

/// The plane that carries a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Emulated,
    Sockets,
}

/// A load.
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// So many users, each waiting for its reply.
    Closed(u32),
    /// So many arrivals a second, taken by at most so many visitors.
    Open(u32, Option<u32>),
}

/// Closed, then twice and four times that, in turn.
pub fn past_capacity(lab: &Lab) -> Result<String> {
    let heads = ["load", "completed/s", "÷ closed loop's", "connections opened/s"];
    let (mut table, mut goals) = (Table::new(&heads), String::new());
    for (carrier, plane, users) in
        [(Carrier::Emulated, "emulated", FAR_USERS), (Carrier::Sockets, "sockets", NEAR_USERS)]
    {
        let mut closed = Row::default();
        let mut rows: [[Row; 2]; 2] = Default::default();
        for _ in 0..turns(lab) {
            let capacity = closed.add(&run(lab, carrier, Asked::Closed(users))?, None)?;
            for (rows, bound) in rows.iter_mut().zip([Some(users), None]) {
                for (row, factor) in rows.iter_mut().zip(FACTORS) {
                    let offered = (capacity * factor) as u32;
                    row.add(&run(lab, carrier, Asked::Open(offered, bound))?, Some(capacity))?;
                }
            }
        }
        table.row(closed.cells(format!("{plane}, closed loop of {users}")));
        for (rows, bound) in rows.iter().zip([format!("at most {users} visitors"), "any visitors".to_owned()])
        {
            for (row, factor) in rows.iter().zip(FACTORS) {
                let words = format!("{plane}, {factor:.0} × that offered, {bound}");
                table.row(row.cells(words.clone()));
                let ratio = Spread::of(row.ratio.iter().copied());
                goals += &goal(&format!("{words}: at least {LEAST} ×"), &ratio, ratio.median >= LEAST);
            }
        }
    }
    Ok(format!(
        "Kept-alive connections, 1 KB, {SECONDS} s a run, {} turns.\n\n{}\n{goals}",
        turns(lab),
        table.to_markdown()
    ))
}

/// Ten runs a turn.
fn turns(lab: &Lab) -> usize {
    lab.extent.pairs.min(3)
}

fn run(lab: &Lab, carrier: Carrier, asked: Asked) -> Result<Summary> {
    match carrier {
        Carrier::Emulated => {
            let load = match asked {
                Asked::Closed(users) => format!("model = \"closed\"\nusers = {users}\n"),
                Asked::Open(per_s, bound) => {
                    let bound = bound.map(|most| format!("users-max = {most}\n")).unwrap_or_default();
                    format!("model = \"open\"\narrivals = \"{per_s}/s\"\n{bound}")
                }
            };
            let rest = format!("[load]\n{load}[network]\nclients = 10000\nrtt = \"50ms\"\n");
            Far { reuse: Reuse::KeepAlive, seconds: SECONDS, ..Far::of(lab, &rest) }.run(lab)
        }
        Carrier::Sockets => {
            let nginx = lab.nginx()?;
            let (pace, connections, bound) = match asked {
                Asked::Closed(users) => (Pace::Closed, users, None),
                Asked::Open(per_s, bound) => (Pace::Open(per_s), 0, bound),
            };
            let work = Work {
                url: nginx.url("/1k"),
                connections,
                seconds: SECONDS,
                pace,
                reuse: Reuse::KeepAlive,
                version: Version::Http1,
            };
            let mut command = farfield::of_work(lab.farfield(), &work, lab.scratch());
            if let Some(most) = bound {
                command.arg("--set").arg(format!("load.users-max={most}"));
            }
            Ok(lab.farfield_run(&command, SECONDS)?.0)
        }
    }
}

impl Row {
    /// Adds a run, and returns its completions a second.
    fn add(&mut self, summary: &Summary, capacity: Option<f64>) -> Result<f64> {
        let per_s = summary.number("/steady/rates/succeeded_per_s")?;
        self.per_s.push(per_s);
        self.opened_per_s.push(summary.number("/steady/rates/connects_per_s")?);
        self.ratio.push(per_s / capacity.unwrap_or(per_s));
        Ok(per_s)
    }

    fn cells(&self, words: String) -> [String; 4] {
        let of = |numbers: &[f64]| Spread::of(numbers.iter().copied());
        let (per_s, opened) = (of(&self.per_s), of(&self.opened_per_s));
        [words, format!("{per_s:.0}"), of(&self.ratio).to_string(), format!("{opened:.0}")]
    }
}
