//! NASA's requests in each second of July and August 1995, which nobody here made: the estimators of the
//! Hurst parameter agree within their intervals, or the report says why not.

use farfield_base::Duration;
use farfield_fit::counts::RequestCounts;
use farfield_log::decompressed;
use std::io::Read;
use std::path::Path;

/// The counts from the first second on, `seconds` of them; `None`, and the test is skipped, where there are
/// none.
fn counts(test: &str, seconds: usize) -> Option<Vec<f64>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/rates");
    let folder = std::env::var_os("FARFIELD_RATES").map_or(beside, Into::into);
    let Ok(file) = std::fs::File::open(folder.join("nasa_jul_aug95_per_second.tbz2")) else {
        farfield_testkit::skip(test, "there is no folder of rates, see FARFIELD_RATES");
        return None;
    };
    let mut text = Vec::new();
    // One file in an archive: a block of 512 bytes, and then numbers of one to three digits.
    let mut archive = decompressed(file).expect("it opens").take(512 + 4 * seconds as u64);
    archive.read_to_end(&mut text).expect("it reads");
    let numbers = text[512..].split(|byte| *byte == b' ').take(seconds);
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok().and_then(|text| text.trim().parse().ok());
    Some(numbers.map(|digits| number(digits).expect("a number")).collect())
}

/// A row for each estimator, for the page.
fn print(what: &str, counts: &RequestCounts) {
    for reading in &counts.hurst {
        println!("{what}: {} {:.3} {:?}", reading.method, reading.hurst, reading.interval);
    }
    println!("{what}: {:?} {:?}", counts.course, counts.disagreement());
}

#[test]
fn the_estimators_agree_on_nasas_counts_or_say_why_not() {
    const HOUR: usize = 3_600;
    let Some(week) = counts("the_estimators_agree_on_nasas_counts_or_say_why_not", 7 * 24 * HOUR) else {
        return;
    };
    let second = Duration::from_secs(1);
    let of = |series: &[f64]| RequestCounts::of(second, series).expect("a long series");

    // Four hours of a working day, 6 July from noon on, over which the rate hardly moves.
    let steady = of(&week[(5 * 24 + 12) * HOUR..(5 * 24 + 16) * HOUR]);
    print("four hours", &steady);
    assert_eq!((steady.hurst.len(), steady.agree, steady.disagreement()), (5, Some(true), None));
    for reading in &steady.hurst {
        assert!(reading.hurst > 0.6 && reading.hurst < 0.95, "{reading:?}");
    }

    // Three days and nights, 5 to 7 July: several times as many requests by day as by night.
    let all = of(&week[4 * 24 * HOUR..]);
    print("three days", &all);
    assert!(all.course[1] > 2.0 * all.course[0], "{:?}", all.course);
    let why = all.disagreement().expect("a day's course is no self-similar process");
    assert!(why.contains("daily course") && all.caveats.contains(&why), "{why}");
}
