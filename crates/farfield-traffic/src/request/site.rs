//! A site as a set of requests: each object a request of the same number, each page a page, or one for each
//! of its views.

use super::spec::Order;
use super::views::Views;
use super::{Choice, Page, Request, RequestId, RequestSet};
use crate::alias::AliasTable;
use crate::file::{self, FileError, Load};
use crate::site::walk::TransitionTable;
use crate::site::{Preset, Site, SiteModelSpec, locality};
use bytes::Bytes;
use farfield_base::random::{Purpose, Seed};
use http::Method;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Source of a site: in a scenario `"surge"`, `"model.toml"` or `"www/site.json"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SiteSource {
    /// A model that comes with farfield.
    Preset(Preset),
    /// A file with a model in TOML.
    Model(PathBuf),
    /// The file of a site that was made: it holds all of the site.
    Made(PathBuf),
}

/// A text that names no site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no site; write `surge`, `prowgen`, `wagon` or `today`, a model such as `model.toml`, or what `farfield site make` wrote, such as `www/site.json`"
)]
pub struct SourceError(String);

impl TryFrom<String> for SiteSource {
    type Error = SourceError;

    fn try_from(text: String) -> Result<SiteSource, SourceError> {
        let path = PathBuf::from(&text);
        match (Preset::of_name(&text), path.extension().and_then(|end| end.to_str())) {
            (Some(preset), _) => Ok(SiteSource::Preset(preset)),
            (None, Some("toml")) => Ok(SiteSource::Model(path)),
            (None, Some("json")) => Ok(SiteSource::Made(path)),
            _ => Err(SourceError(text)),
        }
    }
}

impl From<SiteSource> for String {
    fn from(source: SiteSource) -> String {
        source.name().to_string_lossy().into_owned()
    }
}

impl SiteSource {
    fn name(&self) -> &Path {
        match self {
            SiteSource::Preset(preset) => preset.name().as_ref(),
            SiteSource::Model(path) | SiteSource::Made(path) => path,
        }
    }

    /// The site: generated from `seed` where it is a model, as it was made where it was made.
    pub fn site(&self, load: &mut Load<'_>, seed: Seed) -> Result<Site, FileError> {
        let whole = |problem: String| FileError::Whole { path: self.name().to_owned(), problem };
        let spec: SiteModelSpec = match self {
            SiteSource::Preset(preset) => preset.spec(),
            SiteSource::Model(path) => {
                let text = String::from_utf8(file::read(path, load)?)
                    .map_err(|_| whole("is not UTF-8 text".to_owned()))?;
                toml::from_str(&text).map_err(|error| whole(in_one_line(&error)))?
            }
            SiteSource::Made(path) => {
                return serde_json::from_slice(&file::read(path, load)?)
                    .map_err(|error| whole(error.to_string()));
            }
        };
        spec.resolve(load)?.generate(seed).map_err(|error| whole(error.to_string()))
    }
}

/// toml's message, without the excerpt of the file.
fn in_one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join("; ")
}

/// The requests for `site`, its pages in `order`. What is random beside the users' own comes from
/// `seed`.
///
/// # Errors
/// If its distribution of stack distances names a file that does not do, or it has none where one is wanted.
pub(super) fn requests(
    source: &SiteSource,
    site: &Site,
    order: Order,
    load: &mut Load<'_>,
    seed: Seed,
) -> Result<RequestSet, FileError> {
    let choice = match order {
        Order::InOrder => Choice::InOrder,
        Order::Weighted => {
            let weights: Vec<f64> = site.pages().iter().map(|page| page.weight).collect();
            Choice::Weighted(AliasTable::new(&weights).expect("a site's weights are a choice"))
        }
        Order::Walk => Choice::Walk(Arc::new(TransitionTable::new(site))),
        Order::StackDistance => {
            let distances = site.distances().ok_or_else(|| FileError::Whole {
                path: source.name().to_owned(),
                problem: "has no distribution of `distances`, which `order = \"stack-distance\"` follows"
                    .to_owned(),
            })?;
            let distances = distances.resolve(load)?;
            let mut rng = seed.stream(Purpose::Site, 1 << 42);
            let sequence = locality::sequence(site, &distances, locality::SEQUENCE, &mut rng);
            Choice::Sequence(sequence.into())
        }
    };
    let request = |path: &String| Request {
        method: Method::GET,
        path: path.clone(),
        headers: Vec::new(),
        body: Bytes::new(),
    };
    let page = |object: u32, embedded: &[u32]| Page {
        main: RequestId(object),
        embedded: embedded.iter().map(|at| RequestId(*at)).collect(),
    };
    let pages = site.pages().iter().flat_map(|seen| {
        let whole = seen.views.is_empty().then(|| page(seen.object, &seen.embedded));
        whole.into_iter().chain(seen.views.iter().map(move |view| page(seen.object, &view.embedded)))
    });
    Ok(RequestSet {
        requests: site.objects().iter().map(|object| request(&object.path)).collect(),
        pages: pages.collect(),
        choice,
        views: Views::of(site),
    })
}
