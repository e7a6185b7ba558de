//! WAGON's figures 11 and 12, and the end of section 3.3: how often the site's pages and files are asked for
//! by users who walk it, and how soon again.

use crate::page::{Claim, Page, Table, digits, percent};
use crate::study::setting::Setting;
use crate::study::traffic::Traffic;
use crate::study::traffic::process::{Click, Process};
use anyhow::Result;
use farfield_base::random::{Purpose, Seed};
use farfield_fit::locality::StackDistances;
use farfield_fit::popularity::{Popularity, ZipfFit};
use farfield_fit::{Points, Ranking, Trials, rank};
use farfield_report::chart::{Axis, Chart, Mark, Series};

/// At most so many stack distances are fitted.
const DISTANCES_MAX: usize = 100_000;

/// The requests of users.
struct Asked {
    /// Requests for each page, and for each file, embedded ones among them; both from the most popular down.
    pages: Vec<u64>,
    files: Vec<u64>,
    /// The weights of the site's pages, in the same unit.
    expected: Vec<f64>,
    /// Distributions of the stack distances of pages, and of files.
    page_distances: Ranking,
    file_distances: Ranking,
}

/// Runs the study.
pub fn study(setting: &Setting) -> Result<Page> {
    let hours = setting.pick(0.5, 3.0);
    let mut process = Process::new(&Traffic::random(8.0), 1)?;
    let clicks = process.clicks(1_800.0, 3_600.0 * hours);
    let asked = Asked::of(&clicks, &process);
    let [pages, files] = [&asked.pages, &asked.files].map(|counts| Popularity::of(counts));
    Ok(Page {
        title: "What users who walk the site ask for, and how soon again".to_owned(),
        source: "Liu, Niclausse, Jalpa-Villanueva and Barbier 1999, \"Traffic model and performance evaluation of Web \
                 servers\", section 3.3, figures 11 and 12".to_owned(),
        saw: SAW.to_owned(),
        here: format!(
            "{hours} hours of table 4's traffic at 8 sessions a second, as a process without a network: sessions start with a page of \
             the preset `wagon` as often as it weighs (n^-1 for the n-th of {}), and follow its links. That is {} clicks and {} \
             requests; the log behind the paper's figure is not to be had, so the walk's popularity stands beside that with which \
             the site was made. Stack distances are those of the requests in order of time, of all users together; distributions are \
             fitted to {DISTANCES_MAX} of them at most.",
            asked.pages.len(),
            clicks.len(),
            asked.files.iter().sum::<u64>(),
        ),
        claims: claims(&asked, &pages, &files),
        noticed: NOTICED.to_owned(),
        tables: vec![
            zipf_table(&[("pages", &pages), ("files", &files)]),
            share_table(&asked),
            distance_table("Stack distances of pages", &asked.page_distances),
            distance_table("Stack distances of files", &asked.file_distances),
        ],
        charts: vec![chart(&asked)],
    })
}

const SAW: &str = "\
The popularity of documents in WAGON's traffic is close to that in the log that it was made from, except for the lowest ranks
(figure 11). Zipf's law suits neither, which the authors put down to the site being a part of the whole; for the whole site it fits,
with a slope of −1 (figure 12). Stack distances are best explained by a lognormal distribution, in the log and in WAGON's traffic.";

const NOTICED: &str = "\
It is the lowest ranks that fall behind here too, as in the paper's figure: links lead to pages as often as sessions start with them,
so that a page which few sessions start with has few links to it, and some have none. An embedded object is asked for as often as its
page, which sets files in steps: one more reason for which Zipf's law does not suit them. Distances of files are shortened by it as
well, since what a page embeds comes back together.";

impl Asked {
    fn of(clicks: &[Click], process: &Process) -> Asked {
        let site = &process.site;
        let mut pages = vec![0u64; site.pages().len()];
        let mut files = vec![0u64; site.objects().len()];
        let mut of_pages = StackDistances::new(pages.len());
        let mut of_files = StackDistances::new(files.len());
        let (mut page_distances, mut file_distances) = (Vec::new(), Vec::new());
        for click in clicks {
            let page = &site.pages()[click.page as usize];
            pages[click.page as usize] += 1;
            page_distances.extend(of_pages.take(click.page));
            for object in std::iter::once(page.object).chain(page.embedded.iter().copied()) {
                files[object as usize] += 1;
                file_distances.extend(of_files.take(object));
            }
        }
        let mut expected: Vec<f64> = site.pages().iter().map(|page| page.weight).collect();
        let total: f64 = expected.iter().sum();
        expected.iter_mut().for_each(|weight| *weight *= clicks.len() as f64 / total);
        expected.sort_unstable_by(|a, b| b.total_cmp(a));
        for counts in [&mut pages, &mut files] {
            counts.sort_unstable_by(|a, b| b.cmp(a));
        }
        let [page_distances, file_distances] =
            [&page_distances, &file_distances].map(|all| distributions(all));
        Asked { pages, files, expected, page_distances, file_distances }
    }

    /// The largest factor between what was asked for and what was expected, over the ranks of `range`.
    fn factor_off(&self, ranks: std::ops::Range<usize>) -> f64 {
        let off = |(asked, expected): (&u64, &f64)| {
            let ratio = *asked as f64 / expected;
            if ratio > 0.0 { ratio.max(1.0 / ratio) } else { f64::INFINITY }
        };
        self.pages[ranks.clone()].iter().zip(&self.expected[ranks]).map(off).fold(1.0, f64::max)
    }
}

/// Single distributions of some of the distances, the best first.
fn distributions(distances: &[u32]) -> Ranking {
    let each = distances.len().div_ceil(DISTANCES_MAX).max(1);
    let values = distances.iter().step_by(each).map(|distance| f64::from(*distance)).collect();
    let points = Points::with_tick(values, 1.0).expect("distances are many");
    let trials = Trials::singles();
    rank(&points, &trials, &mut Seed(1).stream(Purpose::User, 4))
}

fn claims(asked: &Asked, pages: &Popularity, files: &Popularity) -> Vec<Claim> {
    let ranks = asked.pages.len();
    let (head, tail) = (asked.factor_off(0..ranks / 2), asked.factor_off(ranks / 2..ranks));
    let lower = if tail.is_finite() {
        format!("of {tail:.2}")
    } else {
        "without bound, some being never asked for,".to_owned()
    };
    let zipf_text = |zipf: Option<&ZipfFit>| {
        zipf.map_or("no distribution".to_owned(), |zipf| {
            format!("exponent {:.2}, distribution functions {:.3} apart", zipf.exponent, zipf.distance)
        })
    };
    let suits = |popularity: &Popularity| {
        popularity.all.as_ref().is_some_and(|zipf| zipf.distance <= Popularity::DISTANCE_MAX)
    };
    let first = |ranking: &Ranking| ranking.candidates[0].name.clone();
    let lognormal = |of: &str, ranking: &Ranking| {
        Claim::new(
            format!("a lognormal distribution explains the stack distances of {of} best"),
            format!("{} comes first", first(ranking)),
            first(ranking) == "lognormal",
        )
    };
    vec![
        Claim::new(
            "pages are asked for about as often as the site's popularity says, within a factor of 2 in the upper half of the ranks",
            format!("off by a factor of {head:.2} at most, and {lower} in the lower half"),
            head <= 2.0,
        ),
        Claim::new(
            "Zipf's law does not suit the files of this part of a site",
            zipf_text(files.all.as_ref()),
            !suits(files),
        ),
        Claim::new(
            "where it holds, for pages from the first on, its slope is −1, within 0.1",
            pages.holds.as_ref().map_or("for no range".to_owned(), |zipf| {
                format!(
                    "{:.2} over {} ranks, {} of the requests",
                    -zipf.exponent,
                    zipf.ranks,
                    percent(zipf.share)
                )
            }),
            pages.holds.as_ref().is_some_and(|zipf| (zipf.exponent - 1.0).abs() <= 0.1),
        ),
        lognormal("pages", &asked.page_distances),
        lognormal("files", &asked.file_distances),
    ]
}

fn zipf_table(all: &[(&str, &Popularity)]) -> Table {
    let heads = [
        "",
        "asked for",
        "requests",
        "exponent, all ranks",
        "distance",
        "holds to rank",
        "exponent",
        "share",
    ];
    let mut table = Table::new(
        "Zipf's law over all ranks, and over the widest range from the first in which the distribution functions are at most \
         0.03 apart.",
        &heads,
    );
    for (name, popularity) in all {
        let none = || "–".to_owned();
        let of = |zipf: Option<&ZipfFit>, cell: fn(&ZipfFit) -> String| zipf.map_or_else(none, cell);
        let (all, holds) = (popularity.all.as_ref(), popularity.holds.as_ref());
        table.push([
            (*name).to_owned(),
            popularity.objects.to_string(),
            popularity.requests.to_string(),
            of(all, |zipf| format!("{:.3}", zipf.exponent)),
            of(all, |zipf| format!("{:.3}", zipf.distance)),
            of(holds, |zipf| zipf.ranks.to_string()),
            of(holds, |zipf| format!("{:.3}", zipf.exponent)),
            of(holds, |zipf| percent(zipf.share)),
        ]);
    }
    table
}

fn share_table(asked: &Asked) -> Table {
    let mut table = Table::new(
        "Clicks on the n-th page, and what the site's popularity makes of as many.",
        &["rank", "clicks", "expected"],
    );
    let ranks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 1_828];
    for rank in ranks.into_iter().filter(|rank| *rank <= asked.pages.len()) {
        table.push([rank.to_string(), asked.pages[rank - 1].to_string(), digits(asked.expected[rank - 1])]);
    }
    table
}

fn distance_table(of: &str, ranking: &Ranking) -> Table {
    let heads = ["distribution", "λ²", "AD", "CVM", "subsamples passed"];
    let mut table = Table::new(format!("{of}: single distributions, the best first."), &heads);
    for candidate in &ranking.candidates {
        let goodness = &candidate.goodness;
        table.push([
            candidate.name.clone(),
            digits(goodness.lambda_squared),
            digits(goodness.anderson_darling),
            digits(goodness.cramer_von_mises),
            percent(candidate.subsamples.anderson_darling_passed),
        ]);
    }
    table
}

fn chart(asked: &Asked) -> Chart {
    let points = |counts: &mut dyn Iterator<Item = f64>| -> Vec<(f64, f64)> {
        let all: Vec<f64> = counts.collect();
        let ranks = (0..).map(|step| 1.05f64.powi(step) as usize).take_while(|rank| *rank <= all.len());
        let mut ranks: Vec<usize> = ranks.collect();
        ranks.dedup();
        ranks.into_iter().map(|rank| (rank as f64, all[rank - 1])).collect()
    };
    let curve = |name: &str, look, points| Series::new(name, look, points);
    let whole = |counts: &[u64]| points(&mut counts.iter().map(|count| *count as f64));
    Chart::new(
        "Requests by rank",
        Axis::logarithmic("rank"),
        Axis::logarithmic("requests"),
        vec![
            curve("pages, as users walk", Mark::Line, whole(&asked.pages)),
            curve(
                "pages, as the site's popularity says: slope −1",
                Mark::Dashes,
                points(&mut asked.expected.iter().copied()),
            ),
            curve("files", Mark::Line, whole(&asked.files)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::State;

    fn ranking(first: u32) -> Ranking {
        // Geometric or lognormal values, by their seed.
        let distribution = match first {
            0 => farfield_fit::Component::new(farfield_fit::Family::Lognormal, [4.0, 1.0]),
            _ => farfield_fit::Component::new(farfield_fit::Family::Weibull, [0.5, 300.0]),
        };
        let distribution = distribution.unwrap().distribution().unwrap();
        let mut rng = Seed(9).stream(Purpose::User, 0);
        distributions(&(0..20_000).map(|_| distribution.sample_count(&mut rng) as u32).collect::<Vec<_>>())
    }

    /// Pages of Zipf's law with an exponent, files all alike.
    fn asked(exponent: f64, distances: u32) -> Asked {
        let weights = |exponent: f64| (1..=1_000).map(move |rank| 1e6 * f64::from(rank).powf(-exponent));
        Asked {
            pages: weights(exponent).map(|weight| weight as u64).collect(),
            files: vec![100; 1_000],
            expected: weights(1.0).collect(),
            page_distances: ranking(distances),
            file_distances: ranking(0),
        }
    }

    fn judged(asked: &Asked) -> Vec<bool> {
        let [pages, files] = [&asked.pages, &asked.files].map(|counts| Popularity::of(counts));
        claims(asked, &pages, &files).iter().map(|claim| claim.state == State::Holds).collect()
    }

    #[test]
    fn numbers_that_contradict_a_claim_fail_it() {
        // Requests that are all alike follow Zipf's law with an exponent of 0.
        assert_eq!(judged(&asked(1.0, 0)), [true, false, true, true, true]);
        assert_eq!(judged(&asked(0.7, 1)), [false, false, false, false, true]);
    }
}
