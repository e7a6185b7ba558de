//! Visitors that are no users: crawlers, monitors, scripts.
//!
//! Four signs, each of which suffices: the user agent says so; `/robots.txt` was asked for; pages were
//! asked for faster than anyone reads; or many pages were asked for at equal distances, as by a clock. A log
//! without agents leaves the last three, and a proxy with many users behind it can look like a crawler: the
//! report has how many visitors fell to each sign. Whoever is left and makes many of the requests is counted
//! in [`VisitorShares`].

use crate::session::RequestKind;
use crate::visits::Visits;
use farfield_base::Duration;
use memchr::memmem;
use serde::{Deserialize, Serialize};

/// Signs of a crawler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlerSigns {
    /// Parts of a user agent, in lower case.
    pub agents: Vec<String>,
    /// A request for `/robots.txt` is a sign.
    pub robots: bool,
    /// More pages than this within a minute are a sign.
    pub pages_a_minute: u32,
    /// So many pages or more at equal distances are a sign.
    pub regular_pages: u32,
}

impl Default for CrawlerSigns {
    fn default() -> CrawlerSigns {
        let agents = "bot crawl spider slurp archiver fetch scan monitor preview feed validator httrack wordpress/ \
                      curl/ wget/ python- python/ go-http-client java/ libwww okhttp axios node- headless \
                      facebookexternalhit apache-httpclient zgrab masscan nikto nmap";
        CrawlerSigns {
            agents: agents.split_whitespace().map(str::to_owned).collect(),
            robots: true,
            pages_a_minute: 60,
            regular_pages: 30,
        }
    }
}

/// The visitors that are crawlers, counted by sign.
#[derive(Debug, Clone, PartialEq)]
pub struct Crawlers {
    is: Vec<bool>,
    /// The counts.
    pub tally: CrawlerTally,
}

/// Crawlers by the sign that gave them away; the first of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CrawlerTally {
    /// All visitors.
    pub visitors: u64,
    /// Crawlers by their agent.
    pub by_agent: u64,
    /// Visitors found by `/robots.txt`.
    pub by_robots: u64,
    /// Visitors found by their rate.
    pub by_rate: u64,
    /// Visitors found by the regularity of their pages.
    #[serde(default)]
    pub by_regularity: u64,
    /// All requests of crawlers.
    pub requests: u64,
}

impl Crawlers {
    /// Finds crawlers by the signs. `order` and `starts` are those of [`Visits::by_visitor`].
    pub fn find(visits: &Visits, order: &[u32], starts: &[u32], signs: &CrawlerSigns) -> Crawlers {
        let named: Vec<memmem::Finder<'_>> = signs.agents.iter().map(memmem::Finder::new).collect();
        let says: Vec<bool> =
            (0..visits.agents() as u32).map(|agent| says_so(visits.agent(agent), &named)).collect();
        let mut tally = CrawlerTally { visitors: visits.visitors() as u64, ..CrawlerTally::default() };
        let mut is = vec![false; visits.visitors()];
        let mut pages = Vec::new();
        for visitor in 0..visits.visitors() {
            let own = &order[starts[visitor] as usize..starts[visitor + 1] as usize];
            let by = if says[visits.agent_of(visitor as u32) as usize] {
                &mut tally.by_agent
            } else if signs.robots && own.iter().any(|at| visits.path(visits.path_of(*at)) == b"/robots.txt")
            {
                &mut tally.by_robots
            } else if too_fast(visits, own, signs.pages_a_minute, &mut pages) {
                &mut tally.by_rate
            } else if too_regular(visits, own, signs.regular_pages, &mut pages) {
                &mut tally.by_regularity
            } else {
                continue;
            };
            *by += 1;
            tally.requests += own.len() as u64;
            is[visitor] = true;
        }
        Crawlers { is, tally }
    }

    /// True if `visitor` is one.
    pub fn contains(&self, visitor: u32) -> bool {
        self.is[visitor as usize]
    }
}

impl CrawlerTally {
    /// Crawlers by any sign.
    pub fn found(&self) -> u64 {
        self.by_agent + self.by_robots + self.by_rate + self.by_regularity
    }
}

/// Shares of the requests of those who are no crawlers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VisitorShares {
    /// Visitors that are no crawlers.
    pub visitors: u64,
    /// Requests of visitors that are no crawlers.
    pub requests: u64,
    /// The shares of the busiest visitor, of the ten busiest, and of the hundred busiest.
    pub busiest: [f64; 3],
}

impl VisitorShares {
    /// Numbers of visitors whose shares are counted.
    pub const COUNTS: [usize; 3] = [1, 10, 100];

    /// Counts those whom `crawlers` leaves. `starts` are those of [`Visits::by_visitor`].
    pub fn of(starts: &[u32], crawlers: &Crawlers) -> VisitorShares {
        let requests = starts.windows(2).zip(0..).filter(|(_, visitor)| !crawlers.contains(*visitor));
        let mut requests: Vec<u32> = requests.map(|(pair, _)| pair[1] - pair[0]).collect();
        requests.sort_unstable_by(|a, b| b.cmp(a));
        let sum = |count: usize| requests.iter().take(count).map(|own| f64::from(*own)).sum::<f64>();
        let all = sum(requests.len());
        VisitorShares {
            visitors: requests.len() as u64,
            requests: all as u64,
            busiest: VisitorShares::COUNTS.map(|count| sum(count) / all.max(1.0)),
        }
    }

    /// The fewest of the counted visitors who make a tenth of the requests or more, and their share, where
    /// they are less than a fiftieth of all.
    pub fn heavy(&self) -> Option<(usize, f64)> {
        let mut pairs = VisitorShares::COUNTS.into_iter().zip(self.busiest);
        pairs.find(|(count, share)| *share >= 0.1 && (*count as u64) * 50 <= self.visitors)
    }
}

fn says_so(agent: &[u8], named: &[memmem::Finder<'_>]) -> bool {
    let lower = agent.to_ascii_lowercase();
    named.iter().any(|name| name.find(&lower).is_some())
}

/// True if more than `limit` pages were asked for within some minute.
fn too_fast(visits: &Visits, own: &[u32], limit: u32, times: &mut Vec<u64>) -> bool {
    let limit = limit as usize;
    if own.len() <= limit {
        return false;
    }
    page_times(visits, own, times);
    let minute = Duration::from_secs(60).as_ns();
    times.windows(limit + 1).any(|window| window[limit] - window[0] < minute)
}

/// True if at least `least` pages were asked for, most of them as far from the one before as the others: four
/// in five distances are within a twentieth of the median one, or within a tick of the log's clock. Distances
/// of few ticks are equal by rounding, and say nothing.
fn too_regular(visits: &Visits, own: &[u32], least: u32, times: &mut Vec<u64>) -> bool {
    const TICKS_MIN: u64 = 4;
    if own.len() < least as usize {
        return false;
    }
    page_times(visits, own, times);
    if times.len() < (least as usize).max(3) {
        return false;
    }
    let mut distances: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let half = distances.len() / 2;
    let (_, median, _) = distances.select_nth_unstable(half);
    let (median, tick) = (*median, visits.tick().as_ns());
    let near = (median / 20).max(tick);
    let equal = distances.iter().filter(|distance| distance.abs_diff(median) <= near).count();
    median >= TICKS_MIN * tick.max(1) && equal * 5 >= distances.len() * 4
}

/// Instants of the pages among a visitor's requests, in order, into `times`.
fn page_times(visits: &Visits, own: &[u32], times: &mut Vec<u64>) {
    let pages = own.iter().map(|at| visits.at(*at as usize)).filter(|visit| visit.kind == RequestKind::Page);
    times.clear();
    times.extend(pages.map(|visit| visit.at.as_ns()));
}
