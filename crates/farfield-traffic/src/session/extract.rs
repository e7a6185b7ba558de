//! Values that a session extracts from a reply, and checks of a reply.

use super::names::Names;
use super::query::{Css, Pattern, Pointer, QuerySpec};
use super::template::Template;
use super::wanted::ValueChecks;
use super::{Extraction, SessionError, ValueSource};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A value that a state takes from its reply: where from, and which of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenExtract", into = "WrittenExtract")]
pub struct ExtractSpec {
    /// Source of the value.
    pub from: ExtractSource,
    /// Choice among several values.
    pub pick: Pick,
    /// The value where there is none. Without one, that is a failure.
    pub default: Option<String>,
}

/// Source of a value in a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtractSource {
    /// A group of each match.
    Regex {
        /// The expression.
        pattern: QuerySpec<Pattern>,
        /// The group; 0 is the whole match.
        group: usize,
    },
    /// Value at this JSON pointer; of a list, each of its items.
    Json(QuerySpec<Pointer>),
    /// An attribute of each element or, without one, its text.
    Css {
        /// The elements.
        select: QuerySpec<Css>,
        /// The attribute, in lower case.
        attribute: Option<String>,
    },
    /// Each value of a header field, by its name in lower case.
    Header(String),
    /// The value of a cookie of the user's, as it is after the reply.
    Cookie(String),
}

impl ExtractSource {
    /// The query that finds it in the body, and the key that it stands at.
    pub(super) fn query(&self) -> Option<(&'static str, &Template)> {
        match self {
            ExtractSource::Regex { pattern, .. } => Some(("regex", pattern.template())),
            ExtractSource::Json(pointer) => Some(("json", pointer.template())),
            ExtractSource::Css { select, .. } => Some(("css", select.template())),
            ExtractSource::Header(_) | ExtractSource::Cookie(_) => None,
        }
    }

    fn resolve(&self, key: &str, names: &Names) -> Result<ValueSource, SessionError> {
        Ok(match self {
            ExtractSource::Regex { pattern, group } => ValueSource::Regex {
                pattern: pattern.resolve(&format!("{key}.regex"), names)?,
                group: *group,
            },
            ExtractSource::Json(pointer) => {
                ValueSource::Json(pointer.resolve(&format!("{key}.json"), names)?)
            }
            ExtractSource::Css { select, attribute } => ValueSource::Css {
                select: select.resolve(&format!("{key}.css"), names)?,
                attribute: attribute.clone(),
            },
            ExtractSource::Header(name) => ValueSource::Header(name.clone()),
            ExtractSource::Cookie(name) => ValueSource::Cookie(name.clone()),
        })
    }
}

/// Extractions of a state, in an order in which each comes after those that its placeholders need;
/// one that names itself has its earlier value. Extractions that need each other are an error.
pub(super) fn resolve(
    specs: &BTreeMap<String, ExtractSpec>,
    key: &str,
    names: &Names,
) -> Result<Vec<Extraction>, SessionError> {
    let mut waiting: Vec<(&String, &ExtractSpec)> = specs.iter().collect();
    let mut resolved = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let needs = |own: &str, spec: &ExtractSpec| {
            let holes = spec.from.query().into_iter().flat_map(|(_, template)| template.variables());
            holes.filter(|name| *name != own).any(|name| waiting.iter().any(|(other, _)| *other == name))
        };
        let (now, later): (Vec<_>, Vec<_>) =
            waiting.iter().copied().partition(|(name, spec)| !needs(name, spec));
        for (name, spec) in &now {
            let ExtractSpec { from, pick, default } = spec;
            let from = from.resolve(&format!("{key}.{name}"), names)?;
            let variable = names.variable(name);
            resolved.push(Extraction { variable, from, pick: *pick, default: default.clone() });
        }
        if now.is_empty() {
            let named: Vec<&str> = later.iter().map(|(name, _)| name.as_str()).collect();
            let sentence =
                format!("`{}` need each other's values; extract one of them without", named.join("`, `"));
            return Err(SessionError::at(key, sentence));
        }
        waiting = later;
    }
    Ok(resolved)
}

/// Choice among several values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The n-th, from 1.
    Nth(NonZeroU32),
    /// Any, each as likely.
    Random,
}

/// Checks of a reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CheckSpec {
    /// Statuses that are well: numbers, ranges such as `"300-399"`, classes such as `"2xx"`. All below 400
    /// by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Statuses>,
    /// Header fields that must be there: with a text, one that has this value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<FieldName, HeaderCheck>,
    /// Texts that the body must have in it.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub contains: Vec<Template>,
    /// Texts that the body must not have in it.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub lacks: Vec<Template>,
    /// Expressions that the body must match.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub regex: Vec<QuerySpec<Pattern>>,
    /// Elements of an HTML body that must be there, or must not, or must have this text.
    #[serde(skip_serializing_if = "ValueChecks::is_empty")]
    pub css: ValueChecks<QuerySpec<Css>>,
    /// Values of a JSON body that must be there, or must not, or must be this.
    #[serde(skip_serializing_if = "ValueChecks::is_empty")]
    pub json: ValueChecks<QuerySpec<Pointer>>,
}

impl CheckSpec {
    /// True if nothing must hold.
    pub fn is_empty(&self) -> bool {
        *self == CheckSpec::default()
    }

    /// True if the body is looked at.
    pub fn reads_body(&self) -> bool {
        let texts = self.contains.is_empty() && self.lacks.is_empty() && self.regex.is_empty();
        !(texts && self.css.is_empty() && self.json.is_empty())
    }
}

/// Expected value of a header field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a header's check is `true` for one that is there, `false` for one that is not, or its value"
)]
pub enum HeaderCheck {
    /// There, or not there.
    Present(bool),
    /// There, with this value.
    Value(String),
}

/// The name of a header field, kept in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FieldName(String);

impl FieldName {
    /// The name, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FieldName {
    type Error = String;

    fn try_from(name: String) -> Result<FieldName, String> {
        match name.parse::<http::HeaderName>() {
            Ok(parsed) => Ok(FieldName(parsed.as_str().to_owned())),
            Err(_) => Err(format!("`{name}` is not a header's name; write letters, digits and `-`")),
        }
    }
}

impl From<FieldName> for String {
    fn from(name: FieldName) -> String {
        name.0
    }
}

/// Statuses that are well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses(Vec<(u16, u16)>);

impl Statuses {
    /// True if `status` is among them.
    pub fn have(&self, status: u16) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&status))
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "statuses are numbers such as 200, ranges such as \"300-399\", classes such as \"2xx\""
)]
enum Status {
    Number(i64),
    Range(String),
}

impl Status {
    fn read(&self) -> Result<(u16, u16), String> {
        let known = |status: i64| u16::try_from(status).ok().filter(|status| (100..1000).contains(status));
        let range = match self {
            Status::Number(status) => known(*status).map(|status| (status, status)),
            Status::Range(text) => match (text.split_once('-'), text.strip_suffix("xx")) {
                (Some((from, to)), _) => {
                    let bound = |text: &str| known(text.trim().parse().ok()?);
                    bound(from).zip(bound(to)).filter(|(from, to)| from <= to)
                }
                (None, Some(class)) => {
                    class.parse().ok().and_then(|class: i64| known(class * 100)).map(|from| (from, from + 99))
                }
                (None, None) => text.parse().ok().and_then(known).map(|status| (status, status)),
            },
        };
        range.ok_or_else(|| {
            let given = match self {
                Status::Number(status) => status.to_string(),
                Status::Range(text) => text.clone(),
            };
            format!("`{given}` is no status; write 200, \"300-399\" or \"2xx\"")
        })
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Statuses, D::Error> {
        let written: Vec<Status> = one_or_many(deserializer)?;
        let ranges: Result<_, _> = written.iter().map(Status::read).collect();
        ranges.map(Statuses).map_err(de::Error::custom)
    }
}

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(from, to)| match from == to {
            true => from.to_string(),
            false => format!("{from}-{to}"),
        }))
    }
}

/// A value, or a list of them.
fn one_or_many<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct OneOrManyVisitor<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> de::Visitor<'de> for OneOrManyVisitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a value, or a list of them")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            T::deserialize(de::value::StrDeserializer::new(text)).map(|one| vec![one])
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Vec<T>, E> {
            T::deserialize(de::value::I64Deserializer::new(number)).map(|one| vec![one])
        }
        fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(de::value::SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_any(OneOrManyVisitor(std::marker::PhantomData))
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct WrittenExtract {
    #[serde(skip_serializing_if = "Option::is_none")]
    regex: Option<QuerySpec<Pattern>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<QuerySpec<Pointer>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    css: Option<QuerySpec<Css>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attribute: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<FieldName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    random: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
}

/// Error of an invalid extraction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum ExtractError {
    #[error("an extraction has one of `regex`, `json`, `css`, `header` and `cookie`; this has {0}")]
    Sources(usize),
    #[error("`group` is about `regex`; leave it out")]
    Group,
    #[error("`regex` has {0} groups, and `group` is {1}; group 0 is the whole match")]
    NoGroup(usize, usize),
    #[error("`attribute` is about `css`; leave it out")]
    Attribute,
    #[error("write `index` or `random`, not both")]
    Pick,
}

impl TryFrom<WrittenExtract> for ExtractSpec {
    type Error = ExtractError;

    fn try_from(written: WrittenExtract) -> Result<ExtractSpec, ExtractError> {
        let WrittenExtract { regex, group, json, css, attribute, header, cookie, index, random, default } =
            written;
        if group.is_some() && regex.is_none() {
            return Err(ExtractError::Group);
        }
        if attribute.is_some() && css.is_none() {
            return Err(ExtractError::Attribute);
        }
        let pick = match (index, random) {
            (Some(_), true) => return Err(ExtractError::Pick),
            (None, true) => Pick::Random,
            (index, false) => Pick::Nth(index.unwrap_or(NonZeroU32::MIN)),
        };
        let sources = [
            regex.map(|pattern| {
                let groups = pattern.groups();
                ExtractSource::Regex { group: group.unwrap_or(groups.min(1)), pattern }
            }),
            json.map(ExtractSource::Json),
            css.map(|select| ExtractSource::Css {
                select,
                attribute: attribute.map(|name| name.to_ascii_lowercase()),
            }),
            header.map(|name| ExtractSource::Header(name.0)),
            cookie.map(ExtractSource::Cookie),
        ];
        let mut given: Vec<ExtractSource> = sources.into_iter().flatten().collect();
        match (given.len(), given.pop()) {
            (1, Some(ExtractSource::Regex { pattern, group })) if group > pattern.groups() => {
                Err(ExtractError::NoGroup(pattern.groups(), group))
            }
            (1, Some(from)) => Ok(ExtractSpec { from, pick, default }),
            (count, _) => Err(ExtractError::Sources(count)),
        }
    }
}

impl From<ExtractSpec> for WrittenExtract {
    fn from(spec: ExtractSpec) -> WrittenExtract {
        let mut written = WrittenExtract { default: spec.default, ..WrittenExtract::default() };
        match spec.from {
            ExtractSource::Regex { pattern, group } => {
                (written.regex, written.group) = (Some(pattern), Some(group))
            }
            ExtractSource::Json(pointer) => written.json = Some(pointer),
            ExtractSource::Css { select, attribute } => {
                (written.css, written.attribute) = (Some(select), attribute)
            }
            ExtractSource::Header(name) => written.header = Some(FieldName(name)),
            ExtractSource::Cookie(name) => written.cookie = Some(name),
        }
        match spec.pick {
            Pick::Random => written.random = true,
            Pick::Nth(NonZeroU32::MIN) => {}
            Pick::Nth(index) => written.index = Some(index),
        }
        written
    }
}
