//! The traffic as a process alone: a page with all that it embeds is asked for in the instant of its click.

use super::{Traffic, distribution, site};
use anyhow::Result;
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_traffic::site::walk::TransitionTable;
use farfield_traffic::{Distribution, Site};

/// A click.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Click {
    /// Seconds from the start.
    pub at_s: f64,
    /// The page's place among the site's.
    pub page: u32,
}

/// A generator of sessions.
#[derive(Debug)]
pub struct Process {
    pub site: Site,
    walk: TransitionTable,
    clicks: Distribution,
    think: Distribution,
    gap: Distribution,
    rng: Stream,
}

impl Process {
    /// Sessions of `traffic` on the site of seed 1, with random numbers from `seed`.
    pub fn new(traffic: &Traffic, seed: u64) -> Result<Process> {
        let site = site(1)?;
        let mean = 1.0 / traffic.rate;
        let gap = match traffic.is_constant {
            true => distribution(&format!("{{ distribution = \"constant\", value = {mean} }}"))?,
            false => distribution(&format!("{{ distribution = \"exponential\", mean = {mean} }}"))?,
        };
        Ok(Process {
            walk: TransitionTable::new(&site),
            site,
            clicks: distribution(traffic.clicks())?,
            think: distribution(traffic.think())?,
            gap,
            rng: Seed(seed).stream(Purpose::User, 0),
        })
    }

    /// Hands every click of the first `seconds` to `each`, session by session, not in order of time.
    fn sessions(&mut self, seconds: f64, mut each: impl FnMut(Click)) {
        let mut start_s = self.gap.sample(&mut self.rng);
        while start_s < seconds {
            let (mut at_s, mut page) = (start_s, self.walk.start(&mut self.rng));
            for left in (0..self.clicks.sample_count(&mut self.rng)).rev() {
                if at_s < seconds {
                    each(Click { at_s, page });
                }
                if left > 0 {
                    at_s += self.think.sample(&mut self.rng);
                    page = self.walk.next(page, &mut self.rng);
                }
            }
            start_s += self.gap.sample(&mut self.rng);
        }
    }

    /// The clicks of `seconds`, in order, after `warm_up_s` that let sessions come under way.
    pub fn clicks(&mut self, warm_up_s: f64, seconds: f64) -> Vec<Click> {
        let mut clicks = Vec::new();
        self.sessions(warm_up_s + seconds, |click| {
            if click.at_s >= warm_up_s {
                clicks.push(Click { at_s: click.at_s - warm_up_s, ..click });
            }
        });
        clicks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        clicks
    }

    /// Requests in each of `seconds` seconds: pages and what they embed, after `warm_up_s`.
    pub fn requests_a_second(&mut self, warm_up_s: f64, seconds: usize) -> Vec<f64> {
        let embedded: Vec<f64> =
            self.site.pages().iter().map(|page| 1.0 + page.embedded.len() as f64).collect();
        let mut counts = vec![0.0; seconds];
        self.sessions(warm_up_s + seconds as f64, |click| {
            if click.at_s >= warm_up_s
                && let Some(count) = counts.get_mut((click.at_s - warm_up_s) as usize)
            {
                *count += embedded[click.page as usize];
            }
        });
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_fit::series::mean;

    /// λ E(N) clicks a second: 2 · 5, and rounding makes the mean of an inverse Gaussian distribution's
    /// counts only a little more.
    #[test]
    fn clicks_come_at_the_rate_of_the_distributions() {
        for traffic in [Traffic::random(2.0), Traffic::constant(2.0)] {
            let mut process = Process::new(&traffic, 1).unwrap();
            let clicks = process.clicks(1_000.0, 4_000.0);
            assert!(clicks.is_sorted_by(|a, b| a.at_s <= b.at_s));
            let rate = clicks.len() as f64 / 4_000.0;
            assert!((rate / 10.0 - 1.0).abs() < 0.06, "{traffic:?}: {rate}");
        }
    }

    #[test]
    fn constant_sessions_click_at_once() {
        let mut process = Process::new(&Traffic::constant(8.0), 1).unwrap();
        let clicks = process.clicks(600.0, 60.0);
        assert_eq!(clicks.len(), 8 * 5 * 60);
    }

    #[test]
    fn requests_are_pages_with_what_they_embed() {
        let traffic = Traffic::random(2.0);
        let counts = Process::new(&traffic, 3).unwrap().requests_a_second(500.0, 2_000);
        let mut process = Process::new(&traffic, 3).unwrap();
        let clicks = process.clicks(500.0, 2_000.0);
        let requests: usize =
            clicks.iter().map(|click| 1 + process.site.pages()[click.page as usize].embedded.len()).sum();
        assert_eq!(mean(&counts) * 2_000.0, requests as f64);
    }
}
