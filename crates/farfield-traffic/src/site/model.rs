//! A site as a few distributions, as TOML writes it, and the presets with the papers' parameters.
//!
//! ```toml
//! pages = 600                # HTML pages, which embed and link
//! documents = 640            # objects requested on their own
//! embedded-objects = 760     # shared among the pages; if absent, each page has its own
//! embedded = { distribution = "pareto", shape = 2.43, scale = 1 }   # a page, rounded down
//! links = { distribution = "geometric", mean = 8.9 }                # a page, rounded down
//! zipf = 1                   # the n-th most popular is requested in proportion to n^-zipf
//!
//! [sizes]                    # of all without [html-sizes] or [document-sizes]
//! body = { distribution = "lognormal", mu = 9.357, sigma = 1.318 }
//! tail = { share = 0.07, shape = 1.1, from = "133kB" }
//! max = "100MB"
//! ```

use super::{Site, SiteError, generate, matching};
use crate::amount::Dimension;
use crate::distribution::{CountsSpec, Distribution, DistributionSpec, TimesSpec};
use crate::file::{FileError, Load};
use farfield_base::random::Seed;
use farfield_base::{Bytes, Share};
use serde::{Deserialize, Serialize};

/// A model of sites as written: valid, but files that its distributions name have not been read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SiteModelKeys", into = "SiteModelKeys")]
pub struct SiteModelSpec {
    written: SiteModelKeys,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SiteModelKeys {
    #[serde(default)]
    pages: u32,
    #[serde(default)]
    documents: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    embedded_objects: Option<u32>,
    #[serde(default = "one")]
    zipf: f64,
    #[serde(default = "none", skip_serializing_if = "is_none")]
    style_sheets: Share,
    #[serde(default = "none", skip_serializing_if = "is_none")]
    scripts: Share,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    embedded: Option<CountsSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links: Option<CountsSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    distances: Option<CountsSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    costs: Option<TimesSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    page_bytes: Option<DistributionSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_sizes: Option<RequestSizes>,
    sizes: SizesSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    html_sizes: Option<SizesSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document_sizes: Option<SizesSpec>,
}

fn one() -> f64 {
    1.0
}

fn none() -> Share {
    Share::NONE
}

fn is_none(share: &Share) -> bool {
    *share == Share::NONE
}

/// The distribution of sizes: a body and, where there is one, a Pareto tail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizesSpec {
    /// The body, in bytes. With a tail, what is drawn beyond its beginning is drawn anew.
    pub body: DistributionSpec,
    /// The tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// The largest size; what is drawn beyond is drawn anew.
    #[serde(default = "gigabyte")]
    pub max: Bytes,
}

fn gigabyte() -> Bytes {
    Bytes(1 << 30)
}

/// A Pareto tail of sizes: P(X > x) = (from / x)^shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// The share of all objects that are in the tail.
    pub share: Share,
    /// The exponent α, above 0.
    pub shape: f64,
    /// Start of the tail, above 0.
    pub from: Bytes,
}

/// The distribution of the sizes of what is asked for: P(X > x) = (from / x)^shape up to the largest file.
/// The popularity of what is asked for by a click is matched so that it holds; embedded objects that pages
/// share are asked for as often as these pages are, and their sizes are dealt out so that it holds. Objects
/// that are a page's own have random sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestSizes {
    /// The exponent α, above 0.
    pub shape: f64,
    /// The least size, above 0.
    pub from: Bytes,
}

/// Error of an invalid model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Nothing is asked for.
    #[error("nothing could be asked for; give `pages` or `documents`, or both")]
    Empty,
    /// More objects than a site may have.
    #[error("`pages`, `documents` and `embedded-objects` are more than {} together", Site::OBJECTS_MAX)]
    TooMany,
    /// A number that must be from 0 up.
    #[error("`zipf` is {0}; write a number from 0 up")]
    Zipf(f64),
    /// A parameter of a tail, or of request sizes.
    #[error("`shape` and `from` of a Pareto distribution must be above 0")]
    Pareto,
    /// Shares of more than all.
    #[error("`style-sheets` and `scripts` are shares of what is embedded; together they are above 1")]
    Shares,
    /// A largest size below the tail's begin, or of nothing.
    #[error("`max` is {0}; write a size of at least 1 byte, at most 1GiB, and above `from` of the tail")]
    Max(Bytes),
    /// A distribution of sizes that says times.
    #[error("a distribution of sizes has times in it; write sizes such as `10kB`, or bare numbers of bytes")]
    Times,
    /// Totals of pages that share objects.
    #[error(
        "`page-bytes` scales the objects of a page, which must then be its own; leave out `embedded-objects`"
    )]
    SharedBytes,
    /// Too many to match.
    #[error(
        "`request-sizes` matches at most {0} `pages` and `documents`, and {0} `embedded-objects`",
        matching::PAGES_MAX
    )]
    TooManyToMatch,
    /// Embedded objects that cannot be any.
    #[error("`embedded` says how many objects a page embeds, and `embedded-objects` is 0; leave out either")]
    NoneToEmbed,
}

/// A model, ready to generate sites.
#[derive(Debug, Clone)]
pub struct SiteModel {
    pub(super) pages: u32,
    pub(super) documents: u32,
    pub(super) embedded_objects: Option<u32>,
    pub(super) zipf: f64,
    pub(super) style_sheets: f64,
    pub(super) scripts: f64,
    pub(super) embedded: Option<Distribution>,
    pub(super) links: Option<Distribution>,
    pub(super) costs: Option<Distribution>,
    pub(super) page_bytes: Option<Distribution>,
    pub(super) request_sizes: Option<RequestSizes>,
    pub(super) distances: Option<DistributionSpec>,
    pub(super) sizes: Sizes,
    pub(super) html_sizes: Sizes,
    pub(super) document_sizes: Sizes,
}

/// A distribution of sizes, ready to draw.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    pub(super) body: Distribution,
    pub(super) tail: Option<Tail>,
    pub(super) max: u64,
}

impl SiteModelSpec {
    /// The model itself, with files that its distributions name read through `load`.
    ///
    /// # Errors
    /// A file that cannot be read, or does not hold what it is named for.
    pub fn resolve(&self, load: &mut Load<'_>) -> Result<SiteModel, FileError> {
        let written = &self.written;
        let mut resolved = |spec: Option<&DistributionSpec>| spec.map(|spec| spec.resolve(load)).transpose();
        let embedded = resolved(written.embedded.as_deref())?;
        let links = resolved(written.links.as_deref())?;
        let costs = resolved(written.costs.as_deref())?;
        let page_bytes = resolved(written.page_bytes.as_ref())?;
        let sizes = written.sizes.resolve(load)?;
        let mut others = |spec: &Option<SizesSpec>| match spec {
            Some(spec) => spec.resolve(load),
            None => Ok(sizes.clone()),
        };
        let (html_sizes, document_sizes) = (others(&written.html_sizes)?, others(&written.document_sizes)?);
        Ok(SiteModel {
            pages: written.pages,
            documents: written.documents,
            embedded_objects: written.embedded_objects,
            zipf: written.zipf,
            style_sheets: written.style_sheets.as_f64(),
            scripts: written.scripts.as_f64(),
            embedded,
            links,
            costs,
            page_bytes,
            request_sizes: written.request_sizes,
            distances: written.distances.as_deref().cloned(),
            sizes,
            html_sizes,
            document_sizes,
        })
    }
}

impl SiteModel {
    /// The site of `seed`, deterministic.
    ///
    /// # Errors
    /// [`SiteError::TooLarge`] if the draws exceed the bounds of a site.
    pub fn generate(&self, seed: Seed) -> Result<Site, SiteError> {
        generate::generate(self, seed)
    }
}

impl SizesSpec {
    fn resolve(&self, load: &mut Load<'_>) -> Result<Sizes, FileError> {
        Ok(Sizes { body: self.body.resolve(load)?, tail: self.tail, max: self.max.0 })
    }

    fn check(&self) -> Result<(), ModelError> {
        if self.body.dimension() == Some(Dimension::Time) {
            return Err(ModelError::Times);
        }
        let mut least = Bytes(1);
        if let Some(tail) = self.tail {
            pareto(tail.shape, tail.from)?;
            least = tail.from;
        }
        let holds = self.max >= least && self.max <= gigabyte();
        if holds { Ok(()) } else { Err(ModelError::Max(self.max)) }
    }
}

fn pareto(shape: f64, from: Bytes) -> Result<(), ModelError> {
    if shape.is_finite() && shape > 0.0 && from.0 > 0 { Ok(()) } else { Err(ModelError::Pareto) }
}

impl TryFrom<SiteModelKeys> for SiteModelSpec {
    type Error = ModelError;

    fn try_from(written: SiteModelKeys) -> Result<SiteModelSpec, ModelError> {
        let counts = [written.pages, written.documents, written.embedded_objects.unwrap_or(0)];
        if written.pages == 0 && written.documents == 0 {
            return Err(ModelError::Empty);
        }
        if counts.iter().map(|count| *count as usize).sum::<usize>() > Site::OBJECTS_MAX {
            return Err(ModelError::TooMany);
        }
        if !(written.zipf.is_finite() && written.zipf >= 0.0) {
            return Err(ModelError::Zipf(written.zipf));
        }
        if written.style_sheets.as_f64() + written.scripts.as_f64() > 1.0 {
            return Err(ModelError::Shares);
        }
        if let Some(sizes) = written.request_sizes {
            pareto(sizes.shape, sizes.from)?;
            let mains = written.pages as usize + written.documents as usize;
            let embedded = written.embedded_objects.unwrap_or(0) as usize;
            if mains.max(embedded) > matching::PAGES_MAX {
                return Err(ModelError::TooManyToMatch);
            }
        }
        if let Some(bytes) = &written.page_bytes {
            if bytes.dimension() == Some(Dimension::Time) {
                return Err(ModelError::Times);
            }
            if written.embedded_objects.is_some() {
                return Err(ModelError::SharedBytes);
            }
        }
        if written.embedded.is_some() && written.embedded_objects == Some(0) {
            return Err(ModelError::NoneToEmbed);
        }
        written.sizes.check()?;
        written.html_sizes.iter().chain(&written.document_sizes).try_for_each(SizesSpec::check)?;
        Ok(SiteModelSpec { written })
    }
}

impl From<SiteModelSpec> for SiteModelKeys {
    fn from(spec: SiteModelSpec) -> SiteModelKeys {
        spec.written
    }
}

/// A model with the parameters of a paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// SURGE (Barford and Crovella 1998), as WASP ran it (Nahum et al. 2001).
    Surge,
    /// ProWGen (Busari and Williamson 2002), as IP-TNE ran it (Williamson, Simmonds and Arlitt 2004).
    Prowgen,
    /// The part of a site that WAGON ran on (Liu et al. 1999, table 3).
    Wagon,
    /// Pages as they are today, by the client model of Jansen et al. 2018 (CCS).
    Today,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 4] = [Preset::Surge, Preset::Prowgen, Preset::Wagon, Preset::Today];

    /// Name of the preset.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::Surge => "surge",
            Preset::Prowgen => "prowgen",
            Preset::Wagon => "wagon",
            Preset::Today => "today",
        }
    }

    /// The preset of that name.
    pub fn of_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The model as TOML, with where each number is from: a file to begin one's own with.
    pub const fn text(self) -> &'static str {
        match self {
            Preset::Surge => include_str!("presets/surge.toml"),
            Preset::Prowgen => include_str!("presets/prowgen.toml"),
            Preset::Wagon => include_str!("presets/wagon.toml"),
            Preset::Today => include_str!("presets/today.toml"),
        }
    }

    /// The model.
    pub fn spec(self) -> SiteModelSpec {
        toml::from_str(self.text()).expect("a preset is a model")
    }

    /// The model, ready to generate sites. A preset names no file.
    pub fn model(self) -> SiteModel {
        let mut none = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        self.spec().resolve(&mut none).expect("a preset names no file")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_read_back_as_written() {
        for preset in Preset::ALL {
            let spec = preset.spec();
            let text = toml::to_string(&spec).expect("TOML");
            assert_eq!(toml::from_str::<SiteModelSpec>(&text).expect(&text), spec);
            assert_eq!(Preset::of_name(preset.name()), Some(preset));
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        const SIZES: &str = "sizes = { body = '10kB' }";
        let error_of =
            |text: &str| toml::from_str::<SiteModelSpec>(text).expect_err(text).message().to_owned();
        for (text, part) in [
            (SIZES, "give `pages` or `documents`"),
            ("pages = 1", "missing field `sizes`"),
            ("pages = 1\nsizes = { body = '10ms' }", "times"),
            ("pages = 1\nsizes = { body = '1kB', max = 0 }", "`max` is 0B"),
            ("pages = 1\nsizes = { body = '1kB', tail = { share = 0.1, shape = 0, from = 1 } }", "above 0"),
            (
                "pages = 1\nsizes = { body = '1kB', max = '1MB', tail = { share = 0.1, shape = 1, from = '2MB' } }",
                "`max` is 1MB",
            ),
        ] {
            assert!(error_of(text).contains(part), "{text}: {}", error_of(text));
        }
        for (keys, part) in [
            ("pages = 2000000", "more than 1048576"),
            ("pages = 1\nzipf = -1", "`zipf` is -1"),
            ("pages = 1\nscripts = 0.6\nstyle-sheets = 0.6", "above 1"),
            ("pages = 1\nembedded-objects = 0\nembedded = 1", "`embedded-objects` is 0"),
            ("pages = 1\nembedded-objects = 5\npage-bytes = '1MB'", "leave out `embedded-objects`"),
            ("pages = 1\nrequest-sizes = { shape = 1, from = 0 }", "above 0"),
            ("pages = 1\npgaes = 1", "unknown field `pgaes`"),
        ] {
            let text = format!("{keys}\n{SIZES}");
            assert!(error_of(&text).contains(part), "{text}: {}", error_of(&text));
        }
    }
}
