//! What the tests of this crate share: reading TOML, seeded streams, files in memory, and the statistics that
//! hold draws against theory.

#![allow(dead_code, reason = "each test file uses some of it")]

use farfield_base::random::{Purpose, Seed, Stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::io;
use std::path::Path;

/// Stream `number` of the tests' seed.
pub fn stream(number: u64) -> Stream {
    Seed(20_260).stream(Purpose::Arrivals, number)
}

#[derive(Serialize, Deserialize)]
struct Document<T> {
    key: T,
}

/// The value of `key = <text>`.
pub fn read<T: DeserializeOwned>(text: &str) -> T {
    try_read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The value of `key = <text>`, or the sentence that refuses it.
pub fn try_read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let document = toml::from_str::<Document<T>>(&format!("key = {text}"));
    document.map(|document| document.key).map_err(|error| error.message().to_owned())
}

/// Reads `text`, writes it, reads it again, and returns what was written: both must be the same value.
pub fn round_trip<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> String {
    let key: T = read(text);
    let written = toml::to_string(&Document { key }).unwrap_or_else(|error| panic!("{text}: {error}"));
    let again = toml::from_str::<Document<T>>(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
    assert_eq!(again.key, read::<T>(text), "written as {written}");
    written
}

/// Asserts that `text` is refused with a sentence that has all of `parts`.
pub fn refused<T: DeserializeOwned + Debug>(text: &str, parts: &[&str]) {
    let message = try_read::<T>(text).expect_err(text);
    for part in parts {
        assert!(message.contains(part), "{text}\nwas refused with: {message}\nwhich lacks: {part}");
    }
}

/// A loader without any file.
pub fn no_files(path: &Path) -> io::Result<Vec<u8>> {
    panic!("{} was opened", path.display())
}

/// A loader whose every file holds `text`.
pub fn holding(text: &str) -> impl FnMut(&Path) -> io::Result<Vec<u8>> {
    move |_| Ok(text.as_bytes().to_vec())
}

/// Mean and (unbiased) variance.
pub fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Asserts that `values` may follow `cdf`, by the test of Kolmogorov and Smirnov at a level of one in a
/// thousand (1.95 is that quantile of Kolmogorov's distribution). For a distribution with steps the level is
/// lower still.
pub fn follows(what: &str, mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let mut distance: f64 = 0.0;
    let mut at = 0;
    while at < values.len() {
        let value = values[at];
        let after = at + values[at..].partition_point(|v| *v <= value);
        let below = cdf(value.next_down());
        let up_to = cdf(value);
        distance = distance.max((below - at as f64 / n).abs()).max((up_to - after as f64 / n).abs());
        at = after;
    }
    assert!(distance * n.sqrt() < 1.95, "{what}: distance {distance} over {n} draws");
}
