//! What the servers of experiments serve: a site of farfield's own models, and files of fixed sizes beside it.
//!
//! Which site, the scenario says: `requests.site = "surge"` or another preset. Its files are written as `farfield site make`
//! writes them, with its `site.json`, which the scenario is then made to read: what is asked for is what is there.
//!
//! A scenario without a site gets ProWGen's, and a list of requests for it in `requests.txt`: Williamson, Simmonds and Arlitt
//! (2004, section 5.2.2) deal out one list of requests over all clients, which go through their parts again and again.

use anyhow::{Context, Result, anyhow};
use farfield_base::random::{Purpose, Seed};
use farfield_traffic::request::{Order, RequestSetSpec, SiteSource};
use farfield_traffic::site::content::Contents;
use farfield_traffic::site::files::MANIFEST;
use farfield_traffic::site::{Preset, Site};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

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

/// Sees to it that a server in the folder that is returned has in `site` what `scenario`, which lies in `folder`, asks for.
/// What is there already stays.
pub fn put(scenario: &mut Table, folder: &Path) -> Result<PathBuf> {
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
    if !site.join(MANIFEST).exists() {
        write(preset, folder, &site)
            .with_context(|| format!("cannot write a site into {}", site.display()))?;
    }
    if let Some(name) = named {
        *name = Value::from(site.join(MANIFEST).display().to_string());
    }
    Ok(home)
}

fn write(preset: Preset, folder: &Path, site: &Path) -> Result<()> {
    let made = preset.model().generate(SEED)?;
    for (path, bytes) in FIXED {
        fixed(&site.join(path), bytes)?;
    }
    for place in 1..=SURGE {
        fixed(&site.join(format!("surge/{place}")), surge(place))?;
    }
    files(&made, site)?;
    if preset == Preset::Prowgen {
        fs::write(folder.join(LIST), requests()?)?;
    }
    // Last: where it is, the site is whole.
    serde_json::to_writer(BufWriter::new(File::create(site.join(MANIFEST))?), &made)?;
    Ok(())
}

fn fixed(path: &Path, bytes: usize) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, "x".repeat(bytes))
}

/// Writes all objects of `site` into `folder`. Paths of a generated site are names of files as they are.
fn files(site: &Site, folder: &Path) -> io::Result<()> {
    let contents = Contents::new(site);
    for (place, object) in (0..).zip(site.objects()) {
        let path = folder.join(object.path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        contents.write(place, &mut File::create(path)?)?;
    }
    Ok(())
}

/// The size of `surge/PLACE` in bytes: those of requests in SURGE (Barford and Crovella 1998, table 1), a Pareto
/// distribution of shape 1 from 1000 bytes on, at the middles of 32 equal parts of its probability, the largest first. For
/// attempts of S-Clients, which take single objects, and no larger ones than a run of seconds can end.
fn surge(place: usize) -> usize {
    1000 * SURGE * 2 / (2 * place - 1)
}

/// Requests for ProWGen's documents in the order that clients take them in turn: each drawn by popularity.
fn requests() -> Result<String> {
    let spec = RequestSetSpec::of_site(SiteSource::Preset(Preset::Prowgen), Some(SEED.0), Order::Weighted);
    let mut none = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let set = spec.resolve(&mut none, SEED).map_err(|error| anyhow!("{error}"))?;
    let mut chance = SEED.stream(Purpose::User, 0);
    let mut lines = String::new();
    for _ in 0..REQUESTS {
        let page = set.page(0, 1, 0, &mut chance);
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
        let text = requests().unwrap();
        assert_eq!(text.lines().count(), REQUESTS);
        let mut asked: BTreeMap<&str, f64> = BTreeMap::new();
        text.lines().for_each(|line| *asked.entry(line).or_default() += 1.0);
        let site = Preset::Prowgen.model().generate(SEED).unwrap();
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
    fn the_site_that_a_scenario_names_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut scenario: Table = "requests = { file = 'requests.txt' }".parse().unwrap();
        let home = put(&mut scenario, folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(LIST)).unwrap();
        for line in text.lines().take(20).chain(["/1k", "/64k", "/surge/32", "/site.json"]) {
            assert!(home.join("site").join(&line[1..]).is_file(), "{line}");
        }
        let mut named: Table = "requests = { site = 'prowgen', order = 'weighted' }".parse().unwrap();
        assert_eq!(put(&mut named, folder.path()).unwrap(), home);
        let manifest = named["requests"]["site"].as_str().unwrap();
        let site: Site = serde_json::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
        for object in site.objects() {
            let file = fs::metadata(home.join("site").join(&object.path[1..])).unwrap();
            assert_eq!(file.len(), object.size.0, "{}", object.path);
        }
        let mut unknown: Table = "requests = { site = 'mine.json' }".parse().unwrap();
        assert!(put(&mut unknown, folder.path()).unwrap_err().to_string().contains("mine.json"));
    }
}
