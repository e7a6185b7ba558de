//! Each printed law drawn from, and fitted again: single laws by their place in the order, mixtures beside the single law.

use super::printed::{Printed, Statistics, Variable};
use crate::page::{Table, digits, percent};
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_traffic::fit::{
    Effort, Family, Model, Points, Trials, fit_mixture, fit_single, goodness, rank, standard_errors,
    subsamples,
};

/// Values in a subsample, and how many are tested.
const SUBSAMPLE: (usize, u32) = (200, 200);

/// Draws of a single law, fitted again.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleBack {
    pub name: &'static str,
    /// Values in a sample.
    pub size: usize,
    /// Samples.
    pub seeds: usize,
    /// In how many of them the law came first.
    pub first: usize,
    /// How far off each estimate is, in standard errors.
    pub errors_off: Vec<f64>,
    /// For each parameter, its estimates.
    pub parameters: Vec<Vec<f64>>,
    /// The means over samples.
    pub statistics: Statistics,
    /// The share of subsamples that pass.
    pub passed: f64,
}

/// Draws of a mixture, fitted by the mixture and by the single law of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureBack {
    pub name: &'static str,
    pub size: usize,
    pub seeds: usize,
    /// In how many samples the mixture's Anderson–Darling statistic was below that of every single law.
    pub first: usize,
    pub errors_off: Vec<f64>,
    /// For each weight and parameter, its estimates.
    pub parameters: Vec<Vec<f64>>,
    /// The mixture's statistics.
    pub mixture: Statistics,
    pub passed: f64,
    /// The single law's.
    pub single: Statistics,
    /// The single law's parameters, means over samples.
    pub single_parameters: Vec<f64>,
}

fn stream(seed: usize, number: u64) -> Stream {
    Seed(seed as u64).stream(Purpose::User, number)
}

fn draws(law: &Printed, size: usize, rng: &mut Stream) -> Vec<f64> {
    let law = law.distribution();
    (0..size).map(|_| law.sample(rng)).collect()
}

fn points(values: Vec<f64>) -> Points {
    Points::new(values).expect("draws are many and finite")
}

/// `seeds` samples of `size` values of the variable's single law.
pub fn single(variable: &Variable, size: usize, seeds: usize) -> SingleBack {
    let law = &variable.single.0;
    let family = law.parts()[0].1.family();
    let trials = Trials { mixtures: vec![], pairs_of_best: 0, subsamples: 0, ..Trials::default() };
    let mut found = SingleBack {
        name: variable.name,
        size,
        seeds,
        first: 0,
        errors_off: Vec::new(),
        parameters: vec![Vec::new(); variable.single_parameters().len()],
        statistics: Statistics::new(0.0, 0.0, 0.0),
        passed: 0.0,
    };
    let (mut statistics, mut passed) = (Vec::new(), 0.0);
    for seed in 1..=seeds {
        let mut rng = stream(seed, 1);
        let points = points(draws(law, size, &mut rng));
        let ranking = rank(&points, &trials, &mut rng);
        found.first += usize::from(ranking.candidates[0].name == family.name());
        let fit = fit_single(family, &points).expect("the law's own values fit it");
        let errors = standard_errors(&fit, &points);
        for (at, (told, truth)) in
            fit.parts()[0].1.parameters().iter().zip(variable.single_parameters()).enumerate()
        {
            found.parameters[at].push(*told);
            found.errors_off.extend(errors.parameters[0][at].map(|error| (told - truth).abs() / error));
        }
        statistics.push(Statistics::of(&goodness(&fit, &points)));
        passed += subsamples(&fit, &points, SUBSAMPLE.0, SUBSAMPLE.1, &mut rng).anderson_darling_passed;
    }
    SingleBack { statistics: Statistics::mean(&statistics), passed: passed / seeds as f64, ..found }
}

/// The weights and parameters of a model, in order.
fn numbers(model: &Model) -> Vec<f64> {
    let part = |(weight, law): &(f64, _)| -> Vec<f64> {
        let law: &farfield_traffic::fit::Component = law;
        std::iter::once(*weight).chain(law.parameters().iter().copied()).collect()
    };
    model.parts().iter().flat_map(part).collect()
}

/// `seeds` samples of `size` values of the variable's mixture.
pub fn mixture(variable: &Variable, size: usize, seeds: usize) -> MixtureBack {
    let law = &variable.mixture.0;
    let families: Vec<Family> = law.parts().iter().map(|(_, part)| part.family()).collect();
    let single_family = variable.single.0.parts()[0].1.family();
    let effort = Effort { steps: 2_000, ..Effort::default() };
    let truth = numbers(law);
    let mut parameters = vec![Vec::new(); truth.len()];
    let (mut errors_off, mut own, mut singles, mut passed, mut first) =
        (Vec::new(), Vec::new(), Vec::new(), 0.0, 0);
    let mut single_parameters = vec![0.0; variable.single_parameters().len()];
    for seed in 1..=seeds {
        let mut rng = stream(seed, 2);
        let all = points(draws(law, size, &mut rng));
        let fit = fit_mixture(&families, &all, effort, &mut rng).expect("some start holds together").model;
        let errors = standard_errors(&fit, &all);
        let errors: Vec<Option<f64>> = errors
            .weights
            .iter()
            .zip(&errors.parameters)
            .flat_map(|(weight, parameters)| std::iter::once(*weight).chain(parameters.iter().copied()))
            .collect();
        for (at, ((told, truth), error)) in numbers(&fit).iter().zip(&truth).zip(errors).enumerate() {
            parameters[at].push(*told);
            errors_off.extend(error.map(|error| (told - truth).abs() / error));
        }
        own.push(Statistics::of(&goodness(&fit, &all)));
        passed += subsamples(&fit, &all, SUBSAMPLE.0, SUBSAMPLE.1, &mut rng).anderson_darling_passed;
        // Single laws are for values above 0.
        let above = points(draws(law, size, &mut stream(seed, 2)).into_iter().filter(|x| *x > 0.0).collect());
        let least = Family::ALL.iter().filter_map(|family| fit_single(*family, &above).ok());
        let least =
            least.map(|model| goodness(&model, &above).anderson_darling).fold(f64::INFINITY, f64::min);
        first += usize::from(own[own.len() - 1].anderson_darling < least);
        let single = fit_single(single_family, &above).expect("values above 0 fit it");
        singles.push(Statistics::of(&goodness(&single, &above)));
        for (sum, value) in single_parameters.iter_mut().zip(single.parts()[0].1.parameters()) {
            *sum += value / seeds as f64;
        }
    }
    MixtureBack {
        name: variable.name,
        size,
        seeds,
        first,
        errors_off,
        parameters,
        mixture: Statistics::mean(&own),
        passed: passed / seeds as f64,
        single: Statistics::mean(&singles),
        single_parameters,
    }
}

/// `4.61 (4.58 to 4.63)`: the mean of estimates, and their range.
fn estimates(values: &[f64]) -> String {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() == 1 {
        digits(mean)
    } else {
        format!("{} ({} to {})", digits(mean), digits(least), digits(most))
    }
}

/// Single laws that came back.
pub fn single_table(singles: &[SingleBack]) -> Table {
    let heads =
        ["variable", "values", "first", "parameters that came back", "λ²", "AD", "CVM", "subsamples passed"];
    let mut table = Table::new(
        "Draws of the single laws, fitted again: in how many samples the law came first of the seven or eight that can have such \
         values; the mean and the range of its estimates (of mean and shape, of shape and scale, of μ and σ); means of the \
         statistics.",
        &heads,
    );
    for found in singles {
        let [l, a, c] = found.statistics.cells();
        let parameters: Vec<String> = found.parameters.iter().map(|values| estimates(values)).collect();
        table.push([
            found.name.to_owned(),
            found.size.to_string(),
            format!("{} of {}", found.first, found.seeds),
            parameters.join("; "),
            l,
            a,
            c,
            percent(found.passed),
        ]);
    }
    table
}

/// Mixtures that came back.
pub fn mixture_table(mixtures: &[MixtureBack]) -> Table {
    let heads = [
        "variable",
        "values",
        "AD below every single law",
        "weights and parameters that came back",
        "λ²",
        "AD",
        "CVM",
        "subsamples passed",
    ];
    let mut table = Table::new(
        "Draws of the mixtures, fitted again by the same mixture: each part's weight and parameters (the exponential law's is \
         its mean).",
        &heads,
    );
    for found in mixtures {
        let [l, a, c] = found.mixture.cells();
        let parameters: Vec<String> = found.parameters.iter().map(|values| estimates(values)).collect();
        table.push([
            found.name.to_owned(),
            found.size.to_string(),
            format!("{} of {}", found.first, found.seeds),
            parameters.join("; "),
            l,
            a,
            c,
            percent(found.passed),
        ]);
    }
    table
}

/// Draws of the mixtures under the single law, beside what is printed for it.
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
        "Draws of the mixtures, fitted by the table's single law: its parameters and λ² beside the printed ones, and how many values \
         would give the printed AD and CVM, which grow with their number. Were the mixture the truth, both numbers would agree.",
        &heads,
    );
    for (variable, found) in variables.iter().zip(mixtures) {
        let joined =
            |values: &[f64]| values.iter().map(|value| digits(*value)).collect::<Vec<_>>().join("; ");
        let printed = variable.single.1;
        let values = |printed: f64, found_statistic: f64| {
            format!("{:.0}", found.size as f64 * printed / found_statistic)
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
