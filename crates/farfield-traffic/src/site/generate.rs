//! A site from its model and a seed. Each aspect (sizes, embedded objects, links, popularity) draws from a
//! stream of its own, so that a change of one distribution leaves the others' draws where they were.

use super::html;
use super::matching;
use super::model::{RequestSizes, SiteModel, Sizes};
use super::{Object, ObjectKind, PageLink, Site, SiteError, SitePage};
use crate::alias::AliasTable;
use crate::distribution::Distribution;
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Bytes, Duration};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution as _, Exp1};

/// Purpose of a stream. Low numbers are those of request bodies and of the built-in server's pages.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Aspect {
    PageSizes = 1 << 40,
    DocumentSizes,
    Sizes,
    Embedded,
    Dealing,
    Kinds,
    Totals,
    Popularity,
    Links,
    Costs,
}

fn stream(seed: Seed, aspect: Aspect) -> Stream {
    seed.stream(Purpose::Site, aspect as u64)
}

pub(super) fn generate(model: &SiteModel, seed: Seed) -> Result<Site, SiteError> {
    let embedded = embedded(model, seed)?;
    let mut objects = mains(model, seed);
    let first = objects.len();
    objects.extend(inner(model, seed, &embedded, first)?);
    let popularity = popularity(model, seed, &objects[..first]);
    let links = links(model, seed, &popularity)?;
    let mut pages: Vec<SitePage> = Vec::with_capacity(first);
    let mut embedded = embedded.into_iter().chain(std::iter::repeat(Vec::new()));
    for ((object, weight), links) in (0..).zip(popularity).zip(links) {
        let embedded = embedded.next().unwrap_or_default();
        let embedded = embedded.into_iter().map(|at| at + first as u32).collect();
        pages.push(SitePage::new(object, weight, embedded, links));
    }
    if let (Some(target), Some(_)) = (model.request_sizes, model.embedded_objects) {
        match_embedded(target, first, &mut objects, &pages);
    }
    make_room(model, &mut objects, &pages);
    if let Some(distribution) = &model.page_bytes {
        scale(distribution, seed, &mut objects, &pages[..model.pages as usize]);
    }
    if let Some(distribution) = &model.costs {
        let mut rng = stream(seed, Aspect::Costs);
        objects.iter_mut().for_each(|object| object.cost = distribution.sample_duration(&mut rng));
    }
    Site::new(seed.0, objects, pages, model.distances.clone())
}

/// Indices of the embedded objects of each page.
///
/// Shared objects are dealt out like cards, in a random order and then again from the first, so that each is
/// embedded as soon as there are as many references as objects.
fn embedded(model: &SiteModel, seed: Seed) -> Result<Vec<Vec<u32>>, SiteError> {
    let mut rng = stream(seed, Aspect::Embedded);
    let most = model.embedded_objects.map_or(usize::MAX, |pool| pool as usize);
    let counts: Vec<usize> =
        (0..model.pages).map(|_| count(model.embedded.as_ref(), &mut rng).min(most)).collect();
    let references: usize = counts.iter().fold(0, |sum: usize, count| sum.saturating_add(*count));
    if references > Site::REFERENCES_MAX {
        return Err(SiteError::TooLarge);
    }
    let mut pool: Vec<u32> = (0..model.embedded_objects.unwrap_or(references as u32)).collect();
    if model.embedded_objects.is_some() {
        pool.shuffle(&mut stream(seed, Aspect::Dealing));
    }
    let mut dealt = pool.iter().cycle().copied();
    Ok(counts.into_iter().map(|count| dealt.by_ref().take(count).collect()).collect())
}

/// A count of a distribution, rounded down.
fn count(distribution: Option<&Distribution>, rng: &mut Stream) -> usize {
    distribution.map_or(0, |distribution| distribution.sample(rng) as usize) // `as` saturates, and takes what is negative to zero
}

/// Pages, and after them documents.
fn mains(model: &SiteModel, seed: Seed) -> Vec<Object> {
    let mut html = stream(seed, Aspect::PageSizes);
    let mut other = stream(seed, Aspect::DocumentSizes);
    let page = |number| object("p", number, ObjectKind::Html, model.html_sizes.sample(&mut html));
    let mut objects: Vec<Object> = (0..model.pages).map(page).collect();
    let document = |number| object("d", number, ObjectKind::Other, model.document_sizes.sample(&mut other));
    objects.extend((0..model.documents).map(document));
    objects
}

/// The embedded objects.
fn inner(
    model: &SiteModel,
    seed: Seed,
    embedded: &[Vec<u32>],
    mains: usize,
) -> Result<Vec<Object>, SiteError> {
    let own: usize = embedded.iter().map(Vec::len).sum();
    let count = model.embedded_objects.map_or(own, |pool| pool as usize);
    if mains + count > Site::OBJECTS_MAX {
        return Err(SiteError::TooLarge);
    }
    let (mut kinds, mut sizes) = (stream(seed, Aspect::Kinds), stream(seed, Aspect::Sizes));
    let one = |number| {
        let drawn: f64 = kinds.random();
        let kind = match drawn {
            drawn if drawn < model.style_sheets => ObjectKind::StyleSheet,
            drawn if drawn < model.style_sheets + model.scripts => ObjectKind::Script,
            _ => ObjectKind::Image,
        };
        object("o", number, kind, model.sizes.sample(&mut sizes))
    };
    Ok((0..count as u32).map(one).collect())
}

/// Object `number` of a folder, a hundred of them in a folder of its own.
fn object(folder: &str, number: u32, kind: ObjectKind, size: u64) -> Object {
    let path = format!("/{folder}/{}/{}.{}", number / 100, number % 100, kind.extension());
    Object { path, kind, size: Bytes(size), cost: Duration::ZERO }
}

impl Sizes {
    /// Draws a size, from 1 to the largest.
    fn sample(&self, rng: &mut Stream) -> u64 {
        match self.tail {
            Some(tail) if rng.random::<f64>() < tail.share.as_f64() => {
                let from = tail.from.0 as f64;
                self.redraw(self.max as f64, || {
                    let unit: f64 = Exp1.sample(rng);
                    from * (unit / tail.shape).exp()
                })
            }
            Some(tail) => self.redraw(tail.from.0 as f64, || self.body.sample(rng)),
            None => self.redraw(self.max as f64, || self.body.sample(rng)),
        }
    }

    /// The first draw of a hundred that is no larger than `most`, or that.
    fn redraw(&self, most: f64, mut draw: impl FnMut() -> f64) -> u64 {
        let drawn = (0..100).map(|_| draw()).find(|size| *size <= most).unwrap_or(most);
        (drawn.round() as u64).clamp(1, self.max)
    }
}

/// Popularity of each of `mains`: Zipf's law, over ranks that are random or matched with sizes.
fn popularity(model: &SiteModel, seed: Seed, mains: &[Object]) -> Vec<f64> {
    let weights: Vec<f64> = (1..=mains.len()).map(|rank| (rank as f64).powf(-model.zipf)).collect();
    let total: f64 = weights.iter().sum();
    let mut shares: Vec<f64> = weights.iter().map(|weight| twelve_digits(weight / total)).collect();
    match model.request_sizes {
        Some(target) => {
            let sizes: Vec<u64> = mains.iter().map(|object| object.size.0).collect();
            matching::matched(&sizes, &shares, target)
        }
        None => {
            shares.shuffle(&mut stream(seed, Aspect::Popularity));
            shares
        }
    }
}

/// Deals the sizes of embedded objects, from place `first` on, out anew: how often each is asked for follows
/// from the pages that embed it, and the sizes of these requests follow `target` too.
fn match_embedded(target: RequestSizes, first: usize, objects: &mut [Object], pages: &[SitePage]) {
    let mut asked = vec![0.0; objects.len() - first];
    for page in pages {
        page.embedded.iter().for_each(|at| asked[*at as usize - first] += page.weight);
    }
    let total: f64 = asked.iter().sum();
    if total == 0.0 {
        return;
    }
    let descending = |of: &[f64]| {
        let mut order: Vec<usize> = (0..of.len()).collect();
        order.sort_by(|a, b| of[*b].total_cmp(&of[*a]));
        order
    };
    let by_popularity = descending(&asked);
    let popularity: Vec<f64> = by_popularity.iter().map(|at| asked[*at] / total).collect();
    let sizes: Vec<Bytes> = objects[first..].iter().map(|object| object.size).collect();
    let bytes: Vec<u64> = sizes.iter().map(|size| size.0).collect();
    let by_match = descending(&matching::matched(&bytes, &popularity, target));
    for (object, size) in by_popularity.into_iter().zip(by_match) {
        objects[first + object].size = sizes[size];
    }
}

/// `share` to twelve decimal places: as text it is short enough to be read back as the very same number.
fn twelve_digits(share: f64) -> f64 {
    (share * 1e12).round() / 1e12
}

/// Links of each page: to different pages, the more popular the likelier, each followed alike.
fn links(model: &SiteModel, seed: Seed, popularity: &[f64]) -> Result<Vec<Vec<PageLink>>, SiteError> {
    let mut links = vec![Vec::new(); popularity.len()];
    let Some(distribution) = &model.links else { return Ok(links) };
    let table = AliasTable::new(popularity).map_err(|_| SiteError::Empty)?;
    let mut rng = stream(seed, Aspect::Links);
    let mut total = 0;
    for (page, links) in links.iter_mut().enumerate().take(model.pages as usize) {
        let wanted = count(Some(distribution), &mut rng).min(popularity.len() - 1);
        total += wanted;
        if total > Site::REFERENCES_MAX {
            return Err(SiteError::TooLarge);
        }
        *links = targets(page as u32, wanted, popularity.len() as u32, || table.sample(&mut rng) as u32);
    }
    Ok(links)
}

/// `wanted` different pages of `pages`, none of them `page`: drawn, and the last of very many in order.
fn targets(page: u32, wanted: usize, pages: u32, mut draw: impl FnMut() -> u32) -> Vec<PageLink> {
    let mut found: Vec<u32> = Vec::with_capacity(wanted);
    for _ in 0..20 * wanted {
        if found.len() == wanted {
            break;
        }
        let drawn = draw();
        if drawn != page && !found.contains(&drawn) {
            found.push(drawn);
        }
    }
    let mut others = (1..pages).map(|by| (page + by) % pages);
    while found.len() < wanted {
        let Some(other) = others.next() else { break };
        if !found.contains(&other) {
            found.push(other);
        }
    }
    found.into_iter().map(|page| PageLink { page, weight: 1.0 }).collect()
}

/// Enlarges each page to the names that it must hold.
fn make_room(model: &SiteModel, objects: &mut [Object], pages: &[SitePage]) {
    for (at, page) in pages.iter().enumerate().take(model.pages as usize) {
        let least = html::markup(objects, pages, page).len() as u64;
        objects[at].size = objects[at].size.max(Bytes(least));
    }
}

/// Scales what each page embeds so that the page has its total.
fn scale(distribution: &Distribution, seed: Seed, objects: &mut [Object], pages: &[SitePage]) {
    let mut rng = stream(seed, Aspect::Totals);
    for page in pages {
        let total =
            distribution.sample(&mut rng).clamp(0.0, MAX_PAGE) - objects[page.object as usize].size.0 as f64;
        let drawn: f64 = page.embedded.iter().map(|at| objects[*at as usize].size.0 as f64).sum();
        for at in &page.embedded {
            let size = &mut objects[*at as usize].size;
            *size = Bytes(((size.0 as f64 * total / drawn).round() as u64).max(1));
        }
    }
}

/// The most that a page has in all: 1 GiB.
const MAX_PAGE: f64 = (1u64 << 30) as f64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Preset;

    #[test]
    fn the_seed_is_the_site() {
        for preset in [Preset::Surge, Preset::Wagon] {
            let generate = |seed| preset.model().generate(Seed(seed)).expect("a site");
            assert_eq!(generate(3), generate(3));
            assert_ne!(generate(3), generate(4));
        }
    }

    #[test]
    fn links_lead_to_different_pages_and_not_back() {
        let mut next = 0;
        let mut always = || {
            next += 1;
            next % 2
        };
        let found: Vec<u32> = targets(1, 4, 6, &mut always).iter().map(|link| link.page).collect();
        assert_eq!(found, [0, 2, 3, 4]);
        assert!(targets(0, 0, 1, || 0).is_empty());
    }
}
