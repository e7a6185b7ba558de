//! The analysis held against an example of a textbook, and its intervals against what was planted.

use super::*;
use crate::sweep::points::full;
use farfield_base::random::{Purpose, Seed};
use rand_core::Rng;

fn factors(texts: &[&str]) -> Vec<Factor> {
    texts.iter().map(|text| text.parse().expect("a factor")).collect()
}

fn share(found: &MetricEffects, origin: &Origin) -> f64 {
    found.variation.iter().find(|row| row.from == *origin).expect("a row").share
}

/// Jain 1991, example 18.1: memory and cache, two values each, three runs; the sums of squares are 5547,
/// 1083, 300 and 102 of 7032, the last of errors, of which blocks are a part here.
#[test]
fn sums_of_squares_are_those_of_the_textbook() {
    let factors = factors(&["memory=4,16", "cache=1,2"]);
    let points = full(&factors);
    // In the order of the points: 4 and 1, 4 and 2, 16 and 1, 16 and 2.
    let rows = [[15.0, 18.0, 12.0], [25.0, 28.0, 19.0], [45.0, 48.0, 51.0], [75.0, 75.0, 81.0]];
    let numbers = rows.map(Vec::from).to_vec();
    let found = effects(
        "speed",
        Scale::Difference,
        &MetricTable { factors: &factors, points: &points, numbers, least: 0.0 },
    );
    let (memory, cache) = ("memory".to_owned(), "cache".to_owned());
    let near =
        |share: f64, squares: f64| assert!((share * 7032.0 - squares).abs() < 1e-6, "{share} {squares}");
    near(share(&found, &Origin::Factor(memory.clone())), 5547.0);
    near(share(&found, &Origin::Factor(cache.clone())), 1083.0);
    near(share(&found, &Origin::Interaction(memory, cache)), 300.0);
    near(share(&found, &Origin::Blocks) + share(&found, &Origin::Error), 102.0);
    // Twice the effects of the book, which are of ±1: 21.5, 9.5, and 5 for both.
    let by: Vec<f64> = found.changes.iter().map(|change| change.by).collect();
    assert_eq!(by, [43.0, 19.0, 20.0]);
    assert!(found.changes.iter().all(|change| change.differs), "{:?}", found.changes);
}

/// The F test of the textbook's tables: 4.96 is the 95 % point of F with 1 and 10 degrees of freedom.
#[test]
fn p_values_are_those_of_the_table() {
    let distribution = FisherSnedecor::new(1.0, 10.0).expect("F");
    assert!((distribution.sf(4.965) - 0.05).abs() < 1e-4);
}

#[test]
fn numbers_without_variation_have_no_effects() {
    let factors = factors(&["a=1,2"]);
    let points = full(&factors);
    let numbers = vec![vec![0.0, 0.0], vec![0.0, 0.0]];
    let found = effects(
        "errors",
        Scale::Difference,
        &MetricTable { factors: &factors, points: &points, numbers, least: 0.0 },
    );
    assert!(found.variation.is_empty() && found.changes.iter().all(|change| !change.differs));
    let numbers = vec![vec![0.0_f64.ln(), 0.0], vec![0.0, 0.0]];
    let found = effects(
        "rate",
        Scale::Ratio,
        &MetricTable { factors: &factors, points: &points, numbers, least: 0.0 },
    );
    assert_eq!(found.unknown.as_deref(), Some("a run has 0 for it, which has no ratio"));
}

/// Two of a thousand requests failed in each run of one value and none of the other: by as much as that, such
/// numbers vary by themselves.
#[test]
fn equal_shares_are_not_exact() {
    let factors = factors(&["a=1,2"]);
    let points = full(&factors);
    let differs = |least: f64| {
        let numbers = vec![vec![0.0; 3], vec![0.002; 3]];
        let table = MetricTable { factors: &factors, points: &points, numbers, least };
        let found = effects("errors", Scale::Difference, &table);
        assert_eq!(found.variation[0].p_value.expect("of a factor") < 0.05, found.changes[0].differs);
        found.changes[0].differs
    };
    assert_eq!([differs(0.0), differs(0.002 / 1000.0)], [true, false]);
}

/// In a thousand designs of three by two values in four blocks, with effects of both factors, of both
/// together and of blocks, and normal errors, 93 to 97 % of the intervals of each change contain what was
/// planted; where nothing was planted, all lines together are wrong in at most 6 % of them.
#[test]
fn intervals_contain_the_effects_that_were_planted() {
    let factors = factors(&["a=1,2,3", "b=x,y"]);
    let points = full(&factors);
    let planted = [[0.0, 0.3], [0.5, 0.8], [1.0, 1.7]];
    let true_changes = [0.5, 1.2, 0.433_333_333, 0.0, 0.4].map(f64::exp_m1);
    let (designs, mut covered, mut false_alarms) = (1000, [0; 5], 0);
    for seed in 0..designs {
        let mut stream = Seed(seed).stream(Purpose::User, 7);
        let mut normal =
            || (0..12).map(|_| (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
        let blocks: Vec<f64> = (0..4).map(|_| normal()).collect();
        let mut table = |effect: &dyn Fn(usize, usize) -> f64| {
            let cell = |point: usize| (point / 2, point % 2);
            let mut numbers = Vec::new();
            for point in 0..6 {
                let (a, b) = cell(point);
                numbers.push(blocks.iter().map(|block| effect(a, b) + block + 0.2 * normal()).collect());
            }
            MetricTable { factors: &factors, points: &points, numbers, least: 0.0 }
        };
        let found = effects("p99", Scale::Ratio, &table(&|a, b| planted[a][b]));
        for (at, (change, expected)) in found.changes.iter().zip(true_changes).enumerate() {
            covered[at] += u32::from((change.low..=change.high).contains(&expected));
        }
        let nothing = effects("p99", Scale::Ratio, &table(&|_, _| 0.0));
        false_alarms += u32::from(nothing.changes.iter().any(|change| change.differs));
    }
    for covered in covered {
        let share = f64::from(covered) / designs as f64;
        assert!((0.93..=0.97).contains(&share), "{share}");
    }
    assert!(f64::from(false_alarms) / designs as f64 <= 0.06, "{false_alarms}");
}
