//! Processes whose true percentiles, means, rates and shares are known, for the coverage of intervals.
//!
//! Queues have one server, first come, first served, with exponential service of a millisecond on average; a
//! response time follows from the one before (Lindley 1952), so that a run of 16,000 requests takes a
//! millisecond. Runs begin in steady state.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::f64::consts::TAU;

/// Nanoseconds of a mean service time.
pub const SERVICE_NS: f64 = 1e6;
/// The share of requests that fail.
pub const FAILED: f64 = 0.02;

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub due_ns: u64,
    pub response_ns: u64,
    pub failed: bool,
}

/// Requests in order of when they were due, and how long they were asked.
pub struct Run {
    pub requests: Vec<Request>,
    pub lasted_ns: u64,
    /// Mean length of a session, in nanoseconds.
    pub session_ns: Option<u64>,
}

/// A way in which requests arrive and are served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Process {
    /// Poisson arrivals, independent exponential times, independent failures.
    Independent,
    /// M/M/1 at this load.
    Queue { load: f64 },
    /// So many users, who think for an exponential time of so many service times on average.
    Closed { users: usize, think: f64 },
    /// A hybrid load: sessions begin as a Poisson process; a session has 10 requests on average, geometric,
    /// and thinks between them for a lognormal time of so many service times on average, before one server.
    Sessions { load: f64, think: f64 },
    /// Poisson arrivals at a rate that varies as fractional Gaussian noise, by 30 %, every 100 service times.
    SelfSimilar { hurst: f64, load: f64, queue: bool },
}

impl Process {
    /// A run of about so many requests.
    pub fn run(self, seed: u64, requests: usize) -> Run {
        let mut random = Random::new(seed);
        let mut failures =
            Failures { independent: self == Process::Independent, bad: random.uniform() < 0.05 };
        let (times, lasted) = match self {
            Process::Independent => poisson(requests as f64, &mut random, |random, _| random.exponential()),
            Process::Queue { load } => queue(load, requests as f64 / load, &mut random),
            Process::Closed { users, think } => closed(users, think, requests, &mut random),
            Process::Sessions { load, think } => sessions(load, think, requests, &mut random),
            Process::SelfSimilar { hurst, load, queue } => {
                self_similar(hurst, load, queue, requests, &mut random)
            }
        };
        let requests = times.into_iter().map(|(due, response)| Request {
            due_ns: (due * SERVICE_NS) as u64,
            response_ns: (response * SERVICE_NS) as u64,
            failed: failures.next(&mut random),
        });
        Run {
            requests: requests.collect(),
            lasted_ns: (lasted * SERVICE_NS) as u64,
            session_ns: self.session().map(|session| (session * SERVICE_NS) as u64),
        }
    }

    /// Response times up to the true percentile p, in service times; `None` where there is no formula.
    pub fn quantile(self, p: f64) -> Option<f64> {
        match self {
            Process::Independent => Some(-(1.0 - p).ln()),
            // The response time in M/M/1 is exponential; and so is that of requests of sessions, which find
            // the same queue whatever their lengths and thoughts are (Kelly 1979, "Reversibility and
            // Stochastic Networks", section 3.1; Sevcik and Mitrani 1981).
            Process::Queue { load } | Process::Sessions { load, .. } => Some(-(1.0 - p).ln() / (1.0 - load)),
            Process::Closed { users, think } => {
                let below = |time: f64| {
                    let seen = seen_in_queue(users, think);
                    // k requests ahead and the own: Erlang of k + 1.
                    let erlang = |k: usize| {
                        let terms = (1..=k).scan(1.0, |term, i| {
                            *term *= time / i as f64;
                            Some(*term)
                        });
                        1.0 - (-time).exp() * (1.0 + terms.sum::<f64>())
                    };
                    seen.iter().enumerate().map(|(k, weight)| weight * erlang(k)).sum::<f64>()
                };
                let (mut low, mut high) = (0.0, 10.0 * users as f64);
                for _ in 0..60 {
                    let middle = f64::midpoint(low, high);
                    if below(middle) < p { low = middle } else { high = middle }
                }
                Some(low)
            }
            Process::SelfSimilar { queue, .. } => (!queue).then(|| -(1.0 - p).ln()),
        }
    }

    /// The true mean of response times, in service times; `None` where there is no formula.
    pub fn mean(self) -> Option<f64> {
        match self {
            Process::Independent => Some(1.0),
            Process::Queue { load } | Process::Sessions { load, .. } => Some(1.0 / (1.0 - load)),
            Process::Closed { users, think } => {
                let seen = seen_in_queue(users, think);
                Some(seen.iter().enumerate().map(|(k, weight)| weight * (k + 1) as f64).sum())
            }
            Process::SelfSimilar { queue, .. } => (!queue).then_some(1.0),
        }
    }

    /// The mean length of a session, in service times, where sessions arrive.
    fn session(self) -> Option<f64> {
        match self {
            Process::Sessions { load, think } => Some(SESSION / (1.0 - load) + (SESSION - 1.0) * think),
            _ => None,
        }
    }

    /// Successful replies in a service time.
    pub fn rate(self) -> f64 {
        let all = match self {
            Process::Independent => 1.0,
            Process::Queue { load } | Process::Sessions { load, .. } | Process::SelfSimilar { load, .. } => {
                load
            }
            // Little's law.
            Process::Closed { users, think } => {
                users as f64 / (think + self.mean().expect("a formula for a closed loop"))
            }
        };
        all * (1.0 - FAILED)
    }
}

/// Poisson arrivals at rate 1 for a time, each with what `response` makes of it.
fn poisson(
    lasts: f64,
    random: &mut Random,
    response: impl Fn(&mut Random, f64) -> f64,
) -> (Vec<(f64, f64)>, f64) {
    let (mut times, mut at) = (Vec::new(), random.exponential());
    while at < lasts {
        times.push((at, response(random, at)));
        at += random.exponential();
    }
    (times, lasts)
}

fn queue(load: f64, lasts: f64, random: &mut Random) -> (Vec<(f64, f64)>, f64) {
    // The time to wait in steady state is 0 or exponential.
    let mut wait = if random.uniform() < load { random.exponential() / (1.0 - load) } else { 0.0 };
    let (mut times, mut at) = (Vec::new(), random.exponential() / load);
    while at < lasts {
        let response = wait + random.exponential();
        times.push((at, response));
        let gap = random.exponential() / load;
        wait = (response - gap).max(0.0);
        at += gap;
    }
    (times, lasts)
}

fn closed(users: usize, think: f64, requests: usize, random: &mut Random) -> (Vec<(f64, f64)>, f64) {
    let process = Process::Closed { users, think };
    let lasts = requests as f64 / process.rate() * (1.0 - FAILED);
    let settles = 20.0 * (think + users as f64);
    let ns = |time: f64| (time * SERVICE_NS) as u64;
    let mut due: BinaryHeap<Reverse<u64>> =
        (0..users).map(|_| Reverse(ns(think * random.exponential()))).collect();
    let (mut times, mut free) = (Vec::new(), 0.0_f64);
    while let Some(Reverse(at)) = due.pop() {
        let at = at as f64 / SERVICE_NS;
        if at >= settles + lasts {
            break;
        }
        free = free.max(at) + random.exponential();
        if at >= settles {
            times.push((at - settles, free - at));
        }
        due.push(Reverse(ns(free + think * random.exponential())));
    }
    (times, lasts)
}

/// Requests of a session, on average.
const SESSION: f64 = 10.0;

fn sessions(load: f64, think: f64, requests: usize, random: &mut Random) -> (Vec<(f64, f64)>, f64) {
    /// Deviation of the logarithm of a time to think.
    const SPREAD: f64 = 1.0;
    let lasts = requests as f64 / load;
    let settles = 20.0 * SESSION * (think + 1.0 / (1.0 - load));
    let ns = |time: f64| (time * SERVICE_NS) as u64;
    let gap = |random: &mut Random| random.exponential() * SESSION / load;
    let mut begins = gap(random);
    let (mut due, mut times, mut free) = (BinaryHeap::new(), Vec::new(), 0.0_f64);
    loop {
        while due.peek().is_none_or(|Reverse(at)| ns(begins) <= *at) {
            due.push(Reverse(ns(begins)));
            begins += gap(random);
        }
        let Some(Reverse(at)) = due.pop() else { continue };
        let at = at as f64 / SERVICE_NS;
        if at >= settles + lasts {
            return (times, lasts);
        }
        free = free.max(at) + random.exponential();
        if at >= settles {
            times.push((at - settles, free - at));
        }
        if random.uniform() >= 1.0 / SESSION {
            let thinks = think * (SPREAD * random.normal() - SPREAD * SPREAD / 2.0).exp();
            due.push(Reverse(ns(free + thinks)));
        }
    }
}

/// Probability that a request in a closed loop finds k others at the server: that of a loop with one user
/// less (Sevcik and Mitrani 1981; Lavenberg and Reiser 1980).
fn seen_in_queue(users: usize, think: f64) -> Vec<f64> {
    let mut weights = vec![1.0];
    for k in 1..users {
        weights.push(weights[k - 1] * (users - k) as f64 / think);
    }
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn self_similar(
    hurst: f64,
    load: f64,
    queue: bool,
    requests: usize,
    random: &mut Random,
) -> (Vec<(f64, f64)>, f64) {
    const SLOT: f64 = 100.0;
    const DEVIATION: f64 = 0.3;
    // A queue is let settle for a tenth of the run.
    let slots = (requests as f64 / load / SLOT).ceil() as usize;
    let settling = if queue { slots.div_ceil(10) } else { 0 };
    let noise = fractional_noise(hurst, slots + settling, random);
    let (mut times, mut free) = (Vec::new(), 0.0_f64);
    for (slot, noise) in noise.iter().enumerate() {
        let rate = load * (1.0 + DEVIATION * noise).max(0.0);
        let begins = (slot as f64 - settling as f64) * SLOT;
        let mut at = begins + random.exponential() / rate;
        while at < begins + SLOT {
            let service = random.exponential();
            free = if queue { free.max(at) } else { at } + service;
            if at >= 0.0 {
                times.push((at, free - at));
            }
            at += random.exponential() / rate;
        }
    }
    (times, slots as f64 * SLOT)
}

/// Fractional Gaussian noise of variance 1, exactly (Hosking 1984; the recursion is Durbin's and Levinson's).
fn fractional_noise(hurst: f64, count: usize, random: &mut Random) -> Vec<f64> {
    let power = |k: f64| k.abs().powf(2.0 * hurst);
    let correlation: Vec<f64> = (0..count)
        .map(|k| k as f64)
        .map(|k| 0.5 * (power(k + 1.0) - 2.0 * power(k) + power(k - 1.0)))
        .collect();
    let mut noise = Vec::with_capacity(count);
    let (mut weights, mut variance): (Vec<f64>, f64) = (Vec::new(), 1.0);
    for n in 0..count {
        if n > 0 {
            let known: f64 =
                weights.iter().enumerate().map(|(k, weight)| weight * correlation[n - 1 - k]).sum();
            let reflection = (correlation[n] - known) / variance;
            let reversed: Vec<f64> = weights.iter().rev().copied().collect();
            weights.iter_mut().zip(reversed).for_each(|(weight, back)| *weight -= reflection * back);
            weights.push(reflection);
            variance *= 1.0 - reflection * reflection;
        }
        let mean: f64 =
            weights.iter().zip(noise.iter().rev()).map(|(weight, value): (&f64, &f64)| weight * value).sum();
        noise.push(mean + variance.sqrt() * random.normal());
    }
    noise
}

/// Failures: independent, or two fifths of the requests of bad stretches of 50 requests on average (Gilbert
/// 1960, "Capacity of a burst-noise channel").
struct Failures {
    independent: bool,
    bad: bool,
}

impl Failures {
    fn next(&mut self, random: &mut Random) -> bool {
        if self.independent {
            return random.uniform() < FAILED;
        }
        let turns = random.uniform() < if self.bad { 1.0 / 50.0 } else { 1.0 / 950.0 };
        self.bad ^= turns;
        self.bad && random.uniform() < FAILED / 0.05
    }
}

/// Random numbers: SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (TAU * self.uniform()).cos()
    }
}

/// Counts of the intervals of many runs, by the number that they are of.
#[derive(Default)]
pub struct Tally(pub BTreeMap<&'static str, Count>);

/// Of so many runs, how many had an interval, and in how many it contained the true number.
#[derive(Debug, Default, Clone, Copy)]
pub struct Count {
    pub runs: u32,
    pub given: u32,
    pub covered: u32,
}

impl Tally {
    /// Counts the interval of a run, if it has one.
    pub fn count(&mut self, name: &'static str, interval: Option<[f64; 2]>, truth: f64) {
        let count = self.0.entry(name).or_default();
        count.runs += 1;
        if let Some([low, high]) = interval {
            count.given += 1;
            count.covered += u32::from(low <= truth && truth <= high);
        }
    }
}
