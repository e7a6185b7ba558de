//! A load and a set of requests from a report, for a scenario with traffic like the log's.
//!
//! Sessions arrive by the process that has the log's dispersion at one time scale after another, with clicks
//! and think times from the fitted distributions. What is written is then generated, as long as the log, and
//! its dispersion compared with the log's: a scenario says where it varies less or more. They walk on the
//! [site](FitReport::to_site) that the log shows: from its start pages along its routes, each view of a
//! page with the objects that such a view fetched. A server that has the log's own paths, with queries,
//! can be sent these: then pages come as often as they were clicked, with the objects that came with them
//! most often. A page that came with 2.3 objects in the mean is requested with two and with three, so
//! that the mean stays.

use crate::process::{FractionalRate, ProcessModel, SessionProcess, TwoRates};
use crate::ranking::Candidate;
use crate::report::{FitReport, Sensitivity, Variable, VariableFit};
use crate::reproduced::{ReproducedScale, reproduced};
use crate::served::embedded_mean;
use crate::site::FittedPage;
use farfield_base::{Duration, Rate};
use farfield_traffic::arrival::ArrivalSpec;
use farfield_traffic::distribution::{CountsSpec, DistributionSpec, TimesSpec};
use farfield_traffic::load::{HybridSpec, LoadSpec};
use farfield_traffic::request::{Order, RequestSetSpec, RequestSpec, RequestTarget, SiteSource};
use serde_json::json;
use std::path::PathBuf;

/// Error of a log that makes no scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct FittedTraffic {
    /// Sessions that arrive.
    pub load: LoadSpec,
    /// The requests.
    pub requests: RequestSetSpec,
    /// The mean length of a session, from its first click to its last.
    pub session: Duration,
    /// Choice of the distributions, a sentence each.
    pub words: Vec<String>,
    /// Differences of the traffic from the log, a sentence each.
    pub doubts: Vec<String>,
    /// The dispersion of session starts in the log and in the scenario; empty where the log has too few.
    pub dispersion: Vec<ReproducedScale>,
}

/// Source of the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestSource {
    /// The site that the log shows, which is in this file.
    Site(PathBuf),
    /// The log's own paths, of a server that has them.
    Paths,
}

/// Settings of the traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficSettings {
    /// Factor by which sessions come and users think faster than in the log: above 0.
    pub speed: f64,
    /// Source of the requests.
    pub asked: RequestSource,
    /// The rate of sessions moves as it did over the log, from its begin on. Without, a course that the
    /// dispersion shows begins where the rate is at its mean.
    pub course: bool,
}

/// A run that does not follow the log's course from its begin on is no longer than this, in seconds.
const RUN_S: f64 = 600.0;

/// Remarks collected on the way.
#[derive(Default)]
struct Remarks {
    words: Vec<String>,
    doubts: Vec<String>,
}

impl FitReport {
    /// Traffic like the log's. What is no path that can be sent is left out.
    ///
    /// # Errors
    /// A log without a session or without a page makes none.
    pub fn traffic(&self, settings: &TrafficSettings) -> Result<FittedTraffic, ScenarioError> {
        let TrafficSettings { speed, ref asked, course } = *settings;
        let totals = self.totals().filter(|totals| totals.sessions > 0).ok_or(ScenarioError::NoSessions)?;
        let mut remarks = Remarks::default();
        let requests = match asked {
            RequestSource::Paths => self.own_paths(&mut remarks)?,
            RequestSource::Site(file) => {
                remarks.doubts.extend(self.doubts_of_site().ok_or(ScenarioError::NoPages)?);
                RequestSetSpec::of_site(SiteSource::Made(file.clone()), None, Order::Walk)
            }
        };
        if self.site.clicks_covered < 0.999 {
            remarks.doubts.push(format!(
                "The scenario has the most popular objects, with {:.1} % of all clicks.",
                100.0 * self.site.clicks_covered
            ));
        }
        if self.site.other_methods > 0 {
            remarks.doubts.push(format!(
                "{} requests with other methods than GET: the scenario asks for the same with GET.",
                self.site.other_methods
            ));
        }
        let clicks = self.scaled_distribution(Variable::Clicks, 1.0, "clicks of a session", &mut remarks);
        let think = self.scaled_distribution(Variable::ThinkTime, 1.0 / speed, "think times", &mut remarks);
        let arrivals = self.arrivals(totals, speed, course, &mut remarks);
        let dispersion = self.dispersion(totals, course, &mut remarks);
        let mut load = HybridSpec::new(arrivals);
        let constant = |value: f64| -> DistributionSpec {
            serde_json::from_value(json!(value)).expect("a number is a distribution")
        };
        load.requests = clicks
            .and_then(|distribution| CountsSpec::try_from(distribution).ok())
            .unwrap_or_else(|| CountsSpec::try_from(constant(totals.clicks_mean)).expect("a bare number"));
        load.think = think
            .and_then(|distribution| TimesSpec::try_from(distribution).ok())
            .unwrap_or_else(|| Duration::from_secs_f64(totals.think_mean.as_secs_f64() / speed).into());
        let thinking = (totals.clicks_mean - 1.0) * totals.think_mean.as_secs_f64();
        Ok(FittedTraffic {
            load: LoadSpec::Hybrid(Box::new(load)),
            requests,
            session: Duration::from_secs_f64(thinking / speed),
            words: remarks.words,
            doubts: remarks.doubts,
            dispersion,
        })
    }

    /// The totals with the thresholds that were asked for.
    fn totals(&self) -> Option<&Sensitivity> {
        self.sensitivity.iter().find(|row| row.thresholds == self.thresholds)
    }

    /// The distribution to generate a variable with, its values `factor` times as large. `None` if the log
    /// has too few of them.
    fn scaled_distribution(
        &self,
        variable: Variable,
        factor: f64,
        name: &str,
        remarks: &mut Remarks,
    ) -> Option<DistributionSpec> {
        let fit = self.variable(variable)?;
        let preferred = fit.taken()?;
        let best = fit.ranking.candidates.first()?;
        let mut why = String::new();
        if preferred != best {
            why = format!(" (the first of the ranking is {})", best.name);
        }
        remarks.words.push(format!("Distribution of {name}: {}{why}.", preferred.name));
        remarks.doubts.extend(doubt_of(fit, name));
        if (preferred.mean() / fit.mean - 1.0).abs() > super::Ranking::MEAN_OFF_MAX {
            remarks.doubts.push(format!(
                "No distribution of {name} has a mean near the log's {:.4}; that of the one that was taken is {:.4}.",
                fit.mean,
                preferred.mean()
            ));
        }
        let model = preferred.model()?;
        let times = !matches!(variable, Variable::Clicks | Variable::StackDistance);
        let factor = if times { factor } else { 1.0 };
        let between = fit.observation.between.map(|(least, most)| (factor * least, factor * most));
        Some(if times { model.scaled(factor).spec_between(between) } else { model.spec() })
    }

    /// The distribution to generate a variable with, if the log has enough of its values.
    pub(crate) fn distribution_of(&self, variable: Variable) -> Option<DistributionSpec> {
        self.scaled_distribution(variable, 1.0, "", &mut Remarks::default())
    }

    fn arrivals(&self, totals: &Sensitivity, speed: f64, course: bool, remarks: &mut Remarks) -> ArrivalSpec {
        let covered = self.covers.as_secs_f64().max(1.0);
        let rate = self.arrivals.map_or(totals.sessions as f64 / covered, |arrivals| arrivals.rate);
        let poisson = || {
            let rate = Rate::per_second((rate * speed).clamp(1e-9, 1e9)).expect("a rate above zero");
            ArrivalSpec::poisson(rate).expect("a rate above zero")
        };
        if course {
            let random = self.process.as_ref().and_then(SessionProcess::along_course);
            let moving = random.and_then(|process| moving(&process, rate, speed, true, remarks));
            if let Some(along) = moving.or_else(|| self.along_course(rate * speed, speed, remarks)) {
                return along;
            }
        }
        if let Some(process) = &self.process
            && let Some(moving) = moving(process, rate, speed, course, remarks)
        {
            return moving;
        }
        match self.arrivals {
            Some(arrivals) if self.is_poisson_enough() => {
                remarks.words.push(match arrivals.poisson {
                    true => "Sessions arrive as a Poisson process, which the test does not reject.".to_owned(),
                    false => format!(
                        "Sessions arrive as a Poisson process: the test on {} stretches rejects it, but their gaps are no further \
                         than {:.3} from it and their correlation is {:.2}.",
                        arrivals.stretches, arrivals.distance, arrivals.correlation
                    ),
                });
                return poisson();
            }
            None => {
                remarks.doubts.push("Too few sessions to test their arrivals: taken as a Poisson process.".to_owned());
                return poisson();
            }
            Some(_) if !self.is_renewal_enough() => remarks.doubts.push(
                "Gaps between sessions depend on those before, as where the rate moves over a day: the scenario has the \
                 gaps' distribution and not their order. --course has both."
                    .to_owned(),
            ),
            Some(_) => {}
        }
        if let Some(constant) =
            self.constants.iter().find(|constant| constant.variable == Variable::SessionGap)
        {
            remarks.words.push(format!("Sessions come every {} s: all gaps are alike.", constant.value));
            let gap = Duration::from_secs_f64(constant.value / speed);
            let renewal = serde_json::from_value(json!({ "process": "renewal", "gaps": gap }));
            return renewal.unwrap_or_else(|_| poisson());
        }
        let gaps =
            self.scaled_distribution(Variable::SessionGap, 1.0 / speed, "gaps between sessions", remarks);
        let renewal = gaps
            .and_then(|gaps| TimesSpec::try_from(gaps).ok())
            .and_then(|gaps| serde_json::from_value(json!({ "process": "renewal", "gaps": gaps })).ok());
        renewal.unwrap_or_else(poisson)
    }

    /// True if sessions are as good as a Poisson process: their gaps, and where there is enough to see it
    /// their dispersion at every scale.
    pub fn is_poisson_enough(&self) -> bool {
        match &self.process {
            Some(process) => process.model == ProcessModel::Poisson,
            None => self.arrivals.is_some_and(|arrivals| arrivals.is_poisson_enough()),
        }
    }

    /// True if sessions are as good as a renewal process, likewise.
    pub fn is_renewal_enough(&self) -> bool {
        match &self.process {
            Some(process) => matches!(process.model, ProcessModel::Poisson | ProcessModel::Renewal),
            None => self.arrivals.is_some_and(|arrivals| arrivals.is_renewal_enough()),
        }
    }

    /// The dispersion of the scenario beside the log's, by generating the log's length of it.
    fn dispersion(&self, totals: &Sensitivity, course: bool, remarks: &mut Remarks) -> Vec<ReproducedScale> {
        let Some(process) = &self.process else { return Vec::new() };
        // A course from the log's begin on: begun elsewhere, it would meet the windows in another phase.
        let rate = self.arrivals.map_or(process.rate, |arrivals| arrivals.rate);
        let plain = if course { None } else { process.spec(rate, 1.0) };
        let written = plain.unwrap_or_else(|| self.arrivals(totals, 1.0, course, &mut Remarks::default()));
        let Some(scales) = reproduced(&written, process, self.covers) else { return Vec::new() };
        let off = scales.iter().filter(|scale| scale.is_off());
        if let Some(worst) = off.max_by(|a, b| a.factor().total_cmp(&b.factor())) {
            let hint = if course || self.course.len() < 2 {
                ""
            } else {
                " --course has the log's own rate over time."
            };
            // Three digits of what a log of this length shows.
            let times =
                |index: f64| format!("{index:.0$}", usize::from(index < 99.95) + usize::from(index < 9.995));
            remarks.doubts.push(format!(
                "The scenario does not vary as the log does: counted over {} s, sessions have {} times a Poisson process's variance in the log, and {} times in the scenario.{hint}",
                worst.over.as_secs_f64(),
                times(worst.log),
                times(worst.scenario)
            ));
        }
        scales
    }

    /// Arrivals of this mean rate that come and go as the log's sessions did: a Poisson process along the
    /// course, or a renewal process in operational time where gaps are clustered; none if the log has too
    /// few.
    fn along_course(&self, mean: f64, speed: f64, remarks: &mut Remarks) -> Option<ArrivalSpec> {
        if self.course.len() < 2 {
            return None;
        }
        let day = Duration::from_secs_f64(self.covers.as_secs_f64() / speed);
        let rate = Rate::per_second(mean.clamp(1e-9, 1e9)).ok()?;
        let mut written = json!({ "process": "diurnal", "rate": rate, "profile": self.course, "day": day });
        let fit = self.operational.as_ref();
        let gaps = fit.and_then(|fit| fit.ranking.preferred(fit.mean)).filter(|gaps| gaps.mean().is_finite());
        let inside = match gaps {
            Some(gaps) => format!("a renewal process in operational time: gaps {}", gaps.name),
            None => "a Poisson process".to_owned(),
        };
        if let Some(gaps) = gaps {
            written["gaps"] = serde_json::to_value(&gaps.distribution).ok()?;
        }
        let along = serde_json::from_value(written).ok()?;
        let parts = self.course.len();
        remarks.words.push(format!(
            "The rate of sessions moves as over the log, in {parts} parts, and inside them sessions arrive as {inside}."
        ));
        Some(along)
    }

    /// The pages with their weights.
    fn own_paths(&self, remarks: &mut Remarks) -> Result<RequestSetSpec, ScenarioError> {
        let targets: Vec<Option<RequestTarget>> = self
            .site
            .objects
            .iter()
            .map(|object| origin_form(&object.path)?.to_owned().try_into().ok())
            .collect();
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
            remarks.doubts.push(format!("{unsendable} clicks are left out: their paths cannot be sent."));
        }
        RequestSetSpec::new(specs, None, Some(Order::Weighted)).map_err(|_| ScenarioError::NoPages)
    }
}

/// The arrivals of a process whose rate moves, if it is one.
fn moving(
    process: &SessionProcess,
    rate: f64,
    speed: f64,
    from_begin: bool,
    remarks: &mut Remarks,
) -> Option<ArrivalSpec> {
    let process = if from_begin { process.clone() } else { process.begun_at_its_mean(RUN_S * speed) };
    let why = match &process.model {
        ProcessModel::Poisson | ProcessModel::Renewal => return None,
        ProcessModel::Course(course) => {
            let begins = if from_begin {
                ""
            } else {
                ", and begins where it is at its mean (--course: where the log begins)"
            };
            format!("their rate follows the log's course, in {} pieces{begins}", course.pieces.len())
        }
        ProcessModel::MarkovModulated(TwoRates { rates: [slow, fast], left: [up, down] }) => format!(
            "their rate jumps between {slow:.3} and {fast:.3} a second, after {:.0} s and {:.0} s in the mean (Markov-modulated)",
            1.0 / up,
            1.0 / down
        ),
        ProcessModel::FractionalNoise(FractionalRate { hurst, deviation, interval: (low, high), .. }) => {
            format!(
                "their rate is shaped from fractional noise, H {hurst:.2} ({low:.2} to {high:.2}), deviation {deviation:.2}"
            )
        }
    };
    let along = process.along.as_ref().map_or(String::new(), |course| {
        format!(", and follows the log's course, in {} pieces", course.pieces.len())
    });
    let spec = process.spec(rate, speed)?;
    let most = process.largest()?;
    remarks.words.push(format!(
        "Sessions vary up to {:.1} times as much as a Poisson process, counted over {} s: {why}{along}.",
        most.index,
        most.over.as_secs_f64()
    ));
    Some(spec)
}

/// Sentence about values that a distribution which is used does not explain.
fn doubt_of(fit: &VariableFit, name: &str) -> Option<String> {
    const PASSED_MIN: f64 = 0.1;
    let taken = fit.taken()?;
    let percent = |candidate: &Candidate| 100.0 * candidate.subsamples.anderson_darling_passed;
    if let Some(robust) = &fit.robust {
        let before = fit.ranking.preferred(fit.mean)?;
        return Some(format!(
            "The {name} are a {} distribution by their middle 98 %, which passes {:.0} % of tests; by all values {} passes {:.0} %, because {:.2} % of them are of another kind.",
            taken.name,
            percent(taken),
            before.name,
            percent(before),
            100.0 * robust.alien
        ));
    }
    (taken.subsamples.anderson_darling_passed < PASSED_MIN && fit.values >= 200).then(|| {
        format!(
            "No distribution explains the {name}: {}, the nearest, passes {:.0} % of tests on {} values each.",
            taken.name,
            percent(taken),
            taken.subsamples.size
        )
    })
}

/// The target as a server is asked for it (RFC 9112 section 3.2.1): the path of an absolute URL, as proxies
/// and scanners send it, and nothing for `*` or an authority, which are for other methods than GET.
fn origin_form(target: &str) -> Option<&str> {
    let path = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest.find('/').map_or("/", |at| &rest[at..]),
        _ => target,
    };
    path.starts_with('/').then_some(path)
}

/// Numbers of embedded objects of a page with their frequencies: the whole numbers around the mean.
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
    use super::*;
    use crate::site::Follower;

    #[test]
    fn targets_are_asked_for_in_origin_form() {
        let forms = ["/a?b=http://c/", "http://host/a", "https://host", "*", "host:443", "a"];
        let wanted = [Some("/a?b=http://c/"), Some("/a"), Some("/"), None, None, None];
        assert_eq!(forms.map(origin_form), wanted);
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
            views: Vec::new(),
            next: Vec::new(),
        };
        assert_eq!(variants(&page(4, &[])), [(0, 4.0)]);
        assert_eq!(variants(&page(4, &[4, 4])), [(2, 4.0)]);
        assert_eq!(variants(&page(4, &[4, 3, 2])), [(2, 3.0), (3, 1.0)]);
        assert_eq!(variants(&page(4, &[40])), [(1, 4.0)], "asked for again and again: once here");
    }
}
