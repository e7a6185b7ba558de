//! Visitors that are no users: crawlers, monitors, scripts.
//!
//! Three signs, each of which suffices: the user agent says so; `/robots.txt` was asked for; or pages were
//! asked for faster than anyone reads. A log without agents leaves the last two, and a proxy with many users
//! behind it can look like a crawler: the report has how many visitors fell to each sign.

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
    /// Whether asking for `/robots.txt` is a sign.
    pub robots: bool,
    /// More pages than this within a minute are a sign.
    pub pages_a_minute: u32,
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
pub struct CrawlerTally {
    /// All visitors.
    pub visitors: u64,
    /// Crawlers by their agent.
    pub by_agent: u64,
    /// Visitors found by `/robots.txt`.
    pub by_robots: u64,
    /// Visitors found by their rate.
    pub by_rate: u64,
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
            } else {
                continue;
            };
            *by += 1;
            tally.requests += own.len() as u64;
            is[visitor] = true;
        }
        Crawlers { is, tally }
    }

    /// Whether `visitor` is one.
    pub fn contains(&self, visitor: u32) -> bool {
        self.is[visitor as usize]
    }
}

fn says_so(agent: &[u8], named: &[memmem::Finder<'_>]) -> bool {
    let lower = agent.to_ascii_lowercase();
    named.iter().any(|name| name.find(&lower).is_some())
}

/// Whether more than `limit` pages were asked for within some minute.
fn too_fast(visits: &Visits, own: &[u32], limit: u32, times: &mut Vec<u64>) -> bool {
    let limit = limit as usize;
    if own.len() <= limit {
        return false;
    }
    times.clear();
    times.extend(
        own.iter()
            .map(|at| visits.at(*at as usize))
            .filter(|v| v.kind == RequestKind::Page)
            .map(|v| v.at.as_ns()),
    );
    let minute = Duration::from_secs(60).as_ns();
    times.windows(limit + 1).any(|window| window[limit] - window[0] < minute)
}
