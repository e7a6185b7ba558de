//! WAGON's table 2: distributions of clicks, think times and transfer times, single and mixed. The data
//! behind it is not to be had, so the printed distributions are drawn from, and what the fitting makes of the
//! draws is compared with the table.
//!
//! - [`printed`]: the table, and what its numbers say of each other;
//! - [`back`]: each printed distribution drawn from, and fitted again;
//! - [`rounded`]: what whole numbers of clicks do to the statistics.

mod back;
mod printed;
mod rounded;

use crate::page::{Claim, Page, digits};
use crate::study::setting::Setting;
use anyhow::Result;
use back::{Back, MixtureBack};
use farfield_report::chart::{Axis, Chart, Mark, Series};
use printed::{Printed, Variable};
use rounded::Rounded;

/// Runs the study.
pub fn study(setting: &Setting) -> Result<Page> {
    let sizes: &[usize] = setting.pick(&[1_000, 4_000], &[1_000, 10_000, 100_000]);
    let seeds = setting.pick(2, 5);
    let mixture_size = setting.pick(4_000, 20_000);
    let mixture_seeds = setting.pick(1, 3);
    let variables = printed::variables();
    let singles: Vec<Back> = variables
        .iter()
        .flat_map(|variable| sizes.iter().map(move |size| back::single(variable, *size, seeds)))
        .collect();
    let mixtures: Vec<MixtureBack> =
        variables.iter().map(|variable| back::mixture(variable, mixture_size, mixture_seeds)).collect();
    let rounded = rounded::rounded(&variables[0], mixture_size);
    Ok(Page {
        title: "Distributions of clicks, think times and transfer times: drawn from, and fitted again".to_owned(),
        source: "Liu, Niclausse, Jalpa-Villanueva and Barbier 1999, \"Traffic model and performance evaluation of Web \
                 servers\", table 2 and section 2.3".to_owned(),
        saw: SAW.to_owned(),
        here: here(mixture_size),
        claims: claims(&variables, &singles, &mixtures),
        noticed: noticed(&variables, &mixtures, &rounded),
        tables: vec![
            printed::table(&variables),
            back::single_table(&singles),
            back::mixture_table(&mixtures),
            back::crossed_table(&variables, &mixtures),
            rounded::table(&rounded),
        ],
        charts: vec![chart(&variables)],
    })
}

const SAW: &str = "\
From a day of a proxy's log: clicks of a session are best explained by an inverse Gaussian distribution, idle times by a Weibull distribution,
transfer times by a lognormal one. Mixtures of two distributions have much smaller statistics, and pass tests on subsamples in most
cases. The table prints mean, parameters, λ², Anderson–Darling (AD) and Cramér–von Mises (CVM) statistics for each.";

fn here(size: usize) -> String {
    format!(
        "The log is not to be had. So values are drawn from each printed distribution, and `farfield_fit` is asked for the distributions \
         again: all families for the order of single distributions, the mixture of the printed families for mixtures (of {size} values, EM \
         from all its starts). AD and CVM grow with the number of values, which the paper does not print; λ² does not.\n\n\
         The mixture for clicks has a normal part with values below 0, {} of all; the table says nothing of them. The mixture is \
         fitted to them as they are drawn, since it explains them; single distributions, which cannot, are fitted to the values above 0. The \
         scale of the Weibull part of the idle times is not printed; that of the single distribution is taken.",
        crate::page::percent(printed::below_zero()),
    )
}

fn claims(variables: &[Variable], singles: &[Back], mixtures: &[MixtureBack]) -> Vec<Claim> {
    let mut claims = vec![first_in_order(singles), come_back(singles, mixtures)];
    let smaller =
        mixtures.iter().filter(|found| found.own.statistics().is_smaller_than(&found.single)).count();
    claims.push(Claim::new(
        "on draws from the mixtures, all three statistics of the mixture are smaller than those of the single distribution",
        format!("{smaller} of {} variables", mixtures.len()),
        smaller == mixtures.len(),
    ));
    let passed = mixtures.iter().map(|found| found.own.passed()).fold(f64::INFINITY, f64::min);
    claims.push(Claim::new(
        "most subsamples pass the Anderson–Darling test with the mixture",
        format!("{:.0} % of subsamples of 200 at worst", 100.0 * passed),
        passed > 0.5,
    ));
    let smaller = variables.iter().filter(|v| v.mixture.1.is_smaller_than(&v.single.1)).count();
    claims.push(Claim::new(
        "in the table itself, all three statistics of each mixture are smaller than those of the single distribution",
        format!("{smaller} of {} variables", variables.len()),
        smaller == variables.len(),
    ));
    let off = |variable: &Variable| variable.single.0.distribution().mean() / variable.mean - 1.0;
    let worst = variables
        .iter()
        .map(off)
        .fold(0.0, |worst: f64, off| if off.abs() > worst.abs() { off } else { worst });
    claims.push(Claim::new(
        "the printed single distributions have the printed means, within 5 %",
        format!("off by {:+.0} % at worst", 100.0 * worst),
        worst.abs() <= 0.05,
    ));
    claims
}

fn first_in_order(singles: &[Back]) -> Claim {
    let (first, of) =
        singles.iter().fold((0, 0), |(first, of), found| (first + found.first, of + found.seeds));
    let large = singles.iter().filter(|found| found.size >= 4_000);
    Claim::new(
        "the distribution that values were drawn from comes first among the single distributions (4,000 values and more)",
        format!("{first} of {of} samples, all sizes"),
        large.clone().count() > 0 && large.clone().all(|found| found.first == found.seeds),
    )
}

/// Of many estimates, one in twenty is further off than 1.96 standard errors, and hardly any than four.
fn come_back(singles: &[Back], mixtures: &[MixtureBack]) -> Claim {
    let of_singles = singles.iter().flat_map(|found| &found.errors_off);
    let off: Vec<f64> =
        of_singles.chain(mixtures.iter().flat_map(|found| &found.own.errors_off)).copied().collect();
    let worst = off.iter().copied().fold(0.0, f64::max);
    let inside = off.iter().filter(|off| **off <= 1.96).count() as f64 / off.len() as f64;
    Claim::new(
        "the printed parameters come back within four standard errors",
        format!(
            "{} estimates, {:.0} % of them within 1.96 standard errors, {worst:.1} at worst",
            off.len(),
            100.0 * inside
        ),
        worst <= 4.0,
    )
}

fn noticed(variables: &[Variable], mixtures: &[MixtureBack], rounded: &Rounded) -> String {
    let idle = &variables[1];
    let distribution = &idle.single.0;
    let below = distribution.cdf_and_tail(2.0).0;
    let above = distribution.cdf_and_tail(600.0).1;
    let needed = printed::scale_for_the_mean();
    format!(
        "What the table's numbers say of each other: the distributions of clicks and of transfer times have the printed means. The Weibull \
         distribution of the idle times has a mean of {:.0} s, not {} s, and {} of its values are below the threshold T_min = 2 s that separates \
         idle times from the requests of a page, {} above T_max = 10 min: no sample that was cut there follows it, which is what \
         its AD of {} says too. The mixture beside it would have the printed mean with a Weibull scale of {} s. For transfer times \
         the mixture's λ² is larger than the single distribution's, though both other statistics are smaller.\n\n\
         Were the paper's values draws of the printed mixtures, the single distributions would come out as in the fourth table. For transfer \
         times they have μ {} and σ {}, where {} and {} are printed. The clicks' inverse Gaussian distribution has a shape of {} if the draws are \
         taken as they are, and of {} if they are made whole numbers from 1, as clicks are; {} is printed.\n\n\
         The clicks' λ² is large for either distribution. Part of that may be that clicks are whole numbers and the distributions are not: draws of the \
         printed inverse Gaussian distribution, rounded, have a λ² of {} and an AD of {} with {} values under that same distribution; under the \
         rounded distribution, which farfield compares counts with, {} and {}.",
        distribution.distribution().mean(),
        idle.mean,
        crate::page::percent(below),
        crate::page::percent(above),
        idle.single.1.anderson_darling,
        digits(needed),
        digits(mixtures[2].single_parameters[0]),
        digits(mixtures[2].single_parameters[1]),
        variables[2].single_parameters()[0],
        variables[2].single_parameters()[1],
        digits(mixtures[0].single_parameters[1]),
        digits(rounded.of_mixture[1]),
        variables[0].single_parameters()[1],
        digits(rounded.naive.lambda_squared),
        digits(rounded.naive.anderson_darling),
        rounded.size,
        digits(rounded.aware.lambda_squared),
        digits(rounded.aware.anderson_darling),
    )
}

/// The printed distributions' tails, single beside mixed.
fn chart(variables: &[Variable]) -> Chart {
    let tail = |distribution: &Printed| -> Vec<(f64, f64)> {
        let values = (-40..=160).map(|step| 10f64.powf(f64::from(step) / 40.0));
        values.map(|x| (x, distribution.cdf_and_tail(x).1)).filter(|(_, tail)| *tail > 1e-4).collect()
    };
    let curves = variables.iter().flat_map(|variable| {
        let curve = |distribution: &Printed, look, kind: &str| {
            Series::new(format!("{}, {kind}", variable.name), look, tail(distribution))
        };
        [curve(&variable.single.0, Mark::Line, "single"), curve(&variable.mixture.0, Mark::Dashes, "mixture")]
    });
    Chart::new(
        "The printed distributions: share of values above",
        Axis::logarithmic("clicks, or seconds"),
        Axis::logarithmic("share above"),
        curves.collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::State;
    use farfield_fit::Family;
    use printed::Statistics;

    fn single(first: usize, errors_off: Vec<f64>) -> Back {
        Back::known(first, errors_off, &[(Statistics::new(0.0, 1.0, 0.1), 0.95); 2])
    }

    fn mixture(own: Statistics, passed: f64) -> MixtureBack {
        MixtureBack {
            own: Back::known(1, vec![0.5], &[(own, passed)]),
            single: Statistics::new(0.1, 50.0, 5.0),
            single_parameters: vec![4.6, 4.2],
        }
    }

    fn judged(first: usize, off: f64, own: Statistics, passed: f64) -> Vec<bool> {
        let claims = claims(&printed::variables(), &[single(first, vec![off])], &[mixture(own, passed)]);
        claims.iter().map(|claim| claim.state == State::Holds).collect()
    }

    #[test]
    fn results_that_contradict_a_claim_fail_it() {
        let good = Statistics::new(0.0, 1.0, 0.1);
        assert_eq!(judged(2, 3.0, good, 0.9)[..4], [true; 4]);
        assert_eq!(judged(1, 3.0, good, 0.9)[..4], [false, true, true, true]);
        assert_eq!(judged(2, 4.1, good, 0.9)[..4], [true, false, true, true]);
        assert_eq!(judged(2, 3.0, Statistics::new(0.2, 1.0, 0.1), 0.9)[..4], [true, true, false, true]);
        assert_eq!(judged(2, 3.0, good, 0.4)[..4], [true, true, true, false]);
        // The table contradicts the text by its own numbers.
        assert_eq!(judged(2, 3.0, good, 0.9)[4..], [false, false]);
    }

    #[test]
    fn draws_of_a_printed_distribution_come_back() {
        let variables = printed::variables();
        let found = back::single(&variables[2], 4_000, 2);
        assert_eq!((found.first, found.errors_off.len()), (2, 4));
        assert!(found.errors_off.iter().all(|off| *off < 4.0), "{found:?}");
        assert_eq!(variables[2].single.0.parts()[0].1.family(), Family::Lognormal);
    }
}
