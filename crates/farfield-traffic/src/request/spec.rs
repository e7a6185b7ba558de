//! Requests as a scenario writes them, in a table that may also name a file of them:
//!
//! ```toml
//! order = "weighted"
//! file = "urls.txt"
//!
//! [[request]]
//! path = "/index.html"
//! embedded = ["/style.css", "/logo.png"]
//! weight = 9
//!
//! [[request]]
//! method = "POST"
//! path = "/order"
//! headers = { content-type = "application/json" }
//! body = '{"item": 1}'
//! ```
//!
//! The file has one request a line, or is [another list](super::list). Instead of both there may be a
//! site:
//!
//! ```toml
//! site = "surge"
//! order = "stack-distance"
//! ```

use super::list;
use super::parts::{self, BodySpec, Headers, RequestTarget, Weight};
use super::site::{self, SiteSource};
use super::{Choice, Page, Request, RequestId, RequestSet};
use crate::alias::{AliasTable, WeightError};
use crate::file::{FileError, Load};
use crate::site::Site;
use bytes::Bytes;
use farfield_base::random::{Purpose, Seed};
use http::{HeaderName, HeaderValue, Method};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A page as a scenario writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RequestSpec {
    /// The method; GET by default.
    #[serde(default, serialize_with = "write_method", deserialize_with = "read_method")]
    pub method: Method,
    /// The target.
    pub path: RequestTarget,
    /// Relative frequency of the page, if the order is by weight; 1 by default.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: Weight,
    /// Targets fetched with GET after the main request, with its header fields less those about a body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedded: Vec<RequestTarget>,
    /// The body; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodySpec>,
    /// Header fields beside those that HTTP itself needs.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

/// The order in which pages are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// At random, each with its weight.
    Weighted,
    /// In the order given, the users taking turns.
    InOrder,
    /// With the temporal locality of the site's model: for sites only.
    StackDistance,
    /// Along links, from a start page: of a site only.
    Walk,
}

/// Requests of a scenario as written: not empty, but files have not been read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RequestKeys", into = "RequestKeys")]
pub struct RequestSetSpec {
    written: RequestKeys,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RequestKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<SiteSource>,
    /// The site's own seed, so that runs of different seeds drive the same site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site_seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    request: Vec<RequestSpec>,
}

/// Error of an invalid set of requests.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// Neither a request nor a file nor a site.
    #[error(
        "there is no request; give at least one `[[request]]` with a `path`, a `file` of them, or a `site`"
    )]
    Empty,
    /// A site, and requests beside it.
    #[error("a `site` says all that is asked for; leave out `file` and `[[request]]`, or the `site`")]
    BesideSite,
    /// An order that only sites have, or a seed of none.
    #[error("`{0}` is about a `site`; name one, or leave it out")]
    NoSite(&'static str),
    /// More requests than ids.
    #[error("there are more than {} requests; give fewer", u32::MAX)]
    TooMany,
    /// The weights do not make a choice.
    #[error(transparent)]
    Weight(#[from] WeightError),
    /// Weights where they have no meaning.
    #[error(
        "`weight` has no meaning with `order = \"in-order\"`; leave it out, or write `order = \"weighted\"`"
    )]
    WeightInOrder,
}

impl RequestSpec {
    /// A GET of `path`.
    pub fn get(path: RequestTarget) -> RequestSpec {
        let (embedded, headers) = (Vec::new(), Headers::default());
        RequestSpec { method: Method::GET, path, weight: Weight::ONE, embedded, body: None, headers }
    }
}

impl RequestSetSpec {
    /// Requests as given and, after them, those of `file`. Without an `order`, they come in order if there is
    /// a file, and else by weight.
    pub fn new(
        request: Vec<RequestSpec>,
        file: Option<PathBuf>,
        order: Option<Order>,
    ) -> Result<RequestSetSpec, SetError> {
        RequestSetSpec::try_from(RequestKeys { order, file, site: None, site_seed: None, request })
    }

    /// The pages of a site, which a model makes from `site_seed`.
    pub fn of_site(site: SiteSource, site_seed: Option<u64>, order: Order) -> RequestSetSpec {
        let written =
            RequestKeys { order: Some(order), file: None, site: Some(site), site_seed, request: Vec::new() };
        RequestSetSpec { written }
    }

    /// A set of one request.
    pub fn one(request: RequestSpec) -> RequestSetSpec {
        let request = RequestSpec { weight: Weight::ONE, ..request };
        let request = vec![request];
        RequestSetSpec {
            written: RequestKeys { order: None, file: None, site: None, site_seed: None, request },
        }
    }

    /// The requests that are written out, without those of the file.
    pub fn requests(&self) -> &[RequestSpec] {
        &self.written.request
    }

    /// The file of further requests.
    pub fn file(&self) -> Option<&Path> {
        self.written.file.as_deref()
    }

    /// The site whose pages are asked for, and its seed: 1 by default.
    pub fn site(&self) -> Option<(&SiteSource, Seed)> {
        self.written.site.as_ref().map(|site| (site, Seed(self.written.site_seed.unwrap_or(1))))
    }

    /// The order in which pages are asked for.
    pub fn order(&self) -> Order {
        self.written.order()
    }

    /// The set itself, with files read through `load` and fillers drawn from `seed`.
    ///
    /// # Errors
    /// A file that cannot be read, or does not hold what it is named for.
    pub fn resolve(&self, load: &mut Load<'_>, seed: Seed) -> Result<RequestSet, FileError> {
        self.resolve_for(load, seed, None, &[])
    }

    /// The set for `target`, as a Host field has it, where that is known, and the hosts `beside` it, by the
    /// roots of their URLs: URLs in a file must be of one of these.
    pub fn resolve_for(
        &self,
        load: &mut Load<'_>,
        seed: Seed,
        target: Option<&str>,
        beside: &[String],
    ) -> Result<RequestSet, FileError> {
        if let Some((source, site_seed)) = self.site() {
            let site = source.site(load, site_seed)?;
            return self.resolve_over(&site, load, seed);
        }
        let listed = match self.file() {
            Some(path) => list::read(path, load, target, beside)?,
            None => Vec::new(),
        };
        let specs = || self.written.request.iter().chain(&listed);
        let mut set = Flat::default();
        for (number, spec) in specs().enumerate() {
            let body = match &spec.body {
                Some(body) => body.resolve(load, seed.stream(Purpose::Site, number as u64))?,
                None => Bytes::new(),
            };
            set.push(spec, body);
        }
        let weights: Vec<f64> = specs().map(|spec| spec.weight.as_f64()).collect();
        let choice = match self.order() {
            Order::InOrder => Ok(Choice::InOrder),
            Order::Weighted => AliasTable::new(&weights).map(Choice::Weighted).map_err(SetError::Weight),
            Order::StackDistance | Order::Walk => unreachable!("refused without a site when it was read"),
        };
        match choice {
            Ok(choice) if u32::try_from(set.requests.len()).is_ok() => {
                Ok(RequestSet { requests: set.requests, pages: set.pages, choice, views: None })
            }
            // Both are the file's doing: without one, the weights were checked when the scenario was read.
            Ok(_) => Err(self.whole(&SetError::TooMany)),
            Err(error) => Err(self.whole(&error)),
        }
    }

    /// The requests of a set of a [site](RequestSetSpec::site) that has been made already: `site` is what its
    /// source gives.
    ///
    /// # Panics
    /// If no site is asked for.
    pub fn resolve_over(
        &self,
        site: &Site,
        load: &mut Load<'_>,
        seed: Seed,
    ) -> Result<RequestSet, FileError> {
        let (source, _) = self.site().expect("a set of a site");
        site::requests(source, site, self.order(), load, seed)
    }

    fn whole(&self, error: &SetError) -> FileError {
        let path = self.file().unwrap_or("".as_ref()).to_owned();
        FileError::Whole { path, problem: error.to_string() }
    }
}

/// Requests as they are put into one list.
#[derive(Default)]
struct Flat {
    requests: Vec<Request>,
    pages: Vec<Page>,
}

impl Flat {
    fn push(&mut self, spec: &RequestSpec, body: Bytes) {
        let main = Request {
            method: spec.method.clone(),
            path: spec.path.as_str().to_owned(),
            headers: spec.headers.fields().to_vec(),
            body,
        };
        let embedded = spec.embedded.iter().map(|path| Request {
            method: Method::GET,
            path: path.as_str().to_owned(),
            headers: without_body(spec.headers.fields()),
            body: Bytes::new(),
        });
        // The number of requests is checked when all are there; until then an id may wrap.
        let first = self.requests.len() as u32;
        self.requests.push(main);
        self.requests.extend(embedded);
        let embedded = (1..=spec.embedded.len() as u32).map(|n| RequestId(first.wrapping_add(n))).collect();
        self.pages.push(Page { main: RequestId(first), embedded });
    }
}

fn without_body(fields: &[(HeaderName, HeaderValue)]) -> Vec<(HeaderName, HeaderValue)> {
    fields.iter().filter(|(name, _)| !name.as_str().starts_with("content-")).cloned().collect()
}

impl RequestKeys {
    fn order(&self) -> Order {
        let default = if self.file.is_some() { Order::InOrder } else { Order::Weighted };
        self.order.unwrap_or(default)
    }
}

impl TryFrom<RequestKeys> for RequestSetSpec {
    type Error = SetError;

    fn try_from(written: RequestKeys) -> Result<RequestSetSpec, SetError> {
        let written_out = !written.request.is_empty() || written.file.is_some();
        if written.site.is_some() {
            return if written_out { Err(SetError::BesideSite) } else { Ok(RequestSetSpec { written }) };
        }
        if written.site_seed.is_some() {
            return Err(SetError::NoSite("site-seed"));
        }
        if !written_out {
            return Err(SetError::Empty);
        }
        match written.order() {
            Order::StackDistance => return Err(SetError::NoSite("order = \"stack-distance\"")),
            Order::Walk => return Err(SetError::NoSite("order = \"walk\"")),
            Order::InOrder if written.request.iter().any(|request| !is_one(&request.weight)) => {
                return Err(SetError::WeightInOrder);
            }
            Order::Weighted if written.file.is_none() => {
                let weights: Vec<f64> = written.request.iter().map(|r| r.weight.as_f64()).collect();
                AliasTable::new(&weights)?;
            }
            Order::InOrder | Order::Weighted => {}
        }
        Ok(RequestSetSpec { written })
    }
}

impl From<RequestSetSpec> for RequestKeys {
    fn from(spec: RequestSetSpec) -> RequestKeys {
        spec.written
    }
}

fn one() -> Weight {
    Weight::ONE
}

fn is_one(weight: &Weight) -> bool {
    *weight == Weight::ONE
}

fn write_method<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.as_str())
}

fn read_method<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Method, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    parts::method(&text).map_err(de::Error::custom)
}
