//! Results of a fit in one value: variables with their distributions, sessions, crawlers,
//! popularity, locality and the site. It serializes, and every distribution in it is one that a scenario
//! takes.

mod gathered;
mod variables;

use crate::arrivals::{SessionArrivals, logged_gaps, spread};
use crate::counts::{Counting, RequestCounts};
use crate::crawler::{CrawlerSigns, CrawlerTally, Crawlers, VisitorShares};
use crate::observation::Observation;
use crate::popularity::Popularity;
use crate::process::{SessionProcess, shuffle};
use crate::ranking::{Candidate, Ranking, Trials};
use crate::robust::RobustFit;
use crate::session::{SessionEvent, Thresholds, Walker};
use crate::site::FittedSite;
use crate::visits::{TargetTally, Visit, Visits};
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Duration, Instant};
use farfield_log::ReadTally;
use farfield_log::dates::LogDates;
use gathered::RequestWalk;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use variables::operational;

/// Settings of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct FitSettings {
    /// Bounds of a session.
    pub thresholds: Thresholds,
    /// Signs of a crawler.
    pub crawlers: CrawlerSigns,
    /// Distributions to try.
    pub trials: Trials,
    /// At most so many values of a variable are kept, a fair choice of them.
    pub values: usize,
    /// Objects of the site in the report, at most.
    pub objects: usize,
    /// Seed of every random choice.
    pub seed: Seed,
}

impl Default for FitSettings {
    /// The paper's thresholds, all distributions, 100,000 values, 5,000 objects.
    fn default() -> FitSettings {
        FitSettings {
            thresholds: Thresholds::default(),
            crawlers: CrawlerSigns::default(),
            trials: Trials::default(),
            values: 100_000,
            objects: 5_000,
            seed: Seed(1),
        }
    }
}

/// Results of fitting a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitReport {
    /// Counts of the lines.
    pub read: ReadTally,
    /// Requests that came after a limit of memory, and are in nothing below.
    pub left_out: u64,
    /// Lines without a target, which are no requests either, and queries that paths have lost.
    #[serde(default)]
    pub targets: TargetTally,
    /// Time from the first to the last request.
    pub covers: Duration,
    /// First and last date, order and silences.
    #[serde(default)]
    pub dates: LogDates,
    /// The log's clock ticks in whole seconds.
    pub whole_seconds: bool,
    /// Visitors that are no users.
    pub crawlers: CrawlerTally,
    /// Shares of the requests of those who may be.
    #[serde(default)]
    pub shares: VisitorShares,
    /// The thresholds that sessions below were made with.
    pub thresholds: Thresholds,
    /// Totals with other thresholds.
    pub sensitivity: Vec<Sensitivity>,
    /// Tests of sessions' arrivals as a Poisson or another renewal process; none with too few of them.
    pub arrivals: Option<SessionArrivals>,
    /// Sessions that the thresholds may have made of one.
    #[serde(default)]
    pub cut: CutSessions,
    /// The process of the sessions, by their dispersion at one time scale after another; none with too few of
    /// them.
    #[serde(default)]
    pub process: Option<SessionProcess>,
    /// Sessions that began in each of some equal parts of the log, about 100 in each; empty with too few of
    /// them.
    #[serde(default)]
    pub course: Vec<u64>,
    /// Gaps between sessions in operational time, where their rate is one along the course: what `--course`
    /// generates with if they are no Poisson process. In units of their mean.
    #[serde(default)]
    pub operational: Option<VariableFit>,
    /// Users' requests by slot of time; none for a log that covers too little.
    pub counts: Option<RequestCounts>,
    /// The variables of the traffic model that the log has.
    pub variables: Vec<VariableFit>,
    /// Variables with one value only, to which nothing is fitted.
    #[serde(default)]
    pub constants: Vec<ConstantVariable>,
    /// Shares of requests among objects.
    pub popularity: Popularity,
    /// The share of users' requests whose object had been asked for before.
    pub repeated: f64,
    /// Objects, pages, starts and routes.
    pub site: FittedSite,
}

/// Sessions that began after a silence of their visitor that is not much longer than the upper threshold,
/// up to three times as long: a session that was cut in two, or another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CutSessions {
    /// Number of sessions.
    pub sessions: u64,
    /// The process of arrivals, and their gaps, are those of the other sessions: where they are few.
    pub left_out: bool,
}

/// Totals of the log with one pair of thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sensitivity {
    /// The thresholds.
    pub thresholds: Thresholds,
    /// Sessions.
    pub sessions: u64,
    /// Clicks a session.
    pub clicks_mean: f64,
    /// Mean think time.
    pub think_mean: Duration,
    /// Embedded objects a page.
    pub embedded_mean: f64,
}

/// A variable of the traffic model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variable {
    /// Seconds between the starts of sessions.
    SessionGap,
    /// Clicks in a session, from 1.
    Clicks,
    /// Seconds from the end of a page to the next click.
    ThinkTime,
    /// Objects that come with a page, the page itself included: from 1.
    PageObjects,
    /// Bytes of a whole reply, as often as it was sent.
    ReplySize,
    /// Bytes of an object, once each.
    ObjectSize,
    /// Seconds that a transfer took.
    TransferTime,
    /// Distance in the stack of objects, from 1.
    StackDistance,
    /// Requests in a slot of time with any.
    RequestCount,
}

/// A variable with the distributions that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VariableFit {
    /// The variable.
    pub variable: Variable,
    /// Number of values in the log.
    pub values: u64,
    /// Number of values that were fitted.
    pub fitted: u64,
    /// Values of zero, which no distribution here explains, and which were left out.
    pub zeros: u64,
    /// The mean of those that were fitted.
    pub mean: f64,
    /// Standard deviation of the values that were fitted.
    pub deviation: f64,
    /// The multiple that values are rounded to; 0 if they are exact.
    pub tick: f64,
    /// Observation of the values: rounded, cut, differences.
    #[serde(default)]
    pub observation: Observation,
    /// The distributions, best first.
    pub ranking: Ranking,
    /// A distribution of the middle of the values, where it explains what none of the ranking does.
    #[serde(default)]
    pub robust: Option<RobustFit>,
    /// The data beside the distribution that is [taken](VariableFit::taken), for a plot.
    pub curve: Vec<CurvePoint>,
}

impl VariableFit {
    /// The distribution to generate with: the robust one, where there is one, else the
    /// [preferred](Ranking::preferred).
    pub fn taken(&self) -> Option<&Candidate> {
        self.robust.as_ref().map(|robust| &robust.candidate).or_else(|| self.ranking.preferred(self.mean))
    }
}

/// A variable whose values do not differ, as far as the log shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConstantVariable {
    /// The variable.
    pub variable: Variable,
    /// Number of values in the log.
    pub values: u64,
    /// The one value.
    pub value: f64,
}

/// Shares of the values above `value`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CurvePoint {
    /// The value.
    pub value: f64,
    /// The share of the data above it.
    pub data: f64,
    /// The share of the distribution above it.
    #[serde(alias = "law")]
    pub fitted: f64,
}

impl FitReport {
    /// Fits everything. `read` is what the reader counted.
    pub fn of(visits: &Visits, read: &ReadTally, settings: &FitSettings) -> FitReport {
        let (order, starts) = visits.by_visitor();
        let crawlers = Crawlers::find(visits, &order, &starts, &settings.crawlers);
        let mut gathered = RequestWalk::new(visits, settings);
        let users = Users { visits, order: &order, starts: &starts, crawlers: &crawlers, settings };
        let sensitivity = users.walk(&mut gathered);
        let shares = VisitorShares::of(&starts, &crawlers);
        let again = gathered.distances(visits, &crawlers);
        let popularity = Popularity::of(&gathered.site.requests);
        let (slot, series) = gathered.counting.series();
        let course = course(&gathered.starts, visits);
        let mut rng = settings.seed.stream(Purpose::User, 1);
        let sessions = gathered.starts.len();
        let (mut begun, cut) = gathered.uncut_starts();
        let logged = logged_gaps(&mut begun);
        let is_constant = logged.iter().all(|gap| *gap == logged[0]);
        let tick = if is_constant { Duration::ZERO } else { visits.tick() };
        let mut begun = spread(begun, tick, &mut rng);
        let more = sessions as f64 / (begun.len() as f64).max(1.0);
        let arrivals = SessionArrivals::of(&logged_gaps(&mut begun))
            .map(|arrivals| SessionArrivals { rate: more * arrivals.rate, ..arrivals });
        let mut draws = settings.seed.stream(Purpose::User, 21);
        let process = SessionProcess::of(&begun, visits.begins(), visits.covers(), arrivals, &mut draws);
        let operational = operational(arrivals, &begun, visits, &course, settings);
        drop(begun);
        let mut counts = RequestCounts::of(slot, &series);
        if let Some(counts) = &mut counts {
            users.compare_memory(counts, process.as_ref(), sessions);
        }
        let (variables, constants) = gathered.variables(&logged, &series, visits.tick(), settings);
        FitReport {
            read: read.clone(),
            left_out: visits.left_out(),
            targets: visits.targets().clone(),
            covers: visits.covers(),
            dates: visits.dates(),
            whole_seconds: visits.whole_seconds(),
            crawlers: crawlers.tally,
            shares,
            thresholds: settings.thresholds,
            sensitivity,
            arrivals,
            cut,
            process,
            operational,
            course,
            counts,
            repeated: again as f64 / (popularity.requests as f64).max(1.0),
            popularity,
            variables,
            constants,
            site: gathered.site.site(visits, settings.objects),
        }
    }

    /// Lines that are requests.
    pub fn requests(&self) -> u64 {
        self.read.requests - self.targets.none.min(self.read.requests)
    }

    /// The variable's fit, if the log has it.
    pub fn variable(&self, variable: Variable) -> Option<&VariableFit> {
        self.variables.iter().find(|fit| fit.variable == variable)
    }
}

/// The requests of users, to be walked along once more.
struct Users<'a> {
    visits: &'a Visits,
    order: &'a [u32],
    starts: &'a [u32],
    crawlers: &'a Crawlers,
    settings: &'a FitSettings,
}

impl Users<'_> {
    /// Draws of sessions that begin at random.
    const DRAWS: u64 = 6;

    /// Hands what users asked for, session by session, to `gathered`; returns what other thresholds than the
    /// asked ones would make of it.
    fn walk(&self, gathered: &mut RequestWalk) -> Vec<Sensitivity> {
        let Users { visits, order, starts, crawlers, settings } = self;
        let mut others: Vec<(Thresholds, Walker, Totals)> = around(settings.thresholds)
            .into_iter()
            .map(|thresholds| (thresholds, Walker::new(thresholds), Totals::default()))
            .collect();
        let mut walker = Walker::new(settings.thresholds);
        for visitor in (0..visits.visitors()).filter(|visitor| !crawlers.contains(*visitor as u32)) {
            for index in &order[starts[visitor] as usize..starts[visitor + 1] as usize] {
                let visit = visits.at(*index as usize);
                gathered.request(&visit);
                walker.take(&visit, &mut |step| gathered.step(step));
                others
                    .iter_mut()
                    .for_each(|(_, walker, totals)| walker.take(&visit, &mut |step| totals.step(step)));
            }
            walker.finish(&mut |step| gathered.step(step));
            others.iter_mut().for_each(|(_, walker, totals)| walker.finish(&mut |step| totals.step(step)));
        }
        others.iter().map(|(thresholds, _, totals)| totals.sensitivity(*thresholds)).collect()
    }

    /// Compares the estimate of H with what the log's own sessions make of it if they begin as a Poisson
    /// process does, and if they begin as the fitted process does.
    fn compare_memory(&self, counts: &mut RequestCounts, process: Option<&SessionProcess>, sessions: usize) {
        if counts.best_hurst().is_none() || sessions < 2 {
            return;
        }
        let covers = self.visits.covers();
        let draw = |number: u64, process: Option<&SessionProcess>| {
            let mut rng = self.settings.seed.stream(Purpose::User, 100 + number);
            let begins = match process.and_then(|process| process.spec(process.rate, 1.0)) {
                Some(spec) => {
                    let process = spec.resolve(&mut |_| Err(std::io::ErrorKind::NotFound.into())).ok()?;
                    let arrivals = process.start(self.settings.seed.stream(Purpose::Arrivals, 100 + number));
                    arrivals.take_while(|at| at.since(Instant::ZERO) < covers).take(2 * sessions).collect()
                }
                None => (0..sessions)
                    .map(|_| Instant::from_ns(rng.random_range(0..covers.as_ns().max(1))))
                    .collect::<Vec<Instant>>(),
            };
            (!begins.is_empty()).then(|| self.counted_from(begins, &mut rng))
        };
        let alone: Vec<Vec<f64>> = (0..Users::DRAWS).filter_map(|number| draw(number, None)).collect();
        let noise = process.and_then(|process| Some((process.noise()?, process)));
        let fitted = noise.map(|(noise, process)| {
            let draws = (0..Users::DRAWS).filter_map(|number| draw(50 + number, Some(process))).collect();
            (noise.hurst, draws)
        });
        counts.compare(&alone, fitted);
    }

    /// Requests by slot, if sessions began at `begins`, in random order, each with its requests as far
    /// apart as they are. What would come after the log's end comes at its begin.
    fn counted_from(&self, mut begins: Vec<Instant>, rng: &mut Stream) -> Vec<f64> {
        shuffle(&mut begins, rng);
        let mut counting = Counting::new(self.visits);
        let (log_begins, covers) = (self.visits.begins(), self.visits.covers().as_ns().max(1));
        let mut walker = Walker::new(self.settings.thresholds);
        let (mut begun, mut session) = (Instant::ZERO, 0);
        for visitor in 0..self.visits.visitors() {
            if self.crawlers.contains(visitor as u32) {
                continue;
            }
            for index in &self.order[self.starts[visitor] as usize..self.starts[visitor + 1] as usize] {
                let visit = self.visits.at(*index as usize);
                walker.take(&visit, &mut |step| {
                    if let SessionEvent::Start { at, .. } = step {
                        (begun, session) = (at, session + 1);
                    }
                });
                if visit.served && session > 0 {
                    let from = begins[session % begins.len()];
                    let at = (from.as_ns() + visit.at.since(begun).as_ns()) % covers;
                    counting.take(&Visit { at: log_begins + Duration::from_ns(at), ..visit });
                }
            }
            walker.finish(&mut |_| {});
        }
        counting.series().1
    }
}

/// Number of `starts` in each of some equal parts of the log.
fn course(starts: &[Instant], visits: &Visits) -> Vec<u64> {
    const SESSIONS_A_PART: usize = 100;
    const PARTS_MAX: usize = 96;
    let parts = (starts.len() / SESSIONS_A_PART).min(PARTS_MAX);
    let (begins, covers) = (visits.begins(), visits.covers().as_ns().max(1));
    if parts < 2 {
        return Vec::new();
    }
    let mut course = vec![0; parts];
    for start in starts {
        let at = u128::from(start.since(begins).as_ns()) * parts as u128 / u128::from(covers);
        course[(at as usize).min(parts - 1)] += 1;
    }
    course
}

/// The thresholds, and their halves and multiples.
fn around(thresholds: Thresholds) -> Vec<Thresholds> {
    let half = |d: Duration| Duration::from_ns(d.as_ns() / 2);
    let Thresholds { t_min, t_max } = thresholds;
    let mut all = Vec::new();
    for t_min in [half(t_min), t_min, t_min.times(2)] {
        for t_max in [half(t_max), t_max, t_max.times(3)] {
            all.push(Thresholds { t_min, t_max });
        }
    }
    all
}

/// Sums from which sensitivity is computed.
#[derive(Debug, Clone, Default)]
struct Totals {
    sessions: u64,
    clicks: u64,
    embedded: u64,
    think_s: f64,
    thinks: u64,
}

impl Totals {
    fn step(&mut self, step: SessionEvent) {
        match step {
            SessionEvent::Start { .. } => self.clicks += 1,
            SessionEvent::Click { think, .. } => {
                self.clicks += 1;
                self.thinks += 1;
                self.think_s += think.as_secs_f64();
            }
            SessionEvent::Embedded { .. } => self.embedded += 1,
            SessionEvent::End { .. } => self.sessions += 1,
            SessionEvent::PageEnd { .. } => {}
        }
    }

    fn sensitivity(&self, thresholds: Thresholds) -> Sensitivity {
        let of = |sum: f64, count: u64| sum / (count as f64).max(1.0);
        Sensitivity {
            thresholds,
            sessions: self.sessions,
            clicks_mean: of(self.clicks as f64, self.sessions),
            think_mean: Duration::from_secs_f64(of(self.think_s, self.thinks)),
            embedded_mean: of(self.embedded as f64, self.clicks),
        }
    }
}
