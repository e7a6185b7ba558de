//! Generated sites against the numbers that the papers print, over several seeds where one site is too few,
//! and the orders in which their pages are asked for. Tolerances are five standard errors unless stated
//! otherwise.

use farfield_base::random::Seed;
use farfield_base::{Bytes, Duration};
use farfield_testkit::draws::{follows, stream};
use farfield_testkit::keys;
use farfield_testkit::keys::{read, refused, round_trip};
use farfield_traffic::request::{Order, RequestSetSpec};
use farfield_traffic::site::walk::TransitionTable;
use farfield_traffic::site::{Object, ObjectKind, PageLink, Preset, Site, SiteFigures, SitePage, View};
use statrs::distribution::{ContinuousCDF, LogNormal};
use std::collections::BTreeMap;

fn sites(preset: Preset, count: u64) -> Vec<Site> {
    (1..=count).map(|seed| preset.model().generate(Seed(seed)).expect("a site")).collect()
}

fn mean_of(figures: &[SiteFigures], of: impl Fn(&SiteFigures) -> f64) -> f64 {
    figures.iter().map(of).sum::<f64>() / figures.len() as f64
}

fn near(what: &str, found: f64, printed: f64, within: f64) {
    assert!((found - printed).abs() <= within, "{what}: {found}, the paper has {printed}, within {within}");
}

/// Weights, most popular first, are exactly those of Zipf's law.
fn has_zipf(site: &Site, exponent: f64) {
    let mut weights: Vec<f64> = site.pages().iter().map(|page| page.weight).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = weights.iter().sum();
    let all: f64 = (1..=weights.len()).map(|rank| (rank as f64).powf(-exponent)).sum();
    for (rank, weight) in (1..).zip(&weights) {
        assert!((weight / total - f64::from(rank).powf(-exponent) / all).abs() < 1e-11, "rank {rank}");
    }
}

fn body_cdf(mu: f64, sigma: f64, until: f64) -> impl Fn(f64) -> f64 {
    let distribution = LogNormal::new(mu, sigma).expect("good parameters");
    // Sizes are rounded to whole bytes.
    move |x: f64| (distribution.cdf(x.floor() + 0.5) / distribution.cdf(until)).min(1.0)
}

fn tail_cdf(shape: f64, from: f64, max: f64) -> impl Fn(f64) -> f64 {
    let beyond = move |x: f64| (from / x.max(from)).powf(shape);
    move |x: f64| ((1.0 - beyond(x.floor() + 0.5)) / (1.0 - beyond(max))).clamp(0.0, 1.0)
}

/// Sizes of all but pages, which must have room for what they name.
fn sizes(sites: &[Site]) -> Vec<f64> {
    let all = sites.iter().flat_map(|site| site.objects());
    all.filter(|object| object.kind != ObjectKind::Html).map(|object| object.size.0 as f64).collect()
}

#[test]
fn surge_has_the_papers_distributions() {
    let sites = sites(Preset::Surge, 10);
    for site in &sites {
        let figures = SiteFigures::of(site);
        assert_eq!((figures.objects, figures.html_pages, figures.pages), (2_000, 600, 1_240));
        has_zipf(site, 1.0);
    }
    let sizes = sizes(&sites);
    let (body, tail): (Vec<f64>, Vec<f64>) = sizes.iter().partition(|size| **size < 133e3);
    let error = (0.07 * 0.93 / sizes.len() as f64).sqrt();
    near("the tail's share", tail.len() as f64 / sizes.len() as f64, 0.07, 5.0 * error);
    follows("the body", body, body_cdf(9.357, 1.318, 133e3));
    follows("the tail", tail, tail_cdf(1.1, 133e3, 100e6));
    // P(count >= k) = k^-2.43.
    let counts = || sites.iter().flat_map(Site::pages).filter(|page| !page.embedded.is_empty());
    let embedded: Vec<f64> = counts().map(|page| page.embedded.len() as f64).collect();
    assert_eq!(embedded.len(), 6_000, "each base file embeds something");
    follows(
        "embedded references",
        embedded,
        |x| {
            if x < 1.0 { 0.0 } else { 1.0 - (x.floor() + 1.0).powf(-2.43) }
        },
    );
}

/// No matching comes nearer than half the largest step, and the papers' sizes leave gaps besides.
#[test]
fn surge_matches_popularity_with_the_sizes_of_requests() {
    for site in sites(Preset::Surge, 10) {
        let clicks = site.pages().iter().map(|page| (page.object, page.weight));
        let embedded = || {
            let each = |page: &SitePage| {
                let weight = page.weight;
                page.embedded.clone().into_iter().map(move |at| (at, weight))
            };
            site.pages().iter().flat_map(each)
        };
        for (what, asked) in [
            ("clicks", clicks.clone().collect()),
            ("embedded objects", embedded().collect()),
            ("all requests", clicks.chain(embedded()).collect::<Vec<_>>()),
        ] {
            let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
            asked.iter().for_each(|(object, weight)| *shares.entry(*object).or_default() += weight);
            let total: f64 = shares.values().sum();
            let size = |object: &u32| site.objects()[*object as usize].size.0 as f64;
            let mut files: Vec<(f64, f64)> =
                shares.iter().map(|(object, share)| (size(object), share / total)).collect();
            files.sort_by(|a, b| a.0.total_cmp(&b.0));
            let largest = files[files.len() - 1].0;
            let distribution = |x: f64| (1.0 - 1e3 / x.max(1e3)) / (1.0 - 1e3 / largest);
            let (mut reached, mut distance) = (0.0, 0.0_f64);
            for (size, share) in &files {
                let before = (distribution(*size) - reached).abs();
                reached += share;
                distance = distance.max(before).max((distribution(*size) - reached).abs());
            }
            let step = files.iter().map(|(_, share)| *share).fold(0.0, f64::max);
            assert!(distance >= step / 2.0 - 1e-9, "{what}: {distance} is below what is possible");
            // One embedded object may have a fifth of its kind's requests: the most popular page's.
            let most = if what == "embedded objects" { 0.1_f64.max(0.6 * step) } else { 0.1 };
            assert!(distance < most, "{what}: {distance} with steps up to {step}");
        }
    }
}

#[test]
fn prowgen_has_the_papers_figures() {
    let sites = sites(Preset::Prowgen, 20);
    let figures: Vec<SiteFigures> = sites.iter().map(SiteFigures::of).collect();
    assert!(figures.iter().all(|f| (f.objects, f.pages, f.html_pages) == (3_000, 3_000, 0)));
    // A size has a standard deviation of 38 kB, nearly all of it from the tail.
    let error = 38e3 / (20.0_f64 * 3_000.0).sqrt();
    near("the mean", mean_of(&figures, |f| f.bytes_mean), 9_963.0, 5.0 * error);
    near("the total", mean_of(&figures, |f| f.bytes as f64), 30e6, 5.0 * error * 3_000.0);
    near("the median", mean_of(&figures, |f| f.bytes_median as f64), 3_600.0, 100.0);
    assert!(figures.iter().all(|f| f.bytes_max <= 1_400_000));
    // One tail of 572 files exceeds half the largest size with a probability of 0.99.
    assert!(figures.iter().filter(|f| f.bytes_max > 700_000).count() >= 10);
    has_zipf(&sites[0], 0.8);
    let (body, tail): (Vec<f64>, Vec<f64>) = self::sizes(&sites).iter().partition(|size| **size < 10e3);
    follows("the body", body, body_cdf(8.1, 1.0, 10e3));
    follows("the tail", tail, tail_cdf(1.2, 10e3, 1.4e6));
}

#[test]
fn wagon_has_the_papers_table() {
    let sites = sites(Preset::Wagon, 10);
    let figures: Vec<SiteFigures> = sites.iter().map(SiteFigures::of).collect();
    assert!(figures.iter().all(|f| (f.objects, f.html_pages, f.pages) == (10_627, 1_024, 1_828)));
    // Standard errors from the distributions' variances, over 10 sites.
    let error = |deviation: f64, of: f64| 5.0 * deviation / (10.0 * of).sqrt();
    near("bytes", mean_of(&figures, |f| f.bytes_mean), 7_500.0, error(19e3, 10_627.0));
    near("HTML bytes", mean_of(&figures, |f| f.html_bytes_mean), 4_000.0, error(5.2e3, 1_024.0));
    near("embedded", mean_of(&figures, |f| f.embedded_mean), 5.0, error(20.0_f64.sqrt(), 1_024.0));
    near("links", mean_of(&figures, |f| f.links_mean), 8.9, error(70.3_f64.sqrt(), 1_024.0));
    // Five sizes of deviation 14.9 kB, five times a count of deviation 4.5.
    near("page bytes", mean_of(&figures, |f| f.page_bytes_mean), 38_500.0, error(45.7e3, 1_024.0));
    has_zipf(&sites[0], 1.0);
}

#[test]
fn pages_of_today_have_the_medians_of_the_data() {
    let sites = sites(Preset::Today, 20);
    let pages = || sites.iter().flat_map(|site| site.pages().iter().map(move |page| (site, page)));
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let objects = median(pages().map(|(_, page)| page.embedded.len() as f64).collect());
    let bytes = median(pages().map(|(site, page)| site.page_bytes(page) as f64).collect());
    // A median's standard error is 1 / (2 f sqrt n): 1,000 pages; densities of 1 / 132 and of the lognormal.
    near("objects", objects, 93.0, 5.0 * 66.0 / 1_000.0_f64.sqrt());
    near("the logarithm of bytes", bytes.ln(), 1.51e6_f64.ln(), 5.0 * 1.2533 * 1.1 / 1_000.0_f64.sqrt());
}

#[test]
fn walks_start_and_go_on_with_the_sites_probabilities() {
    const WALKS: u64 = 200_000;
    let site = &sites(Preset::Wagon, 1)[0];
    let walk = TransitionTable::new(site);
    let mut rng = stream(5);
    let mut starts = vec![0u64; site.pages().len()];
    let mut routes: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for _ in 0..WALKS {
        let first = walk.start(&mut rng);
        let second = walk.next(first, &mut rng);
        starts[first as usize] += 1;
        *routes.entry((first, second)).or_default() += 1;
    }
    let total: f64 = site.pages().iter().map(|page| page.weight).sum();
    let likely =
        |count: u64, of: f64, p: f64| (count as f64 - of * p).abs() <= 5.0 * (of * p * (1.0 - p)).sqrt();
    let popular = |page: &&SitePage| page.weight / total > 0.002;
    assert!(site.pages().iter().filter(popular).count() > 20);
    for (page, count) in site.pages().iter().zip(&starts).filter(|(page, _)| popular(page)) {
        assert!(likely(*count, WALKS as f64, page.weight / total), "{count} starts");
    }
    for (from, page) in (0..).zip(site.pages()).filter(|(_, page)| popular(page) && !page.links.is_empty()) {
        let left = starts[from as usize] as f64;
        for link in &page.links {
            let followed = routes.get(&(from, link.page)).copied().unwrap_or(0);
            assert!(likely(followed, left, 1.0 / page.links.len() as f64), "{followed} of {left}");
        }
    }
}

/// Two pages and a picture. Walks start with the second page, which a look fetches with the picture in a
/// quarter of all cases, and has no link; the first page has one to it, and is asked for as often.
fn viewed() -> Site {
    let object = |path: &str| {
        let (kind, size) = (ObjectKind::of_path(path), Bytes(500));
        Object { path: path.to_owned(), kind, size, cost: Duration::ZERO }
    };
    let views = vec![View { weight: 3.0, embedded: vec![] }, View { weight: 1.0, embedded: vec![2] }];
    let link = PageLink { page: 1, weight: 1.0 };
    let first = SitePage { starts: Some(0.0), ..SitePage::new(0, 5.0, vec![2], vec![link]) };
    let second = SitePage { starts: Some(2.0), views, ..SitePage::new(1, 5.0, vec![2], vec![]) };
    let objects = ["/a.html", "/b.html", "/c.png"].map(object).to_vec();
    Site::new(1, objects, vec![first, second], None).expect("a site")
}

#[test]
fn pages_are_seen_as_often_as_their_views_weigh() {
    const STEPS: usize = 40_000;
    let made = serde_json::to_string(&viewed()).expect("JSON");
    let near = |count: usize, of: usize, share: f64| {
        let sigma = (of as f64 * share * (1.0 - share)).sqrt();
        assert!((count as f64 - of as f64 * share).abs() <= 5.0 * sigma, "{count} of {of}, not {share}");
    };
    let mut rng = stream(6);
    for order in ["walk", "weighted", "in-order"] {
        let spec: RequestSetSpec = read(&format!("{{ site = 'site.json', order = '{order}' }}"));
        let set = spec.resolve(&mut keys::holding(&made), Seed(1)).expect("a site");
        let embedded: Vec<usize> = set.pages().iter().map(|page| page.embedded.len()).collect();
        assert_eq!((set.requests().len(), embedded), (3, vec![1, 0, 1]));
        let (mut seen, mut before) = ([0; 3], None);
        for turn in 0..STEPS as u64 {
            let page = set.next(before, 0, 1, turn, &mut rng);
            assert!(order != "walk" || before.is_some() || page > 0, "no walk starts with the first page");
            assert!(order != "walk" || before != Some(0) || page > 0, "the first page leads to the second");
            seen[page as usize] += 1;
            before = Some(page);
        }
        // On a walk, from the second page to either alike: a third of all steps are on the first.
        let first = if order == "walk" { 1.0 / 3.0 } else { 0.5 };
        near(seen[0], STEPS, first);
        near(seen[2], STEPS - seen[0], 0.25);
    }
}

#[test]
fn a_site_is_a_set_of_requests() {
    for text in ["{ site = 'surge' }", "{ site = 'm.toml', site-seed = 7, order = 'walk' }"] {
        round_trip::<RequestSetSpec>(text);
    }
    let site = Preset::Surge.model().generate(Seed(3)).expect("a site");
    let spec: RequestSetSpec = read("{ site = 'surge', site-seed = 3 }");
    assert_eq!(spec.order(), Order::Weighted);
    let set = spec.resolve(&mut keys::no_files, Seed(9)).expect("no file");
    assert_eq!((set.requests().len(), set.pages().len()), (2_000, 1_240));
    for (page, described) in set.pages().iter().zip(site.pages()) {
        assert_eq!(set.request(page.main).path, site.object(described).path);
        assert_eq!(page.embedded.len(), described.embedded.len());
    }
    let made = serde_json::to_string(&site).expect("JSON");
    for order in ["weighted", "in-order", "stack-distance", "walk"] {
        let of = |site: &str| -> RequestSetSpec {
            read(&format!("{{ site = '{site}', site-seed = 3, order = '{order}' }}"))
        };
        let generated = of("surge").resolve(&mut keys::no_files, Seed(9)).expect("no file");
        let again = of("w/site.json").resolve(&mut keys::holding(&made), Seed(9)).expect("a site");
        assert!(generated == again, "{order}");
        assert_eq!(generated.page(2, 5, 3, &mut stream(1)), again.page(2, 5, 3, &mut stream(1)));
    }
}

#[test]
fn invalid_sets_of_sites_are_refused() {
    refused::<RequestSetSpec>("{ site = 'surg' }", &["`surg` names no site", "`wagon`"]);
    refused::<RequestSetSpec>("{ site = 'surge', file = 'f' }", &["leave out `file`"]);
    refused::<RequestSetSpec>("{ file = 'f', order = 'walk' }", &["is about a `site`"]);
    refused::<RequestSetSpec>("{ file = 'f', site-seed = 2 }", &["`site-seed` is about a `site`"]);
    let error_of = |text: &str, holds: &str| {
        let spec: RequestSetSpec = read(text);
        spec.resolve(&mut keys::holding(holds), Seed(1)).expect_err(text).to_string()
    };
    assert!(error_of("{ site = 'm.toml' }", "pages = 1").contains("m.toml: missing field `sizes`"));
    assert!(error_of("{ site = 's.json' }", "{}").contains("s.json: missing field `seed`"));
    let wagon = "{ site = 'wagon', order = 'stack-distance' }";
    assert!(error_of(wagon, "").contains("wagon: has no distribution of `distances`"));
}
