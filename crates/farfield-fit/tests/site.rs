//! Requests of generated sites, as the estimators see them.

use farfield_base::random::Seed;
use farfield_fit::locality::StackDistances;
use farfield_testkit::draws::stream;
use farfield_testkit::keys;
use farfield_traffic::site::{Preset, locality};
use statrs::distribution::{ContinuousCDF, LogNormal};

#[test]
fn surge_requests_have_its_stack_distances_and_its_popularity() {
    let site = &Preset::Surge.model().generate(Seed(1)).expect("a site");
    let distribution =
        site.distances().expect("a distribution").resolve(&mut keys::no_files).expect("no file");
    let asked = locality::sequence(site, &distribution, locality::SEQUENCE, &mut stream(1));
    let counts = |asked: &[u32]| {
        let mut counts = vec![0u32; site.pages().len()];
        asked.iter().for_each(|page| counts[*page as usize] += 1);
        counts
    };
    let whole = counts(&asked);
    for (count, page) in whole.iter().zip(site.pages()) {
        assert!((f64::from(*count) - page.weight * locality::SEQUENCE as f64).abs() <= 1.1);
    }
    // A window in the middle has the same mixture, but for what a begin of a round that is elsewhere brings
    // in.
    let window = counts(&asked[10 * locality::ROUND..14 * locality::ROUND]);
    for (count, all) in window.iter().zip(&whole) {
        let eighth = f64::from(*all) / 8.0;
        assert!((f64::from(*count) - eighth).abs() <= 4.0 + 0.1 * eighth, "{count} of {all}");
    }
    let mut stack = StackDistances::new(whole.len());
    let mut distances: Vec<u32> = asked.iter().filter_map(|page| stack.take(*page)).collect();
    distances.sort_unstable();
    let lognormal = LogNormal::new(1.5, 0.8).expect("good parameters");
    let n = distances.len() as f64;
    let off = (1..40).map(|k| {
        let found = distances.partition_point(|distance| *distance <= k) as f64 / n;
        (found - lognormal.cdf(f64::from(k) + 0.5)).abs()
    });
    let off = off.fold(0.0, f64::max);
    assert!(off < 0.06, "{off}");
}
