//! The claims of a question at other shares of a processor than its own: what `cargo xtask experiment NAME
//! --shares 0.5,2` adds to a page.
//!
//! A server that is full before the emulator is has a share of a processor (`server.cpu`). That share is a
//! setting of the question, not of its paper, and a conclusion that depends on it is one about the setting.
//! The points that claims rest on are therefore run again with so many times the share, and each claim is
//! judged by those runs as it was by the page's own.

use super::drive::Point;
use super::plan::Experiment;
use crate::page::{Claim, Table};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use toml::Value;

/// The heading of the section, and that of the one ahead of which it stands.
const HEADING: &str = "## At other shares of the processor\n";
const AHEAD_OF: &str = "## How it was done\n";

/// The points of `all` that a claim rests on, with `factor` times their share of a processor; none where the
/// question has no share.
pub fn points(experiment: &Experiment, all: Vec<Point>, factor: f64) -> Vec<Point> {
    let claims = &experiment.plan.claims;
    let rests_on =
        |point: &Point| claims.iter().any(|claim| claim.rests_on(&experiment.plan, point.curve, point.value));
    let points: Vec<Point> = all.into_iter().filter(rests_on).collect();
    if points.iter().all(|point| share(point).is_none()) {
        return Vec::new();
    }
    points.into_iter().map(|point| scaled(point, factor)).collect()
}

/// The share of a processor that the server of a point has, if it is held to one.
fn share(point: &Point) -> Option<f64> {
    let cpu = point.scenario.get("server")?.get("cpu")?;
    cpu.as_float().or_else(|| cpu.as_integer().map(|whole| whole as f64))
}

/// The point with `factor` times the share; a server that has whole processors keeps them.
fn scaled(mut point: Point, factor: f64) -> Point {
    let Some(share) = share(&point) else { return point };
    if let Some(Value::Table(server)) = point.scenario.get_mut("server") {
        server.insert("cpu".to_owned(), Value::Float(share * factor));
    }
    point
}

/// The section of the page: a row a claim, and a column for each factor, whose claims were judged as `judged`
/// has them. `origin` is a sentence on where and how that was measured.
pub fn section(experiment: &Experiment, judged: &[(f64, Vec<Claim>)], origin: &str) -> String {
    let mut heads = vec!["claim".to_owned()];
    heads.extend(judged.iter().map(|(factor, _)| format!("{factor} × the share")));
    let mut table = Table { says: String::new(), heads, rows: Vec::new(), ends_in_text: false };
    for (at, claim) in experiment.plan.claims.iter().enumerate() {
        let cell = |(_, claims): &(f64, Vec<Claim>)| match &claims[at].because {
            because if because.is_empty() => format!("{}: {}", claims[at].state.words(), claims[at].seen),
            because => format!("{}: {} ({because})", claims[at].state.words(), claims[at].seen),
        };
        table.push([claim.says.clone()].into_iter().chain(judged.iter().map(cell)));
    }
    format!(
        "{HEADING}\nThe share of a processor (`server.cpu`) is a setting of this question, not of its paper. The \
         claims, judged by runs with other shares:\n\n{}\n{origin}\n\n",
        table.markdown()
    )
}

/// The section of a page, if it has one.
pub fn of_page(page: &str) -> Option<&str> {
    let begin = page.find(HEADING)?;
    let end = begin + page[begin..].find(AHEAD_OF)?;
    Some(&page[begin..end])
}

/// The page with `section` in the place of the one that it may have.
pub fn put(page: &str, section: &str) -> Result<String> {
    let without = match of_page(page) {
        Some(earlier) => page.replace(earlier, ""),
        None => page.to_owned(),
    };
    let Some((above, below)) = without.split_once(AHEAD_OF) else {
        bail!("the page has no heading `{}`", AHEAD_OF.trim());
    };
    Ok(format!("{above}{section}{AHEAD_OF}{below}"))
}

/// Fails if the page in a folder takes no section.
pub fn check(folder: &Path) -> Result<()> {
    with(folder, "").map(|_| ())
}

/// The page in a folder with `section`.
fn with(folder: &Path, section: &str) -> Result<String> {
    let file = folder.join("page.md");
    let page = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    put(&page, section).with_context(|| format!("in {}", file.display()))
}

/// Puts `section` into the page in a folder.
pub fn keep(folder: &Path, section: &str) -> Result<()> {
    let page = with(folder, section)?;
    let file = folder.join("page.md");
    fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("{}", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::plan::{Length, tests::TEXT};
    use crate::experiment::points as all_points;
    use crate::page::State;

    fn experiment(text: &str) -> Experiment {
        Experiment::parse("e", text).unwrap()
    }

    fn shares(text: &str, factor: f64) -> Vec<(usize, f64, Option<f64>)> {
        let experiment = experiment(text);
        let points = points(&experiment, all_points(&experiment, Length::Full), factor);
        points.iter().map(|point| (point.curve, point.value.as_f64(), share(point))).collect()
    }

    #[test]
    fn points_that_claims_rest_on_have_so_many_times_the_share() {
        let held = TEXT.replace("[scenario]", "[scenario]\nserver = { cpu = 0.5 }");
        let narrowed = "column = \"attempts\"\ncurve = 'plain'\nfrom = 2";
        let text = held.replace("column = \"attempts\"", narrowed);
        assert_eq!(shares(&text, 0.5), [(0, 2.0, Some(0.25)), (0, 4.0, Some(0.25))]);
        // The curve of the bound, at the value of the bound.
        let bound = "near = { column = \"value\", times = 50.0, curve = 'other', at = 1 }";
        let text = text.replace("near = { column = \"value\", times = 50.0 }", bound);
        assert_eq!(shares(&text, 2.0), [(0, 2.0, Some(1.0)), (0, 4.0, Some(1.0)), (1, 1.0, Some(1.0))]);
        // A curve of its own share, beside one that has whole processors.
        let own = "scenario.origin.backlog = 8\nscenario.server.cpu = 0.1";
        let text = TEXT.replace("scenario.origin.backlog = 8", own);
        let found = shares(&text, 2.0);
        assert_eq!((found.len(), found[0].2, found[3].2), (6, None, Some(0.2)));
        assert_eq!(shares(TEXT, 2.0), [], "no share to vary");
    }

    /// The class of another curve, and the highest of all, are measured by the runs of others.
    #[test]
    fn claims_on_curves_that_are_not_run_rest_on_those_that_are() {
        let held = TEXT.replace("[scenario]", "[scenario]\nserver = { cpu = 0.5 }");
        let with = |curve: &str, claim: &str| {
            let curve = format!("[[experiment.curve]]\n{curve}\n[[experiment.claim]]");
            let text = held.replace("[[experiment.claim]]", &curve);
            shares(&text.replace("column = \"attempts\"", &format!("column = \"attempts\"\n{claim}")), 2.0)
        };
        let modems =
            with("name = 'modems'\nof = { curve = 'other', class = 'modem' }", "curve = 'modems'\nto = 2");
        assert_eq!(modems, [(1, 1.0, Some(1.0)), (1, 2.0, Some(1.0))]);
        let highest = with("name = 'capacity'\nhighest = true", "curve = 'capacity'\nfrom = 4");
        assert_eq!(highest, [(0, 4.0, Some(1.0)), (1, 4.0, Some(1.0))]);
    }

    #[test]
    fn a_section_is_put_once_and_read_back() {
        let experiment = experiment(TEXT);
        let claim = |state, because: &str| Claim {
            state,
            because: because.to_owned(),
            ..Claim::new("attempts are what was asked for", "1.2 ± 0.1", true)
        };
        let judged = [(0.5, vec![claim(State::Holds, "")]), (2.0, vec![claim(State::Fails, "plain at 4")])];
        let first = section(&experiment, &judged, "Measured.");
        let row = "| claim | 0.5 × the share | 2 × the share |\n| --- | ---: | ---: |\n\
                   | attempts are what was asked for | holds: 1.2 ± 0.1 | **does not hold**: 1.2 ± 0.1 (plain at 4) |\n";
        assert!(first.contains(row), "{first}");
        let page = "# Title\n\n## What was seen here\n\nclaims\n\n## How it was done\n\nSo.\n";
        let once = put(page, &first).unwrap();
        assert_eq!(of_page(&once), Some(first.as_str()));
        assert!(once.contains("claims\n\n## At other shares of the processor\n\nThe share"), "{once}");
        let second = section(&experiment, &judged, "Measured again.");
        let twice = put(&once, &second).unwrap();
        assert_eq!(twice, put(page, &second).unwrap());
        assert_eq!(of_page(page), None);
        assert!(put("# Title\n", &first).is_err());
    }
}
