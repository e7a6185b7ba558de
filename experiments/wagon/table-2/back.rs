//! Each printed distribution drawn from, and fitted again: single distributions by their place in the order,
//! mixtures beside the single distribution.

use super::printed::{Printed, Statistics, Variable};
use crate::page::{Table, digits, percent};
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_fit::{
    Component, Effort, Family, Model, Points, Trials, fit_mixture, fit_single, goodness, rank,
    standard_errors, subsamples,
};

/// Values in a subsample, and how many are tested.
const SUBSAMPLE: (usize, u32) = (200, 200);

/// Draws of a distribution, fitted again by distributions of its families.
#[derive(Debug, Clone, PartialEq)]
pub struct Back {
    pub name: &'static str,
    /// Values in a sample.
    pub size: usize,
    /// Samples.
    pub seeds: usize,
    /// In how many of them the distribution came first: a single distribution in the ranking, a mixture by an
    /// Anderson–Darling statistic below that of every single distribution.
    pub first: usize,
    /// The error of each estimate, in standard errors.
    pub errors_off: Vec<f64>,
    /// For each parameter, of a mixture for each weight too, its estimates.
    pub estimates: Vec<Vec<f64>>,
    /// Those of each sample.
    statistics: Vec<Statistics>,
    /// For each sample, the share of subsamples that pass.
    passed: Vec<f64>,
}

/// Draws of a mixture, fitted by the mixture and by the single distribution of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureBack {
    /// The mixture's fit.
    pub own: Back,
    /// The single distribution's statistics, means over samples.
    pub single: Statistics,
    /// The single distribution's parameters, means over samples.
    pub single_parameters: Vec<f64>,
}

/// An estimate, with its standard error where that is known.
type Estimate = (f64, Option<f64>);

impl Back {
    /// Nothing yet of a distribution with so many parameters.
    fn new(name: &'static str, size: usize, seeds: usize, parameters: usize) -> Back {
        Back {
            name,
            size,
            seeds,
            first: 0,
            errors_off: Vec::new(),
            estimates: vec![Vec::new(); parameters],
            statistics: Vec::new(),
            passed: Vec::new(),
        }
    }

    /// Of samples with these statistics and shares of subsamples that pass.
    #[cfg(test)]
    pub fn known(first: usize, errors_off: Vec<f64>, samples: &[(Statistics, f64)]) -> Back {
        let (statistics, passed) = samples.iter().copied().unzip();
        let none = Back::new("clicks", 4_000, samples.len(), 0);
        Back { first, errors_off, statistics, passed, ..none }
    }

    /// Adds a sample: `fit` to its `points`, which estimates what in `truth` the distribution has.
    fn add(&mut self, fit: &Model, estimates: &[Estimate], truth: &[f64], points: &Points, rng: &mut Stream) {
        for (at, ((estimate, error), truth)) in estimates.iter().zip(truth).enumerate() {
            self.estimates[at].push(*estimate);
            self.errors_off.extend(error.map(|error| (estimate - truth).abs() / error));
        }
        self.statistics.push(Statistics::of(&goodness(fit, points)));
        let (size, count) = SUBSAMPLE;
        self.passed.push(subsamples(fit, points, size, count, rng).anderson_darling_passed);
    }

    /// The means over samples.
    pub fn statistics(&self) -> Statistics {
        Statistics::mean(&self.statistics)
    }

    /// The share of all subsamples that pass.
    pub fn passed(&self) -> f64 {
        self.passed.iter().sum::<f64>() / self.seeds as f64
    }

    fn cells(&self) -> [String; 8] {
        let [l, a, c] = self.statistics().cells();
        let estimates: Vec<String> = self.estimates.iter().map(|values| mean_and_range(values)).collect();
        [
            self.name.to_owned(),
            self.size.to_string(),
            format!("{} of {}", self.first, self.seeds),
            estimates.join("; "),
            l,
            a,
            c,
            percent(self.passed()),
        ]
    }
}

fn stream(seed: usize, number: u64) -> Stream {
    Seed(seed as u64).stream(Purpose::User, number)
}

fn draws(distribution: &Printed, size: usize, rng: &mut Stream) -> Vec<f64> {
    let distribution = distribution.distribution();
    (0..size).map(|_| distribution.sample(rng)).collect()
}

fn points(values: Vec<f64>) -> Points {
    Points::new(values).expect("draws are many and finite")
}

/// `seeds` samples of `size` values of the variable's single distribution.
pub fn single(variable: &Variable, size: usize, seeds: usize) -> Back {
    let distribution = &variable.single.0;
    let family = distribution.parts()[0].1.family();
    let mut trials = Trials::singles();
    trials.subsamples = 0;
    let truth = variable.single_parameters();
    let mut back = Back::new(variable.name, size, seeds, truth.len());
    for seed in 1..=seeds {
        let mut rng = stream(seed, 1);
        let points = points(draws(distribution, size, &mut rng));
        let ranking = rank(&points, &trials, &mut rng);
        back.first += usize::from(ranking.candidates[0].name == family.name());
        let fit = fit_single(family, &points).expect("the distribution's own values fit it");
        let errors = standard_errors(&fit, &points).parameters.concat();
        let estimates: Vec<Estimate> = fit.parts()[0].1.parameters().iter().copied().zip(errors).collect();
        back.add(&fit, &estimates, truth, &points, &mut rng);
    }
    back
}

/// The weights and parameters of a model, in order.
fn numbers(model: &Model) -> Vec<f64> {
    let part = |(weight, distribution): &(f64, Component)| -> Vec<f64> {
        std::iter::once(*weight).chain(distribution.parameters().iter().copied()).collect()
    };
    model.parts().iter().flat_map(part).collect()
}

/// The weights and parameters of a model, with their standard errors.
fn estimates(model: &Model, points: &Points) -> Vec<Estimate> {
    let errors = standard_errors(model, points);
    let errors = errors
        .weights
        .iter()
        .zip(&errors.parameters)
        .flat_map(|(weight, parameters)| std::iter::once(*weight).chain(parameters.iter().copied()));
    numbers(model).into_iter().zip(errors).collect()
}

/// `seeds` samples of `size` values of the variable's mixture.
pub fn mixture(variable: &Variable, size: usize, seeds: usize) -> MixtureBack {
    let distribution = &variable.mixture.0;
    let families: Vec<Family> = distribution.parts().iter().map(|(_, part)| part.family()).collect();
    let single_family = variable.single.0.parts()[0].1.family();
    let effort = Effort { steps: 2_000, ..Effort::default() };
    let truth = numbers(distribution);
    let mut own = Back::new(variable.name, size, seeds, truth.len());
    let mut singles = Vec::new();
    let mut single_parameters = vec![0.0; variable.single_parameters().len()];
    for seed in 1..=seeds {
        let mut rng = stream(seed, 2);
        let values = draws(distribution, size, &mut rng);
        // Single distributions are for values above 0.
        let above = points(values.iter().copied().filter(|x| *x > 0.0).collect());
        let all = points(values);
        let fit = fit_mixture(&families, &all, effort, &mut rng).expect("some start holds together").model;
        own.add(&fit, &estimates(&fit, &all), &truth, &all, &mut rng);
        let least = Family::ALL.iter().filter_map(|family| fit_single(*family, &above).ok());
        let least =
            least.map(|model| goodness(&model, &above).anderson_darling).fold(f64::INFINITY, f64::min);
        own.first += usize::from(own.statistics[own.statistics.len() - 1].anderson_darling < least);
        let single = fit_single(single_family, &above).expect("values above 0 fit it");
        singles.push(Statistics::of(&goodness(&single, &above)));
        for (sum, value) in single_parameters.iter_mut().zip(single.parts()[0].1.parameters()) {
            *sum += value / seeds as f64;
        }
    }
    MixtureBack { own, single: Statistics::mean(&singles), single_parameters }
}

/// `4.61 (4.58 to 4.63)`: the mean of estimates, and their range.
fn mean_and_range(values: &[f64]) -> String {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() == 1 {
        digits(mean)
    } else {
        format!("{} ({} to {})", digits(mean), digits(least), digits(most))
    }
}

/// Single distributions that came back.
pub fn single_table(singles: &[Back]) -> Table {
    let heads =
        ["variable", "values", "first", "parameters that came back", "λ²", "AD", "CVM", "subsamples passed"];
    let mut table = Table::new(
        "Draws of the single distributions, fitted again: in how many samples the distribution came first of the seven or eight that can have such \
         values; the mean and the range of its estimates (of mean and shape, of shape and scale, of μ and σ); means of the \
         statistics.",
        &heads,
    );
    singles.iter().for_each(|back| table.push(back.cells()));
    table
}

/// Mixtures that came back.
pub fn mixture_table(mixtures: &[MixtureBack]) -> Table {
    let heads = [
        "variable",
        "values",
        "AD below every single distribution",
        "weights and parameters that came back",
        "λ²",
        "AD",
        "CVM",
        "subsamples passed",
    ];
    let mut table = Table::new(
        "Draws of the mixtures, fitted again by the same mixture: each part's weight and parameters (the exponential distribution's is \
         its mean).",
        &heads,
    );
    mixtures.iter().for_each(|back| table.push(back.own.cells()));
    table
}

/// Draws of the mixtures under the single distribution, beside what is printed for it.
pub fn crossed_table(variables: &[Variable], mixtures: &[MixtureBack]) -> Table {
    let heads = [
        "variable",
        "printed parameters",
        "came out",
        "printed λ²",
        "came out",
        "values for the printed AD",
        "for the printed CVM",
    ];
    let mut table = Table::new(
        "Draws of the mixtures, fitted by the table's single distribution: its parameters and λ² beside the printed ones, and how many values \
         would give the printed AD and CVM, which grow with their number. Were the mixture the truth, both numbers would agree.",
        &heads,
    );
    for (variable, found) in variables.iter().zip(mixtures) {
        let joined =
            |values: &[f64]| values.iter().map(|value| digits(*value)).collect::<Vec<_>>().join("; ");
        let printed = variable.single.1;
        let values = |printed: f64, found_statistic: f64| {
            format!("{:.0}", found.own.size as f64 * printed / found_statistic)
        };
        table.push([
            variable.name.to_owned(),
            joined(variable.single_parameters()),
            joined(&found.single_parameters),
            digits(printed.lambda_squared),
            digits(found.single.lambda_squared),
            values(printed.anderson_darling, found.single.anderson_darling),
            values(printed.cramer_von_mises, found.single.cramer_von_mises),
        ]);
    }
    table
}
