//! The files of the servers in experiments: a site of farfield's own models, and files of fixed sizes beside
//! it.
//!
//! The site is the scenario's choice: `requests.site = "surge"` or another preset. `farfield site make`
//! writes its files, with its `site.json`, which the scenario is then made to read: what is asked for is
//! what is there.
//!
//! A scenario without a site gets ProWGen's, and a list of requests for it in `requests.txt`: Williamson,
//! Simmonds and Arlitt (2004, section 5.2.2) deal out one list of requests over all clients, which go through
//! their parts again and again.

use anyhow::{Context, Result, anyhow};
use farfield_base::random::{Purpose, Seed};
use farfield_traffic::request::{Order, RequestSetSpec, SiteSource};
use farfield_traffic::site::Preset;
use farfield_traffic::site::files::MANIFEST;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::{Table, Value};
use xtask::process;

/// The seed of all sites.
const SEED: Seed = Seed(1);

/// Files of fixed sizes: their paths and bytes.
const FIXED: [(&str, usize); 2] = [("1k", 1024), ("64k", 64 * 1024)];

/// Files `surge/1` to `surge/32`.
const SURGE: usize = 32;

/// Requests in the list.
const REQUESTS: usize = 60_000;

/// The file of the list, beside the scenario.
const LIST: &str = "requests.txt";

/// Sees to it that a server in the folder that is returned has in `site` what `scenario`, which lies in
/// `folder`, asks for; `farfield` is the program that makes sites. What is there already stays.
pub fn put(farfield: &Path, scenario: &mut Table, folder: &Path) -> Result<PathBuf> {
    let requests = scenario.get_mut("requests").and_then(Value::as_table_mut);
    let named = requests.and_then(|requests| requests.get_mut("site"));
    let preset = match &named {
        None => Preset::Prowgen,
        Some(name) => name
            .as_str()
            .and_then(Preset::of_name)
            .with_context(|| format!("`requests.site` is {name}; an experiment names a preset"))?,
    };
    let home = folder.join(preset.name());
    let site = home.join("site");
    if !site.exists() {
        make(farfield, preset, folder, &site)?;
    }
    if let Some(name) = named {
        *name = Value::from(site.join(MANIFEST).display().to_string());
    }
    Ok(home)
}

/// Puts ProWGen's site into `folder`, with a list of one request.
#[cfg(test)]
pub fn put_one_request(farfield: &Path, folder: &Path) -> Result<()> {
    put(farfield, &mut Table::new(), folder)?;
    Ok(fs::write(folder.join(LIST), "/\n")?)
}

/// Makes the site `preset` and what stands beside it. It gets its name when it is whole.
fn make(farfield: &Path, preset: Preset, folder: &Path, site: &Path) -> Result<()> {
    let made = site.with_extension("made");
    let mut command = Command::new(farfield);
    command.args(["site", "make", preset.name()]).arg(&made).args(["--seed", &SEED.0.to_string()]);
    process::output(&mut command)?;
    let failed = || format!("cannot write beside the site in {}", made.display());
    add_fixed(&made).with_context(failed)?;
    if preset == Preset::Prowgen {
        fs::write(folder.join(LIST), requests(&made.join(MANIFEST))?).with_context(failed)?;
    }
    fs::rename(&made, site).with_context(failed)
}

/// Adds the files of fixed sizes.
fn add_fixed(site: &Path) -> io::Result<()> {
    for (path, bytes) in FIXED {
        fixed(&site.join(path), bytes)?;
    }
    for place in 1..=SURGE {
        fixed(&site.join(format!("surge/{place}")), surge(place))?;
    }
    Ok(())
}

fn fixed(path: &Path, bytes: usize) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, "x".repeat(bytes))
}

/// The size of `surge/PLACE` in bytes: those of requests in SURGE (Barford and Crovella 1998, table 1), a
/// Pareto distribution of shape 1 from 1000 bytes on, at the middles of 32 equal parts of its probability,
/// the largest first. For attempts of S-Clients, which take single objects, and no larger ones than a run of
/// seconds can end.
fn surge(place: usize) -> usize {
    1000 * SURGE * 2 / (2 * place - 1)
}

/// Requests for the documents of the site that `manifest` describes, in the order that clients take them in
/// turn: each drawn by popularity.
fn requests(manifest: &Path) -> Result<String> {
    let source = SiteSource::Made(manifest.to_owned());
    let spec = RequestSetSpec::of_site(source, Some(SEED.0), Order::Weighted);
    let set = spec.resolve(&mut |path| fs::read(path), SEED).map_err(|error| anyhow!("{error}"))?;
    let mut rng = SEED.stream(Purpose::User, 0);
    let mut lines = String::new();
    for _ in 0..REQUESTS {
        let page = set.page(0, 1, 0, &mut rng);
        writeln!(lines, "{}", set.request(page.main).path).expect("a String takes all");
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// At the place of probability p a Pareto distribution of shape 1 from k on has the size k / (1 - p).
    #[test]
    fn surges_sizes_are_quantiles() {
        for place in 1..=SURGE {
            let above = (place as f64 - 0.5) / SURGE as f64;
            assert_eq!(surge(place), (1000.0 / above) as usize, "{place}");
        }
        assert_eq!((surge(1), surge(SURGE)), (64_000, 1015));
    }

    /// Each document is asked for as often as it weighs: five standard deviations are allowed.
    #[test]
    fn the_list_asks_by_popularity() {
        let folder = tempfile::tempdir().unwrap();
        let site = Preset::Prowgen.model().generate(SEED).unwrap();
        let manifest = folder.path().join(MANIFEST);
        fs::write(&manifest, serde_json::to_vec(&site).unwrap()).unwrap();
        let text = requests(&manifest).unwrap();
        assert_eq!(text.lines().count(), REQUESTS);
        let mut asked: BTreeMap<&str, f64> = BTreeMap::new();
        text.lines().for_each(|line| *asked.entry(line).or_default() += 1.0);
        let weights: f64 = site.pages().iter().map(|page| page.weight).sum();
        let mut seen = 0.0;
        for page in site.pages() {
            let share = page.weight / weights;
            let count = asked.get(site.object(page).path.as_str()).copied().unwrap_or(0.0);
            let expected = share * REQUESTS as f64;
            assert!((count - expected).abs() < 5.0 * expected.sqrt() + 1.0, "{count} is not {expected}");
            seen += count;
        }
        assert_eq!(seen, REQUESTS as f64, "nothing else is asked for");
    }

    #[test]
    fn files_of_fixed_sizes_are_beside_the_site() {
        let folder = tempfile::tempdir().unwrap();
        add_fixed(folder.path()).unwrap();
        let bytes = |path: &str| fs::metadata(folder.path().join(path)).unwrap().len();
        assert_eq!(
            (bytes("1k"), bytes("64k"), bytes("surge/1"), bytes("surge/32")),
            (1024, 65_536, 64_000, 1015)
        );
    }

    /// An existing site stays: no program is run to make it again.
    #[test]
    fn a_scenario_reads_the_site_that_is_served() {
        let folder = tempfile::tempdir().unwrap();
        let (none, home) = (Path::new("/nonexistent/farfield"), folder.path().join("wagon"));
        let mut named: Table = "requests = { site = 'wagon', order = 'weighted' }".parse().unwrap();
        let error = put(none, &mut named, folder.path()).unwrap_err();
        assert_eq!(error.to_string().split(" /").next(), Some("cannot start farfield site make wagon"));
        fs::create_dir_all(home.join("site")).unwrap();
        assert_eq!(put(none, &mut named, folder.path()).unwrap(), home);
        assert_eq!(named["requests"]["site"].as_str(), home.join("site/site.json").to_str());
        let mut unknown: Table = "requests = { site = 'mine.json' }".parse().unwrap();
        assert!(put(none, &mut unknown, folder.path()).unwrap_err().to_string().contains("mine.json"));
    }
}
