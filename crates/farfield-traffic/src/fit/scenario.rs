//! A load and a set of requests from a report: what a scenario needs to make traffic like the log's.
//!
//! Sessions arrive as the test of arrivals says, with clicks and think times from the fitted laws. A click is one of the
//! log's pages, as often as it was clicked, with the objects that came with it most often. A page came with 2.3 objects in
//! the mean: then it is asked for with two and with three, so that the mean stays. What paths ask for is told apart from how
//! they are written, so that the same traffic can be sent to the site itself and to a server that answers with
//! as many bytes.

use super::report::{FitReport, Sensitivity, Variable};
use super::site::{FittedObject, FittedPage};
use crate::arrival::ArrivalSpec;
use crate::distribution::{CountsSpec, DistributionSpec, TimesSpec};
use crate::load::{HybridSpec, LoadSpec};
use crate::request::{Order, RequestSetSpec, RequestSpec, Target};
use crate::site::{Kind, Link, Object, Site, SiteError, SitePage};
use farfield_base::{Bytes, Duration, Rate};
use serde_json::json;
use std::collections::BTreeMap;

/// Why no scenario can be made of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// Nothing that a user did.
    #[error("the log has no request of a user that was served; all were refused, or of crawlers")]
    NoSessions,
    /// No page with a path that can be sent.
    #[error("no page of the log has a path that can be sent")]
    NoPages,
}

/// Traffic like the log's.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedTraffic {
    /// Sessions that arrive.
    pub load: LoadSpec,
    /// What they ask for.
    pub requests: RequestSetSpec,
    /// The mean length of a session, from its first click to its last.
    pub session: Duration,
    /// How the laws were chosen, a sentence each.
    pub words: Vec<String>,
    /// What the traffic leaves out of the log, a sentence each.
    pub doubts: Vec<String>,
}

/// Sentences as they come up.
#[derive(Default)]
struct Told {
    words: Vec<String>,
    doubts: Vec<String>,
}

impl FitReport {
    /// The size that objects without one are given: the median of those that have one, or 8 KiB.
    pub fn stand_in_bytes(&self) -> u64 {
        let mut sizes: Vec<u64> = self.site.objects.iter().filter_map(|object| object.bytes).collect();
        sizes.sort_unstable();
        sizes.get(sizes.len() / 2).copied().unwrap_or(8 << 10)
    }

    /// Traffic like the log's, `speed` times as fast: sessions come so much more often, and users think so much
    /// shorter. `path` writes what an object is asked for with; what is no path that can be sent is left out.
    ///
    /// # Errors
    /// A log without a session or without a page makes none.
    pub fn traffic(
        &self,
        speed: f64,
        path: &mut dyn FnMut(&FittedObject) -> String,
    ) -> Result<FittedTraffic, ScenarioError> {
        let totals = self.totals().filter(|totals| totals.sessions > 0).ok_or(ScenarioError::NoSessions)?;
        let mut told = Told::default();
        let requests = self.pages(path, &mut told)?;
        let clicks = self.law(Variable::Clicks, 1.0, "clicks of a session", &mut told);
        let think = self.law(Variable::ThinkTime, 1.0 / speed, "think times", &mut told);
        let mut load = HybridSpec::new(self.arrivals(totals, speed, &mut told));
        let constant = |value: f64| -> DistributionSpec {
            serde_json::from_value(json!(value)).expect("a number is a distribution")
        };
        load.requests = clicks
            .and_then(|law| CountsSpec::try_from(law).ok())
            .unwrap_or_else(|| CountsSpec::try_from(constant(totals.clicks_mean)).expect("a bare number"));
        load.think = think
            .and_then(|law| TimesSpec::try_from(law).ok())
            .unwrap_or_else(|| Duration::from_secs_f64(totals.think_mean.as_secs_f64() / speed).into());
        let thinking = (totals.clicks_mean - 1.0) * totals.think_mean.as_secs_f64();
        Ok(FittedTraffic {
            load: LoadSpec::Hybrid(Box::new(load)),
            requests,
            session: Duration::from_secs_f64(thinking / speed),
            words: told.words,
            doubts: told.doubts,
        })
    }

    /// The site that users saw, with contents from `seed`: objects with their sizes, pages with what came with them and how often
    /// they were clicked, links as they were followed, and the law of stack distances. A folder's page is its `index.html`. What no
    /// site can have is left out: paths with blanks or `..`, and pages inside a page that have something inside themselves.
    ///
    /// # Errors
    /// A log without a page makes no site.
    pub fn to_site(&self, seed: u64) -> Result<Site, SiteError> {
        let fitted = &self.site;
        let stand_in = self.stand_in_bytes();
        let mut objects: Vec<Object> = Vec::new();
        let mut by_path = BTreeMap::new();
        let place: Vec<Option<u32>> = fitted
            .objects
            .iter()
            .map(|object| {
                let path = file_path(&object.path)?;
                let size = Bytes(object.bytes.unwrap_or(stand_in));
                Some(*by_path.entry(path).or_insert_with_key(|path| {
                    let (path, kind) = (path.clone(), Kind::of_path(path));
                    objects.push(Object { path, kind, size, cost: Duration::ZERO });
                    objects.len() as u32 - 1
                }))
            })
            .collect();
        let mut taken = vec![false; objects.len()];
        let is_first = |page: &&FittedPage| {
            let own = place[page.object as usize];
            own.is_some_and(|own| !std::mem::replace(&mut taken[own as usize], true))
        };
        let kept: Vec<&FittedPage> = fitted.pages.iter().filter(is_first).collect();
        let mut page_at = vec![None; fitted.objects.len()];
        let mut embeds = vec![false; objects.len()];
        for (at, page) in kept.iter().enumerate() {
            page_at[page.object as usize] = Some(at as u32);
            embeds[place[page.object as usize].expect("kept") as usize] = embedded_mean(page).round() > 0.0;
        }
        let pages = kept.iter().map(|page| {
            let inside = page.embedded.iter().filter_map(|follower| place[follower.object as usize]);
            let links = page.next.iter().filter_map(|follower| {
                let page = page_at[follower.object as usize]?;
                Some(Link { page, weight: follower.count as f64 })
            });
            SitePage {
                object: place[page.object as usize].expect("kept"),
                weight: page.clicks as f64,
                embedded: inside
                    .filter(|at| !embeds[*at as usize])
                    .take(embedded_mean(page).round() as usize)
                    .collect(),
                links: links.collect(),
            }
        });
        let distances = self.law(Variable::StackDistance, 1.0, "stack distances", &mut Told::default());
        Site::new(seed, objects, pages.collect(), distances)
    }

    /// The totals with the thresholds that were asked for.
    fn totals(&self) -> Option<&Sensitivity> {
        self.sensitivity.iter().find(|row| row.thresholds == self.thresholds)
    }

    /// The law to generate a variable with, its values `factor` times as large. `None` if the log has too few of them.
    fn law(&self, variable: Variable, factor: f64, name: &str, told: &mut Told) -> Option<DistributionSpec> {
        let fit = self.variable(variable)?;
        let preferred = fit.ranking.preferred(fit.mean)?;
        let best = fit.ranking.candidates.first()?;
        let mut why = String::new();
        if preferred != best {
            why = format!(" (the first of the ranking is {})", best.name);
        }
        told.words.push(format!("Law of {name}: {}{why}.", preferred.name));
        if (preferred.mean() / fit.mean - 1.0).abs() > super::Ranking::MEAN_OFF_MAX {
            told.doubts.push(format!(
                "No law of {name} has a mean near the log's {:.4}; that of the one that was taken is {:.4}.",
                fit.mean,
                preferred.mean()
            ));
        }
        let model = preferred.model()?;
        let times = !matches!(variable, Variable::Clicks | Variable::StackDistance);
        Some(if times { model.scaled(factor).spec() } else { model.spec() })
    }

    fn arrivals(&self, totals: &Sensitivity, speed: f64, told: &mut Told) -> ArrivalSpec {
        let covered = self.covers.as_secs_f64().max(1.0);
        let rate = self.arrivals.map_or(totals.sessions as f64 / covered, |arrivals| arrivals.rate);
        let poisson = || {
            let rate = Rate::per_second((rate * speed).clamp(1e-9, 1e9)).expect("a rate above zero");
            ArrivalSpec::poisson(rate).expect("a rate above zero")
        };
        match self.arrivals {
            Some(arrivals) if arrivals.poisson => {
                told.words.push("Sessions arrive as a Poisson process, which the test does not reject.".to_owned());
                return poisson();
            }
            None => {
                told.doubts.push("Too few sessions to test their arrivals: taken as a Poisson process.".to_owned());
                return poisson();
            }
            Some(arrivals) if !arrivals.renewal => told.doubts.push(
                "Gaps between sessions depend on those before, as where the rate moves over a day: the scenario has the \
                 gaps' law and not their order."
                    .to_owned(),
            ),
            Some(_) => {}
        }
        let gaps = self.law(Variable::SessionGap, 1.0 / speed, "gaps between sessions", told);
        let renewal = gaps
            .and_then(|gaps| TimesSpec::try_from(gaps).ok())
            .and_then(|gaps| serde_json::from_value(json!({ "process": "renewal", "gaps": gaps })).ok());
        renewal.unwrap_or_else(poisson)
    }

    /// The pages with their weights.
    fn pages(
        &self,
        path: &mut dyn FnMut(&FittedObject) -> String,
        told: &mut Told,
    ) -> Result<RequestSetSpec, ScenarioError> {
        let targets: Vec<Option<Target>> =
            self.site.objects.iter().map(|object| path(object).try_into().ok()).collect();
        let mut specs = Vec::new();
        let mut unsendable = 0;
        for page in &self.site.pages {
            let Some(target) = &targets[page.object as usize] else {
                unsendable += page.clicks;
                continue;
            };
            for (count, weight) in variants(page) {
                let embedded =
                    page.embedded.iter().filter_map(|follower| targets[follower.object as usize].clone());
                let mut spec = RequestSpec::get(target.clone());
                spec.weight = weight.try_into().expect("a weight above zero");
                spec.embedded = embedded.take(count).collect();
                specs.push(spec);
            }
        }
        if unsendable > 0 {
            told.doubts.push(format!("{unsendable} clicks are left out: their paths cannot be sent."));
        }
        if self.site.clicks_covered < 0.999 {
            told.doubts.push(format!(
                "The scenario has the most popular objects, with {:.1} % of all clicks.",
                100.0 * self.site.clicks_covered
            ));
        }
        RequestSetSpec::new(specs, None, Some(Order::Weighted)).map_err(|_| ScenarioError::NoPages)
    }
}

/// How many objects came with a page in the mean, at most as many as there are of them.
fn embedded_mean(page: &FittedPage) -> f64 {
    let count: u64 = page.embedded.iter().map(|follower| follower.count).sum();
    (count as f64 / page.clicks as f64).min(page.embedded.len() as f64)
}

/// The file of a site that answers for `path`: that of a folder is its `index.html`. `None` where no file can.
fn file_path(path: &str) -> Option<String> {
    let file = if path.ends_with('/') { format!("{path}index.html") } else { path.to_owned() };
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\"<>\\'&".contains(&byte);
    let parts = |path: &str| path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    let good = file.bytes().all(plain) && parts(file.strip_prefix('/')?);
    good.then_some(file)
}

/// With how many objects a page is asked for, and how often: the whole numbers around the mean.
fn variants(page: &FittedPage) -> Vec<(usize, f64)> {
    let (clicks, mean) = (page.clicks as f64, embedded_mean(page));
    let (whole, part) = (mean.floor(), mean.fract());
    [(whole as usize, (1.0 - part) * clicks), (whole as usize + 1, part * clicks)]
        .into_iter()
        .filter(|(_, weight)| *weight > 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::site::Follower;
    use super::*;

    #[test]
    fn a_folders_page_is_a_file() {
        assert_eq!(file_path("/").as_deref(), Some("/index.html"));
        assert_eq!(file_path("/a/").as_deref(), Some("/a/index.html"));
        assert_eq!(file_path("/a.gif").as_deref(), Some("/a.gif"));
        for path in ["", "a", "/../x", "//", "/a b", "/a?b", "http://x/"] {
            assert_eq!(file_path(path), None, "{path}");
        }
    }

    #[test]
    fn a_page_keeps_its_mean_of_embedded_objects() {
        let followers = |counts: &[u64]| -> Vec<Follower> {
            counts.iter().zip(0..).map(|(count, object)| Follower { object, count: *count }).collect()
        };
        let page = |clicks, counts: &[u64]| FittedPage {
            object: 0,
            clicks,
            starts: 0,
            ends: 0,
            embedded: followers(counts),
            next: Vec::new(),
        };
        assert_eq!(variants(&page(4, &[])), [(0, 4.0)]);
        assert_eq!(variants(&page(4, &[4, 4])), [(2, 4.0)]);
        assert_eq!(variants(&page(4, &[4, 3, 2])), [(2, 3.0), (3, 1.0)]);
        assert_eq!(variants(&page(4, &[40])), [(1, 4.0)], "asked for again and again: once here");
    }
}
