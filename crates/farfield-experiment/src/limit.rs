//! The limit of a load generator: the highest load at which one generator and two, each with half of it, get
//! the same from the same server.
//!
//! A generator that is full looks like a server that is: replies are fewer or later than they would be. Where
//! the load is shared by two generators and the result stays the same, it was not the generator's (Banga and
//! Druschel 1999, "Measuring the capacity of a Web server under realistic loads", World Wide Web 2, who add
//! client machines until the server's throughput no longer follows their number). The load doubles while one
//! generator's runs are valid, the interval is halved, and what is left is compared with two generators;
//! where they differ, less is compared. All runs are short: the answer is good to about the last step.

use crate::trial::Stop;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Throughputs of one and of two generators that are the same differ by at most so much.
const SAME_RATE: f64 = 0.03;
/// Medians of such generators' response times differ by at most this factor, or by [`SAME_MEDIAN_NS`].
const SAME_MEDIAN: f64 = 1.25;
/// Nanoseconds by which such medians may differ, which are below what a busy machine moves them by.
const SAME_MEDIAN_NS: f64 = 100_000.0;
/// A percentile of one second varies more: the p99 of two generators is shorter if one's is by this factor
/// as long, and longer by [`LONGER_P99_NS`].
const LONGER_P99: f64 = 2.0;
/// Nanoseconds by which one p99 must also be longer than the other.
const LONGER_P99_NS: f64 = 1_000_000.0;
/// The interval between a load that one generator offers and one that it does not is halved until the upper
/// is above the lower by this share.
const WIDTH: f64 = 0.15;
/// Loads at most: from one a second on, far more than any machine offers.
const LOADS_MAX: usize = 40;
/// A generator is called full where so many checks in a row find it.
const TIMES: u32 = 3;
/// Attempts at a load that something disturbs, at most.
const ATTEMPTS: usize = 8;
/// The lowest load that is offered, as a share of the first.
const LOWEST: f64 = 1.0 / 64.0;
/// A load that both do not agree on is lowered by this factor.
const LOWER: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// A load that generators offered together, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// The load of all of them.
    pub load: f64,
    /// Generators that shared it.
    pub generators: u32,
    /// Why a run of theirs is not valid; null if all are.
    pub cause: Option<String>,
    /// True if that is the server's doing: it was full before the generator.
    pub by_server: bool,
    /// True if something else disturbed a run, which says nothing of the load.
    pub disturbed: bool,
    /// Requests that were due a second, of all of them, where these come by themselves; null where users wait
    /// for replies.
    #[serde(default)]
    pub due_per_s: Option<f64>,
    /// Whole replies a second, of all of them.
    pub replies_per_s: f64,
    /// The median response time, of several generators the highest; null if there is none.
    pub median_ns: Option<f64>,
    /// The 99th percentile, of several generators the highest; null if there is none.
    #[serde(default)]
    pub p99_ns: Option<f64>,
    /// Seconds that it took.
    pub took_s: f64,
}

impl Offered {
    /// True if this is a better result than another: more of what was due is answered, or sooner, in the
    /// median or in the p99.
    fn is_better_than(&self, other: &Offered) -> bool {
        let answered = |offered: &Offered| offered.due_per_s.map(|due| offered.replies_per_s / due);
        let more = match answered(self).zip(answered(other)) {
            Some((own, others)) => own > others * (1.0 + SAME_RATE),
            None => self.replies_per_s > other.replies_per_s * (1.0 + SAME_RATE),
        };
        let sooner = self
            .median_ns
            .zip(other.median_ns)
            .is_some_and(|(own, others)| others - own > SAME_MEDIAN_NS && others / own > SAME_MEDIAN);
        let shorter = self
            .p99_ns
            .zip(other.p99_ns)
            .is_some_and(|(own, others)| others - own > LONGER_P99_NS && others / own > LONGER_P99);
        more || sooner || shorter
    }

    fn is_same(&self, other: &Offered) -> bool {
        let near = |one: f64, two: f64| (one / two - 1.0).abs() <= SAME_RATE;
        // In one second more are due than in another, which is not the generator's doing.
        let rates = match self.due_per_s.zip(other.due_per_s) {
            Some((one, two)) => near(self.replies_per_s / one, other.replies_per_s / two),
            None => near(self.replies_per_s, other.replies_per_s),
        };
        let medians = self.median_ns.zip(other.median_ns).is_none_or(|(one, two)| {
            (one - two).abs() <= SAME_MEDIAN_NS || (one / two).max(two / one) <= SAME_MEDIAN
        });
        rates && medians
    }
}

/// Makes runs by one or more generators at once.
pub trait Generators {
    /// Offers a load by so many generators together.
    ///
    /// # Errors
    /// If it was interrupted, or a run could not be made.
    fn offer(&mut self, load: f64, generators: u32) -> Result<Offered, Stop>;
}

/// The limit of a generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitReport {
    /// The highest load at which one generator and two get the same; null if none was found.
    pub load: Option<f64>,
    /// Why no more, as a clause.
    pub because: String,
    /// All that was offered, in order.
    pub offered: Vec<Offered>,
}

/// Finds the limit from the load `from` up, in about `budget_s` seconds; `rounded` makes a load one that can
/// be offered.
///
/// # Errors
/// If it was interrupted, or a run could not be made.
pub fn limit(
    from: f64,
    budget_s: f64,
    rounded: &dyn Fn(f64) -> f64,
    generators: &mut dyn Generators,
) -> Result<LimitReport, Stop> {
    let mut search = LimitSearch { budget_s, generators, offered: Vec::new() };
    let (kept, because) = search.alone(from, rounded)?;
    let Some(mut kept) = kept else {
        return Ok(LimitReport { load: None, because, offered: search.offered });
    };
    let mut because = because;
    loop {
        let two = search.offer(kept.load, 2)?;
        if two.cause.is_none() && kept.is_same(&two) {
            return Ok(LimitReport { load: Some(kept.load), because, offered: search.offered });
        }
        because = match &two.cause {
            Some(cause) => format!("two generators are not valid there ({cause})"),
            None => "two generators get another result than one".to_owned(),
        };
        let lower = rounded(kept.load * LOWER);
        if two.disturbed || search.is_over() || lower >= kept.load || search.offered.len() >= LOADS_MAX {
            return Ok(LimitReport { load: None, because, offered: search.offered });
        }
        kept = search.offer(lower, 1)?;
        if let (Some(cause), true) = (&kept.cause, kept.disturbed) {
            because = format!("runs are disturbed ({cause}): measure when the machine is quiet");
            return Ok(LimitReport { load: None, because, offered: search.offered });
        }
    }
}

/// A load at which one generator is held against two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorCheck {
    /// The load; null if none was offered.
    pub load: Option<f64>,
    /// True if two generators get the same there as one; null where that is not known.
    pub is_same: Option<bool>,
    /// Why they do not, or why it is not known, as a clause; null where they get the same.
    pub because: Option<String>,
}

impl GeneratorCheck {
    /// The check of a search whose generator was not checked.
    pub fn not_made(because: &str) -> GeneratorCheck {
        GeneratorCheck { load: None, is_same: None, because: Some(because.to_owned()) }
    }
}

/// Holds one generator against two at a load, in about `budget_s` seconds, and again where two do better:
/// only a difference that comes back is one.
///
/// # Errors
/// If it was interrupted, or a run could not be made.
pub fn check(load: f64, budget_s: f64, generators: &mut dyn Generators) -> Result<GeneratorCheck, Stop> {
    let mut found = check_once(load, budget_s, generators)?;
    for _ in 1..TIMES {
        if found.is_same != Some(false) {
            break;
        }
        found = check_once(load, budget_s, generators)?;
    }
    Ok(found)
}

fn check_once(load: f64, budget_s: f64, generators: &mut dyn Generators) -> Result<GeneratorCheck, Stop> {
    let mut search = LimitSearch { budget_s, generators, offered: Vec::new() };
    let known = |is_same: Option<bool>, because: Option<String>| GeneratorCheck {
        load: Some(load),
        is_same,
        because,
    };
    let one = search.offer(load, 1)?;
    let two = if one.cause.is_some() { None } else { Some(search.offer(load, 2)?) };
    let failed = [Some(&one), two.as_ref()].into_iter().flatten().find_map(|offered| {
        let cause = offered.cause.as_ref()?;
        Some((cause, offered.by_server, offered.disturbed, offered.generators))
    });
    Ok(match failed {
        Some((cause, _, true, _)) => known(None, Some(format!("its runs were disturbed ({cause})"))),
        Some((cause, true, _, _)) => {
            known(None, Some(format!("farfield's own server was full before it ({cause})")))
        }
        // Two share this machine, and may be full where one is not.
        Some((cause, _, _, 2)) => known(None, Some(format!("two of them are full ({cause})"))),
        Some((cause, ..)) => known(Some(false), Some(format!("it was full ({cause})"))),
        None if two.as_ref().is_some_and(|two| two.is_better_than(&one)) => {
            known(Some(false), Some("two generators get a better result than one".to_owned()))
        }
        None if two.as_ref().is_some_and(|two| two.is_same(&one)) => known(Some(true), None),
        // They say nothing of one then.
        None => known(None, Some("two of them get less here, where they are in each other's way".to_owned())),
    })
}

struct LimitSearch<'a> {
    budget_s: f64,
    generators: &'a mut dyn Generators,
    offered: Vec<Offered>,
}

impl LimitSearch<'_> {
    /// The highest load that one generator offers validly, and why no more.
    fn alone(&mut self, from: f64, rounded: &dyn Fn(f64) -> f64) -> Result<(Option<Offered>, String), Stop> {
        let (mut kept, mut load): (Option<Offered>, f64) = (None, rounded(from));
        let mut above: Option<f64> = None;
        let mut because = "the time was over".to_owned();
        // Half of the time is for the comparison.
        while !self.is_half_over() && self.offered.len() < LOADS_MAX {
            let one = self.offer(load, 1)?;
            match &one.cause {
                Some(cause) if one.disturbed => {
                    return Ok((
                        None,
                        format!("runs are disturbed ({cause}): measure when the machine is quiet"),
                    ));
                }
                None => kept = Some(one),
                Some(cause) => {
                    because = match one.by_server {
                        true => format!("farfield's own server was full ({cause})"),
                        false => format!("the generator was full ({cause})"),
                    };
                    above = Some(load);
                }
            }
            let next = match (&kept, above) {
                (Some(kept), Some(above)) if above <= kept.load * (1.0 + WIDTH) => break,
                (Some(kept), Some(above)) => rounded((kept.load * above).sqrt()),
                (Some(kept), None) => rounded(kept.load * 2.0),
                (None, _) => rounded(load / 2.0),
            };
            if next < from * LOWEST {
                break;
            }
            let is_known = self.offered.iter().any(|offered| offered.load == next);
            if is_known {
                break;
            }
            load = next;
        }
        Ok((kept, because))
    }

    fn offer(&mut self, load: f64, generators: u32) -> Result<Offered, Stop> {
        let mut attempt = 1;
        loop {
            let offered = self.generators.offer(load, generators)?;
            self.offered.push(offered.clone());
            if !offered.disturbed || attempt >= ATTEMPTS || self.is_over() {
                return Ok(offered);
            }
            attempt += 1;
        }
    }

    fn spent_s(&self) -> f64 {
        self.offered.iter().map(|offered| offered.took_s).sum()
    }

    fn is_half_over(&self) -> bool {
        self.spent_s() > self.budget_s / 2.0
    }

    fn is_over(&self) -> bool {
        let longest = self.offered.iter().map(|offered| offered.took_s).fold(0.0, f64::max);
        self.spent_s() + 2.0 * longest > self.budget_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator that is valid up to one load, and late from another on.
    struct Made {
        valid_to: f64,
        true_to: f64,
        server: f64,
        /// The generator's p99 is longer from this load on.
        late_from: f64,
    }

    impl Generators for Made {
        fn offer(&mut self, load: f64, generators: u32) -> Result<Offered, Stop> {
            let each = load / f64::from(generators);
            let by_server = load > self.server;
            let full = each > self.valid_to || by_server;
            Ok(Offered {
                load,
                generators,
                cause: full.then(|| "worker-cpu".to_owned()),
                by_server,
                disturbed: false,
                due_per_s: None,
                replies_per_s: load.min(self.true_to * f64::from(generators)),
                median_ns: Some(if each > self.true_to { 2e6 } else { 1e6 }),
                p99_ns: Some(if each > self.late_from { 9e6 } else { 2e6 }),
                took_s: 1.0,
            })
        }
    }

    fn found(made: Made) -> LimitReport {
        limit(1000.0, 40.0, &|load| load.round(), &mut { made }).expect("a limit")
    }

    /// A generator that is valid beyond what it can do is found out by two.
    #[test]
    fn the_limit_is_where_two_generators_differ_from_one() {
        let honest = found(Made { valid_to: 30e3, true_to: 31e3, server: 1e6, late_from: 1e9 });
        let load = honest.load.expect("a limit");
        assert!((25e3..=30e3).contains(&load), "{honest:?}");
        assert_eq!(honest.because, "the generator was full (worker-cpu)");
        let late = found(Made { valid_to: 30e3, true_to: 12e3, server: 1e6, late_from: 1e9 });
        let load = late.load.expect("a limit");
        assert!((8e3..=12e3).contains(&load), "{late:?}");
        assert_eq!(late.because, "two generators get another result than one");
        assert!(late.offered.iter().map(|offered| offered.took_s).sum::<f64>() <= 40.0);
    }

    #[test]
    fn a_load_is_checked_by_two() {
        let honest = || Made { valid_to: 30e3, true_to: 31e3, server: 1e6, late_from: 1e9 };
        let at = |load: f64, mut made: Made| check(load, 10.0, &mut made).expect("a check");
        let same = GeneratorCheck { load: Some(4000.0), is_same: Some(true), because: None };
        assert_eq!(at(4000.0, honest()), same);
        let full = at(40e3, honest());
        assert_eq!((full.is_same, full.because.as_deref()), (Some(false), Some("it was full (worker-cpu)")));
        let late = at(20e3, Made { true_to: 12e3, ..honest() });
        assert_eq!(late.because.as_deref(), Some("two generators get a better result than one"));
        let tail = at(4000.0, Made { late_from: 3000.0, ..honest() });
        assert_eq!(tail.because.as_deref(), Some("two generators get a better result than one"));
        let server = at(4000.0, Made { server: 1e3, ..honest() });
        assert_eq!(server.is_same, None, "{server:?}");
    }

    /// A generator that is slow in one check of two is not full; beside two that are slower, nothing is known
    /// of one.
    #[test]
    fn a_difference_that_does_not_come_back_is_none() {
        struct Once(u32, f64);
        impl Generators for Once {
            fn offer(&mut self, load: f64, generators: u32) -> Result<Offered, Stop> {
                self.0 += 1;
                let offered = Made { valid_to: 1e6, true_to: 1e6, server: 1e6, late_from: 1e9 }
                    .offer(load, generators)?;
                let slowed = if self.0 == 1 { 1.0 } else { self.1 };
                Ok(Offered { replies_per_s: load / 2.0_f64.powf(slowed), ..offered })
            }
        }
        let checked = |later| check(100.0, 10.0, &mut Once(0, later)).expect("a check").is_same;
        assert_eq!([checked(0.0), checked(2.0)], [Some(true), None]);
    }

    /// Arrivals that differ by a tenth from second to second are all answered.
    #[test]
    fn arrivals_that_vary_are_no_difference() {
        let one = Offered {
            load: 100.0,
            generators: 1,
            cause: None,
            by_server: false,
            disturbed: false,
            due_per_s: Some(95.0),
            replies_per_s: 95.0,
            median_ns: Some(1e6),
            p99_ns: Some(2e6),
            took_s: 1.0,
        };
        let two = Offered { due_per_s: Some(105.0), replies_per_s: 105.0, ..one.clone() };
        assert!(one.is_same(&two));
        assert!(!one.is_same(&Offered { replies_per_s: 95.0, ..two.clone() }));
        let users = |offered: Offered| Offered { due_per_s: None, ..offered };
        assert!(!users(one).is_same(&users(two)));
    }

    #[test]
    fn what_is_no_limit_of_the_generator_is_said() {
        let server = found(Made { valid_to: 1e6, true_to: 1e6, server: 5e3, late_from: 1e9 });
        assert!((4e3..=5e3).contains(&server.load.expect("a load")), "{server:?}");
        assert_eq!(server.because, "farfield's own server was full (worker-cpu)");
        let never = found(Made { valid_to: 0.0, true_to: 1.0, server: 1e6, late_from: 1e9 });
        assert_eq!(never.load, None);
        struct Disturbed;
        impl Generators for Disturbed {
            fn offer(&mut self, load: f64, generators: u32) -> Result<Offered, Stop> {
                let offered = Made { valid_to: 0.0, true_to: 1.0, server: 1e6, late_from: 1e9 }
                    .offer(load, generators)?;
                Ok(Offered { disturbed: true, ..offered })
            }
        }
        let disturbed = limit(1000.0, 40.0, &|load| load, &mut Disturbed).expect("a report");
        assert_eq!((disturbed.load, disturbed.offered.len()), (None, ATTEMPTS));
        assert!(disturbed.because.contains("when the machine is quiet"), "{}", disturbed.because);
        // The time is over long before a load that never ends.
        let endless = found(Made {
            valid_to: f64::INFINITY,
            true_to: f64::INFINITY,
            server: f64::INFINITY,
            late_from: 1e9,
        });
        assert!(endless.offered.len() <= 40 && endless.because == "the time was over", "{endless:?}");
    }
}
