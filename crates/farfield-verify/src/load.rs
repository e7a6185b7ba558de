//! Demands of the scenario on its users, against what the packets show: arrivals, think times, lengths of
//! sessions, and the mix of requests.
//!
//! The arrivals that were asked for are drawn again from the scenario's seed, so that each is known to the
//! nanosecond without a look at the samples. A `due` that is another instant was moved: a generator that
//! takes the instant of sending for the instant at which a request was due omits the waits of its users
//! (coordinated omission). The gaps between the first packets of arrivals are tested as well: with the rate
//! integrated over each, those of a Poisson process are exponential with mean 1, for which the statistic of
//! Anderson and Darling has known percentiles (D'Agostino and Stephens 1986, table 4.2), and independent.
//!
//! Think times run from the last packet of a page's last reply to the first packet of the user's next page.

use crate::distribution::{Distribution, distance};
use crate::errors::Sides;
use crate::run::{AskedFlow, FlowPlace, ScenarioDemands};
use crate::times::is_answered;
use farfield_base::random::{Purpose, Seed};
use farfield_base::{Instant, PagePart, Sample};
use farfield_fit::points::Points;
use farfield_fit::series::{autocorrelation, white_noise_band};
use farfield_traffic::distribution::{Component, Family, Model};
use farfield_traffic::{ArrivalProcess, Distribution as Asking, LoadModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Gaps that are tested at most: with more, differences of no consequence are significant.
const GAPS_TESTED: usize = 2_000;
/// Lags of the autocorrelation.
const LAGS: usize = 10;
/// Draws from a distribution that was asked for.
const DRAWS: usize = 5_000;

/// The arrivals of an open or hybrid load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalStats {
    /// Arrivals in the measured part, drawn again from the seed.
    pub asked: u64,
    /// Arrivals of `asked` whose first packet is in the capture.
    pub begun: u64,
    /// Samples of the measured part that begin an arrival, and have another `due` than was asked for.
    pub due_moved: u64,
    /// By how much `due` was moved in the mean of these, in nanoseconds; positive for later.
    pub due_moved_mean_ns: Option<f64>,
    /// Samples of `due_moved` that were due before the instant that was asked for.
    pub due_earlier: u64,
    /// Samples of `due_moved` whose `due` is the instant at which they were begun.
    pub due_is_begin: u64,
    /// First packets of arrivals, after the instants that were asked for, in the run's time.
    pub lateness: Distribution,
    /// Response times from the instants that were asked for to the last packets of replies: what users
    /// waited.
    pub response: Distribution,
    /// The gaps between the instants that were asked for, in the measured part: what the scenario's own
    /// process drew.
    pub asked_gaps: Option<GapStats>,
    /// The gaps between first packets; null where the capture lacks more than 1 % of the arrivals.
    pub gaps: Option<GapStats>,
}

/// Gaps between arrivals, in units of the mean that was asked for then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GapStats {
    /// Gaps that were tested: at most 2,000 in a row from the beginning of the measured part.
    pub count: u64,
    /// The mean gap: 1 at the rate that was asked for.
    pub mean: f64,
    /// The coefficient of variation of the gaps: 1 for a Poisson process.
    pub variation: f64,
    /// Anderson and Darling's A² against the exponential distribution with mean 1; null where the process
    /// that was asked for is not Poisson. Above 2.492 once in 20, above 6.0 once in 1,000.
    pub anderson_darling: Option<f64>,
    /// The largest distance of the distribution functions; null likewise.
    pub distance: Option<f64>,
    /// Autocorrelation at lags 1 to 10; where a Poisson process was asked for, that of the share of shorter
    /// gaps.
    pub autocorrelation: Vec<f64>,
    /// 19 of 20 autocorrelations of independent gaps lie within plus or minus this.
    pub autocorrelation_band: f64,
}

/// A quantity that was asked for as a distribution, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskedQuantity {
    /// The mean that was asked for; null if it is infinite.
    pub asked_mean: Option<f64>,
    /// Number of values by the packets.
    pub count: u64,
    /// The mean of the values; null without values. In nanoseconds for times.
    pub mean: Option<f64>,
    /// The standard error of the mean; null for fewer than two values.
    pub standard_error: Option<f64>,
    /// The largest distance of the distribution functions of what was found and of 5,000 draws; null where
    /// what was asked for is one value.
    pub distance: Option<f64>,
}

/// Measurements of the load of all users, or of those of one flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundLoad {
    /// Arrivals; null for loads without.
    pub arrivals: Option<ArrivalStats>,
    /// Think times in nanoseconds; null where they are not judged.
    pub think_times: Option<AskedQuantity>,
    /// Pages of sessions; null where they are not judged.
    pub session_lengths: Option<AskedQuantity>,
    /// Shares of requests.
    pub mix: Vec<RequestShare>,
}

/// Measurements of the load of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowLoad {
    /// The flow's name.
    pub name: String,
    /// The flow's load.
    #[serde(flatten)]
    pub load: FoundLoad,
}

/// A flow with its place in the samples, held against these and the packets.
#[derive(Debug, Clone, Copy)]
struct JudgedFlow<'a> {
    sides: Sides<'a>,
    asked: &'a ScenarioDemands,
    flow: &'a AskedFlow,
    place: FlowPlace,
}

/// The load of all users where they are of one flow, else that of each.
pub(crate) fn found(sides: Sides<'_>, asked: Option<&ScenarioDemands>) -> (FoundLoad, Vec<FlowLoad>) {
    let Some(asked) = asked else {
        let mix = mix(sides, FlowPlace::WHOLE, &[]);
        return (FoundLoad { mix, ..FoundLoad::default() }, Vec::new());
    };
    let of_flow = |(flow, place)| {
        let held = JudgedFlow { sides, asked, flow, place };
        let load = FoundLoad {
            arrivals: arrivals(held),
            think_times: think_times(held),
            session_lengths: session_lengths(held),
            mix: mix(sides, place, &flow.mix),
        };
        FlowLoad { name: flow.name.clone(), load }
    };
    let mut found: Vec<FlowLoad> = asked.flows.iter().zip(asked.places()).map(of_flow).collect();
    match &found[..] {
        [only] if only.name.is_empty() => (found.remove(0).load, Vec::new()),
        _ => (FoundLoad::default(), found),
    }
}

/// The first request of each arrival: the index of its sample, by the arrival's number.
fn firsts(samples: &[Sample], place: FlowPlace) -> BTreeMap<u32, usize> {
    let mut firsts: BTreeMap<u32, usize> = BTreeMap::new();
    for (at, sample) in samples.iter().enumerate().filter(|(_, sample)| place.has(sample.request)) {
        let first = firsts.entry(sample.user.wrapping_sub(place.first_user)).or_insert(at);
        if sample.due < samples[*first].due {
            *first = at;
        }
    }
    firsts
}

/// The arrivals; `None` for loads without.
fn arrivals(JudgedFlow { sides, asked, flow, place }: JudgedFlow<'_>) -> Option<ArrivalStats> {
    let (LoadModel::Open { arrivals: process, .. } | LoadModel::Hybrid { arrivals: process, .. }) =
        &flow.load
    else {
        return None;
    };
    let end = sides.run.end;
    let drawn = process.start(asked.seed_of(flow).stream(Purpose::Arrivals, 0));
    let schedule: Vec<Instant> = drawn.take_while(|at| *at < end).collect();
    let measured = |at: Instant| sides.is_measured(at.as_ns() as i64);
    let mut stats = ArrivalStats {
        asked: schedule.iter().filter(|at| measured(**at)).count() as u64,
        ..Default::default()
    };
    let transactions: BTreeMap<u32, u32> =
        sides.matching.pairs.iter().map(|pair| (pair.sample, pair.transaction)).collect();
    let (mut lateness, mut response, mut acts, mut moved) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
    for (number, at) in firsts(sides.samples, place) {
        let sample = &sides.samples[at];
        let Some(asked_at) = schedule.get(number as usize).filter(|at| measured(**at)) else { continue };
        if sample.due != *asked_at {
            stats.due_moved += 1;
            moved += sample.due.as_ns() as f64 - asked_at.as_ns() as f64;
            stats.due_earlier += u64::from(sample.due < *asked_at);
            stats.due_is_begin += u64::from(sample.begun() == Some(sample.due));
        }
        let Some(transaction) = transactions.get(&(at as u32)) else { continue };
        let transaction = &sides.capture.transactions[*transaction as usize];
        let connection = &sides.capture.connections[transaction.connection as usize];
        let opens = sample.connect_begun.instant().and(connection.syn);
        let act = sides.frame.run_ns(opens.unwrap_or(transaction.request_first));
        acts.push(act);
        lateness.push(act - asked_at.as_ns() as i64);
        if let Some(last) = transaction.reply_last.filter(|_| is_answered(sample.outcome)) {
            response.push(sides.frame.run_ns(last) - asked_at.as_ns() as i64);
        }
    }
    stats.begun = acts.len() as u64;
    stats.due_moved_mean_ns = (stats.due_moved > 0).then(|| moved / stats.due_moved as f64);
    [&mut lateness, &mut response, &mut acts].into_iter().for_each(|values| values.sort_unstable());
    stats.lateness = Distribution::of_sorted(&lateness);
    stats.response = Distribution::of_sorted(&response);
    let asked: Vec<i64> = schedule.iter().filter(|at| measured(**at)).map(|at| at.as_ns() as i64).collect();
    stats.asked_gaps = gaps(process, &asked);
    // Of a part of the arrivals the gaps are others.
    stats.gaps = gaps(process, &acts).filter(|_| stats.begun * 100 >= stats.asked * 99);
    Some(stats)
}

/// The gaps between `acts`, instants in order, in units of the rate that `process` has then.
fn gaps(process: &ArrivalProcess, acts: &[i64]) -> Option<GapStats> {
    let instant = |ns: i64| Instant::from_ns(ns.max(0) as u64);
    let pairs = acts.windows(2).take(GAPS_TESTED);
    let gaps: Option<Vec<f64>> =
        pairs.map(|pair| process.expected(instant(pair[0]), instant(pair[1]))).collect();
    let gaps = gaps.filter(|gaps| gaps.len() >= 2 * LAGS)?;
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Two long gaps of few would decide the correlation of exponential ones; their shares are uniform.
    let share = |gap: &f64| if process.is_poisson() { 1.0 - (-gap).exp() } else { *gap };
    let shares: Vec<f64> = gaps.iter().map(share).collect();
    let correlated = autocorrelation(&shares, LAGS).map(|lags| lags[1..].to_vec()).unwrap_or_default();
    let tested = process.is_poisson().then(|| Points::new(gaps.clone()).ok()).flatten().map(|points| {
        let model = Model::single(Component::known(Family::Exponential, [1.0, 0.0]));
        farfield_fit::goodness::goodness(&model, &points)
    });
    Some(GapStats {
        count: gaps.len() as u64,
        mean,
        variation: variance.sqrt() / mean,
        anderson_darling: tested.map(|tested| tested.anderson_darling),
        distance: tested.map(|tested| tested.kolmogorov_smirnov),
        autocorrelation: correlated,
        autocorrelation_band: white_noise_band(gaps.len()),
    })
}

/// Think times in nanoseconds; `None` where the scenario has none of its own kind, and where the measured
/// part is shorter than ten of them, so that only short ones would be seen, or packets were captured far
/// from the users.
fn think_times(held: JudgedFlow<'_>) -> Option<AskedQuantity> {
    let JudgedFlow { sides, asked, flow, place } = held;
    let (LoadModel::Closed { think, .. } | LoadModel::Hybrid { think, .. }) = &flow.load else {
        return None;
    };
    let window = sides.run.window;
    let mean_ns = think.mean() * 1e9;
    let length = window.measure_to.min(sides.run.end).since(window.measure_from).as_ns() as f64;
    if sides.matching.at_gateway || flow.own_sessions || asked.policy.depth > 1 || mean_ns * 10.0 > length {
        return None;
    }
    // Think times that began later than this may not have ended in the run.
    let until = window.measure_to.min(sides.run.end).as_ns() as f64 - 5.0 * mean_ns;
    let stays = |user: u32, ended: i64| {
        let LoadModel::Closed { stages: Some(stages), .. } = &flow.load else { return true };
        // Users whose stage is over leave while they think.
        let at = Instant::from_ns(ended.max(0) as u64);
        let leaves =
            stages.course.stay(user.wrapping_sub(place.first_user), at).map_or(at, |stay| stay.until);
        ended as f64 + 5.0 * mean_ns < leaves.as_ns() as f64
    };
    let found = thought(held, window.measure_from.as_ns() as i64, until as i64, &stays);
    let found: Vec<f64> = found.into_iter().map(|ns| ns as f64).collect();
    Some(quantity(think, found, 1e9))
}

/// Times between the pages of each user whose beginning lies between two instants, by the packets, and of
/// which it is known by the user and that beginning that the user `stays`.
fn thought(
    JudgedFlow { sides, place, .. }: JudgedFlow<'_>,
    from: i64,
    until: i64,
    stays: &dyn Fn(u32, i64) -> bool,
) -> Vec<i64> {
    let sample = |at: u32| &sides.samples[at as usize];
    let pairs = sides.matching.pairs.iter().filter(|pair| place.has(sample(pair.sample).request));
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by_key(|pair| (sample(pair.sample).user, sample(pair.sample).due));
    let mut found = Vec::new();
    for of_user in pairs.chunk_by(|a, b| sample(a.sample).user == sample(b.sample).user) {
        let mut page_end = None::<i64>;
        for pair in of_user {
            let sample = sample(pair.sample);
            let transaction = &sides.capture.transactions[pair.transaction as usize];
            let connection = &sides.capture.connections[transaction.connection as usize];
            let is_page = matches!(sample.page, PagePart::Untracked | PagePart::Whole);
            if is_page || sample.page.begins() {
                let opens = sample.connect_begun.instant().and(connection.syn);
                let begins = sides.frame.run_ns(opens.unwrap_or(transaction.request_first));
                let ended = page_end.take().filter(|end| (from..until).contains(end));
                let ended = ended.filter(|end| stays(sample.user, *end));
                found.extend(ended.map(|end| begins - end));
            }
            let ends = is_page || sample.page.ends();
            let last = transaction.reply_last.filter(|_| ends && is_answered(sample.outcome));
            if ends {
                page_end = last.map(|at| sides.frame.run_ns(at));
            }
        }
    }
    found
}

/// Pages of each session that began early enough to have ended; `None` where the scenario has none of its
/// own kind.
fn session_lengths(JudgedFlow { sides, flow, place, .. }: JudgedFlow<'_>) -> Option<AskedQuantity> {
    let LoadModel::Hybrid { requests, think, .. } = &flow.load else { return None };
    if flow.own_sessions {
        return None;
    }
    let window = sides.run.window;
    let slack = 5.0 * requests.mean() * (think.mean() * 1e9 + 1e8);
    let until = window.measure_to.min(sides.run.end).as_ns() as f64 - slack;
    let mut pages: BTreeMap<u32, (Instant, u64)> = BTreeMap::new();
    for pair in &sides.matching.pairs {
        let sample = &sides.samples[pair.sample as usize];
        let begins = sample.page == PagePart::Untracked || sample.page.begins();
        if begins && place.has(sample.request) {
            let session = pages.entry(sample.user).or_insert((sample.due, 0));
            *session = (session.0.min(sample.due), session.1 + 1);
        }
    }
    let early =
        pages.into_values().filter(|(from, _)| *from >= window.measure_from && (from.as_ns() as f64) < until);
    let lengths: Vec<f64> = early.map(|(_, pages)| pages as f64).collect();
    (!lengths.is_empty()).then(|| quantity(requests, lengths, 1.0))
}

/// `found` beside `asked`, whose draws are multiplied by `unit`.
fn quantity(asked: &Asking, mut found: Vec<f64>, unit: f64) -> AskedQuantity {
    let n = found.len() as f64;
    let mean = (n > 0.0).then(|| found.iter().sum::<f64>() / n);
    let error = mean.filter(|_| n > 1.0).map(|mean| {
        let variance = found.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (variance / n).sqrt()
    });
    let mut rng = Seed(1).stream(Purpose::User, 0);
    let whole = unit == 1.0;
    let mut draw = || if whole { asked.sample_count(&mut rng) as f64 } else { asked.sample(&mut rng) * unit };
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    drawn.sort_unstable_by(f64::total_cmp);
    found.sort_unstable_by(f64::total_cmp);
    let varies = asked.variance() > 0.0;
    AskedQuantity {
        asked_mean: Some(asked.mean() * unit).filter(|mean| mean.is_finite()),
        count: found.len() as u64,
        mean,
        standard_error: error,
        distance: varies.then(|| distance(&found, &drawn)).flatten(),
    }
}

/// A request of the request set: its share by samples and by packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestShare {
    /// The request's index in the scenario.
    pub request: u32,
    /// The target that most of its packets have.
    pub target: String,
    /// Matched requests of it.
    pub count: u64,
    /// Matched requests with another target.
    pub other_targets: u64,
    /// Share of the matched requests.
    pub share: f64,
    /// The share that was asked for, if it is known.
    pub asked: Option<f64>,
}

/// Requests that have a row of their own.
const REQUESTS: usize = 1_000;

/// The mix of requests, those of the lowest index first; at most 1,000 of them.
fn mix(sides: Sides<'_>, place: FlowPlace, asked: &[f64]) -> Vec<RequestShare> {
    let mut targets: BTreeMap<u32, BTreeMap<&str, u64>> = BTreeMap::new();
    let mut all: u64 = 0;
    for pair in &sides.matching.pairs {
        let request = sides.samples[pair.sample as usize].request;
        if !place.has(request) {
            continue;
        }
        all += 1;
        let target = sides.capture.transactions[pair.transaction as usize].target.as_str();
        if targets.len() < REQUESTS || targets.contains_key(&request) {
            *targets.entry(request).or_default().entry(target).or_default() += 1;
        }
    }
    let all = all.max(1) as f64;
    let share = |(request, targets): (u32, BTreeMap<&str, u64>)| {
        let count: u64 = targets.values().sum();
        let (target, most) = targets.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
        RequestShare {
            request,
            target: target.to_owned(),
            count,
            other_targets: count - most,
            share: count as f64 / all,
            asked: asked.get((request - place.first_request) as usize).copied(),
        }
    };
    targets.into_iter().map(share).collect()
}
