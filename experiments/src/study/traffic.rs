//! WAGON's traffic, table 4: sessions that arrive, clicks and think times, walks on the site, random or all
//! at their means.
//!
//! - [`process`]: as a process alone, pages taking no time: days of it in seconds;
//! - [`run`]: as `farfield run` makes it on the simulated plane, over TCP and the paths of table 5.

pub mod process;
pub mod run;

use anyhow::{Context, Result};
use farfield_base::random::Seed;
use farfield_traffic::site::Preset;
use farfield_traffic::{Distribution, DistributionSpec, Site};

/// The distributions of table 4 at some rate, or constants of the same means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Sessions a second.
    pub rate: f64,
    /// Gaps, clicks and think times are constant.
    pub is_constant: bool,
}

impl Traffic {
    /// With the distributions of table 4.
    pub fn random(rate: f64) -> Traffic {
        Traffic { rate, is_constant: false }
    }

    /// With the means of the distributions of table 4 in their place.
    pub fn constant(rate: f64) -> Traffic {
        Traffic { rate, is_constant: true }
    }

    /// `[load]` of a scenario.
    pub fn load(&self) -> String {
        let rate = self.rate;
        let process = if self.is_constant { "constant" } else { "poisson" };
        format!(
            "[load]\nmodel = \"hybrid\"\narrivals = {{ process = \"{process}\", rate = \"{rate}/s\" }}\n\
             requests = {}\nthink = {}\n",
            self.clicks(),
            self.think()
        )
    }

    /// The distribution of clicks, as a scenario has it.
    fn clicks(&self) -> &'static str {
        match self.is_constant {
            true => "{ distribution = \"constant\", value = 5 }",
            false => "{ distribution = \"inverse-gaussian\", mean = 5, shape = 3 }",
        }
    }

    /// The distribution of think times: the constant is exp(3 + 1.1² / 2) s.
    fn think(&self) -> &'static str {
        match self.is_constant {
            true => "{ distribution = \"constant\", value = 36.78 }",
            false => "{ distribution = \"lognormal\", mu = 3, sigma = 1.1 }",
        }
    }
}

/// The distribution that a scenario writes as `text`.
fn distribution(text: &str) -> Result<Distribution> {
    let table: toml::Table = toml::from_str(&format!("value = {text}"))?;
    let value = table["value"].clone();
    let spec: DistributionSpec = value.try_into().with_context(|| format!("no distribution: {text}"))?;
    Ok(spec.resolve(&mut |_| unreachable!("no file is named"))?)
}

/// The site that WAGON ran on, generated.
pub fn site(seed: u64) -> Result<Site> {
    Preset::Wagon.model().generate(Seed(seed)).context("the preset makes no site")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_means_of_the_distributions() {
        let mean = |text: &str| distribution(text).unwrap().mean();
        for of in [Traffic::clicks, Traffic::think] {
            let (random, constant) = (mean(of(&Traffic::random(8.0))), mean(of(&Traffic::constant(8.0))));
            assert!((random / constant - 1.0).abs() < 1e-3, "{random} {constant}");
        }
    }
}
